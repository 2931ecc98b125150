"""Diff two releases or two maps: map what is missing, compare, keep what changed."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.analyze.comparison import Side, compare
from pyharness.analyze.conditions import AxisValues
from pyharness.analyze.cost_changes import compare_costs
from pyharness.analyze.map_diff import (
    CallDiff,
    MapDiff,
    compare_enumerators,
    compare_reason_texts,
)
from pyharness.analyze.partition import partition
from pyharness.api.folder import writable_folder
from pyharness.api.mapping import MapOptions, Reasons, map_release
from pyharness.api.progress import Progress, fetching, silent
from pyharness.api.timing import Picked, library_of, time_in_turn
from pyharness.engine.costs import pick
from pyharness.errors import UsageError
from pyharness.releases.locate import resolve
from pyharness.releases.model import Release
from pyharness.space.grid import Grid, Space, from_labels
from pyharness.store.manifest import NAME, Manifest
from pyharness.store.reading import GridStatuses, MapFolder

DEFAULT_MAPS = Path("results/maps")
_ACCEPTED, _REFUSED = 1, 2
_BLOCK = 1 << 22
_RELEASE = ("name", "version", "cuda_major", "loaded")
_MOST_ROW_REASONS = 5_000_000  # 10 s of refusals at 4 µs, over two walkers
_BLOCK = 1 << 20


def map_folder(release: Release, space: Space, reasons: str, maps: Path) -> Path:
    """Where the map of a release lies that was made by name and not by --out.

    Returns  a folder that no other release, space or way of collecting reasons shares.
    """
    return folder_name(release, space.name, space.fingerprint, reasons, maps)


def folder_name(release: Release, problems: str, fingerprint: str, how: str, results: Path) -> Path:
    """Where a run of a release lies that was made by name and not by --out.

    Returns  a folder that no other release, problems or way of trying them shares.
    """
    name = release.name
    if release.stamp is not None:  # a file that another one of the same version may replace
        digest = hashlib.sha256(release.stamp.encode()).hexdigest()[:12]
        name = f"{release.version or 'library'}-{digest}"
    return results / name / f"{_slug(problems)}-{fingerprint}-{_slug(how)}"


def row_reasons(space: Space) -> Reasons:
    """How reasons are collected for a diff: of every row, unless that would take minutes."""
    return "all" if space.size <= _MOST_ROW_REASONS else "distinct"


def diff_folder(a: MapFolder, b: MapFolder) -> Path:
    """Where a diff lies that was made without --out: not where one of other problems does."""
    sides = "..".join(_slug(m.manifest.release["name"]) for m in (a, b))
    spaces = dict.fromkeys(m.manifest.space["fingerprint"] for m in (a, b))
    return Path("results/diff") / sides / "-".join([_slug(a.manifest.space["name"]), *spaces])


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:40].strip("-")


def open_side(
    text: str, space: Space, maps: Path, options: MapOptions, progress: Progress = silent
) -> MapFolder:
    """The map that a text means: a result folder as it is, or a release, mapped if need be.

    Raises  UsageError for a name that is neither; what map_release raises.
    """
    folder = Path(os.path.expanduser(text))  # noqa: PTH111 - Path's own raises for an unknown user
    is_map = False
    with suppress(OSError):  # a text too long for a path is no folder
        is_map = (folder / NAME).is_file()
    if is_map:
        return MapFolder(folder)
    return map_side(
        resolve(text, progress=fetching(text, progress)), space, maps, options, progress
    )


def map_side(
    release: Release, space: Space, maps: Path, options: MapOptions, progress: Progress = silent
) -> MapFolder:
    """The map of a release, made if it is not there.

    Raises  what map_release raises.
    """
    writable_folder(maps, "--maps")
    target = map_folder(release, space, options.reasons, maps)
    map_release(release, space, target, options, _named(release.name, progress))
    return MapFolder(target)


def _named(name: str, progress: Progress) -> Progress:
    return lambda step, done, total: progress(f"{name} {step}", done, total)


def diff_maps(a: MapFolder, b: MapFolder, progress: Progress = silent) -> MapDiff:
    """Everything that changed from one map to another.

    Raises  UsageError if they have no call, or no problem of a call, in common.
    """
    ma, mb = a.manifest, b.manifest
    names = {ma.space["name"], mb.space["name"]}
    diff = MapDiff(ma.release["name"], mb.release["name"], " / ".join(sorted(names)))
    diff.reasons_by_row = ma.reasons == mb.reasons == "all"
    diff.calls_removed = sorted(set(mb.absent_calls) - set(ma.absent_calls))
    diff.calls_added = sorted(set(ma.absent_calls) - set(mb.absent_calls))
    others = {g.call.name: g for g in b.grids}
    common = [(g, others[g.call.name]) for g in a.grids if g.call.name in others]
    if not common and not diff.calls_removed and not diff.calls_added:
        raise UsageError(
            "the two maps have no call in common",
            f"one has {_calls(a)}, the other {_calls(b)}",
        )
    picked: list[tuple[Grid, dict[str, NDArray[np.int64]]]] = []
    for i, (grid_a, grid_b) in enumerate(common):
        progress(f"comparing {grid_a.call.name}", i, len(common))
        call, rows = diff_call(a.statuses(grid_a), b.statuses(grid_b))
        diff.calls.append(call)
        picked.append((from_labels(call.call, call.axes), rows))
    compare_enumerators(diff, ma.release["version"], mb.release["version"])
    _compare_costs(diff, a, b, picked, progress)
    diff.reasons_compared = "none" not in (ma.reasons, mb.reasons) and not any(
        call.only_a or call.only_b for call in diff.calls
    )
    if diff.reasons_compared and not diff.reasons_by_row:
        compared = {call.call for call in diff.calls}
        diff.reason_texts = compare_reason_texts(
            *([r for r in m.rows_of("reasons") if r["call"] in compared] for m in (a, b))
        )
    diff.sides = [_origin(m) for m in (ma, mb)]
    diff.notes += [f"{m.release['name']}: {n}" for m in (ma, mb) for n in m.notes]
    return diff


def _origin(manifest: Manifest) -> dict[str, Any]:
    """Where a map comes from, for a reader elsewhere: no paths, no machine's name."""
    return {
        "release": {
            k: manifest.release.get(k) for k in ("name", "version", "cuda_major", "loaded")
        },
        "host": {k: v for k, v in manifest.host.items() if k != "name"},
        "space": manifest.space["fingerprint"],
        "tool_version": manifest.tool_version,
        "started": manifest.started,
        "ended": manifest.ended,
    }


