"""The atlas of releases: fetch, map, fold, compare with the neighbours, drop what was fetched."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from pyharness.analyze.partition import partition
from pyharness.api.atlas_files import write_pages
from pyharness.api.atlas_rules import add_rules
from pyharness.api.atlas_steps import compare_neighbours
from pyharness.api.folder import alone
from pyharness.api.mapping import MapOptions, map_release
from pyharness.api.progress import Progress, fetching, silent
from pyharness.errors import HarnessError, UsageError
from pyharness.releases.cache import find_cached, remove
from pyharness.releases.download import fetch
from pyharness.releases.index import Offer
from pyharness.releases.locate import is_latest, plan
from pyharness.releases.model import Release, parse_request, release_key
from pyharness.space.grid import Space
from pyharness.space.presets import build_space
from pyharness.store.atlas import NAME, Atlas, FoldedGrid, read_atlas, write_atlas, write_head
from pyharness.store.manifest import Manifest, now
from pyharness.store.reading import GridStatuses, MapFolder

DEFAULT_ATLAS = Path("results/atlas")
_PRESETS = ("descriptor-full", "data-full", "clip", "state")
_MAPS = ".maps"
_OF_A_MAP = ("reasons", "costs")


@dataclass(frozen=True, slots=True)
class AtlasRun:
    """What became of a job.

    ``added``   releases that it mapped; ``kept``: those that were there already.
    ``failed``  releases that could not be mapped, with the reason.
    """

    atlas: Atlas
    added: list[str]
    kept: list[str]
    failed: list[tuple[str, str]]


def atlas_space() -> Space:
    """What an atlas covers where nothing else is said: all that the host tells, in full."""
    grids = [grid for name in _PRESETS for grid in build_space(name, None, []).grids]
    return Space(" ".join(_PRESETS), tuple(grids))


def make_atlas(
    versions: Sequence[str],
    folder: Path,
    space: Space | None = None,
    options: MapOptions | None = None,
    progress: Progress = silent,
) -> AtlasRun:
    """Brings releases into the atlas of a folder, one after another.

    A release that is there already is left as it is. Each is kept as soon as it is mapped: a job
    that is cut off goes on with the next, and in the middle of the one that it was at. A release
    that had to be fetched leaves the cache when it is mapped, in a later job at the latest.

    Returns  the atlas, and what became of each release.
    Raises   UsageError for what is no version, an unknown one, or a folder that holds something
             else; HarnessError if none can be used, or the disk is full.
    """
    space = space or atlas_space()
    for text in versions:
        if not is_latest(text) and parse_request(text) is None:
            raise UsageError(
                f"{text!r} is not a version", "write 9.28.0.42, 9.28.0.42+cu13 or latest"
            )
    _refuse_other(folder)
    with alone(folder):
        atlas = read_atlas(folder) or Atlas(space)
        if atlas.space.fingerprint != space.fingerprint:
            raise UsageError(
                f"{folder} holds an atlas of other problems: {atlas.space.name}",
                "give another --out, or ask for these",
            )
        return _Job(atlas, folder, options or MapOptions(), progress).run(versions)


def fold(statuses: GridStatuses) -> FoldedGrid:
    """The answers to a grid, folded.

    Raises  HarnessError if unfolding does not give back the status of every problem.
    """
    part = partition(statuses.codes)
    folded = FoldedGrid(statuses.grid, part.classes, part.quotient, statuses.names)
    if not np.array_equal(folded.unfolded().codes, statuses.codes):
        raise HarnessError(f"{statuses.grid.call.name}: the folded map is not the map")
    return folded


def _refuse_other(folder: Path) -> None:
    """Raises UsageError if a folder holds something that is no atlas."""
    if not folder.is_dir() or (folder / NAME).exists():
        return
    there = sorted(f.name for f in folder.iterdir() if not f.name.startswith("."))
    if there:
        raise UsageError(
            f"{folder} holds {', '.join(there[:3])}, but no atlas", "give another --out"
        )


@dataclass(frozen=True, slots=True)
class _Made:
    """One release, ready for the atlas; ``folder`` holds its map."""

    release: Release
    folder: Path
    entry: dict[str, Any]
    folds: list[FoldedGrid]
    rows: dict[str, list[dict[str, Any]]]


class _Job:
    """One run of make_atlas."""

    def __init__(self, atlas: Atlas, folder: Path, options: MapOptions, progress: Progress) -> None:
        self._atlas = atlas
        self._folder = folder
        self._options = options
        self._progress = progress
        self._added: list[str] = []
        self._kept: list[str] = []

    def run(self, versions: Sequence[str]) -> AtlasRun:
        self._complete()
        failed: list[tuple[str, HarnessError]] = []
        here = [name for name in versions if name in self._atlas.names]
        self._kept += dict.fromkeys(here)
        planned = list(_planned([v for v in versions if v not in here], failed))
        for place, each in enumerate(planned):
            self._progress("releases", place, len(planned))
            if each.name in self._atlas.names:
                if each.name not in (*self._added, *self._kept):
                    self._kept.append(each.name)
                continue
            try:
                made = self._made(each)
            except HarnessError as error:
                failed.append((each.name, error))
            else:
                self._add(made)
                self._added.append(each.name)
            if each.name in self._atlas.fetched:
                self._drop(each.name)
        for name in list(self._atlas.fetched):  # of a job that was cut off
            self._drop(name)
        if failed and not self._added and not self._kept:
            raise failed[0][1]
        shutil.rmtree(self._folder / _MAPS, ignore_errors=True)
        write_pages(self._atlas, self._folder)
        return AtlasRun(
            self._atlas, self._added, self._kept, [(name, e.message) for name, e in failed]
        )

    def _complete(self) -> None:
        """Adds what a job that was cut off, or an older pyharness, left out."""
        steps = self._atlas.steps != list(pairwise(self._atlas.names))
        if steps:
            compare_neighbours(self._atlas, self._progress)
        if add_rules(self._atlas, self._progress) or steps:
            write_atlas(self._atlas, self._folder)

    def _made(self, planned: Release | Offer) -> _Made:
        """A release mapped and folded; nothing of it is in the atlas yet."""
        started = time.monotonic()
        release = planned if isinstance(planned, Release) else self._fetched(planned)
        at_hand = time.monotonic()
        maps = self._folder / _MAPS / release.name
        map_release(release, self._atlas.space, maps, self._options, self._named(release))
        mapped = time.monotonic()
        done = MapFolder(maps)
        folds = [fold(done.statuses(grid)) for grid in done.grids]
        cached = find_cached(release.name)
        entry = {
            **_kept_of(done.manifest),
            "library_bytes": cached.size_bytes if cached else None,
            "fetch_s": None if planned is release else round(at_hand - started, 3),
            "map_s": round(mapped - at_hand, 3),
            "fold_s": round(time.monotonic() - mapped, 3),
        }
        return _Made(release, maps, entry, folds, {t: done.rows_of(t) for t in _OF_A_MAP})

    def _fetched(self, offer: Offer) -> Release:
        if offer.name not in self._atlas.fetched:  # noted first: a kill must not leave it behind
            self._atlas.fetched.append(offer.name)
            write_head(self._atlas, self._folder)
        return fetch(offer, progress=fetching(offer.name, self._progress))

    def _drop(self, name: str) -> None:
        remove(name)
        self._atlas.fetched.remove(name)
        write_head(self._atlas, self._folder)

    def _add(self, made: _Made) -> None:
        atlas = self._atlas
        atlas.releases.append(made.entry)
        atlas.releases.sort(key=lambda e: release_key(e["version"], e["cuda_major"]))
        places = {name: place for place, name in enumerate(atlas.names)}
        for folded in made.folds:
            atlas.folds[made.release.name, folded.grid.call.name] = folded
        for table, rows in made.rows.items():
            own = [*atlas.rows[table], *rows]
            atlas.rows[table] = sorted(own, key=lambda row: places[row["release"]])
        compare_neighbours(atlas, self._named(made.release))
        add_rules(atlas, self._named(made.release))
        write_atlas(atlas, self._folder)
        write_pages(atlas, self._folder)
        shutil.rmtree(made.folder)

    def _named(self, release: Release) -> Progress:
        return lambda step, done, total: self._progress(f"{release.name} {step}", done, total)


def _planned(
    versions: Sequence[str], failed: list[tuple[str, HarnessError]]
) -> Iterator[Release | Offer]:
    """What each version comes to; of those that cannot be had, why.

    Raises  UsageError for an unknown version.
    """
    for text in versions:
        try:
            yield plan(text)
        except UsageError:
            raise
        except HarnessError as error:
            failed.append((text, error))


def _kept_of(manifest: Manifest) -> dict[str, Any]:
    """What the atlas keeps of a run: no paths, no machine's name."""
    checks = manifest.results.get("spot_check", [])
    return {
        **{k: manifest.release.get(k) for k in ("name", "version", "cuda_major", "loaded")},
        "absent_calls": manifest.absent_calls,
        "failures": manifest.results["failures"],
        "spot_check": {k: sum(c[k] for c in checks) for k in ("rows", "changed", "unkept")},
        "notes": manifest.notes,
        "host": {k: v for k, v in manifest.host.items() if k != "name"},
        "tool_version": manifest.tool_version,
        "made": now(),
    }
