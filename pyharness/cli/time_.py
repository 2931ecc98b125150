"""``pyharness time``: what got slower or faster from one release to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from pyharness.cli.options import (
    Axes,
    Device,
    Json,
    Logs,
    Out,
    Plots,
    ProblemSetName,
    Timeout,
    Words,
)

if TYPE_CHECKING:
    from pyharness.api.time_change import TimeOptions, TimeRun

_GATES = ("slower", "inconclusive", "failed")
_NONE = "there is no case that both sides time"


def command(
    old: Annotated[str, typer.Argument(help="The older release, as for `pyharness try`.")],
    new: Annotated[str, typer.Argument(help="The newer release.")],
    problem: Words = None,
    preset: ProblemSetName = None,
    axis: Axes = None,
    log: Logs = None,
    passes: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time, on 3.10 too
        typer.Option(
            "--passes",
            help="Passes to time: forward_inference, forward_training, backward_data, "
            "backward_weights, training_step (default: all but the last that the problems have).",
            metavar="P1,P2,…",
        ),
    ] = None,
    modes: Annotated[
        str,
        typer.Option(
            "--modes",
            help="hot, cold, graph or enqueue, as for `pyharness bench`.",
            metavar="M1,M2,…",
        ),
    ] = "hot",
    processes: Annotated[
        int,
        typer.Option(
            "--processes", max=1000, help="Fresh processes a side, an even number from 6 on."
        ),
    ] = 24,
    margin: Annotated[
        float,
        typer.Option("--margin", help="Share that a change must exceed to matter: 0.02 is 2 %."),
    ] = 0.02,
    level: Annotated[
        float, typer.Option("--level", help="Share of wrong findings that is allowed.")
    ] = 0.02,
    budget: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--budget",
            help="Time for all of it: 90s, 10m, 1h. The problems that do not fit are cut from the "
            "end, and told.",
            metavar="TIME",
        ),
    ] = None,
    device: Device = None,
    out: Out = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with the unfinished run in --out; what its --budget cut is timed anew if "
            "this one is larger by half.",
        ),
    ] = False,
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on",
            help="Exit with 3 if any of these occur: slower, inconclusive, failed (a pass that "
            "crashed, hung or wrote outside of its buffers, on either side).",
            metavar="WHAT,…",
        ),
    ] = "",
    timeout: Timeout = 10.0,
    plots: Plots = False,
    json: Json = False,
) -> None:
    """Time two releases in turn and say what got slower, what faster and what is the same.

    Each is timed in fresh processes that alternate as A B B A; a process is one reading. What is
    the same is tested to be within the margin; what is too noisy to say is inconclusive.
    """
    from pyharness.api.benching import new_folder
    from pyharness.api.chosen_problems import chosen_problems
    from pyharness.api.driver import require_driver
    from pyharness.api.progress import fetching
    from pyharness.api.time_change import DEFAULT_TIMES, compare_time
    from pyharness.cli.gates import gates_of, leave_by
    from pyharness.cli.plots import draw
    from pyharness.cli.progress import shown
    from pyharness.errors import EXIT_INTERRUPTED, UsageError
    from pyharness.present.jsons import dumps
    from pyharness.present.time_change import render_time, time_data
    from pyharness.releases.locate import resolve
    from pyharness.store.manifest import OUT_OF_TIME

    if resume and out is None:
        raise UsageError("--resume needs the folder to go on with", "give it by --out")
    gates = gates_of(fail_on, "result", _GATES)
    options = _options(passes, modes, processes, margin, level, budget, device or 0, timeout)
    problems = chosen_problems(preset, axis or [], problem or [], log or [])
    require_driver()
    with shown("cases") as progress:
        a, b = (resolve(r, full=True, progress=fetching(r, progress)) for r in (old, new))
        folder = out or new_folder(problems.name, DEFAULT_TIMES)
        run = compare_time((a, b), problems, folder, options, resume=resume, progress=progress)
    if run.old or run.manifest.state == OUT_OF_TIME:
        typer.echo(_why_ended(run), err=True)
    data = run.manifest.as_data()
    if json:
        typer.echo(dumps(time_data(run.rows, data, str(folder))))
    else:
        typer.echo(render_time(run.rows, data))
        typer.echo(f"\nTables in {folder}")
    draw(folder, plots)
    if run.manifest.state == "interrupted":
        typer.echo(f"interrupted: --out {folder} --resume goes on", err=True)
        raise typer.Exit(EXIT_INTERRUPTED)
    results = run.manifest.results
    verdicts = results["verdicts"]
    counts = {gate: verdicts.get(gate, 0) for gate in ("slower", "inconclusive")}
    judged = any(verdicts.get(v) for v in ("slower", "faster", "same", "inconclusive"))
    untold = {} if judged else dict.fromkeys(counts, _NONE)
    leave_by(gates, {**counts, "failed": results["failed"]}, untold)


def _why_ended(run: TimeRun) -> str:
    """That nothing is left to time, or with what budget there is."""
    from math import ceil

    from pyharness.api.time_folder import enough_s

    results = run.manifest.results
    if run.manifest.state == "complete":
        return f"{run.folder} is complete: nothing is timed anew"
    return (
        f"{run.folder} has what a budget of {results['budget_s']:g} s had room for: --resume with "
        f"a --budget of {ceil(enough_s(run.manifest))}s or more times all of it anew"
    )


def _options(
    passes: str | None,
    modes: str,
    processes: int,
    margin: float,
    level: float,
    budget: str | None,
    ordinal: int,
    timeout: float,
) -> TimeOptions:
    from math import inf

    from pyharness.api.public_values import chosen
    from pyharness.api.time_change import TimeOptions
    from pyharness.api.upgrade_budget import parse_budget
    from pyharness.spec.stages import PASSES
    from pyharness.spec.timed import TIMED_PASSES, TIMING_MODES

    return TimeOptions(
        processes=processes,
        margin=margin,
        level=level,
        budget_s=inf if budget is None else parse_budget(budget),
        passes=PASSES if passes is None else chosen("pass", passes, TIMED_PASSES),
        modes=chosen("mode", modes, TIMING_MODES),
        ordinal=ordinal,
        timeout_s=timeout,
    )
