"""Boxes that cannot grow without leaving a region of a grid: forced ones, all of them, some.

Maximal boxes (the prime implicants of two-level logic minimisation, with many-valued variables) are
enough for a smallest cover: any box of a cover can be replaced by a maximal one that contains it.
The limits count work, not seconds, so the same region gives the same boxes on any machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Box = tuple[tuple[int, ...], ...]  # the indices that a box takes on each axis, ascending
Mask = NDArray[np.bool_]  # a region: one bool for each cell of a grid

# Work is counted in cells read; one step of numpy costs about as much as reading this many.
_STEP = 5_000
_FORCED_WORK = 80_000_000
_LATTICE_WORK = 150_000_000
_GROW_WORK = 150_000_000
_MOST_BOXES = 3_000  # among more, an exact choice would take too long
_TOGETHER = 4_096  # cells turned into Python numbers at a time


class TooMuchError(Exception):
    """The work allowed for one way is spent, or it finds too many boxes."""


class _Budget:
    def __init__(self, cells: int) -> None:
        self._left = cells

    def spend(self, cells: int) -> None:
        self._left -= cells + _STEP
        if self._left < 0:
            raise TooMuchError


def forced_boxes(cells: Mask, wanted: Mask | None = None) -> tuple[list[Box], Mask, int]:
    """The boxes that every cover by maximal boxes has, since some cell lies in no other.

    Shapes   cells is N-dimensional with N > 0; wanted, the cells to be covered, lies inside (all).
    Returns  boxes, the cells that they leave, and a number of boxes below which there is no cover.
    """
    boxes: list[Box] = []
    wanted = cells if wanted is None else wanted
    left = wanted.copy()
    apart = wanted.copy()  # cells that share no box with those counted in ``bound``
    bound = 0
    budget = _Budget(_FORCED_WORK)
    try:
        for cell in hardest_first(cells, wanted):
            if not left[cell]:
                continue
            around = _lines(cells, cell)
            where = np.ix_(*around)
            reach = _reach(
                cells[where], [line.index(v) for line, v in zip(around, cell, strict=True)]
            )
            budget.spend(2 * cells.ndim * reach.size)
            if apart[cell]:
                bound += 1
                apart[where] &= ~reach
            box = _bounding_box(reach)
            if reach[np.ix_(*box)].all():
                boxes.append(
                    tuple(_pick(line, side) for line, side in zip(around, box, strict=True))
                )
                left[np.ix_(*boxes[-1])] = False
    except TooMuchError:
        pass  # what was found holds; the cells not looked at stay in ``left``
    return boxes, left, bound


def all_boxes(cells: Mask) -> list[Box]:
    """Every maximal box of a region.

    Shapes   cells is N-dimensional with N > 0, and not all False.
    Returns  boxes, sorted.
    Raises   TooMuchError if there are too many.

    A box takes some slabs of the first axis, and a maximal box of what these slabs have in common.
    It is maximal if no further slab contains it: then it is no maximal box of any smaller common
    part either. So each maximal box arises exactly once, from the meet of the slabs that it takes.
    """
    budget = _Budget(_LATTICE_WORK)
    known: dict[tuple[int, bytes], frozenset[Box]] = {}

    def walk(part: Mask) -> frozenset[Box]:
        if part.ndim == 1:
            return frozenset({(tuple(np.flatnonzero(part).tolist()),)})
        key = (part.ndim, part.tobytes())  # parts of equally many axes have the same shape
        if key not in known:
            known[key] = frozenset(boxes_of(part))
        return known[key]

    def boxes_of(part: Mask) -> Iterator[Box]:
        meets = _meets(part, budget)
        rest = tuple(range(1, part.ndim))
        produced = 0
        for meet in meets.values():
            budget.spend(part.size)
            inside = ~(meet & ~part).any(axis=rest)
            smaller = [meets.get((meet & slab).tobytes()) for slab in part[~inside]]
            wider: set[Box] = set()
            wider.update(*(walk(other) for other in smaller if other is not None))
            side = tuple(np.flatnonzero(inside).tolist())
            for box in walk(meet):
                if box not in wider:
                    produced += 1
                    yield (side, *box)
            if produced > _MOST_BOXES:
                raise TooMuchError

    return sorted(walk(cells))


def grown_boxes(cells: Mask, left: Mask) -> tuple[list[Box], list[Box]]:
    """Boxes inside a region that cover a part of it, found cell by cell.

    Shapes   cells and left are the same, N-dimensional with N > 0; left lies inside cells.
    Returns  a cover of left that needs each of its boxes, and the maximal boxes met on the way.

    From an uncovered cell one box is grown for each axis to start with; the cover takes that which
    brings most. Where this takes too long, what is left is cut into disjoint boxes as it is.
    """
    budget = _Budget(_GROW_WORK)
    left = left.copy()
    wanted = left.copy()
    chain: list[Box] = []
    pool: dict[Box, None] = {}
    try:
        for cell in hardest_first(cells, left):
            if not left[cell]:
                continue
            candidates = sorted({_grow(cells, cell, axis, budget) for axis in range(cells.ndim)})
            pool.update(dict.fromkeys(candidates))
            chain.append(max(candidates, key=lambda box: int(left[np.ix_(*box)].sum())))
            left[np.ix_(*chain[-1])] = False
    except TooMuchError:
        pass
    chain = _without_redundant(chain, wanted & ~left)
    return chain + (_cut(left) if left.any() else []), list(pool)


def hardest_first(cells: Mask, among: Mask) -> Iterator[tuple[int, ...]]:
    """The cells of ``among``, those with the fewest neighbours of the region in line first.

    Few neighbours mean few boxes to choose from: such a cell is likely to force one. Most cells
    that leave ``among`` meanwhile are skipped.
    """
    neighbours = np.zeros(cells.shape, np.int32)
    for axis in range(cells.ndim):
        neighbours += cells.sum(axis=axis, keepdims=True, dtype=np.int32)
    order = np.flatnonzero(among)
    order = order[np.argsort(neighbours.reshape(-1)[order], kind="stable")]
    flat = among.reshape(-1)
    for start in range(0, len(order), _TOGETHER):
        some = order[start : start + _TOGETHER]
        where = np.unravel_index(some[flat[some]], cells.shape)
        yield from zip(*(index.tolist() for index in where), strict=True)


def _lines(cells: Mask, cell: tuple[int, ...]) -> Box:
    """The values of each axis that one cell may take alone: no box with the cell has others."""
    sides = []
    for axis in range(cells.ndim):
        line: list[int | slice] = list(cell)
        line[axis] = slice(None)
        sides.append(tuple(np.flatnonzero(cells[tuple(line)]).tolist()))
    return tuple(sides)


def _reach(cells: Mask, cell: Sequence[int]) -> Mask:
    """The cells that share some box with one cell: all mixtures of the two are in the region."""
    reach = cells
    for axis, value in enumerate(cell):
        reach = reach & reach.take([value], axis)
    return reach


def _pick(line: tuple[int, ...], side: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(line[index] for index in side)


def _bounding_box(cells: Mask) -> Box:
    return tuple(tuple(np.unique(index).tolist()) for index in np.nonzero(cells))


def _meets(part: Mask, budget: _Budget) -> dict[bytes, Mask]:
    """What any slabs of the first axis have in common: each part once, no empty ones."""
    meets: dict[bytes, Mask] = {}
    for slab in part:
        budget.spend(len(meets) * (slab.size + _STEP))
        for meet in (slab, *(slab & other for other in meets.values())):
            if meet.any():
                meets.setdefault(meet.tobytes(), meet)
    return meets


def _grow(cells: Mask, cell: tuple[int, ...], start: int, budget: _Budget) -> Box:
    """Widen a cell to a maximal box, one axis at a time: first ``start``, then what widens most.

    An axis takes all its values at once that the other sides allow. It need not be looked at again,
    since wider sides of the other axes allow only less.
    """
    sides: list[list[int]] = [[value] for value in cell]
    open_axes = list(range(cells.ndim))
    while open_axes:
        wider = {}
        for axis in [start] if start in open_axes else open_axes:
            others = tuple(other for other in range(cells.ndim) if other != axis)
            around = [*sides[:axis], range(cells.shape[axis]), *sides[axis + 1 :]]
            block = cells[np.ix_(*around)]
            budget.spend(block.size)
            wider[axis] = np.flatnonzero(block.all(axis=others)).tolist()
        best = max(wider, key=lambda axis: len(wider[axis]) / cells.shape[axis])
        sides[best] = wider[best]
        open_axes.remove(best)
    return tuple(tuple(side) for side in sides)


def _without_redundant(boxes: list[Box], wanted: Mask) -> list[Box]:
    """Drop boxes, the oldest first, as long as the others cover what is wanted."""
    times = np.where(wanted, np.int32(0), np.int32(2))
    for box in boxes:
        times[np.ix_(*box)] += 1
    kept = []
    for box in boxes:
        if times[np.ix_(*box)].min() >= 2:
            times[np.ix_(*box)] -= 1
        else:
            kept.append(box)
    return kept


def _cut(cells: Mask) -> list[Box]:
    """Cut a region into disjoint boxes, taking equal slabs of the first axis together."""
    if cells.ndim == 1:
        return [(tuple(np.flatnonzero(cells).tolist()),)]
    groups: dict[bytes, list[int]] = {}
    for value, slab in enumerate(cells):
        if slab.any():
            groups.setdefault(slab.tobytes(), []).append(value)
    return [(tuple(values), *box) for values in groups.values() for box in _cut(cells[values[0]])]
