"""The fewest boxes whose union is exactly a region of a grid.

A box takes a subset of the values of each axis: it is a conjunction of conditions. Boxes may reach
into cells that are free: taken or not, it makes no difference. Three ways, from cheap to dear:

1. A cell that only one maximal box holds forces this box. Most real regions end here.
2. All maximal boxes, and an exact choice among them (HiGHS).
3. Where there are too many, boxes grown from uncovered cells and a choice among these; a set of
   cells of which no box holds two may still prove that no cover is smaller.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from pyharness.analyze.maximal import (
    Box,
    Mask,
    TooMuchError,
    all_boxes,
    forced_boxes,
    grown_boxes,
    hardest_first,
)
from pyharness.analyze.partition import partition

# For each box and the table of each axis, how many values of that axis are to be named.
Named = Callable[[Sequence[Box], Sequence[Mask]], NDArray[np.int64]]

_WANTED, _FREE = np.uint8(1), np.uint8(2)
_ROUND_CELLS = 4_096  # cells that one round of the choice adds
_ROUNDS = 30
# HiGHS is given problems of limited size, counted and not timed, for the same answer anywhere.
_MOST_CELLS = 250
_MOST_PAIRS = 4_000  # a cell in a box
_EASY_PAIRS = 1_000  # few enough to go on to the lesser goals
_NODES = 20
_STALL_S = 30.0  # far above what the nodes take


@dataclass(frozen=True, slots=True)
class Cover:
    """Boxes whose union is a region, those with the most points first.

    ``optimal``  it is proven that no cover has fewer boxes.
    """

    boxes: tuple[Box, ...]
    optimal: bool


def cover(
    target: Mask,
    sizes: Sequence[NDArray[np.int64]] | None = None,
    free: Mask | None = None,
) -> Cover:
    """Cover a region with as few boxes as possible that take nothing else but free cells.

    Shapes   target is N-dimensional; sizes[axis] says how many values each index stands for (one);
             free is of target's shape (no cells), and what it shares with target is target's.
    Returns  a Cover. Among equally few maximal boxes it takes those that restrict fewer axes, then
             those with fewer values to name, then those that restrict earlier axes, as far as all
             maximal boxes could be found.
    """
    if not target.any():
        return Cover((), optimal=True)
    part = partition(target if free is None else np.where(target, _WANTED, free * _FREE))
    everything = range(target.ndim)
    weights = [
        np.bincount(classes, None if sizes is None else sizes[axis]).astype(np.int64)
        for axis, classes in enumerate(part.classes)
    ]
    # The order of axes and classes comes from the region, so permuted axes take the same path.
    totals = [part.quotient.sum(axis=tuple(set(everything) - {axis})) for axis in everything]
    orders = [np.argsort(of_axis, kind="stable") for of_axis in totals]
    by_shape = sorted(everything, key=lambda axis: (len(totals[axis]), sorted(totals[axis])))
    axes = [axis for axis in by_shape if len(totals[axis]) > 1]
    single = {axis: np.zeros(1, np.intp) for axis in everything if len(totals[axis]) == 1}
    cells = part.quotient.transpose([*single, *axes]).reshape([len(orders[a]) for a in axes])
    for position, axis in enumerate(axes):
        cells = cells.take(orders[axis], position)
    found, optimal = _solve(
        cells > 0, cells == _WANTED, [weights[axis][orders[axis]] for axis in axes], axes
    )

    members = [
        [np.flatnonzero(classes == number).tolist() for number in range(classes.max() + 1)]
        for classes in part.classes
    ]

    def restored(box: Box) -> tuple[int, Box]:
        taken = {axis: orders[axis][list(side)] for axis, side in zip(axes, box, strict=True)}
        taken |= single
        points = math.prod(int(weights[axis][taken[axis]].sum()) for axis in everything)
        values = ([members[axis][number] for number in taken[axis]] for axis in everything)
        return -points, tuple(tuple(sorted(chain.from_iterable(side))) for side in values)

    return Cover(tuple(box for _, box in sorted(restored(box) for box in found)), optimal)


def _solve(
    cells: Mask, wanted: Mask, weights: Sequence[NDArray[np.int64]], ranks: Sequence[int]
) -> tuple[list[Box], bool]:
    """Cover the wanted cells by boxes of cells, where every value of every axis matters.

    ``ranks``  of the axes: a lower one is restricted rather than a higher one.
    Returns  boxes, and whether it is proven that fewer do not do.
    """
    if cells.ndim == 0:
        return [()], True

    def named(boxes: Sequence[Box], tables: Sequence[Mask]) -> NDArray[np.int64]:
        """How many values of each axis a box has to name: free ones may be taken or left."""
        fewest = np.array([np.minimum(w @ t, w @ ~t) for w, t in zip(weights, tables, strict=True)])
        for place, box in enumerate(boxes if (cells & ~wanted).any() else ()):
            inside = wanted[np.ix_(*box)]
            for axis, (weight, side) in enumerate(zip(weights, box, strict=True)):
                needed = inside.any(axis=tuple(set(range(cells.ndim)) - {axis}))
                least = int(weight[np.array(side)[needed]].sum())
                fewest[axis, place] = min(int(fewest[axis, place]), least)
        return fewest

    forced, left, bound = forced_boxes(cells, wanted)
    if not left.any():
        return forced, True
    try:
        chosen, proven = _choose(left, all_boxes(cells), named, ranks)
    except TooMuchError:
        chosen, proven = [], False
    if not proven:
        grown, pool = grown_boxes(cells, left)
        better, _ = _choose(left, pool, named, ranks)
        chosen = min((boxes for boxes in (chosen, better, grown) if boxes), key=len)
    boxes = forced + chosen
    return boxes, proven or len(boxes) == bound


def _choose(
    left: Mask, boxes: Sequence[Box], named: Named, ranks: Sequence[int]
) -> tuple[list[Box], bool]:
    """The fewest of some boxes that cover what is left.

    Returns  boxes, and whether fewer of these do not do; no boxes where none were found in time.

    It begins with some of the cells and adds those that the choice missed: a choice that is best
    for some cells and happens to cover all is best for all.
    """
    if not boxes:
        return [], False
    tables = [
        np.array([np.isin(np.arange(length), box[axis]) for box in boxes], dtype=bool).T
        for axis, length in enumerate(left.shape)
    ]
    restricted = np.array([~table.all(axis=0) for table in tables])
    goals = [
        np.ones(len(boxes)),
        restricted.sum(axis=0),
        (named(boxes, tables) * restricted).sum(axis=0),
        np.array(ranks) @ restricted,
    ]
    seen = np.zeros((0, len(boxes)), bool)
    missing = left
    for _ in range(_ROUNDS):
        picked = np.array(list(islice(hardest_first(left, missing), _ROUND_CELLS)))
        rows = np.ones((len(picked), len(boxes)), bool)
        for table, values in zip(tables, picked.T, strict=True):
            rows &= table[values]
        seen = _undominated(np.concatenate([seen, rows]))
        if len(seen) > _MOST_CELLS or not seen.any(axis=1).all():
            break  # too many, or a cell that none of the boxes holds
        solution, proven = _fewest(seen, goals)
        if not solution:
            break
        missing = left.copy()
        for index in solution:
            missing[np.ix_(*boxes[index])] = False
        if not missing.any():
            return [boxes[index] for index in solution], proven
    return [], False


def _undominated(rows: Mask) -> Mask:
    """Leave out rows, the boxes that hold a cell, that contain another row: it asks for more.

    Returns  rows; where too many would stay, just one more than _MOST_CELLS.
    """
    packed = np.unique(np.packbits(rows, axis=1), axis=0)
    rows = np.unpackbits(packed, axis=1, count=rows.shape[1]).astype(bool)
    rows = rows[np.argsort(rows.sum(axis=1), kind="stable")]
    kept: list[Mask] = []
    while len(rows) and len(kept) <= _MOST_CELLS:
        kept.append(rows[0])
        rows = rows[~rows[:, rows[0]].all(axis=1)]
    return np.array(kept)


def _fewest(rows: Mask, goals: Sequence[NDArray[np.float64]]) -> tuple[list[int], bool]:
    """Choose columns so that each row has one, by several goals in turn.

    Returns  the columns, and whether the first goal is proven; none where it takes too long.
    """
    forced = rows[rows.sum(axis=1) == 1].any(axis=0)
    if rows[:, forced].any(axis=1).all():
        return np.flatnonzero(forced).tolist(), True
    pairs = np.count_nonzero(rows)
    if pairs > _MOST_PAIRS:
        return [], False
    # scipy takes longer to import than most covers to find
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415
    from scipy.sparse import csr_array  # noqa: PLC0415

    limits = [LinearConstraint(csr_array(rows.astype(float)), lb=1)]
    solution: list[int] = []
    proven = False
    for number, goal in enumerate(goals):
        result = milp(
            goal,
            integrality=np.ones(rows.shape[1], np.int64),
            bounds=Bounds(0, 1),
            constraints=limits,
            options={"node_limit": _NODES, "time_limit": _STALL_S, "mip_rel_gap": 0.0},
        )
        if result.x is None:
            break
        taken = np.round(result.x)
        solution = np.flatnonzero(taken).tolist()
        proven = proven or (number == 0 and result.status == 0)
        if pairs > _EASY_PAIRS:
            break
        limits.append(LinearConstraint(goal[np.newaxis], ub=float(goal @ taken)))
    return solution, proven
