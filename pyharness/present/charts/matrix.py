"""A matrix of verdicts: each cell is told by its colour and by a word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyharness.present.charts.parts import Row, data_of, distinct
from pyharness.present.charts.theme import BAD, GOOD, ON_DARK, ON_LIGHT

if TYPE_CHECKING:
    import altair as alt

_HEIGHT, _WIDTH, _LETTER = 24, 46, 7  # pixels
_FRAME = 14
_ACROSS = 900  # pixels that panels beside each other may take
_GAP = 0.06  # between cells, of one


def matrix(
    cells: Sequence[Row],
    colours: Mapping[str, str],
    x: tuple[str, Sequence[str]],
    y: tuple[str, Sequence[str]],
    legend: str,
) -> alt.LayerChart | alt.FacetChart:
    """The cells, each ``x``, ``y``, ``verdict``, ``words`` (inside) and ``told`` (on a pointer).

    If they have several ``panel``s, each is a matrix of its own, beside the others.


    ``colours``  of each verdict, in the legend's order; verdicts that no cell has are left out.
    ``x``, ``y``  title of an axis and its values in order.
    """
    import altair as alt  # noqa: PLC0415 - slow, and only for pictures

    there = {cell["verdict"] for cell in cells}
    verdicts = [verdict for verdict in colours if verdict in there]
    dark = [verdict for verdict in verdicts if colours[verdict] in (GOOD, BAD)]
    widest = max(len(str(cell["words"])) for cell in cells)
    step = max(_WIDTH, _LETTER * widest + _FRAME)
    gaps = alt.Scale(paddingInner=_GAP)
    base = alt.Chart(data_of(cells)).encode(
        x=alt.X("x:N", sort=list(x[1]), title=x[0], axis=alt.Axis(labelAngle=-40), scale=gaps),
        y=alt.Y("y:N", sort=list(y[1]), title=y[0], scale=gaps),
        tooltip=[alt.Tooltip("y:N", title=y[0] or "row"), alt.Tooltip("x:N", title=x[0]), "told:N"],
    )
    boxes = base.mark_rect(cornerRadius=3).encode(
        color=alt.Color(
            "verdict:N",
            title=legend,
            scale=alt.Scale(domain=verdicts, range=[colours[v] for v in verdicts]),
            legend=alt.Legend(orient="bottom", columns=5, symbolType="square"),
        )
    )
    text = base.mark_text(fontSize=11).encode(
        text="words:N",
        color=alt.condition(
            alt.FieldOneOfPredicate("verdict", dark), alt.value(ON_DARK), alt.value(ON_LIGHT)
        ),
    )
    layers = alt.layer(boxes, text)
    sized: alt.LayerChart = layers.properties(width=alt.Step(step), height=alt.Step(_HEIGHT))
    panels = distinct(cell["panel"] for cell in cells if "panel" in cell)
    if len(panels) < 2:
        return sized
    beside = max(1, min(len(panels), _ACROSS // (step * len(x[1]))))
    facet = alt.Facet("panel:N", sort=panels, title=None)
    return sized.facet(facet=facet, columns=beside, spacing=16)
