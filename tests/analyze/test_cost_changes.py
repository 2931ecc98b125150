"""When the cost of a call counts as changed: exactly at the edges."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.analyze.cost_changes import CostChange, compare_costs

CALL = "cudnnSetRNNDescriptor_v8"


def cost(
    p25: float, median: float, p75: float, call: str = CALL, answer: str = "accepted"
) -> dict[str, Any]:
    """A row of the costs table, as far as it is compared."""
    return {"call": call, "answer": answer, "p25_s": p25, "median_s": median, "p75_s": p75}


def verdict(old: dict[str, Any], new: dict[str, Any]) -> str:
    (change,) = compare_costs([old], [new])
    return change.verdict


above, below = math.nextafter(1.2, 2), math.nextafter(1.2, 1)


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        # The old side is 0.9, 1.0, 1.1. Slower: the median above 1.2, the middle half above 1.1.
        (cost(1.15, 1.2, 1.3), "same"),
        (cost(1.15, above, 1.3), "slower"),
        (cost(1.15, below, 1.3), "same"),
        (cost(1.1, 1.5, 1.6), "same"),
        (cost(math.nextafter(1.1, 2), 1.5, 1.6), "slower"),
        (cost(1.0, 3.0, 4.0), "same"),
        # Faster: the old median above 1.2 times the new one, the middle half below 0.9.
        (cost(0.7, 0.8, 0.85), "faster"),
        (cost(0.8, 0.85, 0.88), "same"),  # 1.0 / 0.85 is 1.18
        (cost(0.7, 0.8, 0.9), "same"),
        (cost(0.7, 0.8, math.nextafter(0.9, 0)), "faster"),
        (cost(0.9, 1.0, 1.1), "same"),
    ],
)
def test_the_verdict_at_its_edges(new: dict[str, Any], expected: str) -> None:
    assert verdict(cost(0.9, 1.0, 1.1), new) == expected


def test_a_fifth_slower_exactly_is_not_faster_seen_from_the_other_side() -> None:
    assert verdict(cost(1.15, 1.2, 1.3), cost(0.9, 1.0, 1.1)) == "same"
    assert verdict(cost(1.15, above, 1.3), cost(0.9, 1.0, 1.1)) == "faster"


quartiles = st.lists(st.floats(1e-9, 1e-5), min_size=3, max_size=3).map(lambda v: cost(*sorted(v)))


@given(quartiles, quartiles)
def test_the_other_way_round_the_verdict_turns_over(a: dict[str, Any], b: dict[str, Any]) -> None:
    opposite = {"slower": "faster", "faster": "slower", "same": "same"}
    assert verdict(b, a) == opposite[verdict(a, b)]


def test_only_what_was_timed_on_both_sides_is_compared_in_the_order_of_the_first() -> None:
    old = [
        cost(1, 2, 3, "cudnnSetTensorNdDescriptor"),
        cost(1, 2, 3, answer="refused"),
        cost(1, 2, 3),
        cost(1, 2, 3, "cudnnRNNSetClip_v8"),
    ]
    new = [cost(7, 8, 9), cost(3, 4, 5, "cudnnSetTensorNdDescriptor"), cost(1, 2, 3, "other")]
    assert compare_costs(old, new) == [
        CostChange("cudnnSetTensorNdDescriptor", "accepted", 2, 4, "same"),  # 3 touches 3
        CostChange(CALL, "accepted", 2, 8, "slower"),
    ]
    assert [c.ratio for c in compare_costs(old, new)] == [2.0, 4.0]


def test_nothing_timed_is_nothing_compared() -> None:
    assert compare_costs([], [cost(1, 2, 3)]) == []
    assert compare_costs([cost(1, 2, 3)], []) == []
