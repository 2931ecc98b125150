"""The C++ compiler that reads the headers."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from pyharness.errors import HarnessError

HERE = Path(__file__).parent


def preprocess(include_dirs: Iterable[Path]) -> str:
    """<cudnn.h> and all that it includes, with the macro definitions.

    Raises  HarnessError if the compiler cannot read it.
    """
    done = _run(["-E", "-P", "-dD", *_system(include_dirs)], "#include <cudnn.h>\n")
    if done.returncode:
        raise HarnessError("cudnn.h cannot be preprocessed", done.stderr)
    return done.stdout


def compile_errors(unit: str, include_dirs: Iterable[Path], own_dirs: Iterable[Path]) -> list[str]:
    """What the compiler says against a translation unit; empty when it compiles.

    ``include_dirs``  the vendor's, whose warnings do not count.
    ``own_dirs``      ours, in front of tests/abi.
    """
    own = [f"-I{folder}" for folder in (*own_dirs, HERE)]
    flags = ["-fsyntax-only", "-Wall", "-Werror", *own, *_system(include_dirs)]
    done = _run(flags, unit)
    if done.returncode == 0:
        return []
    errors = [line.partition("rror: ")[2] for line in done.stderr.splitlines() if "rror: " in line]
    return errors or [done.stderr or f"the compiler ended with {done.returncode}"]


def _system(folders: Iterable[Path]) -> list[str]:
    return [argument for folder in folders for argument in ("-isystem", str(folder))]


def _run(flags: list[str], source: str) -> subprocess.CompletedProcess[str]:
    command = [*_compiler(), "-std=c++17", *flags, "-x", "c++", "-"]
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(
        command, input=source, capture_output=True, text=True, check=False, env=environment
    )


def _compiler() -> list[str]:
    """CXX, or the system's C++ compiler.

    Raises  HarnessError if there is none.
    """
    chosen = shlex.split(os.environ.get("CXX", ""))
    found = chosen[:1] or ["c++", "g++"]
    for name in found:
        if shutil.which(name):
            return [name, *chosen[1:]]
    raise HarnessError(
        f"no C++ compiler: {' and '.join(found)} cannot be found",
        "install g++, or name a compiler in CXX",
    )
