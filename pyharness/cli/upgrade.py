"""``pyharness upgrade``: may the pin be raised? A verdict, what it rests on, and an exit code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from pyharness.cli.options import (
    Device,
    Json,
    Logs,
    NoDevice,
    Plots,
    Threads,
    Timeout,
    Yes,
    device_choice,
)


def command(
    old: Annotated[str, typer.Argument(help="The release that is pinned, as for `pyharness try`.")],
    new: Annotated[str, typer.Argument(help="The release to raise it to.")],
    log: Logs = None,
    preset: Annotated[
        str,
        typer.Option(
            "--preset",
            help="Named space of host calls to map on both, see `pyharness presets`.",
            metavar="NAME",
        ),
    ] = "host",
    problems: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time, on 3.10 too
        typer.Option(
            "--problems",
            help="Set of problems to run where there is a GPU, as --preset of `pyharness bench` "
            "has it, with axes that change it behind its name: 'smoke hidden_size=512' (default: "
            "smoke; with --log the log's own).",
            metavar="NAME",
        ),
    ] = None,
    budget: Annotated[
        str,
        typer.Option(
            "--budget",
            help="Time for all of it: 90s, 30m, 1h. What a GPU is asked comes in the order "
            "validity, time, memory, repeatability, accuracy, drift, a log's most frequent "
            "problems first; what does not fit is said and is never a pass.",
            metavar="TIME",
        ),
    ] = "30m",
    gate: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            "--gate",
            help="TOML file that says what must not be worse. validity.newly_refused, "
            'newly_failed, newly_out_of_memory = "log", "any" or "none"; validity.call_removed, '
            "time.inconclusive, repeatability.lost, accuracy.worse, drift.changed = "
            '"any" or "none"; time.slower = "3%" (from 2% on), memory.grown = "5%", or "none". '
            "Default: nothing of the log refused or failing (without a log nothing at all, and no "
            "call gone), 3% of time, 5% of memory, nothing less repeatable or accurate; what is "
            "not measured for want of a GPU is not judged unless the file names it.",
            metavar="FILE",
        ),
    ] = None,
    device: Device = None,
    no_device: NoDevice = False,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            "--out",
            help="Folder for run.json, upgrade.json, upgrade.txt, the report and a folder of each "
            "part (default: results/upgrade/OLD/PROBLEMS-to-NEW).",
            metavar="DIR",
        ),
    ] = None,
    maps: Annotated[
        Path, typer.Option("--maps", help="Folder of the maps made on the way.", metavar="DIR")
    ] = Path("results/maps"),
    threads: Threads = None,
    timeout: Timeout = 10.0,
    yes: Yes = False,
    plots: Plots = False,
    json: Json = False,
) -> None:
    """Compare two releases, question by question, and say whether the new one is worse.

    On any machine by what the host calls accept over --preset, and of the problems of --log; where
    there is a GPU also by what runs: to which stage, how fast, with how much memory, whether it
    repeats and how exact it is. The same command goes on with what it left.

    Exits with 0 if nothing is worse by the gate, with 3 if something is, with 4 if it cannot be
    told.
    """
    from pyharness.api.diffing import row_reasons
    from pyharness.api.upgrade_budget import parse_budget
    from pyharness.api.upgrading import Request, read_gate, upgrade
    from pyharness.cli.options import map_options
    from pyharness.cli.plots import draw
    from pyharness.cli.progress import shown
    from pyharness.errors import EXIT_GATE, EXIT_INCONCLUSIVE, EXIT_INTERRUPTED
    from pyharness.present.jsons import dumps
    from pyharness.present.upgrade import render_upgrade
    from pyharness.present.upgrade_data import upgrade_data
    from pyharness.space.presets import build_space

    logs = log or []
    space = build_space(preset, None, [])
    request = Request(
        old,
        new,
        space,
        logs,
        read_gate(gate, bool(logs)),
        map_options(threads, timeout, row_reasons(space), yes),
        problems,
        device_choice(device, no_device),
        parse_budget(budget),
    )
    try:
        with shown() as progress:
            found, folder = upgrade(request, maps, out, progress)
    except KeyboardInterrupt:
        typer.echo("interrupted: the same command goes on", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if json:
        typer.echo(dumps({"folder": str(folder), **upgrade_data(found)}))
    else:
        typer.echo(f"{render_upgrade(found)}\n\nReport and tables in {folder}")
    draw(folder, plots)
    if found.word != "passed":
        raise typer.Exit(EXIT_GATE if found.word == "failed" else EXIT_INCONCLUSIVE)
