"""A problem on a device whose results are looked at: passes run one by one, buffers in the hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyharness.engine.case import ALLOCATION, result_of
from pyharness.engine.process import unexpected
from pyharness.engine.runner import Runner, StageFailed
from pyharness.errors import HarnessError, UsageError
from pyharness.spec import messages as m
from pyharness.spec.differences import Difference
from pyharness.spec.ledger import Death
from pyharness.spec.plan_settings import plan_settings
from pyharness.spec.problem import Problem
from pyharness.spec.stage_results import CaseResult, StageResult
from pyharness.spec.stages import PASSES

OUTPUTS = ("y", "hy", "cy", "dx", "dhx", "dcx", "dw")
ALIGNMENTS = tuple(range(0, 256, 16))
_FILLING = "fill"
_BUILT = "build"
_COMPILING_S = 120.0  # CuPy compiles its kernels for the first comparison


@dataclass(frozen=True, slots=True)
class WeightPart:
    """One matrix or bias in the weight space; ``offset`` in bytes, named as in spec.geometry."""

    name: str
    rows: int
    cols: int
    offset: int


class Workbench:
    """A runner with one problem open. What is written to a buffer stays there until a pass or
    another open() overwrites it; open() gives every input its first bytes again.

    ``runner``       whose end is the caller's; broken after a failure, and no more use then.
    ``compared_on``  where compare() compares what keep() kept last, by name: device, or host and
                     why not on the device.

    Every method raises  StageFailed if the process died, or the device failed; HarnessError for
                         what the open problem has not: a buffer, a key, a captured graph.
    """

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.compared_on: dict[str, str] = {}
        self._problem: Problem | None = None
        self._bytes = 0
        self._buffers: tuple[str, ...] = ()
        self._weights: list[WeightPart] = []

    def open(self, problem: Problem, *, alignment: int = 0) -> CaseResult:
        """Takes a problem up to its memory, filled from its seed; no pass is run.

        ``alignment``  bytes by which every buffer lies behind a multiple of 256: 16, 32 … 240.
        Returns  the stages before the passes; where the memory is not to be had, one more, the
                 first pass. Without ``stopped`` in it, the problem is open.
        """
        self._problem, self._buffers, self._weights = problem, (), []
        if alignment not in ALIGNMENTS:
            raise UsageError(f"alignment {alignment} is none of {ALIGNMENTS}")
        case = self.runner.stages(problem, _BUILT, alignment)
        if case.sizes is None or not case.complete:
            return case
        self._bytes = sum(case.sizes.values())
        answer = self._ask(m.FillPlan(), _FILLING)
        if isinstance(answer, m.Done):
            self.runner.was_done(_FILLING)
            self._describe()
            return case
        failed = replace(self.runner.failed(PASSES[0], answer).result, call=ALLOCATION)
        case = replace(case, stages=(*case.stages, failed))
        if isinstance(answer, m.NoMemory):
            return replace(case, asked_bytes=answer.asked_bytes, free_bytes=answer.free_bytes)
        return case

    def reopen(self, handle: bool = False, *, alignment: int = 0) -> CaseResult:
        """Makes the plan of the open problem again: fresh descriptors, the same bits of input.

        ``handle``     on a fresh handle, too, and its own stream.
        ``alignment``  as in open().
        """
        if self._problem is None:
            raise HarnessError("no problem was opened that could be opened again")
        if handle:
            answer = self._ask(m.CreateHandle(), "handle")
            if not isinstance(answer, m.Done):
                raise self._failed("handle", answer)
        return self.open(self._problem, alignment=alignment)

    def new_stream(self) -> None:
        """Goes on with a fresh stream, on the same handle and with the same plan."""
        self._do(m.RenewStream())

    def load(self, problem: Problem | None, count: int = 2) -> None:
        """Keeps the device busy beside every run() from now on; None: no longer.

        A second plan, of this problem, is put to work on a stream of its own: ``count`` passes of
        training before each pass of the open problem, which does not wait for them.

        Raises  StageFailed if that plan cannot be had.
        """
        settings = None if problem is None else plan_settings(problem)
        answer = self._ask(m.LoadPlan(settings, count), "load")
        if isinstance(answer, m.Filling):
            limit_s = self.runner.limit_s(_FILLING, answer.total_bytes)
            frame = self.runner.receive_frame(limit_s)
            answer = frame if isinstance(frame, Death) else m.decode(frame)
        if isinstance(answer, m.StageDone):
            raise StageFailed(result_of(answer, self.runner.facts.provenance))
        if not isinstance(answer, m.Done):
            raise self._failed(PASSES[0], answer)

    def run(self, pass_name: str, *, graph: bool = False) -> None:
        """Runs a pass once and waits for it; before a backward pass what it needs, if that has not
        run since the last that used it up. dw is zeroed before backward_weights.

        ``graph``  replays the graph that capture() made of it.
        Raises     StageFailed for all but a pass that went well and stayed within its buffers.
        """
        what = f"{pass_name} graph" if graph else pass_name
        answer = self._ask(m.RunPass(pass_name, graph), what)
        if not isinstance(answer, m.StageDone):
            raise self._failed(pass_name, answer)
        result = result_of(answer, self.runner.facts.provenance)
        if result.outcome != "passed":
            self.runner.broken |= result.outcome == "failed"
            raise StageFailed(result)
        self.runner.was_done(what)

    def capture(self, pass_name: str) -> StageResult:
        """Records the graph of a pass; passed, or unsupported with why there is none."""
        return self.runner.capture(pass_name)

    def reseed(self) -> None:
        """Brings the states of dropout to what they were when the problem was opened."""
        self._do(m.Reseed())

    def tensors(self) -> tuple[str, ...]:
        """The outputs that the problem has, forward's first."""
        return tuple(name for name in OUTPUTS if name in self._buffers)

    def buffers(self) -> tuple[str, ...]:
        """Everything that can be read and written: inputs, outputs, w, workspace and the rest."""
        return self._buffers

    def weights(self) -> list[WeightPart]:
        """Where each weight is, in w and in dw alike."""
        return self._weights

    def read(self, name: str) -> bytes:
        """The bytes of a whole buffer, in the order of the problem's layout."""
        answer = self._ask(m.ReadBuffer(name), "read")
        if not isinstance(answer, m.BufferRead):
            raise self._failed("read", answer)
        frame = self.runner.receive_frame(self._limit_s("read"))
        if isinstance(frame, Death):
            raise self._failed("read", frame)
        return frame

    def write(self, name: str, data: bytes) -> None:
        """Overwrites a whole buffer."""
        answer = self.runner.ask(m.WriteBuffer(name), self._limit_s("write"), data)
        if not isinstance(answer, m.Done):
            raise self._failed("write", answer)

    def poison(self, names: Sequence[str], byte: int) -> None:
        """Overwrites every byte of these buffers.

        What forward_training left in the reserve space is gone then, and must be made again before
        a backward pass. Of the workspace it is all that any pass may use.
        """
        self._do(m.PoisonBuffers(list(names), byte))

    def keep(self, key: str, names: Sequence[str]) -> None:
        """Keeps a copy of these tensors in the process, in place of what was kept under the key.

        It stays when the problem is opened again, or another one is. ``compared_on`` says where
        it is.
        """
        limit_s = self._limit_s("keep") + (0 if self.compared_on else _COMPILING_S)
        answer = self.runner.ask(m.KeepBuffers(key, list(names)), limit_s)
        if not isinstance(answer, m.BuffersKept):
            raise self._failed("keep", answer)
        self.compared_on = {
            name: f"host: {answer.on_host[name]}" if name in answer.on_host else "device"
            for name in names
        }

    def compare(self, key: str, names: Sequence[str]) -> dict[str, Difference]:
        """These tensors as they are now beside those that are kept under a key."""
        answer = self._ask(m.CompareBuffers(key, list(names)), "compare")
        if not isinstance(answer, m.Compared):
            raise self._failed("compare", answer)
        return {name: Difference(**found) for name, found in answer.differences.items()}

    def digest(self, names: Sequence[str]) -> dict[str, str]:
        """SHA-256 of these buffers, in hexadecimal: results of two processes can be compared."""
        answer = self._ask(m.DigestBuffers(list(names)), "digest")
        if not isinstance(answer, m.Digested):
            raise self._failed("digest", answer)
        return answer.digests

    def forget(self, key: str) -> None:
        """Drops what is kept under a key, if anything is."""
        self._do(m.ForgetBuffers(key))

    def _describe(self) -> None:
        answer = self._ask(m.DescribePlan(), "describe")
        if not isinstance(answer, m.PlanDescribed):
            raise self._failed("describe", answer)
        self._buffers = tuple(answer.buffers)
        self._weights = [WeightPart(*weight) for weight in answer.weights]

    def _do(self, message: m.Message) -> None:
        answer = self._ask(message, message.kind)
        if not isinstance(answer, m.Done):
            raise self._failed(message.kind, answer)

    def _ask(self, message: m.Message, what: str) -> m.Message | Death:
        return self.runner.ask(message, self._limit_s(what))

    def _limit_s(self, what: str) -> float:
        return self.runner.limit_s(what, self._bytes)

    def _failed(self, what: str, answer: m.Message | Death) -> HarnessError:
        """The error of something that was not answered as it should be."""
        if isinstance(answer, m.Refused):
            return unexpected(answer)
        return self.runner.failed(what, answer)
