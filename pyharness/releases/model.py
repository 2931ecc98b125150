"""A release: one cuDNN library that can be opened, and how releases are ordered and named."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from packaging.version import Version

Origin = Literal["cache", "installed", "path"]

CUDA_PREFERENCE = (12, 13, 11)  # the order in which a version without +cuNN is looked for
_PLAIN = re.compile(r"\d+(?:\.\d+)+")
_REQUEST = re.compile(r"(?P<version>\d+(?:\.\d+)*)(?:\+cu(?P<cuda>\d+))?")


@dataclass(frozen=True, slots=True)
class Release:
    """One cuDNN library on this machine.

    ``version``       four numbers for a wheel (9.28.0.42), three where only a header or a file name
                      tells it (9.28.0), None until a worker has loaded it.
    ``cuda_major``    11, 12 or 13; None when nothing near the library tells it.
    ``path``          the libcudnn.so.N to open.
    ``origin``        cache, installed or path.
    ``library_dirs``  folders to search for the cuBLAS and NVRTC of this release, libcudnn's first.
    """

    version: str | None
    cuda_major: int | None
    path: Path
    origin: Origin
    library_dirs: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        """The release as people write it: ``9.28.0.42+cu12``, or the path of an unknown one."""
        if self.version is None:
            return str(self.path)
        return release_name(self.version, self.cuda_major)

    @property
    def numbers(self) -> tuple[int, ...] | None:
        """The version as numbers, (9, 28, 0, 42); None where it is not known or no plain one."""
        if self.version is None or not is_plain(self.version):
            return None
        return tuple(int(n) for n in self.version.split("."))

    @property
    def stamp(self) -> str | None:
        """What tells this file from another that takes its place: path, size and time.

        None for a cached release: its files were checked against the wheel's checksums, so its name
        says it all, wherever the cache lies.
        """
        if self.origin == "cache":
            return None
        stat = self.path.stat()
        return f"{self.path.resolve()} {stat.st_size} {stat.st_mtime_ns}"


def release_name(version: str, cuda_major: int | None) -> str:
    """``9.28.0.42+cu12``, or the bare version when the CUDA major is unknown."""
    return version if cuda_major is None else f"{version}+cu{cuda_major}"


def loaded_version(number: int) -> str:
    """``9.13.0`` for cudnnGetVersion() 91300, ``8.9.7`` for 8907: the scheme changed in 9.0."""
    if number >= 90000:
        return f"{number // 10000}.{number // 100 % 100}.{number % 100}"
    return f"{number // 1000}.{number // 100 % 10}.{number % 100}"


def is_plain(version: str) -> bool:
    """Whether a version is only numbers and dots; development versions are not."""
    return _PLAIN.fullmatch(version) is not None


def version_key(version: str | None) -> Version:
    """Sort key of a version; an unknown one sorts before all others."""
    from packaging.version import Version  # noqa: PLC0415 - kept out of the import of pyharness

    return Version(version or "0")


def release_key(version: str | None, cuda_major: int | None) -> tuple[Version, int]:
    """Sort key of a release: by version, and within one by preference of the CUDA major."""
    rank = CUDA_PREFERENCE.index(cuda_major) if cuda_major in CUDA_PREFERENCE else 99
    return version_key(version), -rank


def parse_request(text: str) -> tuple[str, int | None] | None:
    """The version and CUDA major asked for.

    Returns  ("9.28.0.42", 12) for ``9.28.0.42+cu12``, (.., None) without ``+cuNN``, None for
             anything that is not a version.
    """
    match = _REQUEST.fullmatch(text)
    if match is None:
        return None
    cuda = match["cuda"]
    return match["version"], None if cuda is None else int(cuda)


def sibling_dirs(library: Path) -> tuple[Path, ...]:
    """Folders beside a libcudnn that hold its cuBLAS and NVRTC, as wheels lay them out.

    Returns  the library's own folder, then those of nvidia/cublas, cuda_nvrtc, nvrtc and cu13 that
             exist.
    Source   RUNPATH of the sublibraries: $ORIGIN, $ORIGIN/../../cublas/lib, ../../cuda_nvrtc/lib.
    """
    folder = Path(os.path.abspath(library.parent))  # noqa: PTH100 - symlinks stay, as for $ORIGIN
    root = folder.parent.parent
    found = [folder]
    for name in ("cublas", "cuda_nvrtc", "nvrtc", "cu13"):
        candidate = root / name / "lib"
        if candidate.is_dir() and candidate != folder:
            found.append(candidate)
    return tuple(found)
