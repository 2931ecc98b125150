"""Logs as bytes: files, packed files and standard input, block by block."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from pyharness.errors import UsageError

Read = Callable[[int], bytes]

STDIN = "-"
_PACKED = b"\x1f\x8b"


@contextmanager
def opened(name: str) -> Iterator[Read]:
    """A log to read: unpacked if it is gzip; ``-`` is standard input.

    Returns  what gives the next bytes, at most so many; none at the end.
    Raises   UsageError if it cannot be read.
    """
    try:
        # Standard input is not ours to close.
        with nullcontext(_stdin()) if name == STDIN else Path(name).open("rb") as file:
            if file.peek(len(_PACKED)).startswith(_PACKED):  # a pipe cannot go back
                with gzip.open(file) as unpacked:
                    yield unpacked.read1  # of a file that breaks off it gives what is there
            else:
                yield file.read
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(
            f"the log {name} cannot be read: {why}",
            "give files that cuDNN wrote with CUDNN_LOGDEST_DBG, or - for standard input",
        ) from error


def _stdin() -> io.BufferedReader:
    """Standard input as bytes.

    Raises  UsageError if there is none.
    """
    given = None if sys.stdin is None else sys.stdin.buffer
    if not isinstance(given, io.BufferedReader):
        raise UsageError("standard input is closed", "pipe a log into it, or give a file")
    return given


def each_once(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The logs without those that were named before, and a note on each of these."""
    kept: dict[object, str] = {}
    notes: list[str] = []
    for name in names:
        key: object = name
        try:
            if name != STDIN:
                about = os.stat(name)  # noqa: PTH116
                key = about.st_dev, about.st_ino
        except OSError:
            pass  # said when it is opened
        if key in kept:
            notes.append(f"{name} again: the same file as {kept[key]}, read once")
        else:
            kept[key] = name
    return list(kept.values()), notes


def size_on_disk(names: Sequence[str]) -> int:
    """Bytes of all logs as they lie on disk; what cannot be told counts as none."""
    total = 0
    for name in names:
        try:
            total += 0 if name == STDIN else os.stat(name).st_size  # noqa: PTH116
        except OSError:
            continue  # said when it is opened
    return total


def blocks(read: Read, length: int) -> Iterator[bytes]:
    """The bytes of a file, ``length`` at a time.

    Raises  EOFError if a packed file ends early or is damaged; what came before was given.
    """
    while True:
        parts: list[bytes] = []
        missing, broken = length, None
        while missing > 0:
            try:
                part = read(missing)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                broken = str(error)
                break
            if not part:
                break
            parts.append(part)
            missing -= len(part)
        if parts:
            yield parts[0] if len(parts) == 1 else b"".join(parts)
        if broken is not None:
            raise EOFError(broken)
        if missing:
            return
