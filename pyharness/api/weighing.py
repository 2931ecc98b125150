"""Weigh problems: what they ask for on a device, or by formula, what fits, and what to change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyharness.analyze.memory import (
    GROWING,
    Change,
    FitResult,
    Memory,
    Weighed,
    growth,
    last_modes,
)
from pyharness.analyze.memory_advice import PART_AXES, Option, options, with_size
from pyharness.analyze.memory_fit import largest_fit
from pyharness.api.progress import Progress, silent
from pyharness.api.scales import Scales, Wanted
from pyharness.errors import UsageError
from pyharness.spec.axes import INT_MAX
from pyharness.spec.batches import LONGEST
from pyharness.spec.footprint import MODES, ForwardMode, at_least, predicted_total
from pyharness.spec.problem import Problem
from pyharness.spec.seq_lengths import literal_lengths

# The largest value of an axis that any release takes, or that can be tried.
_MOST = {"batch_size": 1 << 20, "max_seq_length": LONGEST}
_BUDGET = 2_000  # values that may be asked between a first answer and what cannot fit


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is wanted beside the sizes.

    ``limit``   bytes that are there; None: the device's own, where advice needs to know.
    ``vary``    the axis whose largest value that fits is wanted.
    ``advice``  whether to say what can be changed.
    """

    limit: int | None = None
    vary: str | None = None
    advice: bool = False

    def check(self, problems: Sequence[Problem]) -> None:
        """Sees that they can be met.

        Raises  UsageError if not.
        """
        if self.vary is None:
            return
        if self.vary not in GROWING:
            raise UsageError(
                f"--vary {self.vary} is no axis that memory grows with",
                f"allowed: {', '.join(GROWING)}",
            )
        values: dict[frozenset[tuple[str, str]], set[int]] = {}
        for problem in problems:
            others = frozenset(item for item in problem.given.items() if item[0] != self.vary)
            values.setdefault(others, set()).add(problem.value(self.vary))
        if any(len(several) > 1 for several in values.values()):
            raise UsageError(
                f"--vary {self.vary} looks for its largest value, and --axis gives it several",
                f"give one {self.vary}, or vary another axis",
            )


def weigh(
    wanted: Sequence[Wanted], scales: Scales, wishes: Wishes, progress: Progress = silent
) -> Memory:
    """What each problem asks for in each mode, what grows with what, and what is wished.

    What fits and advice are about the last of a problem's modes.
    """
    rows = scales.rows(wanted, progress)
    probes: list[Weighed] = []
    if len(wanted) == 1:
        made = [p for axis in GROWING for p in _probes(wanted[0].problem, axis)]
        probes = scales.rows([Wanted(p, wanted[0].modes) for p in made], progress)
    release = None if scales.release is None else scales.release.name
    found = Memory(release, scales.facts, rows, growth([*rows, *probes]), scales.without)
    chosen = last_modes(rows)
    if wishes.limit is not None and wishes.vary is not None:
        for row in chosen:
            progress("looking for what fits", row.order, len(wanted))
            found.fits.append(_fit(row, wishes.vary, wishes.limit, scales))
    if wishes.advice:
        found.advice = _advice(chosen, wishes.limit, scales, progress)
    return found


def _probes(problem: Problem, axis: str) -> list[Problem]:
    """The problem with two and four times the value of an axis; at its end a half and a quarter.

    None where the value cannot be changed alone.
    """
    value = problem.value(axis)
    sizes = (2 * value, 4 * value)
    if sizes[-1] > _MOST.get(axis, INT_MAX):
        sizes = (value // 2, value // 4)
    changes = [with_size(problem, axis, size) for size in sizes if size > 0]
    return [Problem({**problem.given, **c}) for c in changes if set(c) == {axis}]


def _fit(row: Weighed, axis: str, limit: int, scales: Scales) -> FitResult:
    """The largest value of an axis with which a problem fits."""
    most = _MOST.get(axis, INT_MAX)
    lengths = literal_lengths(row.problem.value("seq_lengths"))
    if lengths is not None and axis == "batch_size":
        most = len(lengths)  # nobody said how long others would be
    last: dict[int, Weighed] = {}

    def of(value: int) -> Problem:
        return Problem({**row.problem.given, **with_size(row.problem, axis, value)})

    def ask(values: Sequence[int]) -> list[int | None]:
        asked = scales.rows([Wanted(of(v), (row.mode,)) for v in values])
        last.update(zip(values, asked, strict=True))
        return [r.total for r in asked]

    # The formula grows with every axis: it is its own floor.
    least_of = predicted_total if scales.facts is None else at_least
    found = largest_fit(ask, lambda v: _floor(least_of, of(v), row.mode), limit, 1, most, _BUDGET)
    told = last[found.value or 1]
    return FitResult(row.order, row.problem, axis, row.mode, limit, found, told)


def _floor(
    least_of: Callable[[Problem, ForwardMode], int], problem: Problem, mode: ForwardMode
) -> int:
    """The bytes that a problem needs at least; 0 where it is none, which asking will tell."""
    try:
        return least_of(problem, mode)
    except UsageError:
        return 0


def _advice(
    rows: Sequence[Weighed], limit: int | None, scales: Scales, progress: Progress
) -> dict[int, list[Change]]:
    """What saves memory and is accepted, what keeps most of the results first, by order."""
    made: list[tuple[Weighed, Option]] = []
    for row in rows:
        progress("looking for what to change", row.order, len(rows))
        if row.total is not None:
            parts = _parts(row, _limit_of(row, limit), scales)
            made += [(row, option) for option in options(row.problem, row.mode, parts)]
    found: dict[int, list[tuple[int, Change]]] = {row.order: [] for row in rows}
    for mode in MODES:
        tried = [(row, option) for row, option in made if option.mode == mode]
        asked = scales.rows([Wanted(o.of(r.problem), (mode,)) for r, o in tried], progress)
        for (row, option), now in zip(tried, asked, strict=True):
            if (change := _change(row, option, now, _limit_of(row, limit))) is not None:
                found[row.order].append((option.level, change))
    return {
        order: [c for _, c in sorted(changes, key=lambda pair: (pair[0], -pair[1].saved))]
        for order, changes in found.items()
    }


def _limit_of(row: Weighed, limit: int | None) -> int | None:
    """The bytes that are there: those given, or the device's."""
    return row.free_bytes if limit is None else limit


def _parts(row: Weighed, limit: int | None, scales: Scales) -> dict[str, int]:
    """The sizes of the largest parts that fit, of a problem that does not."""
    if limit is None or row.total is None or row.total <= limit:
        return {}
    found = {axis: _fit(row, axis, limit, scales).found.value for axis in PART_AXES}
    return {axis: value for axis, value in found.items() if value is not None}


def _change(row: Weighed, option: Option, now: Weighed, limit: int | None) -> Change | None:
    """What an option saves; None where it is refused or saves nothing."""
    if row.total is None or now.total is None or now.total >= row.total:
        return None
    return Change(
        dict(option.changes),
        option.mode,
        option.words,
        option.cost,
        row.total - now.total,
        now.total,
        None if limit is None else now.total <= limit,
    )
