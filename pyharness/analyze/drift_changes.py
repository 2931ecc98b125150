"""What a drift run adds to the changes between two releases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyharness.analyze.comparison import change_of
from pyharness.spec.columns import AXIS_COLUMNS

# What a run on a device can show beside the changes of a map.
DRIFT_CHANGES = ("drifted", "newly_out_of_memory", "no_longer_out_of_memory")
_SAME = ("release_a", "release_b", "call", *(c.name for c in AXIS_COLUMNS), "status_a", "status_b")
_SAME += ("reason_a", "reason_b", "provenance", "device", "problem", "pass", "buffer")
_FAR = ("share", "most_ulps", "most_abs")


@dataclass(frozen=True, slots=True)
class DriftChanges:
    """A drift run of the two releases of a diff.

    ``problems``  that were run.
    ``verdicts``  how often each is in the table ``drift``.
    ``emulated``  the device was a test double.
    ``rows``      of the table ``changes``.
    """

    device: str
    problems: int
    verdicts: Mapping[str, int]
    emulated: bool
    rows: Sequence[Mapping[str, Any]]

    def count(self, change: str) -> int:
        """How many tensors drifted; of another change, how many passes."""
        return sum(row["change"] == change for row in self.rows)


def changes_of(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows of ``changes`` that rows of ``drift`` make: what drifted, and what ended otherwise.

    Of what neither side did, or both did not end for one reason, there is none.
    """
    for row in rows:
        change = "drifted" if row["verdict"] == "drifted" else _step(row)
        if change is not None:
            far = {name: row.get(name) for name in _FAR} if change == "drifted" else {}
            same = {name: row.get(name) for name in _SAME}
            yield {**same, "stage": row["pass"], "change": change, **far}


def _step(row: Mapping[str, Any]) -> str | None:
    """What the step from the older to the newer end of a pass is called; None if it is none."""
    return step_of((row["outcome_a"], row["status_a"]), (row["outcome_b"], row["status_b"]))


def step_of(before: tuple[str, str | None], now: tuple[str, str | None]) -> str | None:
    """What the step from one end to another is called, each outcome and status.

    Returns  None if it is none, or one of them was not tried.
    """
    outcomes = (before[0], now[0])
    if "skipped" in outcomes:
        return None
    short = [outcome == "out_of_memory" for outcome in outcomes]
    if all(short):
        return None
    if any(short) and "passed" in outcomes:
        return "newly_out_of_memory" if short[1] else "no_longer_out_of_memory"
    a, b = (None if out == "failed" else status or out for out, status in (before, now))
    return change_of(a, b)
