"""Releases timed in turn as what the journal keeps, as cases to judge, and as rows of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from pyharness.analyze.time_change import BLOCK, Ratio, TimeChange, TimedCase, judge
from pyharness.api.bench_records import Side
from pyharness.api.stage_rows import problem_cells
from pyharness.engine.alternating import ProblemSeen, Seen, Turn
from pyharness.space.problems import NamedProblem
from pyharness.spec.stage_results import StageResult

# Of CUDA's events: cuEventElapsedTime tells milliseconds "with a resolution of around 0.5
# microseconds". It is used where all samples of all processes are one reading.
EVENT_STEP_S = 0.5e-6
NOT_COMPARED, NOT_TIMED = "not_compared", "not_timed"
_SIDES = {"a": "older", "b": "newer"}


@dataclass(frozen=True, slots=True)
class Case:
    """A pass of a problem in a mode, as all processes saw it.

    ``seen``  place of the process to what it said.
    """

    named: NamedProblem
    pass_name: str
    mode: str
    seen: Mapping[int, Seen]

    def of(self, side: str, order: Sequence[str]) -> list[Seen]:
        """What the processes of a side said."""
        return [each for place, each in self.seen.items() if order[place] == side]

    def ended(self, side: str, order: Sequence[str]) -> StageResult | None:
        """What became of it on a side: the first that is not passed; None if it was not tried."""
        results = [each.result for each in self.of(side, order)]
        return next((r for r in results if r.outcome != "passed"), results[0] if results else None)

    def timed(self, order: Sequence[str]) -> bool:
        """Whether it passed on both sides, in a process at least."""
        return all(
            any(each.result.outcome == "passed" for each in self.of(side, order)) for side in BLOCK
        )


def turn_data(turn: Turn) -> dict[str, Any]:
    """A process as plain data, floats in full."""
    return asdict(turn)


def turn_of(data: Mapping[str, Any]) -> Turn:
    """The process that turn_data was made of."""
    return Turn(
        data["spent_s"],
        {
            name: ProblemSeen(seen["spent_s"], seen["broke"], tuple(map(_seen, seen["cases"])))
            for name, seen in data["problems"].items()
        },
    )


def _seen(data: Mapping[str, Any]) -> Seen:
    result = StageResult(**data["result"])
    return Seen(**{**data, "result": result, "throttle_reasons": tuple(data["throttle_reasons"])})


def cases_of(
    wanted: Iterable[tuple[NamedProblem, Sequence[str]]],
    modes: Sequence[str],
    turns: Sequence[Turn],
) -> list[Case]:
    """All cases, in the order of problems, passes and modes."""
    cases = []
    for named, passes in wanted:
        seen = {i: t.problems[named.name] for i, t in enumerate(turns) if named.name in t.problems}
        for key in ((name, mode) for name in passes for mode in modes):
            own = {
                place: each
                for place, of_problem in seen.items()
                for each in of_problem.cases
                if (each.pass_name, each.mode) == key
            }
            cases.append(Case(named, *key, own))
    return cases


def judged(
    cases: Sequence[Case], order: Sequence[str], resolution_s: float, margin: float, level: float
) -> dict[int, TimeChange]:
    """The verdict on each case that both sides time, by its place among the cases.

    ``resolution_s``  step of the timer where the samples hide it.
    """
    places = [i for i, case in enumerate(cases) if case.timed(order)]
    timed = [_timed_case(cases[i], len(order), resolution_s) for i in places]
    return dict(zip(places, judge(timed, margin, level), strict=True))


def _timed_case(case: Case, processes: int, resolution_s: float) -> TimedCase:
    medians = [_at(case, place) for place in range(processes)]
    seen = [case.seen.get(place) for place in range(processes)]
    clocks = [None if each is None else each.clock_hz for each in seen]
    told = any(clock is not None for clock in clocks)
    return TimedCase(medians, clocks if told else (), step_of(case, resolution_s))


def _at(case: Case, place: int) -> float | None:
    return case.seen[place].median_s if place in case.seen else None


def step_of(case: Case, resolution_s: float) -> float:
    """The timer's step: the largest that any process shows.

    Where every process has one reading alone it is the resolution, but of enqueue: the host's clock
    is finer than all that it times.
    """
    steps = [each.step_s for each in case.seen.values() if each.median_s is not None]
    if all(step is None for step in steps):
        return 0.0 if case.mode == "enqueue" else resolution_s
    return max(step for step in steps if step is not None)


def change_row(
    sides: tuple[Side, Side],
    case: Case,
    change: TimeChange | None,
    order: Sequence[str],
    within: bool,
) -> dict[str, Any]:
    """A row of the table ``time_changes``, without what all of them share.

    ``change``  None where the case is not timed on both sides.
    ``within``  the budget had room for it in every block; of what a smaller one cut later on, the
                blocks before that are told if there are enough.
    """
    ended = {side: case.ended(side, order) for side in "ab"}
    told = [result for result in ended.values() if result is not None]
    row = {
        "release_a": sides[0].release,
        "release_b": sides[1].release,
        "device": sides[0].device,
        **_named(case),
        **problem_cells(case.named.problem),
        "provenance": told[0].provenance if told else None,
    }
    for side, result in ended.items():
        medians = [s.median_s for s in case.of(side, order) if s.median_s is not None]
        clocks = [s.clock_hz for s in case.of(side, order) if s.clock_hz is not None]
        row |= {
            f"median_{side}_s": median(medians) if medians else None,
            f"clock_{side}_hz": median(clocks) if clocks else None,
            f"processes_{side}": len(medians),
            f"outcome_{side}": None if result is None else result.outcome,
            f"status_{side}": None if result is None else result.status,
        }
    few = change is None or change.reason == "few"
    if not told or (few and not within):
        return {**row, "verdict": NOT_TIMED, "reason": "end" if within else "budget"}
    if change is None:
        if None in ended.values():
            return {**row, "verdict": NOT_TIMED, "reason": "end"}
        return {**row, "verdict": NOT_COMPARED, "reason": _said(ended)}
    return {**row, **_change_cells(change)}


def _change_cells(change: TimeChange) -> dict[str, Any]:
    return {
        "verdict": change.verdict,
        "reason": change.reason,
        "pairs": change.pairs,
        **_ratio_cells("", change.seconds),
        **_ratio_cells("cycles_", change.cycles),
        "p_change": None if change.seconds is None else change.seconds.p_change,
        "p_same": None if change.seconds is None else change.seconds.p_same,
        "q_change": change.q_change,
        "q_same": change.q_same,
        "visible": change.visible,
    }


def _ratio_cells(which: str, ratio: Ratio | None) -> dict[str, float]:
    if ratio is None:
        return {}
    return {
        f"{which}ratio": ratio.value,
        f"{which}ratio_low": ratio.low,
        f"{which}ratio_high": ratio.high,
    }


def _said(ended: Mapping[str, StageResult | None]) -> str:
    """What the sides say that do not time a case."""
    words = []
    for side, result in ended.items():
        if result is not None and result.outcome != "passed":
            parts = (result.outcome.replace("_", " "), result.call, result.status, result.reason)
            words.append(f"{_SIDES[side]} side {': '.join(p for p in parts if p)}")
    return "; ".join(words)


def reading_rows(
    sides: tuple[Side, Side], case: Case, order: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """The rows of the table ``time_readings``, a process each."""
    for place, seen in case.seen.items():
        side, result = order[place], seen.result
        yield {
            "release": sides["ab".index(side)].release,
            "side": side,
            "device": sides[0].device,
            **_named(case),
            "order": place,
            "median_s": seen.median_s,
            "samples": seen.samples,
            "throttled": seen.throttled,
            "throttle_reasons": ", ".join(seen.throttle_reasons) or None,
            "clock_hz": seen.clock_hz,
            "step_s": seen.step_s,
            "status": result.status,
            "status_code": result.status_code,
            "outcome": result.outcome,
            "call": result.call,
            "reason": result.reason,
            "provenance": result.provenance,
        }


def failures(turns: Sequence[Turn], commands: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """What failed in any process, as a manifest lists failures.

    ``commands``  the words of a problem by its name.
    """
    for place, turn in enumerate(turns):
        for name, seen in turn.problems.items():
            for case in seen.cases:
                if case.result.outcome == "failed":
                    words = (case.result.status, case.result.reason)
                    yield {
                        "stage": " ".join(filter(None, (case.pass_name, case.mode))),
                        "call": case.result.call,
                        "problem": commands[name],
                        "cause": ": ".join(w for w in words if w) or "no word",
                        "output": "",
                        "process": place,
                    }


def _named(case: Case) -> dict[str, Any]:
    return {
        "name": case.named.name,
        "group": case.named.group,
        "problem": case.named.problem.command,
        "pass": case.pass_name,
        "mode": case.mode,
    }
