"""Libraries that a cuDNN needs and does not find, told without loading it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyharness.releases.elf import ElfFacts, NotElfError, find_library, read_elf
from pyharness.releases.parts import CUBLAS, NVRTC, toolkit_package
from pyharness.releases.provenance import provenance_of

_MAJOR = re.compile(r"\.so\.(\d+)")
_OURS = ("libcudnn", "libcublas", "libnvrtc", "libcudart")
# sublibraries that libcudnn opens by name for the calls that need no GPU
_OPENED = {8: ("ops_infer", "ops_train", "adv_infer", "adv_train"), 9: ("graph", "ops", "adv")}
# those that it may open beyond them once there is a handle
_OPENED_ON_DEVICE = {9: ("cnn", "heuristic", "engines_precompiled", "engines_runtime_compiled")}
_NVRTC = {11: "libnvrtc.so.11.2"}  # CUDA 11 names its first compatible version


@dataclass(frozen=True, slots=True)
class MissingLibrary:
    """A library that is needed and not found.

    ``library``       its file name, as the loader looks for it.
    ``needed_by``     file name of the library that wants it.
    ``package_hint``  the package that brings it; empty when none is known.
    """

    library: str
    needed_by: str
    package_hint: str


def missing_dependencies(path: Path) -> list[MissingLibrary]:
    """The libraries that the host calls of a cuDNN need and the loader would not find.

    Returns  one entry for each, in the order in which the loader meets them; empty when all is
             there. On 8.5-8.7 each of them aborts the process.
    Raises   NotElfError if the file is no shared library.
    Source   DT_NEEDED and RUNPATH of each library; libcudnn opens its sublibraries by name.
    """
    library = Path(os.path.abspath(path))  # noqa: PTH100 - symlinks stay, as for $ORIGIN
    major = _major(library, read_elf(library))
    pending = [library]
    seen: set[str] = {library.name}
    missing: dict[str, MissingLibrary] = {}
    hint = _cudnn_package(library)
    while pending:
        current = pending.pop(0)
        facts = read_elf(current)
        wanted = list(facts.needed)
        if current == library:
            wanted += [f"libcudnn_{part}.so.{major}" for part in _OPENED.get(major or 0, ())]
        for name in wanted:
            if name in seen:
                continue
            seen.add(name)
            found = find_library(name, [*loader_folders(), *facts.search])
            if found is None:
                package = hint if name.startswith("libcudnn") else package_hint(name)
                missing[name] = MissingLibrary(name, current.name, package)
            elif name.startswith(_OURS):
                pending.append(found)
        nvrtc = _missing_nvrtc(current, facts)
        if nvrtc is not None:
            missing.setdefault(nvrtc.library, nvrtc)
    return list(missing.values())


def missing_toolkit(path: Path, cuda_major: int | None, folders: Sequence[Path]) -> list[str]:
    """The libraries of cuBLAS and NVRTC that the calls on a GPU open by name and would not find.

    ``folders``  where the loader looks first.
    Returns      their file names; none where the CUDA major is not known.
    Raises       NotElfError if the file is no shared library.
    Source       the names in the sublibraries of 8.9 to 9.28; their RUNPATH.
    """
    if cuda_major is None:
        return []
    places = [*folders, *loader_folders()]
    for sublibrary in sorted(path.parent.glob("libcudnn_*.so.*")):
        places += read_elf(sublibrary).search
    names = (f"libcublas.so.{cuda_major}", f"libcublasLt.so.{cuda_major}")
    wanted = (*names, _NVRTC.get(cuda_major, f"libnvrtc.so.{cuda_major}"))
    return [name for name in wanted if find_library(name, places) is None]


def missing_on_device(path: Path) -> list[str]:
    """The sublibraries of a cuDNN beyond those of the host calls that are not beside it."""
    library = Path(os.path.abspath(path))  # noqa: PTH100 - symlinks stay, as for $ORIGIN
    major = _major(library, read_elf(library))
    parts = _OPENED_ON_DEVICE.get(major or 0, ())
    names = (f"libcudnn_{part}.so.{major}" for part in parts)
    return [n for n in names if find_library(n, [library.parent, *loader_folders()]) is None]


def package_hint(library: str) -> str:
    """The package that brings a library: ``nvidia-cublas-cu11`` for libcublas.so.11, or empty."""
    version = _MAJOR.search(library)
    cuda = int(version[1]) if version else 11  # only CUDA 11 is looked for without a number
    if library.startswith("libcublas"):
        kind = CUBLAS
    elif library.startswith("libnvrtc"):
        kind = NVRTC
    elif library == "libz.so.1":
        return "zlib1g (system package)"
    else:
        return ""
    try:
        return toolkit_package(kind, cuda)
    except KeyError:
        return ""


def _missing_nvrtc(current: Path, facts: ElfFacts) -> MissingLibrary | None:
    """The libnvrtc.so that adv_infer of 8.5-8.7 opens while it is loaded.

    Source  seen: these are the releases whose ops_infer links cuBLAS; the library's own folder is
            not searched, only the rest of its RUNPATH, LD_LIBRARY_PATH and the system's folders.
    """
    if not current.name.startswith("libcudnn_adv_infer.so"):
        return None
    sibling = current.with_name(current.name.replace("adv_infer", "ops_infer"))
    try:
        old = any(name.startswith("libcublas.so.") for name in read_elf(sibling).needed)
    except (OSError, NotElfError):
        return None
    folders = [f for f in facts.search if f != current.parent]
    if not old or find_library("libnvrtc.so", [*loader_folders(), *folders]):
        return None
    return MissingLibrary("libnvrtc.so", current.name, package_hint("libnvrtc.so"))


def loader_folders() -> Iterable[Path]:
    """The folders that LD_LIBRARY_PATH names."""
    value = os.environ.get("LD_LIBRARY_PATH", "")
    return [Path(part) for part in value.split(":") if part]


def _major(library: Path, facts: ElfFacts) -> int | None:
    match = _MAJOR.search(facts.soname or library.name)
    return int(match[1]) if match else None


def _cudnn_package(library: Path) -> str:
    known = provenance_of(library)
    if known.cuda_major is None:
        return "the cuDNN package that this library comes from"
    return f"nvidia-cudnn-cu{known.cuda_major}=={known.version}"
