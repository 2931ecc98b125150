"""Which version a library on disk is, told by what lies beside it."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

from pyharness.releases.manifest import MANIFEST_NAME, read_manifest

_DIST_INFO = re.compile(r"nvidia_cudnn_cu(?P<cuda>\d+)-(?P<version>[^-]+)\.dist-info")
_SUFFIX = re.compile(r"\.so\.(\d+\.\d+\.\d+)$")
_DEFINE = re.compile(r"#define\s+CUDNN_(MAJOR|MINOR|PATCHLEVEL)\s+(\d+)")


@dataclass(frozen=True, slots=True)
class Provenance:
    """Version and CUDA major of a library; None for what nothing tells."""

    version: str | None = None
    cuda_major: int | None = None


def provenance_of(library: Path) -> Provenance:
    """The version of a cuDNN library or sublibrary, by the most exact evidence beside it.

    Returns  from a manifest of the cache or the wheel whose RECORD has a file of this size: four
             numbers and the CUDA major; from the full file name or cudnn_version.h: three numbers.
    """
    root = library.parent.parent.parent.parent
    manifest = read_manifest(root / MANIFEST_NAME)
    if manifest is not None and (root / manifest.library).parent == library.parent:
        return Provenance(manifest.version, manifest.cuda_major)
    from_wheel = _of_wheel(library, root)
    if from_wheel is not None:
        return from_wheel
    suffix = _SUFFIX.search(library.resolve().name)
    if suffix:
        return Provenance(suffix[1], None)
    return Provenance(_of_header(library), None)


def belongs_to_wheel(library: Path) -> bool:
    """Whether an installed cuDNN wheel claims a file of this name, of whatever size."""
    root = library.parent.parent.parent.parent
    name = library.relative_to(root).as_posix()
    return any(name in _record_sizes(info) for info in _dist_infos(root))


def _of_wheel(library: Path, root: Path) -> Provenance | None:
    name = library.relative_to(root).as_posix()
    for info in _dist_infos(root):
        if _record_sizes(info).get(name) == library.stat().st_size:
            match = _DIST_INFO.fullmatch(info.name)
            if match:
                return Provenance(match["version"], int(match["cuda"]))
    return None


def _dist_infos(root: Path) -> list[Path]:
    return sorted(root.glob("nvidia_cudnn_cu*.dist-info"))


def _record_sizes(info: Path) -> dict[str, int]:
    """Size by path of the files of an installed wheel; empty without a RECORD."""
    try:
        with (info / "RECORD").open(encoding="utf-8", newline="") as source:
            rows = [row for row in csv.reader(source) if len(row) >= 3 and row[2].isdigit()]
    except (OSError, csv.Error, UnicodeDecodeError):
        return {}
    return {row[0]: int(row[2]) for row in rows}


def _of_header(library: Path) -> str | None:
    """MAJOR.MINOR.PATCHLEVEL of a cudnn_version.h in the include folder of the same prefix."""
    major = re.search(r"\.so\.(\d+)", library.name)
    prefix = library.parent.parent
    for folder in (prefix / "include", prefix.parent / "include", library.parent / "include"):
        for name in (f"cudnn_version_v{major[1]}.h" if major else "", "cudnn_version.h"):
            header = folder / name
            if not (name and header.is_file()):
                continue
            found = dict(_DEFINE.findall(header.read_text(encoding="utf-8", errors="replace")))
            if len(found) == 3 and (major is None or found["MAJOR"] == major[1]):
                return f"{found['MAJOR']}.{found['MINOR']}.{found['PATCHLEVEL']}"
    return None
