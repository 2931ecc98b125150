"""Capture: a program run with cuDNN's API log on."""

from __future__ import annotations

import glob
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import FrameType

from pyharness.errors import UsageError

# 9.x reads the level, 8.x the other three; each leaves the other's alone.
LOG_VARIABLES = {
    "CUDNN_LOGLEVEL_DBG": "3",
    "CUDNN_LOGINFO_DBG": "1",
    "CUDNN_LOGWARN_DBG": "1",
    "CUDNN_LOGERR_DBG": "1",
}
DESTINATION = "CUDNN_LOGDEST_DBG"
_PROCESS = "%i"  # in the destination: the process
HOW_TO_LOG = (
    "record one with `pyharness replay --capture -- COMMAND`, or run the program with\n"
    + " ".join(f"{name}={value}" for name, value in LOG_VARIABLES.items())
    + f" {DESTINATION}=FILE"
)
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


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

    Its input, output and signals are its own.

    ``log``  where to; each process adds its number before the suffix, or in place of %i. None: a
             new name in the working directory.
    Raises   UsageError if there is no such program, or the place cannot be used.
    """
    pattern = _log_pattern(log)
    for there in _logs(pattern):
        raise UsageError(f"{there} is there already", "give another --log, or remove it")
    if not pattern.parent.is_dir():
        raise UsageError(f"{pattern.parent} is no folder", "give a --log in one that exists")
    env = {**os.environ, **LOG_VARIABLES, DESTINATION: str(pattern)}
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
    if _PROCESS not in log.name:
        log = log.with_name(f"{log.stem}.{_PROCESS}{log.suffix}")
    return Path(os.path.abspath(log))  # noqa: PTH100 - the program may change its folder


def _logs(pattern: Path) -> list[Path]:
    before, after = (glob.escape(part) for part in pattern.name.split(_PROCESS, 1))
    found = pattern.parent.glob(f"{before}[0-9]*{after}")
    return sorted(p for p in found if p.stat().st_size)


@contextmanager
def _signals_passed_on() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Passes signals on to the program in the list; Ctrl-C reaches it without us."""
    running: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        del frame
        for process in running:
            if number != signal.SIGINT:
                process.send_signal(number)

    # Not SIG_IGN: the program would inherit it.
    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, *_PASSED_ON)}
    try:
        yield running
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
