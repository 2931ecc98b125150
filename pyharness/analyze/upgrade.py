"""What an upgrade changes, question by question: evidence in, verdicts out, and the gate's word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pyharness.analyze.map_diff import MapDiff
from pyharness.spec.gate import Gate
from pyharness.spec.problem import CallResult, Problem
from pyharness.spec.recording import Recorded, Replay

Word = Literal["better", "same", "worse", "mixed", "not_measured", "inconclusive"]
GateWord = Literal["passed", "failed", "inconclusive"]
QUESTIONS = ("validity", "time", "memory", "repeatability", "accuracy")
FOR_WORSE = ("newly_refused", "newly_failed", "call_removed")
FOR_BETTER = ("newly_accepted", "no_longer_failed", "call_added")
_BECAME = {
    "unsupported": "newly_refused",
    "passed": "newly_accepted",
    "failed": "newly_failed",
}
CHANGES = (*FOR_WORSE, *FOR_BETTER, "other_status")  # the last is refused before and after


@dataclass(frozen=True, slots=True)
class Finding:
    """Problems that changed in the same way.

    ``call``        the function of cuDNN that answers otherwise.
    ``problems``    how many; 0 where the call itself came or went.
    ``before``      the status and its reason, or that it failed; ``after`` likewise.
    ``conditions``  conjunctions whose union is exactly these problems; empty for one of a log.
    ``problem``     the one of a log; None for problems of a space.
    ``times``       how often a log has it.
    """

    change: str
    call: str
    problems: int
    before: str
    after: str
    conditions: list[str] = field(default_factory=list)
    problem: Problem | None = None
    times: int = 0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one source of problems says of both releases.

    ``scope``       log, or space.
    ``what``        the space's name, or the logs.
    ``compared``    problems that both releases answered.
    ``unanswered``  problems that one of them was not asked, because the call cannot be made.
    ``counts``      change to problems, or to calls of the API, for those that occur.
    ``commands``    what repeats it, and what says more.
    ``notes``       what else a reader should know.
    """

    scope: Literal["log", "space"]
    what: str
    compared: int
    unanswered: int
    counts: dict[str, int]
    findings: list[Finding]
    commands: list[str]
    notes: list[str]

    @property
    def word(self) -> Word:
        """The verdict of this source alone."""
        return _word(self.counts, self.compared, self.unanswered)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to one question.

    ``why``       why it was not measured; empty where it was.
    ``commands``  what measures it elsewhere.
    """

    question: str
    word: Word
    evidence: list[Evidence] = field(default_factory=list)
    why: str = ""
    commands: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One line of the gate and what became of it.

    ``found``  problems, or calls of the API, that changed so.
    ``why``    why it cannot be told; empty where it can.
    """

    key: str
    scope: str
    found: int
    word: GateWord
    why: str = ""


@dataclass(frozen=True, slots=True)
class Upgrade:
    """All that can be said of raising a pin from ``release_a`` to ``release_b``.

    ``verdicts``  one a question of QUESTIONS.
    """

    release_a: str
    release_b: str
    gate: Gate
    requirements: list[Requirement]
    verdicts: list[Verdict]

    @property
    def word(self) -> GateWord:
        """What becomes of the gate as a whole: worse counts more than what cannot be told."""
        words = {r.word for r in self.requirements}
        if "failed" in words:
            return "failed"
        return "inconclusive" if "inconclusive" in words else "passed"


def evidence_of_map(diff: MapDiff, commands: list[str]) -> Evidence:
    """What the maps of both releases say."""
    counts = {change: n for change in CHANGES if (n := diff.count(change))}
    findings = [
        Finding(
            group.change,
            call.call,
            group.rows,
            _said(group.status_a, None),
            _said(group.status_b, None),
            group.words,
        )
        for call in diff.calls
        for group in call.comparison.groups
        if group.change in CHANGES
    ]
    for change, names in (("call_removed", diff.calls_removed), ("call_added", diff.calls_added)):
        there = {"call_removed": ("there", "gone"), "call_added": ("not there", "there")}[change]
        findings += [Finding(change, name, 0, *there) for name in names]
    ordered = _in_order(findings)
    return Evidence("space", diff.space, diff.rows, 0, counts, ordered, commands, list(diff.notes))


