"""What a repeatable result costs: choices of a problem timed one after the other, as a table."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any

from pyharness.analyze.trade_off import Choice, trade_offs
from pyharness.api.bench_sides import BenchOptions, ReleaseTimer
from pyharness.api.benching import bench
from pyharness.api.progress import Progress, silent
from pyharness.api.repeatability import TABLE, RepeatOptions, RepeatRun, repeated_passes
from pyharness.api.stage_rows import problem_cells
from pyharness.releases.model import Release
from pyharness.space.problems import ProblemSet
from pyharness.spec.timed import TRAINING_STEP
from pyharness.store.manifest import Manifest
from pyharness.store.reading import read_rows
from pyharness.store.schema import write_rows

TRADE_OFFS = "trade_offs"
_FOLDER = "timing"
_PASSES, _MODE = ("forward_inference", TRAINING_STEP), "hot"


def weigh_repeatability(
    release: Release,
    problems: ProblemSet,
    run: RepeatRun,
    options: RepeatOptions,
    progress: Progress = silent,
) -> Manifest:
    """Times the problems of a run of repeat_release, and writes a table beside its own.

    What an interrupted call left is gone on with.

    ``options``  those of the run.
    Returns      the manifest of the timing, which lies in a folder of its own; its state is
                 ``interrupted`` after a Ctrl-C.
    Raises       what api.benching.bench raises.
    """
    named = tuple(replace(p, passes=repeated_passes(p)) for p in problems.problems)
    how = BenchOptions(_PASSES, (_MODE,), ordinal=options.ordinal, timeout_s=options.timeout_s)
    with closing(ReleaseTimer(release, how)) as timer:
        timed = replace(problems, problems=named)
        (side,) = bench([timer], timed, run.folder / _FOLDER, how, resume=True, progress=progress)
    timings = [r for r in read_rows(side.folder, "timings") if r["mode"] == _MODE]
    asked = [(p.name, p.problem, next(iter(how.passes_of(p)), None)) for p in named]
    found = trade_offs(asked, read_rows(run.folder, TABLE), timings)
    problem_of = {p.name: p.problem for p in named}
    shared = {
        "release": run.manifest.release["name"],
        "device": run.manifest.device["name"],
        "provenance": "emulated" if run.manifest.device["emulated"] else "observed",
    }
    rows = [
        {
            **shared,
            "problem": problem_of[choice.name].command,
            "without_choice": rest,
            **problem_cells(problem_of[choice.name]),
            "pass": what,
            **_row(choice),
        }
        for (rest, what), choices in found.items()
        for choice in choices
    ]
    write_rows(run.folder / f"{TRADE_OFFS}.parquet", TRADE_OFFS, rows)
    return side.manifest


def _row(choice: Choice) -> dict[str, Any]:
    time, cost = choice.time, choice.cost
    return {
        "name": choice.name,
        "n": choice.timing.get("n"),
        "median_s": time and time.value,
        "median_low_s": time and time.low,
        "median_high_s": time and time.high,
        "verdict": choice.repeating.verdict,
        "tried": ", ".join(choice.repeating.tried) or None,
        "differs": ", ".join(choice.repeating.differs) or None,
        "untried": ", ".join(choice.untried) or None,
        "fastest": _yes(choice.fastest),
        "fastest_repeatable": _yes(choice.fastest_repeatable),
        "cost": cost and cost.value,
        "cost_low": cost and cost.low,
        "cost_high": cost and cost.high,
        "reason": choice.reason,
    }


def _yes(found: bool) -> str:
    return "yes" if found else "no"
