"""Results beside something else: the truth, the other release, the same in another way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pyharness.present.charts.parts import told_apart
from pyharness.present.report.model import REPEAT, Chart, Column, Row, Section, Source, Table
from pyharness.present.report.model import is_emulated as emulated
from pyharness.present.report.sides import Side, against, all_rows, commands, labelled, sides
from pyharness.present.report.words import words
from pyharness.present.units import count_text, share_text

_SCIENTIFIC = "{:.2e}".format


def accuracy_section(sources: Sequence[Source], charts: Sequence[Chart]) -> Section | None:
    """How far every tensor is from float64."""
    asked = sides(sources, "accuracy")
    if not asked:
        return None
    rows = [_shared(row) for row in all_rows(asked)]
    columns = [
        Column("label", "problem"),
        Column("side", "release"),
        Column("data_type", "type"),
        Column("pass", "pass", words),
        Column("buffer", "tensor", kind="code"),
        Column("max_rel", "error", _SCIENTIFIC, "number"),
        Column("threshold", "limit", _SCIENTIFIC, "number"),
        Column("of_limit", "of limit", share_text, "number"),
        Column("rms_rel", "usual error", _SCIENTIFIC, "number"),
        Column("max_ulps", "ulp", "{:,}".format, "number"),
        Column("verdict", "verdict", words, "word"),
        Column("reason", "why"),
    ]
    rows.sort(key=lambda r: -(r["of_limit"] if r["of_limit"] is not None else -1.0))
    short = ("label", "data_type", "pass", "buffer", "of_limit", "verdict")
    table = Table(
        "Every tensor, the one nearest to its limit first", columns, *labelled(rows), short
    )
    return Section(
        "accuracy",
        "Accuracy",
        [_told(side, _WITHIN) for side in asked],
        charts=charts,
        tables=[table],
        commands=commands(sources, "accuracy"),
        emulated=emulated(rows),
    )


_WITHIN = "tensors beside float64"
_HOLDS = "comparisons"


def _told(side: Side, noun: str) -> str:
    counts = Counter(row["verdict"] or row["outcome"] for row in side.rows)
    said = ", ".join(f"{n:,} {words(word)}" for word, n in counts.most_common())
    return f"{side.label}: {len(side.rows):,} {noun}, {said}."


def _shared(row: Row) -> dict[str, Any]:
    """A row with its error as a share of what rounding explains."""
    error, limit = row["max_rel"], row["threshold"]
    of = error / limit if error is not None and limit else None
    return {**row, "of_limit": of}


def equivalences_section(sources: Sequence[Source], charts: Sequence[Chart]) -> Section | None:
    """What must hold between two ways to ask for the same."""
    asked = sides(sources, "equivalences")
    if not asked:
        return None
    rows = all_rows(asked)
    columns = [
        Column("label", "problem"),
        Column("side", "release"),
        Column("check", "check", words),
        Column("buffer", "tensor", kind="code"),
        Column("verdict", "verdict", words, "word"),
        Column("error", "error", _SCIENTIFIC, "number"),
        Column("threshold", "limit", _SCIENTIFIC, "number"),
        Column("smallest", "smallest problem that shows it", kind="code"),
        Column("reason", "why"),
    ]
    order = ("violated", "not_told", "holds")
    rows.sort(key=lambda r: order.index(r["verdict"]) if r["verdict"] in order else len(order))
    short = ("label", "check", "buffer", "verdict", "smallest")
    return Section(
        "checks",
        "Checks: two ways, one result",
        [_told(side, _HOLDS) for side in asked],
        charts=charts,
        tables=[Table("Every comparison", columns, *labelled(rows), short)],
        commands=commands(sources, "equivalences"),
        emulated=emulated(rows),
    )


def drift_section(sources: Sequence[Source], charts: Sequence[Chart]) -> Section | None:
    """Whether the newer release gives the bits of the older one."""
    rows = [
        {**row, REPEAT: against(source, row, "drift")}
        for source in sources
        for row in source.tables.get("drift", ())
    ]
    if not rows:
        return None
    counts = Counter(row["verdict"] for row in rows)
    said = ", ".join(f"{n:,} {words(word)}" for word, n in counts.most_common())
    names = (told_apart(r["release_a"], r["release_b"]) for r in rows)
    pairs = dict.fromkeys(f"{old} → {new}" for old, new in names)
    lead = [
        f"{'; '.join(pairs)}: {count_text(len(rows), 'buffer')} compared bit by bit: {said}.",
        "Other bits are information, not a fault: both may be right to rounding.",
    ]
    columns = [
        Column("label", "problem"),
        Column("pass", "pass", words),
        Column("buffer", "tensor", kind="code"),
        Column("verdict", "verdict", words, "word"),
        Column("share", "elements that differ", share_text, "number"),
        Column("most_ulps", "at most, ulp", "{:,}".format, "number"),
        Column("most_abs", "at most", "{:.3g}".format, "number"),
        Column("reason", "why"),
    ]
    rows.sort(key=lambda r: -(r["share"] or 0.0))
    short = ("label", "pass", "buffer", "verdict", "share", "most_ulps")
    return Section(
        "drift",
        "Drift: other bits than before",
        lead,
        charts=charts,
        tables=[Table("Every buffer, the largest share first", columns, *labelled(rows), short)],
        commands=commands(sources, "drift"),
        emulated=emulated(rows),
    )
