"""What a shared library says of itself, read from its file: nothing is loaded."""

from __future__ import annotations

import functools
import platform
import re
import shutil
import struct
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

_MACHINES = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}
_LDCONFIG_TAGS = {"x86_64": "x86-64", "aarch64": "AArch64"}
_LDCONFIG_LINE = re.compile(r"\s*(?P<name>\S+) \((?P<tags>[^)]*)\) => (?P<path>.+)")
_SYSTEM_DIRS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")


class NotElfError(ValueError):
    """The file is no ELF shared library; the message says what it is."""


@dataclass(frozen=True, slots=True)
class ElfFacts:
    """The dynamic section of a library.

    ``machine``  as platform.machine() calls it where known, else ELF's own name.
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
    soname = None
    needed = []
    search: list[str] = []
    with _opened(path) as (elf, dynamic):
        for tag in dynamic.iter_tags():
            if tag.entry.d_tag == "DT_NEEDED":
                needed.append(tag.needed)
            elif tag.entry.d_tag == "DT_SONAME":
                soname = tag.soname
            elif tag.entry.d_tag == "DT_RUNPATH":
                search = tag.runpath.split(":")
            elif tag.entry.d_tag == "DT_RPATH" and not search:
                search = tag.rpath.split(":")
        machine = elf["e_machine"]
    origin = str(path.parent)
    folders = (s.replace("${ORIGIN}", origin).replace("$ORIGIN", origin) for s in search if s)
    return ElfFacts(
        machine=_MACHINES.get(machine, str(machine)),
        soname=soname,
        needed=tuple(needed),
        search=tuple(Path(f) for f in folders),
    )


def missing_symbols(path: Path, names: Iterable[str]) -> list[str]:
    """Which of the functions a library does not export, in the order asked for.

    Raises  NotElfError if the file is no shared library.
    """
    wanted = list(names)
    absent = set(wanted)
    with _opened(path) as (_, dynamic):
        for symbol in dynamic.iter_symbols():
            if symbol.name in absent and symbol.entry.st_shndx != "SHN_UNDEF":
                absent.discard(symbol.name)
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


@contextmanager
def _opened(path: Path) -> Iterator[tuple[ELFFile, Any]]:
    """A shared library and its dynamic segment; whatever is wrong with it is a NotElfError."""
    from elftools.common.exceptions import ELFError  # noqa: PLC0415 - only when a file is read
    from elftools.elf.elffile import ELFFile  # noqa: PLC0415

    with path.open("rb") as stream:
        start = stream.read(4096)
        if not start.startswith(b"\x7fELF"):
            kind = "a text file" if _is_text(start) else "a data file"
            raise NotElfError(f"{kind if start else 'an empty file'}, not a shared library")
        stream.seek(0)
        try:
            elf = ELFFile(stream)
            dynamic = next(elf.iter_segments("PT_DYNAMIC"), None)
            if dynamic is None:
                raise NotElfError("an ELF file of another kind, not a shared library")
            yield elf, dynamic
        except NotElfError:
            raise
        except (ELFError, struct.error, ValueError, AssertionError, OverflowError) as error:
            raise NotElfError("a damaged ELF file") from error


def _is_text(start: bytes) -> bool:
    return b"\0" not in start and all(b >= 32 or b in b"\t\r\n" for b in start)
