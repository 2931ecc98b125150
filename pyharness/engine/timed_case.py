"""A problem timed on a device: its stages, then every pass in every mode that is wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pyharness.engine.runner import Runner, StageFailed
from pyharness.engine.timing import Reader, Timing, time_pass, warm_up
from pyharness.measure.stopping import StoppingRule
from pyharness.spec.messages import Peak
from pyharness.spec.problem import Problem
from pyharness.spec.stage_results import CaseResult, StageResult
from pyharness.spec.stages import CALLS
from pyharness.spec.timed import NOT_CAPTURABLE, stages_of

_BROKE = "the pass before it ended the worker"


@dataclass(frozen=True, slots=True)
class TimedCase:
    """What a problem came to.

    ``stages``   as far as they went; None of a peer.
    ``timings``  one a pass and mode.
    ``peak``     what the card reaches with the problem's types; None where nobody asked.
    ``algo``     that a peer chose, by pass; empty of cuDNN called directly: the problem says it.
    ``notes``    what a peer does otherwise than the problem says.
    """

    stages: CaseResult | None
    timings: tuple[Timing, ...]
    peak: Peak | None = None
    algo: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


def time_case(
    runner: Runner,
    problem: Problem,
    passes: Sequence[str],
    modes: Sequence[str],
    rule: StoppingRule,
    warm_s: float,
    read: Reader,
) -> TimedCase:
    """Takes a problem through the stages, then times it.

    A pass whose stage did not pass is not timed: its rows say why. What breaks the runner ends the
    case, and what it left out says so.

    ``warm_s``  host seconds that each pass runs in each mode before its samples count.
    """
    case = runner.stages(problem)
    timings: list[Timing] = []
    for pass_name in passes:
        hindrance = _hindrance(case, pass_name)
        for mode in modes:
            if runner.broken and hindrance is None:
                timings.append(_skipped(case, pass_name, mode, _BROKE))
            elif hindrance is not None:
                timings.append(Timing(pass_name, mode, hindrance))
            else:
                timings.append(_timed(runner, case, pass_name, mode, rule, warm_s, read))
    return TimedCase(case, tuple(timings))


def _hindrance(case: CaseResult, pass_name: str) -> StageResult | None:
    """The stage that keeps a pass from being timed; None if all that it needs passed."""
    for stage in stages_of(pass_name):
        result = case.stage(stage)
        if result is None or result.outcome != "passed":
            return result or _skipped(case, pass_name, "", "the case did not go so far").result
    return None


def _timed(
    runner: Runner,
    case: CaseResult,
    pass_name: str,
    mode: str,
    rule: StoppingRule,
    warm_s: float,
    read: Reader,
) -> Timing:
    passed = next(_results(case, pass_name))
    timing = Timing(pass_name, mode, replace(passed, stage=pass_name))
    try:
        if mode == "graph":
            captured = runner.capture(pass_name)
            if captured.outcome != "passed":
                timing.result = replace(captured, status=NOT_CAPTURABLE)
                return timing
        each_s = warm_up(runner, pass_name, mode, warm_s)
        time_pass(runner, timing, rule, each_s, read)
    except StageFailed as error:
        timing.result = error.result
    return timing


def _results(case: CaseResult, pass_name: str) -> Iterator[StageResult]:
    return (r for r in case.stages if r.stage in stages_of(pass_name)[-1:])


def _skipped(case: CaseResult, pass_name: str, mode: str, why: str) -> Timing:
    call = CALLS[stages_of(pass_name)[-1]]
    provenance = case.stages[0].provenance
    result = StageResult(pass_name, call, None, None, "skipped", why, provenance)
    return Timing(pass_name, mode, result)
