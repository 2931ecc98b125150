"""``pyharness drift``: which tensors have other bits on another release, and how far they are."""

from __future__ import annotations

from typing import Annotated

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

_GATES = ("drifted", "failed")
_NONE = "there is none that both sides write and repeat"


def command(
    a: Annotated[str, typer.Argument(help="The older release.")],
    b: Annotated[str, typer.Argument(help="The newer release.")],
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
            help="Exit with 3 if any of these occur: drifted (a tensor whose bits differ), failed "
            "(a pass that crashed, hung or wrote outside of its buffers, on either side).",
            metavar="WHAT,…",
        ),
    ] = "",
    timeout: Timeout = 10.0,
    plots: Plots = False,
    json: Json = False,
) -> None:
    """Run the same problems on two releases and compare every tensor bit by bit.

    Inputs and weights are the same numbers on both sides, weight by weight where the releases lay
    them out otherwise. changes.parquet beside the table joins a diff: see `pyharness diff --drift`.
    """
    from pyharness.api.chosen_problems import chosen_problems
    from pyharness.api.drift import drift_between
    from pyharness.api.driver import require_driver
    from pyharness.api.progress import fetching
    from pyharness.cli.gates import gates_of, leave_by
    from pyharness.cli.plots import draw
    from pyharness.cli.progress import shown
    from pyharness.errors import EXIT_INTERRUPTED
    from pyharness.present.drift import drift_data, render_drift
    from pyharness.present.jsons import dumps
    from pyharness.releases.locate import resolve
    from pyharness.store.reading import read_rows

    gates = gates_of(fail_on, "result", _GATES)
    problems = chosen_problems(preset, axis or [], problem or [], log or [])
    require_driver()
    with shown("cases") as progress:
        sides = [resolve(r, full=True, progress=fetching(r, progress)) for r in (a, b)]
        run = drift_between(sides[0], sides[1], problems, out, device or 0, timeout, progress)
    rows, data = read_rows(run.folder, "drift"), run.manifest.as_data()
    if json:
        typer.echo(dumps(drift_data(rows, data, str(run.folder))))
    else:
        typer.echo(render_drift(rows, data))
        typer.echo(f"\nTables in {run.folder}")
    draw(run.folder, plots)
    if run.manifest.state == "interrupted":
        typer.echo("interrupted: the same command goes on", err=True)
        raise typer.Exit(EXIT_INTERRUPTED)
    verdicts = run.manifest.results["verdicts"]
    counts = {
        "drifted": verdicts.get("drifted", 0),
        "failed": len(run.manifest.results["failures"]),
    }
    leave_by(gates, counts, {} if "same" in verdicts else {"drifted": _NONE})
