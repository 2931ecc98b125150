"""``pyharness soak``: does memory leak or break up while plans come and go for a long time?"""

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

_MINUTES = 10.0  # where no limit is given


def command(
    cudnn: Cudnn,
    problem: Words = None,
    preset: ProblemSetName = None,
    axis: Axes = None,
    log: Logs = None,
    minutes: Annotated[
        Optional[float],  # noqa: UP045 - typer reads the annotation at run time, on 3.10 too
        typer.Option(
            "--minutes",
            min=0.001,
            max=100_000,
            help="End after so long (default: 10, or no such limit if --cycles is given).",
        ),
    ] = None,
    cycles: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option("--cycles", min=1, max=10**9, help="End after so many cycles."),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            "--seed", min=0, max=2**32 - 1, help="Of the order of the problems, and of their sizes."
        ),
    ] = 0,
    device: Device = None,
    out: Out = None,
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on",
            help="Exit with 3 if any of these occur: leak (of the device's memory or the host's), "
            "fragmentation, failed (a cycle that crashed, hung or found no memory any more).",
            metavar="WHAT,…",
        ),
    ] = "",
    timeout: Timeout = 10.0,
    plots: Plots = False,
    json: Json = False,
) -> None:
    """Make, run and give back plans of changing size in one process, and watch the memory.

    To find the largest free block it takes blocks of the device now and then: others on the same
    GPU may find no memory meanwhile.
    """
    from math import inf

    from pyharness.analyze.soak import occurring
    from pyharness.api.chosen_problems import chosen_problems
    from pyharness.api.driver import require_driver
    from pyharness.api.progress import fetching
    from pyharness.api.soaking import TABLE, SoakOptions, soak_release
    from pyharness.cli.gates import gates_of
    from pyharness.cli.plots import draw
    from pyharness.cli.progress import shown
    from pyharness.engine.soaking import Limits
    from pyharness.errors import EXIT_GATE, EXIT_INTERRUPTED, UsageError
    from pyharness.present.jsons import dumps
    from pyharness.present.soak import render_soak, soak_data
    from pyharness.releases.locate import resolve
    from pyharness.spec.soak import GATES
    from pyharness.store.reading import read_rows

    gates = gates_of(fail_on, "result", GATES)
    if minutes is not None and minutes != minutes:  # noqa: PLR0124 - nan alone differs from itself
        raise UsageError("--minutes: nan is no number of minutes", "for example --minutes 30")
    if minutes is None and cycles is None:
        minutes = _MINUTES
    limits = Limits(cycles or inf, inf if minutes is None else 60 * minutes)
    problems = chosen_problems(preset, axis or [], problem or [], log or [])
    require_driver()
    with shown("cycles" if cycles else "s") as progress:
        release = resolve(cudnn, full=True, progress=fetching(cudnn, progress))
        options = SoakOptions(limits, seed, device or 0, timeout)
        run = soak_release(release, problems, out, options, progress)
    rows = read_rows(run.folder, TABLE)
    data = {"folder": str(run.folder), **run.manifest.as_data()}
    if run.old:
        typer.echo(f"{run.folder} holds this soak already: nothing is run anew", err=True)
    if json:
        typer.echo(dumps(soak_data(rows, data)))
    else:
        typer.echo(render_soak(rows, data))
        typer.echo(f"\nTables in {run.folder}")
    draw(run.folder, plots)
    if run.manifest.state == "interrupted":
        typer.echo("interrupted: what was seen is kept", err=True)
        raise typer.Exit(EXIT_INTERRUPTED)
    if found := occurring(run.manifest.results, run.manifest.state, gates):
        typer.echo(f"gate: {', '.join(found)}", err=True)
        raise typer.Exit(EXIT_GATE)
