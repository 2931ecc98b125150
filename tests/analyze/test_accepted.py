"""The counts behind a heat map, against every problem counted one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pyharness.analyze.accepted import accepted_cells, accepted_counts


@st.composite
def folded(draw: st.DrawFn) -> tuple[np.ndarray, list[np.ndarray], list[list[int]], list[int]]:
    """A folded grid of three axes, the values that count on each, and axes to keep."""
    classes = []
    for _ in range(3):
        values = draw(st.lists(st.integers(0, 2), min_size=1, max_size=4))
        first = list(dict.fromkeys(values))
        classes.append(np.array([first.index(v) for v in values], np.intp))
    shape = [int(c.max()) + 1 for c in classes]
    bits = draw(st.lists(st.booleans(), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    places = [sorted(draw(st.sets(st.integers(0, len(c) - 1), min_size=1))) for c in classes]
    kept = draw(st.permutations(range(3)))[: draw(st.integers(1, 3))]
    return np.array(bits, bool).reshape(shape), classes, places, list(kept)


@given(folded())
def test_as_if_each_problem_was_counted(
    case: tuple[np.ndarray, list[np.ndarray], list[list[int]], list[int]],
) -> None:
    accepted, classes, places, kept = case
    expected: dict[tuple[int, ...], int] = {}
    for digits in product(*places):
        cell = tuple(places[a].index(digits[a]) for a in kept)
        own = tuple(int(c[d]) for c, d in zip(classes, digits, strict=True))
        expected[cell] = expected.get(cell, 0) + int(accepted[own])
    counts = accepted_counts(accepted, classes, places, kept)
    assert counts.shape == tuple(len(places[a]) for a in kept)
    assert {cell: int(counts[cell]) for cell in expected} == expected


def test_rows_of_two_sides() -> None:
    yes, no = np.array([[True, False], [True, True]]), np.zeros((2, 2), bool)
    classes = [np.arange(2), np.array([0, 1, 1])]
    rows = accepted_cells(
        [(yes, classes), (no, classes)],
        ["cell", "size"],
        [["lstm", "gru"], ["1", "2", "3"]],
        [[0, 1], [0, 1, 2]],
        ["cell"],
    )
    assert rows == [
        {"cell": "lstm", "problems": 3, "accepted_a": 1, "accepted_b": 0},
        {"cell": "gru", "problems": 3, "accepted_a": 3, "accepted_b": 0},
    ]
