"""What is timed side by side: releases on a device, and peers; each problem in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from pyharness.api.bench_records import Side
from pyharness.api.device import open_runner
from pyharness.engine.card import Reading, open_card
from pyharness.engine.cases import for_each_case
from pyharness.engine.runner import DEFAULT_TIMEOUT_S, Runner
from pyharness.engine.timed_case import TimedCase, time_case
from pyharness.engine.timing import Timing, time_pass, warm_up
from pyharness.errors import HarnessError, UsageError
from pyharness.measure.stopping import StoppingRule
from pyharness.peer.client import PEER_PASSES, PeerCase, PeerTrouble, TorchPeer
from pyharness.releases.model import Release, loaded_version
from pyharness.space.problems import NamedProblem
from pyharness.spec.enums import DATA_TYPE, MATH_TYPE
from pyharness.spec.messages import Peak
from pyharness.spec.problem import Problem
from pyharness.spec.stage_results import StageResult
from pyharness.spec.timed import BACKWARD, TIMED_PASSES, TIMING_MODES, TRAINING_STEP, stages_of

WARM_S = 0.05


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """How problems are timed.

    ``passes``     wanted ones of TIMED_PASSES; each of those that a problem has.
    ``modes``      of TIMING_MODES.
    ``rule``       when a pass in a mode has been timed for long enough.
    ``warm_s``     host seconds that each runs before its samples count.
    ``ordinal``    the device.
    ``timeout_s``  a call that takes so much longer than expected counts as hung.
    """

    passes: tuple[str, ...] = TIMED_PASSES
    modes: tuple[str, ...] = TIMING_MODES
    rule: StoppingRule = field(default_factory=StoppingRule)
    warm_s: float = WARM_S
    ordinal: int = 0
    timeout_s: float = DEFAULT_TIMEOUT_S

    def passes_of(self, named: NamedProblem) -> tuple[str, ...]:
        """What is timed of a problem: training_step where its set has all passes of training."""
        return tuple(p for p in self.passes if set(stages_of(p)) <= set(named.passes))


class Timer(Protocol):
    """One side of a bench.

    ``side``     what its rows are called.
    ``release``  what the manifest says of it.
    ``device``   the same of the device.
    """

    side: Side
    release: dict[str, Any]
    device: dict[str, Any]

    def cases(self, problems: Sequence[NamedProblem]) -> Iterator[TimedCase]:
        """What each problem comes to, in order, as it is asked for."""
        ...

    def close(self) -> None:
        """Ends its processes."""
        ...


class ReleaseTimer:
    """A release on a device.

    Raises  what api.device.open_runner raises.
    """

    def __init__(self, release: Release, options: BenchOptions) -> None:
        self._release, self._options = release, options
        self._first: Runner | None = self._start()
        facts, number = self._first.facts, self._first.version()
        said = None if number is None else loaded_version(number)
        name = release.name if release.version is not None or said is None else said
        self.side = Side(name, facts.name)
        self.release = {**release_data(release), "name": name, "loaded": number}
        self.device = asdict(facts)
        self._card = open_card(facts.pci_bus_id)
        self._peaks: dict[tuple[int, int], Peak] = {}

    def cases(self, problems: Sequence[NamedProblem]) -> Iterator[TimedCase]:
        """What each problem comes to; a case that broke its runner is followed by a new one."""
        place = iter(problems)

        def work(runner: Runner, problem: Problem) -> TimedCase:
            named = next(place)
            peak = self._peak(problem)
            o = self._options
            passes = o.passes_of(named)
            case = time_case(runner, problem, passes, o.modes, o.rule, o.warm_s, self._read)
            if not runner.broken:
                runner.close_plan()
            return TimedCase(case.stages, case.timings, peak)

        numbered = [(i, named.problem) for i, named in enumerate(problems)]
        for _, _, case in for_each_case(numbered, self._next, work):
            yield case

    def close(self) -> None:
        """Ends the runner that nobody used, and gives NVML back."""
        if self._first is not None:
            self._first.close()
        if self._card is not None:
            self._card.close()

    def _start(self) -> Runner:
        return open_runner(self._release, self._options.ordinal, self._options.timeout_s)

    def _next(self) -> Runner:
        first, self._first = self._first, None
        if first is not None and not first.broken:
            return first
        if first is not None:
            first.close()
        return self._start()

    def _read(self) -> Reading | None:
        return None if self._card is None else self._card.read()

    def _peak(self, problem: Problem) -> Peak:
        """The card's own peak for the problem's types, measured once in a run."""
        key = (problem.value("data_type"), problem.value("math_type"))
        if key not in self._peaks:
            with self._start() as apart:  # CuPy's cuBLAS would be cuDNN's from then on
                self._peaks[key] = apart.peak(DATA_TYPE.label(key[0]), MATH_TYPE.label(key[1]))
        return self._peaks[key]


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

    def cases(self, problems: Sequence[NamedProblem]) -> Iterator[TimedCase]:
        """What each problem comes to; after a death there is a new process."""
        for named in problems:
            if not self._peer.alive:
                self._stack.close()
                self._peer = self._stack.enter_context(TorchPeer(self._asked))
            yield self._case(named)

    def close(self) -> None:
        """Ends the process."""
        self._stack.close()

    def _case(self, named: NamedProblem) -> TimedCase:
        passes = self._passes(named)
        prepared = self._peer.prepare(named.problem)
        if isinstance(prepared, PeerTrouble):
            rows = [Timing(p, "hot", _result(p, prepared)) for p in passes]
            return TimedCase(None, tuple(rows))
        return TimedCase(
            None,
            tuple(self._timed(p) for p in passes),
            algo=tuple((p, a) for p in passes if (a := _algo(prepared, p)) is not None),
            notes=prepared.notes,
        )

    def _passes(self, named: NamedProblem) -> list[str]:
        """The peer's passes for those that are wanted: it has one backward for both."""
        wanted = self._options.passes_of(named)
        mapped = [BACKWARD if p.startswith("backward") else p for p in wanted]
        return [p for p in dict.fromkeys(mapped) if p in PEER_PASSES]

    def _timed(self, pass_name: str) -> Timing:
        timing = Timing(pass_name, "hot", _result(pass_name, None))
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


def _algo(case: PeerCase, pass_name: str) -> str | None:
    """What the peer's own rule chooses for a pass; for a step of training maybe two."""
    if pass_name == BACKWARD:
        return case.algo_backward
    if pass_name == TRAINING_STEP and case.algo_backward != case.algo_forward:
        return f"{case.algo_forward}, {case.algo_backward}"
    return case.algo_forward


def release_data(release: Release) -> dict[str, Any]:
    """What a manifest says of a release."""
    return {
        "asked": release.name,
        "name": release.name,
        "version": release.version,
        "cuda_major": release.cuda_major,
        "path": str(release.path),
        "stamp": release.stamp,
        "origin": release.origin,
    }


def tell_apart(timers: Sequence[Timer]) -> None:
    """Gives sides of one name, such as two builds of a version, names with their paths.

    Raises  UsageError if one library, or one peer, is given twice.
    """
    labels = [t.side.release for t in timers]
    twice = [t for t in timers if labels.count(t.side.release) > 1]
    for timer in twice:
        timer.side = replace(timer.side, release=f"{timer.side.release} {timer.release['path']}")
    for timer in twice:
        if [t.side.release for t in twice].count(timer.side.release) > 1:
            raise UsageError(
                f"{timer.side.release.strip()} is given twice",
                "give each release once: more samples make a time more precise",
            )
