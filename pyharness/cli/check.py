"""``pyharness check``: do the equivalences hold that must, and the smallest problem where not."""

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

_GATES = ("violated", "failed")
_NOTHING = "no check tells anything of any tensor"


def command(
    cudnn: Cudnn,
    problem: Words = None,
    preset: ProblemSetName = None,
    axis: Axes = None,
    log: Logs = None,
    checks: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time, on 3.10 too
        typer.Option(
            "--checks",
            help="packed_is_padded, padding_filled, padding_ignored, reverse_starts_at_end, "
            "projection_off, layers_in_turn, inference_is_training, batch_is_parts, "
            "chunks_are_whole (default: all).",
            metavar="C1,C2,…",
        ),
    ] = None,
    tries: Annotated[
        int,
        typer.Option(
            "--tries",
            min=0,
            max=100_000,
            help="Smaller problems that are tried at most to shrink one that violates a check.",
        ),
    ] = 300,
    shrink_minutes: Annotated[
        int,
        typer.Option(
            "--shrink-minutes",
            min=1,
            max=1440,
            help="Minutes after which a search for a smaller problem ends, for each check that a "
            "problem violates.",
        ),
    ] = 2,
    device: Device = None,
    out: Out = None,
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on",
            help="Exit with 3 if any of these occur: violated (a check that does not hold), "
            "failed (a run that crashed, hung or wrote outside of its buffers).",
            metavar="WHAT,…",
        ),
    ] = "",
    timeout: Timeout = 10.0,
    plots: Plots = False,
    json: Json = False,
) -> None:
    """Run problems on a GPU in two ways that must come to the same, and compare.

    What violates a check is shrunk to the smallest problem that still does. The same command goes
    on with what an interrupted one left in its folder.
    """
    from pyharness.api.checking import CheckOptions, check_release, checks_of
    from pyharness.api.chosen_problems import chosen_problems
    from pyharness.api.driver import require_driver
    from pyharness.api.progress import fetching
    from pyharness.cli.gates import gates_of, leave_by
    from pyharness.cli.plots import draw
    from pyharness.cli.progress import shown
    from pyharness.errors import EXIT_INTERRUPTED
    from pyharness.present.checking import checks_data, render_checks
    from pyharness.present.jsons import dumps
    from pyharness.releases.locate import resolve
    from pyharness.store.reading import read_rows

    gates = gates_of(fail_on, "result", _GATES)
    options = CheckOptions(checks_of(checks), tries, device or 0, timeout, 60 * shrink_minutes)
    problems = chosen_problems(preset, axis or [], problem or [], log or [])
    require_driver()
    with shown("problems") as progress:
        release = resolve(cudnn, full=True, progress=fetching(cudnn, progress))
        run = check_release(release, problems, out, options, progress)
    rows, data = read_rows(run.folder, "equivalences"), run.manifest.as_data()
    if json:
        typer.echo(dumps(checks_data(rows, data, str(run.folder))))
    else:
        typer.echo(render_checks(rows, data))
        typer.echo(f"\nTables in {run.folder}")
    draw(run.folder, plots)
    if run.manifest.state == "interrupted":
        typer.echo("interrupted: the same command goes on", err=True)
        raise typer.Exit(EXIT_INTERRUPTED)
    verdicts = run.manifest.results["verdicts"]
    counts = {
        "violated": verdicts.get("violated", 0),
        "failed": run.manifest.results["statuses"].get("failed", 0),
    }
    leave_by(gates, counts, {} if "holds" in verdicts else {"violated": _NOTHING})
