"""Rows that are picked are of the kind asked for, all of it where it is small, and spread."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.engine import sampling
from pyharness.engine.sampling import evenly, histogram, marked, scattered

codes_of = st.lists(st.integers(0, 5), max_size=300)
wanted_of = st.sets(st.integers(0, 5))


@given(codes_of, wanted_of, st.integers(1, 50))
def test_evenly_spaced_rows_are_wanted_ones(codes: list[int], wanted: set[int], most: int) -> None:
    rows = evenly(np.array(codes, np.uint8), wanted, most)
    of_kind = [i for i, c in enumerate(codes) if c in wanted]
    assert set(rows.tolist()) <= set(of_kind)
    assert rows.tolist() == sorted(set(rows.tolist()))
    if len(of_kind) <= most:
        assert rows.tolist() == of_kind
    else:
        assert len(rows) == most
        places = [of_kind.index(r) for r in rows]
        gaps = {b - a for a, b in pairwise(places)}
        assert not gaps or max(gaps) - min(gaps) <= 1
        assert places[0] == 0


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 4, 1000).astype(np.uint8)
    whole = evenly(codes, [1, 3], 100).tolist(), histogram(codes, range(6))
    monkeypatch.setattr(sampling, "_BLOCK", 64)
    assert (evenly(codes, [1, 3], 100).tolist(), histogram(codes, range(6))) == whole
    assert whole[1] == {c: codes.tolist().count(c) for c in range(4)}


@given(codes_of, wanted_of)
def test_marks_are_membership(codes: list[int], wanted: set[int]) -> None:
    assert marked(np.array(codes, np.uint8), wanted).tolist() == [c in wanted for c in codes]


def test_scattered_rows() -> None:
    assert scattered(7, 7, 1).tolist() == list(range(7))
    many = scattered(10**9, 1000, 1)
    assert 990 <= len(many) <= 1000
    assert np.all(np.diff(many) > 0)
    assert many[0] < 10**7
    assert many[-1] > 10**9 - 10**7
    assert np.array_equal(many, scattered(10**9, 1000, 1))
    assert not np.array_equal(many, scattered(10**9, 1000, 2))
