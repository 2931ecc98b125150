"""Covers against brute force: exact always, fewest where they say so."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pyharness.analyze import cover as cover_module
from pyharness.analyze import maximal
from pyharness.analyze.cover import Cover, cover
from pyharness.analyze.maximal import all_boxes, forced_boxes, grown_boxes

TINY = [(2, 2), (3, 3), (4, 3), (2, 2, 2), (3, 2, 2), (2, 2, 2, 2), (7,), (1, 5, 1)]


def covers_exactly(boxes, target):
    """Whether the union of boxes is the region: all of it and nothing else."""
    union = np.zeros_like(target)
    for box in boxes:
        union[np.ix_(*box)] = True
    return np.array_equal(union, target)


def masks():
    return st.sampled_from(TINY).flatmap(lambda shape: hnp.arrays(np.bool_, shape))


def subsets(length):
    return [
        side
        for size in range(1, length + 1)
        for side in itertools.combinations(range(length), size)
    ]


def boxes_inside(target):
    """Every box inside a region, by trying all."""
    every = itertools.product(*(subsets(length) for length in target.shape))
    return [box for box in every if target[np.ix_(*box)].all()]


def contains(big, small):
    return all(set(b) >= set(s) for b, s in zip(big, small, strict=True))


def brute_maximal(target):
    inside = boxes_inside(target)
    return sorted(
        box for box in inside if not any(other != box and contains(other, box) for other in inside)
    )


def cells_of(box, shape):
    return frozenset(np.ravel_multi_index(cell, shape).item() for cell in itertools.product(*box))


def cost(box, shape):
    restricted = [
        (len(side), length) for side, length in zip(box, shape, strict=True) if len(side) < length
    ]
    return len(restricted), sum(min(taken, length - taken) for taken, length in restricted)


def brute_cover(target):
    """The fewest maximal boxes, and then the least cost, by trying all sets of them."""
    if not target.any():
        return 0, (0, 0)
    wanted = frozenset(np.flatnonzero(target).tolist())
    boxes = [
        (cells_of(box, target.shape), cost(box, target.shape)) for box in brute_maximal(target)
    ]
    for count in itertools.count(1):
        fits = [
            tuple(np.sum([c for _, c in chosen], axis=0).tolist())
            for chosen in itertools.combinations(boxes, count)
            if frozenset().union(*(cells for cells, _ in chosen)) == wanted
        ]
        if fits:
            return count, min(fits)
    raise AssertionError


def total_cost(found, shape):
    return tuple(np.sum([(0, 0), *(cost(box, shape) for box in found.boxes)], axis=0).tolist())


@settings(max_examples=120, deadline=None)
@given(masks())
def test_is_exact_fewest_and_plainest(target):
    found = cover(target)
    count, least = brute_cover(target)
    assert covers_exactly(found.boxes, target)
    assert found.optimal
    assert len(found.boxes) == count
    assert total_cost(found, target.shape) == least


@pytest.mark.parametrize(
    ("shape", "cells"),
    [
        ((4, 3, 2), "111111100010011111111101"),  # four boxes: 9 conditions, or 10 that name less
        ((3, 3, 3), "101011101101110001011010111"),  # 16 conditions: in six boxes, or in seven
    ],
)
def test_goals_come_in_their_order(shape, cells):
    target = np.array([cell == "1" for cell in cells]).reshape(shape)
    found = cover(target)
    assert (len(found.boxes), total_cost(found, shape)) == brute_cover(target)


@pytest.mark.parametrize(
    ("forced", "lattice", "grow", "pairs"),
    [
        (10**9, 0, 10**9, 4000),
        (0, 0, 10**9, 4000),
        (0, 0, 10**9, 0),
        (0, 10**9, 0, 0),
        (0, 0, 0, 0),
    ],
    ids=["forced and grown", "grown", "grown, no HiGHS", "cut, no HiGHS", "cut"],
)
def test_stays_exact_and_honest_when_work_runs_out(forced, lattice, grow, pairs, monkeypatch):
    monkeypatch.setattr(maximal, "_FORCED_WORK", forced)
    monkeypatch.setattr(maximal, "_LATTICE_WORK", lattice)
    monkeypatch.setattr(maximal, "_GROW_WORK", grow)
    monkeypatch.setattr(cover_module, "_MOST_PAIRS", pairs)

    @settings(max_examples=40, deadline=None)
    @given(masks())
    def check(target):
        found = cover(target)
        count, _ = brute_cover(target)
        assert covers_exactly(found.boxes, target)
        assert len(found.boxes) >= count
        assert not found.optimal or len(found.boxes) == count

    check()


@settings(max_examples=100, deadline=None)
@given(masks())
def test_all_boxes_are_all_maximal_boxes(target):
    if target.any():
        assert all_boxes(target) == brute_maximal(target)


@settings(max_examples=100, deadline=None)
@given(masks())
def test_forced_boxes_are_those_that_alone_hold_a_cell(target):
    everything = brute_maximal(target)
    boxes, left, bound = forced_boxes(target)
    holders = {
        cell: [box for box in everything if cell in cells_of(box, target.shape)]
        for cell in np.flatnonzero(target).tolist()
    }
    assert sorted(boxes) == sorted({each[0] for each in holders.values() if len(each) == 1})
    assert covers_exactly(boxes, target & ~left)
    assert bound <= brute_cover(target)[0]


@settings(max_examples=100, deadline=None)
@given(masks())
def test_grown_boxes_are_maximal_and_none_is_spare(target):
    if not target.any():
        return
    grown, pool = grown_boxes(target, target)
    assert covers_exactly(grown, target)
    assert set(grown) <= set(pool) <= set(brute_maximal(target))
    for spare in grown:
        assert not covers_exactly([box for box in grown if box != spare], target)


@st.composite
def unions(draw):
    """A few boxes over more cells than can be tried by brute force."""
    shape = draw(st.lists(st.integers(2, 5), min_size=3, max_size=5).map(tuple))
    target = np.zeros(shape, bool)
    for _ in range(draw(st.integers(1, 4))):
        sides = [
            draw(st.one_of(st.just(range(n)), st.sets(st.integers(0, n - 1), min_size=1)))
            for n in shape
        ]
        target[np.ix_(*(sorted(side) for side in sides))] = True
    return target if draw(st.booleans()) else ~target


@settings(max_examples=60, deadline=None)
@given(unions(), st.data())
def test_permuted_axes_give_as_many_boxes(target, data):
    order = data.draw(st.permutations(range(target.ndim)))
    found, permuted = cover(target), cover(target.transpose(order))
    assert covers_exactly(found.boxes, target)
    assert covers_exactly(permuted.boxes, target.transpose(order))
    assert len(found.boxes) == len(permuted.boxes)
    assert found.optimal == permuted.optimal
    assert cover(target) == found


def test_nothing_and_everything():
    assert cover(np.zeros((2, 3), bool)) == Cover((), optimal=True)
    assert cover(np.ones((2, 3), bool)) == Cover((((0, 1), (0, 1, 2)),), optimal=True)
    assert cover(np.ones((), bool)) == Cover(((),), optimal=True)


def test_largest_box_first():
    target = np.zeros((4, 4, 2), bool)
    target[0, 0, 0] = target[2:, 1:, :] = True
    assert [math.prod(map(len, box)) for box in cover(target).boxes] == [12, 1]


def test_threshold_between_two_axes_takes_one_box_a_step():
    # p > h over ten values: each of the nine corners (h, h+1) needs its own box.
    h, p = np.indices((10, 10))
    found = cover(p > h)
    assert len(found.boxes) == 9
    assert found.optimal


@pytest.mark.parametrize(("n", "fewest"), [(2, 2), (3, 3), (4, 4), (6, 4)])
def test_unequal_takes_the_logarithm(n, fewest):
    # k boxes S x not-S tell n values apart if n different half-sets of k exist: C(k, k // 2) >= n.
    i, j = np.indices((n, n))
    found = cover(i != j)
    assert len(found.boxes) == fewest
    assert found.optimal


def test_too_many_maximal_boxes_is_said():
    # 2**40 maximal boxes: nothing exact is possible, and each box excludes at most one value.
    i, j = np.indices((40, 40))
    found = cover(i != j)
    assert covers_exactly(found.boxes, i != j)
    assert len(found.boxes) <= 40
    assert not found.optimal


def test_sizes_decide_which_values_are_named():
    # A ring of eight cells in 4 x 4: four rows {a} x {a, a+1} or four columns {a-1, a} x {a} cover
    # it. A row names one value of the first axis and two of the second, a column the other way.
    i, j = np.indices((4, 4))
    ring = (j - i) % 4 < 2
    one, five = np.ones(4, np.int64), np.full(4, 5)
    rows, columns = cover(ring, [five, one]), cover(ring, [one, five])
    assert {(len(a), len(b)) for a, b in rows.boxes} == {(1, 2)}
    assert {(len(a), len(b)) for a, b in columns.boxes} == {(2, 1)}
    assert len(rows.boxes) == len(columns.boxes) == 4


def test_covers_exactly_sees_too_little_and_too_much():
    target = np.array([[True, True], [True, False]])
    assert covers_exactly([((0,), (0, 1)), ((0, 1), (0,))], target)
    assert not covers_exactly([((0,), (0, 1))], target)
    assert not covers_exactly([((0, 1), (0, 1))], target)
