"""What an upgrade changes, question by question: what is said of it, and the words for that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pyharness.spec.gate import Gate
from pyharness.spec.problem import Problem

Word = Literal["better", "same", "worse", "mixed", "not_measured", "inconclusive"]
EvidenceWord = Word | Literal["other_bits"]  # of drift, which is no judgement
GateWord = Literal["passed", "failed", "inconclusive"]
Part = Literal["replay", "diff", "stages", "time", "memory", "determinism", "accuracy", "drift"]
PartState = Literal["complete", "out_of_time", "not_begun", "stopped"]
Where = Literal["log", "space", "problems"]
QUESTIONS = ("validity", "time", "memory", "repeatability", "accuracy")
# In each list what is told first.
FOR_WORSE = (
    "newly_refused",
    "newly_failed",
    "newly_out_of_memory",
    "call_removed",
    "slower",
    "grown",
    "lost",
    "newly_beyond",
    "less_accurate",
)
FOR_BETTER = (
    "newly_accepted",
    "no_longer_failed",
    "no_longer_out_of_memory",
    "call_added",
    "faster",
    "shrunk",
    "gained",
    "no_longer_beyond",
    "more_accurate",
)
# Refused as before; too noisy to tell; the same bytes in all, in other parts; other bits.
NEITHER = ("other_status", "inconclusive", "shifted", "drifted")
CHANGES = (*FOR_WORSE, *FOR_BETTER, *NEITHER)


@dataclass(frozen=True, slots=True)
class Finding:
    """Problems that changed in the same way.

    ``call``        the function of cuDNN that answers otherwise; empty where it is about none.
    ``problems``    how many; 0 where the call itself came or went.
    ``before``      the status and its reason, or what was measured; ``after`` likewise.
    ``conditions``  conjunctions whose union is exactly these problems; empty for a single one.
    ``problem``     the single one; None for problems of a space.
    ``times``       how often a log has it.
    ``name``        that a set of problems has for it.
    ``values``      what was measured, as spec/*_tables.py name it, with _a and _b for the releases.
    """

    change: str
    call: str
    problems: int
    before: str
    after: str
    conditions: list[str] = field(default_factory=list)
    problem: Problem | None = None
    times: int = 0
    name: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one source of problems says of both releases.

    ``what``        the space's or set's name, or the logs.
    ``compared``    problems that both releases answered.
    ``unanswered``  problems of which one of them, or the numbers, say nothing.
    ``counts``      change to problems, or to calls of the API, for those that occur.
    ``commands``    what repeats it, and what says more.
    ``notes``       what else a reader should know.
    ``unit``        what is counted: a case is a problem, pass and mode.
    ``left``        problems that were not tried: the time had ended, or the release gave up.
    ``why_left``    that, in words.
    """

    part: Part
    scope: Where
    what: str
    compared: int
    unanswered: int
    counts: Mapping[str, int]
    findings: list[Finding]
    commands: list[str]
    notes: list[str]
    unit: Literal["problem", "case"] = "problem"
    left: int = 0
    why_left: str = ""

    @property
    def word(self) -> EvidenceWord:
        """The verdict of this source alone."""
        if self.part == "drift" and self.counts.get("drifted"):
            return "other_bits"
        return _word([self])

    @property
    def untold(self) -> str:
        """What it leaves open, in words; empty for nothing."""
        told = []
        if self.unanswered:
            tried = self.compared + self.unanswered
            told.append(f"{self.unanswered:,} of {tried:,} {self.unit}s of {self.what} {_MISSED}")
        if self.left:
            told.append(self.why_left)
        if not told and not self.compared:
            told.append(f"no {self.unit} of {self.what} was compared")
        return "; ".join(told)


_MISSED = "cannot be told"


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

    ``found``  problems, cases or calls of the API that changed so.
    ``why``    why it cannot be told; empty where it can.
    """

    key: str
    scope: str
    limit: float | None
    found: int
    word: GateWord
    why: str = ""


@dataclass(frozen=True, slots=True)
class PartRun:
    """What the time went into.

    ``share_s``   that it was given, with what the parts before it left over.
    ``problems``  that there are; ``done``: of them on both releases.
    ``state``     complete, out_of_time, not_begun, or stopped; ``why``: where not complete.
    ``folders``   of its tables, in the upgrade's.
    """

    part: Part
    share_s: float
    spent_s: float
    problems: int
    done: int
    state: PartState
    why: str
    folders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OnGpu:
    """A device that was there, and what was run on it.

    ``device``  the facts as a manifest has them; the name alone where no part could open it.
    ``what``    the name of the problems; ``scope``: whose they are.
    """

    device: Mapping[str, Any]
    what: str
    scope: Where
    problems: int
    parts: list[PartRun]


@dataclass(frozen=True, slots=True)
class Upgrade:
    """All that can be said of raising a pin from ``release_a`` to ``release_b``.

    ``verdicts``  one a question of QUESTIONS.
    ``gpu``       None where the host alone was asked.
    """

    release_a: str
    release_b: str
    gate: Gate
    requirements: list[Requirement]
    verdicts: list[Verdict]
    gpu: OnGpu | None = None
    budget_s: float = 0.0
    spent_s: float = 0.0

    @property
    def word(self) -> GateWord:
        """What becomes of the gate as a whole: worse counts more than what cannot be told."""
        words = {r.word for r in self.requirements}
        if "failed" in words:
            return "failed"
        return "inconclusive" if "inconclusive" in words else "passed"


def verdict_of(question: str, evidence: Sequence[Evidence]) -> Verdict:
    """The verdict on a question, over all sources; other bits alone are no judgement."""
    judged = [e for e in evidence if e.part != "drift"]
    return Verdict(question, _word(judged), list(evidence))


def _word(evidence: Sequence[Evidence]) -> Word:
    counts: Counter[str] = Counter()
    for source in evidence:
        counts.update(source.counts)
    worse, better = (any(counts[c] for c in side) for side in (FOR_WORSE, FOR_BETTER))
    if worse:
        return "mixed" if better else "worse"
    if any(source.untold for source in evidence):
        return "inconclusive"
    return "better" if better else "same"


def in_order(findings: Sequence[Finding]) -> list[Finding]:
    """What is worse first; in each kind what is met most often."""
    return sorted(findings, key=lambda f: (CHANGES.index(f.change), -f.times, -f.problems))


def counted(findings: Sequence[Finding]) -> dict[str, int]:
    """Change to the number of findings, for those that occur."""
    counts = Counter(f.change for f in findings)
    return {change: counts[change] for change in CHANGES if counts[change]}
