"""``pyharness diff``: what changed from one release, or map, to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from pyharness.cli.options import Axes, Call, Json, Plots, Preset, Threads, Timeout, Yes


def command(
    a: Annotated[str, typer.Argument(help="The older side: a release or a result folder.")],
    b: Annotated[str, typer.Argument(help="The newer side.")],
    preset: Preset = None,
    call: Call = None,
    axis: Axes = None,
    out: Annotated[
        Optional[Path],  # noqa: UP045 - typer reads the annotation at run time, on 3.10 too
        typer.Option(
            "--out",
            help="Folder for changes.parquet, diff.json and diff.txt "
            "(default: results/diff/A..B/SPACE).",
            metavar="DIR",
        ),
    ] = None,
    maps: Annotated[
        Path, typer.Option("--maps", help="Folder of the maps made on the way.", metavar="DIR")
    ] = Path("results/maps"),
    reasons: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--reasons",
            help="all compares cuDNN's words row by row; distinct only the texts; none leaves them "
            "out (default: all up to 5 million problems, distinct above).",
            metavar="HOW",
        ),
    ] = None,
    drift: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            "--drift",
            help="Folder of `pyharness drift A B`: what drifted, and what runs on one side only, "
            "joins the changes.",
            metavar="DIR",
        ),
    ] = None,
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on",
            help="Exit with 3 if any of these occur: newly_refused, newly_accepted, other_status, "
            "other_reason, newly_failed, no_longer_failed, slower, faster, call_removed, "
            "call_added, enumerator_removed, enumerator_added; with --drift also drifted, "
            "newly_out_of_memory, no_longer_out_of_memory.",
            metavar="WHAT,…",
        ),
    ] = "",
    threads: Threads = None,
    timeout: Timeout = 10.0,
    yes: Yes = False,
    plots: Plots = False,
    json: Json = False,
) -> None:
    """Map what is missing, compare problem by problem, and say exactly what changed."""
    from pyharness.analyze.map_diff import GATES
    from pyharness.api.changes import refuse_other, write_diff
    from pyharness.api.diffing import diff_folder, diff_maps, open_side, row_reasons
    from pyharness.api.drift_joining import drift_manifest, join_drift
    from pyharness.api.folder import writable_folder
    from pyharness.cli.gates import gates_of
    from pyharness.cli.options import map_options
    from pyharness.cli.plots import draw
    from pyharness.cli.progress import shown
    from pyharness.errors import EXIT_GATE, UsageError
    from pyharness.present.diff import diff_data, render_diff
    from pyharness.present.jsons import dumps
    from pyharness.space.presets import build_space

    gates = gates_of(fail_on, "change", GATES)
    space = build_space(preset, call, axis or [])
    if drift is not None:
        drift_manifest(drift)  # what is wrong with it is said before minutes of mapping
    if reasons is None:
        reasons = "all" if "other_reason" in gates else row_reasons(space)
    options = map_options(threads, timeout, reasons, yes)
    if out is not None:
        refuse_other(out, None)
        made_here = not out.exists()
        writable_folder(out)
        if made_here:  # nothing is left of it if the sides cannot be compared
            out.rmdir()
    with shown() as progress:
        old = open_side(a, space, maps, options, progress)
        new = open_side(b, space, maps, options, progress)
        result = diff_maps(old, new, progress)
        if drift is not None:
            join_drift(result, drift)
        folder = out or diff_folder(old, new)
        text, data = render_diff(result), diff_data(result)
        write_diff(result, text, data, folder)
    typer.echo(dumps({"folder": str(folder), **data}) if json else f"{text}\n\nTables in {folder}")
    draw(folder, plots)
    if unjudged := [g for g in gates if not result.judged(g)]:
        raise UsageError(
            f"this diff cannot tell whether there is any {', '.join(unjudged)}",
            "other_reason needs --reasons all on both sides, slower and faster both libraries on "
            "this machine, enumerators a known version of both, what drifted --drift FOLDER",
        )
    found = [f"{g} ({result.count(g):,})" for g in gates if result.count(g)]
    if found:
        typer.echo(f"gate: {', '.join(found)}", err=True)
        raise typer.Exit(EXIT_GATE)
