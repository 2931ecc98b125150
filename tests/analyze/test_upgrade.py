"""Verdicts and the gate's word from evidence that is written down here."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import pytest

from pyharness.analyze.upgrade import (
    Evidence,
    Upgrade,
    Word,
    evidence_of_log,
    judge,
    validity,
)
from pyharness.spec.gate import Gate, default_gate
from pyharness.spec.problem import CallResult, parse_problem
from pyharness.spec.recording import Recorded, Recording, Replay

CALL = "cudnnSetRNNDataDescriptor"
OUTCOMES = {None: "failed", "SUCCESS": "passed", "skipped": "skipped"}


def said(status: str | None) -> CallResult:
    outcome = OUTCOMES.get(status, "unsupported")
    reason = {"unsupported": "why", "failed": "SIGSEGV"}.get(outcome)
    status = None if outcome == "skipped" else status
    return CallResult("x", CALL, "data", status, None, outcome, reason)


def replayed(*steps: tuple[list[str | None], list[str | None]]) -> Replay:
    """Problems with the statuses of their calls on the older and on the newer release."""
    problems = [
        Recorded(
            parse_problem([f"batch_size={i + 1}"]),
            ("x",),
            (),
            "api.log@0",
            i,
            Counter({"cudnnRNNForward": 10 * (i + 1)}),
        )
        for i in range(len(steps))
    ]
    results = [[[said(s) for s in step[side]] for step in steps] for side in (0, 1)]
    return Replay(Recording(problems, ["api.log"]), ["a", "b"], results)


def evidence(
    scope: Literal["log", "space"] = "space", compared: int = 9, unanswered: int = 0, **counts: int
) -> Evidence:
    return Evidence(scope, scope, compared, unanswered, counts, [], [], [])


@pytest.mark.parametrize(
    ("old", "new", "change", "word"),
    [
        ("SUCCESS", "BAD_PARAM", "newly_refused", "worse"),
        ("SUCCESS", None, "newly_failed", "worse"),
        ("BAD_PARAM", None, "newly_failed", "worse"),
        ("BAD_PARAM", "SUCCESS", "newly_accepted", "better"),
        (None, "SUCCESS", "no_longer_failed", "better"),
        (None, "BAD_PARAM", "no_longer_failed", "better"),
        ("BAD_PARAM", "NOT_SUPPORTED", "other_status", "same"),
        ("BAD_PARAM", "BAD_PARAM", None, "same"),
        ("SUCCESS", "SUCCESS", None, "same"),
        (None, None, None, "same"),
        ("skipped", "SUCCESS", None, "inconclusive"),
        ("SUCCESS", "skipped", None, "inconclusive"),
    ],
)
def test_a_problem_of_a_log(
    old: str | None, new: str | None, change: str | None, word: Word
) -> None:
    found = evidence_of_log(replayed(([old], [new])), ["again"])
    assert (found.word, [f.change for f in found.findings]) == (word, [change] if change else [])
    assert found.counts == ({change: 1} if change else {})
    asked = "skipped" not in (old, new)
    assert (found.compared, found.unanswered) == (int(asked), int(not asked))


def test_a_call_that_was_not_made_is_no_answer() -> None:
    found = evidence_of_log(
        replayed((["SUCCESS", "SUCCESS"], ["SUCCESS", "skipped"]), (["SUCCESS"], ["SUCCESS"])), []
    )
    assert (found.compared, found.unanswered, found.word) == (1, 1, "inconclusive")
    (line, *_) = judge(default_gate(True), [found])
    assert (line.word, line.why) == (
        "inconclusive",
        "1 of 2 problems of api.log cannot be asked",
    )


def test_what_is_worse_comes_first_and_the_most_frequent_of_it() -> None:
    steps = [(["BAD_PARAM"], ["SUCCESS"]), (["SUCCESS"], ["BAD_PARAM"]), (["SUCCESS"], [None])]
    found = evidence_of_log(replayed(*steps, (["SUCCESS"], ["NOT_SUPPORTED"])), [])
    assert [(f.change, f.times, f.before, f.after) for f in found.findings] == [
        ("newly_refused", 40, "SUCCESS", "NOT_SUPPORTED: why"),
        ("newly_refused", 20, "SUCCESS", "BAD_PARAM: why"),
        ("newly_failed", 30, "SUCCESS", "failed: SIGSEGV"),
        ("newly_accepted", 10, "BAD_PARAM: why", "SUCCESS"),
    ]
    assert found.word == "mixed"


@pytest.mark.parametrize(
    ("sources", "word"),
    [
        ([evidence()], "same"),
        ([evidence(other_status=5)], "same"),
        ([evidence(newly_refused=1)], "worse"),
        ([evidence(call_removed=1)], "worse"),
        ([evidence(call_added=1)], "better"),
        ([evidence(newly_refused=1, no_longer_failed=1)], "mixed"),
        ([evidence("log"), evidence(newly_refused=1)], "worse"),
        ([evidence("log", newly_accepted=1), evidence(newly_refused=1)], "mixed"),
        ([evidence("log", 0), evidence()], "inconclusive"),
        ([evidence("log", 8, 1), evidence()], "inconclusive"),
        ([evidence(compared=0)], "inconclusive"),
    ],
)
def test_validity_over_all_sources(sources: list[Evidence], word: Word) -> None:
    assert validity(sources).word == word


def gated(gate: Gate, *sources: Evidence) -> tuple[str, list[tuple[str, str, int]]]:
    lines = judge(gate, sources)
    found = Upgrade("a", "b", gate, lines, [])
    return found.word, [(r.key, r.word, r.found) for r in lines if r.word != "passed"]


def test_the_default_gate() -> None:
    space, log = evidence(newly_refused=3), evidence("log")
    refused = ("validity.newly_refused", "failed", 3)
    assert gated(default_gate(False), space) == ("failed", [refused])
    assert gated(default_gate(True), log, space) == ("passed", [])
    there = evidence("log", newly_failed=2)
    assert gated(default_gate(True), there, space) == (
        "failed",
        [("validity.newly_failed", "failed", 2)],
    )
    gone = evidence(call_removed=1)
    assert gated(default_gate(False), gone)[0] == "failed"
    assert gated(default_gate(True), log, gone)[0] == "passed"


def test_any_counts_all_sources_and_none_counts_nothing() -> None:
    sources = evidence("log", newly_refused=2), evidence(newly_refused=3)
    assert gated(Gate("g", {"newly_refused": "any"}), *sources)[1][0][2] == 5
    assert gated(Gate("g", {"newly_refused": "log"}), *sources)[1][0][2] == 2
    assert gated(Gate("g", {"newly_refused": "none"}), *sources) == ("passed", [])
    assert judge(Gate("g", {"newly_refused": "none"}), sources) == []


def test_worse_counts_more_than_what_cannot_be_told() -> None:
    gate = default_gate(True)
    word, lines = gated(gate, evidence("log", 1, 1, newly_refused=1), evidence())
    assert word == "failed"
    assert [line[1] for line in lines] == ["failed", "inconclusive"]
    assert gated(gate, evidence("log", 1, 1), evidence())[0] == "inconclusive"
    assert gated(gate, evidence("log", 2), evidence(compared=0))[0] == "passed"
    assert gated(default_gate(False), evidence(compared=0))[0] == "inconclusive"
