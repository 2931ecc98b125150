"""The manifest of a cached release: written last, so that a folder that has one is complete."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from pyharness.releases.wheel import Member

MANIFEST_NAME = "manifest.json"
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a cached release consists of.

    ``full``     every library of the wheel, cuBLAS and NVRTC are there.
    ``wheels``   file name of the wheel by package, of each that members come from.
    ``members``  files fetched, with path, size and sha256.
    ``links``    symbolic links made, target by path.
    """

    version: str
    cuda_major: int
    full: bool
    wheels: Mapping[str, str]
    members: tuple[Member, ...]
    links: Mapping[str, str]

    @property
    def library(self) -> str:
        """Path of libcudnn.so.N inside the release."""
        return next(m.path for m in self.members if is_main_library(m.path))


def is_main_library(path: str) -> bool:
    """Whether a member is libcudnn.so.N itself and not a sublibrary."""
    return PurePosixPath(path).name.startswith("libcudnn.so.")


def write_manifest(manifest: Manifest, path: Path) -> None:
    """Write a manifest so that it is seen whole or not at all."""
    content = {"schema": SCHEMA, **asdict(manifest)}
    part = path.with_name(f"{path.name}.part")
    with part.open("w", encoding="utf-8") as sink:
        json.dump(content, sink, indent=1)
        sink.flush()
        os.fsync(sink.fileno())
    part.replace(path)


def read_manifest(path: Path) -> Manifest | None:
    """Read a manifest.

    Returns  the manifest, or None when there is none, or none that this version can read.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content.pop("schema") != SCHEMA:
            return None
        members = tuple(Member(**member) for member in content.pop("members"))
        manifest = Manifest(members=members, **content)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return manifest if any(is_main_library(m.path) for m in members) else None
