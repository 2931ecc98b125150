"""A run's output folder: taken by one process, resumed if it is the same run, refused if not."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from filelock import FileLock, Timeout

from pyharness.errors import HarnessError, UsageError
from pyharness.releases.model import Release
from pyharness.space.grid import Space
from pyharness.store.files import full_disk_told, sweep
from pyharness.store.manifest import NAME, Manifest, read_manifest

# Measured: the journal is 1 byte a row, or 3 where every reason is kept, the table under 1.
_BYTES_A_ROW = {False: 2, True: 5}
_MOST_ROWS = 1_000_000_000


def check_size(space: Space, folder: Path, with_texts: bool, yes: bool) -> None:
    """Refuses a space that is too large to be what was meant.

    Raises  UsageError if it has no problems at all, or, without ``yes``, if it would not fit the
            disk or has more than a thousand million problems.
    """
    if space.size == 0:
        raise UsageError("the space is empty", "every axis needs at least one value")
    if yes:
        return
    need = space.size * _BYTES_A_ROW[with_texts]
    there, free = _free(folder)
    what = f"the space has {space.size:,} problems: about {need / 1e9:,.1f} GB on disk"
    if free is not None and need > free * 0.9:
        raise UsageError(
            f"{what}, and {there} has {free / 1e9:,.1f} GB free",
            "choose fewer values, another --out, or go on anyway with --yes",
        )
    if space.size > _MOST_ROWS:
        hours = space.size * 2e-7 / 3600
        raise UsageError(f"{what} and {hours:,.1f} h or more", "go on with --yes")


def _free(folder: Path) -> tuple[Path, int | None]:
    """The nearest folder that is there, and the bytes free in it; None if the system does not say.

    A path that cannot be is said when it is used.
    """
    for place in (folder, *folder.absolute().parents):
        with suppress(OSError):
            disk = shutil.disk_usage(place)
            return place, disk.free if disk.total else None  # total 0: /proc and its like
    return folder, None


def release_data(release: Release) -> dict[str, Any]:
    """What a manifest says of a release when a run begins."""
    return {
        "asked": release.name,
        "name": release.name,
        "version": release.version,
        "cuda_major": release.cuda_major,
        "path": str(release.path),
        "stamp": release.stamp,
        "origin": release.origin,
    }


def writable_folder(path: Path, option: str = "--out") -> None:
    """Makes a folder, its parents too, and makes sure that a file can be made in it.

    ``option``  where another folder can be given.
    Raises      UsageError that says which path and why, or HarnessError if the disk is full; no
                folder that was made on the way is left then.
    """
    made: list[Path] = []
    try:
        with _usable(path, option), full_disk_told(path):
            for place in (*reversed(path.parents), path):
                if not place.is_dir():
                    place.mkdir(exist_ok=True)  # another process may be making it, too
                    made.append(place)
            with TemporaryFile(dir=path):
                pass
    except HarnessError:
        for place in reversed(made):
            with suppress(OSError):
                place.rmdir()
        raise


@contextmanager
def _usable(path: Path, option: str = "--out") -> Iterator[None]:
    """Turns what the system says of a path into an error that names it.

    Raises  UsageError.
    """
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        if isinstance(error, (FileExistsError, NotADirectoryError)) and error.filename:
            kind = "a file" if Path(error.filename).is_file() else "no folder"
            why = f"{error.filename} is {kind}"
        raise UsageError(
            f"{path} cannot be used as a folder for tables: {why}", f"give another {option}"
        ) from error


@contextmanager
def taken(folder: Path, fresh: Manifest) -> Iterator[Manifest]:
    """The folder, for this run alone: a new one, or one that the same run left.

    Returns  the manifest to go on with: the earlier one if the folder holds this very run.
    Raises   UsageError if it holds another run or other files, another process writes to it, or
             nothing can be written there.
    """
    with _usable(folder):
        there = _manifest_of(folder, fresh)  # what is not ours does not even get a lock
    if there.state == "complete" and "failed" not in there.results["statuses"]:
        yield there  # nobody will write to it: it may lie where nobody can
        return
    with alone(folder):
        with _usable(folder):
            there = _manifest_of(folder, fresh)  # again: another may have ended only just now
        yield there


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """A folder that no other process writes to while the block runs, made if it is not there.

    Raises  UsageError if another does, or nothing can be written there.
    """
    writable_folder(folder)
    lock = FileLock(folder / ".lock")
    with _usable(folder):
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise UsageError(
                f"another process is writing to {folder}", "wait for it, or give another --out"
            ) from None
    # The lock's file stays: who has it open already would lock what no newcomer can see.
    try:
        with _usable(folder):
            sweep(folder)
        yield
    finally:
        lock.release()


def _in_the_way(path: Path) -> bool:
    """Whether it is more than a hidden file: a lock, or what a process that was killed left."""
    return not (path.name.startswith(".") and path.is_file())


def _manifest_of(folder: Path, fresh: Manifest) -> Manifest:
    """The manifest of the same run that the folder holds, or the fresh one.

    Raises  UsageError if it holds another run or other files.
    """
    if (folder / NAME).exists():
        manifest = read_manifest(folder)
        if manifest.identity != fresh.identity:
            raise UsageError(
                f"{folder} holds another run: {manifest.release['name']}, "
                f"{manifest.space['name']}, reasons {manifest.reasons}",
                "give another --out, or remove the folder",
            )
        return manifest
    if folder.exists() and any(_in_the_way(p) for p in folder.iterdir()):
        raise UsageError(
            f"{folder} is not empty and holds no run of pyharness", "give another --out"
        )
    return fresh
