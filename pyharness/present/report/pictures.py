"""The charts of a report, by section; each says in words what it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from math import isfinite
from typing import TYPE_CHECKING, Any

from pyharness.present.charts.files import told_error
from pyharness.present.charts.parts import message_chart
from pyharness.present.charts.theme import config
from pyharness.present.report.model import Chart, Row, Source
from pyharness.present.report.sides import all_rows, sides

if TYPE_CHECKING:
    import altair as alt

_CHARTS = "pyharness.present.charts"
_BELOW = "the table below has the numbers"
# Section, table, module and function, title, what it shows.
_PLAN = (
    ("time", "time_changes", "time_changes", "time_changes_chart", "Old against new",
     f"the ratio of each problem and pass with its interval and the margin; {_BELOW}"),
    ("time", "timings", "times", "time_chart", "Time over size, by algo",
     f"the median of each problem over its size, by algo and release; {_BELOW}"),
    ("time", "timings", "times", "time_ratio_chart", "Ratio of the medians",
     f"new over old for each problem and pass, with bounds from both intervals; {_BELOW}"),
    ("memory", "memory", "memory", "memory_chart", "What a run holds at the same time",
     f"the parts of each problem's memory, stacked; {_BELOW}"),
    ("stages", "stages", "outcomes", "stages_chart", "How far each problem gets",
     "problem by stage, each with its outcome; the table below has them all"),
    ("repeatability", "repeatability", "outcomes", "repeatability_chart",
     "How many problems differ", "condition by tensor; the tables below have each problem"),
    ("repeatability", "trade_offs", "choices", "trade_off_chart",
     "What a repeatable choice costs", f"time of each choice by its verdict; {_BELOW}"),
    ("accuracy", "accuracy", "accuracy", "accuracy_chart", "Error beside its limit",
     f"the largest error of each tensor against what rounding explains; {_BELOW}"),
    ("drift", "drift", "outcomes", "drift_chart", "Which buffers have other bits",
     "problem by tensor; the table below has them all"),
    ("checks", "equivalences", "outcomes", "equivalences_chart", "What holds",
     "check by tensor; the table below has every comparison"),
    ("history", "fates", "history", "history_chart", "Which release accepts what",
     f"problems that every release treats alike, over all releases; {_BELOW}"),
    ("soak", "soak", "soak", "soak_chart", "Memory over cycles",
     "device and host memory over the cycles of the run"),
)  # fmt: skip
_PAIRED = ("time_changes", "drift", "fates")  # whose sides are columns, or all there are


def pictures(sources: Sequence[Source]) -> dict[str, list[Chart]]:
    """Every chart that there are rows for; needs Altair and vl-convert."""
    found: dict[str, list[Chart]] = {}
    for section, table, module, function, title, about in _PLAN:
        rows = [_drawable(row) for row in _rows(sources, table)]
        if function == "time_ratio_chart" and len({row["release"] for row in rows}) != 2:
            continue
        if rows:
            draw = getattr(import_module(f"{_CHARTS}.{module}"), function)
            found.setdefault(section, []).append(_chart(draw, rows, title, about))
    return found


def _chart(draw: Callable[..., Any], rows: list[Row], title: str, about: str) -> Chart:
    """A chart, or in its place why there is none: the rest of a report does without it."""
    try:
        return Chart(title, about, _compiled(draw(rows, title="")))  # the page has the title
    except Exception as error:  # noqa: BLE001 - whatever rows of a table do to it
        why = f"not drawn: {told_error(error)}"
        return Chart(title, why, _compiled(message_chart(title, "", why)))


def _compiled(chart: alt.TopLevelMixin) -> dict[str, dict[str, Any]]:
    """A chart for the part of Vega that draws, with the config of either theme."""
    import vl_convert  # noqa: PLC0415 - starts an engine of its own

    bare = {k: v for k, v in chart.to_dict().items() if k != "config"}
    both: Sequence[dict[str, Any]] = [
        vl_convert.vegalite_to_vega({**bare, "config": config(dark, background=None)})
        for dark in (False, True)
    ]
    light, dark = both
    shared = {k: v for k, v in light.items() if dark.get(k) == v}  # its data are most of it
    return {
        "shared": shared,
        "light": {k: v for k, v in light.items() if k not in shared},
        "dark": {k: v for k, v in dark.items() if k not in shared},
    }


def _drawable(row: Row) -> Row:
    """A row without numbers that have no place on an axis."""
    return {k: None if isinstance(v, float) and not isfinite(v) else v for k, v in row.items()}


def _rows(sources: Sequence[Source], table: str) -> list[Row]:
    """What a chart of this table is of, a release called as its side is."""
    if table in _PAIRED:
        return [row for source in sources for row in source.tables.get(table, ())]
    if table == "stages":  # those of a bench say nothing that its times do not
        sources = [source for source in sources if source.kind != "bench"]
    named = all_rows(sides(sources, table))
    rows: list[Row] = [{**row, "release": row["side"]} for row in named]
    if table == "stages":
        return [row for row in rows if row["device"]]
    return [row for row in rows if row["buffer"]] if table == "accuracy" else rows
