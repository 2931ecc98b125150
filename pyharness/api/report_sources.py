"""Result folders of every kind, read for a report; folders in folders are found, too."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyharness.api.atlas import fold
from pyharness.api.atlas_fates import fate_rows
from pyharness.api.progress import Progress, silent
from pyharness.errors import UsageError
from pyharness.present.report.model import Source
from pyharness.spec.columns import SCHEMA_VERSION
from pyharness.spec.tables import TABLES
from pyharness.store.atlas import NAME as ATLAS
from pyharness.store.atlas import FoldedGrid, read_atlas
from pyharness.store.folds import read_folds
from pyharness.store.manifest import NAME as RUN
from pyharness.store.manifest import check_shape
from pyharness.store.reading import MapFolder, read_rows

DIFF, UPGRADE, AUDIT = "diff.json", "upgrade.json", "audit.parquet"
KINDS = (
    *("map", "diff", "upgrade", "replay", "stages", "bench", "time", "memory", "repeatability"),
    *("accuracy", "equivalences", "drift", "soak", "audit", "atlas"),
)
_DEPTH = 3  # upgrade/time/old
_AGAIN = "the folder is damaged: make it again elsewhere"
# Tables that are too long to be read as a whole, or stand in another form.
_LEFT_OUT = ("samples", "time_readings", "changes", "atlas", "atlas_axes", "rules", "explanations")

_TEXT = (str, type(None))
_NUMBER = (int, float, type(None))
_OBJECT = (dict, type(None))
_RUN = {
    "kind": str,
    "schema_version": int,
    "tool_version": str,
    "state": str,
    "release?": _OBJECT,
    "releases?": list,
    "device?": _OBJECT,
    "devices?": list,
    "host?": dict,
    "environment?": dict,
    "results?": dict,
    "argv?": [str],
    "logs?": [str],
}
_CHANGE = {
    "change": str,
    "status_a": _TEXT,
    "status_b": _TEXT,
    "reason_a": _TEXT,
    "reason_b": _TEXT,
    "problems": int,
    "words": [str],
}
_NAMES = ("calls_removed", "calls_added", "enumerators_removed", "enumerators_added", "notes")
_DIFF = {
    "release_a": str,
    "release_b": str,
    "space": str,
    "problems": int,
    "calls": [{"call": str, "problems": int, "changes": [_CHANGE]}],
    **{name: [str] for name in _NAMES},
    "costs": [{"call": str, "answer": str, "verdict": str, "ratio": _NUMBER}],
    "sides": [{"host": dict}],
}
_FINDING = {
    "change": str,
    "for_worse": bool,
    "call": str,
    "problems": int,
    "times": int,
    "problem": _TEXT,
    "before": str,
    "after": str,
    "conditions": [str],
    "values?": _OBJECT,
}
_EVIDENCE = {
    "scope": str,
    "what": str,
    "word": str,
    "compared": int,
    "unanswered": int,
    "counts": dict,
    "findings": [_FINDING],
    "commands": [str],
    "notes": [str],
}
_REQUIREMENT = {"key": str, "scope": str, "found": int, "word": str, "why": str}
_QUESTION = {"question": str, "word": str, "why": str, "commands": [str], "evidence": [_EVIDENCE]}
_UPGRADE = {
    "release_a": str,
    "release_b": str,
    "gate": {"word": str, "requirements": [_REQUIREMENT]},
    "questions": [_QUESTION],
}


def read_sources(folders: Sequence[Path], progress: Progress = silent) -> list[Source]:
    """What lies in result folders, and in the folders of those.

    Raises  UsageError for a folder that holds nothing of pyharness, or what cannot be read.
    """
    found: dict[Path, Source] = {}
    for place, folder in enumerate(folders):
        progress("reading", place, len(folders))
        here = list(_below(folder, str(folder), _DEPTH))
        if not here:
            raise _no_result(folder)
        for path, title in here:
            if path.resolve() not in found:
                found[path.resolve()] = _read(path, title)
    return list(found.values())


def _no_result(folder: Path) -> UsageError:
    """What a folder is instead of one that a report is of."""
    hint = f"give a folder that a command has written: of kind {', '.join(KINDS)}"
    if not folder.is_dir():
        return UsageError(f"{folder} is no folder", hint)
    if (folder / "report.json").is_file():
        return UsageError(
            f"{folder} holds a report, no results", "give the folders that it was made of"
        )
    if any(folder.glob("*.parquet")):
        return UsageError(
            f"{folder} holds tables, but no {RUN} that says of what",
            "its run did not come so far, or it was moved: make it again",
        )
    return UsageError(f"{folder} holds no result of pyharness", hint)


def _below(folder: Path, title: str, depth: int) -> Iterator[tuple[Path, str]]:
    """The folder if it holds a result, and those in it that do, the nearest first."""
    try:
        there = [p.name for p in folder.iterdir() if not p.name.startswith(".")]
    except OSError:
        return
    names = sorted(there, key=older_first)
    if any(name in names for name in (RUN, DIFF, ATLAS, AUDIT)):
        yield folder, title
    for name in names:
        if depth and (folder / name).is_dir():
            yield from _below(folder / name, f"{title}/{name}", depth - 1)


def older_first(name: str) -> tuple[bool, list[tuple[int, str]]]:
    """The order of folders: 9.9.0 before 9.12.0, and old before new."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return name == "new", [(int(p), "") if p.isdecimal() else (-1, p) for p in parts]


