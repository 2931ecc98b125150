"""``pyharness replay``: what a program's cuDNN log holds, and what other releases say of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from pyharness.cli.options import Device, Json, NoDevice, Timeout, device_choice

if TYPE_CHECKING:
    from pyharness.api.onward import DeviceChoice
    from pyharness.spec.recording import Recording

_TIMEOUT_S = 10.0


def command(
    logs: Annotated[
        Optional[list[str]],  # noqa: UP045 - typer reads the annotation at run time, on 3.10 too
        typer.Argument(
            help="API logs of cuDNN 8.x or 9.x, gzip or plain, - for standard input; with "
            "--capture: -- and the command to run.",
            metavar="LOG… | -- COMMAND…",
            show_default=False,
        ),
    ] = None,
    cudnn: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            "--cudnn",
            help="Try every recorded problem on this release; repeat it to see what changes from "
            "each to the next.",
            metavar="RELEASE",
        ),
    ] = None,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            "--out",
            help="Folder for recorded.parquet, validity.parquet (with --cudnn) and run.json.",
            metavar="DIR",
        ),
    ] = None,
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on",
            help="Exit with 3 if any of these occur: refused, failed (on the last --cudnn); "
            "newly_refused, newly_accepted, newly_failed (from one --cudnn to the next).",
            metavar="WHAT,…",
        ),
    ] = "",
    capture: Annotated[
        bool,
        typer.Option(
            "--capture",
            help="Run a command with the log on, whichever cuDNN it loads, and say on stderr what "
            "was recorded. Exits as the command does, but with 1 instead of 0 where nothing was.",
        ),
    ] = False,
    log: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            "--log",
            help="With --capture: where the log goes; each process adds its number "
            "(default: a new file here).",
            metavar="FILE",
        ),
    ] = None,
    device: Device = None,
    no_device: NoDevice = False,
    timeout: Timeout = _TIMEOUT_S,
    json: Json = False,
) -> None:
    """Read the RNN calls out of a program's cuDNN logs, and try them on other releases.

    Where there is a GPU, what the host accepts is run there through the stages that the log has.
    """
    from pyharness.errors import UsageError

    if capture:
        about_device = device is not None or no_device
        if cudnn or out or fail_on or json or about_device or timeout != _TIMEOUT_S:
            raise UsageError(
                "--capture only records: --cudnn, --out, --fail-on, --device, --no-device, "
                "--timeout and --json are about a log",
                "run `pyharness replay LOG` with them afterwards",
            )
        _capture(logs or [], log)
    if log is not None:
        raise UsageError("--log is where --capture writes", "logs to read are given without it")
    if not logs:
        raise UsageError("no log is given", "give files or -, or record one: --capture -- COMMAND…")
    choice = device_choice(device, no_device)
    if device is not None and not cudnn:
        raise UsageError("--device needs a release to try", "give --cudnn RELEASE, too")
    replay_logs(logs, cudnn or [], out, fail_on, timeout, json, choice)


def _capture(words: list[str], log: Path | None) -> None:
    from pyharness.api.capturing import capture
    from pyharness.api.replaying import read_recording
    from pyharness.errors import EXIT_ENVIRONMENT, UsageError
    from pyharness.present.recording import render_recording

    if not words:
        raise UsageError("no command is given", "write it after --: --capture -- python train.py")
    captured = capture(words, log)
    why = (
        "the program made no call of a cuDNN that writes a log (it loads none, or did not pass its "
        "environment on)"
    )
    if captured.logs:
        try:
            recording = read_recording(captured.logs)
        except UsageError as error:  # what is there is not cuDNN's; the program's code counts more
            why = error.message
        else:
            typer.echo(f"{render_recording(recording, _versions(recording))}\n", err=True)
            typer.echo(f"Recorded in {' '.join(map(str, captured.logs))}", err=True)
            raise typer.Exit(captured.exit_code)
    typer.echo(f"nothing was recorded: {why}", err=True)
    raise typer.Exit(captured.exit_code or EXIT_ENVIRONMENT)


def replay_logs(
    logs: list[str],
    cudnn: list[str],
    out: Path | None,
    fail_on: str,
    timeout: float,
    json: bool,
    device: DeviceChoice = "none",
) -> None:
    """What logs hold, and what these releases say of it; `pyharness map --log` does the same."""
    from contextlib import nullcontext

    from pyharness.api.progress import fetching
    from pyharness.api.replay_files import replay_folder, write_replay
    from pyharness.api.replaying import read_recording, replay
    from pyharness.cli.gates import gates_of
    from pyharness.cli.progress import shown
    from pyharness.errors import EXIT_GATE, UsageError
    from pyharness.present.jsons import dumps
    from pyharness.present.recording import recording_data, render_recording
    from pyharness.present.replaying import render_next, render_replay, replay_data
    from pyharness.releases.locate import resolve
    from pyharness.spec.recording import REPLAY_GATES
    from pyharness.store.manifest import now

    gates = gates_of(fail_on, "change", REPLAY_GATES)
    for gate in gates:
        needed = 2 if gate.startswith("newly_") else 1
        if len(cudnn) < needed:
            raise UsageError(
                f"--fail-on {gate} needs {needed} --cudnn", "give the releases to try it on"
            )
    started = now()
    with nullcontext() if out is None else replay_folder(out):
        with shown("bytes") as progress:
            recording = read_recording(logs, progress)
            releases = [resolve(text, progress=fetching(text, progress)) for text in cudnn]
        with shown("releases") as progress:
            result = replay(recording, releases, timeout, progress, device)
        if out is not None:
            write_replay(result, releases, out, started)
    versions = _versions(recording)
    if json:
        data = recording_data(recording, versions)
        typer.echo(dumps({**data, **(replay_data(result) if releases else {})}))
    else:
        parts = [render_replay(result), render_recording(recording, versions)]
        parts += [f"Tables in {out}"] if out is not None else []
        parts.append(render_next(result, cudnn))
        typer.echo("\n\n".join(part for part in parts if part))
    found = [f"{g} ({result.count(g):,})" for g in gates if result.count(g)]
    if found:
        typer.echo(f"gate: {', '.join(found)}", err=True)
        raise typer.Exit(EXIT_GATE)


def _versions(recording: Recording) -> list[str]:
    from pyharness.releases.model import loaded_version

    return [loaded_version(number) for number in sorted(recording.versions)]
