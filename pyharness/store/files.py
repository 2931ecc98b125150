"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyharness.errors import HarnessError, UsageError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SCRATCH = re.compile(r"\..+\.[0-9]+\.part")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A scratch path beside ``path`` that takes its place when the block ends well.

    Raises  HarnessError if the disk is full; the scratch file is gone then, ``path`` untouched.
            UsageError if ``path`` is a folder.
    """
    if path.is_dir():
        raise UsageError(
            f"{path} is a folder: a file is to be written there",
            "move it away, or give another --out",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with full_disk_told(path.parent):
            yield scratch
            scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Removes the scratch files of processes that were killed.

    Only for who has the folder to itself: the scratch file of another that writes is not spared.
    """
    for scratch in folder.glob(".*.*.part"):
        if _SCRATCH.fullmatch(scratch.name):
            scratch.unlink(missing_ok=True)


@contextmanager
def full_disk_told(folder: Path) -> Iterator[None]:
    """Turns a full disk into an error that says so and what to do.

    Raises  HarnessError.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise HarnessError(
            f"{folder} cannot take more data: {os.strerror(error.errno or 0)}",
            "what was written so far is kept: free some space and run the same command again, "
            "or give another --out",
        ) from error


def write_json(path: Path, data: Any) -> None:
    """Writes data as JSON, whole or not at all."""
    with replacing(path) as scratch:
        scratch.write_text(json.dumps(data, indent=2, allow_nan=False) + "\n", "utf-8")
