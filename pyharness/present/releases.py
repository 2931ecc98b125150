"""Releases in words: what the index offers, what is cached, what is installed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyharness.present.units import bytes_text, count_text, path_text

_GAP = 3
_LEAST_PATH = 20


@dataclass(frozen=True, slots=True)
class Cached:
    """A release in the cache; ``library`` is the path of its libcudnn."""

    name: str
    cuda_major: int
    full: bool
    size_bytes: int
    library: str


@dataclass(frozen=True, slots=True)
class Installed:
    """A library on this machine; ``source`` is the kind of place where it was found."""

    cuda_major: int | None
    source: str
    folder: str
    library: str


@dataclass(frozen=True, slots=True)
class ReleaseRow:
    """One version.

    ``version``  None where nothing tells the version of an installed library.
    ``offered``  CUDA majors that the index offers.
    ``yanked``   those of them that the index advises against.
    """

    version: str | None
    offered: tuple[int, ...]
    yanked: tuple[int, ...]
    cached: tuple[Cached, ...]
    installed: tuple[Installed, ...]


def render_releases(
    rows: Sequence[ReleaseRow],
    cache_folder: str,
    held_bytes: int,
    index_problem: str | None,
    width: int,
) -> str:
    """The table in the order given, then where the cache is; ends without a newline.

    ``held_bytes``     what the cache takes on the disk.
    ``index_problem``  why the index is not known; the column of offers is then left out.
    """
    lines = _table(rows, width, with_offers=index_problem is None) if rows else []
    if not rows:
        lines.append("the package index offers no cuDNN for this machine")
    lines.append("")
    if index_problem is not None:
        lines += [index_problem, "listed is what is on this machine", ""]
    cached = [entry for row in rows for entry in row.cached]
    held = count_text(len(cached), "release")
    held = f"{held}, {bytes_text(held_bytes)}" if cached else "nothing yet"
    lines.append(f"cache   {held} in {path_text(cache_folder, width - len(held) - 12)}")
    newest = next((row.version for row in reversed(rows) if row.version), "VERSION")
    lines.append(f"fetch   pyharness fetch {newest}   (--full: with all that a GPU run needs)")
    return "\n".join(lines)


def _table(rows: Sequence[ReleaseRow], width: int, with_offers: bool) -> list[str]:
    heads = ["VERSION", "CUDA", "CACHED", "INSTALLED"]
    grid = [heads, *(line for row in rows for line in _lines(row))]
    if not with_offers:
        grid = [[cells[0], *cells[2:]] for cells in grid]
    widths = [max(len(cells[place]) for cells in grid) + _GAP for place in range(len(grid[0]) - 1)]
    room = max(_LEAST_PATH, width - sum(widths))
    return [
        (
            "".join(cell.ljust(size) for cell, size in zip(cells[:-1], widths, strict=True))
            + _shortened(cells[-1], room)
        ).rstrip()
        for cells in grid
    ]


def _lines(row: ReleaseRow) -> list[list[str]]:
    """The cells of a version: the first line names it, more follow where it is here twice."""
    offered = ", ".join(f"{c} yanked" if c in row.yanked else str(c) for c in row.offered)
    return [
        [
            "" if place else row.version or "unknown",
            "" if place else offered,
            _cached(row.cached[place]) if place < len(row.cached) else "",
            _installed(row.installed[place]) if place < len(row.installed) else "",
        ]
        for place in range(max(1, len(row.cached), len(row.installed)))
    ]


def _cached(entry: Cached) -> str:
    kind = "full" if entry.full else "light"
    return f"cu{entry.cuda_major} {kind:<5} {bytes_text(entry.size_bytes):>7}"


def _installed(entry: Installed) -> str:
    cuda = "" if entry.cuda_major is None else f"cu{entry.cuda_major} "
    return f"{cuda}{entry.source} {entry.folder}"


def _shortened(text: str, room: int) -> str:
    """The last cell with its path, which comes last in it, cut to what is left of the line."""
    start = text.find("/")
    return text if start < 0 else text[:start] + path_text(text[start:], room - start)
