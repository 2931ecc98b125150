"""Matrices of outcomes and verdicts: stages, repeatability, checks, drift; and why of a refusal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyharness.present.charts.matrix import matrix
from pyharness.present.charts.parts import (
    Row,
    capped,
    data_of,
    distinct,
    message_chart,
    origin,
    problem_labels,
    short_labels,
    titled,
    told_apart,
)
from pyharness.present.charts.theme import BAD, GOOD, SOME, UNKNOWN
from pyharness.spec.repeatability import CONDITIONS, NOT_REPEATABLE, NOT_TRIED, REPEATABLE
from pyharness.spec.stages import STAGES

if TYPE_CHECKING:
    import altair as alt

_BUFFERS = ("y", "hy", "cy", "dx", "dhx", "dcx", "dw")
_NONE = "\N{EN DASH}"
_OUTCOMES = {
    "passed": (GOOD, "ok"),
    "unsupported": (SOME, "refused"),
    "out_of_memory": ("#CC79A7", "memory"),
    "failed": (BAD, "failed"),
    "skipped": (UNKNOWN, _NONE),
}
_MOST_REASONS, _REASON = 20, 84  # bars; letters


def stages_chart(rows: Sequence[Row], *, title: str | None = None) -> alt.TopLevelMixin:
    """How far each problem came.

    ``rows``  of the table ``stages``; of several releases each has a matrix of its own.
    """
    own = "How far each problem comes"
    if not rows:
        return message_chart(own, title, "no problem was tried")
    labels = problem_labels(rows)
    problems, note = capped(distinct(r["problem"] for r in rows), "problem")
    kept = set(problems)
    cells = [
        {
            "x": row["stage"],
            "y": labels[row["problem"]],
            "panel": row["release"],
            "verdict": row["outcome"],
            "words": _OUTCOMES[row["outcome"]][1],
            "told": row["reason"] or row["status"] or "",
        }
        for row in rows
        if row["problem"] in kept
    ]
    there = {row["stage"] for row in rows}
    stages = [s for s in (*STAGES, "close") if s in there]
    colours = {outcome: colour for outcome, (colour, _) in _OUTCOMES.items()}
    down = ("", [labels[problem] for problem in problems])
    chart = matrix(cells, colours, ("stage", stages), down, "outcome")
    return titled(chart, own, title, origin(rows), note)


def repeatability_chart(rows: Sequence[Row], *, title: str | None = None) -> alt.TopLevelMixin:
    """Which tensors repeat bit for bit under which condition, over all problems.

    ``rows``  of the table ``repeatability``.
    """
    rows = [row for row in rows if row["buffer"] is not None]
    return _counted(
        rows,
        ("Does it repeat bit for bit?", title),
        "condition",
        CONDITIONS,
        (REPEATABLE, NOT_REPEATABLE, NOT_TRIED),
        ("repeats", "differs of some problems", "differs of all", "not tried"),
    )


def equivalences_chart(rows: Sequence[Row], *, title: str | None = None) -> alt.TopLevelMixin:
    """Which checks hold for which tensors, over all problems.

    ``rows``  of the table ``equivalences``.
    """
    rows = [row for row in rows if row["buffer"] is not None and row["check"] is not None]
    return _counted(
        rows,
        ("Does what must be equal come out equal?", title),
        "check",
        distinct(row["check"] for row in rows),
        ("holds", "violated", "not_told"),
        ("holds", "violated by some problems", "violated by all", "not told"),
    )


def _counted(
    rows: Sequence[Row],
    titles: tuple[str, str | None],
    column: str,
    order: Iterable[str],
    verdicts: tuple[str, str, str],
    words: tuple[str, str, str, str],
) -> alt.TopLevelMixin:
    """A matrix of a column and the tensors for each release: of how many problems each differs."""
    if not rows:
        return message_chart(*titles, "nothing was compared")
    fine, wrong, _ = verdicts
    found: dict[tuple[str, str, str], dict[Any, str]] = {}
    for row in rows:
        of_cell = found.setdefault((row["release"], row[column], row["buffer"]), {})
        key = row["problem"]
        of_cell[key] = _worst(verdicts, of_cell.get(key), row["verdict"])
    cells = []
    for (release, name, buffer), of_cell in found.items():
        bad = sum(verdict == wrong for verdict in of_cell.values())
        told = bad + sum(verdict == fine for verdict in of_cell.values())
        verdict = words[3 if not told else 0 if not bad else 2 if bad == told else 1]
        cells.append(
            {
                "x": buffer,
                "y": name,
                "panel": release,
                "verdict": verdict,
                "words": _NONE if not told else f"0/{told}" if not bad else f"{bad}/{told}",
                "told": f"{bad} of {told} problems",
            }
        )
    there = {cell["y"] for cell in cells}
    colours = dict(zip(words, (GOOD, SOME, BAD, UNKNOWN), strict=True))
    chart = matrix(
        cells,
        colours,
        ("tensor", [b for b in _BUFFERS if any(c["x"] == b for c in cells)]),
        (column, [name for name in order if name in there]),
        f"{words[2].partition(' ')[0]} / problems that tell",
    )
    return titled(chart, *titles, origin(rows))


def _worst(verdicts: tuple[str, str, str], one: str | None, other: str) -> str:
    """Of two verdicts the one that counts: wrong before fine before none."""
    rank = {verdict: place for place, verdict in enumerate((verdicts[1], verdicts[0], verdicts[2]))}
    return other if one is None else min(one, other, key=lambda verdict: rank[verdict])


def drift_chart(rows: Sequence[Row], *, title: str | None = None) -> alt.TopLevelMixin:
    """Which tensors have other bits on the newer release, and how far they are.

    ``rows``  of the table ``drift``.
    """
    own = "Other bits on the newer release?"
    rows = [row for row in rows if row["buffer"] is not None]
    if not rows:
        return message_chart(own, title, "no tensor was compared")
    old, new = told_apart(rows[0]["release_a"], rows[0]["release_b"])
    own = f"Bits of {new} beside {old}"
    labels = problem_labels(rows)
    ranked = sorted(distinct(r["problem"] for r in rows), key=_most(rows), reverse=True)
    problems, note = capped(ranked, "problem", which="most drifted")
    kept = set(problems)
    cells = [
        {
            "x": row["buffer"],
            "y": labels[row["problem"]],
            "verdict": row["verdict"].replace("_", " "),
            "words": _drifted(row),
            "told": row["reason"] or f"{row['share'] or 0:.2%} of the elements",
        }
        for row in rows
        if row["problem"] in kept
    ]
    colours = {"same": GOOD, "drifted": BAD, "not told": SOME, "not compared": UNKNOWN}
    there = {row["buffer"] for row in rows}
    buffers = [b for b in _BUFFERS if b in there]
    chart = matrix(
        cells,
        colours,
        ("tensor", buffers),
        ("", [labels[p] for p in problems]),
        "verdict (and largest distance, ulp)",
    )
    return titled(chart, own, title, origin(rows), note)


def _most(rows: Sequence[Row]) -> Callable[[Any], float]:
    most: dict[Any, float] = {}
    for row in rows:
        drifted = row["verdict"] == "drifted"
        size = 1.0 + (row["most_ulps"] or 0) if drifted else 0.0
        most[row["problem"]] = max(most.get(row["problem"], 0.0), size)
    return lambda problem: most[problem]


def _drifted(row: Mapping[str, Any]) -> str:
    if row["verdict"] != "drifted":
        return {"same": "=", "not_told": "?"}.get(row["verdict"], _NONE)
    return "≠" if row["most_ulps"] is None else f"{row['most_ulps']:,}"


def reasons_chart(rows: Sequence[Row], *, title: str | None = None) -> alt.TopLevelMixin:
    """The conditions that refuse most problems.

    ``rows``  of the table ``reasons``, of one release.
    """
    import altair as alt  # noqa: PLC0415 - slow, and only for pictures

    own = "Why problems are refused"
    rows = sorted((r for r in rows if r["rows"]), key=lambda r: -r["rows"])
    if not rows:
        return message_chart(own, title, "no problem is refused")
    rows, note = capped(rows, "reason", _MOST_REASONS)
    words = (f"{r['call'].removeprefix('cudnn')}: {r['reason'] or 'no words'}" for r in rows)
    bars = [
        {"reason": label, "status": row["status"], "rows": row["rows"]}
        for row, label in zip(rows, short_labels(words, _REASON), strict=True)
    ]
    chart = alt.Chart(data_of(bars)).mark_bar()
    chart = chart.encode(
        x=alt.X("rows:Q", title="problems refused", axis=alt.Axis(format="~s", tickCount=5)),
        y=alt.Y(
            "reason:N",
            title=None,
            sort=[bar["reason"] for bar in bars],
            axis=alt.Axis(labelLimit=620),
        ),
        color=alt.Color("status:N", legend=alt.Legend(orient="bottom")),
        tooltip=["reason:N", "status:N", alt.Tooltip("rows:Q", format=",")],
    )
    chart = chart.properties(width=360, height=alt.Step(21))
    return titled(chart, own, title, origin(rows), note)
