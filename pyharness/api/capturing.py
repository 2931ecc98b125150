"""Capture: a program run with cuDNN's API log on."""

from __future__ import annotations

import glob
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import FrameType

from pyharness.errors import UsageError
from pyharness.logs.variables import DESTINATION, LOG_VARIABLES

_PROCESS = "%i"  # in the destination: the process
_TERMINAL = Path("/dev/tty")
HOW_TO_LOG = (
    "record one with `pyharness replay --capture -- COMMAND`, or run the program with\n"
    + " ".join(f"{name}={value}" for name, value in LOG_VARIABLES.items())
    + f" {DESTINATION}=FILE"
)
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


@dataclass(frozen=True, slots=True)
class Captured:
    """A program that was run with logging on.

    ``exit_code``  as a shell has it: 128 and more where a signal ended the program.
    ``logs``       what it wrote, one file a process that loaded cuDNN.
    """

    exit_code: int
    logs: list[Path]


def capture(command: Sequence[str], log: Path | None = None) -> Captured:
    """Runs a program with cuDNN's API log on, for 8.x and 9.x alike.

    Its input, output and signals are its own. SIGTERM, SIGHUP and SIGQUIT are passed on to it, and
    so is SIGINT, but for one that comes while we are in a terminal's foreground: that is Ctrl-C,
    which the terminal gives to the program too, and a second one would end what the first began to
    clean up. What our caller ignores (nohup), the program ignores too.

    ``log``  where to; each process adds its number before the suffix, or in place of the first %i
             of the name. None: a new name in the working directory.
    Raises   UsageError if there is no such program, or the place cannot be used; nothing is run
             then.
    """
    pattern = _log_pattern(log)
    for there in _logs(pattern):
        raise UsageError(f"{there} is there already", "give another --log, or remove it")
    _try_place(pattern)
    env = {**os.environ, **LOG_VARIABLES, DESTINATION: _destination(pattern)}
    try:
        # Its own handlers for signals are the program's affair; ours only pass them on.
        with _signals_passed_on() as running:
            running.append(subprocess.Popen(list(command), env=env))
            code = running[0].wait()
    except OSError as error:
        raise UsageError(
            f"{command[0]} cannot be run: {error.strerror or error}",
            "give the program and its arguments after --, as in `pyharness replay --capture -- "
            "python train.py`",
        ) from error
    return Captured(128 - code if code < 0 else code, _logs(pattern))


def _log_pattern(log: Path | None) -> Path:
    if log is None:
        log = Path(f"cudnn-{datetime.now().strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log")
    if os.path.isdir(log):  # noqa: PTH112 - Path.is_dir raises for a name that is too long
        raise UsageError(f"--log {log} is a folder", "give the name of a file in it")
    if _PROCESS not in log.name:
        log = log.with_name(f"{log.stem}.{_PROCESS}{log.suffix}")
    return Path(os.path.abspath(log))  # noqa: PTH100 - the program may change its folder


def _logs(pattern: Path) -> list[Path]:
    before, after = pattern.name.split(_PROCESS, 1)
    ours = re.compile(f"{re.escape(before)}[0-9]+{re.escape(after)}", re.DOTALL)
    found = pattern.parent.glob(f"{glob.escape(before)}*{glob.escape(after)}")
    return sorted(p for p in found if ours.fullmatch(p.name) and p.stat().st_size)


def _try_place(pattern: Path) -> None:
    """Makes a log like those to come, and removes it: the library says nothing if it cannot.

    Raises  UsageError if that fails, or the library would look elsewhere.
    """
    if _PROCESS in str(pattern.parent):  # the first of the whole path, doubled % or not
        raise UsageError(
            f"cuDNN puts the process in place of {_PROCESS} in the folder {pattern.parent}",
            f"give a --log in a folder without {_PROCESS}",
        )
    log = pattern.with_name(pattern.name.replace(_PROCESS, str(os.getpid()), 1))
    try:
        log.open("ab").close()
        log.unlink()
    except OSError as error:
        raise UsageError(
            f"{log} cannot be written: {error.strerror or error}",
            "give a --log in a folder that is there and takes files",
        ) from error


def _destination(pattern: Path) -> str:
    """The pattern as the library takes it, which expands every % of the whole path."""
    before, after = (part.replace("%", "%%") for part in str(pattern).split(_PROCESS, 1))
    return f"{before}{_PROCESS}{after}"


@contextmanager
def _signals_passed_on() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Passes signals on to the program in the list, see capture."""
    running: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        del frame
        for process in running:
            if number != signal.SIGINT or not _in_foreground():
                process.send_signal(number)

    # Neither SIG_IGN, which the program would inherit, nor a handler instead of one that it should.
    before = {
        number: signal.signal(number, pass_on)
        for number in _PASSED_ON
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield running
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_foreground() -> bool:
    """Whether a terminal sends Ctrl-C to us, and so to the program."""
    try:
        with _TERMINAL.open("rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False
