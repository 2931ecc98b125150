"""A runner as its parent sees it: problems go in, stages, sizes and samples come out."""

from __future__ import annotations

from dataclasses import replace
from types import TracebackType

from pyharness.engine.case import Case, cuda_words, end_words, failure_of, skipped
from pyharness.engine.process import START_TIMEOUT_S, Launch, Process, unexpected
from pyharness.engine.trace import Trace
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import HarnessError, UsageError
from pyharness.spec import messages as m
from pyharness.spec.device_facts import DeviceFacts
from pyharness.spec.ledger import Death
from pyharness.spec.plan_settings import plan_settings
from pyharness.spec.problem import Problem
from pyharness.spec.soak import MEMORY
from pyharness.spec.stage_results import CaseResult, Outcome, StageResult
from pyharness.spec.stages import CALLS, STAGES, stages_until
from pyharness.spec.timed import CLOSE

FIRST_TIMEOUT_S = 60.0  # of what a process does first: kernels are loaded and compiled
# The host fills the inputs and the weights: measured, 10 ns an element of 2 bytes, and these are
# half of all bytes at most. The slowest machine may be slower again.
_FILLED_BYTES_PER_S = 100e6
_PATIENCE_S = 5.0
NO_PEAK = m.Peak(None, None, "an emulated card has no peak")
_CALLS = {**CALLS, MEMORY: "cuMemGetInfo_v2"}
_PEAK_TIMEOUT_S = 120.0  # CuPy and cuBLAS are loaded first


class NoRunner(HarnessError):
    """A runner cannot be had.

    ``answer``  what it said to what it was asked, or its death.
    ``facts``   the device, if it came so far.
    """

    def __init__(self, answer: m.Message | Death, facts: DeviceFacts | None) -> None:
        said = unexpected(answer)
        super().__init__(said.message, said.hint)
        self.answer = answer
        self.facts = facts


class StageFailed(HarnessError):
    """A pass of the open plan did not end as it should.

    ``result``  what became of it: failed, unsupported or out_of_memory.
    """

    def __init__(self, result: StageResult) -> None:
        words = result.reason or result.status or result.outcome
        super().__init__(f"{result.stage}, {result.call}: {words}")
        self.result = result


