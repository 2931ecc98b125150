"""The pictures of a result folder, whatever it holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyharness.api.accepted import COLUMNS, ROWS, cells_of, map_grids
from pyharness.api.atlas_fates import fate_rows
from pyharness.api.report_sources import older_first
from pyharness.errors import HarnessError, UsageError
from pyharness.present.charts.accuracy import accuracy_chart, accuracy_growth_chart
from pyharness.present.charts.atlas import accepted_chart, release_costs_chart
from pyharness.present.charts.choices import trade_off_chart
from pyharness.present.charts.costs import costs_chart
from pyharness.present.charts.files import pictures, told_error
from pyharness.present.charts.history import history_chart
from pyharness.present.charts.memory import memory_chart
from pyharness.present.charts.outcomes import (
    drift_chart,
    equivalences_chart,
    reasons_chart,
    repeatability_chart,
    stages_chart,
)
from pyharness.present.charts.parts import told_apart
from pyharness.present.charts.soak import soak_chart
from pyharness.present.charts.time_changes import time_changes_chart, time_changes_size_chart
from pyharness.present.charts.times import time_chart, time_ratio_chart
from pyharness.present.charts.validity import validity_chart
from pyharness.present.report.model import Source
from pyharness.present.report.sides import all_rows, sides
from pyharness.store.atlas import NAME as ATLAS
from pyharness.store.atlas import FoldedGrid, read_atlas
from pyharness.store.files import replacing
from pyharness.store.folds import read_folds
from pyharness.store.manifest import NAME as RUN
from pyharness.store.reading import read_rows

if TYPE_CHECKING:
    import altair as alt

PLOTS = "plots"
_DIFF = "diff.json"
_Drawer = Callable[[], "alt.TopLevelMixin"]
_Drawers = dict[str, _Drawer]
_Drawn = Mapping[str, Callable[[list[dict[str, Any]]], "alt.TopLevelMixin"]]
# The pictures of a small table: the name of each and what draws it.
_TABLES: dict[str, _Drawn] = {
    "stages": {"stages": stages_chart},
    "reasons": {"reasons": reasons_chart},
    "costs": {"costs": costs_chart},
    "timings": {"time": time_chart},
    "time_changes": {
        "time-changes": time_changes_chart,
        "time-changes-size": time_changes_size_chart,
    },
    "memory": {"memory": memory_chart},
    "repeatability": {"repeatability": repeatability_chart},
    "trade_offs": {"trade-off": trade_off_chart},
    "accuracy": {"accuracy": accuracy_chart, "accuracy-growth": accuracy_growth_chart},
    "equivalences": {"checks": equivalences_chart},
    "drift": {"drift": drift_chart},
    "soak": {"soak": soak_chart},
}


@dataclass(frozen=True, slots=True)
class Plots:
    """What became of the pictures of a folder.

    ``paths``   the files.
    ``failed``  why each chart that could not be drawn was not, by name.
    """

    paths: list[Path]
    failed: dict[str, str]


def charts_of(folder: Path) -> dict[str, alt.TopLevelMixin]:
    """The charts of a result folder by name, over the folders of all releases that it has.

    Raises  UsageError if it is no result folder, or cannot be read; what a chart raises.
    """
    return {name: draw() for name, draw in _drawers(folder).items()}


def _drawers(folder: Path) -> _Drawers:
    """What draws each chart of a result folder.

    Raises  UsageError if it is no result folder, or cannot be read.
    """
    if (folder / ATLAS).is_file():
        return _of_atlas(folder)
    if (folder / _DIFF).is_file():
        return _of_validity(_sides(read_folds(folder)))
    if not (folder / RUN).is_file():
        return _of_sides(folder)
    kind = _kind(folder)
    if kind == "upgrade":
        return _of_upgrade(folder)
    drawers = _of_rows(partial(read_rows, folder))
    if kind == "map":
        name = json.loads((folder / RUN).read_text("utf-8"))["release"]["name"]
        grids = map_grids(folder)
        drawers |= _of_validity({g.grid.call.name: ([name], [g]) for g in grids})
    return drawers


def write_plots(folder: Path) -> Plots:
    """Draws all pictures of a result folder into plots/ beside its tables, as PNG and SVG.

    A chart that cannot be drawn stops no other.

    Raises  UsageError if it is no result folder, or cannot be read; HarnessError if the disk is
            full. Each file is there whole or not at all.
    """
    paths: list[Path] = []
    failed: dict[str, str] = {}
    for name, draw in _drawers(folder).items():
        try:
            paths += write_chart(draw(), folder / PLOTS, name)
        except HarnessError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever rows of a table do to it
            failed[name] = told_error(error)
    return Plots(paths, failed)


def write_chart(chart: alt.TopLevelMixin, folder: Path, name: str) -> list[Path]:
    """Writes a chart as NAME.png and NAME.svg.

    Raises  HarnessError if the disk is full; each file is there whole or not at all.
    """
    paths = []
    for ending, data in pictures(chart).items():
        path = folder / f"{name}.{ending}"
        with replacing(path) as scratch:
            scratch.write_bytes(data)
        paths.append(path)
    return paths


def _kind(folder: Path) -> str:
    """What run.json says that a folder holds.

    Raises  UsageError if it cannot be read.
    """
    try:
        return str(json.loads((folder / RUN).read_text("utf-8"))["kind"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{folder / RUN} cannot be read: {error}", "the folder is damaged: make it again"
        ) from error


def _of_rows(rows_of: Callable[[str], list[dict[str, Any]]]) -> _Drawers:
    """The pictures of small tables, each of the rows that it has."""
    drawers: _Drawers = {}
    for table, drawn in _TABLES.items():
        rows = rows_of(table)
        if rows:
            drawers |= {name: partial(draw, rows) for name, draw in drawn.items()}
        if table == "timings" and len({row["release"] for row in rows}) > 1:
            drawers["time-ratio"] = partial(time_ratio_chart, rows)
    return drawers


def _of_sides(folder: Path, beside: Sequence[Source] = ()) -> _Drawers:
    """The charts of a folder that has one for each release: a bench, or a part of an upgrade.

    ``beside``  other folders, which may know how a library is called.
    Raises  UsageError if it has none.
    """
    found = sorted((path.parent for path in folder.glob(f"*/{RUN}")), key=_by_age)
    if not found:
        raise UsageError(
            f"{folder} is no result folder: it has no {RUN}",
            "give a folder that a command has written tables to",
        )
    read = [_told(side) for side in found]

    def rows_of(table: str) -> list[dict[str, Any]]:
        own = [replace(source, tables={table: read_rows(source.folder, table)}) for source in read]
        return [{**row, "release": row["side"]} for row in all_rows(sides([*own, *beside], table))]

    return _of_rows(rows_of)


def _by_age(folder: Path) -> tuple[Any, ...]:
    return older_first(folder.name)


def _told(folder: Path) -> Source:
    """What a folder says of itself, without its tables.

    Raises  UsageError if it cannot be read.
    """
    kind = _kind(folder)
    return Source(kind, folder, folder.name, json.loads((folder / RUN).read_text("utf-8")))


def _of_upgrade(folder: Path) -> _Drawers:
    """The charts of all parts."""
    drawers: _Drawers = {}
    parts = sorted(path for path in folder.iterdir() if path.is_dir())
    beside = [_told(path.parent) for part in parts for path in sorted(part.glob(f"**/{RUN}"))]
    for part in parts:
        if any((part / name).is_file() for name in (RUN, _DIFF)):
            drawers |= _drawers(part)
        elif any(part.glob(f"*/{RUN}")):
            drawers |= _of_sides(part, [_told(folder), *beside])
    return drawers


def _of_atlas(folder: Path) -> _Drawers:
    rows, steps = read_rows(folder, "atlas"), read_rows(folder, "atlas_steps")
    costs = read_rows(folder, "costs")
    drawers: _Drawers = {
        "accepted": lambda: accepted_chart(rows, steps),
        "costs": lambda: release_costs_chart(costs),
    }
    atlas = read_atlas(folder)
    if atlas is None:
        return drawers
    return {"history": lambda: history_chart(fate_rows(atlas)), **drawers}


_Sides = Mapping[str, tuple[list[str], list[FoldedGrid]]]


def _sides(folds: list[tuple[str, FoldedGrid]]) -> _Sides:
    """Of each call the releases, and the answers of each."""
    found: dict[str, tuple[list[str], list[FoldedGrid]]] = {}
    for release, fold in folds:
        names, grids = found.setdefault(fold.grid.call.name, ([], []))
        names.append(release)
        grids.append(fold)
    for names, _ in found.values():
        if len(names) == 2:
            names[:] = told_apart(*names)
    return found


def _of_validity(sides: _Sides) -> _Drawers:
    """A heat map for each call."""

    def drawer(call: str, names: list[str], grids: list[FoldedGrid]) -> _Drawer:
        return lambda: validity_chart(
            cells_of(grids), names, rows=ROWS[call], columns=COLUMNS[call]
        )

    return {f"validity-{call}": drawer(call, *of) for call, of in sides.items()}
