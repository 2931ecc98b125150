"""CuPy in a process that holds cuDNN: let in only where cuDNN goes on with libraries of its own.

The loader has one library for each name: who opens libnvrtc.so.12 gets what was loaded first under
that name, cuDNN too. CuPy compiles its kernels with NVRTC, and looks for it in its own environment
before it looks into LD_LIBRARY_PATH. So cuDNN's is loaded before, from where cuDNN itself would
take it; CuPy then gets that one. cuBLAS it does not load for elementwise work and reductions, but
for products; versions before 13 are linked to it, and stay outside.

Source  DT_NEEDED in the wheels of 12.3, 13.0, 13.6, 14.0 and 14.2; the files that 13.6 and 14.2
        have mapped after their import and after nvrtc.getVersion(); ld.so(8): LD_LIBRARY_PATH is
        searched before RUNPATH.
"""

from __future__ import annotations

import ctypes
import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_FIRST_VERSION = 13
_VERSION = re.compile(r"__version__ = ['\"]((\d+)[^'\"]*)")
_NVRTC = {11: "libnvrtc.so.11.2"}  # CUDA 11 names its first compatible version
_SHARED = ("libcublas", "libnvrtc.so")  # what cuDNN opens by name, and CuPy too


class Outside(Exception):
    """CuPy is not let in; the text says why."""


def invite() -> Any:
    """CuPy, imported, with cuDNN's own NVRTC.

    Raises  Outside if it is not there, or would bring a library that cuDNN uses from then on.
    """
    version, major = _installed()
    if major < _FIRST_VERSION:
        raise Outside(
            f"CuPy {version} is linked to cuBLAS, which cuDNN would use from then on: "
            f"{_FIRST_VERSION} and later are not"
        )
    try:
        import cupy  # noqa: PLC0415 - an extra, and not before it is known to be one of these
    except ImportError as error:
        raise Outside(f"CuPy cannot be imported: {' '.join(str(error).split())}") from error
    cuda = cupy.cuda.runtime.runtimeGetVersion() // 1000
    nvrtc = _NVRTC.get(cuda, f"libnvrtc.so.{cuda}")
    if not _load_own(nvrtc):
        raise Outside(
            f"CuPy would bring its own {nvrtc}: cuDNN's is not loaded, nor in LD_LIBRARY_PATH"
        )
    return cupy


def shared_files() -> set[str]:
    """The files of this process under names that cuDNN and CuPy both open."""
    maps = Path("/proc/self/maps").read_text("utf-8", "surrogateescape").splitlines()
    files = {line.split(maxsplit=5)[5] for line in maps if "/" in line}
    return {file for file in files if Path(file).name.startswith(_SHARED)}


def _installed() -> tuple[str, int]:
    """The version of CuPy, and its first number, without importing it."""
    spec = find_spec("cupy")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        file = Path(folder) / "_version.py"
        found = _VERSION.search(file.read_text("utf-8")) if file.is_file() else None
        if found is not None:
            return found[1], int(found[2])
    raise Outside("CuPy is not installed")


def _load_own(name: str) -> bool:
    """Loads a library from where cuDNN finds it first, unless it is loaded already."""
    try:
        ctypes.CDLL(name, os.RTLD_NOLOAD)
    except OSError:
        folders = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
        files = (Path(folder) / name for folder in folders if folder)
        found = next((file for file in files if file.is_file()), None)
        if found is None:
            return False
        ctypes.CDLL(str(found))
    return True
