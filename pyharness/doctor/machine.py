"""The machine, the compiled part and the packages: what pyharness itself stands on."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib import metadata

import psutil

from pyharness import __version__
from pyharness.device import core
from pyharness.errors import HarnessError

PACKAGES = ("numpy", "pandas", "pyarrow", "scipy", "altair", "torch", "nvidia-ml-py")
# one package, named after the CUDA that it is built for
_CUPY = ("cupy-cuda13x", "cupy-cuda12x", "cupy-cuda11x", "cupy")


@dataclass(frozen=True, slots=True)
class Machine:
    """Who runs, and on what.

    ``cores``         those that this process may use.
    ``memory_bytes``  of the machine; None where the system does not tell.
    """

    pyharness: str
    python: str
    system: str
    architecture: str
    cores: int | None
    memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class Compiled:
    """The compiled part.

    ``problem``  why it cannot be loaded, and ``remedy`` what to do; both empty when it can.
    """

    compiler: str | None = None
    build_type: str | None = None
    problem: str = ""
    remedy: str = ""


def look_at_machine() -> Machine:
    """The machine that this process runs on."""
    try:
        memory: int | None = psutil.virtual_memory().total
    except (OSError, ValueError, psutil.Error):
        memory = None
    try:
        cores: int | None = len(os.sched_getaffinity(0))
    except OSError:
        cores = os.cpu_count()
    return Machine(
        pyharness=__version__,
        python=platform.python_version(),
        system=platform.system(),
        architecture=platform.machine(),
        cores=cores,
        memory_bytes=memory,
    )


def look_at_compiled() -> Compiled:
    """The compiled part, loaded if it can be."""
    try:
        part = core()
    except HarnessError as error:
        return Compiled(problem=error.message, remedy=error.hint)
    return Compiled(compiler=part.compiler, build_type=part.build_type)


def look_at_packages() -> dict[str, str | None]:
    """Versions of the packages that make a difference, by name; None for those not installed."""
    versions = {name: _version(name) for name in PACKAGES}
    cupy = next((name for name in _CUPY if _version(name) is not None), None)
    return {**versions, cupy or "cupy": _version(cupy) if cupy else None}


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except (metadata.PackageNotFoundError, OSError, ValueError):
        return None
