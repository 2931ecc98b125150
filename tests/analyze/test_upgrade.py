"""Verdicts and the gate's word from evidence that is written down here."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, Literal

import pytest

from pyharness.analyze.upgrade import (
    QUESTIONS,
    Evidence,
    Finding,
    OnGpu,
    Part,
    Requirement,
    Upgrade,
    Verdict,
    Word,
    verdict_of,
)
from pyharness.analyze.upgrade_device import (
    Source,
    Tried,
    evidence_of_repeats,
    evidence_of_stages,
)
from pyharness.analyze.upgrade_gate import judge
from pyharness.analyze.upgrade_host import evidence_of_log
from pyharness.analyze.upgrade_numbers import evidence_of_drift, evidence_of_time
from pyharness.spec.gate import Gate, Rule, Scope, default_gate, parse_gate
from pyharness.spec.problem import CallResult, parse_problem
from pyharness.spec.recording import Recorded, Recording, Replay
from pyharness.spec.stages import CALLS, STAGES, blocked_by
from pyharness.spec.timed import CLOSE

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
    part = "replay" if scope == "log" else "diff"
    return Evidence(part, scope, scope, compared, unanswered, counts, [], [], [])


def gate_of(**scopes: Scope) -> Gate:
    return Gate("g", {f"validity.{key}": Rule(scope) for key, scope in scopes.items()})


def judged(gate: Gate, *sources: Evidence) -> list[Requirement]:
    """Of the host alone."""
    unmeasured = [Verdict(q, "not_measured") for q in QUESTIONS[1:]]
    return judge(gate, [verdict_of("validity", sources), *unmeasured], None)


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
    (line, *_) = judged(default_gate(True), found)
    assert (line.word, line.why) == (
        "inconclusive",
        "1 of 2 problems of api.log cannot be told",
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
        # Better is said of all or not at all, worse of what there is.
        ([evidence("log", 8, 1, newly_accepted=1), evidence()], "inconclusive"),
        ([evidence("log", 8, 1, newly_refused=1), evidence()], "worse"),
        ([evidence("log", 8, 1, newly_refused=1), evidence(newly_accepted=1)], "mixed"),
    ],
)
def test_validity_over_all_sources(sources: list[Evidence], word: Word) -> None:
    assert verdict_of("validity", sources).word == word


def gated(gate: Gate, *sources: Evidence) -> tuple[str, list[tuple[str, str, int]]]:
    lines = judged(gate, *sources)
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
    assert gated(gate_of(newly_refused="any"), *sources)[1][0][2] == 5
    assert gated(gate_of(newly_refused="log"), *sources)[1][0][2] == 2
    assert gated(gate_of(newly_refused="none"), *sources) == ("passed", [])
    assert judged(gate_of(newly_refused="none"), *sources) == []


def test_worse_counts_more_than_what_cannot_be_told() -> None:
    gate = default_gate(True)
    word, lines = gated(gate, evidence("log", 1, 1, newly_refused=1), evidence())
    assert word == "failed"
    assert [line[1] for line in lines] == ["failed", "inconclusive"]
    assert gated(gate, evidence("log", 1, 1), evidence())[0] == "inconclusive"
    assert gated(gate, evidence("log", 2), evidence(compared=0))[0] == "passed"
    assert gated(default_gate(False), evidence(compared=0))[0] == "inconclusive"


def told(gate: Gate, *verdicts: Verdict, gpu: OnGpu | None = None) -> dict[str, tuple[str, str]]:
    known = {v.question for v in verdicts}
    others = [
        Verdict(q, "not_measured", [], "no GPU here") for q in QUESTIONS[1:] if q not in known
    ]
    host = [] if "validity" in known else [verdict_of("validity", [evidence()])]
    return {r.key: (r.word, r.why) for r in judge(gate, [*host, *verdicts, *others], gpu)}


@pytest.mark.parametrize(
    ("key", "value", "about"),
    [
        ("time.slower", "3%", "time"),
        ("time.inconclusive", "any", "time"),
        ("memory.grown", "0%", "memory"),
        ("repeatability.lost", "any", "repeatability"),
        ("accuracy.worse", "any", "accuracy"),
        ("drift.changed", "any", "drift"),
    ],
)
def test_what_is_not_measured_is_judged_only_where_it_is_asked_for(
    key: str, value: str, about: str
) -> None:
    assert key not in told(default_gate(False))
    why = f"{about} is not measured: no GPU here"
    written = parse_gate(f'{key} = "{value}"', "g", False)
    assert told(written)[key] == ("inconclusive", why)
    assert key not in told(parse_gate(f'{key} = "none"', "g", False))


def test_where_there_is_a_gpu_what_is_not_measured_is_no_pass() -> None:
    gpu = OnGpu({"name": "card"}, "smoke", "problems", 9, [])
    found = told(default_gate(False), gpu=gpu)
    assert found["validity.call_removed"] == ("passed", "")
    del found["validity.call_removed"]
    assert {word for word, _ in found.values()} == {"inconclusive"}
    assert found["validity.newly_refused"][1] == "validity on the GPU is not measured"


def timed(*ratios: tuple[str, float | None, float | None], left: int = 0) -> Verdict:
    findings = [
        Finding(change, "", 1, "", "", values={"ratio": ratio, "ratio_high": high})
        for change, ratio, high in ratios
    ]
    open_cases = sum(f.change == "inconclusive" for f in findings)
    counts = {"slower": sum(f.change == "slower" for f in findings)}
    why = "1 of 2 problems, the budget ended" if left else ""
    args = (5, open_cases, counts, findings, list[str](), list[str](), "case", left, why)
    return verdict_of("time", [Evidence("time", "problems", "smoke", *args)])  # type: ignore[arg-type]


def test_a_case_is_too_slow_by_its_ratio_and_open_by_the_end_of_its_interval() -> None:
    gate = default_gate(False)  # 3 %

    def words(*ratios: tuple[str, float | None, float | None], left: int = 0) -> tuple[str, str]:
        found = told(gate, timed(*ratios, left=left))
        return found["time.slower"][0], found["time.inconclusive"][0]

    assert words() == ("passed", "passed")
    assert words(("slower", 1.031, 1.04)) == ("failed", "passed")
    assert words(("slower", 1.029, 1.04)) == ("passed", "passed")
    assert words(("inconclusive", 1.01, 1.029)) == ("passed", "passed")
    assert words(("inconclusive", 1.01, 1.031)) == ("passed", "inconclusive")
    assert words(("inconclusive", None, None)) == ("passed", "inconclusive")
    assert words(("faster", 0.9, 0.95), left=1) == ("inconclusive", "passed")
    assert timed(left=1).word == timed(("inconclusive", None, None)).word == "inconclusive"


def test_memory_that_grew_from_nothing_is_beyond_any_share() -> None:
    values = {"total_bytes_a": 0, "total_bytes_b": 512}
    finding = Finding("grown", "", 1, "", "", problem=parse_problem(["seed=1"]), values=values)
    source = Evidence("memory", "log", "log", 1, 0, {"grown": 1}, [finding, finding], [], [])
    gate = parse_gate('memory.grown = "1000%"', "g", False)
    others = [Verdict(q, "not_measured") for q in QUESTIONS if q != "memory"]
    found = judge(gate, [verdict_of("memory", [source]), *others], None)
    (line,) = [r for r in found if r.key == "memory.grown"]
    assert (line.word, line.found) == ("failed", 1)  # a problem in two modes is one


def repeated(**verdicts: str) -> list[dict[str, Any]]:
    """A row a condition."""
    differs = {"runs": 9, "differing": 9, "share": 0.5, "failure_rate_bound": None}
    clean = {"runs": 9, "differing": 0, "share": 0.0, "failure_rate_bound": 0.3}
    shared = {"name": "one", "problem": "seed=1", "buffer": "y"}
    numbers = {"not_repeatable": differs, "repeatable": clean, "not_tried": {}}
    return [{**shared, "condition": c, "verdict": v, **numbers[v]} for c, v in verdicts.items()]


YES, DIFFERS, UNTOLD = "repeatable", "not_repeatable", "not_tried"


@pytest.mark.parametrize(
    ("old", "new", "word", "compared"),
    [
        ({"load": YES}, {"load": YES}, "same", 1),
        ({"load": DIFFERS}, {"load": DIFFERS}, "same", 1),
        ({"load": YES, "graph": UNTOLD}, {"load": YES, "graph": UNTOLD}, "same", 1),
        ({"load": YES, "graph": UNTOLD}, {"load": YES, "graph": YES}, "same", 1),
        ({"load": YES, "graph": UNTOLD}, {"load": YES, "graph": DIFFERS}, "inconclusive", 0),
        ({"load": YES, "graph": YES}, {"load": YES, "graph": UNTOLD}, "inconclusive", 0),
        ({"load": YES, "graph": YES}, {"load": DIFFERS, "graph": UNTOLD}, "worse", 1),
        ({"load": DIFFERS, "graph": YES}, {"load": YES, "graph": UNTOLD}, "inconclusive", 0),
        ({"load": DIFFERS, "graph": YES}, {"load": YES, "graph": YES}, "better", 1),
        ({"load": DIFFERS, "graph": YES}, {"load": YES, "graph": DIFFERS}, "mixed", 1),
        ({"load": UNTOLD}, {"load": UNTOLD}, "inconclusive", 0),
        ({"dropout_continued": YES}, {"dropout_continued": DIFFERS}, "inconclusive", 0),
    ],
)
def test_repeatability(old: dict[str, str], new: dict[str, str], word: Word, compared: int) -> None:
    problems = {"seed=1": Tried(parse_problem(["seed=1"]), name="one")}
    source = Source("determinism", "problems", "smoke", problems, [])
    found = evidence_of_repeats(repeated(**old), repeated(**new), source)
    assert (found.word, found.compared, found.unanswered) == (word, compared, 1 - compared)


def source_of(part: Part, *words: str) -> Source:
    problems = {text: Tried(parse_problem([text]), name="one") for text in words or ("seed=1",)}
    return Source(part, "problems", "smoke", problems, [])


def staged(**ends: str) -> list[dict[str, Any]]:
    """The rows of a case that passes all stages but these; behind a failure none is tried."""
    rows: list[dict[str, Any]] = []
    status = {"failed": None, "unsupported": "NOT_SUPPORTED", "out_of_memory": "ALLOC_FAILED"}
    bad: list[str] = []
    for stage in (*STAGES, CLOSE):
        dead = any(row["outcome"] == "failed" for row in rows)
        outcome = ends.get(stage, "passed")
        if stage == CLOSE:
            if stage not in ends:
                continue
        elif dead or blocked_by(stage, bad):
            outcome = "skipped"
        if outcome in status:
            bad.append(stage)
        call = CALLS.get(stage, "cudnnDestroy")
        said = {"passed": "SUCCESS", **status}.get(outcome)
        rows.append({"stage": stage, "call": call, "outcome": outcome, "status": said})
    return [{"problem": "seed=1", "reason": None, **row} for row in rows]


NO, DIES, SHORT, OUT = "unsupported", "failed", "out_of_memory", "skipped"


@pytest.mark.parametrize(
    ("old", "new", "word", "changes"),
    [
        ({}, {}, "same", set()),
        ({}, {"backward_data": NO}, "worse", {"newly_refused"}),
        ({"sizes": NO}, {}, "better", {"newly_accepted"}),
        # Refused as before, only later: nobody can use it.
        ({"sizes": NO}, {"build": NO}, "same", set()),
        ({"descriptor": NO}, {"forward_inference": NO, "forward_training": NO}, "same", set()),
        ({"sizes": NO}, {"backward_data": NO}, "better", {"newly_accepted"}),
        # What the older release did not get to is compared with why it did not.
        ({"sizes": NO}, {"forward_inference": DIES}, "worse", {"newly_failed"}),
        ({"sizes": NO}, {"backward_data": DIES}, "mixed", {"newly_accepted", "newly_failed"}),
        ({"sizes": NO}, {"close": DIES}, "mixed", {"newly_accepted", "newly_failed"}),
        ({"sizes": SHORT}, {"build": DIES}, "worse", {"newly_failed"}),
        ({"sizes": SHORT}, {}, "better", {"no_longer_out_of_memory"}),
        ({"forward_training": NO}, {"forward_inference": DIES}, "worse", {"newly_failed"}),
        ({"forward_inference": NO}, {"forward_training": SHORT}, "mixed",
         {"newly_accepted", "newly_out_of_memory"}),
        # A crash that comes later is a crash.
        ({"build": DIES}, {"backward_weights": DIES}, "same", set()),
        ({"build": DIES}, {"close": DIES}, "same", set()),
        ({"backward_weights": DIES}, {"build": DIES}, "worse", {"newly_failed"}),
        ({"build": DIES}, {}, "better", {"no_longer_failed"}),
        ({"build": DIES}, {"build": NO}, "better", {"no_longer_failed"}),
        ({}, {"close": DIES}, "worse", {"newly_failed"}),
        ({"close": DIES}, {}, "better", {"no_longer_failed"}),
        # Not tried on one side for a reason of our own.
        ({}, {"backward_weights": OUT}, "inconclusive", set()),
        (dict.fromkeys(STAGES, OUT), dict.fromkeys(STAGES, OUT), "inconclusive", set()),
    ],
)  # fmt: skip
def test_stages_are_compared_by_what_becomes_of_each_pass(
    old: dict[str, str], new: dict[str, str], word: Word, changes: set[str]
) -> None:
    found = evidence_of_stages(staged(**old), staged(**new), source_of("stages"))
    assert (found.word, set(found.counts)) == (word, changes)
    assert (found.compared, found.unanswered) == ((0, 1) if OUT in {*new.values()} else (1, 0))


def test_a_call_that_refused_before_is_named_beside_one_that_fails_now() -> None:
    found = evidence_of_stages(
        staged(sizes=NO), staged(forward_inference=DIES), source_of("stages")
    )
    (finding,) = found.findings
    assert finding.call == "cudnnRNNForward"
    assert finding.before == "cudnnGetRNNTempSpaceSizes: NOT_SUPPORTED"
    assert (finding.after, finding.values["stage"]) == ("failed", "forward_inference")


def drifted(verdict: str, a: str = "passed", b: str = "passed") -> dict[str, Any]:
    return {"name": "one", "problem": "seed=1", "verdict": verdict, "outcome_a": a, "outcome_b": b}


@pytest.mark.parametrize(
    ("rows", "word", "told"),
    [
        ([drifted("same")], "same", (1, 0)),
        ([drifted("not_told")], "inconclusive", (0, 1)),
        ([drifted("same"), drifted("not_compared", NO, NO)], "same", (1, 0)),
        # A pass that crashes on the newer side says nothing of its bits, nor does one whose weights
        # are not the same.
        ([drifted("same"), drifted("not_compared", b=DIES)], "inconclusive", (0, 1)),
        ([drifted("not_compared", a=NO)], "inconclusive", (0, 1)),
        ([drifted("same"), drifted("not_compared")], "inconclusive", (0, 1)),
    ],
)
def test_bits_that_one_side_does_not_have_are_not_the_same(
    rows: list[dict[str, Any]], word: Word, told: tuple[int, int]
) -> None:
    found = evidence_of_drift(rows, source_of("drift"))
    assert (found.word, (found.compared, found.unanswered)) == (word, told)
    (line,) = (r for r in judged_alone("drift.changed", found))
    assert line.word == ("passed" if word == "same" else "inconclusive")


def judged_alone(key: str, found: Evidence) -> list[Requirement]:
    """A gate of one line on one source."""
    question = "accuracy" if found.part == "drift" else found.part
    others = [Verdict(q, "not_measured") for q in QUESTIONS if q != question]
    gate = Gate("g", {"time.slower": Rule("none"), key: Rule("any")})
    return judge(gate, [verdict_of(question, [found]), *others], None)


def times(verdict: str, a: str = "passed", b: str = "passed") -> dict[str, Any]:
    shared = {"name": "one", "problem": "seed=1", "reason": None}
    numbers = dict.fromkeys(("median_a_s", "median_b_s", "ratio_high"))
    return {**shared, **numbers, "verdict": verdict, "outcome_a": a, "outcome_b": b}


@pytest.mark.parametrize(
    ("rows", "word", "told"),
    [
        ([times("same")], "same", (1, 0)),
        ([times("faster")], "better", (1, 0)),
        ([times("same"), times("same", b=DIES)], "inconclusive", (1, 1)),
        ([times("faster", b=OUT)], "inconclusive", (0, 1)),
        ([times("slower", b=DIES)], "worse", (0, 1)),
        ([times("not_compared", b=SHORT)], "inconclusive", (0, 1)),
        ([times("not_compared", NO, NO), times("same")], "same", (1, 0)),
    ],
)
def test_what_crashes_in_some_of_the_processes_is_not_as_fast_as_before(
    rows: list[dict[str, Any]], word: Word, told: tuple[int, int]
) -> None:
    found = evidence_of_time(rows, source_of("time"))
    assert (found.word, (found.compared, found.unanswered)) == (word, told)
    (line,) = (r for r in judged_alone("time.inconclusive", found))
    assert line.word == ("inconclusive" if told[1] else "passed")


def test_what_was_not_timed_is_open_where_only_noise_is_asked_for() -> None:
    cut = replace(evidence_of_time([times("same")], source_of("time")), left=1, why_left="the end")
    (line,) = judged_alone("time.inconclusive", cut)
    assert (line.word, line.why) == ("inconclusive", "the end")


@pytest.mark.parametrize(
    ("not_held", "incomplete", "left"),
    [({}, 0, 0), ({}, 1, 0), ({}, 2, 2), ({"rnnDesc is NULL": 3}, 0, 3), ({"old": 3}, 2, 5)],
)
def test_calls_of_a_log_that_cannot_be_read_are_no_pass(
    not_held: dict[str, int], incomplete: int, left: int
) -> None:
    read = replayed((["SUCCESS"], ["SUCCESS"]))
    read.recording.not_held.update(not_held)
    read.recording.incomplete = incomplete
    found = evidence_of_log(read, [])
    assert (found.compared, found.left, found.word) == (1, left, "inconclusive" if left else "same")
    assert gated(default_gate(True), found)[0] == ("inconclusive" if left else "passed")
    told = "; ".join([found.why_left, *found.notes])
    assert all(f"{n} x {why}" in told for why, n in not_held.items())
    assert (f"{incomplete} x cut or torn" in told) == bool(incomplete)
