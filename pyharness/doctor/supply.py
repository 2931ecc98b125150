"""Where releases come from: the package index and the cache folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from pyharness.errors import HarnessError
from pyharness.releases.cache import CachedRelease, cache_dir, held_bytes, read_cached
from pyharness.releases.index import Offer, list_offers
from pyharness.releases.model import version_key

INDEX_LIMIT_S = 8.0


@dataclass(frozen=True, slots=True)
class IndexState:
    """The package index.

    ``releases``  distinct versions that it offers.
    ``problem``   why it gave no answer; empty when it did.
    """

    releases: int = 0
    oldest: str | None = None
    newest: str | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class CacheState:
    """The cache folder.

    ``size_bytes``  on disk; a file that releases share counts once.
    ``free_bytes``  on its disk; None where the system does not tell.
    ``damaged``     releases whose files do not agree with their manifest.
    ``problem``     why it cannot be used; empty when it can.
    """

    folder: Path
    releases: int
    size_bytes: int
    free_bytes: int | None
    damaged: tuple[str, ...] = ()
    problem: str = ""


class IndexQuestion:
    """The index, asked while other things are looked at, and given up after a time."""

    def __init__(self) -> None:
        self._offers: list[Offer] = []
        self._problem = ""
        # a daemon: a name server that never answers must not keep the process alive
        self._thread = Thread(target=self._ask, daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        try:
            self._offers = list_offers()
        except HarnessError as error:
            self._problem = error.message
        except OSError as error:
            self._problem = f"the package index cannot be asked: {error}"

    def answer(self, limit_s: float) -> IndexState:
        """What the index said, or that it said nothing within ``limit_s``."""
        self._thread.join(limit_s)
        if self._thread.is_alive():
            return IndexState(problem=f"the package index gives no answer within {limit_s:g} s")
        if self._problem:
            return IndexState(problem=self._problem)
        versions = sorted({offer.version for offer in self._offers}, key=version_key)
        if not versions:
            return IndexState(problem="the package index offers no cuDNN for this machine")
        return IndexState(len(versions), versions[0], versions[-1])


def look_at_cache(entries: Sequence[CachedRelease]) -> CacheState:
    """The cache folder, and how much of the disk it takes."""
    folder = cache_dir()
    existing = next(p for p in (folder, *folder.parents) if p.exists())
    problem = ""
    if not existing.is_dir():
        problem = f"{existing} is not a folder"
    elif not os.access(existing, os.W_OK | os.X_OK):
        problem = f"{existing} cannot be written"
    try:
        free: int | None = shutil.disk_usage(existing).free
    except OSError:
        free = None
    return CacheState(
        folder=folder,
        releases=len(entries),
        size_bytes=held_bytes(entries),
        free_bytes=free,
        damaged=_damaged(folder / "releases"),
        problem=problem,
    )


def _damaged(folder: Path) -> tuple[str, ...]:
    try:
        names = sorted(p.name for p in folder.iterdir() if not p.name.startswith("."))
    except OSError:
        return ()
    return tuple(name for name in names if read_cached(folder / name) is None)
