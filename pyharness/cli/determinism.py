"""``pyharness determinism``: does a result repeat bit for bit, and under which conditions."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from pyharness.cli.options import (
    Axes,
    Cudnn,
    Device,
    Json,
    Out,
    ProblemSetName,
    Timeout,
    Words,
)


def command(
    cudnn: Cudnn,
    problem: Words = None,
    preset: ProblemSetName = None,
    axis: Axes = None,
    runs: Annotated[
        int,
        typer.Option(
            "--runs",
            min=1,
            max=100_000,
            help="Runs under each condition that are compared with the first.",
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
    device: Device = None,
    out: Out = None,
    fail_on: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--fail-on",
            help="Exit 3 if any result is not_repeatable; dropout_continued, which differs by "
            "design, does not count.",
            metavar="VERDICT",
        ),
    ] = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Run problems again and again on a GPU, each condition against the first run, bit by bit.

    The same command goes on with what an interrupted one left in its folder.
    """
    from pyharness.analyze.repeatability import gate
    from pyharness.api.driver import require_driver
    from pyharness.api.progress import fetching
    from pyharness.api.repeatability import TABLE, RepeatOptions, conditions_of, repeat_release
    from pyharness.cli.progress import shown
    from pyharness.errors import EXIT_GATE, EXIT_INTERRUPTED, unknown_name
    from pyharness.present.determinism import determinism_data, render_determinism
    from pyharness.present.jsons import dumps
    from pyharness.releases.locate import resolve
    from pyharness.space.problems import problems_from
    from pyharness.spec.repeatability import NOT_REPEATABLE
    from pyharness.store.reading import read_rows

    if fail_on not in (None, NOT_REPEATABLE):
        raise unknown_name("verdict", fail_on, [NOT_REPEATABLE])
    options = RepeatOptions(runs, conditions_of(conditions), device or 0, timeout)
    problems = problems_from(preset, axis or [], problem or [])
    require_driver()
    with shown("cases") as progress:
        release = resolve(cudnn, full=True, progress=fetching(cudnn, progress))
        run = repeat_release(release, problems, out, options, progress)
    rows = read_rows(run.folder, TABLE)
    manifest = {"folder": str(run.folder), **run.manifest.as_data()}
    if run.old:
        typer.echo(f"{run.folder} is complete: nothing is run anew", err=True)
    if json:
        typer.echo(dumps(determinism_data(rows, manifest)))
    else:
        typer.echo(render_determinism(rows, manifest))
        typer.echo(f"\nTables in {run.folder}")
    if run.manifest.state == "interrupted":
        typer.echo("interrupted: the same command goes on", err=True)
        raise typer.Exit(EXIT_INTERRUPTED)
    if fail_on is not None and gate(rows):
        raise typer.Exit(EXIT_GATE)
