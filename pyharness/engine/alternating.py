"""Two releases timed in turn: one fresh process after the other, each all cases once.

A case is a pass of a problem in a mode. What the next process is to time follows from what those
before it came to alone, so that a run that was killed goes on as it would have gone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from math import inf
from statistics import median

from pyharness.engine.card import Reading
from pyharness.engine.cases import Stopped, for_each_case
from pyharness.engine.runner import Runner
from pyharness.engine.timed_case import close_case, time_case
from pyharness.engine.timing import Reader, Timing
from pyharness.measure.median import timer_step
from pyharness.measure.stopping import StoppingRule
from pyharness.measure.throttling import sieve, slows
from pyharness.space.problems import NamedProblem
from pyharness.spec.problem import Problem
from pyharness.spec.stage_results import StageResult

MOST_BREAKS = 2  # of a problem, on either side: then no later process is risked for it
MOST_REFUSALS = 2  # of a pass that both sides took at first: one may be an accident
_AT_FIRST = 0.25  # of the budget, for the first block: nothing is warm yet, and it is the slowest
_SIDES = 2  # that take turns from the first process on
_ROOM = 0.95  # of the budget that is given away: a process may take longer than those before it
_ONE_READING = 1e-9  # samples nearer than this, relative, are one: what a division leaves over


@dataclass(frozen=True, slots=True)
class Seen:
    """One case in one process.

    ``result``            passed, or what kept it from being timed.
    ``median_s``          of the samples that count; None without one.
    ``samples``           that count.
    ``throttled``         samples left out because the card was held down.
    ``throttle_reasons``  by what.
    ``clock_hz``          median of the card's clock around the samples that count, if it is told.
    ``step_s``            the timer's step as the samples show it, 0 where they show none; None if
                          all are one reading, which hides it.
    """

    pass_name: str
    mode: str
    result: StageResult
    median_s: float | None = None
    samples: int = 0
    throttled: int = 0
    throttle_reasons: tuple[str, ...] = ()
    clock_hz: float | None = None
    step_s: float | None = 0.0


@dataclass(frozen=True, slots=True)
class ProblemSeen:
    """A problem in one process.

    ``spent_s``  host time, all in all.
    ``broke``    it broke the process: what was behind it ran in another.
    """

    spent_s: float
    broke: bool
    cases: tuple[Seen, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """One process: what it said of each problem, by name, and the host time from start to end."""

    spent_s: float
    problems: Mapping[str, ProblemSeen]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a process is to time.

    ``problems``  with the passes of each.
    ``until_s``   a problem is not begun later than this after the process' start; the first is.
    """

    problems: tuple[tuple[NamedProblem, tuple[str, ...]], ...]
    until_s: float = inf


@dataclass(frozen=True, slots=True)
class Plan:
    """A run of all processes.

    ``problems``      with the passes of each; the most telling first.
    ``processes``     in all, in blocks of ``block``.
    ``least_blocks``  that are run whatever the budget.
    ``budget_s``      host time for all of them.
    """

    problems: tuple[tuple[NamedProblem, tuple[str, ...]], ...]
    processes: int
    block: int
    least_blocks: int
    budget_s: float = inf

    def after(self, done: Sequence[Turn]) -> Wanted | None:
        """What comes after these processes; None: nothing.

        Left out is what a side could not time at first, or several processes later on, what broke
        several, and what the budget has no room for, from the end: the first process begins no
        problem when its share is used up, and the first block tells the cost of all. If not even
        one problem fits so often, there are fewer blocks. What was cut stays out if the budget
        grows: it has missed a block.
        """
        if len(done) >= self.processes:
            return None
        if not done:
            share = max(1 / self.processes, _AT_FIRST / self.block)
            return Wanted(self.problems, share * self.budget_s)
        if len(done) % self.block == 0 and not self._room(done):
            return None
        found = self._left(done)
        return Wanted(found) if found else None

    def cut(self, done: Sequence[Turn]) -> bool:
        """Whether the budget left out problems, or processes that had something to time."""
        fewer = len(done) < self.processes and bool(self._left(done))
        return fewer or len(self.within(done)) < len(self.problems)

    def _left(self, done: Sequence[Turn]) -> tuple[tuple[NamedProblem, tuple[str, ...]], ...]:
        """The problems that are worth another process, each with its passes that are."""
        within = self.within(done)
        left = [(p, _left(p.name, passes, done)) for p, passes in self.problems]
        return tuple((p, passes) for p, passes in left if passes and p.name in within)

    def within(self, done: Sequence[Turn]) -> frozenset[str]:
        """The names of the problems that the budget has room for, as far as that is known."""
        names = [p.name for p, _ in self.problems]
        if done:
            names = [name for name in names if name in done[0].problems]
        cut: set[str] = set()
        if len(done) >= self.block:
            worth = self._worth(done[: self.block])
            wanted = [name for name in names if name in worth]
            cut |= set(wanted[self._affordable(wanted, done) :])
        if len(done) > self.block:
            cut |= self._worth(done[:-1]) - set(done[-1].problems)
        return frozenset(names) - cut

    def _worth(self, done: Sequence[Turn]) -> set[str]:
        """The names of the problems that have a pass worth another process."""
        return {p.name for p, passes in self.problems if _left(p.name, passes, done)}

    def _affordable(self, names: Sequence[str], done: Sequence[Turn]) -> int:
        """How many problems fit into all blocks, by what they cost in the first; one at least."""
        first = done[: self.block]
        spent_s = sum(turn.spent_s for turn in first)
        of_names = [sum(_cost_s(turn, name) for turn in first) for name in names]
        block_s = sum(
            turn.spent_s - sum(p.spent_s for p in turn.problems.values()) for turn in first
        )
        rest = self.processes // self.block - 1
        most_s = self.budget_s * _ROOM
        for count, cost_s in enumerate(of_names):
            block_s += cost_s
            if count and spent_s + rest * block_s > most_s:
                return count
        return len(names)

    def _room(self, done: Sequence[Turn]) -> bool:
        """Whether one more block has to be, or is likely to end in time."""
        if len(done) < self.least_blocks * self.block:
            return True
        last_s = sum(turn.spent_s for turn in done[-self.block :])
        return sum(turn.spent_s for turn in done) + last_s <= self.budget_s


