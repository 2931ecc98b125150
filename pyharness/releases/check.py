"""Checks of a library given by path, before any process opens it."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from pathlib import Path

from pyharness.errors import UsageError
from pyharness.releases.elf import NotElfError, missing_symbols, read_elf
from pyharness.spec.functions import FUNCTIONS

# Functions that every release has had since 8.5 and that a walk cannot do without. Clipping has
# two, one of which may go: a release without either is walked without it.
REQUIRED_SYMBOLS = tuple(
    f.name
    for f in FUNCTIONS
    if f.since is None and not f.needs_gpu and not f.name.startswith("cudnnRNNSetClip")
)

_MARK = "cudnnGetVersion"  # every cuDNN has it, and nothing else


def check_library(path: Path, required: Iterable[str] = REQUIRED_SYMBOLS) -> None:
    """Check that a file is a cuDNN that this machine can open, without opening it.

    Raises  UsageError that says what the file is instead: missing, no library, for another
            architecture, not cuDNN, or a cuDNN without a function that is called.
    """
    try:
        facts = read_elf(path)
        absent = missing_symbols(path, dict.fromkeys([_MARK, *required]))
    except NotElfError as error:
        raise UsageError(f"{path} is {error}", "give the path of a libcudnn.so.N") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    if facts.machine != platform.machine():
        raise UsageError(
            f"{path} is built for {facts.machine}, this machine is {platform.machine()}",
            "take the library from a package for this machine, or give a version to fetch",
        )
    if _MARK in absent:
        what = facts.soname or path.name
        raise UsageError(
            f"{path} is not cuDNN: it is {what} and does not export {_MARK}",
            "give the path of a libcudnn.so.N",
        )
    if absent:
        raise UsageError(
            f"{path} lacks {len(absent)} function{'s' if len(absent) > 1 else ''} that pyharness "
            f"calls: {', '.join(absent)}",
            "cuDNN 8.5 or newer is needed; give libcudnn.so.N itself, not one of its sublibraries",
        )
