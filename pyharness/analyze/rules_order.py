"""The conjunctions of an ordered list of rules: as few as can be, in an order that allows it.

What earlier rules have decided is free for all later ones. So no list can have fewer conjunctions
for an answer than its smallest cover where all others are free, but for the last answer: it is left
for what nothing matches. This search takes these covers, and puts down a conjunction as soon as
what it takes has its own answer or is decided. Where it gets stuck, it covers a whole answer with
what is free by then, which may take more; it tries which one is best.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from pyharness.analyze.conditions import AxisValues, Condition, allows, plainest, text
from pyharness.analyze.cover import cover
from pyharness.analyze.maximal import Box, Mask

_DECIDED = -1
_AHEAD = 2  # times that a search that is stuck tries all ways to the end


@dataclass(frozen=True, slots=True)
class Conjunction:
    """Conditions that give one answer where no earlier conjunction matches.

    ``answer``  its number in the cells.
    ``box``     the classes that they take.
    """

    answer: int
    conditions: list[Condition]
    box: Box

    @property
    def length(self) -> tuple[int, int, str]:
        """How much there is to read, and the words themselves, as a rank."""
        named = sum(len(c["values"]) for c in self.conditions)
        return len(self.conditions), named, text(self.conditions)


@dataclass(frozen=True, slots=True)
class Ordered:
    """Conjunctions in their order.

    ``fewest``  it is proven that no list that matches nothing of the last answer has fewer.
    """

    conjunctions: list[Conjunction]
    fewest: bool


def best_order(
    cells: NDArray[np.int64],
    classes: Sequence[NDArray[np.intp]],
    axes: Sequence[AxisValues],
    last: int,
    most: float = math.inf,
) -> Ordered | None:
    """An ordered list that gives every cell its answer.

    Shapes   cells: the answer, 0 or more, of each combination of classes; classes as in Partition.
    ``last``  the answer of what nothing matches.
    Returns   None if the list needs more than ``most`` conjunctions, as far as that is soon known.
    """
    search = _Search(cells, classes, axes, last)
    fewest = sum(len(search.at_last(a)) for a in search.left())
    proven = search.sure
    if fewest > most:
        return None
    found = search.run(_AHEAD)
    return Ordered(found, proven and len(found) == fewest)


class _Search:
    """The cells, less and less of them undecided.

    ``sure``  every cover so far is proven to be smallest.
    """

    def __init__(
        self,
        cells: NDArray[np.int64],
        classes: Sequence[NDArray[np.intp]],
        axes: Sequence[AxisValues],
        last: int,
        covers: dict[tuple[bytes, int, frozenset[int]], list[Conjunction]] | None = None,
    ) -> None:
        self._cells, self._classes, self._axes, self._last = cells.copy(), classes, axes, last
        self._sizes = [np.bincount(of_axis).astype(np.int64) for of_axis in classes]
        self._covers = {} if covers is None else covers  # all ways share them: many meet again
        self._state = _digest(self._cells)
        self.sure = True

    def left(self) -> list[int]:
        """Answers that some undecided cell has, but for the last."""
        met = np.unique(self._cells).tolist()
        return [a for a in met if a not in (_DECIDED, self._last)]

    def at_last(self, answer: int) -> list[Conjunction]:
        """The conjunctions of an answer after all others."""
        return self._after(answer, frozenset(self.left()) - {answer})

    def run(self, ahead: int) -> list[Conjunction]:
        """Decides every cell that has not the last answer.

        ``ahead``  so many times, where it is stuck, each answer is tried to the end.
        """
        found: list[Conjunction] = []
        while self.left():
            found += self._all_that_fit()
            at_once = [self._after(a, frozenset()) for a in self.left()]
            if at_once and ahead > 0:
                ways = [self._with(first, ahead - 1) for first in at_once]
                return found + min(ways, key=lambda way: (len(way), _conditions(way)))
            if at_once:
                best = min(at_once, key=self._excess)
                self._decide(best)
                found += best
        return found

    def _with(self, first: list[Conjunction], ahead: int) -> list[Conjunction]:
        """The list that begins with these; this search stays as it is."""
        other = _Search(self._cells, self._classes, self._axes, self._last, self._covers)
        other._decide(first)
        return first + other.run(ahead)

    def _all_that_fit(self) -> list[Conjunction]:
        """Puts down what takes only its own answer and decided cells, the shortest first."""
        waiting = [c for answer in self.left() for c in self.at_last(answer)]
        found: list[Conjunction] = []
        while fitting := [c for c in waiting if self._fits(c)]:
            best = min(fitting, key=lambda c: c.length)
            found.append(best)
            waiting.remove(best)
            self._decide([best])
        return found

    def _fits(self, conjunction: Conjunction) -> bool:
        taken = self._cells[np.ix_(*conjunction.box)]
        return bool(((taken == conjunction.answer) | (taken == _DECIDED)).all())

    def _decide(self, conjunctions: Sequence[Conjunction]) -> None:
        for conjunction in conjunctions:
            self._cells[np.ix_(*conjunction.box)] = _DECIDED
        self._state = _digest(self._cells)

    def _excess(self, at_once: list[Conjunction]) -> tuple[int, int]:
        """What an answer takes more at once than after all others."""
        later = self.at_last(at_once[0].answer)
        return len(at_once) - len(later), _conditions(at_once) - _conditions(later)

    def _after(self, answer: int, before: frozenset[int]) -> list[Conjunction]:
        """The conjunctions of an answer where these others are decided, too."""
        key = self._state, answer, before
        if key not in self._covers:
            target = self._cells == answer
            free = np.isin(self._cells, [_DECIDED, *before])
            found = cover(target, self._sizes, free)
            self.sure = self.sure and found.optimal
            self._covers[key] = self._plain(answer, found.boxes, target)
        return self._covers[key]

    def _plain(self, answer: int, boxes: Sequence[Box], target: Mask) -> list[Conjunction]:
        """Boxes in the plainest words: what others cover too is taken or left, as it is shorter.

        The boxes that restrict the most axes give way to the others.
        """
        times = np.zeros(target.shape, np.int32)
        for box in boxes:
            times[np.ix_(*box)] += 1

        def unrestricted(box: Box) -> int:
            return sum(len(side) == n for side, n in zip(box, target.shape, strict=True))

        found = []
        for box in sorted(boxes, key=unrestricted):
            where = np.ix_(*box)
            needed = target[where] & (times[where] == 1)
            times[where] -= 1
            if needed.any():
                found.append(self._conjunction(answer, box, needed))
                times[np.ix_(*found[-1].box)] += 1
        return sorted(found, key=lambda c: c.length)

    def _conjunction(self, answer: int, box: Box, needed: Mask) -> Conjunction:
        """The plainest conditions that take these cells of a box, and none outside it."""
        conditions, taken = [], []
        for at, (side, of_axis, axis) in enumerate(
            zip(box, self._classes, self._axes, strict=True)
        ):
            others = tuple(i for i in range(needed.ndim) if i != at)
            values = np.array(side)[needed.any(axis=others)]
            said = plainest(axis, of_axis, values.tolist(), side)
            if said is not None:
                conditions.append(said)
                side = tuple(np.unique(of_axis[allows(said, axis)]).tolist())  # noqa: PLW2901
            taken.append(side)
        return Conjunction(answer, conditions, tuple(taken))


def _digest(cells: NDArray[np.int64]) -> bytes:
    return blake2b(np.ascontiguousarray(cells).data, digest_size=16).digest()


def _conditions(conjunctions: Sequence[Conjunction]) -> int:
    return sum(len(c.conditions) for c in conjunctions)
