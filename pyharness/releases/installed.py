"""cuDNN libraries that are already on this machine, found without loading any."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyharness.errors import HarnessError
from pyharness.releases.elf import loader_cache
from pyharness.releases.model import Release, release_key, sibling_dirs
from pyharness.releases.provenance import belongs_to_wheel, provenance_of

_LIBRARY = re.compile(r"libcudnn\.so(?:\.(\d+)(?:\.\d+)*)?")
_SUBLIBRARIES = {
    8: ("adv_infer", "adv_train", "cnn_infer", "cnn_train", "ops_infer", "ops_train"),
    9: (
        "adv",
        "cnn",
        "engines_precompiled",
        "engines_runtime_compiled",
        "graph",
        "heuristic",
        "ops",
    ),
}
SYSTEM_DIRS = ("/usr/lib64", "/usr/lib")
SYSTEM_PATTERNS = ("lib/*-linux-gnu", "local/cuda*/lib64", "local/cuda*/targets/*/lib")  # of /usr


@dataclass(frozen=True, slots=True)
class Sublibrary:
    """A sublibrary beside libcudnn: ``part`` is its name without libcudnn_ and .so.N.

    ``version``  None when nothing beside it tells.
    ``altered``  an installed wheel claims the file, and its size is another.
    """

    part: str
    path: Path
    version: str | None
    altered: bool


@dataclass(frozen=True, slots=True)
class InstalledLibrary:
    """A libcudnn on this machine.

    ``source``        package, torch, conda, LD_LIBRARY_PATH or system.
    ``sublibraries``  those beside it.
    ``missing``       parts of this major version that are not there.
    """

    path: Path
    version: str | None
    cuda_major: int | None
    source: str
    sublibraries: tuple[Sublibrary, ...]
    missing: tuple[str, ...]

    @property
    def mixed(self) -> bool:
        """Whether files of several versions lie together: cuDNN then fails in odd ways."""
        versions = {s.version for s in self.sublibraries} | {self.version}
        short = {".".join(v.split(".")[:3]) for v in versions if v is not None}
        return len(short) > 1 or any(s.altered for s in self.sublibraries)

    def release(self) -> Release:
        """The release to open."""
        return Release(
            self.version, self.cuda_major, self.path, "installed", sibling_dirs(self.path)
        )


def list_installed() -> list[InstalledLibrary]:
    """Every cuDNN of this environment's packages, torch, conda and the system.

    Returns  libraries, the newest first, those of unknown version last; the same file is listed
             once, under the place that is looked at first.
    """
    found: dict[Path, InstalledLibrary] = {}
    for source, folder in _places():
        for library in libraries_in(folder):
            found.setdefault(library.resolve(), _describe(library, source))
    return sorted(
        found.values(), key=lambda lib: release_key(lib.version, lib.cuda_major), reverse=True
    )


def newest_installed() -> Release:
    """The newest cuDNN on this machine.

    Raises  HarnessError if there is none.
    """
    libraries = list_installed()
    if not libraries:
        raise HarnessError(
            "no cuDNN is installed on this machine",
            "looked in this environment's packages, torch, conda, LD_LIBRARY_PATH and the system; "
            "give a version to fetch one, or the path of a libcudnn.so.N",
        )
    return libraries[0].release()


def libraries_in(folder: Path) -> list[Path]:
    """The libcudnn.so.N of a folder, one for each major version, under its shortest name."""
    try:
        names = sorted((p.name for p in folder.iterdir()), key=lambda n: (len(n), n))
    except OSError:
        return []
    best: dict[str, Path] = {}
    for name in names:
        match = _LIBRARY.fullmatch(name)
        if match and (folder / name).is_file() and match[1] is not None:
            best.setdefault(match[1], folder / name)
    if not best and "libcudnn.so" in names and (folder / "libcudnn.so").is_file():
        return [folder / "libcudnn.so"]
    return list(best.values())


def _places() -> Iterator[tuple[str, Path]]:
    """Source and folder of each place to look at, the most specific first."""
    for entry in dict.fromkeys(Path(p) for p in sys.path if p):
        yield "package", entry / "nvidia" / "cudnn" / "lib"
        yield "torch", entry / "torch" / "lib"
    if prefix := os.environ.get("CONDA_PREFIX"):
        yield "conda", Path(prefix) / "lib"
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        if folder:
            yield "LD_LIBRARY_PATH", Path(folder)
    for name, path in loader_cache().items():
        if _LIBRARY.fullmatch(name):
            yield "system", path.parent
    for folder in SYSTEM_DIRS:
        yield "system", Path(folder)
    for pattern in SYSTEM_PATTERNS:
        for path in sorted(Path("/usr").glob(pattern)):
            yield "system", path


def _describe(library: Path, source: str) -> InstalledLibrary:
    known = provenance_of(library)
    match = re.search(r"\.so\.(\d+)", library.resolve().name)
    major = int(match[1]) if match else None
    expected = _SUBLIBRARIES.get(major or 0, ())
    suffix = "" if major is None else f".{major}"
    present = []
    for path in sorted(library.parent.glob(f"libcudnn_*.so{suffix}")):
        part = path.name.removeprefix("libcudnn_").split(".so", 1)[0]
        theirs = provenance_of(path)
        # a file that a wheel claims but whose size is another one has no version of its own
        altered = theirs.cuda_major is None and belongs_to_wheel(path)
        present.append(Sublibrary(part, path, None if altered else theirs.version, altered))
    parts = {s.part for s in present}
    return InstalledLibrary(
        path=library,
        version=known.version,
        cuda_major=known.cuda_major,
        source=source,
        sublibraries=tuple(present),
        missing=tuple(part for part in expected if part not in parts),
    )
