"""One process for a long time: plans made, run and given back, and the memory that is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from pyharness.engine.runner import Runner, StageFailed
from pyharness.spec import messages as m
from pyharness.spec.problem import Problem
from pyharness.spec.stage_results import StageResult

EVERY_UNTIL = 1000  # each of so many cycles is looked at, of ten times as many each tenth …
_LOOKS = 20  # for the largest block, over a whole run, beside those at cycle 1, 2, 4, 8 …


@dataclass(frozen=True, slots=True)
class Work:
    """What a cycle may be made of: a problem, and the last pass that is run of it."""

    name: str
    problem: Problem
    last_pass: str


@dataclass(frozen=True, slots=True)
class Limits:
    """When a soak ends: after so many cycles, or with the cycle under way after so long."""

    cycles: float = inf
    seconds: float = inf

    def share(self, cycle: int, time_s: float) -> float:
        """How much of it is done, 1 at the end."""
        return max(cycle / self.cycles, time_s / self.seconds)


@dataclass(frozen=True, slots=True)
class Sample:
    """What was seen behind a cycle.

    ``cycle``   how many are done, this one included; 0 before the first.
    ``work``    its place among what cycles are made of; None before the first.
    ``memory``  None if it could not be asked any more.
    ``ended``   the stage that did not pass; None if all did.
    ``last``    the soak cannot go on: the stage failed, or what had passed found no memory.
    """

    cycle: int
    time_s: float
    work: int | None
    memory: m.MemoryTold | None
    ended: StageResult | None = None
    last: bool = False


def soak(
    runner: Runner,
    works: Sequence[Work],
    limits: Limits,
    seed: int = 0,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Sample]:
    """Cycles until a limit is reached; one makes a plan, runs it, and gives all of it back.

    They are gone through round by round, each in an order drawn from the seed. What is refused, or
    finds no memory the first time, is left out from then on; the soak ends where nothing is left.

    Returns  the samples as they come, ever more seldom; the first before the first cycle, and one
             for each cycle that did not pass.
    """
    started, cycle, looks = clock(), 0, 0
    order = _order(len(works), seed)
    left_out: set[int] = set()
    passed: set[int] = set()
    try:
        yield Sample(0, 0.0, None, runner.memory(largest=True))
    except StageFailed as error:
        yield Sample(0, 0.0, None, None, error.result, last=True)
        return
    while len(left_out) < len(works) and limits.share(cycle, clock() - started) < 1:
        work = next(order)
        if work in left_out:
            continue
        ended = _cycle(runner, works[work])
        cycle += 1
        time_s = clock() - started
        last = _is_last(runner, ended, work in passed)
        share = limits.share(cycle, time_s)
        largest = share >= (looks + 1) / _LOOKS or last or cycle.bit_count() == 1
        memory: m.MemoryTold | None = None
        if not runner.broken and (largest or ended is not None or cycle % _every(cycle) == 0):
            looks = max(looks, int(share * _LOOKS))
            try:
                memory = runner.memory(largest)
            except StageFailed as error:
                ended, last = error.result, True
        if ended is None:
            passed.add(work)
        elif not last:
            left_out.add(work)
        if memory is not None or ended is not None:
            yield Sample(cycle, time_s, work, memory, ended, last)
        if last:
            return


def _order(count: int, seed: int) -> Iterator[int]:
    """Round after round all numbers below a count, each round in another order."""
    drawn = np.random.default_rng(seed)
    while True:
        yield from (int(i) for i in drawn.permutation(count))


def _every(cycle: int) -> int:
    """Of so many cycles one is looked at."""
    return max(1, cycle // EVERY_UNTIL)


def _cycle(runner: Runner, work: Work) -> StageResult | None:
    """A plan made, run and given back; the stage that did not pass."""
    case = runner.stages(work.problem, work.last_pass)
    if not runner.broken:
        try:
            runner.close_plan(memory=True)
        except StageFailed as error:
            runner.broken = True
            return replace(error.result, outcome="failed")
    return None if case.complete else case.failure or case.stopped or case.stages[0]


def _is_last(runner: Runner, ended: StageResult | None, had_passed: bool) -> bool:
    return ended is not None and (runner.broken or ended.outcome == "failed" or had_passed)
