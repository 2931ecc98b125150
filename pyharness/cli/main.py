"""Entry point of ``pyharness``: the commands, and what becomes of an error."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import Any

import typer

from pyharness.cli import (
    accuracy,
    atlas,
    audit,
    bench,
    check,
    determinism,
    diff,
    doctor,
    drift,
    explain,
    fetch,
    map,  # noqa: A004
    memory,
    presets,
    releases,
    replay,
    report,
    rules,
    soak,
    time_,
    try_,
    upgrade,
)
from pyharness.errors import EXIT_ENVIRONMENT, EXIT_INTERRUPTED, EXIT_USAGE, HarnessError

app = typer.Typer(
    name="pyharness",
    help="Test bench for cuDNN's RNN API: what a release accepts, and what changed since the last.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


# All that tells a path that pathlib cannot make sense of from other RuntimeErrors.
_PATHLIB_SAYS = ("Could not determine home", "Symlink loop")


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
    ("try", try_),
    ("explain", explain),
    ("map", map),
    ("memory", memory),
    ("bench", bench),
    ("accuracy", accuracy),
    ("check", check),
    ("determinism", determinism),
    ("drift", drift),
    ("soak", soak),
    ("time", time_),
    ("upgrade", upgrade),
    ("diff", diff),
    ("rules", rules),
    ("replay", replay),
    ("report", report),
    ("audit", audit),
    ("atlas", atlas),
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


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Answers the first Ctrl-C; those that follow must not keep cleaning up from its end."""
    del number, frame
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # not a handler: those go before Python does
    raise KeyboardInterrupt


@contextmanager
def _interrupted_once() -> Iterator[None]:
    """Ctrl-C interrupts the block once; where the caller had it ignored it stays so."""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is _interrupt:
            signal.signal(signal.SIGINT, signal.default_int_handler)


_NO_PATH = (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.ELOOP)  # as it was given


def _os_words(error: OSError) -> str:
    """What the system refused, in one line: the path if it names one, and why."""
    why = " ".join((error.strerror or str(error) or type(error).__name__).split())
    return why if error.filename is None else f"{error.filename}: {why}"


def _open_streams() -> None:
    """Gives standard streams that the caller has closed a place to go, and their numbers back."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - stays open
            setattr(sys, name, stream)


def main() -> None:
    """Runs a command; errors go to stderr in words, the exit code says of what kind they are.

    A defect of ours (a ValueError, KeyError, TypeError …) keeps its traceback.
    """
    _open_streams()
    with _interrupted_once():
        _main()


def _main() -> None:
    try:
        app()
    except HarnessError as error:
        sys.stderr.write(f"error: {error.message}\n")
        for line in error.hint.splitlines():
            sys.stderr.write(f"  {line}\n")
        sys.exit(error.exit_code)
    except OSError as error:
        sys.stderr.write(f"error: {_os_words(error)}\n")
        sys.exit(EXIT_USAGE if error.errno in _NO_PATH else EXIT_ENVIRONMENT)
    except RuntimeError as error:
        if not str(error).startswith(_PATHLIB_SAYS):
            raise
        sys.stderr.write(f"error: a path cannot be read: {error}\n")
        sys.exit(EXIT_USAGE)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
