"""How far two results of the same problem are apart, element by element."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.spec.number_bits import Bits, bit_distance, bits_of, is_nan, values

_CHUNK = 1 << 18  # elements that are looked at at once: what they need stays in the cache


@dataclass(frozen=True, slots=True)
class Difference:
    """A result beside another one of the same problem.

    ``elements``   numbers that were compared.
    ``differing``  those whose bits differ: a zero of other sign and another NaN, too.
    ``first``      index of the first of them; None where there is none.
    ``most_ulps``  largest distance in units of the last place, of numbers beside numbers; 0 for
                   two zeros, 1 from the largest number to infinity.
    ``most_abs``   largest distance, of the same; infinite beside an infinity.
    ``nan``        elements that are NaN on one side alone: they are in no distance.
    """

    elements: int
    differing: int = 0
    first: int | None = None
    most_ulps: int = 0
    most_abs: float = 0.0
    nan: int = 0

    @property
    def same(self) -> bool:
        """Whether both have the same bits."""
        return self.differing == 0


def difference(before: bytes, now: bytes, data_type: str) -> Difference:
    """Compares two buffers of numbers; what it needs beside them is small and does not grow.

    Raises  UsageError for a type that no RNN data has; ValueError for buffers of two sizes.
    """
    if len(before) != len(now):
        raise ValueError(f"{len(now)} bytes cannot be compared with {len(before)}")
    a, b = (np.frombuffer(data, bits_of(data_type)) for data in (before, now))
    first: int | None = None
    differing, most_ulps, most_abs, nan = 0, 0, 0.0, 0
    for where in _differing(a, b):
        first = int(where[0]) if first is None else first
        differing += where.size
        left, right = a[where], b[where]
        missing = is_nan(left, data_type).astype(int) + is_nan(right, data_type)
        nan += int(np.count_nonzero(missing == 1))
        left, right = left[missing == 0], right[missing == 0]
        if left.size:
            most_ulps = max(most_ulps, int(bit_distance(left, right).max()))
            with np.errstate(over="ignore"):  # doubles at both ends lie infinitely far apart
                apart = np.abs(values(left, data_type) - values(right, data_type))
            most_abs = max(most_abs, float(apart.max()))
    return Difference(a.size, differing, first, most_ulps, most_abs, nan)


def _differing(a: Bits, b: Bits) -> Iterator[NDArray[np.int64]]:
    """The indices of the elements that differ, part by part; no part is empty."""
    for begin in range(0, a.size, _CHUNK):
        where = np.flatnonzero(a[begin : begin + _CHUNK] != b[begin : begin + _CHUNK])
        if where.size:
            yield where + begin
