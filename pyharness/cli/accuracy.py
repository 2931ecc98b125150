"""``pyharness accuracy``: how far each tensor is from float64, and whether rounding explains it."""

from __future__ import annotations

from typing import Annotated

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

_GATES = ("beyond", "failed")


def command(
    cudnn: Cudnn,
    problem: Words = None,
    preset: ProblemSetName = None,
    axis: Axes = None,
    log: Logs = None,
    device: Device = None,
    out: Out = None,
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on",
            help="Exit with 3 if any of these occur: beyond (a tensor that rounding does not "
            "explain), failed (a pass that crashed, hung or wrote outside of its buffers).",
            metavar="WHAT,…",
        ),
    ] = "",
    timeout: Timeout = 10.0,
    plots: Plots = False,
    json: Json = False,
) -> None:
    """Run problems on a GPU and compare every tensor with the same network in float64.

    The inputs and weights are read back, so that the truth is made of exactly these numbers.
    """
    from pyharness.api.accuracy import measure_release
    from pyharness.api.chosen_problems import chosen_problems
    from pyharness.api.driver import require_driver
    from pyharness.api.progress import fetching
    from pyharness.cli.gates import gates_of, leave_by
    from pyharness.cli.plots import draw
    from pyharness.cli.progress import shown
    from pyharness.errors import EXIT_INTERRUPTED
    from pyharness.present.accuracy import accuracy_data, render_accuracy
    from pyharness.present.jsons import dumps
    from pyharness.releases.locate import resolve
    from pyharness.store.reading import read_rows

    gates = gates_of(fail_on, "result", _GATES)
    problems = chosen_problems(preset, axis or [], problem or [], log or [])
    require_driver()
    with shown("cases") as progress:
        release = resolve(cudnn, full=True, progress=fetching(cudnn, progress))
        run = measure_release(release, problems, out, device or 0, timeout, progress)
    rows, data = read_rows(run.folder, "accuracy"), run.manifest.as_data()
    if json:
        typer.echo(dumps(accuracy_data(rows, data, str(run.folder))))
    else:
        typer.echo(render_accuracy(rows, data))
        typer.echo(f"\nTables in {run.folder}")
    draw(run.folder, plots)
    if run.manifest.state == "interrupted":
        typer.echo("interrupted: the same command goes on", err=True)
        raise typer.Exit(EXIT_INTERRUPTED)
    verdicts = run.manifest.results["verdicts"]
    counts = {
        "beyond": verdicts.get("beyond", 0),
        "failed": run.manifest.results["statuses"].get("failed", 0),
    }
    leave_by(gates, counts, {} if "within" in verdicts else {"beyond": "no tensor has a verdict"})
