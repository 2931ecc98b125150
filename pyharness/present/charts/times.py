"""Time over size by algo, and of two releases side by side: from the table ``timings``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyharness.present.charts.intervals import intervals
from pyharness.present.charts.parts import (
    SECONDS,
    SHAPES,
    SIZES,
    Row,
    capped,
    data_of,
    distinct,
    log_ticks,
    message_chart,
    origin,
    problem_labels,
    series_of,
    size_axis,
    thinned,
    titled,
)
from pyharness.present.charts.theme import BAD, GOOD, UNKNOWN

if TYPE_CHECKING:
    import altair as alt

_SIDES = {
    "more": (BAD, "triangle-right"),
    "less": (GOOD, "triangle-left"),
    "not told": (UNKNOWN, "circle"),
}
_MODES = ("hot", "graph")
_MOST_TICKS = 10
_FLOPS = "flops"
_ROOM = 1.2  # beside the ends of an axis; of one size, too


def time_chart(
    rows: Sequence[Row], *, modes: Sequence[str] = _MODES, title: str | None = None
) -> alt.TopLevelMixin:
    """The median over the size that varies, a line for each algo; several releases by dashes.

    Where several sizes vary together, over the operations that the problem needs.

    ``rows``   of the table ``timings``.
    ``modes``  that are shown; all of them if there is none of these.
    """
    import altair as alt  # noqa: PLC0415 - slow, and only for pictures

    own = "Time over size"
    timed = [row for row in rows if row["median_s"]]
    shown = [row for row in timed if row["mode"] in modes] or timed
    if not shown:
        return message_chart(own, title, "nothing was timed")
    notes = []
    if len(shown) < len(timed):
        others = distinct(row["mode"] for row in timed if row["mode"] not in modes)
        notes.append(f"not shown: {', '.join(others)}")
    labels, made_of = series_of(shown, (*SIZES, "pass", "mode"))
    points, over, lines = _points(shown, labels)
    points, note = thinned(points)
    several = len({row["release"] for row in shown}) > 1
    names = distinct(labels)
    base = alt.Chart(data_of(points)).encode(
        x=_size(over, points),
        y=alt.Y(
            "median_s:Q",
            title="median time",
            scale=alt.Scale(type="log", nice=False, padding=10),
            axis=alt.Axis(labelExpr=SECONDS, values=log_ticks(p["median_s"] for p in points)),
        ),
        color=alt.Color("series:N", title=made_of, scale=alt.Scale(domain=names)),
        tooltip=[
            "problem:N",
            "pass:N",
            "mode:N",
            "release:N",
            alt.Tooltip("median_s:Q", format=".4s"),
        ],
    )
    layers = []
    if lines:
        line = base.mark_line(strokeWidth=2).encode(detail=["line:N", "release:N"])
        layers.append(line.encode(strokeDash=alt.StrokeDash("release:N")) if several else line)
    bars = base.mark_rule(strokeWidth=2)
    layers.append(bars.encode(y="median_low_s:Q", y2="median_high_s:Q"))
    shapes = alt.Scale(domain=names, range=SHAPES[: len(names)])
    dots = base.mark_point(size=60, filled=True, opacity=1)
    layers.append(dots.encode(shape=alt.Shape("series:N", title=made_of, scale=shapes)))
    passes = distinct(row["pass"] for row in shown)
    groups = [f"{name}, {mode}" for name in passes for mode in _in_order(shown, modes)]
    chart = (
        alt.layer(*layers)
        .properties(width=300, height=190)
        .facet(facet=alt.Facet("group:N", sort=groups, title=None), columns=2, spacing=18)
    )
    return titled(chart, own, title, origin(rows), *notes, note)


def _in_order(rows: Sequence[Row], modes: Sequence[str]) -> list[str]:
    there = distinct(row["mode"] for row in rows)
    return [m for m in modes if m in there] + [m for m in there if m not in modes]


def _points(rows: Sequence[Row], labels: Sequence[str]) -> tuple[list[dict[str, Any]], str, bool]:
    """The points, what they go over, and whether those of a line belong together.

    Over the size with most values, where each has one point on a line; else over the operations.
    """
    over = size_axis(rows)
    if over is not None:
        points = [_point(row, over, label) for row, label in zip(rows, labels, strict=True)]
        places = [(p["line"], p["group"], p["release"], p["size"]) for p in points]
        if len(set(places)) == len(places):
            return points, over, True
    points = [_point(row, _FLOPS, label) for row, label in zip(rows, labels, strict=True)]
    return [point for point in points if point["size"]], _FLOPS, False


def _point(row: Row, over: str, series: str) -> dict[str, Any]:
    others = [str(row[name]) for name in SIZES if name != over]
    kept = ("problem", "pass", "mode", "release", "median_s", "median_low_s", "median_high_s")
    point = {name: row[name] for name in kept}
    for bound in ("median_low_s", "median_high_s"):
        if point[bound] is None:  # one sample has no interval
            point[bound] = point["median_s"]
    return {
        **point,
        "size": row[over],
        "series": series,
        "line": " ".join([series, *others]),
        "group": f"{row['pass']}, {row['mode']}",
    }


def _size(over: str, points: Sequence[Row]) -> alt.X:
    import altair as alt  # noqa: PLC0415

    sizes = sorted({point["size"] for point in points})
    if over == _FLOPS:
        axis = alt.Axis(format="~s", values=log_ticks(sizes))
        title = "operations of the problem (flop)"
    else:
        few = len(sizes) <= _MOST_TICKS
        axis = alt.Axis(format="~d", **({"values": sizes} if few else {"tickCount": 6}))
        title = over.replace("_", " ")
    scale = alt.Scale(type="log", domain=[sizes[0] / _ROOM, sizes[-1] * _ROOM], nice=False)
    return alt.X("size:Q", title=title, scale=scale, axis=axis)


def time_ratio_chart(
    rows: Sequence[Row],
    *,
    releases: tuple[str, str] | None = None,
    title: str | None = None,
) -> alt.TopLevelMixin:
    """The newer release's time over the older one's, problem by problem, with an interval.

    The interval is made of both medians' own: one run of each says nothing of what changes between
    runs, so that no verdict is given; `pyharness time` gives one.

    ``rows``      of the table ``timings``, of two releases at least.
    ``releases``  old and new; None: the first two in the rows.
    """
    own = "Time of two releases"
    timed = [row for row in rows if row["median_s"]]
    sides = releases or tuple(distinct(row["release"] for row in timed)[:2])
    if len(sides) < 2:
        return message_chart(own, title, "only one release was timed")
    old, new = ({_case(r): r for r in timed if r["release"] == side} for side in sides)
    both = [case for case in old if case in new]
    if not both:
        return message_chart(own, title, "no problem was timed on both releases")
    labels = problem_labels([old[case] for case in both])
    bars = []
    for case in both:
        a, b = old[case], new[case]
        ratio = b["median_s"] / a["median_s"]
        low = (b["median_low_s"] or b["median_s"]) / (a["median_high_s"] or a["median_s"])
        high = (b["median_high_s"] or b["median_s"]) / (a["median_low_s"] or a["median_s"])
        bars.append(
            {
                "label": labels[case[0]],
                "group": f"{case[1]}, {case[2]}",
                "value": ratio,
                "low": low,
                "high": high,
                "verdict": "more" if low > 1 else "less" if high < 1 else "not told",
            }
        )
    names, note = capped(
        distinct(bar["label"] for bar in _ranked(bars)), "problem", which="most different"
    )
    kept = set(names)
    chart = intervals(
        [bar for bar in bars if bar["label"] in kept],
        _SIDES,
        f"time of {sides[1]} over {sides[0]}",
        names,
        "time",
        one=1.0,
    )
    words = "intervals: of the samples of one run each"
    return titled(chart, own, title, origin(rows), words, note)


def _case(row: Row) -> tuple[str, str, str]:
    return row["problem"], row["pass"], row["mode"]


def _ranked(bars: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What changed most first."""
    return sorted(bars, key=lambda bar: -max(bar["value"], 1 / bar["value"]))
