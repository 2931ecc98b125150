"""``pyharness doctor``: what is here, what each missing thing prevents, and what mends it."""

from __future__ import annotations

from typing import Annotated

import typer

from pyharness.cli.options import Json
from pyharness.errors import EXIT_ENVIRONMENT, EXIT_OK, HarnessError

All = Annotated[bool, typer.Option("--all", help="Open every cached release, not the newest only.")]


def command(json: Json = False, every: All = False) -> None:
    """Say what is here and what is missing; exit with 1 if mapping does not work here."""
    try:
        from pyharness.doctor import diagnose
    except ImportError as error:
        raise HarnessError(
            f"a package that pyharness stands on cannot be imported: {error}",
            "install pyharness again, with what it needs: pip install --force-reinstall .",
        ) from error
    from pyharness.cli.screen import screen_width
    from pyharness.doctor.text import render_doctor
    from pyharness.present.jsons import dumps

    found = diagnose(every)
    typer.echo(dumps(found.as_data()) if json else render_doctor(found, screen_width()))
    raise typer.Exit(EXIT_OK if found.works else EXIT_ENVIRONMENT)
