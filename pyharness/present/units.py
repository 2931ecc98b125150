"""Bytes, seconds, counts and paths as text: the one place where they are rounded or shortened."""

from __future__ import annotations

import textwrap
from pathlib import Path

WIDTH = 100  # columns of a text for people


def bytes_text(size: float) -> str:
    """A size in decimal units, three figures: ``441 MB``, ``1.70 GB``, ``25.3 GB``."""
    for unit in ("B", "kB", "MB"):
        if size < 999.5:
            return f"{size:.0f} {unit}"
        size /= 1000
    digits = 2 if size < 9.995 else 1 if size < 99.95 else 0
    return f"{size:,.{digits}f} GB"


def binary_text(size: int) -> str:
    """A size in binary units, three figures: ``512 B``, ``1.50 GiB``, ``24.0 GiB``."""
    if size < 1024:
        return f"{size} B"
    value: float = size
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        value /= 1024
        if value < 999.5 or unit == "TiB":
            break
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:,.{digits}f} {unit}"


def seconds_text(seconds: float) -> str:
    """A duration: ``0.3 s``, ``42 s``, ``3 min 20 s``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 119.5:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def duration_text(seconds: float) -> str:
    """A measured time, four figures: ``812.0 ns``, ``20.31 µs``, ``1.234 ms``, ``2.500 s``."""
    value, unit = seconds * 1e9, "ns"
    for larger in ("µs", "ms", "s"):
        if value < 999.95:
            break
        value, unit = value / 1000, larger
    digits = 3 if value < 9.9995 else 2 if value < 99.995 else 1
    return f"{value:,.{digits}f} {unit}"


def count_text(count: int, noun: str) -> str:
    """A count with its noun: ``1 release``, ``60 releases``."""
    return f"{count:,} {noun if count == 1 else noun + 's'}"


def share_text(share: float) -> str:
    """A share in per cent, never none where there is some: ``77.64%``, ``0.03%``, ``0.0005%``."""
    text = f"{share:.2%}"
    return f"{100 * share:.1g}%" if share > 0 and text == "0.00%" else text


def visible_text(share: float) -> str:
    """The smallest change that can be seen: ``1.25%``; of one that is next to none its bound."""
    return share_text(share) if share >= 0.5e-4 else "below 0.01%"


def path_text(path: str | Path, width: int) -> str:
    """A path with ``~`` for the home folder, and with its middle left out where it is too long."""
    text = str(path)
    home = str(Path("~").expanduser())
    if text.startswith(f"{home}/"):
        text = f"~{text[len(home) :]}"
    if len(text) <= width:
        return text
    head, *middle, last = text.split("/")
    while len(middle) > 1 and len("/".join((head, "…", *middle, last))) > width:
        middle.pop(0)
    return "/".join((head, "…", *middle, last))


def wrapped(text: str, indent: int, hanging: int | None = None, width: int = WIDTH) -> list[str]:
    """A text as lines of at most ``width`` columns, the later ones ``hanging`` columns in."""
    return led(text, " " * indent, None if hanging is None else " " * hanging, width)


def led(text: str, lead: str, more: str | None = None, width: int = WIDTH) -> list[str]:
    """A text as lines of at most ``width`` columns after ``lead``, the later ones after ``more``.

    A word that is longer, such as a path or a list, stays whole, so that it can be copied.
    """
    return textwrap.wrap(
        text,
        width,
        initial_indent=lead,
        subsequent_indent=lead if more is None else more,
        break_long_words=False,
        break_on_hyphens=False,
    )
