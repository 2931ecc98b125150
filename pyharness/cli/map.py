"""``pyharness map``: what a release accepts, over a space of problems."""

from __future__ import annotations

from pyharness.cli.options import (
    Axes,
    Call,
    Cudnn,
    Json,
    Logs,
    Out,
    Preset,
    Reasons,
    Threads,
    Timeout,
    Yes,
)


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
    json: Json = False,
) -> None:
    """Walk the calls that cuDNN validates on the host, and record what each problem gets."""
    import typer

    from pyharness.api.diffing import DEFAULT_MAPS, map_folder
    from pyharness.api.mapping import map_release
    from pyharness.api.progress import fetching
    from pyharness.cli.options import map_options
    from pyharness.cli.progress import shown
    from pyharness.cli.replay import replay_logs
    from pyharness.errors import UsageError
    from pyharness.present.jsons import dumps
    from pyharness.present.map import render_map
    from pyharness.releases.locate import resolve
    from pyharness.space.presets import build_space
    from pyharness.store.reading import MapFolder

    if log:
        if preset or call or axis:
            raise UsageError(
                "--log brings its own problems", "leave --preset, --call and --axis out"
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
