"""What a call costs on the host: from the table ``costs``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyharness.present.charts.intervals import intervals
from pyharness.present.charts.parts import Row, distinct, message_chart, origin, titled
from pyharness.present.charts.theme import GOOD, SOME

if TYPE_CHECKING:
    import altair as alt

_MARKS = {"accepted": (GOOD, "circle"), "refused": (SOME, "diamond")}


def costs_chart(rows: Sequence[Row], *, title: str | None = None) -> alt.TopLevelMixin:
    """The median time of each call with its middle half; a panel for each release.

    ``rows``  of the table ``costs``.
    """
    own = "Time of a host call"
    if not rows:
        return message_chart(own, title, "no call was timed")
    bars = [
        {
            "label": row["call"],
            "group": row["release"],
            "value": row["median_s"],
            "low": row["p25_s"],
            "high": row["p75_s"],
            "verdict": row["answer"],
        }
        for row in rows
    ]
    names = distinct(bar["label"] for bar in bars)
    chart = intervals(bars, _MARKS, "median time of a call", names, "problems that are")
    words = "lines: the middle half of the samples"
    return titled(chart, own, title, origin(rows), words)
