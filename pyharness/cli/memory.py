"""``pyharness memory``: what problems ask for, what grows with what, what fits, what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from pyharness.cli.options import (
    Axes,
    Device,
    Json,
    Logs,
    NoDevice,
    Out,
    Plots,
    ProblemSetName,
    Timeout,
    Words,
    device_choice,
)
from pyharness.errors import UsageError

if TYPE_CHECKING:
    from pyharness.api.scales import Wanted
    from pyharness.spec.problem import Problem


def command(
    problem: Words = None,
    cudnn: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time, on 3.10 too
        typer.Option(
            "--cudnn",
            help="Release, as for `pyharness try`: asked for the sizes where it runs on a GPU, for "
            "what it refuses elsewhere. Without it the formula alone answers.",
            metavar="RELEASE",
        ),
    ] = None,
    preset: ProblemSetName = None,
    axis: Axes = None,
    log: Logs = None,
    inference: Annotated[
        bool,
        typer.Option(
            "--inference",
            help="Inference alone (default: inference and training, or what the preset or the log "
            "runs of each problem).",
        ),
    ] = False,
    fit: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--fit", help="Bytes to fit, with their unit: 24GiB, 80GB, 500MB.", metavar="SIZE"
        ),
    ] = None,
    vary: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--vary",
            help="With --fit: find the largest value of this axis that fits: batch_size, "
            "max_seq_length, hidden_size, num_layers or input_size.",
            metavar="AXIS",
        ),
    ] = None,
    advice: Annotated[
        bool,
        typer.Option(
            "--advice",
            help="Say what to change, and the bytes that each change saves; with --fit SIZE, which "
            "of them fit.",
        ),
    ] = False,
    device: Device = None,
    no_device: NoDevice = False,
    out: Out = None,
    timeout: Timeout = 10.0,
    plots: Plots = False,
    json: Json = False,
) -> None:
    """Say how many bytes problems ask for: observed on a GPU, predicted by formula elsewhere.

    Growth is said of one problem, or of several that differ in one axis. The formula and its
    sources are printed with one problem.
    """
    from contextlib import nullcontext

    from pyharness.api.memory_files import memory_folder, write_memory
    from pyharness.api.scales import open_scales
    from pyharness.api.weighing import Wishes, weigh
    from pyharness.cli.plots import draw
    from pyharness.cli.progress import shown
    from pyharness.present.jsons import dumps
    from pyharness.present.memory import memory_data, render_memory
    from pyharness.spec.byte_text import parse_bytes
    from pyharness.store.manifest import now

    if plots and out is None:
        raise UsageError("--plots needs a folder to draw into", "give it by --out")
    limit = None if fit is None else parse_bytes(fit, "--fit")
    _check(limit, vary, advice, cudnn, device)
    choice = device_choice(device, no_device)
    wishes = Wishes(limit, vary, advice)
    wanted = _wanted(preset, axis or [], problem or [], log or [], inference)
    wishes.check([w.problem for w in wanted])
    started = now()
    with nullcontext() if out is None else memory_folder(out):
        with shown("bytes") as progress:
            scales = open_scales(cudnn, choice, timeout, progress)
        with scales, shown() as progress:
            found = weigh(wanted, scales, wishes, progress)
        if out is not None:
            write_memory(found, scales.release, out, started)
    if json:
        typer.echo(dumps(memory_data(found)))
    else:
        typer.echo(render_memory(found))
    if out is not None:
        if not json:
            typer.echo(f"\nTables in {out}")
        draw(out, plots)


def _check(
    limit: int | None, vary: str | None, advice: bool, cudnn: str | None, device: int | None
) -> None:
    """Sees that the options go together.

    Raises  UsageError if not.
    """
    if vary is not None and limit is None:
        raise UsageError(
            f"--vary {vary} needs to know what has to fit", "give --fit, for example --fit 24GiB"
        )
    if limit is not None and vary is None and not advice:
        raise UsageError(
            "--fit needs to know what may change",
            "add --vary batch_size for its largest value that fits, or --advice",
        )
    if device is not None and cudnn is None:
        raise UsageError(
            "--device needs a release to ask on it", "give --cudnn RELEASE, or leave it out"
        )


def _wanted(
    preset: str | None, axes: list[str], words: list[str], logs: list[str], inference: bool
) -> list[Wanted]:
    """The problems that were given, each with the forward modes that it is to run in."""
    from pyharness.api.replaying import read_recording, require_problems
    from pyharness.api.scales import Wanted
    from pyharness.space.problems import problems_from
    from pyharness.spec.footprint import MODES, modes_of

    found: list[tuple[str | None, Problem, list[str]]]
    if logs:
        if preset is not None or axes or words:
            raise UsageError("--log brings its own problems", "leave the others out")
        recording = read_recording(logs)
        require_problems(recording)
        found = [(None, r.problem, list(r.stages)) for r in recording.problems]
    else:
        chosen = problems_from(preset, axes, words).problems
        found = [(None if preset is None else c.name, c.problem, list(c.passes)) for c in chosen]
    only = MODES[:1] if inference else None
    return [Wanted(problem, only or modes_of(passes), name) for name, problem, passes in found]
