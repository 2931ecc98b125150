"""The atlas: every answer of many releases, folded until it fits a repository, and read back.

Values of an axis that are answered alike, whatever the others are, share a class; one letter for
each combination of classes then holds tens of millions of answers. ``atlas.json`` is written last
and names the releases that are there: rows of others are of a run that was cut off, and not read.
"""

from __future__ import annotations

import json
import string
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import __version__
from pyharness.errors import UsageError
from pyharness.space.grid import Grid, Space, from_labels
from pyharness.spec.columns import SCHEMA_VERSION
from pyharness.spec.ledger import FAILED
from pyharness.store.files import write_json
from pyharness.store.known_answers import FAILED_LETTER
from pyharness.store.reading import GridStatuses, read_rows
from pyharness.store.schema import write_rows

NAME = "atlas.json"
_OF_A_RELEASE = ("reasons", "costs", "atlas_rules")
_FIRST_BEYOND = 0x100  # a library of more statuses than letters has none that cuDNN has
_Key = tuple[str, str]  # release, call


@dataclass(frozen=True, slots=True, eq=False)
class FoldedGrid:
    """The answers of one release to the problems of one call.

    Shapes   classes[axis]: the class of each value of an axis; cells: uint8, as many as there are
             combinations of classes, an index into names, FAILED for a defect.
    """

    grid: Grid
    classes: tuple[NDArray[np.intp], ...]
    cells: NDArray[np.uint8]
    names: list[str]

    def unfolded(self) -> GridStatuses:
        """The status of every problem."""
        codes = np.ascontiguousarray(self.cells[np.ix_(*self.classes)])
        return GridStatuses(self.grid, codes, self.names, None, [""])

    def status(self, digits: Iterable[int]) -> str | None:
        """The status of the problem at these places of the axes; None where the call failed."""
        place = tuple(c[d] for c, d in zip(self.classes, digits, strict=True))
        code = int(self.cells[place])
        return None if code == FAILED else self.names[code]

    def answers_as(self, other: FoldedGrid) -> bool:
        """Whether every problem has the same status as in another fold of the same grid.

        Classes are numbered as they first appear, so equal answers fold alike.
        """
        return (
            all(np.array_equal(a, b) for a, b in zip(self.classes, other.classes, strict=True))
            and self.cells.shape == other.cells.shape
            and np.array_equal(self._words(), other._words())
        )

    def _words(self) -> NDArray[np.str_]:
        table = np.array([*self.names, *[""] * (256 - len(self.names))])
        return np.asarray(table[self.cells])

    def counts(self) -> dict[str | None, int]:
        """How many problems have each status; None: the call failed."""
        weights = np.ones((), np.int64)
        for of_axis in self.classes:
            weights = np.multiply.outer(weights, np.bincount(of_axis))
        found: dict[str | None, int] = {}
        for code in np.unique(self.cells):
            name = None if code == FAILED else self.names[code]
            found[name] = int(weights[self.cells == code].sum())
        return found


@dataclass(slots=True)
class Atlas:
    """What lies in the folder of an atlas.

    ``releases``  of each release, the oldest first: name, version, loaded, absent_calls and how it
                  was mapped.
    ``steps``     pairs of neighbours that were compared.
    ``fetched``   releases that are in the cache only until they are mapped.
    ``rows``      of the tables reasons, costs, atlas_rules and atlas_steps.
    """

    space: Space
    releases: list[dict[str, Any]] = field(default_factory=list)
    steps: list[tuple[str, str]] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    folds: dict[_Key, FoldedGrid] = field(default_factory=dict)
    rows: dict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: {"reasons": [], "costs": [], "atlas_rules": [], "atlas_steps": []}
    )

    @property
    def names(self) -> list[str]:
        """The releases that are in it, the oldest first."""
        return [entry["name"] for entry in self.releases]

    def of_release(self, table: str, release: str) -> list[dict[str, Any]]:
        """The rows of reasons or costs of one release."""
        return [row for row in self.rows[table] if row["release"] == release]


def write_head(atlas: Atlas, folder: Path) -> None:
    """Writes atlas.json: what is there, and what the cache has to lose.

    Raises  HarnessError if the disk is full.
    """
    rows = Counter((row["release_a"], row["release_b"]) for row in atlas.rows["atlas_steps"])
    write_json(
        folder / NAME,
        {
            "kind": "atlas",
            "schema_version": SCHEMA_VERSION,
            "tool_version": __version__,
            "space": {
                "name": atlas.space.name,
                "fingerprint": atlas.space.fingerprint,
                "grids": atlas.space.describe(),
            },
            "fetched": atlas.fetched,
            "steps": [[*step, rows[step]] for step in atlas.steps],
            "releases": atlas.releases,
        },
    )


def write_atlas(atlas: Atlas, folder: Path) -> None:
    """Writes every table, and atlas.json last; each is there whole or not at all.

    Raises  HarnessError if the disk is full.
    """
    folds = [
        (name, fold)
        for name in atlas.names
        for grid in atlas.space.grids
        if (fold := atlas.folds.get((name, grid.call.name))) is not None
    ]
    write_rows(folder / "atlas.parquet", "atlas", [folded_row(*pair) for pair in folds])
    axes = (row for pair in folds for row in axis_rows(*pair))
    write_rows(folder / "atlas_axes.parquet", "atlas_axes", axes)
    for table, rows in atlas.rows.items():
        write_rows(folder / f"{table}.parquet", table, rows)
    write_head(atlas, folder)


