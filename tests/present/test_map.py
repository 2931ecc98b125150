"""A map's summary: the counts, the failures and the doubts that its manifest holds."""

from __future__ import annotations

from typing import Any

from pyharness.present.map import render_map

CALL = "cudnnSetRNNDescriptor_v8"


def manifest(**results: Any) -> dict[str, Any]:
    """run.json of a map, as far as it is shown."""
    found: dict[str, Any] = {
        "rows": 2000,
        "statuses": {"SUCCESS": 500, "BAD_PARAM": 1495, "NOT_SUPPORTED": 5},
        "failures": [],
        "walk_s": 1.25,
    }
    return {
        "release": {"name": "9.28.0.42+cu12"},
        "space": {"name": "descriptor-core"},
        "absent_calls": [],
        "notes": [],
        "results": {**found, **results},
    }


def lines(data: dict[str, Any], costs: list[dict[str, Any]] | None = None) -> list[str]:
    return render_map(data, "some/folder", costs or []).splitlines()


def test_every_status_with_its_number_and_share_the_most_frequent_first() -> None:
    text = lines(manifest())
    assert text[0] == "cuDNN 9.28.0.42+cu12: 2,000 problems (descriptor-core)"
    assert [line.split() for line in text[1:4]] == [
        ["BAD_PARAM", "1,495", "74.75%"],
        ["SUCCESS", "500", "25.00%"],
        ["NOT_SUPPORTED", "5", "0.25%"],
    ]
    assert text[-1] == "Walked in 1.2 s; tables in some/folder"


def test_a_call_that_is_not_there_is_named() -> None:
    data = manifest() | {"absent_calls": ["cudnnRNNSetClip_v9"]}
    assert "  cudnnRNNSetClip_v9: this release has no such function, so no rows" in lines(data)


def test_a_map_without_a_row_has_no_shares() -> None:
    data = manifest(rows=0, statuses={}) | {"absent_calls": ["cudnnRNNSetClip_v9"]}
    assert lines(data)[0] == "cuDNN 9.28.0.42+cu12: 0 problems (descriptor-core)"


def test_failures_are_told_with_the_last_that_the_library_said() -> None:
    failures = [
        {"call": CALL, "problem": "hidden_size=666", "cause": "SIGSEGV", "output": ""},
        {"call": CALL, "problem": "", "cause": "SIGABRT", "output": "first\nlast word"},
    ]
    text = lines(manifest(failures=failures, statuses={"SUCCESS": 1, "failed": 25}))
    at = text.index("Failed: the worker did not survive the call")
    assert text[at + 1 : at + 5] == [
        f"  {CALL} hidden_size=666: SIGSEGV",
        f"  {CALL} (every axis at its default): SIGABRT",
        "    it said: last word",
        "  and 23 more (status null in the table)",
    ]
    assert "Failed: the worker did not survive the call" not in lines(manifest())


def test_all_failures_shown_leaves_none_to_count() -> None:
    failures = [{"call": CALL, "problem": "a=1", "cause": "SIGSEGV", "output": ""}]
    text = lines(manifest(failures=failures, statuses={"failed": 1}))
    assert not any(" more (" in line for line in text)


def test_reasons_that_were_not_all_asked_for_are_said() -> None:
    full = {"call": CALL, "agreed": True, "sampled": 9, "cells": 1200, "asked": 1200}
    part = {**full, "asked": 1000}
    unsure = {**full, "agreed": False}

    def told(reasons: dict[str, Any]) -> bool:
        return any(
            "--reasons all counts every one" in x for x in lines(manifest(reasons=[reasons]))
        )

    assert [told(r) for r in (full, part, unsure)] == [False, True, True]
    assert any("1,000 of 1,200 classes" in x for x in lines(manifest(reasons=[part])))


def test_costs_in_nanoseconds() -> None:
    costs = [{"call": CALL, "answer": "accepted", "median_s": 42.34e-9}]
    text = lines(manifest(), costs)
    at = text.index("Cost of a call (median)")
    assert text[at + 1].split() == [CALL, "accepted", "42.3", "ns"]
    assert "Cost of a call (median)" not in lines(manifest())


def test_the_spot_check_adds_up_over_the_calls() -> None:
    checks = [
        {"rows": 1000, "changed": 2, "unkept": 0},
        {"rows": 500, "changed": 0, "unkept": 1},
    ]
    text = lines(manifest(spot_check=checks) | {"notes": ["it lies"]})
    assert "Spot check: 1,500 problems asked again, 3 answered otherwise" in text
    assert "Note: it lies" in text
