"""``pyharness map``: what a release accepts, over a space of problems."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pyharness.cli.options import (
    Axes,
    Call,
    Cudnn,
    Device,
    Json,
    Logs,
    Out,
    Plots,
    Preset,
    Reasons,
    Threads,
    Timeout,
    Yes,
)

if TYPE_CHECKING:
    from pyharness.api.progress import Progress
    from pyharness.api.staging import Problems

_STAGES = ("host", "all")


def command(
    cudnn: Cudnn,
    preset: Preset = None,
    call: Call = None,
    axis: Axes = None,
    log: Logs = None,
    out: Out = None,
    reasons: Reasons = "distinct",
    threads: Threads = None,
    timeout: Timeout = 10.0,
    yes: Yes = False,
    stages: Annotated[
        str,
        typer.Option(
            "--stages",
            help="host: walk the calls that need no GPU; all: take each problem of a set (see "
            "`pyharness presets`) as far as it goes on a GPU, backward_weights at most.",
            metavar="HOW",
        ),
    ] = "host",
    device: Device = None,
    plots: Plots = False,
    json: Json = False,
) -> None:
    """Walk the calls that cuDNN validates on the host, and record what each problem gets."""
    from pyharness.api.diffing import DEFAULT_MAPS, map_folder
    from pyharness.api.mapping import map_release
    from pyharness.api.progress import fetching
    from pyharness.cli.options import map_options
    from pyharness.cli.plots import draw
    from pyharness.cli.progress import shown
    from pyharness.cli.replay import replay_logs
    from pyharness.errors import UsageError, unknown_name
    from pyharness.present.jsons import dumps
    from pyharness.present.map import render_map
    from pyharness.releases.locate import resolve
    from pyharness.space.presets import build_space
    from pyharness.store.reading import MapFolder

    if stages not in _STAGES:
        raise unknown_name("way of choosing stages", stages, _STAGES)
    if stages == "all":
        given = {"--call": call, "--threads": threads, "--yes": yes}
        unfit = [name for name, value in given.items() if value]
        unfit += ["--reasons"] if reasons != "distinct" else []
        if unfit:
            raise UsageError(
                f"{', '.join(unfit)} and --stages all do not go together",
                "it takes the problems of --preset, --axis or --log through every stage, each "
                "with its reason",
            )
        _all_stages(cudnn, preset, axis or [], log or [], out, device, timeout, plots, json)
        return
    if device is not None:
        raise UsageError("--device is for --stages all", "the host's calls need no GPU")
    if log:
        if preset or call or axis:
            raise UsageError(
                "--log brings its own problems", "leave --preset, --call and --axis out"
            )
        if plots:
            raise UsageError(
                "--plots draws the map of a space", "leave it out, or take the log to --stages all"
            )
        replay_logs(log, [cudnn], out, "", timeout, json)
        return
    options = map_options(threads, timeout, reasons, yes)
    space = build_space(preset, call, axis or [])
    with shown() as progress:
        release = resolve(cudnn, progress=fetching(cudnn, progress))
        folder = out or map_folder(release, space, options.reasons, DEFAULT_MAPS)
        manifest = map_release(release, space, folder, options, progress)
    if json:
        typer.echo(dumps({"folder": str(folder), **manifest.as_data()}))
    else:
        typer.echo(render_map(manifest.as_data(), str(folder), MapFolder(folder).rows_of("costs")))
    draw(folder, plots)


def _all_stages(
    cudnn: str,
    preset: str | None,
    axes: list[str],
    logs: list[str],
    out: Path | None,
    device: int | None,
    timeout: float,
    plots: bool,
    json: bool,
) -> None:
    """Every stage of a set of problems, on a GPU where there is one."""
    from pyharness.api.progress import fetching
    from pyharness.api.staging import StageOptions, distinct, stage_release
    from pyharness.cli.plots import draw
    from pyharness.cli.progress import shown
    from pyharness.errors import EXIT_INTERRUPTED, UsageError
    from pyharness.present.jsons import dumps
    from pyharness.present.staging import render_stages
    from pyharness.releases.locate import resolve
    from pyharness.space.problems import problem_set_names, problems_from

    if logs and (preset or axes):
        raise UsageError("--log brings its own problems", "leave --preset and --axis out")
    if not logs and not preset and not axes:
        raise UsageError(
            "no problem is given",
            f"--preset NAME ({', '.join(problem_set_names())}), --axis hidden_size=256,512 … or "
            "--log FILE",
        )
    with shown() as progress:
        if logs:
            problems = _logged(logs, progress)
        else:
            chosen = problems_from(preset, axes, [])
            problems = distinct(chosen.name, (one.problem for one in chosen.problems))
        release = resolve(cudnn, progress=fetching(cudnn, progress))
        run = stage_release(release, problems, out, StageOptions(device, timeout), progress)
    if run.no_gpu:
        typer.echo(f"no GPU here: only the host stages were tried ({run.no_gpu})", err=True)
    data = run.manifest.as_data()
    if json:
        typer.echo(dumps({"folder": str(run.folder), **data}))
    else:
        typer.echo(render_stages(data, str(run.folder)))
    draw(run.folder, plots)
    if run.manifest.state == "interrupted":
        typer.echo("interrupted: the same command goes on", err=True)
        raise typer.Exit(EXIT_INTERRUPTED)


def _logged(logs: list[str], progress: Progress) -> Problems:
    """The problems of API logs."""
    from pyharness.api.replaying import read_recording, require_problems
    from pyharness.api.staging import distinct

    recording = read_recording(logs, progress)
    require_problems(recording)
    names = " ".join(Path(name).name for name in logs)
    return distinct(f"log {names}", (recorded.problem for recorded in recording.problems))
