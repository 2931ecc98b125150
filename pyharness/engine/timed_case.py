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
from pyharness.spec.stages import CALLS, blocked_by
from pyharness.spec.timed import CLOSE, NOT_CAPTURABLE, stages_of


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
    case, and the rows of what was left out name it.

    ``warm_s``  host seconds that each pass runs in each mode before its samples count.
    """
    case = runner.stages(problem)
    wanted = [(pass_name, mode) for pass_name in passes for mode in modes]
    timings: list[Timing] = []
    # Graphs last: a capture that fails may leave an error behind that later calls would show.
    for pass_name, mode in sorted(wanted, key=lambda w: w[1] == "graph"):
        hindrance = _hindrance(case, pass_name, passes)
        if runner.broken and hindrance is None:
            timings.append(_skipped(case, pass_name, mode, _failed_before(case, timings)))
        elif hindrance is not None:
            timings.append(Timing(pass_name, mode, hindrance))
        else:
            timings.append(_timed(runner, case, pass_name, mode, rule, warm_s, read))
    timings.sort(key=lambda t: wanted.index((t.pass_name, t.mode)))
    return TimedCase(case, tuple(timings))


def close_case(runner: Runner, memory: bool) -> tuple[Timing, ...]:
    """Closes the plan that a case left open, if its runner is whole.

    ``memory``  the device's memory is given back, too.
    Returns     nothing, or a row that says what failed: then the runner is broken.
    """
    if runner.broken:
        return ()
    try:
        runner.close_plan(memory)
    except StageFailed as error:
        runner.broken = True
        return (Timing(CLOSE, "", replace(error.result, outcome="failed")),)
    return ()


def _failed_before(case: CaseResult, timings: Sequence[Timing]) -> str:
    """What ended the runner, as the reason of what was not done for it."""
    if case.failure is not None:
        return f"the stage {case.failure.stage} failed"
    failed = next(t for t in timings if t.result.outcome == "failed")
    return f"{failed.pass_name} {failed.mode} failed"


def _hindrance(case: CaseResult, pass_name: str, passes: Sequence[str]) -> StageResult | None:
    """What keeps a pass from being timed; None if all that it needs passed.

    Of a stage that was not tried it is the one before it that ended the case, unless that is one of
    the ``passes`` and has rows of its own.
    """
    ended = {s.stage: s for s in case.stages if s.outcome not in ("passed", "skipped")}
    for stage in stages_of(pass_name):
        result = case.stage(stage)
        assert result is not None, "the case was to go all the way"
        if result.outcome == "passed":
            continue
        if result.outcome == "skipped" and ended:
            cause = blocked_by(stage, ended) or list(ended)[-1]
            return result if cause in passes else ended[cause]
        return result
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
