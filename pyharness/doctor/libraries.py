"""The cuDNN libraries on this machine, what lies beside them, and whether they load."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pyharness.doctor.opening import TIME_LIMIT_S, Opening, open_library
from pyharness.releases.cache import CachedRelease
from pyharness.releases.dependencies import MissingLibrary, missing_dependencies
from pyharness.releases.elf import NotElfError, find_library, read_elf
from pyharness.releases.installed import InstalledLibrary
from pyharness.releases.model import Release, release_name

_TOOLKIT = {
    11: {"cublas": "libcublas.so.11", "nvrtc": "libnvrtc.so.11.2"},
    12: {"cublas": "libcublas.so.12", "nvrtc": "libnvrtc.so.12"},
    13: {"cublas": "libcublas.so.13", "nvrtc": "libnvrtc.so.13"},
}


@dataclass(frozen=True, slots=True)
class Library:
    """A cuDNN on this machine.

    ``source``           cache, package, torch, conda, LD_LIBRARY_PATH or system.
    ``full``             of a cached one: whether it has all that a GPU run needs.
    ``size_bytes``       of a cached one.
    ``absent``           sublibraries of an installed one that are not beside it.
    ``mixed``            versions that lie together, by sublibrary; empty when they agree.
    ``damaged``          files that no loader takes, and what they are instead.
    ``missing``          libraries that the host calls need and the loader does not find.
    ``shadowed_by``      folders of LD_LIBRARY_PATH whose sublibraries take the place of its own.
    ``missing_toolkit``  cublas and nvrtc, which a GPU run needs, where they are not found.
    ``opening``          what opening it gave; None where it was not tried.
    """

    name: str
    version: str | None
    cuda_major: int | None
    path: Path
    source: str
    full: bool | None = None
    size_bytes: int | None = None
    absent: tuple[str, ...] = ()
    mixed: dict[str, str] | None = None
    damaged: dict[str, str] | None = None
    missing: tuple[MissingLibrary, ...] = ()
    shadowed_by: tuple[Path, ...] = ()
    missing_toolkit: tuple[str, ...] = ()
    opening: Opening | None = None

    @property
    def lies(self) -> bool:
        """Whether it says that it is another version than its package does."""
        says = self.opening.says if self.opening is not None else None
        if says is None or self.version is None:
            return False
        return not f"{self.version}.".startswith(f"{says}.")

    @property
    def works(self) -> bool:
        """Whether it was opened and every call answered."""
        return self.opening is not None and not self.opening.problem


def examine_installed(found: InstalledLibrary, try_it: bool) -> Library:
    """What there is to say of an installed library; ``try_it`` opens it too."""
    release = found.release()
    damaged, missing = _files(release.path, [s.path for s in found.sublibraries])
    opening = open_library(release.path, TIME_LIMIT_S) if try_it else None
    return Library(
        name=_name(release, opening),
        version=release.version,
        cuda_major=release.cuda_major,
        path=release.path,
        source=found.source,
        absent=found.missing,
        mixed=_mixture(found),
        damaged=damaged,
        missing=missing,
        shadowed_by=_shadows(release.path),
        missing_toolkit=_toolkit(release),
        opening=opening,
    )


def examine_cached(entry: CachedRelease, try_it: bool) -> Library:
    """What there is to say of a cached release; ``try_it`` looks into its files and opens it."""
    release = entry.release()
    damaged: dict[str, str] | None = None
    missing: tuple[MissingLibrary, ...] = ()
    if try_it:
        damaged, missing = _files(release.path, sorted(release.path.parent.glob("libcudnn_*.so*")))
    return Library(
        name=entry.name,
        version=entry.version,
        cuda_major=entry.cuda_major,
        path=release.path,
        source="cache",
        full=entry.full,
        size_bytes=entry.size_bytes,
        damaged=damaged,
        missing=missing,
        shadowed_by=_shadows(release.path),
        missing_toolkit=_toolkit(release),
        opening=open_library(release.path, TIME_LIMIT_S) if try_it else None,
    )


def _name(release: Release, opening: Opening | None) -> str:
    """The version with its CUDA; what the library says where nothing beside it tells."""
    says = opening.says if opening is not None else None
    version = release.version or says
    return release_name(version, release.cuda_major) if version else release.path.name


def _mixture(found: InstalledLibrary) -> dict[str, str] | None:
    if not found.mixed:
        return None
    versions = {"libcudnn": found.version or "unknown"}
    for sublibrary in found.sublibraries:
        version = "not of its package" if sublibrary.altered else sublibrary.version
        versions[sublibrary.part] = version or "unknown"
    return versions


def _files(
    library: Path, sublibraries: Iterable[Path]
) -> tuple[dict[str, str] | None, tuple[MissingLibrary, ...]]:
    """Files that cannot be loaded, and libraries that are not found."""
    found = ((path.name, _damage(path)) for path in (library, *sublibraries))
    damaged = {name: what for name, what in found if what}
    if damaged:
        return damaged, ()
    try:
        return None, tuple(missing_dependencies(library))
    except NotElfError as error:
        return {"a library that it needs": str(error)}, ()
    except OSError as error:
        return {"a library that it needs": f"unreadable: {error}"}, ()


def _damage(path: Path) -> str:
    """What a file is instead of a shared library for this machine; empty when it is one."""
    try:
        machine = read_elf(path).machine
    except NotElfError as error:
        return str(error)
    except OSError as error:
        return f"unreadable: {error.strerror}"
    return "" if machine == platform.machine() else f"built for {machine}"


def _shadows(library: Path) -> tuple[Path, ...]:
    """Folders that the loader searches for sublibraries before the library's own folder.

    Source  ld.so(8): LD_LIBRARY_PATH comes before RUNPATH. Seen: 9.12.0.46 then answers with the
            sublibraries, and the version, of a 9.13.0.50 that lies there.
    """
    major = library.name.partition(".so.")[2].partition(".")[0]
    found = []
    for folder in _environment_dirs():
        if folder.resolve() == library.parent.resolve():
            break
        if any(folder.glob(f"libcudnn_*.so.{major or '*'}")):
            found.append(folder)
    return tuple(found)


def _environment_dirs() -> list[Path]:
    value = os.environ.get("LD_LIBRARY_PATH", "")
    return [Path(part) for part in value.split(":") if part]


def _toolkit(release: Release) -> tuple[str, ...]:
    names = _TOOLKIT.get(release.cuda_major or 0, {})
    folders = [*_environment_dirs(), *release.library_dirs]
    return tuple(kind for kind, name in names.items() if find_library(name, folders) is None)
