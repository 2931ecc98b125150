"""What problems ask for: the parts of their memory, stacked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyharness.present.charts.parts import (
    SIZES,
    Row,
    capped,
    data_of,
    differing,
    distinct,
    message_chart,
    origin,
    problem_labels,
    titled,
)
from pyharness.spec.footprint import PARTS

if TYPE_CHECKING:
    import altair as alt

_WORDS = {
    "weight_space": "weights",
    "workspace": "workspace",
    "reserve_space": "reserve space",
    "tensor": "tensors",
    "dropout_states": "dropout states",
}
_UNITS = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1))


def memory_chart(rows: Sequence[Row], *, title: str | None = None) -> alt.TopLevelMixin:
    """Bytes of each part over the size that varies, or problem by problem; a panel for each mode.

    ``rows``  of the table ``memory``; of several releases each has panels of its own.
    """
    import altair as alt  # noqa: PLC0415 - slow, and only for pictures

    own = "Memory of a problem"
    told = [row for row in rows if row["total_bytes"] is not None]
    if not told:
        return message_chart(own, title, "no size is known")
    places, axis, note = _places(told)
    unit, size = unit_of(max(row["total_bytes"] for row in told))
    several = len({row["release"] for row in told}) > 1
    bars: list[dict[str, Any]] = []
    for row in told:
        if (label := places.get(row["problem"])) is not None:
            group = row["forward_mode"] + (f", {_release(row)}" if several else "")
            bars.extend(
                {
                    "label": label,
                    "group": group,
                    "part": _WORDS[part],
                    "order": place,
                    "size": row[f"{part}_bytes"] / size,
                }
                for place, part in enumerate(PARTS)
                if row[f"{part}_bytes"]
            )
    there = [_WORDS[part] for part in PARTS if any(bar["part"] == _WORDS[part] for bar in bars)]
    labels = distinct(places.values())
    size_of = f"memory ({unit})"
    by_size = axis is not None
    place: dict[str, Any] = {"sort": labels, "title": axis}
    chart = alt.Chart(data_of(bars)).mark_bar()
    chart = chart.encode(
        color=alt.Color("part:N", title="part", scale=alt.Scale(domain=there)),
        order=alt.Order("order:Q"),
        tooltip=["label:N", "part:N", alt.Tooltip("size:Q", format=",.4~f", title=unit)],
    )
    if by_size:
        x = alt.X("label:N", axis=alt.Axis(labelAngle=0), **place)
        y = alt.Y("size:Q", title=size_of)
        chart = chart.encode(x=x, y=y).properties(width=alt.Step(34), height=220)
    else:  # names are read from left to right
        x, y = alt.X("size:Q", title=size_of, axis=alt.Axis(tickCount=5)), alt.Y("label:N", **place)
        chart = chart.encode(x=x, y=y).properties(width=300, height=alt.Step(20))
    groups = distinct(bar["group"] for bar in bars)
    chart = chart.facet(facet=alt.Facet("group:N", sort=groups, title=None), columns=2, spacing=22)
    left = sum(row["total_bytes"] is None for row in rows)
    missing = f"not shown, no size known: {left:,} of {len(rows):,} rows" if left else ""
    guessed = any(row["provenance"] == "predicted" for row in told)
    formula = "predicted by formula" if guessed else ""
    return titled(chart, own, title, origin(told), formula, missing, note)


def _release(row: Row) -> str:
    return row["release"] or "by formula"


def _places(rows: Sequence[Row]) -> tuple[dict[str, str], str | None, str]:
    """The place of each problem on the axis: a size if that is all that differs, or its label."""
    differ = differing(rows)
    if len(differ) == 1 and differ[0] in SIZES:
        over = differ[0]
        ordered = sorted(rows, key=lambda row: row[over])
        sizes = {row["problem"]: f"{row[over]:,}" for row in ordered}
        kept, note = capped(list(sizes), "size")
        return {problem: sizes[problem] for problem in kept}, over.replace("_", " "), note
    labels = problem_labels(rows)
    kept, note = capped(list(labels), "problem")
    return {problem: labels[problem] for problem in kept}, None, note


def unit_of(most: float) -> tuple[str, int]:
    """The unit in which the largest of some sizes has at least one figure, and its bytes."""
    return next((unit, size) for unit, size in _UNITS if most >= size or size == 1)
