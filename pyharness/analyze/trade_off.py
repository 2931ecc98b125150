"""Time beside repeatability: the fastest choice of a problem that repeats, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyharness.spec.problem import Problem
from pyharness.spec.repeatability import (
    BY_DESIGN,
    CONDITIONS,
    NOT_REPEATABLE,
    NOT_TRIED,
    REPEATABLE,
)

CHOICE = ("algo", "math_prec", "math_type")  # what leaves a problem the same one

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Repeating:
    """What a problem's runs showed, all conditions together.

    ``tried``    conditions under which all tensors were compared, or one differs.
    ``differs``  those of them under which one differs, without those that do by design.
    """

    tried: tuple[str, ...]
    differs: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """Repeatable under all that was tried, if anything was."""
        if self.differs:
            return NOT_REPEATABLE
        return REPEATABLE if self.tried else NOT_TRIED


@dataclass(frozen=True, slots=True)
class Interval:
    """A time or a ratio with its bounds at 95 %; None where few samples give none."""

    value: float
    low: float | None
    high: float | None

    def over(self, other: Interval) -> Interval:
        """The ratio; its bounds are met by those of both sides at once, and so wider than 95 %."""
        return Interval(
            self.value / other.value,
            None if self.low is None or other.high is None else self.low / other.high,
            None if self.high is None or other.low is None else self.high / other.low,
        )


@dataclass(slots=True)
class Choice:
    """One way to run a problem.

    ``problem``             with its choice.
    ``time``                of one execution; None and ``reason`` where there is none.
    ``fastest``             of all choices; ``fastest_repeatable`` of those that repeat.
    ``cost``                time over that of the fastest; None of that one.
    """

    problem: str
    repeating: Repeating
    time: Interval | None = None
    reason: str | None = None
    timing: Row = field(default_factory=dict)
    fastest: bool = False
    fastest_repeatable: bool = False
    cost: Interval | None = None


def repeating(rows: Iterable[Row]) -> dict[str, Repeating]:
    """The rows of the table ``repeatability``, by problem."""
    found: dict[str, dict[str, set[str]]] = {}
    for row in rows:
        verdicts = found.setdefault(row["problem"], {}).setdefault(row["condition"], set())
        if row["verdict"] != NOT_TRIED:
            verdicts.add(row["verdict"])
        elif row["outcome"] == "failed":
            verdicts.add(NOT_TRIED)
    return {problem: _together(verdicts) for problem, verdicts in found.items()}


def _together(verdicts: Mapping[str, set[str]]) -> Repeating:
    told = {c: v for c in CONDITIONS if (v := verdicts.get(c)) and c not in BY_DESIGN}
    differs = tuple(c for c, v in told.items() if NOT_REPEATABLE in v)
    tried = tuple(c for c, v in told.items() if NOT_TRIED not in v or c in differs)
    return Repeating(tried, differs)


def trade_offs(
    problems: Sequence[Problem], repeatability: Iterable[Row], timings: Iterable[Row]
) -> dict[str, list[Choice]]:
    """The choices of each problem, by its words without them; the fastest first.

    ``timings``  rows of the table ``timings``, one a problem.
    """
    shown = repeating(repeatability)
    timed = {row["problem"]: row for row in timings}
    groups: dict[str, list[Choice]] = {}
    for problem in problems:
        rest = Problem({n: v for n, v in problem.given.items() if n not in CHOICE}).command
        row = timed.get(problem.command, {})
        choice = Choice(problem.command, shown.get(problem.command, Repeating((), ())), timing=row)
        if row.get("median_s"):
            choice.time = Interval(row["median_s"], row["median_low_s"], row["median_high_s"])
        else:
            choice.reason = row.get("reason") or row.get("status") or "it was not timed"
        groups.setdefault(rest, []).append(choice)
    for choices in groups.values():
        _placed(choices)
    return groups


def _placed(choices: list[Choice]) -> None:
    """Sorts them, and says which are the fastest and what the others cost."""

    def place(choice: Choice) -> tuple[float, bool]:
        time = float("inf") if choice.time is None else choice.time.value
        return time, choice.repeating.verdict != REPEATABLE  # of two as fast the one that repeats

    choices.sort(key=place)
    first = choices[0]
    if first.time is None:
        return
    first.fastest = True
    for choice in choices[1:]:
        if choice.time is not None:
            choice.cost = choice.time.over(first.time)
    best = next((c for c in choices if c.time and c.repeating.verdict == REPEATABLE), None)
    if best is not None:
        best.fastest_repeatable = True
