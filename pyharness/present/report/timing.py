"""Time: old against new, with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from pyharness.present.report.model import REPEAT, Chart, Column, Row, Section, Source, Table
from pyharness.present.report.model import is_emulated as emulated
from pyharness.present.report.sides import (
    Side,
    against,
    all_rows,
    commands,
    labelled,
    paired,
    sides,
)
from pyharness.present.report.words import ratio_text, words
from pyharness.present.units import count_text, duration_text, share_text, visible_text

_KEY = ("name", "problem", "pass", "mode")


def time_section(sources: Sequence[Source], charts: Sequence[Chart]) -> Section | None:
    """Verdicts of paired runs where there are any, and what was timed side by side."""
    changes = [
        {**row, REPEAT: against(s, row, "time")}
        for s in sources
        for row in s.tables.get("time_changes", ())
    ]
    timed = sides(sources, "timings")
    if not changes and not timed:
        return None
    lead, tables = [], []
    if changes:
        lead.append(_told(changes))
        tables.append(_changes(changes))
    if len(timed) == 2:
        pairs = _pairs(timed)
        lead.append(_beside(pairs, timed))
        tables.append(_compared(pairs, timed))
    elif timed:
        tables.append(_medians(timed))
    rows = [*changes, *(row for side in timed for row in side.rows)]
    made = [c for t in ("time_changes", "timings") for c in commands(sources, t)]
    return Section(
        "time", "Time", lead, charts=charts, tables=tables, commands=made, emulated=emulated(rows)
    )


def _told(rows: Sequence[Row]) -> str:
    counts = Counter(row["verdict"] for row in rows)
    said = ", ".join(f"{n:,} {words(word)}" for word, n in counts.most_common())
    visible = [row["visible"] for row in rows if row.get("visible") is not None]
    told = f"{count_text(len(rows), 'case')} in paired fresh processes: {said}."
    if not visible:
        return told
    least = visible_text(max(visible))
    return f"{told} The smallest change that every case would have shown: {least}."


def _changes(rows: Sequence[Row]) -> Table:
    columns = [
        Column("label", "problem"),
        Column("pass", "pass", words),
        Column("mode", "mode"),
        Column("verdict", "verdict", words, "word"),
        Column("median_a_s", "old", duration_text, "number"),
        Column("median_b_s", "new", duration_text, "number"),
        Column("ratio", "new / old", ratio_text, "number"),
        Column("ratio_low", "low", ratio_text, "number"),
        Column("ratio_high", "high", ratio_text, "number"),
        Column("cycles_ratio", "in cycles", ratio_text, "number"),
        Column("visible", "least visible", visible_text, "number"),
        Column("reason", "why", kind="text"),
    ]
    told, shared = labelled(sorted(rows, key=_by_change))
    note = "The interval is of the ratio; verdicts hold the rate of false discoveries over all."
    note = f"{note} {shared}".rstrip()
    short = ("label", "pass", "verdict", "ratio", "ratio_low", "ratio_high")
    return Table("Old against new, in turn", columns, told, note, short)


def _by_change(row: Mapping[str, Any]) -> tuple[int, float]:
    order = ("slower", "faster", "inconclusive", "same")
    place = order.index(row["verdict"]) if row["verdict"] in order else len(order)
    return place, -abs((row.get("ratio") or 1.0) - 1.0)


def _pairs(timed: Sequence[Side]) -> list[dict[str, Any]]:
    rows = []
    for first, (old, new) in paired(timed, _KEY):
        row: dict[str, Any] = {k: first.get(k) for k in (*_KEY, "algo", REPEAT, "provenance")}
        for side, told in (("a", old), ("b", new)):
            if told is not None:
                row |= {f"{k[:-2]}_{side}_s": told[k] for k in ("median_s",)}
                row[f"outcome_{side}"] = told["outcome"]
        if old is not None and new is not None and old["median_s"] and new["median_s"]:
            row["ratio"] = new["median_s"] / old["median_s"]
            if old["median_low_s"] and new["median_low_s"]:
                row["ratio_low"] = new["median_low_s"] / old["median_high_s"]
                row["ratio_high"] = new["median_high_s"] / old["median_low_s"]
        row["outcome"] = row.get("outcome_b") or row.get("outcome_a")
        rows.append(row)
    return sorted(rows, key=lambda r: -(r.get("ratio") or 0.0))


def _beside(pairs: Sequence[Row], timed: Sequence[Side]) -> str:
    ratios = [row["ratio"] for row in pairs if row.get("ratio") is not None]
    what = f"{timed[0].label} → {timed[1].label}: {count_text(len(ratios), 'median')} side by side"
    if not ratios:
        return f"{what}."
    least, most = ratio_text(min(ratios)), ratio_text(max(ratios))
    return f"{what}, ratio {ratio_text(median(ratios))} in the middle, {least} to {most}."


def _compared(pairs: Sequence[Row], timed: Sequence[Side]) -> Table:
    columns = [
        Column("label", "problem"),
        Column("algo", "algo"),
        Column("pass", "pass", words),
        Column("mode", "mode"),
        Column("median_a_s", timed[0].label, duration_text, "number"),
        Column("median_b_s", timed[1].label, duration_text, "number"),
        Column("ratio", "ratio", ratio_text, "number"),
        Column("ratio_low", "low", ratio_text, "number"),
        Column("ratio_high", "high", ratio_text, "number"),
        Column("outcome", "outcome", words, "word"),
    ]
    rows, shared = labelled(pairs)
    note = (
        "Not timed in turn, so a difference may be the card's: pyharness time judges it. The "
        f"bounds are those of both medians' 95 % intervals. {shared}"
    ).rstrip()
    short = ("label", "pass", "median_a_s", "median_b_s", "ratio")
    return Table("Medians side by side, the slowest ratio first", columns, rows, note, short)


def _medians(timed: Sequence[Side]) -> Table:
    columns = [
        Column("label", "problem"),
        Column("side", "release"),
        Column("algo", "algo"),
        Column("pass", "pass", words),
        Column("mode", "mode"),
        Column("median_s", "median", duration_text, "number"),
        Column("median_low_s", "low", duration_text, "number"),
        Column("median_high_s", "high", duration_text, "number"),
        Column("n", "samples", "{:,}".format, "number"),
        Column("of_peak_flop", "of peak", share_text, "number"),
        Column("outcome", "outcome", words, "word"),
    ]
    short = ("label", "side", "pass", "mode", "median_s")
    rows, shared = labelled(all_rows(timed))
    return Table("Medians with their 95 % intervals", columns, rows, shared, short)
