"""How far two results of the same problem are apart, element by element."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pyharness.spec.number_bits import Bits, bit_distance, bits_of, is_nan, values

# Elements that are looked at at once: what they need stays in the cache, and no piece of it is so
# large that malloc gives it back to the system each time, whose pages cost more than the work.
HOST_BLOCK = 1 << 13
_AT_FIRST = 8  # blocks that are looked at together for whether anything differs


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


class Comparison:
    """Two results that are given part by part; what it needs beside a part does not grow.

    ``arrays``  the library of the arrays that are given: numpy, or cupy, which has its functions.
    ``block``   elements that are looked at at once.

    Raises  UsageError for a type that no RNN data has.
    """

    def __init__(self, data_type: str, arrays: Any = np, block: int = HOST_BLOCK) -> None:
        self.bits = bits_of(data_type)
        self._data_type, self._arrays, self._block = data_type, arrays, block
        self._found = Difference(0)

    @property
    def difference(self) -> Difference:
        """Of all that was given so far."""
        return self._found

    def add(self, before: Bits, now: Bits) -> None:
        """The next elements of both, as their bits.

        Raises  ValueError for parts of two sizes.
        """
        if before.size != now.size:
            raise ValueError(f"{now.nbytes} bytes cannot be compared with {before.nbytes}")
        several = self._block * _AT_FIRST
        for begin in range(0, before.size, several):
            a, b = before[begin : begin + several], now[begin : begin + several]
            if not bool((a != b).any()):
                self._found = replace(self._found, elements=self._found.elements + int(a.size))
                continue
            for start in range(0, a.size, self._block):
                self._add(a[start : start + self._block], b[start : start + self._block])

    def _add(self, before: Bits, now: Bits) -> None:
        """The next block."""
        found, arrays = self._found, self._arrays
        elements = found.elements + int(before.size)
        where = arrays.flatnonzero(before != now)
        if where.size == 0:
            self._found = replace(found, elements=elements)
            return
        left, right = before[where], now[where]
        left_nan, right_nan = is_nan(left, self._data_type), is_nan(right, self._data_type)
        missing = left_nan | right_nan
        if bool(missing.any()):
            left, right = left[~missing], right[~missing]
        most_ulps, most_abs = found.most_ulps, found.most_abs
        if left.size:
            most_ulps = max(most_ulps, int(bit_distance(left, right, arrays).max()))
            with np.errstate(over="ignore"):  # doubles at both ends lie infinitely far apart
                apart = abs(values(left, self._data_type) - values(right, self._data_type))
            most_abs = max(most_abs, float(apart.max()))
        self._found = Difference(
            elements,
            found.differing + int(where.size),
            found.elements + int(where[0]) if found.first is None else found.first,
            most_ulps,
            most_abs,
            found.nan + int(arrays.count_nonzero(left_nan ^ right_nan)),
        )


def difference(before: bytes, now: bytes, data_type: str) -> Difference:
    """Compares two buffers of numbers.

    Raises  UsageError for a type that no RNN data has; ValueError for buffers of two sizes.
    """
    comparison = Comparison(data_type)
    comparison.add(np.frombuffer(before, comparison.bits), np.frombuffer(now, comparison.bits))
    return comparison.difference
