"""``pyharness presets``: the named spaces, and what is in them."""

from __future__ import annotations

from pyharness.cli.options import Json


def command(json: Json = False) -> None:
    """List the presets: name, size, what they are about; and the axes of every call."""
    import typer

    from pyharness.present.jsons import dumps
    from pyharness.present.presets import render_presets
    from pyharness.space.presets import preset_data
    from pyharness.space.problems import problem_set_data

    data = {**preset_data(), "problem_sets": problem_set_data()}
    typer.echo(dumps(data) if json else render_presets(data))
