"""Old against new in time: ratios with their intervals, from the table ``time_changes``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyharness.present.charts.intervals import intervals
from pyharness.present.charts.parts import (
    MOST_SIZES,
    SHAPES,
    SIZES,
    Row,
    capped,
    data_of,
    distinct,
    message_chart,
    origin,
    problem_labels,
    series_of,
    size_axis,
    titled,
)
from pyharness.present.charts.theme import BAD, GOOD, SOME, UNKNOWN

if TYPE_CHECKING:
    import altair as alt

MARKS = {
    "slower": (BAD, "triangle-right"),
    "faster": (GOOD, "triangle-left"),
    "same": (UNKNOWN, "circle"),
    "inconclusive": (SOME, "diamond"),
}


def time_changes_chart(rows: Sequence[Row], *, title: str | None = None) -> alt.TopLevelMixin:
    """The ratio of each case with its interval, what changed most first; the margin is a band."""
    own = "Time, new over old"
    known = [row for row in rows if row["ratio"]]
    if not known:
        return message_chart(own, title, "no case was timed on both releases")
    labels = problem_labels(known)
    bars: list[dict[str, Any]] = [
        {
            "label": labels[row["problem"]],
            "group": f"{row['pass']}, {row['mode']}",
            "value": row["ratio"],
            "low": row["ratio_low"],
            "high": row["ratio_high"],
            "verdict": row["verdict"],
        }
        for row in known
    ]
    first = known[0]
    ranked = sorted(bars, key=lambda bar: -max(bar["value"], 1 / bar["value"]))
    names, note = capped(distinct(b["label"] for b in ranked), "problem", which="most changed")
    kept = set(names)
    chart = intervals(
        [bar for bar in bars if bar["label"] in kept],
        MARKS,
        f"time of {first['release_b']} over {first['release_a']}",
        names,
        "verdict",
        one=1.0,
        margin=first["margin"],
    )
    return titled(chart, own, title, origin(rows), *_said(rows, known), note)


def _said(rows: Sequence[Row], known: Sequence[Row]) -> list[str]:
    band = f"band: within {known[0]['margin']:.0%}; lines: 95 % confidence"
    left = len(rows) - len(known)
    return [band, f"not shown, no ratio: {left:,} of {len(rows):,} cases" if left else ""]


def time_changes_size_chart(rows: Sequence[Row], *, title: str | None = None) -> alt.TopLevelMixin:
    """The ratio over the size with most values, by algo; a panel for each pass and mode."""
    import altair as alt  # noqa: PLC0415 - slow, and only for pictures

    own = "Time, new over old, over size"
    known = [row for row in rows if row["ratio"]]
    over = size_axis(known) if known else None
    said = _said(rows, known) if known else []
    if over is None:
        return message_chart(own, title, "no size has several values")
    sizes, note = capped(sorted({row[over] for row in known}), "size", MOST_SIZES)
    known = [row for row in known if row[over] in sizes]
    labels, made_of = series_of(known, (*SIZES, "pass", "mode"))
    points = [
        {
            "size": row[over],
            "value": row["ratio"],
            "low": row["ratio_low"],
            "high": row["ratio_high"],
            "series": label,
            "problem": row["problem"],
            "verdict": row["verdict"],
            "group": f"{row['pass']}, {row['mode']}",
            "one": 1.0,
            "from": 1 / (1 + row["margin"]),
            "to": 1 + row["margin"],
        }
        for row, label in zip(known, labels, strict=True)
    ]
    names = distinct(labels)
    data = data_of(points)
    axis = alt.Axis(labelAngle=0, labelOverlap=True)
    ratio = "new over old"
    own = f"Time of {known[0]['release_b']} over {known[0]['release_a']}"
    base = alt.Chart(data).encode(
        x=alt.X("size:O", title=over.replace("_", " "), sort=sizes, axis=axis),
        xOffset=alt.XOffset("series:N", sort=names),
        color=alt.Color("series:N", title=made_of, scale=alt.Scale(domain=names)),
        tooltip=["problem:N", "verdict:N", alt.Tooltip("value:Q", format=".4f")],
    )
    band = alt.Chart(data).mark_rect(opacity=0.15, color="#808080")
    rule = alt.Chart(data).mark_rule(strokeDash=[4, 3])
    bars = base.mark_rule(strokeWidth=2.5).encode(y=alt.Y("low:Q", title=ratio), y2="high:Q")
    shapes = alt.Scale(domain=names, range=SHAPES[: len(names)])
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(
        y=alt.Y("value:Q", title=ratio, scale=alt.Scale(zero=False, padding=8)),
        shape=alt.Shape("series:N", title=made_of, scale=shapes),
    )
    layers = alt.layer(
        band.encode(y="min(from):Q", y2="max(to):Q"), rule.encode(y="min(one):Q"), bars, dots
    )
    groups = distinct(point["group"] for point in points)
    chart = layers.properties(width=300, height=180).facet(
        facet=alt.Facet("group:N", sort=groups, title=None), columns=2, spacing=18
    )
    return titled(chart, own, title, origin(rows), *said, note)
