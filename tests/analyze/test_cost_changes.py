"""When the cost of a call counts as changed: exactly at the edges."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.analyze.cost_changes import CostChange, compare_costs, judge

CALL = "cudnnSetRNNDescriptor_v8"
ABOVE, BELOW = math.nextafter(1.2, 2), math.nextafter(1.2, 1)


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        # The old processes took 0.8, 0.9 and 1.0: slower is every new one above 1.2 times 1.0.
        ([1.3, 1.4, 1.2], "same"),
        ([1.3, 1.4, ABOVE], "slower"),
        ([1.3, 1.4, BELOW], "same"),
        ([9.0, 1.0, 9.0], "same"),  # one of three does not decide, and not against two either
        ([9.0, 9.0, 9.0], "slower"),
        # Faster is every old one above 1.2 times the new ones: 0.8 against 0.6666…
        ([0.5, 0.66, 0.6], "faster"),
        ([0.5, 0.67, 0.6], "same"),
        ([0.1, 0.1, 1.0], "same"),
        ([0.8, 0.9, 1.0], "same"),
    ],
)
def test_the_verdict_at_its_edges(new: list[float], expected: str) -> None:
    assert judge([0.8, 1.0, 0.9], new) == expected


def test_a_fifth_exactly_is_no_change_in_either_direction() -> None:
    assert judge([1.0], [1.2]) == judge([1.2], [1.0]) == "same"
    assert (judge([1.0], [ABOVE]), judge([ABOVE], [1.0])) == ("slower", "faster")


medians = st.lists(st.floats(1e-9, 1e-5), min_size=1, max_size=4)


@given(medians, medians)
def test_the_other_way_round_the_verdict_turns_over(a: list[float], b: list[float]) -> None:
    opposite = {"slower": "faster", "faster": "slower", "same": "same"}
    assert judge(b, a) == opposite[judge(a, b)]


@given(medians)
def test_the_same_samples_are_the_same(a: list[float]) -> None:
    assert judge(a, a[::-1]) == "same"


def cost(median: float, call: str = CALL, answer: str = "accepted") -> dict[str, Any]:
    """A row of the costs table, as far as it is compared."""
    return {"call": call, "answer": answer, "median_s": median, "min_s": 99.0, "p75_s": 99.0}


def test_only_what_was_timed_on_both_sides_is_compared_in_the_order_of_the_first() -> None:
    tensor = "cudnnSetTensorNdDescriptor"
    old = [cost(2, tensor), cost(2, answer="refused"), cost(2), cost(2, "cudnnRNNSetClip_v8")]
    new = [cost(8), cost(2.25, tensor), cost(2, "other")]
    assert compare_costs(old, new, in_turn=True) == [
        CostChange(tensor, "accepted", 2, 2.25, "same"),
        CostChange(CALL, "accepted", 2, 8, "slower"),
    ]
    assert [c.ratio for c in compare_costs(old, new, in_turn=True)] == [1.125, 4.0]


def test_the_processes_of_a_side_are_taken_together() -> None:
    old = [cost(5), cost(1, answer="refused"), cost(1), cost(2), cost(1, answer="refused")]
    new = [cost(7), cost(20, answer="refused"), cost(100), cost(8), cost(10, answer="refused")]
    assert compare_costs(old, new, in_turn=True) == [
        CostChange(CALL, "accepted", 2, 8, "slower"),  # 7 against 5
        CostChange(CALL, "refused", 1, 15, "slower"),
    ]
    new[0] = cost(5.5)
    assert [c.verdict for c in compare_costs(old, new, in_turn=True)] == ["same", "slower"]


def test_what_was_not_timed_in_turn_is_not_judged() -> None:
    assert compare_costs([cost(1)], [cost(9)], in_turn=False) == [
        CostChange(CALL, "accepted", 1, 9, "not judged")
    ]


def test_nothing_timed_is_nothing_compared() -> None:
    assert compare_costs([], [cost(1)], in_turn=True) == []
    assert compare_costs([cost(1)], [], in_turn=True) == []
