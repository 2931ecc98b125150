"""PyTorch as a side of a bench: its modules beside the same problems in cuDNN called directly."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict

from pyharness.api.bench_records import Side
from pyharness.api.bench_sides import BenchOptions
from pyharness.engine.timed_case import TimedCase
from pyharness.engine.timing import Timing, time_pass, warm_up
from pyharness.errors import HarnessError
from pyharness.peer.client import PEER_PASSES, PeerCase, PeerTrouble, TorchPeer
from pyharness.peer.confirming import logged_algos
from pyharness.releases.model import loaded_version
from pyharness.space.problems import NamedProblem
from pyharness.spec.stage_results import StageResult
from pyharness.spec.timed import BACKWARD, TRAINING_STEP

_LOGGED_AT_ONCE = 16  # a long LSTM logs megabytes
_ENDED = "the peer's process had ended"


class TorchTimer:
    """PyTorch's modules on a device: ``cpu`` or ``cuda``.

    Raises  UsageError if PyTorch is not there, or has no such device.
    """

    def __init__(self, device: str, options: BenchOptions) -> None:
        self._asked, self._options = device, options
        self._stack = ExitStack()
        self._peer = self._stack.enter_context(TorchPeer(device))
        facts = self._peer.facts
        cudnn = "" if facts.cudnn is None else f", cuDNN {loaded_version(facts.cudnn)}"
        self.side = Side(f"torch {facts.version}{cudnn}", facts.device_name)
        self.release = {
            "asked": f"torch on {device}",
            "name": self.side.release,
            "version": facts.version,
            "cuda_major": None,
            "path": "",
            "stamp": None,
            "origin": "peer",
        }
        self.device = {"name": facts.device_name, **asdict(facts)}
        self.notes: list[str] = []

    def cases(self, problems: Sequence[NamedProblem]) -> Generator[TimedCase]:
        """What each problem comes to; after a death there is a new process."""
        for named, logged in zip(problems, self._logged(problems), strict=True):
            if not self._peer.alive:
                self._stack.close()
                self._peer = self._stack.enter_context(TorchPeer(self._asked))
            case = self._case(named, logged)
            if self._options.shared:
                self._peer.release()
            yield case

    def close(self) -> None:
        """Ends the process."""
        self._stack.close()

    def _logged(self, problems: Sequence[NamedProblem]) -> Iterator[dict[str, str]]:
        """The algo of each stage of each problem as cuDNN's own log has it; nothing on a CPU."""
        for start in range(0, len(problems), _LOGGED_AT_ONCE):
            some = [named.problem for named in problems[start : start + _LOGGED_AT_ONCE]]
            on_cpu = self._asked == "cpu"
            yield from [{}] * len(some) if on_cpu else logged_algos(some, self._asked)

    def _case(self, named: NamedProblem, logged: Mapping[str, str]) -> TimedCase:
        passes = self._passes(named)
        prepared = self._peer.prepare(named.problem)
        if isinstance(prepared, PeerTrouble):
            rows = [Timing(p, "hot", _result(p, prepared)) for p in passes]
            return TimedCase(None, tuple(rows))
        return TimedCase(
            None,
            tuple(self._timed(p) for p in passes),  # in order: one may end the process
            algo=tuple((p, a) for p in passes if (a := _algo(prepared, logged, p)) is not None),
            notes=prepared.notes,
        )

    def _passes(self, named: NamedProblem) -> list[str]:
        """The peer's passes for those that are wanted: it has one backward for both."""
        wanted = self._options.passes_of(named)
        mapped = [BACKWARD if p.startswith("backward") else p for p in wanted]
        return [p for p in dict.fromkeys(mapped) if p in PEER_PASSES]

    def _timed(self, pass_name: str) -> Timing:
        timing = Timing(pass_name, "hot", _result(pass_name, None))
        if not self._peer.alive:
            timing.result = _result(pass_name, PeerTrouble("skipped", _ENDED))
            return timing
        try:
            sampler = _PeerSampler(self._peer)
            each_s = warm_up(sampler, pass_name, "hot", self._options.warm_s)
            time_pass(sampler, timing, self._options.rule, each_s, lambda: None)
        except _Troubled as error:
            timing.result = _result(pass_name, error.trouble)
        return timing


class _Troubled(HarnessError):
    """A peer gave no samples."""

    def __init__(self, trouble: PeerTrouble) -> None:
        super().__init__(trouble.reason)
        self.trouble = trouble


class _PeerSampler:
    """A peer whose troubles are raised."""

    def __init__(self, peer: TorchPeer) -> None:
        self._peer = peer

    def sample(self, pass_name: str, mode: str, count: int, expected_s: float = 0.0) -> list[float]:
        """Seconds, one a sample."""
        said = self._peer.sample(pass_name, mode, count, expected_s)
        if isinstance(said, PeerTrouble):
            raise _Troubled(said)
        return said


def _result(pass_name: str, trouble: PeerTrouble | None) -> StageResult:
    outcome = "passed" if trouble is None else trouble.outcome
    reason = None if trouble is None else trouble.reason
    return StageResult(pass_name, "torch", None, None, outcome, reason, "observed")


def _algo(case: PeerCase, logged: Mapping[str, str], pass_name: str) -> str | None:
    """What the peer chose for a pass, by the log or else by its rule; for a step maybe two."""
    stages = {BACKWARD: "backward_data", TRAINING_STEP: "forward_training"}
    forward = logged.get(stages.get(pass_name, pass_name), case.algo_forward)
    backward = logged.get("backward_data", case.algo_backward)
    if pass_name == BACKWARD:
        return backward
    if pass_name == TRAINING_STEP and backward != forward:
        return f"{forward}, {backward}"
    return forward
