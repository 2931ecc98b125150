"""Codes and ids of a run: the same for every worker, and never mistaken for one another."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pyharness.spec.ledger import FAILED, NOT_RUN, TOO_MANY_TEXTS, Ledger

STATUSES = st.lists(st.integers(-(2**31), 2**31 - 1), unique=True, max_size=20)


@given(st.lists(st.tuples(STATUSES, st.randoms()), max_size=5))
def test_two_workers_mean_the_same(workers: list[tuple[list[int], object]]) -> None:
    ledger = Ledger()
    for statuses, chance in workers:
        theirs = [chance.randrange(len(statuses)) for _ in range(30)] if statuses else []  # type: ignore[attr-defined]
        codes = np.array([*theirs, FAILED, NOT_RUN], np.uint8)
        ours = ledger.translate_codes(codes, statuses)
        assert [ledger.statuses[c] for c in ours[:-2]] == [statuses[c] for c in theirs]
        assert ours[-2:].tolist() == [FAILED, NOT_RUN]
    assert len(set(ledger.statuses)) == len(ledger.statuses)


@given(st.lists(st.lists(st.text("abc", min_size=1, max_size=2), unique=True), max_size=5))
def test_texts_of_several_workers(workers: list[list[str]]) -> None:
    ledger = Ledger()
    for texts in workers:
        board = ["", *texts]
        ids = np.arange(len(board), dtype=np.uint16)[::-1]
        ours = ledger.translate_texts(ids, board)
        assert [ledger.texts[i] for i in ours] == board[::-1]
    assert len(set(ledger.texts)) == len(ledger.texts)


def test_a_text_that_found_no_place_says_so() -> None:
    ledger = Ledger()
    ours = ledger.translate_texts(np.array([TOO_MANY_TEXTS, 0, 1], np.uint16), ["", "a"])
    assert [ledger.texts[i] for i in ours] == ["(more distinct texts than are kept)", "", "a"]


def test_codes_run_out_before_they_mean_something_else() -> None:
    ledger = Ledger()
    for first in (0, 200):  # two workers that together met more than there are codes for
        statuses = list(range(first, first + 200))
        ours = ledger.translate_codes(np.arange(200, dtype=np.uint8), statuses)
        for code, status in zip(ours.tolist(), statuses, strict=True):
            assert code == (status if status < FAILED else FAILED)
    assert len(ledger.statuses) == FAILED


def test_ids_run_out_into_a_text_that_says_so() -> None:
    ledger = Ledger()
    ids = [ledger.text_id(f"text {n}") for n in range(TOO_MANY_TEXTS + 10)]
    assert max(ids) <= np.iinfo(np.uint16).max
    assert ledger.texts[ids[-1]] == "(more distinct texts than are kept)"
    assert ledger.texts[ids[1000]] == "text 1000"
    assert ledger.text_id("text 7") == ids[7]


def test_a_name_is_asked_for_once() -> None:
    ledger = Ledger()
    assert [ledger.code(s) for s in (0, 2000, 0)] == [0, 1, 0]
    assert ledger.unnamed() == [0, 2000]
    ledger.names[0] = "SUCCESS"
    assert ledger.unnamed() == [2000]
    assert ledger.name_of(0) == "SUCCESS"
    assert ledger.name_of(FAILED) is None
