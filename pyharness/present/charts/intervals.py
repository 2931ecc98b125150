"""Values with their intervals, a line each, told apart by colour and shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyharness.present.charts.parts import SECONDS, Row, data_of, distinct, log_ticks

if TYPE_CHECKING:
    import altair as alt

_HEIGHT = 20  # pixels of a line
_STEPS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.25)


def intervals(
    bars: Sequence[Row],
    marks: Mapping[str, tuple[str, str]],
    axis: str,
    names: Sequence[str],
    legend: str,
    *,
    one: float | None = None,
    margin: float | None = None,
) -> alt.TopLevelMixin:
    """A line a bar, which has label, group (one panel each), value, low, high and verdict.

    ``marks``   colour and shape of each verdict, in the legend's order.
    ``names``   labels in order.
    ``one``     the value that says that nothing changed: the axis is of ratios; None: of seconds.
    ``margin``  how far from it still counts as nothing, as a share.
    """
    import altair as alt  # noqa: PLC0415 - slow, and only for pictures

    there = [verdict for verdict in marks if any(bar["verdict"] == verdict for bar in bars)]
    data = data_of([{**bar, "one": one, **_margins(margin)} for bar in bars])
    base = alt.Chart(data).encode(
        y=alt.Y("label:N", sort=list(names), title=None),
        color=alt.Color(
            "verdict:N",
            title=legend,
            scale=alt.Scale(domain=there, range=[marks[v][0] for v in there]),
            legend=alt.Legend(orient="bottom"),
        ),
        tooltip=["label:N", "group:N", "verdict:N", *_told(one)],
    )
    form = SECONDS if one is None else "format(datum.value, '~r')"
    ends = [bar[end] for bar in bars for end in ("low", "high")]
    ticks = alt.Axis(values=_ticks(ends, one), labelOverlap=True, labelExpr=form)
    scale = alt.Scale(type="log", nice=False, padding=12)
    layers = []
    if margin is not None:
        band = alt.Chart(data).mark_rect(opacity=0.15, color="#808080")
        layers.append(band.encode(x="min(from):Q", x2="max(to):Q"))
    if one is not None:
        rule = alt.Chart(data).mark_rule(strokeDash=[4, 3])
        layers.append(rule.encode(x="min(one):Q"))
    layers.append(base.mark_rule(strokeWidth=2.5).encode(x=alt.X("low:Q", title=axis), x2="high:Q"))
    shape = alt.Shape(
        "verdict:N",
        title=legend,
        scale=alt.Scale(domain=there, range=[marks[v][1] for v in there]),
    )
    dots = base.mark_point(filled=True, size=75, opacity=1).encode(
        x=alt.X("value:Q", title=axis, scale=scale, axis=ticks), shape=shape
    )
    chart = alt.layer(*layers, dots).properties(width=300, height=alt.Step(_HEIGHT))
    groups = distinct(bar["group"] for bar in bars)
    panels: alt.TopLevelMixin = chart.facet(
        facet=alt.Facet("group:N", sort=groups, title=None), columns=2, spacing=18
    )
    return panels


def _ticks(ends: Sequence[float], one: float | None) -> list[float]:
    """Round numbers; near 1 they are steps of a ratio."""
    if one is None or max(ends) > 2 or min(ends) < 0.5:
        return log_ticks([*ends, *([one] if one else [])])
    width = max(abs(end - 1) for end in ends)
    step = next(s for s in _STEPS if s * 4 >= width)
    return [round(1 + step * place, 4) for place in range(-4, 5)]


def _told(one: float | None) -> list[alt.Tooltip]:
    import altair as alt  # noqa: PLC0415

    form = ".4s" if one is None else ".4f"
    return [alt.Tooltip(f"{name}:Q", format=form) for name in ("value", "low", "high")]


def _margins(margin: float | None) -> dict[str, float]:
    return {} if margin is None else {"from": 1 / (1 + margin), "to": 1 + margin}
