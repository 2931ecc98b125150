"""``pyharness atlas``: every release mapped, folded, and compared with the one before."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from pyharness.cli.options import Axes, Call, Json, Plots, Preset, Threads, Timeout


def command(
    releases: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time, on 3.10 too
        typer.Option(
            "--releases",
            help="Versions, with their CUDA or without (default: every one on the index). Those "
            "that are in the atlas already are left as they are.",
            metavar="V,V…",
        ),
    ] = None,
    preset: Preset = None,
    call: Call = None,
    axis: Axes = None,
    out: Annotated[Path, typer.Option("--out", help="Folder of the atlas.", metavar="DIR")] = Path(
        "results/atlas"
    ),
    known: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            "--known",
            help="Also write the answers alone, for `pyharness explain` to ship with the package.",
            metavar="FILE.json",
        ),
    ] = None,
    threads: Threads = None,
    timeout: Timeout = 10.0,
    plots: Plots = False,
    json: Json = False,
) -> None:
    """Map release after release, and keep of each what fits a repository: every answer, folded.

    Without --preset, --call or --axis it covers descriptor-full, data-full, clip and state. A
    release that is not cached is fetched, and goes again when it is mapped. The same command goes
    on where an earlier one was cut off.
    """
    from pyharness.api.atlas import atlas_space, make_atlas
    from pyharness.api.atlas_files import history_data
    from pyharness.cli.options import map_options
    from pyharness.cli.plots import draw
    from pyharness.cli.progress import shown
    from pyharness.errors import EXIT_ENVIRONMENT, UsageError
    from pyharness.present.atlas import render_atlas
    from pyharness.present.jsons import dumps
    from pyharness.releases.index import offered_versions
    from pyharness.space.presets import build_space
    from pyharness.store.known_answers import write_known

    if releases is None:
        versions = offered_versions()
    else:
        versions = [word for part in releases.split(",") if (word := part.strip())]
        if not versions:
            raise UsageError("--releases names none", "--releases 9.12.0.46,9.13.0.50")
    chosen = preset or call or axis
    space = build_space(preset, call, axis or []) if chosen else atlas_space()
    options = map_options(threads, timeout, "distinct", yes=False)
    with shown() as progress:
        run = make_atlas(versions, out, space, options, progress)
    if known is not None:
        write_known(known, history_data(run.atlas))
    steps = run.atlas.rows["atlas_steps"]
    if json:
        failed = [{"release": name, "why": why} for name, why in run.failed]
        data = {"folder": str(out), "added": run.added, "kept": run.kept, "failed": failed}
        typer.echo(dumps({**data, "releases": run.atlas.releases, "steps": steps}))
    else:
        typer.echo(render_atlas(str(out), run.atlas.names, steps, len(run.added)))
    draw(out, plots)
    for name, why in run.failed:
        typer.echo(f"not in the atlas: {name}: {why}", err=True)
    if run.failed:
        raise typer.Exit(EXIT_ENVIRONMENT)
