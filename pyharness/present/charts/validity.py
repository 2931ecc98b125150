"""What releases accept, as a heat map of two pairs of axes: old, new, and the difference."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyharness.present.charts.parts import Row, data_of, distinct, message_chart, titled

if TYPE_CHECKING:
    import altair as alt

ANY = "any"
_CELL, _LETTER = 19, 6.5  # pixels
_MOST_TOLD = 8
_CHANGES = [-1, -0.2, 0, 0.2, 1]  # where the colours of the range are
_SHARE = "share of the other settings"


def validity_chart(
    cells: Sequence[Row],
    names: Sequence[str],
    *,
    rows: Sequence[str] = ("data_type", "math_prec"),
    columns: Sequence[str] = ("algo", "cell_mode"),
    filters: Sequence[str] = (),
    title: str | None = None,
) -> alt.TopLevelMixin:
    """The share of problems that are accepted in each cell of a map.

    ``cells``    from analyze.accepted: axes, problems, accepted_a and of two releases accepted_b.
    ``names``    of the releases, one or two: two panels, and a third of what changed.
    ``rows``     one axis, or two: an outer and an inner one; ``columns`` likewise.
    ``filters``  further axes of the cells, each with a box to choose a value: for pages alone.
    """
    import altair as alt  # noqa: PLC0415 - slow, and only for pictures

    own = f"What {names[0]} accepts" if len(names) == 1 else f"{names[0]} to {names[1]}"
    if not cells:
        return message_chart(own, title, "no problem of this call is in both maps")
    axes = [*rows, *columns]
    cells, refused = _taken(cells, axes)
    if not cells:
        return message_chart(own, title, "every problem is refused")
    data = data_of(cells if filters else _summed(cells, axes))
    orders = {axis: distinct(row[axis] for row in cells) for axis in (*axes, *filters)}
    choices = [_choice(axis, orders[axis]) for axis in filters]
    panels: list[alt.Chart] = []
    for side in range(len(names)):
        field = f"accepted_{'ab'[side]}"
        colour = alt.Color(
            "share:Q",
            title=_SHARE,
            scale=alt.Scale(type="sqrt", domain=[0, 1], range="heatmap"),
            legend=_legend([0, 0.1, 0.25, 0.5, 1], ".0%") if side == len(names) - 1 else None,
        )
        of = _counted(data, axes, filters, f"datum.{field} / datum.problems")
        panels.append(
            _panel(of, orders, rows, columns, colour, f"{names[side]} accepts", not panels)
        )
    if len(names) == 2:
        colour = alt.Color(
            "share:Q",
            title="newly refused (orange), newly accepted (blue)",
            scale=alt.Scale(
                type="symlog", constant=0.05, domain=_CHANGES, range="diverging", interpolate="lab"
            ),
            legend=_legend([-1, -0.3, -0.1, 0, 0.1, 0.3, 1], "+.0%"),
        )
        change = "(datum.accepted_b - datum.accepted_a) / datum.problems"
        of = _counted(data, axes, filters, change)
        panels.append(_panel(of, orders, rows, columns, colour, "change of the share", False))
    chart = alt.hconcat(*panels).resolve_scale(color="independent")
    return titled(chart.add_params(*choices) if choices else chart, own, title, *refused)


def _taken(cells: Sequence[Row], axes: Sequence[str]) -> tuple[list[Row], list[str]]:
    """The cells without values that are refused whatever the others are, and a note of these."""
    notes, left = [], list(cells)
    for axis in axes:
        some = {row[axis] for row in cells if row["accepted_a"] or row.get("accepted_b")}
        never = [value for value in distinct(row[axis] for row in cells) if value not in some]
        if never:
            words = ", ".join(never[:_MOST_TOLD]) + (", …" if len(never) > _MOST_TOLD else "")
            notes.append(f"not shown, refused everywhere: {axis.replace('_', ' ')} {words}")
            left = [row for row in left if row[axis] in some]
    return left, notes


def _summed(cells: Sequence[Row], axes: Sequence[str]) -> list[Row]:
    """The cells over these axes alone."""
    totals: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in cells:
        key = tuple(row[axis] for axis in axes)
        total = totals.setdefault(key, dict(zip(axes, key, strict=True)))
        for name, value in row.items():
            if name in ("problems", "accepted_a", "accepted_b"):
                total[name] = total.get(name, 0) + value
    return list(totals.values())


def _choice(axis: str, values: Sequence[str]) -> alt.Parameter:
    import altair as alt  # noqa: PLC0415

    words = f"{axis.replace('_', ' ')} "
    box = alt.binding_select(options=[ANY, *values], name=words)
    return alt.param(name=f"only_{axis}", value=ANY, bind=box)


def _counted(
    data: alt.InlineData, axes: Sequence[str], filters: Sequence[str], share: str
) -> alt.Chart:
    """The cells that the boxes leave, summed over what they choose from."""
    import altair as alt  # noqa: PLC0415

    chart = alt.Chart(data)
    if filters:
        for axis in filters:
            chosen = f"only_{axis} == '{ANY}' || datum.{axis} == only_{axis}"
            chart = chart.transform_filter(chosen)
        sums: dict[str, Any] = {
            name: f"sum({name})" for name in ("problems", "accepted_a", "accepted_b")
        }
        chart = chart.transform_aggregate(groupby=list(axes), **sums)
    counted: alt.Chart = chart.transform_calculate(share=share)
    return counted


def _legend(values: Sequence[float], form: str) -> alt.Legend:
    import altair as alt  # noqa: PLC0415

    return alt.Legend(
        orient="bottom",
        direction="horizontal",
        gradientLength=260,
        titleLimit=400,
        values=list(values),
        labelExpr=f"datum.value == 0 ? '0' : format(datum.value, '{form}')",
    )


def _panel(
    base: alt.Chart,
    orders: dict[str, list[str]],
    rows: Sequence[str],
    columns: Sequence[str],
    colour: alt.Color,
    title: str,
    first: bool,
) -> alt.Chart:
    """One map; only the first has the names of its rows."""
    import altair as alt  # noqa: PLC0415

    across, down = columns[-1], rows[-1]
    alone = len(columns) == 1
    mark = base.mark_rect(stroke=None).encode(
        x=alt.X(
            f"{across}:N",
            sort=orders[across],
            title=_words(columns) if alone else None,
            axis=alt.Axis(labelAngle=-90, labelPadding=4),
        ),
        y=alt.Y(
            f"{down}:N",
            sort=orders[down],
            title=_words(rows) if first and len(rows) == 1 else None,
            axis=alt.Axis(labels=first, labelPadding=4),
        ),
        color=colour,
        tooltip=[
            *(alt.Tooltip(f"{name}:N") for name in (*rows, *columns)),
            alt.Tooltip("share:Q", format=".2%"),
        ],
    )
    mark = mark.properties(width=alt.Step(_CELL), height=alt.Step(_CELL))
    if not alone:
        outer = columns[0]
        header = alt.Header(
            labelPadding=4,
            labelFontSize=11,
            titlePadding=4,
            titleFontWeight="normal",
            labelExpr=_broken(orders[outer], len(orders[across])),
        )
        order, words = orders[outer], _words(columns)
        mark = mark.encode(
            column=alt.Column(f"{outer}:N", sort=order, header=header, title=words, spacing=4)
        )
    if len(rows) > 1:
        header = alt.Header(
            labels=first,
            labelAngle=0,
            labelAlign="left",
            labelPadding=18,
            titlePadding=4,
            titleFontWeight="normal",
        )
        order, named = orders[rows[0]], _words(rows) if first else None
        mark = mark.encode(
            row=alt.Row(f"{rows[0]}:N", sort=order, header=header, title=named, spacing=4)
        )
    panel: alt.Chart = mark.properties(title=alt.TitleParams(text=title, fontSize=13, offset=8))
    return panel


def _words(axes: Sequence[str]) -> str:
    return ", ".join(axis.replace("_", " ") for axis in axes)


def _broken(labels: Sequence[str], cells: int) -> str:
    """The expression of labels over so many cells: words that are too long for one line in two."""
    most = int(cells * _CELL / _LETTER)
    lines = {label: _lines(label, most) for label in labels}
    return f"({json.dumps(lines)})[datum.label]"


def _lines(label: str, most: int) -> list[str]:
    lines = [""]
    for word in label.split("_"):
        joined = f"{lines[-1]}_{word}" if lines[-1] else word
        if len(joined) > most and lines[-1]:
            lines[-1] += "_"
            lines.append(word)
        else:
            lines[-1] = joined
    return lines
