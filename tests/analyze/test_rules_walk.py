"""What is tried between tested values, and where the answers change."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.analyze.rules_walk import (
    MOST_HALVED,
    MOST_SETTINGS,
    Plan,
    Price,
    changes,
    halve,
    integers,
    joined,
    plan_walk,
)


def plan(
    values: list[int], profiles: list[list[int]], most: int, price: Price | None = None
) -> Plan:
    """A plan for values that are each a class of its own; 0 is the answer that is favoured."""
    array = np.array(profiles)
    favoured = (array == 0).any(axis=1)
    return plan_walk(values, np.arange(len(values)), array, favoured, most, price or Price())


def test_all_gaps_are_tried_where_that_can_be_paid() -> None:
    found = plan([10, 1, 5, 6], [[0, 0, 0, 1]], 100)
    assert (found.spans, found.skipped) == ([(2, 4), (7, 9)], [])


def test_narrow_gaps_come_first_and_the_rest_is_named() -> None:
    found = plan([1, 4, 1000], [[0, 0, 1]], 10)
    assert found.spans == [(2, 3), (5, 12)]
    assert found.skipped == [(13, 999)]
    none = plan([1, 4], [[0, 1]], 0)
    assert (none.spans, none.skipped) == ([], [(2, 3)])


def test_zero_and_above_comes_before_what_is_far_below() -> None:
    found = plan([-(2**31), 2**31 - 1], [[0, 1]], 100)
    assert found.spans == [(-1, 98)]
    assert found.skipped == [(1 - 2**31, -2), (99, 2**31 - 2)]
    # What is left, 9 of 30, is spent on what lies below: the narrower gap, then the next's top.
    found = plan([-50, -10, 20], [[0, 0, 1]], 30)
    assert (found.spans, found.skipped) == ([(-11, -11), (-9, 19)], [(-49, -12)])
    none = plan([-50, 50], [[0, 1]], 0)
    assert (none.spans, none.skipped) == ([], [(-49, 49)])


def test_every_profile_has_a_setting_then_where_the_axis_matters_then_what_is_accepted() -> None:
    profiles = [[0, 0]] * 50 + [[0, 1]] * 200 + [[1, 1]] * 3 + [[1, 0]] + [[2, 2]]
    found = [tuple(profiles[kind]) for kind in plan([1, 9], profiles, 1000).kinds]
    assert len(found) == MOST_SETTINGS
    assert found[:5] == [(0, 1), (1, 0), (0, 0), (1, 1), (2, 2)]
    assert found[5 : 5 + 199] == [(0, 1)] * 199
    assert set(found[5 + 199 :]) == {(0, 0)}
    # A walk of full length is made in a few settings only, of different profiles.
    few = [tuple(profiles[kind]) for kind in plan([1, 1002], profiles, 1000).kinds]
    assert few[:5] == found[:5]
    assert len(few) == 8


def test_few_kinds_are_tried_in_several_settings() -> None:
    assert plan([1, 9], [[1, 1], [0, 0], [1, 1]], 1000).kinds[:6] == [1, 0, 2, 1, 1, 1]


@given(st.integers(-5, 20), st.integers(0, 40), st.floats(0.1, 3), st.floats(0, 2))
def test_the_price_of_a_span_is_the_sum_of_its_values(
    first: int, more: int, fixed: float, each: float
) -> None:
    price = Price(fixed, each)
    expected = sum(fixed + each * max(v, 0) for v in range(first, first + more + 1))
    assert price.of(first, first + more) == pytest.approx(expected)
    assert price.of(first, first - 1) == 0


def test_dear_values_end_a_span_earlier() -> None:
    found = plan([0, 1000], [[0, 1]], 200, Price(1, 1))
    # 1 + v summed over 1..18 is 189; 19 would add 20.
    assert found.spans == [(1, 18)]


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=12, unique=True), st.data())
def test_limits_are_where_an_answer_differs_from_the_one_before(
    values: list[int], data: st.DataObject
) -> None:
    first = data.draw(st.integers(-40, 30))
    spans = [(first, first + data.draw(st.integers(0, 15)))]
    tried = integers(values, spans).tolist()
    assert tried == sorted({*values, *range(spans[0][0], spans[0][1] + 1)})
    answers = {v: data.draw(st.integers(0, 2)) for v in tried}
    limits, pairs = changes(np.array(tried), np.array([answers[v] for v in tried], np.uint8))
    assert limits == {v for v in tried if v - 1 in answers and answers[v - 1] != answers[v]}
    assert pairs == [(a, b) for a, b in pairwise(tried) if b > a + 1 and answers[a] != answers[b]]


@pytest.mark.parametrize("limit", [1, 2, 77, 99_999, 100_000])
def test_halving_ends_at_the_limit(limit: int) -> None:
    asked: list[int] = []

    def answer(value: int) -> int:
        asked.append(value)
        return int(value >= limit)

    assert halve((0, 100_000), answer) == ([limit], False)
    assert len(asked) <= 20


@given(st.lists(st.integers(1, 500), min_size=1, max_size=6, unique=True))
def test_halving_goes_on_to_the_answer_of_the_upper_end(steps: list[int]) -> None:
    # A different answer after each step: all of them are between the ends.
    found = halve((0, 500), lambda value: sum(step <= value for step in steps))
    assert found == (sorted(steps), False)


def test_halving_that_meets_too_many_changes_stops_and_says_so() -> None:
    found, cut = halve((0, 1000), lambda value: value)
    assert (len(found), cut) == (MOST_HALVED, True)
    assert found == list(range(1, MOST_HALVED + 1))


def test_spans_are_joined() -> None:
    assert joined([(5, 9), (1, 2), (3, 4), (20, 20), (8, 12)]) == [(1, 12), (20, 20)]
