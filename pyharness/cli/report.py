"""``pyharness report``: result folders as one page, as Markdown and as data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from pyharness.cli.options import Json


def command(
    folders: Annotated[
        list[Path],
        typer.Argument(
            help="Result folders of any kind, or folders that hold some: of upgrade, map, diff, "
            "replay, stages, bench, time, memory, determinism, accuracy, check, drift, soak, "
            "audit, atlas.",
            metavar="DIR…",
        ),
    ],
    out: Annotated[
        Optional[Path],  # noqa: UP045 - typer reads the annotation at run time, on 3.10 too
        typer.Option(
            "--out",
            help="Folder for report.html, report.md and report.json (default: the folder "
            "itself where one is given; else results/report).",
            metavar="DIR",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make one self-contained page of result folders, and Markdown for a pull request.

    report.html needs no network. --json prints what report.json holds.
    """
    from pyharness.api.reporting import DATA, write_report
    from pyharness.cli.progress import shown

    target = out or (folders[0] if len(folders) == 1 else Path("results/report"))
    with shown() as progress:
        paths = write_report(folders, target, progress)
    if json:
        typer.echo((target / DATA).read_text("utf-8").rstrip())
    else:
        typer.echo("\n".join(str(path) for path in paths))
