"""Memory: what each problem asks for, old beside new."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyharness.present.report.model import REPEAT, Chart, Column, Row, Section, Source, Table
from pyharness.present.report.model import is_emulated as emulated
from pyharness.present.report.sides import Side, all_rows, commands, labelled, paired, sides
from pyharness.present.report.words import words
from pyharness.present.units import binary_text, count_text

_KEY = ("name", "problem", "forward_mode")
_PARTS = {
    "weight_space_bytes": "weights",
    "workspace_bytes": "workspace",
    "reserve_space_bytes": "reserve",
    "tensor_bytes": "tensors",
    "dropout_states_bytes": "dropout",
    "total_bytes": "total",
}


def memory_section(sources: Sequence[Source], charts: Sequence[Chart]) -> Section | None:
    """Every size of every problem, and of two releases what grew."""
    weighed = sides(sources, "memory")
    if not weighed:
        return None
    rows = [row for side in weighed for row in side.rows]
    lead, tables = [], []
    if len(weighed) == 2:
        pairs = _pairs(weighed)
        lead.append(_told(pairs, weighed))
        tables.append(_compared(pairs, weighed))
    if predicted := sum(row["provenance"] == "predicted" for row in rows):
        lead.append(
            f"{count_text(predicted, 'row')} predicted by formula: no GPU was asked for them."
        )
    tables.append(_sizes(weighed))
    return Section(
        "memory",
        "Memory",
        lead,
        charts=charts,
        tables=tables,
        commands=commands(sources, "memory"),
        emulated=emulated(rows),
    )


def _pairs(weighed: Sequence[Side]) -> list[dict[str, Any]]:
    found = []
    for first, (old, new) in paired(weighed, _KEY):
        row: dict[str, Any] = {k: first.get(k) for k in (*_KEY, REPEAT, "provenance")}
        row["total_a"] = None if old is None else old["total_bytes"]
        row["total_b"] = None if new is None else new["total_bytes"]
        if row["total_a"] is not None and row["total_b"] is not None:
            row["change"] = row["total_b"] - row["total_a"]
            row["verdict"] = _verdict(row["change"])
            if old is not None and new is not None and not row["change"] and _shifted(old, new):
                row["verdict"] = "shifted"
        else:
            row["verdict"] = "not_compared"
        found.append(row)
    return sorted(found, key=lambda r: -abs(r.get("change") or 0))


def _verdict(change: int) -> str:
    return "same" if not change else "larger" if change > 0 else "smaller"


def _shifted(old: Row, new: Row) -> bool:
    return any(old[part] != new[part] for part in _PARTS)


def _told(pairs: Sequence[Row], weighed: Sequence[Side]) -> str:
    counts = {
        w: sum(r["verdict"] == w for r in pairs)
        for w in ("larger", "smaller", "shifted", "same", "not_compared")
    }
    said = ", ".join(f"{n:,} {words(w)}" for w, n in counts.items() if n)
    return f"{weighed[0].label} → {weighed[1].label}: of {count_text(len(pairs), 'row')} {said}."


def change_text(change: int) -> str:
    """A difference of sizes with its sign: ``+1.50 MiB``, ``-16 B``, ``0 B``."""
    sign = "+" if change > 0 else "-" if change < 0 else ""
    return sign + binary_text(abs(change))


def _compared(pairs: Sequence[Row], weighed: Sequence[Side]) -> Table:
    columns = [
        Column("label", "problem"),
        Column("forward_mode", "mode"),
        Column("total_a", weighed[0].label, binary_text, "number"),
        Column("total_b", weighed[1].label, binary_text, "number"),
        Column("change", "change", change_text, "number"),
        Column("verdict", "verdict", words, "word"),
    ]
    named, shared = labelled(pairs)
    return Table("Total, old against new", columns, named, shared)


def _sizes(weighed: Sequence[Side]) -> Table:
    columns = [
        Column("label", "problem"),
        Column("side", "release"),
        Column("forward_mode", "mode"),
        *(Column(key, title, binary_text, "number") for key, title in _PARTS.items()),
        Column("outcome", "outcome", words, "word"),
        Column("provenance", "how it is known"),
    ]
    rows, shared = labelled(all_rows(weighed))
    short = ("label", "side", "forward_mode", "total_bytes")
    return Table("Every size", columns, rows, shared, short)
