"""How far results are from float64: over the size that varies, and along steps and layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyharness.present.charts.parts import (
    MOST_SIZES,
    SHAPES,
    Row,
    capped,
    data_of,
    differing,
    distinct,
    log_ticks,
    message_chart,
    origin,
    problem_labels,
    size_axis,
    thinned,
    titled,
)
from pyharness.present.charts.theme import BAD

if TYPE_CHECKING:
    import altair as alt

_OVER = ("max_seq_length", "num_layers", "hidden_size", "batch_size", "input_size")
_BUFFERS = ("y", "hy", "cy", "dx", "dhx", "dcx", "dw")
_ERROR = "largest error over the largest number"
_MOST_PANELS, _LETTERS = 12, 60
_ENDS = (
    ("steps", "first_steps_rel", "last_steps_rel"),
    ("layers", "first_layer_rel", "last_layer_rel"),
)


def accuracy_chart(
    rows: Sequence[Row], *, over: str | None = None, title: str | None = None
) -> alt.TopLevelMixin:
    """The largest error of each tensor over a size, and the threshold that rounding explains.

    ``rows``  of the table ``accuracy``.
    ``over``  a column; None: of steps, layers and sizes the one with most values.
    """
    import altair as alt  # noqa: PLC0415 - slow, and only for pictures

    own = "Error beside what rounding explains"
    known = [row for row in rows if row["max_rel"] is not None and row["buffer"]]
    drawn = [row for row in known if row["max_rel"] > 0]
    if not drawn:
        why = "every tensor is exact" if known else "no tensor was compared"
        return message_chart(own, title, why)
    over = over or size_axis(drawn, _OVER) or _OVER[0]
    panels, cut = _panels(drawn, over)
    sizes, note = capped(sorted({row[over] for row, _ in panels}), "size", MOST_SIZES)
    points = [_point(row, over, panel) for row, panel in panels if row[over] in sizes]
    buffers = [b for b in _BUFFERS if any(p["buffer"] == b for p in points)]
    ends = [p[name] for p in points for name in ("error", "threshold") if p[name]]
    base = alt.Chart(data_of(points)).encode(
        x=alt.X("size:O", title=over.replace("_", " "), sort=sizes, axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("buffer:N", sort=buffers),
    )
    error = alt.Y(
        "error:Q",
        title=_ERROR,
        scale=alt.Scale(type="log", nice=False, padding=10),
        axis=alt.Axis(format="~e", values=log_ticks(ends)),
    )
    domain = alt.Scale(domain=buffers)
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(
        y=error,
        color=alt.Color("buffer:N", title="tensor", scale=domain),
        shape=alt.Shape(
            "buffer:N",
            title="tensor",
            scale=alt.Scale(domain=buffers, range=SHAPES[: len(buffers)]),
        ),
        tooltip=["problem:N", "buffer:N", "verdict:N", *_told("error", "threshold")],
    )
    limits = base.mark_tick(thickness=2, size=9).encode(y="threshold:Q")
    rings = base.transform_filter("datum.verdict == 'beyond'").mark_point(
        size=190, strokeWidth=2, color=BAD
    )
    layers = alt.layer(limits, dots, rings.encode(y="error:Q"))
    width = max(240, min(520, 9 * len(buffers) * len(sizes)))
    chart = layers.properties(width=width, height=210).facet(
        facet=alt.Facet("panel:N", sort=distinct(p["panel"] for p in points), title=None),
        columns=2,
        spacing=20,
    )
    exact = len(known) - len(drawn)
    notes = [
        "short lines: thresholds; rings: beyond them",
        f"not shown, exact: {exact:,} of {len(known):,} tensors" if exact else "",
        cut,
        note,
    ]
    return titled(chart, own, title, origin(rows), *notes)


def _panels(rows: Sequence[Row], over: str) -> tuple[list[tuple[Row, str]], str]:
    """Each row with its panel: all that tells its problem from others but the size.

    Those of two releases stand beside each other.
    """
    releases = distinct(row["release"] for row in rows)
    labels = _kinds(rows, over)
    labelled = [
        (row, ", ".join(filter(None, [row["release"] if len(releases) > 1 else "", label])))
        for row, label in zip(rows, labels, strict=True)
    ]
    if len(releases) == 2:
        places = {label: place for place, label in enumerate(distinct(labels))}
        order = [
            (places[own], releases.index(row["release"]))
            for row, own in zip(rows, labels, strict=True)
        ]
        labelled = [labelled[i] for i in sorted(range(len(rows)), key=order.__getitem__)]
    kept, note = capped(distinct(label for _, label in labelled), "panel", _MOST_PANELS)
    return [(row, label) for row, label in labelled if label in set(kept)], note


def _kinds(rows: Sequence[Row], over: str) -> list[str]:
    """What each row's problem is but for the size: its name, if no other differs by that alone."""
    names = differing(rows, (over,))
    kinds = [tuple(str(row[name]) for name in names) for row in rows]
    problems: dict[tuple[str, ...], set[str]] = {}
    for row, kind in zip(rows, kinds, strict=True):
        problems.setdefault(kind, set()).add(row["problem"])
    if all(len(several) == 1 for several in problems.values()):
        called = problem_labels(rows)
        return [called[row["problem"]] for row in rows]
    labels = (", ".join(kind) for kind in kinds)
    return [text if len(text) <= _LETTERS else f"{text[:_LETTERS]}…" for text in labels]


