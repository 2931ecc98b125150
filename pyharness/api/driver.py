"""What can be told of driver and library by their files: cheap to ask, nothing is loaded."""

from __future__ import annotations

import os
from pathlib import Path

from pyharness.errors import UsageError
from pyharness.releases.dependencies import loader_folders
from pyharness.releases.elf import find_library, missing_symbols
from pyharness.releases.model import Release
from pyharness.spec.device_facts import EMULATOR_SYMBOL

LIBCUDA = "PYHARNESS_LIBCUDA"


def chosen_libcuda() -> str:
    """The CUDA driver to open: what PYHARNESS_LIBCUDA names, or the system's."""
    return os.environ.get(LIBCUDA) or "libcuda.so.1"


def driver_findable() -> bool:
    """Whether the loader would find the driver: without it there is no GPU to ask for."""
    name = chosen_libcuda()
    return Path(name).exists() if "/" in name else find_library(name, loader_folders()) is not None


def require_driver() -> None:
    """Nothing, if there may be a driver; asked before a gigabyte of a release is fetched.

    Raises  UsageError if there is none.
    """
    if not driver_findable():
        raise UsageError(
            f"there is no CUDA driver: {chosen_libcuda()} is not found",
            "`pyharness doctor` shows what is here, and what mends it",
        )


def is_emulated(release: Release) -> bool:
    """Whether the library is a test double, told without loading it."""
    return not missing_symbols(release.path, (EMULATOR_SYMBOL,))
