"""The largest value of one axis whose problem fits a limit, where sizes are not monotonic.

cuDNN's manual says of workspace and reserve space that their sizes are not monotonic in the sizes
of the data, so a bisection proves nothing. What is certain is a floor, bytes that a problem cannot
do without, which grows with every size: above the last value whose floor fits, nothing does. From
there downwards values are asked until one fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Ask = Callable[[Sequence[int]], Sequence[int | None]]
Limiting = Literal["bytes", "refused", "range"]
_BLOCK = 256  # values asked at once on the way down


@dataclass(frozen=True, slots=True)
class Fit:
    """What fits.

    ``value``       the largest that fits; None if none was found.
    ``size``        bytes that it asks for.
    ``neighbour``   the next value above, or the least of all where none fits; None at the end of
                    the range.
    ``beyond``      bytes that the neighbour asks for; None where it is refused, or there is none.
    ``limited_by``  why the neighbour is not the answer: its bytes, a refusal, or the range's end.
    ``proven``      whether every value above was asked or cannot fit; else a sample of them was.
    ``asked``       values that were asked.
    """

    value: int | None
    size: int | None
    neighbour: int | None
    beyond: int | None
    limited_by: Limiting
    proven: bool
    asked: int


class _Asked:
    """Values with the bytes that they ask for, each asked once."""

    def __init__(self, ask: Ask, limit: int) -> None:
        self._ask = ask
        self._limit = limit
        self.sizes: dict[int, int | None] = {}

    def fitting(self, values: Sequence[int]) -> list[int]:
        """Those of the values that fit."""
        new = [v for v in values if v not in self.sizes]
        if new:
            self.sizes.update(zip(new, self._ask(new), strict=True))
        return [v for v in values if (size := self.sizes[v]) is not None and size <= self._limit]

    def fits(self, value: int) -> bool:
        return bool(self.fitting([value]))

    def result(self, value: int | None, neighbour: int | None, proven: bool) -> Fit:
        beyond = None if neighbour is None else self.sizes[neighbour]
        limited: Limiting = "bytes"
        if beyond is None:
            limited = "range" if neighbour is None else "refused"
        size = None if value is None else self.sizes[value]
        return Fit(value, size, neighbour, beyond, limited, proven, len(self.sizes))


def largest_fit(
    ask: Ask, floor: Callable[[int], int], limit: int, least: int, most: int, budget: int
) -> Fit:
    """The largest value from ``least`` to ``most`` that asks for at most ``limit`` bytes.

    ``ask``     total bytes of each of several values; None where one is refused.
    ``floor``   bytes that a value asks for at least; must not fall as the value grows.
    ``budget``  values that may be asked between a first answer and the floor's. With fewer than
                there are, they are spread evenly, and the answer is proven for its neighbour alone.
    """
    asked = _Asked(ask, limit)
    top = _last(lambda v: floor(v) <= limit, least, most)
    below = _climb(asked, least, top)
    step = -(-(top - below) // budget) or 1
    value = _highest(asked, below, top, step)
    if value < least:
        asked.fits(least)
        return asked.result(None, least, step == 1)
    while value < most and asked.fits(value + 1):
        value += 1
    return asked.result(value, value + 1 if value < most else None, step == 1)


def _last(holds: Callable[[int], bool], least: int, most: int) -> int:
    """The last value that holds, of those that hold up to some value; least - 1 if none does."""
    low, high = least - 1, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _climb(asked: _Asked, least: int, top: int) -> int:
    """A value that fits, found as if sizes grew steadily; least - 1 if that finds none."""
    if top >= least and asked.fits(top):  # where the floor is all there is
        return top
    found, step = least - 1, 1
    while found < top and asked.fits(min(found + step, top)):
        found, step = min(found + step, top), step * 2
    high = min(found + step, top + 1)
    while high - found > 1:
        middle = (found + high) // 2
        found, high = (middle, high) if asked.fits(middle) else (found, middle)
    return found


def _highest(asked: _Asked, below: int, top: int, step: int) -> int:
    """The highest of the values top, top - step, … above ``below`` that fits, else ``below``."""
    values = range(top, below, -step)
    for begin in range(0, len(values), _BLOCK):
        if fitting := asked.fitting(values[begin : begin + _BLOCK]):
            return fitting[0]
    return below
