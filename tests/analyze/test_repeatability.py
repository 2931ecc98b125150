"""Runs folded into a verdict, and what clean ones rule out."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.analyze.repeatability import MOST_DISTINCT, Tally, by_algo, failure_rate_bound, gated
from pyharness.spec.differences import Difference, difference

ONE = Difference(10, 1, 4, 1, 0.5)


@given(clean=st.integers(1, 10_000))
def test_at_the_bound_clean_runs_have_a_probability_of_5_percent(clean: int) -> None:
    bound = failure_rate_bound(clean)
    assert bound is not None
    assert (1 - bound) ** clean == pytest.approx(0.05, rel=1e-9)


def test_the_bound_of_known_counts() -> None:
    assert failure_rate_bound(0) is None
    assert failure_rate_bound(1) == pytest.approx(0.95)
    # 59 clean samples are the fewest that show a rate below 5 % (Wilks, 95/95).
    bounds = {n: failure_rate_bound(n) or 1 for n in (58, 59, 1000)}
    assert bounds[58] > 0.05 > bounds[59]
    assert bounds[1000] == pytest.approx(3 / 1000, rel=5e-3)  # the rule of three


def test_clean_runs_are_repeatable() -> None:
    tally = Tally()
    for _ in range(10):
        tally.add("a", None, None)
    row = tally.as_row()
    assert (row["verdict"], row["runs"], row["distinct"], row["share"]) == ("repeatable", 10, 1, 0)
    assert row["failure_rate_bound"] == pytest.approx(1 - 0.05**0.1)
    assert {row[n] for n in ("first_run", "first_element", "most_ulps", "most_abs")} == {None}


def test_what_differs_is_told_by_its_first_run_and_its_worst() -> None:
    tally = Tally()
    tally.add("a", None, "one")
    tally.add("b", Difference(10, 1, 4, 1, 0.5), "two")
    tally.add("c", Difference(10, 5, 2, 9, 0.25), "three")
    tally.add("b", Difference(10, 1, 4, 1, 0.5), "four")
    row = tally.as_row()
    assert row == {
        "runs": 4,
        "distinct": 3,
        "first_run": 2,
        "first_element": 4,
        "variant": "two",
        "most_ulps": 9,
        "most_abs": 0.5,
        "share": 0.5,
        "verdict": "not_repeatable",
        "failure_rate_bound": None,
        "reason": None,
        "processes": 1,
        "outcome": "passed",
        "compared_on": None,
        "differing": 3,
        "nan": 0,
    }


def test_what_is_counted_does_not_grow_with_the_runs() -> None:
    tally = Tally()
    for run in range(3 * MOST_DISTINCT):
        tally.add(str(run), Difference(1, 1, 0, 1, 1.0))
        if run < MOST_DISTINCT - 2:
            assert tally.as_row()["distinct"] == run + 2
    row = tally.as_row()
    assert (row["runs"], row["differing"]) == (3 * MOST_DISTINCT, 3 * MOST_DISTINCT)
    assert row["distinct"] == MOST_DISTINCT
    assert sum(map(len, tally.digests.values())) < MOST_DISTINCT


def test_numbers_that_turned_into_nan_are_counted() -> None:
    tally = Tally()
    for nans in (1, 3, 2):
        now = b"\x00\x00\xc0\x7f" * nans + bytes(4 * (4 - nans))
        tally.add(str(nans), difference(bytes(16), now, "float"), compared_on="device")
    row = tally.as_row()
    assert (row["nan"], row["most_ulps"], row["most_abs"]) == (3, 0, 0.0)
    assert row["compared_on"] == "device"
    tally.add(None, None, compared_on="host: no room")
    assert tally.as_row()["compared_on"] == "device and host: no room"
    clean = Tally()
    clean.add(None, None)
    assert (clean.as_row()["nan"], clean.as_row()["differing"]) == (None, 0)
    assert Tally(reason="no").as_row()["differing"] is None


@given(
    runs=st.lists(
        st.tuples(
            st.sampled_from(["a", "b", None]),
            st.sampled_from([None, ONE, Difference(9, 2, 0, 7, math.inf, 1)]),
            st.sampled_from([None, "one"]),
            st.sampled_from([None, "sequence 1"]),
            st.integers(0, 2),
            st.sampled_from([None, "device", "host: why"]),
        )
    ),
    reason=st.sampled_from([None, "it crashed"]),
)
def test_a_tally_goes_through_json(runs: list[Any], reason: str | None) -> None:
    tally = Tally(reason=reason, failed=reason is not None)
    for run in runs:
        tally.add(*run)
    data = json.loads(json.dumps(tally.as_data(), allow_nan=False))
    again = Tally.from_data(data)
    assert again == tally
    again.add("c", ONE)
    tally.add("c", ONE)
    assert again.as_row() == tally.as_row()


def test_results_of_different_parts_are_not_different_results() -> None:
    tally = Tally()
    apart = Difference(10, 1, 4, 1, 0.5)
    for part, digest in (("a", "1"), ("b", "2"), ("b", "3"), ("c", "4")):
        tally.add(digest, apart, part, part)
    tally.add(None, None, "c", "c")
    assert (tally.as_row()["runs"], tally.as_row()["distinct"]) == (5, 3)


def test_processes_are_counted_and_a_defect_is_told() -> None:
    tally = Tally()
    for process in (4, 4, 5):
        tally.add(None, None, process=process)
    assert tally.as_row()["processes"] == 2
    tally.reason, tally.failed = "it crashed", True
    assert tally.as_row()["outcome"] == "failed"
    assert Tally(reason="no padding").as_row()["outcome"] == "skipped"
    assert Tally().as_row()["processes"] is None


def test_an_infinite_distance_is_null() -> None:
    tally = Tally()
    before, now = bytes(8), b"\x00\x00\x80\x7f" + bytes(4)  # 0 and infinity, as floats
    tally.add("b", difference(before, now, "float"), None)
    assert tally.as_row()["most_abs"] is None
    assert tally.as_row()["most_ulps"] == 0x7F800000


@pytest.mark.parametrize("clean", [0, 3])
def test_runs_that_ended_early_show_nothing_unless_they_differ(clean: int) -> None:
    tally = Tally(reason="it crashed")
    for _ in range(clean):
        tally.add("a", None, None)
    assert tally.as_row()["verdict"] == "not_tried"
    assert tally.as_row()["failure_rate_bound"] is None
    tally.add("b", Difference(1, 1, 0, 1, 1.0), None)
    assert tally.as_row()["verdict"] == "not_repeatable"


def row(
    algo: str, condition: str, name: str, verdict: str, runs: int, buffer: str = "y"
) -> dict[str, Any]:
    return {
        "algo": algo,
        "condition": condition,
        "name": name,
        "problem": "hidden_size=8",
        "buffer": buffer,
        "verdict": verdict,
        "runs": runs,
        "processes": 1 if runs else None,
    }


def test_a_cell_is_as_bad_as_its_worst_tensor() -> None:
    rows = [
        row("standard", "graph", "p", "repeatable", 5),
        row("standard", "graph", "p", "repeatable", 4),
        row("standard", "graph", "q", "repeatable", 5),
        row("standard", "graph", "r", "not_tried", 0),
        row("standard", "batch", "p", "repeatable", 5),
        row("standard", "batch", "p", "not_repeatable", 5),
        row("standard", "batch", "q", "repeatable", 5),
        row("persist_static", "graph", "p", "not_tried", 0),
        row("standard", "dropout_continued", "p", "not_repeatable", 5),
    ]
    cells = by_algo(rows)
    clean = cells["standard", "graph"]
    assert (clean.verdict, clean.problems, clean.differing, clean.clean) == ("repeatable", 2, 0, 9)
    assert clean.bound == failure_rate_bound(9)
    bad = cells["standard", "batch"]
    assert (bad.verdict, bad.problems, bad.differing, bad.bound) == ("not_repeatable", 2, 1, None)
    none = cells["persist_static", "graph"]
    assert (none.verdict, none.problems, none.bound) == ("not_tried", 0, None)
    assert gated(rows) == 1  # without what differs by design


def test_a_cell_says_that_something_in_it_was_not_tried() -> None:
    rows = [
        row("standard", "graph", "p", "repeatable", 5),
        row("standard", "graph", "p", "not_tried", 0, "hy"),
        row("standard", "graph", "q", "repeatable", 5),
        # This sum is another one in another batch, whatever the problem.
        row("standard", "batch", "p", "repeatable", 5),
        row("standard", "batch", "p", "not_tried", 0, "dw"),
        row("standard", "batch", "q", "not_tried", 0),
    ]
    cells = by_algo(rows)
    graph, batch = cells["standard", "graph"], cells["standard", "batch"]
    assert (graph.verdict, graph.problems, graph.untold, graph.clean) == ("repeatable", 2, 1, 10)
    assert (batch.verdict, batch.problems, batch.untold, batch.clean) == ("repeatable", 1, 1, 5)
    assert by_algo(rows[3:5])["standard", "batch"].untold == 0
