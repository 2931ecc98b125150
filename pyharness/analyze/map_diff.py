"""Two maps compared: calls, problems, enumerators, reasons and costs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyharness.analyze.comparison import CHANGES, Comparison
from pyharness.analyze.cost_changes import CostChange
from pyharness.analyze.drift_changes import DRIFT_CHANGES, DriftChanges
from pyharness.analyze.partition import Partition
from pyharness.spec.enums import ENUM_TYPES, appeared
from pyharness.spec.statuses import known_statuses

# What --fail-on can name, beside the changes of a problem.
GATES = (
    *CHANGES,
    *DRIFT_CHANGES,
    "slower",
    "faster",
    "call_removed",
    "call_added",
    "enumerator_removed",
    "enumerator_added",
)


@dataclass(frozen=True, slots=True)
class CallDiff:
    """One call on both sides, over the problems that both maps have.

    ``rows``      problems compared.
    ``only_a``    axis to the values that only the older map has; ``only_b`` likewise.
    ``axes``      values of each axis that were compared, by label.
    ``folds``     of each side the status codes, folded, and the name of each code.
    """

    call: str
    stage: str
    rows: int
    axes: dict[str, list[str]]
    only_a: dict[str, list[str]]
    only_b: dict[str, list[str]]
    comparison: Comparison
    folds: list[tuple[Partition, list[str]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ReasonTexts:
    """Reasons of one call and status that only one side gives, where rows cannot be compared."""

    call: str
    status: str
    gone: list[str]
    new: list[str]


@dataclass(slots=True)
class MapDiff:
    """All that changed from ``release_a`` to ``release_b``.

    ``reasons_by_row``   both maps kept the reason of every row, so other_reason is complete.
    ``reasons_compared`` their texts were, at least: both collected them, over the same problems.
    ``comparable_costs`` both were timed on the same kind of machine.
    ``enumerators_known`` both versions are known, so that their headers' enumerators are.
    ``sides``            of each map: release, host, tool_version, started, ended, as in run.json.
    ``notes``            what either run has to say of itself.
    ``drift``            a run of both on a device; None: none was joined.
    """

    release_a: str
    release_b: str
    space: str
    calls: list[CallDiff] = field(default_factory=list)
    calls_removed: list[str] = field(default_factory=list)
    calls_added: list[str] = field(default_factory=list)
    enumerators_removed: list[str] = field(default_factory=list)
    enumerators_added: list[str] = field(default_factory=list)
    renumbered: int = 0
    costs: list[CostChange] = field(default_factory=list)
    comparable_costs: bool = True
    enumerators_known: bool = True
    reasons_by_row: bool = True
    reasons_compared: bool = True
    reason_texts: list[ReasonTexts] = field(default_factory=list)
    sides: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    drift: DriftChanges | None = None

    @property
    def rows(self) -> int:
        """Problems compared, over all calls."""
        return sum(c.rows for c in self.calls)

    def judged(self, gate: str) -> bool:
        """Whether this diff can tell at all: a gate on what was not looked at must not pass."""
        match gate:
            case "slower" | "faster":
                return self.comparable_costs and all(c.verdict != "not judged" for c in self.costs)
            case "enumerator_removed" | "enumerator_added":
                return self.enumerators_known
            case "other_reason":
                return self.reasons_by_row
            case "drifted":  # of nothing that both sides wrote and repeat there is no drift
                return self.drift is not None and bool({"same", gate} & set(self.drift.verdicts))
            case _:
                return self.drift is not None or gate not in DRIFT_CHANGES

    def count(self, gate: str) -> int:
        """How much there is of what --fail-on can name: problems, or calls, or enumerators.

        Of a drift run that was joined, tensors and passes count, too.
        """
        match gate:
            case "slower" | "faster":
                if not self.comparable_costs:
                    return 0
                return sum(c.verdict == gate for c in self.costs)
            case "call_removed":
                return len(self.calls_removed)
            case "call_added":
                return len(self.calls_added)
            case "enumerator_removed":
                return len(self.enumerators_removed)
            case "enumerator_added":
                return len(self.enumerators_added)
            case _:
                groups = (g for c in self.calls for g in c.comparison.groups)
                mapped = sum(g.rows for g in groups if g.change == gate)
                return mapped + (0 if self.drift is None else self.drift.count(gate))


def enumerators_of(version: str | None) -> dict[str, int] | None:
    """Every enumerator, statuses too, that the headers of a release declare, with its number.

    ``version``  numbers, and perhaps more that no header has: 9.13.0.dev20250101.
    Returns  None if the version is not known, so that nothing is said rather than guessed.
    Source   the headers of every release on the index; tests/abi proves the table.
    """
    numbers = re.match(r"[0-9]+(\.[0-9]+)+", version or "")
    if numbers is None:
        return None
    release = tuple(int(p) for p in numbers[0].split("."))
    found = {m.vendor: m.value for t in ENUM_TYPES for m in t.members if appeared(m.since, release)}
    found.update({s.vendor: s.value for s in known_statuses(release)})
    return found


def compare_enumerators(diff: MapDiff, a: str | None, b: str | None) -> None:
    """Fills in which enumerators came and went between two versions."""
    old, new = enumerators_of(a), enumerators_of(b)
    if old is None or new is None:
        diff.enumerators_known = False
        return
    diff.enumerators_removed = sorted(set(old) - set(new))
    diff.enumerators_added = sorted(set(new) - set(old))
    diff.renumbered = sum(old[name] != new[name] for name in set(old) & set(new))


def compare_reason_texts(
    a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]
) -> list[ReasonTexts]:
    """Which reasons of each call and status only one side gives.

    ``a``, ``b``  rows of the reasons table.
    """
    texts: dict[tuple[str, str], tuple[set[str], set[str]]] = {}
    for side, rows in enumerate((a, b)):
        for row in rows:
            pair = texts.setdefault((row["call"], row["status"]), (set(), set()))
            pair[side].add(row["reason"] or "")
    return [
        ReasonTexts(call, status, sorted(old - new), sorted(new - old))
        for (call, status), (old, new) in sorted(texts.items())
        if old != new
    ]
