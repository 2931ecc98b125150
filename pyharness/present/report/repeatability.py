"""Repeatability: the matrix of problem and condition, and what a repeatable choice costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pyharness.present.report.model import REPEAT, Chart, Column, Row, Section, Source, Table
from pyharness.present.report.model import is_emulated as emulated
from pyharness.present.report.sides import Side, all_rows, commands, labelled, sides
from pyharness.present.report.words import ratio_text, words
from pyharness.present.units import count_text, duration_text, share_text
from pyharness.spec.repeatability import (
    BY_DESIGN,
    CONDITIONS,
    NOT_REPEATABLE,
    NOT_TRIED,
    REPEATABLE,
)

_RANK = {NOT_TRIED: 0, REPEATABLE: 1, "by_design": 2, NOT_REPEATABLE: 3}
_SHORT = {
    NOT_TRIED: "not tried",
    REPEATABLE: "same",
    "by_design": "by design",
    NOT_REPEATABLE: "differs",
}


def repeatability_section(sources: Sequence[Source], charts: Sequence[Chart]) -> Section | None:
    """Which results repeat bit by bit, under which conditions."""
    asked = sides(sources, "repeatability")
    costs = sides(sources, "trade_offs")
    if not asked and not costs:
        return None
    lead, tables = [], []
    for side in asked:
        matrix = _matrix(side)
        lead.append(_told(side, matrix))
        tables.append(_matrix_table(side, matrix, explained=side is asked[-1]))
    differing = [r for r in all_rows(asked) if r["verdict"] == NOT_REPEATABLE]
    if differing:
        tables.append(_differences(differing))
    if costs:
        tables.append(_costs(all_rows(costs)))
    rows = [row for side in (*asked, *costs) for row in side.rows]
    return Section(
        "repeatability",
        "Repeatability",
        lead,
        charts=charts,
        tables=tables,
        commands=commands(sources, "repeatability"),
        emulated=emulated(rows),
    )


def _matrix(side: Side) -> dict[str, dict[str, Any]]:
    """Of each problem the worst verdict of its tensors under each condition."""
    found: dict[str, dict[str, Any]] = {}
    for row in side.rows:
        shared = {k: row.get(k) for k in ("name", "problem", "algo", REPEAT, "provenance")}
        own = found.setdefault(row["name"], shared)
        verdict = row["verdict"]
        if verdict == NOT_REPEATABLE and row["condition"] in BY_DESIGN:
            verdict = "by_design"
        before = own.get(row["condition"], NOT_TRIED)
        own[row["condition"]] = max(before, verdict, key=_RANK.__getitem__)
    return found


def _told(side: Side, matrix: dict[str, dict[str, Any]]) -> str:
    worst: Counter[str] = Counter()
    conditions: Counter[str] = Counter()
    for row in matrix.values():
        differ = [c for c in CONDITIONS if row.get(c) == NOT_REPEATABLE]
        conditions.update(differ)
        told = [row[c] for c in CONDITIONS if c in row]
        worst[max(told, key=_RANK.__getitem__)] += 1
    problems = count_text(len(matrix), "problem")
    bad = worst[NOT_REPEATABLE]
    if not bad:
        return f"{side.label}: of {problems} none differs under a condition that was tried."
    where = ", ".join(f"{c} ({n:,})" for c, n in conditions.most_common())
    return f"{side.label}: {bad:,} of {problems} do not repeat bit by bit: {where}."


def _matrix_table(side: Side, matrix: dict[str, dict[str, Any]], *, explained: bool) -> Table:
    """``explained``: with the words of the conditions; they stand below the last of several."""
    asked = [c for c in CONDITIONS if any(c in row for row in matrix.values())]
    there = [c for c in asked if any(row.get(c, NOT_TRIED) != NOT_TRIED for row in matrix.values())]
    untried = [words(c) for c in asked if c not in there]
    columns = [
        Column("label", "problem"),
        *(Column(c, words(c), _SHORT.__getitem__, "word") for c in there),
    ]
    worst_first = sorted(
        matrix.values(), key=lambda row: -sum(row.get(c) == NOT_REPEATABLE for c in there)
    )
    rows, shared = labelled(worst_first)
    differ = [c for c in there if any(row.get(c) == NOT_REPEATABLE for row in rows)]
    meant = "; ".join(f"{words(c)}: {CONDITIONS[c]}" for c in there)
    note = f"Each cell is the worst of the problem's tensors. {meant}. " if explained else ""
    note += f"Tried of no problem: {', '.join(untried)}. " if untried else ""
    note = f"{note}{shared}".rstrip()
    short = ("label", *(differ or there)[:4])
    return Table(f"{side.label}: problem by condition", columns, rows, note, short)


def _differences(rows: Sequence[Row]) -> Table:
    columns = [
        Column("label", "problem"),
        Column("side", "release"),
        Column("condition", "condition", words),
        Column("buffer", "tensor", kind="code"),
        Column("differing", "runs that differ", "{:,}".format, "number"),
        Column("runs", "of runs", "{:,}".format, "number"),
        Column("share", "elements", share_text, "number"),
        Column("most_ulps", "at most, ulp", "{:,}".format, "number"),
        Column("most_abs", "at most", "{:.3g}".format, "number"),
        Column("variant", "how that run was made"),
    ]
    ordered, shared = labelled(sorted(rows, key=lambda r: -(r["share"] or 0.0)))
    short = ("label", "condition", "buffer", "share", "most_ulps")
    return Table(
        "What differs, the largest share of elements first", columns, ordered, shared, short
    )


def _costs(rows: Sequence[Row]) -> Table:
    columns = [
        Column("label", "problem"),
        Column("side", "release"),
        Column("pass", "pass", words),
        Column("median_s", "median", duration_text, "number"),
        Column("cost", "over the fastest", ratio_text, "number"),
        Column("verdict", "verdict", words, "word"),
        Column("differs", "differs under"),
        Column("untried", "not tried under"),
    ]
    short = ("label", "pass", "median_s", "cost", "verdict")
    told, shared = labelled(rows)
    return Table("What a repeatable choice costs", columns, told, shared, short)
