"""A run's output folder: taken by one process, resumed if it is the same run, refused if not."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from pyharness.errors import UsageError
from pyharness.space.grid import Space
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
    there = next(p for p in (folder, *folder.resolve().parents) if p.exists())
    free = shutil.disk_usage(there).free
    what = f"the space has {space.size:,} problems: about {need / 1e9:,.1f} GB on disk"
    if need > free * 0.9:
        raise UsageError(
            f"{what}, and {there} has {free / 1e9:,.1f} GB free",
            "choose fewer values, another --out, or go on anyway with --yes",
        )
    if space.size > _MOST_ROWS:
        hours = space.size * 2e-7 / 3600
        raise UsageError(f"{what} and {hours:,.1f} h or more", "go on with --yes")


@contextmanager
def taken(folder: Path, fresh: Manifest) -> Iterator[Manifest]:
    """The folder, for this run alone: a new one, or one that the same run left.

    Returns  the manifest to go on with: the earlier one if the folder holds this very run.
    Raises   UsageError if it holds another run or other files, or another process writes to it.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file", "--out needs a folder")
    _manifest_of(folder, fresh)  # what is not ours does not even get a lock
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UsageError(
            f"another process is writing to {folder}", "wait for it, or give another --out"
        ) from None
    try:
        yield _manifest_of(folder, fresh)  # again: the run before may have ended only just now
    finally:
        lock.release()
        (folder / ".lock").unlink(missing_ok=True)


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
    if folder.exists() and any(p.name != ".lock" for p in folder.iterdir()):
        raise UsageError(
            f"{folder} is not empty and holds no run of pyharness", "give another --out"
        )
    return fresh
