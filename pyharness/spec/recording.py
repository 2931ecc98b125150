"""What logs hold, problems with their counts, and what releases say of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pyharness.spec.device_facts import DeviceFacts
from pyharness.spec.problem import CallResult, Problem
from pyharness.spec.stage_results import CaseResult, StageResult


@dataclass(frozen=True, slots=True)
class Said:
    """What the library logged of a call: an error or a warning.

    ``status``  the enumerator without its prefix.
    ``reason``  the condition, verbatim; several of one call are joined by a semicolon.
    """

    call: str
    status: str
    reason: str


@dataclass(slots=True)
class Recorded:
    """One distinct problem of a log.

    ``roles``          what of it was recorded: descriptor, clip, x, y, h, c. The rest was not.
    ``disagreements``  where the descriptors of a call contradict each other, in words; the problem
                       cannot hold that.
    ``calls``          C name to the number of calls that were made with it.
    ``stages``         stage to the number of calls, where a call belongs to one.
    ``order``          place among the log's problems by first occurrence, from 0.
    ``place``          file and byte of the first call's entry: ``api.log@4096``.
    ``origins``        (process, thread) of the calls.
    ``said``           errors and warnings that were logged of it, with their number.
    """

    problem: Problem
    roles: tuple[str, ...]
    disagreements: tuple[str, ...]
    place: str
    order: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    stages: Counter[str] = field(default_factory=Counter)
    origins: set[tuple[int, int]] = field(default_factory=set)
    said: Counter[Said] = field(default_factory=Counter)

    @property
    def count(self) -> int:
        """Calls that were made with this problem."""
        return self.calls.total()


@dataclass(slots=True)
class Recording:
    """All that was read from some logs.

    ``problems``    by first occurrence.
    ``files``       the names of the logs, in the order they were read.
    ``size_bytes``  what was read of them, unpacked.
    ``calls``       C name to the number of calls, of every function of cuDNN.
    ``origins``     (process, thread) of the RNN calls that were read.
    ``versions``    cudnnGetVersion() numbers that entries carry: 8907, 92800.
    ``first``       time of the earliest RNN call, as the log has it; ``last``: of the latest.
    ``incomplete``  entries of RNN calls that are cut, torn by other text, or come too soon after
                    such a one to be believed.
    ``not_held``    RNN calls whose problem cannot be described, by why.
    ``statuses``    errors and warnings by function, status and reason, of RNN calls; of others the
                    status alone.
    ``notes``       what else a reader should know.
    """

    problems: list[Recorded] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    size_bytes: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    origins: set[tuple[int, int]] = field(default_factory=set)
    versions: set[int] = field(default_factory=set)
    first: str | None = None
    last: str | None = None
    incomplete: int = 0
    not_held: Counter[str] = field(default_factory=Counter)
    statuses: Counter[Said] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @property
    def entries(self) -> int:
        """Calls of all functions."""
        return self.calls.total()


_WORST_FIRST = ("failed", "unsupported", "out_of_memory", "passed")
# What a gate may name: of the last release, and of each step from one release to the next.
REPLAY_GATES = ("refused", "failed", "newly_refused", "newly_accepted", "newly_failed")


@dataclass(frozen=True, slots=True)
class Step:
    """What changed from one release to the next: problems by their order."""

    release_a: str
    release_b: str
    newly_refused: list[int]
    newly_accepted: list[int]
    newly_failed: list[int]


@dataclass(frozen=True, slots=True)
class OnDevice:
    """Recorded problems on a device.

    ``facts``  the device; None: there is none.
    ``cases``  by the order of the problem: the stages that were recorded, and those before them.
    ``why``    why a device that is here was not used, or not to the end.
    """

    facts: DeviceFacts | None = None
    cases: dict[int, CaseResult] = field(default_factory=dict)
    why: str = ""


def _outcome(said: Sequence[CallResult | StageResult]) -> str:
    outcomes = {r.outcome for r in said}
    return next((o for o in _WORST_FIRST if o in outcomes), "skipped")


@dataclass(slots=True)
class Replay:
    """Recorded problems tried on releases.

    ``releases``  their names, in the order they were given.
    ``results``   for each release and problem what the host calls said that were recorded of it.
    ``devices``   for each release the cases on a device; empty where there is none.
    """

    recording: Recording
    releases: list[str]
    results: list[list[list[CallResult]]]
    devices: list[OnDevice] = field(default_factory=list)

    def said(self, release: int, order: int) -> list[CallResult | StageResult]:
        """What the host calls said, then the stages on a device that were tried."""
        said: list[CallResult | StageResult] = list(self.results[release][order])
        case = self.case(release, order)
        if case is not None:
            said += [s for s in case.stages if s.outcome != "skipped"]
        return said

    def case(self, release: int, order: int) -> CaseResult | None:
        """What became of a problem on a device; None if it was not taken there."""
        return self.devices[release].cases.get(order) if self.devices else None

    def outcome(self, release: int, order: int) -> str:
        """What became of a problem: the worst outcome, or skipped if no call was made."""
        return _outcome(self.said(release, order))

    def host_outcome(self, release: int, order: int) -> str:
        """The same of the host calls alone."""
        return _outcome(self.results[release][order])

    def with_outcome(self, release: int, outcome: str) -> list[int]:
        """The problems of an outcome on a release, the most frequent first."""
        orders = [
            p.order for p in self.recording.problems if self.outcome(release, p.order) == outcome
        ]
        return self.by_count(orders)

    def by_count(self, orders: Sequence[int]) -> list[int]:
        """These problems, the most frequent first."""
        return sorted(orders, key=lambda order: (-self.recording.problems[order].count, order))

    def steps(self) -> list[Step]:
        """What changed from each release to the next."""
        return [self._step(a) for a in range(len(self.releases) - 1)]

    def count(self, gate: str) -> int:
        """Problems that a gate of REPLAY_GATES is about."""
        if gate in ("refused", "failed"):
            outcome = {"refused": "unsupported"}.get(gate, gate)
            last = len(self.releases) - 1
            return len(self.with_outcome(last, outcome)) if self.releases else 0
        return sum(len(getattr(step, gate)) for step in self.steps())

    def _compared(self, a: int, order: int) -> tuple[str, str]:
        """A problem's outcome on a release and on the next, as far as both were asked."""
        sides = (a, a + 1)
        # What the host refuses goes nowhere; what it accepts has to be tried on both devices.
        known = all(
            self.case(r, order) is not None or self.host_outcome(r, order) != "passed"
            for r in sides
        )
        how = self.outcome if known else self.host_outcome
        return how(a, order), how(a + 1, order)

    def _step(self, a: int) -> Step:
        moved: dict[str, list[int]] = {"unsupported": [], "passed": [], "failed": []}
        for problem in self.recording.problems:
            before, after = self._compared(a, problem.order)
            if before != after and after in moved and before in moved:
                moved[after].append(problem.order)
        return Step(
            self.releases[a],
            self.releases[a + 1],
            self.by_count(moved["unsupported"]),
            self.by_count(moved["passed"]),
            self.by_count(moved["failed"]),
        )