def _point(row: Row, over: str, panel: str) -> dict[str, Any]:
    return {
        "size": row[over],
        "error": row["max_rel"],
        "threshold": row["threshold"] or None,
        "buffer": row["buffer"],
        "verdict": row["verdict"],
        "problem": row["problem"],
        "panel": panel,
    }


def _told(*names: str) -> list[alt.Tooltip]:
    import altair as alt  # noqa: PLC0415

    return [alt.Tooltip(f"{name}:Q", format=".3e") for name in names]


def accuracy_growth_chart(rows: Sequence[Row], *, title: str | None = None) -> alt.TopLevelMixin:
    """The mean error of the first steps and layers beside that of the last ones.

    ``rows``  of the table ``accuracy``.
    """
    import altair as alt  # noqa: PLC0415 - slow, and only for pictures

    own = "How the error grows"
    points = [
        {
            "line": place,
            "panel": f"along the {words}",
            "at": f"{at} {words}",
            "place": at,
            "error": row[column],
            "buffer": row["buffer"],
            "problem": row["problem"],
        }
        for place, row in enumerate(rows)
        for words, first, last in _ENDS
        if row[first] and row[last]
        for at, column in (("first", first), ("last", last))
    ]
    if not points:
        return message_chart(own, title, "no tensor has four steps or two layers")
    points, note = thinned(points)
    buffers = [b for b in _BUFFERS if any(p["buffer"] == b for p in points)]
    ticks = log_ticks(point["error"] for point in points)
    base = alt.Chart(data_of(points)).encode(
        x=alt.X("place:N", title=None, sort=["first", "last"], axis=alt.Axis(labelAngle=0)),
        y=alt.Y(
            "error:Q",
            title="root mean square error over the largest number",
            scale=alt.Scale(type="log", nice=False, padding=10),
            axis=alt.Axis(format="~e", values=ticks),
        ),
        color=alt.Color("buffer:N", title="tensor", scale=alt.Scale(domain=buffers)),
        tooltip=["problem:N", "buffer:N", "at:N", *_told("error")],
    )
    lines = base.mark_line(strokeWidth=2).encode(detail="line:N")
    shape = alt.Shape(
        "buffer:N",
        title="tensor",
        scale=alt.Scale(domain=buffers, range=SHAPES[: len(buffers)]),
    )
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(shape=shape)
    panels = distinct(point["panel"] for point in points)
    chart = (
        alt.layer(lines, dots)
        .properties(width=200, height=230)
        .facet(facet=alt.Facet("panel:N", sort=panels, title=None), columns=2, spacing=24)
    )
    words = "first and last quarter of the steps; first and last layer"
    return titled(chart, own, title, origin(rows), words, note)
