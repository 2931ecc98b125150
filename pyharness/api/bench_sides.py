"""What is timed side by side: how, and on what; a side is a release on a device, or a peer."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from pyharness.api.bench_records import Side
from pyharness.api.device import open_runner
from pyharness.api.folder import release_data
from pyharness.engine.card import Reading, open_card
from pyharness.engine.cases import for_each_case
from pyharness.engine.runner import NO_PEAK, Runner
from pyharness.engine.timed_case import TimedCase, close_case, time_case
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import UsageError
from pyharness.measure.stopping import StoppingRule
from pyharness.releases.model import Release, loaded_version
from pyharness.space.problems import NamedProblem
from pyharness.spec.enums import DATA_TYPE, MATH_TYPE
from pyharness.spec.messages import Peak
from pyharness.spec.problem import Problem
from pyharness.spec.timed import TIMED_PASSES, TIMING_MODES, stages_of

WARM_S = 0.05
NO_CARD = (
    "NVML does not tell of this card: clocks, temperature, power and throttling are not recorded "
    "(pip install nvidia-ml-py, if it is missing)"
)


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """How problems are timed.

    ``passes``     wanted ones of TIMED_PASSES; each of those that a problem has.
    ``modes``      of TIMING_MODES.
    ``rule``       when a pass in a mode has been timed for long enough.
    ``warm_s``     host seconds that each runs before its samples count.
    ``ordinal``    the device.
    ``shared``     several sides use it: each gives its memory back before the next one's turn.
    ``timeout_s``  a call that takes so much longer than expected counts as hung.
    """

    passes: tuple[str, ...] = TIMED_PASSES
    modes: tuple[str, ...] = TIMING_MODES
    rule: StoppingRule = field(default_factory=StoppingRule)
    warm_s: float = WARM_S
    ordinal: int = 0
    shared: bool = False
    timeout_s: float = DEFAULT_TIMEOUT_S

    def passes_of(self, named: NamedProblem) -> tuple[str, ...]:
        """What is timed of a problem: training_step where its set has all passes of training."""
        return tuple(p for p in self.passes if set(stages_of(p)) <= set(named.passes))


class Timer(Protocol):
    """One side of a bench.

    ``side``     what its rows are called.
    ``release``  what the manifest says of it.
    ``device``   the same of the device.
    ``notes``    what a reader of its rows should know.
    """

    side: Side
    release: dict[str, Any]
    device: dict[str, Any]
    notes: list[str]

    def cases(self, problems: Sequence[NamedProblem]) -> Generator[TimedCase]:
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
        self._warm = set[str]()
        self._first: Runner | None = self._start()
        facts, number = self._first.facts, self._first.version()
        said = None if number is None else loaded_version(number)
        name = release.name if release.version is not None or said is None else said
        self.side = Side(name, facts.name)
        self.release = {**release_data(release), "name": name, "loaded": number}
        self.device = {**asdict(facts), "ordinal": options.ordinal}
        self._card = open_card(facts.pci_bus_id)
        self.notes = [] if self._card is not None else [NO_CARD]

    def cases(self, problems: Sequence[NamedProblem]) -> Generator[TimedCase]:
        """What each problem comes to; a case that broke its runner is followed by a new one.

        The card's own peak of each pair of types is measured before the first: its memory is free.
        """
        peaks = {types: self._peak(*types) for types in dict.fromkeys(map(_types, problems))}
        place = iter(problems)

        def work(runner: Runner, problem: Problem) -> TimedCase:
            named = next(place)
            o = self._options
            passes = o.passes_of(named)
            case = time_case(runner, problem, passes, o.modes, o.rule, o.warm_s, self._read)
            closed = close_case(runner, o.shared)
            return replace(case, timings=(*case.timings, *closed), peak=peaks[_types(named)])

        numbered = [(i, named.problem) for i, named in enumerate(problems)]
        with closing(for_each_case(numbered, self._next, work)) as sweep:
            for _, _, case in sweep:
                yield case

    def close(self) -> None:
        """Ends the runner that nobody used, and gives NVML back."""
        if self._first is not None:
            self._first.close()
        if self._card is not None:
            self._card.close()

    def _start(self) -> Runner:
        o = self._options
        return open_runner(self._release, o.ordinal, o.timeout_s, self._warm)

    def _next(self) -> Runner:
        first, self._first = self._first, None
        if first is not None and not first.broken:
            return first
        if first is not None:
            first.close()
        return self._start()

    def _read(self) -> Reading | None:
        return None if self._card is None else self._card.read()

    def _peak(self, data_type: str, math_type: str) -> Peak:
        if self.device["emulated"]:
            return NO_PEAK
        with self._start() as apart:  # CuPy's cuBLAS would be cuDNN's from then on
            return apart.peak(data_type, math_type)


def _types(named: NamedProblem) -> tuple[str, str]:
    """What the peak of a problem depends on: data type and math type."""
    value = named.problem.value
    return DATA_TYPE.label(value("data_type")), MATH_TYPE.label(value("math_type"))


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
