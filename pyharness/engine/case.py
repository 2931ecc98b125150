"""A case as it is taken through the stages: from what a runner answers to results."""

from __future__ import annotations

from collections.abc import Sequence

from pyharness.engine.process import unexpected
from pyharness.spec import messages as m
from pyharness.spec.ledger import Death
from pyharness.spec.stage_results import CaseResult, Outcome, StageResult, outcome_of
from pyharness.spec.stages import CALLS, blocked_by, stages_until

ALLOCATION = "cuMemAlloc_v2"
_ENDED = {
    "unsupported": "was refused",
    "failed": "failed",
    "out_of_memory": "is out of memory",
}


def skipped(until: str, why: str, provenance: str) -> CaseResult:
    """A case that cannot be tried at all."""
    return CaseResult(
        tuple(
            StageResult(stage, CALLS[stage], None, None, "skipped", why, provenance)
            for stage in stages_until(until)
        )
    )


def end_words(death: Death) -> str:
    """How a process ended, in a line, with the last that it said."""
    said = death.output.splitlines()
    return f"the worker ended: {death.cause}" + (f"; it said: {said[-1]}" if said else "")


def cuda_words(failed: m.CudaFailed) -> str:
    """A failure of the CUDA driver in a line."""
    return f"{failed.call}: {failed.name} ({failed.code}): {failed.text}"


def guard_words(broken: Sequence[str]) -> str:
    """What was written outside of its buffer, in a line."""
    return f"it wrote outside of its buffers: {'; '.join(broken)}"


def result_of(answer: m.StageDone, provenance: str) -> StageResult:
    """What became of a stage whose calls were made."""
    if not answer.records:
        call = CALLS[answer.stage]
        return StageResult(answer.stage, call, None, None, "skipped", "not needed here", provenance)
    call, status, code, reason = _deciding(answer.records)
    outcome, words = outcome_of(status), reason or None
    if answer.broken:
        outcome, words = "failed", guard_words(answer.broken)
    return StageResult(answer.stage, call, status, code, outcome, words, provenance)


def failure_of(stage: str, call: str, answer: m.Message | Death, provenance: str) -> StageResult:
    """What became of a request about an open plan that was not answered as it should be.

    ``call``  the last that was made.
    Raises    HarnessError if the runner refused to be asked: a defect of ours.
    """
    status: str | None = None
    code: int | None = None
    outcome: Outcome = "failed"
    match answer:
        case m.NoMemory():
            call, outcome, words = ALLOCATION, "out_of_memory", _memory_words(answer)
        case m.CudnnRefused(call, status, code, words):
            outcome = outcome_of(status)
        case m.CudaFailed():
            words = cuda_words(answer)
        case m.Sampled(broken=broken) if broken:
            words = guard_words(broken)
        case Death():
            words = end_words(answer)
        case _:
            raise unexpected(answer)
    return StageResult(stage, call, status, code, outcome, words or None, provenance)


def _memory_words(answer: m.NoMemory) -> str:
    return f"{answer.asked_bytes:,} bytes were asked for, {answer.free_bytes:,} are free"


class Case:
    """The stages of one problem, as they come.

    ``broken``        the process that runs it must not be used again.
    ``filled_bytes``  of memory that has to be filled before its passes; 0 until it comes to that.
    """

    def __init__(self, until: str, provenance: str) -> None:
        self._until = until
        self._provenance = provenance
        self._results: dict[str, StageResult] = {}
        self._asked: int | None = None
        self._free: int | None = None
        self._sizes: dict[str, int] | None = None
        self.broken = False
        self.filled_bytes = 0

    @property
    def next_stage(self) -> str:
        """The first stage that may be under way."""
        ended = self._ended()
        open_stages = [
            s
            for s in stages_until(self._until)
            if s not in self._results and not blocked_by(s, ended)
        ]
        return open_stages[0] if open_stages else self._until

    def done(self, answer: m.StageDone) -> None:
        """Takes a stage whose calls were made."""
        result = result_of(answer, self._provenance)
        self.broken |= result.outcome == "failed"
        self._results[answer.stage] = result

    def no_memory(self, answer: m.NoMemory) -> None:
        """Takes a stage that found no memory."""
        self._asked, self._free = answer.asked_bytes, answer.free_bytes
        stage = answer.stage or self.next_stage
        self._add(stage, ALLOCATION, "out_of_memory", _memory_words(answer))

    def failed(self, trace: tuple[str, str], words: str) -> None:
        """Takes a failure of the whole process, which was in the stage and call of the trace."""
        self.broken = True
        stage, call = trace
        if stage in self._results:
            call = ""  # it had not begun what comes next
        if stage in self._results or stage not in stages_until(self._until):
            stage = self.next_stage
        self._add(stage, call or CALLS[stage], "failed", words)

    def sized(self, sizes: dict[str, int] | None, free_bytes: int | None) -> None:
        """Takes the sizes that were told, and what was free then."""
        self._sizes = sizes
        if self._free is None:
            self._free = free_bytes

    def result(self) -> CaseResult:
        """Every stage: those that were not tried with why."""
        ended = self._ended()
        last = next((s for s in reversed(self._results) if s in ended), None)
        results = []
        for stage in stages_until(self._until):
            if stage not in self._results:
                cause = blocked_by(stage, ended) or last
                assert cause is not None, "a stage is missing for no reason"
                why = f"{cause} {_ENDED[ended[cause]]}"
                self._add(stage, CALLS[stage], "skipped", why)
            results.append(self._results[stage])
        return CaseResult(tuple(results), self._sizes, self._asked, self._free)

    def _ended(self) -> dict[str, Outcome]:
        """The stages that did not pass though they were tried."""
        return {s: r.outcome for s, r in self._results.items() if r.outcome in _ENDED}

    def _add(
        self,
        stage: str,
        call: str,
        outcome: Outcome,
        reason: str | None,
        status: str | None = None,
        code: int | None = None,
    ) -> None:
        self._results[stage] = StageResult(
            stage, call, status, code, outcome, reason, self._provenance
        )


def _deciding(records: Sequence[Sequence[str | int]]) -> tuple[str, str, int, str]:
    """The call that decides a stage: the first that was not accepted, or else the last."""
    call, status, code, reason = next((r for r in records if r[1] != "SUCCESS"), records[-1])
    return str(call), str(status), int(code), str(reason)
