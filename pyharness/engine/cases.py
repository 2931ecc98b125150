"""A sweep over problems on a device: one runner, and a new one where it broke."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from math import inf
from typing import Protocol, TypeVar

from pyharness.errors import HarnessError
from pyharness.spec.problem import Problem

# So many runners that break one after the other, before any case and after some went well.
MOST_BREAKS_AT_FIRST = 8
MOST_BREAKS_IN_A_ROW = 50

_T = TypeVar("_T")


class Breakable(Protocol):
    """What works on cases until one breaks it: a runner, or several."""

    @property
    def broken(self) -> bool:
        """Whether it is no more use."""

    def close(self) -> None:
        """Ends it."""


_R = TypeVar("_R", bound=Breakable)


def _untold(done: int, total: int) -> None:
    """Tells nobody."""
    del done, total


class Stopped(HarnessError):
    """Too many runners broke one after the other: the sweep stops."""


def for_each_case(
    problems: Sequence[tuple[int, Problem]],
    start: Callable[[], _R],
    work: Callable[[_R, Problem], _T],
    tick: Callable[[int, int], None] = _untold,
    deadline: float = inf,
) -> Generator[tuple[int, Problem, _T]]:
    """What ``work`` makes of each problem, in order.

    A case that broke its runner is a result like any other; the next case gets a new runner. The
    runner ends with the generator: close it where it is not used up.

    ``problems``  each with its number.
    ``start``     a new runner.
    ``tick``      called with the cases done and in all.
    ``deadline``  by time.monotonic(): no case but the first begins after it, the rest is left out.
    Returns       number, problem and result, as they come.
    Raises        Stopped if too many runners broke one after the other; what ``start`` raises.
    """
    runner: _R | None = None
    row, well = 0, False
    try:
        tick(0, len(problems))
        for done, (index, problem) in enumerate(problems, 1):
            if done > 1 and time.monotonic() >= deadline:
                return
            if runner is None:
                runner = start()
            yield index, problem, work(runner, problem)
            tick(done, len(problems))
            broken = runner.broken
            if broken:
                runner.close()
                runner = None
            row, well = (row + 1, well) if broken else (0, True)
            most = MOST_BREAKS_IN_A_ROW if well else MOST_BREAKS_AT_FIRST
            if row >= most and done < len(problems):
                raise Stopped(
                    f"{row} cases in a row broke their worker: the rest is not tried",
                    f"the last was {problem.command or '(every axis at its default)'}\n"
                    "what was found is kept; the same command goes on behind it",
                )
    finally:
        if runner is not None:
            runner.close()
