"""The part of a diff that a run of both releases on a device showed: words, and data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from pyharness.analyze.drift_changes import DriftChanges
from pyharness.present.units import count_text, share_text, wrapped

_MOST_SAID = 12


def drift_lines(drift: DriftChanges | None) -> Iterator[str]:
    """What ends otherwise, then what drifted, the farthest first; nothing without a run."""
    if drift is None:
        return
    same, untold = (drift.verdicts.get(verdict, 0) for verdict in ("same", "not_told"))
    yield ""
    yield from wrapped(
        f"On {drift.device}: {count_text(drift.problems, 'problem')}, "
        f"{count_text(same + drift.count('drifted') + untold, 'tensor')}, {same:,} with the same "
        f"bits, {drift.count('drifted'):,} drifted"
        + (f", {untold:,} not told: a side does not repeat them" if untold else ""),
        0,
        4,
    )
    if drift.emulated:
        yield "EMULATED: these are results of a test double, not of a GPU"
    rows = sorted(drift.rows, key=_rank)
    for row in rows[:_MOST_SAID]:
        yield from wrapped(_words(row), 2, 6)
    if len(rows) > _MOST_SAID:
        yield f"  and {len(rows) - _MOST_SAID:,} more: see changes.parquet"


def drift_changes_data(drift: DriftChanges | None) -> dict[str, Any] | None:
    """The same as plain data, for JSON; None without a run."""
    if drift is None:
        return None
    return {
        "device": drift.device,
        "emulated": drift.emulated,
        "problems": drift.problems,
        "verdicts": dict(drift.verdicts),
        "changes": [dict(row) for row in drift.rows],
    }


def _rank(row: Mapping[str, Any]) -> tuple[bool, float]:
    far = math.inf if row.get("most_abs") is None else row["most_abs"]
    return row["change"] == "drifted", -far


def _words(row: Mapping[str, Any]) -> str:
    problem = row["problem"] or "every axis at its default"
    if row["change"] == "drifted":
        far = "infinite" if row["most_abs"] is None else f"{row['most_abs']:.1e}"
        return (
            f"drifted: {row['buffer']} of {row['pass']}, {share_text(row['share'])} of it, at most "
            f"{row['most_ulps']:,} ULP, {far}; {problem}"
        )
    ends = [row[f"status_{side}"] or "no status" for side in "ab"]
    said = [
        f"{end} ({row[f'reason_{side}']})" if row[f"reason_{side}"] else end
        for side, end in zip("ab", ends, strict=True)
    ]
    return f"{row['change'].replace('_', ' ')}: {row['pass']}, {' -> '.join(said)}; {problem}"
