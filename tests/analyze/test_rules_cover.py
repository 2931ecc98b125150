"""Covers that may reach into free cells, and the words for them, against brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from pyharness.analyze import cover as cover_module
from pyharness.analyze import maximal
from pyharness.analyze.conditions import AxisValues, describe, plainest, text
from pyharness.analyze.cover import cover
from tests.analyze.test_cover import TINY, boxes_inside, cells_of

Cells = NDArray[np.int64]


def kinds() -> st.SearchStrategy[Cells]:
    """Grids of cells that are to be taken (1), left (0), or free (2)."""
    return st.sampled_from(TINY).flatmap(
        lambda shape: hnp.arrays(np.int64, shape, elements=st.integers(0, 2))
    )


def fewest_boxes(cells: Cells) -> int:
    """The fewest boxes of wanted and free cells that hold all wanted ones, by trying all."""
    wanted = frozenset(np.flatnonzero(cells == 1).tolist())
    sets = [cells_of(box, cells.shape) & wanted for box in boxes_inside(cells > 0)]
    useful = [s for s in set(sets) if not any(s < other for other in sets)]
    return next(
        count
        for count in itertools.count()
        if any(
            frozenset().union(*chosen) == wanted for chosen in itertools.combinations(useful, count)
        )
    )


def check(cells: Cells) -> None:
    found = cover(cells == 1, free=cells == 2)
    union = np.zeros(cells.shape, bool)
    for box in found.boxes:
        union[np.ix_(*box)] = True
    assert union[cells == 1].all()
    assert not union[cells == 0].any()
    fewest = fewest_boxes(cells)
    assert len(found.boxes) >= fewest
    assert not found.optimal or len(found.boxes) == fewest


@settings(max_examples=150)
@given(kinds())
def test_takes_what_it_must_and_nothing_it_must_not(cells: Cells) -> None:
    check(cells)
    assert cover(cells == 1, free=cells == 2).optimal


@pytest.mark.parametrize(
    ("forced", "lattice", "grow"), [(0, 0, 10**9), (10**9, 0, 10**9), (0, 0, 0)]
)
def test_stays_exact_when_work_runs_out(
    forced: int, lattice: int, grow: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maximal, "_FORCED_WORK", forced)
    monkeypatch.setattr(maximal, "_LATTICE_WORK", lattice)
    monkeypatch.setattr(maximal, "_GROW_WORK", grow)
    settings(max_examples=40)(given(kinds())(check))()


def test_free_cells_save_boxes() -> None:
    # Two corners of a square: one box if the rest is free, two if it is not.
    cells = np.array([[1, 2], [2, 1]])
    assert cover(cells == 1, free=cells == 2).boxes == (((0, 1), (0, 1)),)
    assert len(cover(cells == 1).boxes) == 2
    assert cover(cells == 1, free=np.zeros((2, 2), bool)) == cover(cells == 1)


def test_earlier_axes_first_where_all_else_is_equal() -> None:
    # The first two cells of a square are told apart from the free ones by either axis.
    cells = np.array([[1, 2], [2, 0]])
    assert cover(cells == 1, free=cells == 2).boxes == (((0,), (0, 1)),)
    assert cover_module.cover((cells == 1).T, free=(cells == 2).T).boxes == (((0,), (0, 1)),)


SIZE = AxisValues("size", ("0", "1", "2", "5", "9"), (0, 1, 2, 5, 9), limits=True)
KIND = AxisValues("kind", tuple("abcdef"))


@pytest.mark.parametrize(
    ("axis", "needed", "allowed", "expected"),
    [
        (KIND, "bc", "bcd", "kind in {b, c}"),
        (KIND, "bcd", "bcdef", "kind!=a"),
        (KIND, "b", "b", "kind=b"),
        (KIND, "b", "abcdef", None),
        (SIZE, ["2"], ["2", "5", "9"], "size>1"),
        (SIZE, ["5"], ["2", "5", "9"], "size>1"),
        (SIZE, ["1", "5"], ["0", "1", "2", "5"], "size<=5"),
        (SIZE, ["2"], ["1", "2", "5"], "size=2"),
        (SIZE, ["1", "5"], ["1", "2", "5"], "1<=size<=5"),
        (SIZE, ["0", "9"], ["0", "9"], "size in {0, 9}"),
    ],
)
def test_the_plainest_words_between_what_must_be_and_what_may_be(
    axis: AxisValues, needed: list[str], allowed: list[str], expected: str | None
) -> None:
    places = np.arange(len(axis.labels))
    sides = [[axis.labels.index(word) for word in words] for words in (needed, allowed)]
    said = plainest(axis, places, *sides)
    assert (said and text([said])) == expected


def test_plain_words_take_whole_classes() -> None:
    # 0 and 2 are to be taken, 1 and 9 may be: size<=2 would take only one of these two.
    said = plainest(SIZE, np.array([0, 1, 0, 2, 1]), [0], [0, 1])
    assert said is not None
    assert text([said]) == "size!=5"


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        (["1", "2", "5", "9"], "size>0"),
        (["9"], "size=9"),  # 6 was not tried: there is no limit to name
        (["5", "9"], "size>=5"),
        (["0"], "size<=0"),
        (["0", "1", "2"], "size<=2"),
        (["1", "2"], "1<=size<=2"),
    ],
)
def test_a_limit_is_named_by_the_last_value_below_it(taken: list[str], expected: str) -> None:
    box = [[SIZE.labels.index(word) for word in taken]]
    assert text(describe(box, [np.arange(5)], [SIZE])) == expected


def test_lists_are_turned_around_where_that_saves_four_names() -> None:
    axis = AxisValues("data_type", tuple("abcdefghijkl"))

    def said(count: int) -> str:
        return text(describe([range(count)], [np.arange(12)], [axis]))

    assert said(7) == "data_type in {a, b, c, d, e, f, g}"
    assert said(8) == "data_type not in {i, j, k, l}"
