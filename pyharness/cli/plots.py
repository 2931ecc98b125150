"""What ``--plots`` does, the same for every command."""

from __future__ import annotations

from pathlib import Path

import typer


def draw(folder: Path, wanted: bool) -> None:
    """Draws the pictures of a result folder if they are wanted, and says where they are.

    On stderr: stdout may be one JSON document. A picture that cannot be drawn is a warning: the
    tables are whole, and the exit code is theirs.
    """
    if not wanted:
        return
    from pyharness.api.plotting import PLOTS, write_plots

    plots = write_plots(folder)
    where = f"Pictures in {folder / PLOTS}" if plots.paths else f"nothing in {folder} can be drawn"
    typer.echo(where, err=True)
    for name, why in plots.failed.items():
        typer.echo(f"warning: the picture {name} could not be drawn: {why}", err=True)
