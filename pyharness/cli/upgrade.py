"""``pyharness upgrade``: may the pin be raised? A verdict, what it rests on, and an exit code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from pyharness.cli.options import Json, Logs, Preset, Threads, Timeout, Yes


def command(
    old: Annotated[str, typer.Argument(help="The release that is pinned, as for `pyharness try`.")],
    new: Annotated[str, typer.Argument(help="The release to raise it to.")],
    log: Logs = None,
    preset: Preset = "host",
    gate: Annotated[
        Optional[Path],  # noqa: UP045 - typer reads the annotation at run time, on 3.10 too
        typer.Option(
            "--gate",
            help="TOML file that says what must not be worse: validity.newly_refused and "
            'validity.newly_failed = "log", "any" or "none"; validity.call_removed = "any" or '
            '"none" (default: nothing of the log refused or failing; without a log nothing at '
            "all, and no call gone).",
            metavar="FILE",
        ),
    ] = None,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            "--out",
            help="Folder for run.json, upgrade.json, upgrade.txt, diff/ and replay/ "
            "(default: results/upgrade/OLD/PROBLEMS-to-NEW).",
            metavar="DIR",
        ),
    ] = None,
    maps: Annotated[
        Path, typer.Option("--maps", help="Folder of the maps made on the way.", metavar="DIR")
    ] = Path("results/maps"),
    threads: Threads = None,
    timeout: Timeout = 10.0,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Compare two releases, question by question, and say whether the new one is worse.

    Exits with 0 if nothing is worse by the gate, with 3 if something is, with 4 if it cannot be
    told.
    """
    from pyharness.api.diffing import row_reasons
    from pyharness.api.upgrading import Request, read_gate, upgrade
    from pyharness.cli.options import map_options
    from pyharness.cli.progress import shown
    from pyharness.errors import EXIT_GATE, EXIT_INCONCLUSIVE
    from pyharness.present.jsons import dumps
    from pyharness.present.upgrade import render_upgrade, upgrade_data
    from pyharness.space.presets import build_space

    logs = log or []
    space = build_space(preset, None, [])
    options = map_options(threads, timeout, row_reasons(space), yes)
    request = Request(old, new, space, logs, read_gate(gate, bool(logs)), options)
    with shown() as progress:
        found, folder = upgrade(request, maps, out, progress)
    if json:
        typer.echo(dumps({"folder": str(folder), **upgrade_data(found)}))
    else:
        typer.echo(f"{render_upgrade(found)}\n\nTables in {folder}")
    if found.word != "passed":
        raise typer.Exit(EXIT_GATE if found.word == "failed" else EXIT_INCONCLUSIVE)
