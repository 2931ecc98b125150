"""Sizes that people write: 24GiB, 80GB, 500MB."""

from __future__ import annotations

import re
from fractions import Fraction

from pyharness.errors import UsageError

_UNITS = {
    **{f"{letter}B": 1000**power for power, letter in enumerate(("", "k", "M", "G", "T"))},
    **{f"{letter}iB": 1024**power for power, letter in enumerate(("K", "M", "G", "T"), 1)},
}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)")
_HOW = "a number and its unit: 24GiB (1024³ bytes), 80GB (1000³), 500MB, 512KiB"
_MOST = 1 << 60


def parse_bytes(text: str, option: str) -> int:
    """The bytes that a text means, rounded down; units are taken in capitals or not.

    ``option``  where it was given.
    Raises      UsageError for a text that is no size, and for a size that no device has.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{option}: {text!r} is no size", f"write {_HOW}")
    units = {unit.lower(): size for unit, size in _UNITS.items()}
    if match[2].lower() not in units:
        said = f"{match[2]!r} is no unit" if match[2] else "it has no unit"
        raise UsageError(f"{option}: {text!r} is no size: {said}", f"write {_HOW}")
    size = int(Fraction(match[1]) * units[match[2].lower()])
    if not 0 < size <= _MOST:
        raise UsageError(f"{option}: {text} is the size of no device", f"write {_HOW}")
    return size