def _read(folder: Path, title: str) -> Source:
    """One folder.

    Raises  UsageError.
    """
    if (folder / ATLAS).exists():
        return _atlas(folder, title)
    if (folder / RUN).exists():
        return _run(folder, title)
    if (folder / DIFF).exists():
        data = _json(folder / DIFF, _DIFF)
        folds = [_plain(*pair) for pair in read_folds(folder)]
        sides = data["sides"]
        run = {k: sides[0].get(k) for k in ("tool_version", "started")} if sides else {}
        return Source("diff", folder, title, run, {}, data, folds)
    return Source("audit", folder, title, {}, _tables(folder))


def _run(folder: Path, title: str) -> Source:
    run = _json(folder / RUN, _RUN)
    if run["schema_version"] > SCHEMA_VERSION:
        raise UsageError(
            f"{folder} was written by a newer pyharness ({run['tool_version']})",
            f"this one reads up to schema {SCHEMA_VERSION}: upgrade it",
        )
    kind = run["kind"]
    if kind not in KINDS:
        raise UsageError(
            f"{folder} holds a run of kind {kind!r}", f"a report is of {', '.join(KINDS)}"
        )
    if kind == "map":
        there = MapFolder(folder)
        folds = [_plain(run["release"]["name"], fold(there.statuses(g))) for g in there.grids]
        return Source(kind, folder, title, run, _tables(folder, "validity"), {}, folds)
    if kind == "upgrade" and run["state"] != "complete" and not (folder / UPGRADE).exists():
        raise UsageError(
            f"the upgrade in {folder} has no verdict yet ({run['state']})",
            "the same `pyharness upgrade` goes on with it; or give the folders of its parts",
        )
    data = _json(folder / UPGRADE, _UPGRADE) if kind == "upgrade" else {}
    return Source(kind, folder, title, run, _tables(folder), data)


def _atlas(folder: Path, title: str) -> Source:
    atlas = read_atlas(folder)
    assert atlas is not None  # atlas.json is there
    run = {
        "release": {"name": atlas.names[0]} if atlas.names else None,
        "releases": [{"name": name} for name in atlas.names],
        "space": {"name": atlas.space.name},
    }
    folds = [_plain(release, folded) for (release, _), folded in atlas.folds.items()]
    places = {name: place for place, name in enumerate(atlas.names)}
    folds.sort(key=lambda of: places[of["release"]])
    tables = {"atlas_steps": atlas.rows["atlas_steps"], "fates": fate_rows(atlas)}
    return Source("atlas", folder, title, run, tables, {}, folds)


def _plain(release: str, folded: FoldedGrid) -> dict[str, Any]:
    """Folded answers as plain data; a code beyond the statuses: the call failed."""
    labels = folded.grid.labels()
    return {
        "release": release,
        "call": folded.grid.call.name,
        "axes": [(axis.name, labels[axis.name]) for axis in folded.grid.call.axes],
        "classes": [of_axis.tolist() for of_axis in folded.classes],
        "cells": folded.cells.reshape(-1).tolist(),
        "statuses": list(folded.names),
    }


def _tables(folder: Path, *left_out: str) -> dict[str, list[dict[str, Any]]]:
    """The tables of a folder that a report shows.

    Raises  UsageError if one cannot be read or lacks a column.
    """
    found = {}
    for path in sorted(folder.glob("*.parquet")):
        table = path.stem
        if table not in TABLES or table in (*_LEFT_OUT, *left_out):
            continue
        rows = read_rows(folder, table)
        if rows and (lacking := {c.name for c in TABLES[table]} - rows[0].keys()):
            raise UsageError(f"{path} has no column {', '.join(sorted(lacking))}", _AGAIN)
        found[table] = rows
    return found


def _json(path: Path, shape: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON file of ours, if it has what the report takes from it.

    Raises  UsageError.
    """
    try:
        data = json.loads(path.read_text("utf-8"))
        check_shape(data, dict(shape), path.name)
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {error}", _AGAIN) from error
    found: dict[str, Any] = data
    return found
