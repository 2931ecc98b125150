"""Time beside repeatability: the fastest choice of a problem that repeats, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyharness.analyze.repeatability import is_untold
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
    ``open``     conditions of which a part was tried and the rest was not, whatever the reason.
    """

    tried: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()
    open: tuple[str, ...] = ()

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

    ``name``                of the problem with its choice.
    ``untried``             conditions that another choice was tried under and this one was not, and
                            those that are open: it is not known to repeat as the others do.
    ``time``                of one execution; None and ``reason`` where there is none.
    ``fastest``             of all choices; ``fastest_repeatable`` of those that repeat.
    ``cost``                time over that of the fastest; None of that one.
    """

    name: str
    repeating: Repeating
    untried: tuple[str, ...] = ()
    time: Interval | None = None
    reason: str | None = None
    timing: Row = field(default_factory=dict)
    fastest: bool = False
    fastest_repeatable: bool = False
    cost: Interval | None = None

    @property
    def repeats(self) -> bool:
        """Whether it is repeatable wherever that was asked of any choice."""
        return self.repeating.verdict == REPEATABLE and not self.untried


def repeating(rows: Iterable[Row]) -> dict[str, Repeating]:
    """The rows of the table ``repeatability``, by the name of the problem."""
    found: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        found.setdefault(row["name"], {}).setdefault(row["condition"], []).append(row)
    return {name: _together(of_condition) for name, of_condition in found.items()}


def _together(rows: Mapping[str, Sequence[Row]]) -> Repeating:
    differs, tried, left_open = [], [], []
    for condition in (c for c in CONDITIONS if c in rows and c not in BY_DESIGN):
        untold = [r for r in rows[condition] if is_untold(r)]
        if any(r["verdict"] == NOT_REPEATABLE for r in rows[condition]):
            differs.append(condition)
            tried.append(condition)
        elif not untold:
            tried.append(condition)
        elif len(untold) < len(rows[condition]) or any(
            r["buffer"] or r["outcome"] == "failed" for r in untold
        ):
            left_open.append(condition)
    return Repeating(tuple(tried), tuple(differs), tuple(left_open))


def trade_offs(
    problems: Sequence[tuple[str, Problem, str | None]],
    repeatability: Iterable[Row],
    timings: Iterable[Row],
) -> dict[tuple[str, str | None], list[Choice]]:
    """The choices of each problem, by its words without them and what is timed; the fastest first.

    ``problems``  each with its name, and what is timed of it.
    ``timings``   rows of the table ``timings``, one a problem.
    """
    shown = repeating(repeatability)
    timed = {row["name"]: row for row in timings}
    groups: dict[tuple[str, str | None], list[Choice]] = {}
    for name, problem, what in problems:
        rest = Problem({n: v for n, v in problem.given.items() if n not in CHOICE}).command
        row = timed.get(name, {})
        choice = Choice(name, shown.get(name, Repeating()), timing=row)
        if row.get("median_s"):
            choice.time = Interval(row["median_s"], row["median_low_s"], row["median_high_s"])
        else:
            choice.reason = row.get("reason") or row.get("status") or "it was not timed"
        groups.setdefault((rest, what), []).append(choice)
    for choices in groups.values():
        _placed(choices)
    return groups


def _placed(choices: list[Choice]) -> None:
    """Sorts them, and says which are the fastest and what the others cost."""
    asked = {condition for choice in choices for condition in choice.repeating.tried}
    for choice in choices:
        shown = choice.repeating
        untried = (asked - set(shown.tried)) | set(shown.open)
        choice.untried = tuple(c for c in CONDITIONS if c in untried)

    def place(choice: Choice) -> tuple[float, bool]:
        time = float("inf") if choice.time is None else choice.time.value
        return time, not choice.repeats  # of two as fast the one that repeats

    choices.sort(key=place)
    first = choices[0]
    if first.time is None:
        return
    first.fastest = True
    for choice in choices[1:]:
        if choice.time is not None:
            choice.cost = choice.time.over(first.time)
    best = next((c for c in choices if c.time and c.repeats), None)
    if best is not None:
        best.fastest_repeatable = True
