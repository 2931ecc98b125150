"""``pyharness bench``: how long each pass takes, on releases and peers side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

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

if TYPE_CHECKING:
    from pyharness.api.bench_sides import BenchOptions, Timer
    from pyharness.api.progress import Progress
    from pyharness.measure.stopping import StoppingRule

_PEERS = ("torch",)


def command(
    problem: Words = None,
    cudnn: Annotated[
        Optional[list[str]],  # noqa: UP045 - typer reads the annotation at run time, on 3.10 too
        typer.Option(
            "--cudnn",
            help="Release, as for `pyharness try`. Repeatable: each problem is timed on one after "
            "the other.",
            metavar="RELEASE",
        ),
    ] = None,
    preset: ProblemSetName = None,
    axis: Axes = None,
    log: Logs = None,
    peer: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--peer", help="Time a framework beside it: torch.", metavar="NAME"),
    ] = None,
    peer_device: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--peer-device",
            help="Where the peer runs: cpu, or cuda (default: the GPU that the releases run on; "
            "without a release cpu).",
            metavar="DEVICE",
        ),
    ] = None,
    passes: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--passes",
            help="Passes to time: forward_inference, forward_training, backward_data, "
            "backward_weights, training_step (default: all that the problems have).",
            metavar="P1,P2,…",
        ),
    ] = None,
    modes: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--modes",
            help="hot: back to back; cold: L2 flushed before each; graph: CUDA graph replay; "
            "enqueue: host time of the call (default: all).",
            metavar="M1,M2,…",
        ),
    ] = None,
    least_samples: Annotated[
        int,
        typer.Option("--least-samples", min=2, max=10_000, help="Samples of each row at least."),
    ] = 30,
    least_time: Annotated[
        float,
        typer.Option("--least-time", min=0, max=86_400, help="Seconds for each row at least."),
    ] = 0.1,
    precision: Annotated[
        float,
        typer.Option(
            "--precision",
            min=1e-6,
            max=1,
            help="Stop when the standard error of the median is below this share of it.",
        ),
    ] = 0.005,
    most_time: Annotated[
        float,
        typer.Option("--most-time", min=0.001, max=86_400, help="Seconds for each row at most."),
    ] = 3.0,
    device: Device = None,
    out: Out = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the unfinished run in --out.")
    ] = False,
    timeout: Timeout = 10.0,
    plots: Plots = False,
    json: Json = False,
) -> None:
    """Time forward and backward passes on a GPU; raw samples are kept beside the statistics."""
    from pyharness.api.benching import bench, new_folder
    from pyharness.api.chosen_problems import chosen_problems
    from pyharness.cli.plots import draw
    from pyharness.cli.progress import shown
    from pyharness.errors import EXIT_INTERRUPTED, UsageError
    from pyharness.measure.stopping import StoppingRule
    from pyharness.present.bench import bench_data, render_bench
    from pyharness.present.jsons import dumps
    from pyharness.store.reading import read_rows

    if resume and out is None:
        raise UsageError("--resume needs the folder to go on with", "give it by --out")
    if not cudnn and peer is None:
        raise UsageError("nothing to time on is given", "--cudnn RELEASE, --peer torch, or both")
    rule = StoppingRule(least_samples, least_time, precision, most_time)
    shared = len(cudnn or []) + (peer is not None) > 1
    options = _options(passes, modes, rule, device or 0, timeout, shared)
    _check_peer(peer, peer_device, options.modes)
    problems = chosen_problems(preset, axis or [], problem or [], log or [])
    with shown("cases") as progress:
        timers = _timers(cudnn or [], peer, peer_device, options, progress)
        try:
            folder = out or new_folder(problems.name)
            runs = bench(timers, problems, folder, options, resume=resume, progress=progress)
        finally:
            for timer in timers:
                timer.close()
    rows = [row for run in runs for row in read_rows(run.folder, "timings")]
    manifests = [{"folder": str(run.folder), **run.manifest.as_data()} for run in runs]
    for run in runs:
        if run.old:
            typer.echo(f"{run.folder} is complete: nothing is timed anew", err=True)
    if json:
        typer.echo(dumps(bench_data(rows, manifests)))
    else:
        typer.echo(render_bench(rows, manifests))
        typer.echo(f"\nTables in {folder}")
    draw(folder, plots)
    if any(run.manifest.state == "interrupted" for run in runs):
        typer.echo(f"interrupted: --out {folder} --resume goes on", err=True)
        raise typer.Exit(EXIT_INTERRUPTED)


def _check_peer(peer: str | None, peer_device: str | None, modes: tuple[str, ...]) -> None:
    from pyharness.errors import UsageError, unknown_name

    if peer is not None and peer not in _PEERS:
        raise unknown_name("peer", peer, _PEERS)
    if peer is None and peer_device is not None:
        raise UsageError("--peer-device is where a peer runs", "add --peer torch, or leave it out")
    if peer is not None and "hot" not in modes:
        raise UsageError("a peer is timed hot, which --modes leaves out", "add hot to --modes")


def _options(
    passes: str | None,
    modes: str | None,
    rule: StoppingRule,
    ordinal: int,
    timeout: float,
    shared: bool,
) -> BenchOptions:
    from pyharness.api.bench_sides import BenchOptions
    from pyharness.spec.timed import TIMED_PASSES, TIMING_MODES

    return BenchOptions(
        passes=_chosen("pass", passes, TIMED_PASSES),
        modes=_chosen("mode", modes, TIMING_MODES),
        rule=rule,
        ordinal=ordinal,
        shared=shared,
        timeout_s=timeout,
    )


def _chosen(kind: str, text: str | None, known: tuple[str, ...]) -> tuple[str, ...]:
    """The names in a text, in their own order; all where none are given.

    Raises  UsageError for an unknown one.
    """
    from pyharness.errors import unknown_name

    if text is None:
        return known
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise unknown_name(kind, name, known)
    return tuple(name for name in known if name in names)


def _timers(
    releases: list[str],
    peer: str | None,
    peer_device: str | None,
    options: BenchOptions,
    progress: Progress,
) -> list[Timer]:
    """Every side, open; what was opened is closed again if a later one cannot be."""
    from pyharness.api.bench_sides import ReleaseTimer
    from pyharness.api.bench_torch import TorchTimer
    from pyharness.api.driver import require_driver
    from pyharness.api.progress import fetching
    from pyharness.releases.locate import resolve

    if releases:
        require_driver()
    timers: list[Timer] = []
    try:
        for name in releases:
            release = resolve(name, full=True, progress=fetching(name, progress))
            timers.append(ReleaseTimer(release, options))
        if peer is not None:
            there = f"cuda:{options.ordinal}" if releases else "cpu"
            timers.append(TorchTimer(peer_device or there, options))
    except BaseException:
        for timer in timers:
            timer.close()
        raise
    return timers
