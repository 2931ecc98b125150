"""``pyharness explain``: why a problem is refused, what is accepted nearby, and since when."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from pyharness.cli.options import Cudnn, Device, Json, Logs, NoDevice, Timeout, device_choice
from pyharness.errors import UsageError

if TYPE_CHECKING:
    from pyharness.analyze.explanation import Explanation
    from pyharness.api.onward import DeviceChoice
    from pyharness.releases.model import Release


def command(
    cudnn: Cudnn,
    problem: Annotated[
        Optional[list[str]],  # noqa: UP045 - typer reads the annotation at run time, on 3.10 too
        typer.Argument(
            help="key=value words, for example cell_mode=lstm hidden_size=256; they win over what "
            "the options say. What is not given has its default.",
            metavar="KEY=VALUE…",
        ),
    ] = None,
    source: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--from",
            help="The problem as JSON (a file, or - for stdin), or a row of a table: "
            "validity.parquet:17, counted from 0.",
            metavar="FILE",
        ),
    ] = None,
    lengths: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--lengths",
            help="Length of each sequence: [5,3,2], or a file (.npy, .json, one number a line).",
            metavar="LENGTHS",
        ),
    ] = None,
    mask: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--mask",
            help="Mask of the batch: a .npy of batch x time or time x batch, True where a step "
            "counts.",
            metavar="FILE.npy",
        ),
    ] = None,
    time_major: Annotated[
        Optional[bool],  # noqa: UP045
        typer.Option(
            "--time-major/--batch-major",
            help="Which of the two the mask is (default: found from the sizes and the mask).",
        ),
    ] = None,
    torch: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--torch",
            help="A PyTorch layer as it is written: 'LSTM(256, 512, num_layers=2)'.",
            metavar="TEXT",
        ),
    ] = None,
    keras: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--keras", help="A Keras layer as it is written: 'LSTM(64)'.", metavar="TEXT"),
    ] = None,
    shape: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--input",
            help="Shape of the layer's input: 120x64x256, in the framework's order.",
            metavar="AxBxC",
        ),
    ] = None,
    log: Logs = None,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            "--out",
            help="With --log: folder for explanations.parquet, validity.parquet and "
            "recorded.parquet.",
            metavar="DIR",
        ),
    ] = None,
    failed_in: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--failed-in",
            help="The call that failed on a GPU, by its C name, for example "
            "cudnnRNNBackwardData_v8: lists what documents ask of the program there.",
            metavar="CALL",
        ),
    ] = None,
    since: Annotated[
        bool,
        typer.Option(
            "--since/--no-since",
            help="Say how the other releases answer: from the atlas; the cached ones are asked "
            "where it has not this very problem.",
        ),
    ] = True,
    all_releases: Annotated[
        bool,
        typer.Option(
            "--all-releases",
            help="Ask every release of the index since when; fetches what is not cached (300 MB "
            "each).",
        ),
    ] = False,
    device: Device = None,
    no_device: NoDevice = False,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Say which argument of which call is refused, why, since when, and what works instead.

    Where there is a GPU, what the host accepts is run there, stage by stage, and so is what is
    suggested.
    """
    choice = device_choice(device, no_device)
    if log:
        given = [source, lengths, mask, time_major, torch, keras, shape, failed_in]
        alone = not problem and given == [None] * len(given) and not all_releases
        _log(cudnn, log, out, timeout, choice, json, alone=alone)
        return
    if out is not None:
        raise UsageError("--out is for the tables of --log", "one problem goes to --json")
    from pyharness.api.explaining import explain, predictions_of
    from pyharness.api.history import cached_releases, every_release, since_when
    from pyharness.api.progress import fetching
    from pyharness.api.reading import Sources, read_problem
    from pyharness.cli.progress import shown
    from pyharness.present.explaining import render_explanation, render_problem, render_recipes
    from pyharness.present.explanation_data import explanation_data
    from pyharness.present.history import render_since
    from pyharness.present.jsons import dumps
    from pyharness.releases.locate import resolve
    from pyharness.spec.documented import check_call

    if failed_in is not None:
        check_call(failed_in)
    reading = read_problem(
        problem or [], Sources(source, lengths, mask, time_major, torch, keras, shape)
    )
    with shown("bytes") as progress:
        release = resolve(cudnn, progress=fetching(cudnn, progress))
    found = explain(release, reading.problem, timeout, choice)
    if not json:
        typer.echo(f"{render_explanation(found, reading)}\n")
        if recipes := render_recipes(found):
            typer.echo(f"{recipes}\n")
    past = None
    if since or all_releases:
        with shown("releases") as progress:
            others, always = cached_releases(release), [release]
            notes: list[str] = []
            if all_releases:
                always, notes = every_release(release, progress)
            past = since_when(reading.problem, others, always, timeout, progress)
        past.notes[:0] = notes
    if json:
        unmaskable = reading.mask is not None and reading.mask.lengths is None
        predicted = predictions_of(found, release)
        data = explanation_data(found, past, predicted, unmaskable=unmaskable)
        typer.echo(dumps({**data, "reading": reading.data()}))
        return
    if past is not None:
        typer.echo(f"{render_since(past)}\n")
    typer.echo(_documents(found, release, failed_in))
    typer.echo(f"\n{render_problem(found, reading)}")


def _documents(found: Explanation, release: Release, failed_in: str | None) -> str:
    """What documents say of the calls that need a GPU, and of the one that failed."""
    from pyharness.api.explaining import predictions_of
    from pyharness.present.on_device import device_name
    from pyharness.present.predictions import render_checklist, render_predictions

    predicted = predictions_of(found, release)
    where = device_name(found.device.facts) if found.device else ""
    said = render_predictions(predicted, found.problem, where)
    if failed_in is None:
        return said
    return f"{said}\n\n{render_checklist([one for one, _ in predicted], failed_in)}"


def _log(
    cudnn: str,
    logs: list[str],
    out: Path | None,
    timeout: float,
    choice: DeviceChoice,
    json: bool,
    *,
    alone: bool,
) -> None:
    from pyharness.api.explaining_logs import explain_log
    from pyharness.api.progress import fetching
    from pyharness.api.replaying import read_recording
    from pyharness.cli.progress import shown
    from pyharness.present.jsons import dumps
    from pyharness.present.log_explanation import log_data, render_log
    from pyharness.releases.locate import resolve

    if not alone:
        raise UsageError("--log brings its own problems", "leave the others out")
    with shown("bytes") as progress:
        recording = read_recording(logs, progress)
        release = resolve(cudnn, progress=fetching(cudnn, progress))
    with shown() as progress:
        found = explain_log(recording, release, out, timeout, progress, choice)
    if json:
        typer.echo(dumps(log_data(found)))
        return
    typer.echo(render_log(found))
    if out is not None:
        typer.echo(f"\nTables in {out}")
