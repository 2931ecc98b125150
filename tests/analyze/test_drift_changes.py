"""What rows of a drift run become of, end by end, against a list by hand."""

from __future__ import annotations

from itertools import product

import pytest

from pyharness.analyze.drift_changes import DRIFT_CHANGES, DriftChanges, changes_of
from pyharness.spec.columns import AXIS_COLUMNS
from pyharness.spec.tables import TABLES

ENDS = {
    "passed": ("passed", "SUCCESS"),
    "refused": ("unsupported", "NOT_SUPPORTED"),
    "bad": ("unsupported", "BAD_PARAM"),
    "failed": ("failed", None),
    "errs": ("failed", "EXECUTION_FAILED"),
    "short": ("out_of_memory", None),
    "told short": ("out_of_memory", "ALLOC_FAILED"),
    "skipped": ("skipped", None),
}
CHANGES = {
    ("passed", "refused"): "newly_refused",
    ("passed", "bad"): "newly_refused",
    ("refused", "passed"): "newly_accepted",
    ("bad", "passed"): "newly_accepted",
    ("refused", "bad"): "other_status",
    ("bad", "refused"): "other_status",
}


def row(a: str, b: str, verdict: str = "not_compared") -> dict[str, object]:
    return {
        **{column.name: None for column in TABLES["drift"]},
        "pass": "backward_data",
        "buffer": "dx",
        "verdict": verdict,
        "outcome_a": ENDS[a][0],
        "status_a": ENDS[a][1],
        "outcome_b": ENDS[b][0],
        "status_b": ENDS[b][1],
        "hidden_size": 7,
        "share": 0.5,
        "most_ulps": 3,
        "most_abs": 0.25,
    }


def expected(a: str, b: str) -> str | None:
    kinds = {"errs": "failed", "told short": "short"}
    a, b = kinds.get(a, a), kinds.get(b, b)
    if a == b or "skipped" in (a, b):
        return None
    if {a, b} == {"passed", "short"}:
        return "newly_out_of_memory" if b == "short" else "no_longer_out_of_memory"
    if "failed" in (a, b):
        return "newly_failed" if b == "failed" else "no_longer_failed"
    if "short" in (a, b):  # neither end is one that passed
        return "other_status"
    return CHANGES[(a, b)]


@pytest.mark.parametrize(("a", "b"), list(product(ENDS, ENDS)))
def test_every_pair_of_ends(a: str, b: str) -> None:
    found = list(changes_of([row(a, b)]))
    change = expected(a, b)
    assert [r["change"] for r in found] == ([change] if change else [])
    for made in found:
        assert (made["status_a"], made["status_b"]) == (ENDS[a][1], ENDS[b][1])
        assert (made["stage"], made["pass"], made["hidden_size"]) == (
            "backward_data",
            "backward_data",
            7,
        )
        assert "most_ulps" not in made


def test_tensors_that_drifted_and_those_that_did_not() -> None:
    rows = [row("passed", "passed", verdict) for verdict in ("same", "drifted", "same")]
    (made,) = changes_of(rows)
    assert (made["change"], made["buffer"]) == ("drifted", "dx")
    assert (made["share"], made["most_ulps"], made["most_abs"]) == (0.5, 3, 0.25)
    assert set(made) <= {c.name for c in TABLES["changes"]}
    assert {c.name for c in AXIS_COLUMNS} <= set(made)


def test_counts() -> None:
    rows = [row("passed", "passed", "drifted"), row("passed", "refused"), row("short", "passed")]
    found = DriftChanges("card", 3, {"drifted": 1}, False, list(changes_of(rows)))
    counts = {name: found.count(name) for name in (*DRIFT_CHANGES, "newly_refused")}
    assert counts == {
        "drifted": 1,
        "newly_out_of_memory": 0,
        "no_longer_out_of_memory": 1,
        "newly_refused": 1,
    }
