"""Every reason is found with its count, though only a fraction of the rows is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pyharness.analyze.reason_classes import distinct_reasons

ACCEPTED, REFUSED, UNSUPPORTED = 0, 1, 2
Places = tuple[NDArray[np.int64], ...]


class Library:
    """A grid whose status and text are known functions of the places of a row."""

    def __init__(
        self,
        shape: tuple[int, ...],
        status: Callable[[Places], NDArray[np.int64]],
        text: Callable[[Places], NDArray[np.int64]],
    ) -> None:
        places = tuple(np.indices(shape).reshape(len(shape), -1))
        self.codes = np.broadcast_to(status(places), np.prod(shape)).astype(np.uint8).reshape(shape)
        self._texts = np.broadcast_to(text(places), np.prod(shape)).astype(np.uint16)
        self.asked = 0

    def ask(self, rows: NDArray[np.int64]) -> NDArray[np.uint16]:
        """The texts of rows; accepted ones have none."""
        self.asked += len(rows)
        refused = self.codes.flat[rows] != ACCEPTED
        return np.where(refused, self._texts[rows], 0).astype(np.uint16)

    def truth(self) -> Counter[tuple[int, int]]:
        """How many refused rows have each status and text."""
        codes = self.codes.reshape(-1)
        pairs = zip(codes.tolist(), self._texts.tolist(), strict=True)
        return Counter(p for p in pairs if p[0] != ACCEPTED)


def found(library: Library) -> Counter[tuple[int, int]]:
    """What distinct_reasons says, after the checks that hold for any library."""
    result = distinct_reasons(library.codes, [REFUSED, UNSUPPORTED], library.ask, seed=1)
    assert result.agreed
    assert result.asked == result.cells
    for reason in result.reasons:
        assert library.codes.flat[reason.example] == reason.code
        assert library._texts[reason.example] == reason.text_id
    rows = [r.rows for r in result.reasons]
    assert rows == sorted(rows, reverse=True), "the most frequent first"
    counts = Counter({(r.code, r.text_id): r.rows for r in result.reasons})
    assert len(counts) == len(result.reasons)
    return counts


def test_reasons_that_follow_the_status() -> None:
    library = Library((8, 50, 40, 30), lambda p: (p[1] < 20) * REFUSED, lambda p: 5 + 0 * p[0])
    assert found(library) == {(REFUSED, 5): 8 * 20 * 40 * 30}
    assert library.asked < library.codes.size / 10


def test_reasons_that_tell_apart_what_the_status_does_not() -> None:
    # One status everywhere; the text depends on two axes, and on a pair of values of two others.
    library = Library(
        (6, 20, 20, 20),
        lambda p: REFUSED + 0 * p[0],
        lambda p: 1 + p[0] + 10 * (p[1] == 7) + 100 * ((p[2] == 3) & (p[3] > 11)),
    )
    assert found(library) == library.truth()
    assert library.asked < library.codes.size


def test_one_value_of_one_axis_is_found() -> None:
    library = Library(
        (40, 40, 40), lambda p: (p[0] % 2 == 0) * UNSUPPORTED, lambda p: 1 + (p[2] == 39)
    )
    assert found(library) == {(UNSUPPORTED, 1): 20 * 40 * 39, (UNSUPPORTED, 2): 20 * 40}


def test_the_same_words_under_two_statuses_are_two_reasons() -> None:
    library = Library((9, 9), lambda p: 1 + (p[0] > 3), lambda p: 4 + 0 * p[0])
    assert found(library) == {(REFUSED, 4): 36, (UNSUPPORTED, 4): 45}


def test_a_refusal_without_words_counts_too() -> None:
    library = Library((9, 9), lambda p: REFUSED + 0 * p[0], lambda p: (p[0] == 2) * 1)
    assert found(library) == {(REFUSED, 0): 72, (REFUSED, 1): 9}


@pytest.mark.parametrize("shape", [(1,), (1, 1, 1), (7,), (3, 1, 2)])
def test_small_shapes(shape: tuple[int, ...]) -> None:
    library = Library(shape, lambda p: REFUSED + 0 * p[0], lambda p: 1 + p[0])
    assert found(library) == library.truth()


def test_nothing_refused_has_no_reasons() -> None:
    library = Library((5, 5), lambda p: 0 * p[0], lambda p: 1 + p[0])
    assert found(library) == {}
    assert library.asked == 0


@given(st.data())
def test_a_library_of_rules_as_cudnn_has_them(data: st.DataObject) -> None:
    # A chain of conditions, each on one or two axes: the first that holds gives status and text.
    shape = tuple(data.draw(st.lists(st.integers(1, 8), min_size=2, max_size=4)))
    conditions = []
    for text in range(1, data.draw(st.integers(1, 5)) + 1):
        axes = data.draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, max_size=2))
        values = [data.draw(st.sets(st.integers(0, shape[a] - 1), min_size=1)) for a in axes]
        status = data.draw(st.sampled_from([REFUSED, UNSUPPORTED]))
        conditions.append((axes, values, status, text))

    def first(places: Places, which: int) -> NDArray[np.int64]:
        result = np.zeros(len(places[0]), np.int64)
        for axes, values, *answer in reversed(conditions):
            holds = np.ones(len(places[0]), bool)
            for axis, wanted in zip(axes, values, strict=True):
                holds &= np.isin(places[axis], list(wanted))
            result[holds] = answer[which]
        return result

    library = Library(shape, lambda p: first(p, 0), lambda p: first(p, 1))
    assert found(library) == library.truth()


def test_words_without_any_rule_are_not_called_sure() -> None:
    rng = np.random.default_rng(1)
    texts = rng.integers(1, 60000, 50 * 50 * 50)
    library = Library((50, 50, 50), lambda p: REFUSED + 0 * p[0], lambda p: texts)
    result = distinct_reasons(library.codes, [REFUSED], library.ask, seed=1)
    if result.agreed:
        counts = {(r.code, r.text_id): r.rows for r in result.reasons}
        assert counts == library.truth(), "sure only if every row was told apart"
    assert sum(r.rows for r in result.reasons) == library.codes.size
