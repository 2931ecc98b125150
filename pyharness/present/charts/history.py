"""The whole history in one picture: which release began or stopped accepting which problems."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyharness.present.charts.parts import data_of, distinct, heading, message_chart
from pyharness.present.charts.theme import GOOD, SOME
from pyharness.present.units import count_text

if TYPE_CHECKING:
    import altair as alt

Row = Mapping[str, Any]
_TITLE = "Which release accepts what"
_STEP, _BAND = 14, 58  # of a release, of a set of problems
_LINE, _LINES, _LINE_HIGH = 60, 4, 14  # letters and lines of a label, and its line
_EXTENT = 430  # of the labels, in the widest of usual fonts: panels begin below each other


def history_chart(rows: Sequence[Row], *, title: str | None = None) -> alt.TopLevelMixin:
    """Sets of problems over releases: a full bar where a release accepts a set, a thin one where
    it refuses it.

    ``rows``  as api.atlas_fates makes them; calls whose every set is always accepted are left out.
    """
    import altair as alt  # noqa: PLC0415 - slow, and only for pictures

    releases = distinct(r["release"] for r in rows)
    releases.sort(key=_key)
    changed = {r["call"] for r in rows if r["accepted"] == "no"}
    calls = [c for c in distinct(r["call"] for r in rows) if c in changed]
    if not calls:
        return message_chart(_TITLE, title, "no release changed what it accepts")
    panels = [
        _panel(call, [r for r in rows if r["call"] == call], releases, last=call == calls[-1])
        for call in calls
    ]
    note = "each line: problems that every release treats alike, and no others"
    legend = "full blue bar: accepted; thin orange line: refused"
    chart: alt.TopLevelMixin = alt.vconcat(*panels, spacing=14).properties(
        title=heading(_TITLE, title, f"{count_text(len(releases), 'release')}; {legend}", note)
    )
    return chart


def _panel(
    call: str, rows: Sequence[Row], releases: Sequence[str], *, last: bool
) -> alt.LayerChart | alt.FacetChart:
    import altair as alt  # noqa: PLC0415

    labels = [_label(row) for row in rows]
    order = distinct(labels)
    data = data_of(
        [
            {"set": label, "release": _short(row["release"]), **_told(row)}
            for row, label in zip(rows, labels, strict=True)
        ]
    )
    across = alt.X(
        "release:N",
        sort=[_short(r) for r in releases],
        scale=alt.Scale(domain=[_short(r) for r in releases], paddingInner=0.08),
        title=None,
        axis=alt.Axis(labelAngle=-90, labelFontSize=11, labelOverlap=False) if last else None,
    )
    down = alt.Y(
        "set:N",
        sort=order,
        title=None,
        axis=alt.Axis(
            labelExpr="split(datum.label, '\\n')",
            labelLimit=0,
            labelFontSize=12,
            labelLineHeight=_LINE_HIGH,
            labelOffset=-_LINE_HIGH * (_LINES - 1) / 2,  # it places the first line of _LINES
            minExtent=_EXTENT,
        ),
        scale=alt.Scale(paddingInner=0.25),
    )
    base = alt.Chart(
        data, width=_STEP * len(releases), height=_BAND * len(order), title=_head(call)
    )
    tip = ["release:N", "problems:Q", "accepted:N"]
    yes = base.mark_rect(color=GOOD, aria=False).transform_filter("datum.accepted == 'yes'")
    no = base.mark_tick(aria=False, color=SOME, thickness=3, size=_STEP, orient="horizontal")
    refused = no.transform_filter("datum.accepted == 'no'")
    return alt.layer(
        yes.encode(x=across, y=down, tooltip=tip), refused.encode(x=across, y=down, tooltip=tip)
    )


def _head(call: str) -> alt.TitleParams:
    import altair as alt  # noqa: PLC0415

    return alt.TitleParams(text=call, fontSize=12, anchor="start", offset=4)


def _told(row: Row) -> dict[str, Any]:
    return {"problems": row["problems"], "accepted": row["accepted"]}


def _label(row: Row) -> str:
    lines = textwrap.wrap(row["what"], _LINE)
    if len(lines) > _LINES:
        lines = [*lines[: _LINES - 1], f"{lines[_LINES - 1][: _LINE - 2]} …"]
    above = [" "] * ((_LINES - len(lines)) // 2)
    return "\n".join([*above, *lines])


def _short(release: str) -> str:
    return ".".join(release.partition("+")[0].split(".")[:3])


def _key(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.partition("+")[0].split("."))
