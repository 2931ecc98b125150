"""What is said of two maps beside their problems: enumerators, reason texts, and the gates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyharness.analyze.comparison import CHANGES, Side, compare
from pyharness.analyze.conditions import AxisValues
from pyharness.analyze.cost_changes import CostChange
from pyharness.analyze.drift_changes import DRIFT_CHANGES, DriftChanges
from pyharness.analyze.map_diff import (
    GATES,
    CallDiff,
    MapDiff,
    ReasonTexts,
    compare_enumerators,
    compare_reason_texts,
    enumerators_of,
)


def enumerators(a: str | None, b: str | None) -> MapDiff:
    """A diff with nothing in it but the enumerators of two versions."""
    diff = MapDiff("A", "B", "space")
    compare_enumerators(diff, a, b)
    return diff


@pytest.mark.parametrize(
    ("a", "b", "added"),
    [
        ("9.12.0.46", "9.13.0.50", []),
        ("9.28.0.42", "9.28.1.4", []),
        ("9.13.0.50", "9.14.0.64", ["CUDNN_DATA_COMPLEX_FP32", "CUDNN_DATA_COMPLEX_FP64"]),
        ("8.5.0.96", "8.6.0.163", ["CUDNN_DATA_FP8_E4M3", "CUDNN_DATA_FP8_E5M2"]),
        ("8.6.0.163", "8.7.0.84", ["CUDNN_DATA_FAST_FLOAT_FOR_FP8"]),
        ("9.1.0.70", "9.2.0.82", ["CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED"]),
        ("9.10.2.21", "9.11.0.98", [f"CUDNN_DATA_{n}" for n in ("INT4", "UINT32", "UINT4")]),
    ],
)
def test_enumerators_that_came_are_named_and_the_other_way_round_went(
    a: str, b: str, added: list[str]
) -> None:
    there, back = enumerators(a, b), enumerators(b, a)
    assert (there.enumerators_added, there.enumerators_removed) == (added, [])
    assert (back.enumerators_added, back.enumerators_removed) == ([], added)
    assert there.renumbered == back.renumbered == 0


def test_the_statuses_have_new_numbers_from_nine_on() -> None:
    diff = enumerators("8.9.7.29", "9.0.0.312")
    assert diff.renumbered == 14  # the fifteen statuses of 8.x but SUCCESS
    assert diff.enumerators_removed == []
    assert "CUDNN_STATUS_NOT_SUPPORTED_SHAPE" in diff.enumerators_added
    assert all(n.startswith("CUDNN_STATUS_") for n in diff.enumerators_added)
    old, new = enumerators_of("8.9.7.29"), enumerators_of("9.0.0.312")
    assert old is not None
    assert new is not None
    assert (old["CUDNN_STATUS_BAD_PARAM"], new["CUDNN_STATUS_BAD_PARAM"]) == (3, 2000)
    assert (old["CUDNN_STATUS_NOT_SUPPORTED"], new["CUDNN_STATUS_NOT_SUPPORTED"]) == (9, 3000)
    assert old["CUDNN_STATUS_SUCCESS"] == new["CUDNN_STATUS_SUCCESS"] == 0


@pytest.mark.parametrize("version", ["9.13.0.dev20250101", "9.13.0rc1", "9.13.0+cu12", "9.13.0-1"])
def test_the_leading_numbers_of_a_version_count(version: str) -> None:
    assert enumerators_of(version) == enumerators_of("9.13.0")


@pytest.mark.parametrize("version", ["", "9", "9.dev1", "v9.13", "unknown", "9.", ".9.1"])
def test_fewer_than_two_numbers_are_no_version(version: str) -> None:
    assert enumerators_of(version) is None


@pytest.mark.parametrize(("a", "b"), [(None, "9.13.0"), ("9.13.0", None), (None, None)])
def test_without_a_version_nothing_is_guessed(a: str | None, b: str | None) -> None:
    diff = enumerators(a, b)
    assert (diff.enumerators_added, diff.enumerators_removed, diff.renumbered) == ([], [], 0)
    assert not diff.judged("enumerator_removed")
    assert not diff.judged("enumerator_added")


def reason(text: str | None, status: str = "BAD_PARAM", call: str = "one") -> dict[str, Any]:
    return {"call": call, "status": status, "reason": text, "rows": 3}


def test_reason_texts_are_compared_for_each_call_and_status() -> None:
    old = [reason("size < 1"), reason("kept"), reason("moved"), reason(None, "NOT_SUPPORTED")]
    new = [reason("kept"), reason("rows < 1"), reason("moved", call="two"), reason("cols < 1")]
    assert compare_reason_texts(old, new) == [
        ReasonTexts("one", "BAD_PARAM", ["moved", "size < 1"], ["cols < 1", "rows < 1"]),
        ReasonTexts("one", "NOT_SUPPORTED", [""], []),
        ReasonTexts("two", "BAD_PARAM", [], ["moved"]),
    ]
    assert compare_reason_texts(old, old[::-1]) == []


def changed_call() -> CallDiff:
    """Nine problems: each pair of three answers once, and one reason that differs."""
    axes = [AxisValues("algo", tuple("abc")), AxisValues("cell_mode", tuple("xyz"))]
    names: list[str | None] = ["SUCCESS", "BAD_PARAM", None]
    old, new = np.divmod(np.arange(9, dtype=np.uint8).reshape(3, 3), 3)
    none, some = np.zeros((3, 3), np.uint16), np.ones((3, 3), np.uint16)
    texts = ["", "size < 1"]
    result = compare(axes, Side(old, names, none, texts), Side(new, names, some, texts))
    return CallDiff("one", "descriptor", 9, {a.name: list(a.labels) for a in axes}, {}, {}, result)


def test_a_gate_counts_what_it_names() -> None:
    diff = MapDiff("A", "B", "space", [changed_call(), changed_call()])
    diff.calls_removed, diff.calls_added = ["x"], ["y", "z"]
    diff.enumerators_removed, diff.enumerators_added = ["p", "q", "r"], ["s"]
    diff.costs = [CostChange("one", "accepted", 1, 2, "slower") for _ in range(4)]
    diff.costs += [CostChange("one", "refused", 2, 1, "faster"), CostChange("t", "", 1, 1, "same")]
    assert {gate: diff.count(gate) for gate in GATES if gate not in DRIFT_CHANGES} == {
        "newly_refused": 2,
        "newly_failed": 4,
        "newly_accepted": 2,
        "no_longer_failed": 4,
        "other_status": 0,
        "other_reason": 2,
        "slower": 4,
        "faster": 1,
        "call_removed": 1,
        "call_added": 2,
        "enumerator_removed": 3,
        "enumerator_added": 1,
    }
    assert set(CHANGES) < set(GATES)
    assert diff.rows == 18


def test_what_drifted_is_judged_and_counted_where_a_run_was_joined() -> None:
    diff = MapDiff("A", "B", "space", [changed_call()])
    counts = {gate: diff.count(gate) for gate in GATES}
    assert [gate for gate in GATES if not diff.judged(gate)] == list(DRIFT_CHANGES)
    assert {counts[gate] for gate in DRIFT_CHANGES} == {0}
    rows = [{"change": change} for change in ("drifted", "newly_refused", "drifted")]
    diff.drift = DriftChanges("card", 1, {"drifted": 2}, False, rows)
    assert all(diff.judged(gate) for gate in GATES)
    more = {gate: diff.count(gate) - counts[gate] for gate in GATES}
    assert {gate: n for gate, n in more.items() if n} == {"drifted": 2, "newly_refused": 1}
    for nothing in ({}, {"not_compared": 3}, {"not_told": 1, "not_compared": 3}):
        diff.drift = DriftChanges("card", 1, nothing, False, [])
        assert [gate for gate in GATES if not diff.judged(gate)] == ["drifted"]


def test_costs_of_different_machines_trip_no_gate() -> None:
    diff = MapDiff("A", "B", "space", comparable_costs=False)
    diff.costs = [
        CostChange("one", "accepted", 1, 9, "slower"),
        CostChange("one", "refused", 9, 1, "faster"),
    ]
    assert (diff.count("slower"), diff.count("faster")) == (0, 0)
    diff.comparable_costs = True
    assert (diff.count("slower"), diff.count("faster")) == (1, 1)