def _compare_costs(
    diff: MapDiff, a: MapFolder, b: MapFolder, picked: Picked, progress: Progress
) -> None:
    """Times both libraries in turn if they are here; else takes what the maps say, unjudged."""
    old, new = library_of(a.manifest), library_of(b.manifest)
    timed = time_in_turn(old, new, picked, progress) if old and new else None
    if timed is not None:
        diff.costs = compare_costs(*timed, in_turn=True)
        return
    diff.costs = compare_costs(a.rows_of("costs"), b.rows_of("costs"), in_turn=False)
    diff.comparable_costs = all(a.manifest.host[k] == b.manifest.host[k] for k in ("name", "cpu"))


def _calls(folder: MapFolder) -> str:
    return ", ".join(g.call.name for g in folder.grids) or "none"


def diff_call(a: GridStatuses, b: GridStatuses) -> tuple[CallDiff, dict[str, NDArray[np.int64]]]:
    """What changed in one call, and the rows that both sides answer alike, for timing.

    Raises  UsageError if both share no value of an axis.
    """
    call = a.grid.call
    kept_a, kept_b, only_a, only_b = [], [], {}, {}
    for axis, va, vb in zip(call.axes, a.grid.values, b.grid.values, strict=True):
        both = [v for v in va if v in vb]
        if not both:
            raise UsageError(
                f"{call.name}: the two maps share no value of {axis.name}",
                "map both over the same space",
            )
        kept_a.append([va.index(v) for v in both])
        kept_b.append([vb.index(v) for v in both])
        if gone := [axis.label(v) for v in va if v not in both]:
            only_a[axis.name] = gone
        if new := [axis.label(v) for v in vb if v not in both]:
            only_b[axis.name] = new
    axes = [
        AxisValues(
            axis.name,
            tuple(axis.label(values[k]) for k in kept),
            tuple(axis.number(values[k]) for k in kept) if axis.numeric else None,
        )
        for axis, values, kept in zip(call.axes, a.grid.values, kept_a, strict=True)
    ]
    side_a, side_b = _side(a, kept_a), _side(b, kept_b)
    comparison = compare(axes, side_a, side_b)
    diff = CallDiff(
        call.name,
        call.stage,
        comparison.labels.size,
        {x.name: list(x.labels) for x in axes},
        only_a,
        only_b,
        comparison,
        [(partition(own.codes), said.names) for own, said in ((side_a, a), (side_b, b))],
    )
    return diff, pick(_alike(side_a, side_b), [_ACCEPTED], [_REFUSED])


def _alike(a: Side, b: Side) -> NDArray[np.uint8]:
    """_ACCEPTED where both sides accept, _REFUSED where both refuse, 0 elsewhere: uint8 [rows]."""
    tables = []
    for side in (a, b):
        table = np.zeros(256, np.uint8)
        for code, name in enumerate(side.names):
            if name is not None:
                table[code] = _ACCEPTED if name == "SUCCESS" else _REFUSED
        tables.append(table)
    codes_a, codes_b = a.codes.reshape(-1), b.codes.reshape(-1)
    alike = np.empty(codes_a.size, np.uint8)
    for start in range(0, alike.size, _BLOCK):  # whole arrays would be most of the diff's memory
        where = slice(start, start + _BLOCK)
        np.bitwise_and(tables[0][codes_a[where]], tables[1][codes_b[where]], out=alike[where])
    return alike


def _side(statuses: GridStatuses, kept: list[list[int]]) -> Side:
    names: list[str | None] = [None] * 256
    names[: len(statuses.names)] = statuses.names
    ids = None if statuses.text_ids is None else _kept(statuses.text_ids, kept)
    return Side(_kept(statuses.codes, kept), names, ids, statuses.texts)


def _kept(array: NDArray[Any], places: list[list[int]]) -> NDArray[Any]:
    """The array at these places of each axis; itself where that is all of it, in order."""
    for axis, chosen in enumerate(places):
        if chosen != list(range(array.shape[axis])):
            array = array.take(chosen, axis)
    return np.ascontiguousarray(array)