def _cost_s(turn: Turn, name: str) -> float:
    return turn.problems[name].spent_s if name in turn.problems else 0.0


def _left(name: str, passes: tuple[str, ...], done: Sequence[Turn]) -> tuple[str, ...]:
    """The passes of a problem that are worth another process."""
    seen = [turn.problems[name] for turn in done if name in turn.problems]
    if sum(each.broke for each in seen) >= MOST_BREAKS:
        return ()
    if len(done) < _SIDES:  # each side says once whether it takes it
        return passes
    first = [t.problems[name] for t in done[:_SIDES] if name in t.problems]
    return tuple(
        p
        for p in passes
        if not any(_refused(p, each) for each in first)
        and sum(_refused(p, each) for each in seen) < MOST_REFUSALS
    )


def _refused(pass_name: str, seen: ProblemSeen) -> bool:
    """Whether a pass was not timed, in no mode, in a process that nothing broke."""
    return not seen.broke and not _timed(pass_name, seen)


def _timed(pass_name: str, seen: ProblemSeen) -> bool:
    """Whether a pass was timed in any mode, unless it was not asked for."""
    own = [case.result.outcome == "passed" for case in seen.cases if case.pass_name == pass_name]
    return any(own) or not own


def take_turn(
    start: Callable[[], Runner],
    wanted: Wanted,
    modes: Sequence[str],
    rule: StoppingRule,
    warm_s: float,
    read: Reader,
    tick: Callable[[int, int], None],
) -> Turn:
    """Times all that is wanted in a process that is started for it.

    A case that breaks the process is kept as what it is; the problems behind it are timed in
    another one. If too many break theirs in a row, the others have nothing to say this time.

    Raises  what ``start`` raises.
    """
    started = time.monotonic()
    found: dict[str, ProblemSeen] = {}
    place = iter(wanted.problems)

    def work(runner: Runner, problem: Problem) -> ProblemSeen:
        began = time.monotonic()
        _, passes = next(place)
        case = time_case(runner, problem, passes, modes, rule, warm_s, read)
        timings = (*case.timings, *close_case(runner, memory=False))
        seen = tuple(_seen(timing) for timing in timings)
        return ProblemSeen(time.monotonic() - began, runner.broken, seen)

    numbered = [(i, named.problem) for i, (named, _) in enumerate(wanted.problems)]
    with closing(for_each_case(numbered, start, work, tick)) as sweep:
        try:
            for index, _, seen in sweep:
                found[wanted.problems[index][0].name] = seen
                if time.monotonic() - started > wanted.until_s:
                    break
        except Stopped:
            unheard = ProblemSeen(0.0, False, ())
            found = {named.name: found.get(named.name, unheard) for named, _ in wanted.problems}
    return Turn(time.monotonic() - started, found)


def _seen(timing: Timing) -> Seen:
    """What a timing comes to."""
    sieved = sieve(timing.chunks)
    kept, passed = sieved.kept, timing.result.outcome == "passed"
    middle = median(kept) if kept and passed else None
    return Seen(
        timing.pass_name,
        timing.mode,
        timing.result,
        middle if middle and middle > 0 else None,
        len(kept),
        sieved.left_out,
        tuple(sieved.reasons),
        _clock_hz(timing.readings),
        _step_s(kept),
    )


def _clock_hz(readings: Sequence[Reading]) -> float | None:
    """The median of the clocks that the card told while nothing held it down."""
    free = [r for r in readings if not slows(r.throttle_reasons or 0)]
    clocks = [r.sm_clock_hz for r in free if r.sm_clock_hz]
    return float(median(clocks)) if clocks else None


def _step_s(samples: Sequence[float]) -> float | None:
    if samples and min(samples) >= max(samples) * (1 - _ONE_READING):
        return None
    return timer_step(samples)
