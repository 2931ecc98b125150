"""What a repeatable result costs: the choices of each problem by time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyharness.analyze.trade_off import CHOICE
from pyharness.present.charts.intervals import intervals
from pyharness.present.charts.parts import Row, capped, distinct, message_chart, origin, titled
from pyharness.present.charts.theme import BAD, GOOD, UNKNOWN
from pyharness.spec.repeatability import NOT_REPEATABLE, NOT_TRIED, REPEATABLE

if TYPE_CHECKING:
    import altair as alt

_MARKS = {
    "repeatable": (GOOD, "circle"),
    "not repeatable": (BAD, "cross"),
    "not known": (UNKNOWN, "diamond"),
}
_WORDS = {REPEATABLE: "repeatable", NOT_REPEATABLE: "not repeatable", NOT_TRIED: "not known"}
_MOST_PROBLEMS = 12


def trade_off_chart(rows: Sequence[Row], *, title: str | None = None) -> alt.TopLevelMixin:
    """Time of each algo and math beside whether its results repeat, a panel for each problem.

    ``rows``  of the table ``trade_offs``.
    """
    own = "Time beside repeatability"
    timed = [row for row in rows if row["median_s"]]
    if not timed:
        return message_chart(own, title, "no choice was timed")
    said = [name for name in CHOICE[1:] if len({row[name] for row in timed}) > 1]
    told = [name for name in ("pass", "release") if len({row[name] for row in timed}) > 1]
    bars = []
    for row in timed:
        group = row["without_choice"] or "every axis at its default"
        known = row["verdict"] != REPEATABLE or not row["untried"]
        bars.append(
            {
                "label": " ".join((row["algo"], *(str(row[name]) for name in said))),
                "group": ", ".join((group, *(row[name] for name in told))),
                "value": row["median_s"],
                "low": row["median_low_s"] or row["median_s"],
                "high": row["median_high_s"] or row["median_s"],
                "verdict": _WORDS[row["verdict"]] if known else "not known",
            }
        )
    groups, note = capped(distinct(bar["group"] for bar in bars), "problem", _MOST_PROBLEMS)
    bars = [bar for bar in bars if bar["group"] in groups]
    names = sorted({bar["label"] for bar in bars})
    axis = f"median time of {', '.join(distinct(row['pass'] for row in timed))}"
    chart = intervals(bars, _MARKS, axis, names, "results")
    left = len(rows) - len(timed)
    missing = f"not timed: {left:,} of {len(rows):,} choices" if left else ""
    return titled(chart, own, title, origin(rows), missing, note)
