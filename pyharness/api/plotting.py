"""The pictures of a result folder, whatever it holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyharness.api.accepted import COLUMNS, ROWS, cells_of, map_grids
from pyharness.api.atlas_fates import fate_rows
from pyharness.errors import UsageError
from pyharness.present.charts.accuracy import accuracy_chart, accuracy_growth_chart
from pyharness.present.charts.atlas import accepted_chart, release_costs_chart
from pyharness.present.charts.choices import trade_off_chart
from pyharness.present.charts.costs import costs_chart
from pyharness.present.charts.files import pictures
from pyharness.present.charts.history import history_chart
from pyharness.present.charts.memory import memory_chart
from pyharness.present.charts.outcomes import (
    drift_chart,
    equivalences_chart,
    reasons_chart,
    repeatability_chart,
    stages_chart,
)
from pyharness.present.charts.soak import soak_chart
from pyharness.present.charts.time_changes import time_changes_chart, time_changes_size_chart
from pyharness.present.charts.times import time_chart, time_ratio_chart
from pyharness.present.charts.validity import validity_chart
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
# The pictures of a small table: the name of each and what draws it.
_Drawn = Mapping[str, Callable[[list[dict[str, Any]]], "alt.TopLevelMixin"]]
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


def charts_of(folder: Path) -> dict[str, alt.TopLevelMixin]:
    """The charts of a result folder by name, over the folders of all releases that it has.

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
    charts = _drawn([folder])
    if kind == "map":
        name = json.loads((folder / RUN).read_text("utf-8"))["release"]["name"]
        grids = map_grids(folder)
        charts |= _of_validity({g.grid.call.name: ([name], [g]) for g in grids})
    return charts


def write_plots(folder: Path) -> list[Path]:
    """Draws all pictures of a result folder into plots/ beside its tables, as PNG and SVG.

    Returns  the files; none if nothing in it can be drawn.
    Raises   UsageError if it is no result folder, or cannot be read; HarnessError if the disk is
             full. Each file is there whole or not at all.
    """
    return [
        path
        for name, chart in charts_of(folder).items()
        for path in write_chart(chart, folder / PLOTS, name)
    ]


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


def _drawn(folders: Sequence[Path]) -> dict[str, alt.TopLevelMixin]:
    """The pictures of small tables, each over the rows of all these folders."""
    charts: dict[str, alt.TopLevelMixin] = {}
    for table, drawn in _TABLES.items():
        rows = [row for folder in folders for row in read_rows(folder, table)]
        if rows:
            charts |= {name: draw(rows) for name, draw in drawn.items()}
        if table == "timings" and len({row["release"] for row in rows}) > 1:
            charts["time-ratio"] = time_ratio_chart(rows)
    return charts


def _of_sides(folder: Path) -> dict[str, alt.TopLevelMixin]:
    """The charts of a folder that has one for each release: a bench, or a part of an upgrade.

    Raises  UsageError if it has none.
    """
    sides = sorted(path.parent for path in folder.glob(f"*/{RUN}"))
    if not sides:
        raise UsageError(
            f"{folder} is no result folder: it has no {RUN}",
            "give a folder that a command has written tables to",
        )
    return _drawn(sides)


def _of_upgrade(folder: Path) -> dict[str, alt.TopLevelMixin]:
    """The charts of all parts."""
    charts: dict[str, alt.TopLevelMixin] = {}
    for part in sorted(path for path in folder.iterdir() if path.is_dir()):
        if any((part / name).is_file() for name in (RUN, _DIFF)) or any(part.glob(f"*/{RUN}")):
            charts |= charts_of(part)
    return charts


def _of_atlas(folder: Path) -> dict[str, alt.TopLevelMixin]:
    rows, steps = read_rows(folder, "atlas"), read_rows(folder, "atlas_steps")
    costs = read_rows(folder, "costs")
    charts = {"accepted": accepted_chart(rows, steps), "costs": release_costs_chart(costs)}
    atlas = read_atlas(folder)
    return charts if atlas is None else {"history": history_chart(fate_rows(atlas)), **charts}


_Sides = Mapping[str, tuple[list[str], list[FoldedGrid]]]


def _sides(folds: list[tuple[str, FoldedGrid]]) -> _Sides:
    """Of each call the releases, and the answers of each."""
    found: dict[str, tuple[list[str], list[FoldedGrid]]] = {}
    for release, fold in folds:
        names, grids = found.setdefault(fold.grid.call.name, ([], []))
        names.append(release)
        grids.append(fold)
    return found


def _of_validity(sides: _Sides) -> dict[str, alt.TopLevelMixin]:
    """A heat map for each call."""
    return {
        f"validity-{call}": validity_chart(
            cells_of(grids), names, rows=ROWS[call], columns=COLUMNS[call]
        )
        for call, (names, grids) in sides.items()
    }
