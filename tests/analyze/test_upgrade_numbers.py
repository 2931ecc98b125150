"""What numbers of two releases come to: bytes, errors, and a gate's shares to the end."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from pyharness.analyze.upgrade import QUESTIONS, Evidence, Verdict, verdict_of
from pyharness.analyze.upgrade_device import Source, Tried
from pyharness.analyze.upgrade_gate import judge
from pyharness.analyze.upgrade_host import evidence_of_log
from pyharness.analyze.upgrade_numbers import evidence_of_accuracy, evidence_of_memory
from pyharness.spec.footprint import PARTS
from pyharness.spec.gate import parse_gate
from pyharness.spec.problem import CallResult, parse_problem
from pyharness.spec.recording import Recorded, Recording, Replay

SEED = parse_problem(["seed=1"])


def source(part: str) -> Source:
    return Source(part, "problems", "smoke", {"seed=1": Tried(SEED, name="one")}, [])  # type: ignore[arg-type]


def sized(**parts: int) -> list[dict[str, Any]]:
    """A row of memory: these parts, and nothing of the others."""
    sizes = {f"{part}_bytes": parts.get(part, 0) for part in PARTS}
    total = sum(sizes.values())
    row = {"name": "one", "problem": "seed=1", "forward_mode": "training", "total_bytes": total}
    return [{**row, **sizes}]


@pytest.mark.parametrize(
    ("new", "word", "counts"),
    [
        ({"workspace": 100}, "same", {}),
        ({"workspace": 101}, "worse", {"grown": 1}),
        ({"workspace": 99}, "better", {"shrunk": 1}),
        # As much in all, in other parts, is told and is neither.
        ({"workspace": 90, "weight_space": 10}, "same", {"shifted": 1}),
    ],
)
def test_bytes(new: dict[str, int], word: str, counts: dict[str, int]) -> None:
    found = evidence_of_memory(sized(workspace=100), sized(**new), source("memory"))
    assert (found.word, dict(found.counts)) == (word, counts)


def test_a_problem_without_a_number_on_either_side_is_said() -> None:
    two = {**sized()[0], "name": "two", "problem": "seed=2", "total_bytes": None}
    rows = [*sized(workspace=100), two]
    found = evidence_of_memory(rows, rows, source("memory"))
    assert (found.compared, found.unanswered, found.word) == (1, 0, "same")
    assert found.notes == ["1 more has no number on either release"]
    errors = [*error(1e-8), {**error(None)[0], "verdict": "not_told", "problem": "seed=2"}]
    told = evidence_of_accuracy(errors, errors, source("accuracy"))
    assert (told.compared, told.notes) == (1, found.notes)
    assert evidence_of_memory(sized(), sized(), source("memory")).notes == []


@pytest.mark.parametrize("percent", [1, 3, 5, 7, 10, 25])
@pytest.mark.parametrize(("more", "word"), [(0, "passed"), (1, "failed")])
def test_as_much_as_a_gate_allows_is_allowed(percent: int, more: int, word: str) -> None:
    """To the byte, whatever a share is in binary: 105 of 100 are not more than 5 % more."""
    before, after = 300, 3 * (100 + percent) + more
    found = evidence_of_memory(sized(workspace=before), sized(workspace=after), source("memory"))
    others = [Verdict(q, "not_measured") for q in QUESTIONS if q != "memory"]
    gate = parse_gate(f'memory.grown = "{percent}%"', "g", False)
    lines = judge(gate, [verdict_of("memory", [found]), *others], None)
    assert next(r.word for r in lines if r.key == "memory.grown") == word


def error(rms: float | None, verdict: str = "within", nan: int = 0) -> list[dict[str, Any]]:
    """A row of accuracy, of float: its rounding to the type is some 6e-8."""
    row = {"name": "one", "problem": "seed=1", "pass": "forward_training", "buffer": "y"}
    numbers = {"rms_rel": rms, "max_rel": rms, "threshold": 1e-3, "nan": nan, "inf": 0}
    return [{**row, **numbers, "data_type": "float", "verdict": verdict}]


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        (error(1e-5), error(1.9e-5), None),
        (error(1e-5), error(2.1e-5), "less_accurate"),
        (error(2.1e-5), error(1e-5), "more_accurate"),
        # What storing a right number costs may be a few times what it was by chance.
        (error(1e-9), error(1e-8), None),
        (error(1e-8), error(1e-9), None),
        (error(1e-5), error(2e-3, "beyond"), "newly_beyond"),
        (error(2e-3, "beyond"), error(1e-5), "no_longer_beyond"),
        # A number that is none is farther off than any, however good the others are.
        (error(1e-5), error(1e-5, nan=1), "less_accurate"),
        (error(1e-5, nan=1), error(1e-5), "more_accurate"),
        (error(1e-5, nan=1), error(1e-5, nan=1), None),
    ],
)
def test_errors(old: list[Any], new: list[Any], change: str | None) -> None:
    found = evidence_of_accuracy(old, new, source("accuracy"))
    assert dict(found.counts) == ({} if change is None else {change: 1})
    worse = change in ("less_accurate", "newly_beyond")
    assert found.word == ("same" if change is None else "worse" if worse else "better")


def test_bits_that_nobody_could_compare_leave_accuracy_as_it_is() -> None:
    sides = ("problems", "smoke", 9, 0, {}, [], [], [])
    near = Evidence("accuracy", *sides)  # type: ignore[arg-type]
    cut = Evidence("drift", *sides, left=3, why_left="the budget ended")  # type: ignore[arg-type]
    other = Evidence("drift", "problems", "smoke", 9, 0, {"drifted": 9}, [], [], [])
    for bits in (cut, other):
        found = verdict_of("accuracy", [near, bits])
        assert (found.word, found.evidence) == ("same", [near, bits])


def test_a_finding_of_a_log_names_the_call_that_refuses() -> None:
    calls = ("cudnnSetRNNDescriptor_v8", "cudnnSetRNNDataDescriptor")

    def side(*outcomes: str) -> list[CallResult]:
        status = {"passed": "SUCCESS", "unsupported": "NOT_SUPPORTED"}
        return [
            CallResult("x", call, "data", status[outcome], None, outcome, None)
            for call, outcome in zip(calls, outcomes, strict=True)
        ]

    takes, refuses = side("passed", "passed"), side("passed", "unsupported")
    recorded = Recorded(SEED, ("x",), (), "api.log@0", 0, Counter({"cudnnRNNForward": 2}))
    for old, new, change in ((refuses, takes, "newly_accepted"), (takes, refuses, "newly_refused")):
        read = Replay(Recording([recorded], ["api.log"]), ["a", "b"], [[old], [new]])
        (finding,) = evidence_of_log(read, []).findings
        assert (finding.change, finding.call) == (change, "cudnnSetRNNDataDescriptor")
