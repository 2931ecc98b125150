"""``pyharness determinism``: does a result repeat bit for bit, and under which conditions."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from pyharness.cli.options import (
    Axes,
    Cudnn,
    Device,
    Json,
    Logs,
    Out,
    Plots,
    ProblemSetName,
    Timeout,
    Words,
)

_GATES = ("not_repeatable", "failed")


def command(
    cudnn: Cudnn,
    problem: Words = None,
    preset: ProblemSetName = None,
    axis: Axes = None,
    log: Logs = None,
    runs: Annotated[
        int,
        typer.Option(
            "--runs",
            min=1,
            max=100_000,
            help="Runs under each condition, compared with one without it.",
        ),
    ] = 10,
    conditions: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time, on 3.10 too
        typer.Option(
            "--conditions",
            help="same_objects, fresh_handle, fresh_process, other_stream, load, alignment, "
            "poisoned, graph, cublas_workspace, dropout_reseeded, dropout_continued, "
            "padding_garbage, longer_padding, batch (default: all).",
            metavar="C1,C2,…",
        ),
    ] = None,
    trade_off: Annotated[
        bool,
        typer.Option(
            "--trade-off",
            help="Time the problems, too: which algo and math is the fastest that repeats, and "
            "what that costs.",
        ),
    ] = False,
    device: Device = None,
    out: Out = None,
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on",
            help="Exit with 3 if any of these occur: not_repeatable (without dropout_continued, "
            "which differs by design), failed (a run that crashed, hung or wrote outside of its "
            "buffers).",
            metavar="WHAT,…",
        ),
    ] = "",
    timeout: Timeout = 10.0,
    plots: Plots = False,
    json: Json = False,
) -> None:
    """Run problems again and again on a GPU, under each condition and without it, bit by bit.

    The same command goes on with what an interrupted one left in its folder.
    """
    from pyharness.analyze.repeatability import gated
    from pyharness.api.chosen_problems import chosen_problems
    from pyharness.api.driver import require_driver
    from pyharness.api.progress import fetching
    from pyharness.api.repeatability import TABLE, RepeatOptions, conditions_of, repeat_release
    from pyharness.api.trade_off import TRADE_OFFS, weigh_repeatability
    from pyharness.cli.gates import gates_of
    from pyharness.cli.plots import draw
    from pyharness.cli.progress import shown
    from pyharness.cli.screen import screen_width
    from pyharness.errors import EXIT_GATE, EXIT_INTERRUPTED
    from pyharness.present.determinism import determinism_data, render_determinism
    from pyharness.present.jsons import dumps
    from pyharness.releases.locate import resolve
    from pyharness.store.reading import read_rows

    gates = gates_of(fail_on, "result", _GATES)
    options = RepeatOptions(runs, conditions_of(conditions), device or 0, timeout)
    problems = chosen_problems(preset, axis or [], problem or [], log or [])
    require_driver()
    with shown("cases") as progress:
        release = resolve(cudnn, full=True, progress=fetching(cudnn, progress))
        run = repeat_release(release, problems, out, options, progress)
        parts = [run.manifest]
        if trade_off and run.manifest.state == "complete":
            parts.append(weigh_repeatability(release, problems, run, options, progress))
    rows = read_rows(run.folder, TABLE)
    times = read_rows(run.folder, TRADE_OFFS) if trade_off else []
    manifest = {"folder": str(run.folder), **run.manifest.as_data()}
    if run.old:
        typer.echo(f"{run.folder} is complete: nothing is run anew", err=True)
    if json:
        typer.echo(dumps(determinism_data(rows, manifest, times)))
    else:
        typer.echo(render_determinism(rows, manifest, times, screen_width()))
        typer.echo(f"\nTables in {run.folder}")
    draw(run.folder, plots)
    if parts[-1].state == "interrupted":
        typer.echo("interrupted: the same command goes on", err=True)
        raise typer.Exit(EXIT_INTERRUPTED)
    counts = {
        "not_repeatable": gated(rows),
        "failed": sum(part.results["statuses"].get("failed", 0) for part in parts),
    }
    if found := [f"{g} ({counts[g]:,})" for g in gates if counts[g]]:
        typer.echo(f"gate: {', '.join(found)}", err=True)
        raise typer.Exit(EXIT_GATE)
