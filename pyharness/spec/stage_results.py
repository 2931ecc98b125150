"""What became of a problem on a device, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pyharness.spec.stages import blocked_by
from pyharness.spec.statuses import canonical, family

Outcome = Literal["passed", "unsupported", "skipped", "failed", "out_of_memory"]
OUTCOMES: tuple[Outcome, ...] = ("passed", "unsupported", "failed", "out_of_memory", "skipped")

_REFUSING = ("BAD_PARAM", "NOT_SUPPORTED")
_NO_MEMORY = (
    "ALLOC_FAILED",
    "INTERNAL_ERROR_HOST_ALLOCATION_FAILED",
    "INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
)


@dataclass(frozen=True, slots=True)
class StageResult:
    """What became of one stage.

    ``call``     the call that decided: the first that was not accepted, or else the last.
    ``status``   cuDNN's enumerator without its prefix; None where none was given.
    ``reason``   cuDNN's condition verbatim, why the stage was not tried, or what happened.
    """

    stage: str
    call: str
    status: str | None
    status_code: int | None
    outcome: Outcome
    reason: str | None
    provenance: str


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What became of a problem, as far as it went.

    ``stages``       in their order, one each.
    ``sizes``        bytes by name, see ``_core.Plan.sizes``; None if it did not come to that.
    ``asked_bytes``  what could not be had where a stage is out_of_memory; None elsewhere.
    ``free_bytes``   what was free then; elsewhere what was free when the sizes were told.
    """

    stages: tuple[StageResult, ...]
    sizes: dict[str, int] | None = None
    asked_bytes: int | None = None
    free_bytes: int | None = None

    def stage(self, name: str) -> StageResult | None:
        """What became of a stage; None if the case was not to go so far."""
        return next((s for s in self.stages if s.stage == name), None)

    @property
    def stopped(self) -> StageResult | None:
        """The first stage that was tried and did not pass; None if there is none."""
        return next((s for s in self.stages if s.outcome not in ("passed", "skipped")), None)

    def passes(self, name: str) -> bool:
        """Whether a stage passed, or is not needed and nothing that it needs ended badly."""
        stage = self.stage(name)
        if stage is None or stage.outcome != "skipped":
            return stage is not None and stage.outcome == "passed"
        ended = [s.stage for s in self.stages if s.outcome not in ("passed", "skipped")]
        tried = any(s.outcome != "skipped" for s in self.stages)
        return tried and self.failure is None and blocked_by(name, ended) is None

    @property
    def complete(self) -> bool:
        """Whether it was tried and every stage passed that it needs."""
        return self.stopped is None and any(s.outcome == "passed" for s in self.stages)

    @property
    def failure(self) -> StageResult | None:
        """The stage that showed a defect; None if none did."""
        return next((s for s in self.stages if s.outcome == "failed"), None)


def named_outcome(name: str) -> Outcome:
    """The outcome of this name."""
    return next(outcome for outcome in OUTCOMES if outcome == name)


def outcome_of(status: str) -> Outcome:
    """What a status says: cuDNN accepts, refuses, lacks memory, or has failed."""
    if status == "SUCCESS":
        return "passed"
    if canonical(status) in _NO_MEMORY or status in _NO_MEMORY:
        return "out_of_memory"
    return "unsupported" if family(status) in _REFUSING else "failed"
