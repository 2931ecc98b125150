"""How many problems a check holds for, is violated by, or says nothing of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from pyharness.spec.equivalences import HOLDS, NOT_TOLD, VIOLATED

FAILED, UNCHECKED = "failed", "unchecked"
_WORST_FIRST = (FAILED, VIOLATED, HOLDS, NOT_TOLD, UNCHECKED)


def widest(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], float]:
    """The largest threshold of what holds, of each algo and check: less than that is not seen.

    Bits that are the same hold whatever the threshold.
    """
    limits: dict[tuple[str, str], float] = {}
    for row in rows:
        if row["verdict"] == HOLDS and row["differing"]:
            cell = row["algo"], row["check"]
            limits[cell] = max(limits.get(cell, 0.0), row["threshold"] or 0.0)
    return limits


def by_algo(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], Counter[str]]:
    """Problems of each algo and check by what is worst of them; rows without a check are left out.

    Of a problem that holds in one tensor and is not told in another it is said that it holds;
    unchecked is one of which the check says nothing, or that could not be run.
    """
    cases: dict[tuple[str, str, str], set[str]] = {}
    for row in rows:
        if row["check"] is not None:
            said = cases.setdefault((row["algo"], row["check"], row["name"]), set())
            said.add(FAILED if row["outcome"] == FAILED else row["verdict"] or UNCHECKED)
    cells: dict[tuple[str, str], Counter[str]] = {}
    for (algo, check, _), said in cases.items():
        worst = next(word for word in _WORST_FIRST if word in said)
        cells.setdefault((algo, check), Counter())[worst] += 1
    return cells
