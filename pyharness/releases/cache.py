"""The cache folder: where fetched releases lie, and what is there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyharness.errors import HarnessError
from pyharness.releases.manifest import MANIFEST_NAME, Manifest, read_manifest
from pyharness.releases.model import Release, release_key, release_name, sibling_dirs

VARIABLE = "PYHARNESS_CACHE"


@dataclass(frozen=True, slots=True)
class CachedRelease:
    """A complete release in the cache: its folder and its manifest."""

    folder: Path
    manifest: Manifest

    @property
    def version(self) -> str:
        """Version of the release."""
        return self.manifest.version

    @property
    def cuda_major(self) -> int:
        """CUDA major of the release."""
        return self.manifest.cuda_major

    @property
    def name(self) -> str:
        """The release as people write it: ``9.28.0.42+cu12``."""
        return release_name(self.version, self.cuda_major)

    @property
    def full(self) -> bool:
        """Whether every library, cuBLAS and NVRTC included, is there."""
        return self.manifest.full

    @property
    def size_bytes(self) -> int:
        """Bytes on disk."""
        return sum(member.size_bytes for member in self.manifest.members)

    def release(self) -> Release:
        """The release to open."""
        library = self.folder / self.manifest.library
        return Release(
            version=self.version,
            cuda_major=self.cuda_major,
            path=library,
            origin="cache",
            library_dirs=sibling_dirs(library),
        )


def cache_dir() -> Path:
    """The cache folder: PYHARNESS_CACHE, or the user's cache folder.

    Source  XDG Base Directory Specification: a XDG_CACHE_HOME that is no absolute path is ignored.
    """
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    users = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (users if users.is_absolute() else Path("~/.cache").expanduser()) / "pyharness"


def releases_dir() -> Path:
    """The folder of the releases, made if it is not there.

    Raises  HarnessError if it cannot be made.
    """
    folder = cache_dir() / "releases"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HarnessError(
            f"cannot make the cache folder {folder}: {error.strerror}",
            f"choose another with {VARIABLE}",
        ) from error
    return folder


def list_cached() -> list[CachedRelease]:
    """The complete releases in the cache, the oldest first.

    Returns  releases; a folder whose manifest or files do not agree is no release.
    """
    folder = cache_dir() / "releases"
    if not folder.is_dir():
        return []
    found = (read_cached(child) for child in folder.iterdir() if not child.name.startswith("."))
    entries = [entry for entry in found if entry is not None]
    return sorted(entries, key=lambda e: release_key(e.version, e.cuda_major))


def held_bytes(entries: Iterable[CachedRelease]) -> int:
    """What releases take on the disk; a file that they share counts once."""
    sizes: dict[tuple[int, int], int] = {}
    for entry in entries:
        for member in entry.manifest.members:
            try:
                stat = (entry.folder / member.path).stat()
            except OSError:  # removed since the cache was read
                continue
            sizes[stat.st_dev, stat.st_ino] = stat.st_size
    return sum(sizes.values())


def find_cached(name: str) -> CachedRelease | None:
    """The release of this name (``9.28.0.42+cu12``), or None when it is not there complete."""
    return read_cached(cache_dir() / "releases" / name)


def read_cached(folder: Path) -> CachedRelease | None:
    """The release in a folder, or None when a file of its manifest is missing or cut short."""
    manifest = read_manifest(folder / MANIFEST_NAME)
    if manifest is None:
        return None
    try:
        whole = all(
            (folder / member.path).stat().st_size == member.size_bytes
            for member in manifest.members
        ) and all(os.path.lexists(folder / link) for link in manifest.links)
    except OSError:
        return None
    return CachedRelease(folder, manifest) if whole else None


def remove(name: str) -> None:
    """Takes a release out of the cache; what other releases share with it stays theirs.

    Raises  HarnessError if it cannot be removed.
    """
    with locked(name):
        folder = releases_dir() / name
        leaving = folder.with_name(f".{name}.leaving")
        try:
            if leaving.exists():  # of a process that was killed
                shutil.rmtree(leaving)
            if folder.exists():
                folder.rename(leaving)  # at once: no half of a release is ever seen
                shutil.rmtree(leaving)
        except OSError as error:
            raise HarnessError(
                f"cannot remove {folder}: {error.strerror}", "remove the folder by hand"
            ) from error


def files_by_sha256() -> dict[str, Path]:
    """Every fetched file in the cache by its checksum, for sharing between releases."""
    return {
        member.sha256: entry.folder / member.path
        for entry in list_cached()
        for member in entry.manifest.members
    }


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the release of this name against other processes; waits for them to finish.

    Raises  HarnessError if the cache folder cannot be written.
    """
    from filelock import FileLock  # noqa: PLC0415 - needed only to fetch

    path = releases_dir() / f".{name}.lock"
    lock = FileLock(path)
    try:
        lock.acquire()
    except OSError as error:
        raise HarnessError(
            f"cannot lock {path}: {error.strerror}", f"choose another cache with {VARIABLE}"
        ) from error
    try:
        yield
    finally:
        lock.release()
