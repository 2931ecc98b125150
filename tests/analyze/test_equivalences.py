"""Problems counted by what is worst of them, algo by algo and check by check."""

from __future__ import annotations

from typing import Any

from pyharness.analyze.equivalences import by_algo, widest


def row(name: str, check: str | None, verdict: str | None, **more: Any) -> dict[str, Any]:
    outcome = "skipped" if verdict is None else "passed"
    shared = {"algo": "standard", "name": name, "check": check, "verdict": verdict}
    return {**shared, "outcome": outcome, **more}


def test_each_problem_counts_once_by_its_worst() -> None:
    rows = [
        row("a", "batch_is_parts", "holds"),
        row("a", "batch_is_parts", "violated"),
        row("a", "batch_is_parts", "violated"),
        row("b", "batch_is_parts", "holds"),
        row("b", "batch_is_parts", "not_told"),
        row("c", "batch_is_parts", "not_told"),
        row("d", "batch_is_parts", None),
        row("e", "batch_is_parts", "violated"),
        row("e", "batch_is_parts", None, outcome="failed"),
        row("f", "batch_is_parts", None, outcome="unsupported"),
        row("a", "layers_in_turn", "holds"),
        row("g", None, None, outcome="unsupported"),
        row("a", "layers_in_turn", "violated", algo="persist_static"),
    ]
    assert by_algo(rows) == {
        ("standard", "batch_is_parts"): {
            "violated": 1,
            "holds": 1,
            "not_told": 1,
            "unchecked": 2,
            "failed": 1,
        },
        ("standard", "layers_in_turn"): {"holds": 1},
        ("persist_static", "layers_in_turn"): {"violated": 1},
    }


def test_what_would_not_be_seen_is_the_widest_threshold_of_what_holds() -> None:
    holds = {"differing": 3, "threshold": 0.25}
    rows = [
        row("a", "batch_is_parts", "holds", **holds),
        row("b", "batch_is_parts", "holds", **{**holds, "threshold": 0.5}),
        # The same bits hold whatever the threshold; of the others it is said what they are.
        row("c", "batch_is_parts", "holds", differing=0, threshold=0.75),
        row("d", "batch_is_parts", "not_told", differing=3, threshold=2.0),
        row("e", "batch_is_parts", "violated", differing=3, threshold=0.875),
        row("f", "layers_in_turn", "holds", differing=0, threshold=0.75),
        row("g", "layers_in_turn", None),
    ]
    assert widest(rows) == {("standard", "batch_is_parts"): 0.5}
