"""Compiles libraries for tests: one call of the compiler for each."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

from filelock import FileLock

SOURCE = Path(__file__).with_name("fake_cudnn.cpp")
CSRC = Path(__file__).parents[2] / "csrc"


def build_fake(folder: Path, *defines: str) -> Path:
    """The library of these variants, compiled once for all processes that share ``folder``.

    ``defines``  WITHOUT_OPTIONAL, WITHOUT_REQUIRED, UNLOADABLE, DIES_ON_LOAD.
    """
    target = folder / f"libcudnn_{'_'.join(('fake', *defines)).lower()}.so.9"
    return build_shared(target, "-O1", f"-I{CSRC}", *(f"-D{d}" for d in defines), str(SOURCE))


def build_planted_data(folder: Path, *defines: str) -> Path:
    """The fake library with these changes planted in cudnnSetRNNDataDescriptor.

    ``defines``  REFUSES, ACCEPTS, CRASHES, RESTATES; none: the same answers as the fake library's.
    """
    target = folder / f"libcudnn_{'_'.join(('data', *defines)).lower()}.so.9"
    source = SOURCE.with_name("planted_data.cpp")
    return build_shared(target, "-O1", f"-I{CSRC}", *(f"-D{d}" for d in defines), str(source))


def build_shared(target: Path, *arguments: str) -> Path:
    """A shared library of these options and sources, compiled once for all processes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(target.parent / ".lock"):
        if not target.exists():
            scratch = target.with_suffix(".part")
            command = [*_compiler(), "-std=c++17", "-Wall", "-Wextra", "-Werror"]
            command += ["-shared", "-fPIC", *arguments, "-o", str(scratch)]
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            scratch.rename(target)
    return target


def _compiler() -> list[str]:
    chosen = shlex.split(os.environ.get("CXX", "c++"))
    assert shutil.which(chosen[0]), f"these tests need a C++ compiler, and {chosen[0]} is not found"
    return chosen
