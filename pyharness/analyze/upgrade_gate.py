"""The gate's word on an upgrade, line by line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyharness.analyze.upgrade import (
    Evidence,
    Finding,
    GateWord,
    OnGpu,
    Part,
    Requirement,
    Verdict,
)
from pyharness.spec.gate import Gate, Rule

_HOST: tuple[Part, ...] = ("replay", "diff")


@dataclass(frozen=True, slots=True)
class _Line:
    """What a key of the gate is about.

    ``parts``    that say something of it; the last one needs a device.
    ``changes``  that it counts.
    ``grown``    of a key with a limit: what a finding grew by, as a share.
    """

    question: str
    parts: tuple[Part, ...]
    changes: tuple[str, ...]
    grown: Callable[[Finding], float | None] | None = None


def _time(finding: Finding) -> float | None:
    ratio = finding.values["ratio"]
    return None if ratio is None else ratio - 1


def _bytes(finding: Finding) -> float | None:
    before, after = finding.values["total_bytes_a"], finding.values["total_bytes_b"]
    # Not after / before - 1: 105 of 100 would be more than 5 % more, by what rounding leaves.
    return float((after - before) / before) if before else None


_LINES = {
    **{
        f"validity.{change}": _Line("validity", (*_HOST, "stages"), (change,))
        for change in ("newly_refused", "newly_failed")
    },
    "validity.newly_out_of_memory": _Line("validity", ("stages",), ("newly_out_of_memory",)),
    "validity.call_removed": _Line("validity", _HOST, ("call_removed",)),
    "time.slower": _Line("time", ("time",), ("slower",), _time),
    "time.inconclusive": _Line("time", ("time",), ()),
    "memory.grown": _Line("memory", ("memory",), ("grown",), _bytes),
    "repeatability.lost": _Line("repeatability", ("determinism",), ("lost",)),
    "accuracy.worse": _Line("accuracy", ("accuracy",), ("newly_beyond", "less_accurate")),
    "drift.changed": _Line("accuracy", ("drift",), ("drifted",)),
}


def judge(gate: Gate, verdicts: Sequence[Verdict], gpu: OnGpu | None) -> list[Requirement]:
    """What becomes of each line of a gate; those that ask for nothing are left out.

    So are those that only a device answers, where there is none and the gate's file is silent.

    ``gpu``  the device that was used, if one was.
    """
    of = {v.question: v for v in verdicts}
    found = []
    for key, rule in gate.rules.items():
        line, missing = _LINES[key], ""
        sources = [
            e
            for e in of[line.question].evidence
            if e.part in line.parts and rule.scope in ("any", e.scope)
        ]
        if line.parts[-1] not in _HOST and all(e.part in _HOST for e in sources):
            if gpu is not None or (not sources and key in gate.written):
                missing = _missing(line, of[line.question], gpu)
            elif not sources:
                continue
        if rule.scope != "none":
            found.append(_requirement(gate, key, rule, line, sources, missing))
    return found


def _missing(line: _Line, verdict: Verdict, gpu: OnGpu | None) -> str:
    """Why a line has nothing of a device to judge."""
    part = line.parts[-1]
    runs = [] if gpu is None else [run.why for run in gpu.parts if run.part == part]
    why = "".join(runs) or verdict.why
    about = {"determinism": "repeatability", "stages": "validity on the GPU"}.get(part, part)
    return f"{about} is not measured" + (f": {why}" if why else "")


def _requirement(
    gate: Gate, key: str, rule: Rule, line: _Line, sources: Sequence[Evidence], missing: str
) -> Requirement:
    if key == "time.inconclusive":
        slower = gate.rules["time.slower"]
        count = sum(_open(e, slower) for e in sources)
        noisy = f"{count:,} of the cases timed are inconclusive" if count else ""
        # What was not timed is a matter of the line on what is slower, if that asks.
        left = [_left(e) for e in sources] if slower.scope == "none" else []
        why = missing or "; ".join(filter(None, (noisy, *left)))
        return Requirement(key, rule.scope, None, count, "inconclusive" if why else "passed", why)
    count = sum(_count(e, rule, line) for e in sources)
    untold = [_left(e) if key == "time.slower" else e.untold for e in sources]
    why = "" if count else "; ".join(filter(None, (missing, *untold)))
    word: GateWord = "failed" if count else "inconclusive" if why else "passed"
    return Requirement(key, rule.scope, rule.limit, count, word, why)


def _count(evidence: Evidence, rule: Rule, line: _Line) -> int:
    """How many changed so, by more than the limit if there is one."""
    if line.grown is None or rule.limit is None:
        return sum(evidence.counts.get(change, 0) for change in line.changes)
    beyond = [f for f in evidence.findings if f.change in line.changes and _beyond(f, rule, line)]
    if evidence.unit == "case":
        return len(beyond)
    return len({(f.name, f.problem and f.problem.command) for f in beyond})


def _beyond(finding: Finding, rule: Rule, line: _Line) -> bool:
    assert line.grown is not None
    assert rule.limit is not None
    grown = line.grown(finding)
    return grown is None or grown > rule.limit  # grown from nothing is more than any share


def _open(evidence: Evidence, slower: Rule) -> int:
    """Cases that may be slower than is allowed: the interval of the ratio does not rule it out."""
    most = None if slower.limit is None else 1 + slower.limit
    known = [f for f in evidence.findings if f.change == "inconclusive"]
    told = [
        f
        for f in known
        if most is not None and f.values["ratio_high"] is not None
        and f.values["ratio_high"] <= most
    ]  # fmt: skip
    return evidence.unanswered - len(told)


def _left(evidence: Evidence) -> str:
    """What was not timed at all: what was, and cannot be told, is a line of its own."""
    if evidence.left:
        return evidence.why_left
    return "" if evidence.compared or evidence.unanswered else evidence.untold