class Runner:
    """A running runner: one release, one device. Use it in a ``with`` block.

    ``facts``   the device.
    ``broken``  something failed in the process: the next case needs a new one.
    ``warm``    the stages and samplings that went well once, here or in runners before: what is
                done for the first time gets a minute, as kernels are loaded and compiled then.

    Raises  NoRunner if the library, the driver or the device cannot be used.
    """

    def __init__(
        self,
        launch: Launch,
        libcuda: str,
        ordinal: int,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        warm: set[str] | None = None,
    ) -> None:
        self.broken = False
        self._closed = False
        self._ordinal, self._timeout_s = ordinal, timeout_s
        self._warm = set[str]() if warm is None else warm
        self._trace = Trace()
        self._process = Process(launch, self._trace.fd)
        try:
            self.facts = self._open(libcuda, ordinal)
        except BaseException:
            self.close()
            raise

    def _open(self, libcuda: str, ordinal: int) -> DeviceFacts:
        answer = self._process.receive(START_TIMEOUT_S)
        if not isinstance(answer, m.Done):
            raise NoRunner(answer, None)
        answer = self.ask(m.OpenDevice(libcuda, ordinal), START_TIMEOUT_S)
        if not isinstance(answer, m.DeviceOpened):
            raise NoRunner(answer, None)
        facts = DeviceFacts(**answer.facts)
        answer = self.ask(m.CreateHandle(), START_TIMEOUT_S)
        if not isinstance(answer, m.Done):
            raise NoRunner(answer, facts)
        return facts

    def __enter__(self) -> Runner:
        """The runner itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends the process."""
        self.close()

    def close(self) -> None:
        """Lets the process give back what it holds, and ends it."""
        if not self._closed:
            self._closed = True
            self._process.close(_PATIENCE_S)
            self._trace.close()

    def version(self) -> int | None:
        """cudnnGetVersion(); None if the library ends its process when it is asked."""
        answer = self.ask(m.AskVersion(), self._timeout_s)
        self.broken |= isinstance(answer, Death)
        return answer.version if isinstance(answer, m.Version) else None

    def sizes(self, problem: Problem) -> CaseResult:
        """The first stages of a problem, as far as its sizes; no memory is taken for it."""
        return self.stages(problem, "sizes")

    def stages(self, problem: Problem, until: str | None = None, alignment: int = 0) -> CaseResult:
        """Takes a problem through the stages, as far as it goes; its plan stays open.

        ``alignment``  bytes by which every buffer lies behind a multiple of 256, 16 to 240 in
                       steps of 16; 0 for none.
        Returns  every stage up to ``until``. A death, a hang, an error of the driver, a status
                 that is none of a refusal and a broken guard band are a failed stage, and the
                 runner is broken.
        Raises   UsageError if there is no such stage.
        """
        until = until or STAGES[-1]
        stages_until(until)
        try:
            settings = plan_settings(problem)
        except UsageError as error:
            return skipped(until, error.message, self.facts.provenance)
        case = Case(until, self.facts.provenance)
        self._trace.clear()
        shifted = {"alignment": alignment} if alignment else {}
        self._process.send(m.RunStages({**settings, **shifted}, until))
        while self._take(case):
            pass
        self.broken |= case.broken
        return case.result()

    def whole(self, problem: Problem) -> CaseResult:
        """Takes a problem through all stages and closes its plan: that may fail, too.

        Returns  as stages(); where the end failed one more, ``close``.
        """
        case = self.stages(problem)
        if self.broken:
            return case
        try:
            self.close_plan()
        except StageFailed as error:
            self.broken = True
            return replace(case, stages=(*case.stages, replace(error.result, outcome="failed")))
        return case

    def _take(self, case: Case) -> bool:
        """Takes one answer; whether more are to come."""
        limit_s = self.limit_s(case.next_stage, case.filled_bytes)
        answer = self._process.receive(round(limit_s, 1))
        match answer:
            case m.StageDone():
                case.done(answer)
                if answer.records:
                    self._warm.add(answer.stage)
                return True
            case m.Filling(total_bytes):
                case.filled_bytes = total_bytes
                return True
            case m.NoMemory():
                case.no_memory(answer)
                return True
            case m.Staged(sizes, free_bytes):
                case.sized(sizes, free_bytes)
                return False
            case m.CudaFailed():
                case.failed(self._trace.read(), cuda_words(answer))
                return False
            case m.CudnnRefused(call, status):
                case.failed(("", ""), f"the plan before it was not closed: {call}: {status}")
                return False
            case m.Refused(_, message):
                case.failed(self._trace.read(), f"the worker could not do it: {message}")
                return False
            case Death():
                case.failed(self._trace.read(), end_words(answer))
                return False
            case _:
                raise unexpected(answer)

    def capture(self, pass_name: str) -> StageResult:
        """Records a CUDA graph of a pass of the open plan.

        Returns  passed, or unsupported with why there is none.
        Raises   StageFailed if the process failed.
        """
        answer = self.ask(m.Capture(pass_name), self.limit_s(pass_name))
        if not isinstance(answer, m.Captured):
            raise self.failed(pass_name, answer)
        call, status, code, reason = answer.records[-1]
        outcome: Outcome = "passed" if status == "SUCCESS" else "unsupported"
        provenance = self.facts.provenance
        return StageResult(pass_name, call, status, code, outcome, reason or None, provenance)

    def sample(self, pass_name: str, mode: str, count: int, expected_s: float = 0.0) -> list[float]:
        """Times a pass of the open plan, or training_step.

        ``expected_s``  what it should take in all; the time limit comes on top.
        Returns         seconds, one a sample.
        Raises          StageFailed if it did not end well.
        """
        limit_s = round(expected_s + self.limit_s(f"{pass_name} {mode}"), 2)
        answer = self.ask(m.Sample(pass_name, mode, count), limit_s)
        if not isinstance(answer, m.Sampled) or answer.broken:
            raise self.failed(pass_name, answer)
        self._warm.add(f"{pass_name} {mode}")
        return answer.samples_s

    def peak(self, data_type: str, math_type: str) -> m.Peak:
        """What the card itself reaches with these types; None and why where that is not known.

        Ask a runner of its own: CuPy loads its cuBLAS, which cuDNN would use from then on.
        """
        if self.facts.emulated:  # CuPy would measure a card of this machine, if there is one
            return NO_PEAK
        answer = self.ask(m.MeasurePeak(self._ordinal, data_type, math_type), _PEAK_TIMEOUT_S)
        if isinstance(answer, m.Peak):
            return answer
        self.broken = True
        return m.Peak(None, None, unexpected(answer).message)

    def close_plan(self, memory: bool = False) -> None:
        """Gives back what the open plan holds.

        ``memory``  the device's memory too, which the next plan would use again.
        Raises      StageFailed if the process failed, or cuDNN refused.
        """
        answer = self.ask(m.ClosePlan(memory), self._timeout_s)
        if not isinstance(answer, m.Done):
            raise self.failed(CLOSE, answer)

    def memory(self, largest: bool = False) -> m.MemoryTold:
        """What memory device and process have now.

        ``largest``  with the largest free block: blocks are taken to find it, and until they are
                     given back nobody else has that memory.
        Raises       StageFailed if the process failed.
        """
        answer = self.ask(m.AskMemory(largest), self.limit_s(MEMORY))
        if not isinstance(answer, m.MemoryTold):
            raise self.failed(MEMORY, answer)
        return answer

    def ask(
        self, message: m.Message, timeout_s: float, frame: bytes | None = None
    ) -> m.Message | Death:
        """The answer to a message, with the frame behind it that some have."""
        self._trace.clear()
        self._process.send(message)
        if frame is not None:
            self._process.send_frame(frame)
        return self._process.receive(timeout_s)

    def receive_frame(self, timeout_s: float) -> bytes | Death:
        """The frame behind an answer."""
        return self._process.receive_frame(timeout_s)

    def limit_s(self, what: str, moved_bytes: int = 0) -> float:
        """How long the process may take for something, by whether it did that before.

        ``moved_bytes``  that the host fills or moves for it; the device has no more than it has.
        """
        limit_s = self._timeout_s if what in self._warm else max(self._timeout_s, FIRST_TIMEOUT_S)
        if moved_bytes == 0:
            return limit_s
        moving_s = min(moved_bytes, self.facts.memory_bytes) / _FILLED_BYTES_PER_S
        return round(limit_s + moving_s, 1)

    def was_done(self, what: str) -> None:
        """Something went well: it does not take the time of a first time again."""
        self._warm.add(what)

    def failed(self, stage: str, answer: m.Message | Death) -> StageFailed:
        """What became of a pass that was not answered as it should be.

        Raises  HarnessError if the runner refused to be asked: a defect of ours.
        """
        call = self._trace.read()[1] or _CALLS.get(stage, "")
        result = failure_of(stage, call, answer, self.facts.provenance)
        self.broken |= result.outcome == "failed"
        return StageFailed(result)
