"""Memory over the cycles of a soak."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyharness.present.charts.memory import unit_of
from pyharness.present.charts.parts import Row, data_of, message_chart, origin, titled
from pyharness.spec.soak import LOOKED_AT

if TYPE_CHECKING:
    import altair as alt

_WIDTH, _HEIGHT = 560, 100  # pixels
_MOST, _FEW = 2_000, 60  # looks that are drawn; that are drawn as points


def soak_chart(rows: Sequence[Row], *, title: str | None = None) -> alt.TopLevelMixin:
    """The device's memory, the host's, and the largest free block, cycle by cycle.

    ``rows``  of the table ``soak``.
    """
    import altair as alt  # noqa: PLC0415 - slow, and only for pictures

    own = "Memory over the cycles"
    panels, note = [], ""
    for column, words in LOOKED_AT.items():
        seen = [row for row in rows if row[column] is not None]
        if seen:
            step = 1 + len(seen) // _MOST
            if step > 1:
                note = f"one in {step} of {len(seen):,} looks"
            panels.append(_panel(seen[::step], column, words))
    if not panels:
        return message_chart(own, title, "no memory was looked at")
    chart = alt.vconcat(*panels, spacing=16)
    return titled(chart, own, title, origin(rows), note, _ended(rows))


def _panel(rows: Sequence[Row], column: str, words: str) -> alt.Chart:
    import altair as alt  # noqa: PLC0415

    unit, size = unit_of(max(row[column] for row in rows))
    points = [
        {
            "cycle": row["cycle"],
            "size": row[column] / size,
            "told": row["problem"] or "before the first",
        }
        for row in rows
    ]
    base = alt.Chart(data_of(points)).encode(
        x=alt.X("cycle:Q", title="cycle", axis=alt.Axis(format="~s"), scale=alt.Scale(nice=False)),
        y=alt.Y(
            "size:Q",
            title=unit,
            scale=alt.Scale(zero=False, padding=8),
            axis=alt.Axis(tickCount=4, titlePadding=6),
        ),
        tooltip=["cycle:Q", alt.Tooltip("size:Q", format=",.5~f", title=unit), "told:N"],
    )
    line = base.mark_line(interpolate="step-after", strokeWidth=1.5)
    few = len(points) <= _FEW
    chart = alt.layer(line, base.mark_point(filled=True, size=25)) if few else line
    of = alt.TitleParams(text=words, fontSize=12, fontWeight="normal", offset=6)
    panel: alt.Chart = chart.properties(width=_WIDTH, height=_HEIGHT, title=of)
    return panel


def _ended(rows: Sequence[Row]) -> str:
    """What did not pass, and where the first was."""
    wrong = [row for row in rows if row["outcome"] != "passed"]
    if not wrong:
        return ""
    first = wrong[0]
    return f"not passed: {len(wrong):,} cycles, the first {first['cycle']:,} ({first['outcome']})"
