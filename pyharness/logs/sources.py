"""Logs as bytes: files, packed files and standard input, block by block."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    if name == STDIN:
        given = io.BufferedReader(sys.stdin.buffer)
        try:
            if given.peek(2)[:2] == _PACKED:
                with gzip.open(given) as unpacked:
                    yield unpacked.read1
            else:
                yield given.read
        finally:
            given.detach()  # standard input is not ours to close
        return
    try:
        with Path(name).open("rb") as file:
            packed = file.read(2) == _PACKED if file.seekable() else name.endswith(".gz")
            if file.seekable():
                file.seek(0)
            if packed:
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


def size_on_disk(names: list[str]) -> int:
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
