"""What a shared library says of itself, read from its file: nothing is loaded."""

from __future__ import annotations

import functools
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pyharness.releases.elf_image import NEEDED, RPATH, RUNPATH, SONAME, ElfImage, NotElfError

__all__ = ["ElfFacts", "NotElfError", "find_library", "missing_symbols", "read_elf"]

_LDCONFIG_TAGS = {"x86_64": "x86-64", "aarch64": "AArch64"}
_LDCONFIG_LINE = re.compile(r"\s*(?P<name>\S+) \((?P<tags>[^)]*)\) => (?P<path>.+)")
_NAMES = (NEEDED, SONAME, RUNPATH, RPATH)
_SYSTEM_DIRS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")


@dataclass(frozen=True, slots=True)
class ElfFacts:
    """The dynamic section of a library.

    ``machine``  as platform.machine() calls it where known, else ELF's own number.
    ``needed``   names of the libraries that the loader must find.
    ``search``   folders of its RUNPATH (or RPATH), $ORIGIN resolved, in order.
    """

    machine: str
    soname: str | None
    needed: tuple[str, ...]
    search: tuple[Path, ...]


def read_elf(path: Path) -> ElfFacts:
    """Read the dynamic section of a shared library.

    Raises  NotElfError if it is none; OSError if it cannot be read.
    """
    image = ElfImage(path)
    named = [(tag, image.text(v)) for tag, v in image.entries if tag in _NAMES]
    search = [t for tag, t in named if tag == RUNPATH] or [t for tag, t in named if tag == RPATH]
    origin = str(path.parent)
    folders = (
        folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)
        for folder in (search or [""])[0].split(":")
        if folder
    )
    return ElfFacts(
        machine=image.machine,
        soname=next((t for tag, t in named if tag == SONAME), None),
        needed=tuple(t for tag, t in named if tag == NEEDED),
        search=tuple(Path(f) for f in folders),
    )


def missing_symbols(path: Path, names: Iterable[str]) -> list[str]:
    """Which of the functions a library does not export, in the order asked for.

    Raises  NotElfError if the file is no shared library.
    """
    wanted = list(names)
    absent = set(wanted)
    for name in ElfImage(path).defined():
        absent.discard(name)
        if not absent:
            break
    return [name for name in wanted if name in absent]


def find_library(name: str, folders: Iterable[Path]) -> Path | None:
    """Where the loader finds a library: the folders, then its cache, then the system's folders."""
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    cached = loader_cache().get(name)
    if cached is not None and cached.is_file():
        return cached
    candidates = (Path(folder) / name for folder in _SYSTEM_DIRS)
    return next((c for c in candidates if c.is_file()), None)


@functools.cache
def loader_cache() -> dict[str, Path]:
    """The loader's cache for this architecture: path by name; empty when there is no ldconfig."""
    tool = shutil.which("ldconfig") or shutil.which("ldconfig", path="/sbin:/usr/sbin")
    if tool is None:
        return {}
    try:
        done = subprocess.run([tool, "-p"], capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    tag = _LDCONFIG_TAGS.get(platform.machine(), "")
    found: dict[str, Path] = {}
    for line in done.stdout.splitlines():
        match = _LDCONFIG_LINE.match(line)
        if match and tag in match["tags"]:
            found.setdefault(match["name"], Path(match["path"]))
    return found
