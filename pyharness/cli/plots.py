"""What ``--plots`` does, the same for every command."""

from __future__ import annotations

from pathlib import Path

import typer


def draw(folder: Path, wanted: bool) -> None:
    """Draws the pictures of a result folder if they are wanted, and says where they are.

    On stderr: stdout may be one JSON document.
    """
    if not wanted:
        return
    from pyharness.api.plotting import PLOTS, write_plots

    paths = write_plots(folder)
    where = f"Pictures in {folder / PLOTS}" if paths else f"nothing in {folder} can be drawn"
    typer.echo(where, err=True)
