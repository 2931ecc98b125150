"""Entry point of ``pyharness``: the commands, and what becomes of an error."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import typer

from pyharness.cli import diff, doctor, fetch, map, presets, releases, try_  # noqa: A004
from pyharness.errors import EXIT_INTERRUPTED, HarnessError

app = typer.Typer(
    name="pyharness",
    help="Test bench for cuDNN's RNN API: what a release accepts, and what changed since the last.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with Ctrl-C told in our words: typer's own differ from version to version."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            raise typer.Exit(EXIT_INTERRUPTED) from None

    return run


for _name, _module in (
    ("diff", diff),
    ("map", map),
    ("try", try_),
    ("releases", releases),
    ("fetch", fetch),
    ("presets", presets),
    ("doctor", doctor),
):
    app.command(_name)(_interruptible(_module.command))


def _version(show: bool) -> None:
    if show:
        from pyharness import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    del version


def main() -> None:
    """Runs a command; errors go to stderr in words, the exit code says of what kind they are."""
    try:
        app()
    except HarnessError as error:
        sys.stderr.write(f"error: {error.message}\n")
        for line in error.hint.splitlines():
            sys.stderr.write(f"  {line}\n")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