def read_atlas(folder: Path) -> Atlas | None:
    """The atlas in a folder, or None if it holds none.

    Raises  UsageError if it is damaged, or of a newer schema.
    """
    path = folder / NAME
    if not path.exists():
        return None
    try:
        head = json.loads(path.read_text("utf-8"))
        if head["schema_version"] > SCHEMA_VERSION:
            raise UsageError(
                f"{path} has schema {head['schema_version']}",
                f"this pyharness reads up to schema {SCHEMA_VERSION}: upgrade it",
            )
        grids = [from_labels(g["call"], g["axes"]) for g in head["space"]["grids"]]
        atlas = Atlas(
            Space(head["space"]["name"], tuple(grids)),
            list(head["releases"]),
            fetched=list(head["fetched"]),
        )
        _read_tables(atlas, folder)
        _read_steps(atlas, folder, {(a, b): rows for a, b, rows in head["steps"]})
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise UsageError(
            f"{folder} holds no atlas that can be read: {error}", "remove it, or give another --out"
        ) from error
    return atlas


def _read_tables(atlas: Atlas, folder: Path) -> None:
    there = set(atlas.names)
    for table in _OF_A_RELEASE:
        atlas.rows[table] = [r for r in read_rows(folder, table) if r["release"] in there]
    classes: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for row in read_rows(folder, "atlas_axes"):
        classes[row["release"], row["call"], row["axis"]].append(row["class"])
    grids = {grid.call.name: grid for grid in atlas.space.grids}
    for row in read_rows(folder, "atlas"):
        if row["release"] in there:
            key = row["release"], row["call"]
            grid = grids[row["call"]]
            of_axes = [
                np.array(classes[row["release"], row["call"], axis.name], np.intp)
                for axis in grid.call.axes
            ]
            atlas.folds[key] = fold_of(grid, of_axes, row)
    missing = [
        f"{entry['name']} {call}"
        for entry in atlas.releases
        for call in grids
        if call not in entry["absent_calls"] and (entry["name"], call) not in atlas.folds
    ]
    if missing:
        raise ValueError(f"{missing[0]} is missing")


def _read_steps(atlas: Atlas, folder: Path, rows_of: Mapping[tuple[str, str], int]) -> None:
    """Takes the steps whose rows are all there: a job may have been cut off between two files."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {step: [] for step in rows_of}
    for row in read_rows(folder, "atlas_steps"):
        if (step := (row["release_a"], row["release_b"])) in found:
            found[step].append(row)
    atlas.steps = [step for step, rows in rows_of.items() if len(found[step]) == rows]
    atlas.rows["atlas_steps"] = [row for step in atlas.steps for row in found[step]]


def fold_of(grid: Grid, classes: list[NDArray[np.intp]], row: Mapping[str, Any]) -> FoldedGrid:
    """A row of the table as what it stands for.

    Raises  ValueError if the row and its axes do not fit each other.
    """
    if tuple(len(c) for c in classes) != grid.shape:
        raise ValueError(f"{row['release']} {row['call']} has other axes than its grid")
    pairs = [word.split("=", 1) for word in row["statuses"].split(",") if word]
    codes = {letter: code for code, (letter, _) in enumerate(pairs)} | {FAILED_LETTER: FAILED}
    cells = np.array([codes[letter] for letter in row["cells"]], np.uint8)
    shape = [int(c.max()) + 1 for c in classes]
    return FoldedGrid(grid, tuple(classes), cells.reshape(shape), [name for _, name in pairs])


def folded_row(release: str, fold: FoldedGrid) -> dict[str, Any]:
    """A release's answers to one call as a row of the table atlas."""
    counts = fold.counts()
    letters = [_letter(code) for code in range(len(fold.names))]
    table = np.array([*letters, *[FAILED_LETTER] * (256 - len(letters))])
    accepted, failed = counts.get("SUCCESS", 0), counts.get(None, 0)
    return {
        "release": release,
        "call": fold.grid.call.name,
        "stage": fold.grid.call.stage,
        "rows": fold.grid.size,
        "accepted": accepted,
        "refused": fold.grid.size - accepted - failed,
        "failed": failed,
        "statuses": ",".join(f"{a}={n}" for a, n in zip(letters, fold.names, strict=True)),
        "cells": "".join(table[fold.cells.reshape(-1)].tolist()),
        "provenance": "observed",
    }


def _letter(code: int) -> str:
    letters = string.ascii_uppercase
    return letters[code] if code < len(letters) else chr(_FIRST_BEYOND + code)


def axis_rows(release: str, fold: FoldedGrid) -> Iterable[dict[str, Any]]:
    """The classes of its axes as rows of the table atlas_axes."""
    for axis, values, classes in zip(
        fold.grid.call.axes, fold.grid.values, fold.classes, strict=True
    ):
        for place, (value, number) in enumerate(zip(values, classes, strict=True)):
            yield {
                "release": release,
                "call": fold.grid.call.name,
                "axis": axis.name,
                "place": place,
                "value": axis.label(value),
                "class": int(number),
            }
