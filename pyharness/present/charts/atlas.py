"""Release by release: how many problems each accepts, what began and stopped, what a call costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyharness.present.charts.parts import SECONDS, Row, data_of, distinct, message_chart, titled
from pyharness.present.charts.theme import BAD, GOOD

if TYPE_CHECKING:
    import altair as alt

_STEP, _HEIGHT = 17, 92  # pixels of a release, and of a call
_CHANGES = {"newly_accepted": "began", "newly_refused": "stopped"}
# Of a change: colour, shape, and whether it stands above the line or below it.
_LOOKS = {"began": (GOOD, "triangle-up", -1), "stopped": (BAD, "triangle-down", 1)}
_ROOM = 0.5  # above and below a line, of its height: for marks and numbers
_NEAR = 4  # releases apart at which numbers would collide


def accepted_chart(
    rows: Sequence[Row], steps: Sequence[Row], *, title: str | None = None
) -> alt.TopLevelMixin:
    """How many problems each release accepts, a line for each call, with what changed.

    ``rows``   of the table ``atlas``, the oldest release first.
    ``steps``  of the table ``atlas_steps``.
    """
    import altair as alt  # noqa: PLC0415 - slow, and only for pictures

    own = "What each release accepts"
    if not rows:
        return message_chart(own, title, "no release is in the atlas")
    releases = distinct(row["release"] for row in rows)
    own = f"What {len(releases):,} releases accept"
    panels = []
    calls = distinct(row["call"] for row in rows)
    for call in calls:
        of_call = [row for row in rows if row["call"] == call]
        marks = _marks(of_call, [s for s in steps if s["call"] == call], releases)
        panels.append(_panel(of_call, marks, releases, last=call == calls[-1]))
    chart = alt.vconcat(*panels, spacing=10).resolve_scale(color="shared", shape="shared")
    words = "lines: problems of a space that are accepted; marks: how many began and stopped"
    return titled(chart, own, title, words)


def _marks(
    rows: Sequence[Row], steps: Sequence[Row], releases: Sequence[str]
) -> list[dict[str, Any]]:
    """What began and what stopped with each release, in problems.

    ``level``  0 or 1: how far from its mark a number stands, so that neighbours do not collide.
    """
    counts: dict[tuple[str, str], int] = {}
    for step in steps:
        if (change := _CHANGES.get(step["change"])) is not None:
            key = step["release_b"], change
            counts[key] = counts.get(key, 0) + (step["rows"] or 0)
    accepted = {row["release"]: row["accepted"] for row in rows}
    marks: list[dict[str, Any]] = []
    before: dict[str, tuple[int, int]] = {}  # of each change: the last place, and its level
    for (release, change), problems in counts.items():
        if release not in accepted:
            continue
        place = releases.index(release)
        last, level = before.get(change, (-_NEAR, 0))
        level = 1 - level if place - last < _NEAR else 0
        before[change] = place, level
        marks.append(
            {
                "release": release,
                "accepted": accepted[release],
                "change": change,
                "problems": problems,
                "level": level,
                "words": f"{'+' if change == 'began' else '−'}{problems:,}",  # noqa: RUF001
            }
        )
    return marks


def _panel(
    rows: Sequence[Row], marks: Sequence[Row], releases: Sequence[str], *, last: bool
) -> alt.LayerChart:
    import altair as alt  # noqa: PLC0415

    points = [{"release": row["release"], "accepted": row["accepted"]} for row in rows]
    counts = [row["accepted"] for row in rows]
    room = (max(counts) - min(counts)) * _ROOM or max(counts) * _ROOM or 1.0
    domain = [max(min(counts) - room, 0), max(counts) + room]
    y = alt.Y(
        "accepted:Q",
        title=None,
        scale=alt.Scale(domain=domain, nice=False, zero=False),
        axis=alt.Axis(format=",d", tickCount=3),
    )
    x = _releases(releases, labels=last)
    told = alt.Tooltip("accepted:Q", format=",")
    line = alt.Chart(data_of(points)).mark_line(interpolate="step", strokeWidth=2)
    layers = [line.encode(x=x, y=y, tooltip=["release:N", told])]
    colours, shapes = (
        alt.Scale(domain=list(_LOOKS), range=[look[of] for look in _LOOKS.values()])
        for of in (0, 1)
    )
    for change, (*_, away) in _LOOKS.items():
        own = data_of([mark for mark in marks if mark["change"] == change])
        base = alt.Chart(own).encode(
            x=x, y=y, tooltip=["release:N", "change:N", alt.Tooltip("problems:Q", format=",")]
        )
        dots = base.mark_point(filled=True, size=90, opacity=1, yOffset=5 * away)
        layers.append(
            dots.encode(
                color=alt.Color("change:N", title="problems that", scale=colours),
                shape=alt.Shape("change:N", title="problems that", scale=shapes),
            )
        )
        for level in (0, 1):
            text = base.transform_filter(f"datum.level == {level}").mark_text(
                fontSize=10, dy=away * (16 + 11 * level)
            )
            layers.append(text.encode(text="words:N"))
    words = f"{rows[0]['call']}: of {rows[0]['rows']:,} problems"
    title = alt.TitleParams(text=words, fontSize=12, fontWeight="normal", offset=4)
    panel: alt.LayerChart = alt.layer(*layers).properties(
        width=alt.Step(_STEP), height=_HEIGHT, title=title
    )
    return panel


def _releases(releases: Sequence[str], *, labels: bool) -> alt.X:
    import altair as alt  # noqa: PLC0415

    axis = alt.Axis(labels=labels, labelAngle=-90, labelFontSize=11, labelOverlap=False, grid=True)
    domain = alt.Scale(domain=list(releases))
    return alt.X("release:N", sort=list(releases), scale=domain, title=None, axis=axis)


def release_costs_chart(rows: Sequence[Row], *, title: str | None = None) -> alt.TopLevelMixin:
    """What a call costs on each release: the median with its middle half.

    ``rows``  of the table ``costs``, the oldest release first.
    """
    import altair as alt  # noqa: PLC0415 - slow, and only for pictures

    own = "What a host call costs, release by release"
    if not rows:
        return message_chart(own, title, "no call was timed")
    kept = ("release", "call", "answer", "median_s", "p25_s", "p75_s")
    points = [{name: row[name] for name in kept} for row in rows]
    answers, words = alt.Scale(domain=["accepted", "refused"]), "problems that are"
    base = alt.Chart(data_of(points)).encode(
        x=_releases(distinct(row["release"] for row in rows), labels=True),
        color=alt.Color("answer:N", title=words, scale=answers),
    )
    middle = base.mark_area(opacity=0.25).encode(y="p25_s:Q", y2="p75_s:Q")
    line = base.mark_line(point=alt.OverlayMarkDef(size=25)).encode(
        y=alt.Y("median_s:Q", title=None, axis=alt.Axis(labelExpr=SECONDS, tickCount=3)),
        strokeDash=alt.StrokeDash("answer:N", title=words, scale=answers),
        tooltip=["release:N", "call:N", "answer:N", alt.Tooltip("median_s:Q", format=".4s")],
    )
    layers = alt.layer(middle, line).properties(width=alt.Step(_STEP), height=_HEIGHT)
    calls = distinct(row["call"] for row in rows)
    chart = layers.facet(facet=alt.Facet("call:N", sort=calls, title=None), columns=1, spacing=14)
    chart = chart.resolve_scale(y="independent")
    return titled(chart, own, title, "median; band: the middle half of the samples")
