"""What the Python API is given: checked as the command checks its options."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from pyharness.errors import UsageError, unknown_name

Names = str | Sequence[str]


def whole(name: str, value: Any, least: int, most: int) -> int:
    """A whole number within bounds.

    Raises  UsageError if it is none.
    """
    try:
        found = index(value)
    except TypeError:
        raise UsageError(
            f"{name}={value!r} is no whole number", f"allowed: {least} to {most:,}"
        ) from None
    _require_within(name, found, least, most)
    return found


def number(name: str, value: Any, least: float, most: float) -> float:
    """A number within bounds.

    Raises  UsageError if it is none.
    """
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise UsageError(
            f"{name}={value!r} is no number", f"allowed: {least} to {most:,}"
        ) from None
    _require_within(name, found, least, most)
    return found


def _require_within(name: str, found: float, least: float, most: float) -> None:
    if not least <= found <= most:  # nan is within nothing
        raise UsageError(f"{name}={found} is not allowed", f"allowed: {least} to {most:,}")


def require_timeout(seconds: Any) -> None:
    """Sees that a runner can wait so long.

    Raises  UsageError if not.
    """
    number("timeout_s", seconds, 0.1, 86_400)


def listed(names: Names) -> list[str]:
    """Names in a sequence, or in a text with commas in between."""
    return [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)


def joined(names: Names | None) -> str | None:
    """The same as one text; None: all."""
    return None if names is None else ",".join(listed(names))


def chosen(kind: str, names: Names | None, known: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the known names that are given, in their own order; all without one.

    Raises  UsageError for an unknown one, or none.
    """
    if names is None:
        return known
    given = listed(names)
    for name in given or [""]:
        if name not in known:
            raise unknown_name(kind, name, known)
    return tuple(name for name in known if name in given)
