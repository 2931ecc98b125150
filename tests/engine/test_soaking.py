"""The loop of a soak on a runner that is made up: order, samples, limits, and how it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from pyharness.engine.runner import StageFailed
from pyharness.engine.soaking import EVERY_UNTIL, Limits, Sample, Work, soak
from pyharness.spec import messages as m
from pyharness.spec.problem import Problem, parse_problem
from pyharness.spec.stage_results import CaseResult, Outcome, StageResult

WORKS = [
    Work(str(n), parse_problem([f"hidden_size={n}"]), "backward_weights") for n in (1, 2, 3, 4)
]


def ended(outcome: Outcome, stage: str = "forward_training") -> StageResult:
    return StageResult(stage, "a call", None, None, outcome, "why", "emulated")


@dataclass
class FakeRunner:
    """Every cycle takes a second and passes, but for what ``fails`` says of it by number."""

    fails: dict[int, Outcome] = field(default_factory=dict)
    close_fails: int = 0  # the cycle whose plan cannot be given back
    memory_fails: int = 0  # the look that is not answered, from 1
    broken: bool = False
    asked: list[str] = field(default_factory=list)
    looks: list[bool] = field(default_factory=list)
    closed: list[bool] = field(default_factory=list)
    now_s: float = 0.0

    def stages(self, problem: Problem, until: str) -> CaseResult:
        assert until == "backward_weights"
        self.asked.append(problem.given["hidden_size"])
        self.now_s += 1
        outcome = self.fails.get(len(self.asked), "passed")
        self.broken = outcome == "failed"
        return CaseResult((ended("passed", "descriptor"), ended(outcome)))

    def close_plan(self, memory: bool = False) -> None:
        self.closed.append(memory)
        if len(self.asked) == self.close_fails:
            raise StageFailed(ended("unsupported", "close"))

    def memory(self, largest: bool = False) -> m.MemoryTold:
        self.looks.append(largest)
        if len(self.looks) == self.memory_fails:
            self.broken = True
            raise StageFailed(ended("failed", "memory"))
        return m.MemoryTold(100, 50, 0, 40 if largest else None, len(self.asked))


def seen(runner: Any, limits: Limits, works: list[Work] = WORKS, seed: int = 0) -> list[Sample]:
    return list(soak(runner, works, limits, seed, lambda: runner.now_s))


def test_problems_are_gone_through_in_rounds_of_another_order_each() -> None:
    runner = FakeRunner()
    samples = seen(runner, Limits(cycles=400))
    rounds = [tuple(runner.asked[i : i + 4]) for i in range(0, 400, 4)]
    assert {frozenset(r) for r in rounds} == {frozenset("1234")}
    assert len(set(rounds)) == 24  # every order occurs
    assert [s.cycle for s in samples] == list(range(401))
    assert [s.work for s in samples[1:]] == [int(n) - 1 for n in runner.asked]
    assert runner.closed == [True] * 400
    again, other = FakeRunner(), FakeRunner()
    seen(again, Limits(cycles=400))
    seen(other, Limits(cycles=400), seed=1)
    assert again.asked == runner.asked != other.asked


def test_the_first_sample_comes_before_the_first_cycle() -> None:
    first = seen(FakeRunner(), Limits(cycles=1))[0]
    assert (first.cycle, first.time_s, first.work) == (0, 0.0, None)
    assert first.memory == m.MemoryTold(100, 50, 0, 40, 0)


def test_later_cycles_are_looked_at_ever_more_seldom() -> None:
    samples = seen(FakeRunner(), Limits(cycles=20_000))
    by_thousand = Counter(s.cycle // EVERY_UNTIL for s in samples)
    assert by_thousand[0] == EVERY_UNTIL
    assert by_thousand[1] == EVERY_UNTIL
    assert 500 <= by_thousand[2] <= 505
    assert 100 <= by_thousand[10] <= 105
    assert samples[-1].cycle == 20_000
    assert len(samples) < 5000


def test_the_largest_block_is_looked_for_seldom() -> None:
    runner = FakeRunner()
    samples = seen(runner, Limits(cycles=2000))
    looked = [s.cycle for s in samples if s.memory and s.memory.largest_bytes is not None]
    powers = [2**n for n in range(11)]
    assert looked == sorted({0, *powers, *range(100, 2001, 100)})


def test_it_ends_by_the_time_or_by_the_count() -> None:
    assert seen(FakeRunner(), Limits(cycles=7))[-1].cycle == 7
    timed = seen(FakeRunner(), Limits(seconds=12.5))
    assert (timed[-1].cycle, timed[-1].time_s) == (13, 13.0)  # the cycle under way is finished
    assert timed[-1].memory is not None
    assert timed[-1].memory.largest_bytes == 40
    assert seen(FakeRunner(), Limits(cycles=9, seconds=3))[-1].cycle == 3


@pytest.mark.parametrize("outcome", ["unsupported", "out_of_memory"])
def test_what_never_passed_is_left_out(outcome: Outcome) -> None:
    runner = FakeRunner(fails={2: outcome})
    samples = seen(runner, Limits(cycles=40))
    gone = runner.asked[1]
    assert runner.asked.count(gone) == 1
    assert len(runner.asked) == 40
    (told,) = [s for s in samples if s.ended is not None]
    assert (told.cycle, told.last) == (2, False)
    assert told.ended == ended(outcome)
    assert told.memory is not None


def test_it_ends_where_nothing_is_left() -> None:
    runner = FakeRunner(fails=dict.fromkeys((1, 2, 3, 4), "unsupported"))
    samples = seen(runner, Limits(cycles=40))
    assert [s.cycle for s in samples] == [0, 1, 2, 3, 4]
    assert not any(s.last for s in samples)


def test_what_passed_and_finds_no_memory_ends_it_with_a_look() -> None:
    runner = FakeRunner(fails={30: "out_of_memory"})
    samples = seen(runner, Limits(cycles=400))
    assert len(runner.asked) == 30
    assert (samples[-1].cycle, samples[-1].last) == (30, True)
    assert samples[-1].memory is not None
    assert samples[-1].memory.largest_bytes == 40


def crashed() -> FakeRunner:
    return FakeRunner(fails={7: "failed"})


def not_closed() -> FakeRunner:
    return FakeRunner(close_fails=7)


def not_looked_at() -> FakeRunner:
    return FakeRunner(memory_fails=8)  # the first is before the first cycle


@pytest.mark.parametrize(
    ("made", "stage"),
    [(crashed, "forward_training"), (not_closed, "close"), (not_looked_at, "memory")],
)
def test_a_defect_ends_it_with_a_sample_that_says_where(
    made: Callable[[], FakeRunner], stage: str
) -> None:
    samples = seen(made(), Limits(cycles=400))
    assert len(samples) == 8
    last = samples[-1]
    assert (last.cycle, last.memory, last.last) == (7, None, True)
    assert last.ended == ended("failed", stage)


def test_memory_that_cannot_be_looked_at_at_all() -> None:
    (only,) = seen(FakeRunner(memory_fails=1), Limits(cycles=5))
    assert (only.cycle, only.last, only.ended) == (0, True, ended("failed", "memory"))


def test_samples_come_as_they_are_made() -> None:
    runner = FakeRunner()
    samples: Iterator[Sample] = soak(runner, WORKS, Limits(), 0, lambda: runner.now_s)  # type: ignore[arg-type]
    assert [next(samples).cycle for _ in range(5)] == [0, 1, 2, 3, 4]
    assert len(runner.asked) == 4
