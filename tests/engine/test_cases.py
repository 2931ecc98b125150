"""A sweep over problems, with runners that only count: who runs what, and when it stops."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import closing
from typing import Any

import pytest

from pyharness.engine import cases
from pyharness.engine.cases import Stopped, for_each_case
from pyharness.errors import HarnessError
from pyharness.spec.problem import Problem, parse_problem


class Counting:
    """A runner that breaks at the problems that it is told to."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.broken = False
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


class Sweep:
    """A sweep over ``count`` problems with runners that break at some of them."""

    def __init__(self, count: int, breaking: Callable[[int], bool] = lambda i: False) -> None:
        self.runners: list[Counting] = []
        self.ticks: list[tuple[int, int]] = []
        self._breaking = breaking
        self.problems = [(i + 100, parse_problem([f"hidden_size={i}"])) for i in range(count)]

    def start(self) -> Any:
        self.runners.append(Counting(len(self.runners)))
        return self.runners[-1]

    def work(self, runner: Any, problem: Problem) -> tuple[int, int]:
        assert not runner.closed
        index = problem.value("hidden_size")
        runner.broken = self._breaking(index)
        return runner.number, index

    def run(self) -> Generator[tuple[int, Problem, tuple[int, int]]]:
        return for_each_case(
            self.problems,
            self.start,
            self.work,
            lambda done, total: self.ticks.append((done, total)),
        )


def test_one_runner_for_all_that_go_well() -> None:
    sweep = Sweep(4)
    found = [(index, result) for index, _, result in sweep.run()]
    assert found == [(100, (0, 0)), (101, (0, 1)), (102, (0, 2)), (103, (0, 3))]
    assert sweep.ticks == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    assert [r.closed for r in sweep.runners] == [1]


def test_no_runner_where_there_is_no_case() -> None:
    sweep = Sweep(0)
    assert list(sweep.run()) == []
    assert sweep.runners == []


def test_a_new_runner_after_each_that_broke() -> None:
    sweep = Sweep(5, lambda i: i in (1, 2))
    assert [result for *_, result in sweep.run()] == [(0, 0), (0, 1), (1, 2), (2, 3), (2, 4)]
    assert [r.closed for r in sweep.runners] == [1, 1, 1]


def test_no_new_runner_after_the_last_case() -> None:
    sweep = Sweep(2, lambda i: i == 1)
    list(sweep.run())
    assert len(sweep.runners) == 1


def test_the_runner_ends_with_the_generator() -> None:
    sweep = Sweep(9)
    with closing(sweep.run()) as found:
        next(found)
        assert sweep.runners[0].closed == 0
    assert sweep.runners[0].closed == 1


def test_the_runner_ends_when_work_raises() -> None:
    sweep = Sweep(3)

    def interrupt(runner: Any, problem: Problem) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(for_each_case(sweep.problems, sweep.start, interrupt))
    assert [r.closed for r in sweep.runners] == [1]


def test_breaks_before_any_success_stop_soon() -> None:
    sweep = Sweep(100, lambda i: True)
    with pytest.raises(Stopped) as caught:
        list(sweep.run())
    assert len(sweep.ticks) - 1 == len(sweep.runners) == cases.MOST_BREAKS_AT_FIRST == 8
    assert caught.value.message == "8 cases in a row broke their worker: the rest is not tried"
    assert "hidden_size=7" in caught.value.hint


def test_breaks_after_a_success_may_be_more_in_a_row() -> None:
    sweep = Sweep(200, lambda i: i > 0)
    with pytest.raises(Stopped, match="50 cases in a row"):
        list(sweep.run())
    assert len(sweep.runners) == 1 + 49  # the first took the case that went well, too


def test_breaks_that_are_not_in_a_row_do_not_stop() -> None:
    sweep = Sweep(300, lambda i: i % 50 != 0)
    assert len(list(sweep.run())) == 300


def test_what_the_start_raises_ends_the_sweep() -> None:
    sweep = Sweep(3, lambda i: True)
    starts = iter([sweep.start])

    def start() -> Any:
        begin = next(starts, None)
        if begin is None:
            raise HarnessError("the device is gone")
        return begin()

    with pytest.raises(HarnessError, match="the device is gone"):
        list(for_each_case(sweep.problems, start, sweep.work))
    assert sweep.runners[0].closed == 1


def test_no_case_but_the_first_begins_after_the_deadline() -> None:
    problems = [(i, parse_problem([f"seed={i}"])) for i in range(3)]

    def done(deadline: float) -> list[int]:
        swept = for_each_case(problems, lambda: Counting(1), lambda *_: None, deadline=deadline)
        return [index for index, _, _ in swept]

    assert done(time.monotonic() - 1) == [0]
    assert done(time.monotonic() + 60) == [0, 1, 2]