def evidence_of_log(replay: Replay, commands: list[str]) -> Evidence:
    """What both releases say of the problems that logs hold, on the host.

    ``replay``  of the older release, then the newer.
    """
    findings: list[Finding] = []
    unanswered = 0
    for recorded in replay.recording.problems:
        if not all(_asked(replay, side, recorded.order) for side in (0, 1)):
            unanswered += 1
        elif (finding := _log_finding(replay, recorded)) is not None:
            findings.append(finding)
    counts = Counter(f.change for f in findings)
    recording = replay.recording
    notes = [f"{n:,} calls were not read: {why}" for why, n in recording.not_held.items()]
    if recording.incomplete:
        notes.append(f"{recording.incomplete:,} entries are cut or torn, and were not read")
    return Evidence(
        "log",
        ", ".join(recording.files),
        len(recording.problems) - unanswered,
        unanswered,
        {change: counts[change] for change in CHANGES if counts[change]},
        _in_order(findings),
        commands,
        notes + recording.notes,
    )


def validity(evidence: Sequence[Evidence]) -> Verdict:
    """The verdict on what is accepted, over all sources."""
    counts: Counter[str] = Counter()
    for source in evidence:
        counts.update(source.counts)
    word = _word(counts, min(e.compared for e in evidence), sum(e.unanswered for e in evidence))
    return Verdict("validity", word, list(evidence))


def judge(gate: Gate, evidence: Sequence[Evidence]) -> list[Requirement]:
    """What becomes of each line of a gate; those that ask for nothing are left out."""
    found = []
    for name, scope in gate.validity.items():
        if scope == "none":
            continue
        sources = [e for e in evidence if scope in ("any", e.scope)]
        count = sum(e.counts.get(name, 0) for e in sources)
        why = "" if count else "; ".join(filter(None, map(_untold, sources)))
        word: GateWord = "failed" if count else "inconclusive" if why else "passed"
        found.append(Requirement(f"validity.{name}", scope, count, word, why))
    return found


def _untold(source: Evidence) -> str:
    if source.unanswered:
        tried = source.compared + source.unanswered
        return f"{source.unanswered:,} of {tried:,} problems of {source.what} cannot be asked"
    return "" if source.compared else f"no problem of {source.what} was compared"


def _word(counts: Mapping[str, int], compared: int, unanswered: int) -> Word:
    worse, better = (any(counts.get(c) for c in side) for side in (FOR_WORSE, FOR_BETTER))
    if worse or better:
        return "mixed" if worse and better else "worse" if worse else "better"
    return "same" if compared and not unanswered else "inconclusive"


def _in_order(findings: Sequence[Finding]) -> list[Finding]:
    """What is worse first; in each kind what is met most often."""
    return sorted(findings, key=lambda f: (CHANGES.index(f.change), -f.times, -f.problems))


def _asked(replay: Replay, side: int, order: int) -> bool:
    """Whether a release answered all that decides on a recorded problem."""
    outcomes = {r.outcome for r in replay.results[side][order]}
    return bool(outcomes & {"failed", "unsupported"}) or outcomes == {"passed"}


def _log_finding(replay: Replay, recorded: Recorded) -> Finding | None:
    """How a recorded problem changed; None if both releases say the same of it."""
    old, new = (_decisive(replay, side, recorded.order) for side in (0, 1))
    if old.outcome != new.outcome:
        change = "no_longer_failed" if old.outcome == "failed" else _BECAME[new.outcome]
    elif old.outcome == "unsupported" and old.status != new.status:
        change = "other_status"
    else:
        return None
    return Finding(
        change,
        (old if new.outcome == "passed" else new).call,
        1,
        _said(old.status, old.reason),
        _said(new.status, new.reason),
        problem=recorded.problem,
        times=recorded.count,
    )


def _decisive(replay: Replay, side: int, order: int) -> CallResult:
    """The first call that a problem fails by; the first of all where it passes."""
    outcome = replay.host_outcome(side, order)
    return next(r for r in replay.results[side][order] if r.outcome == outcome)


def _said(status: str | None, reason: str | None) -> str:
    return f"{status or 'failed'}: {reason}" if reason else status or "failed"
