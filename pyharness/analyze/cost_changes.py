"""Did the cost of a call change, or is it the noise of a measurement?"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["slower", "faster", "same", "not judged"]

# Where code comes to lie moves a call of 50 ns by some 10 % between two builds that do the same. A
# change counts from twice that on.
LEAST_CHANGE = 0.20


@dataclass(frozen=True, slots=True)
class CostChange:
    """One call's cost on two releases: seconds a call, medians.

    ``answer``   accepted or refused: which problems were timed.
    ``verdict``  what judge() says; "not judged" where the two were not timed in turn.
    """

    call: str
    answer: str
    a_s: float
    b_s: float
    verdict: Verdict

    @property
    def ratio(self) -> float:
        """B / a."""
        return self.b_s / self.a_s


def judge(a: Sequence[float], b: Sequence[float]) -> Verdict:
    """Whether b costs more than a, from one median for each of several processes timed in turn.

    A change is believed if even the nearest processes of the two sides differ by LEAST_CHANGE: what
    slows the machine down for a while slows both sides, and a single odd process decides nothing.
    """
    if min(b) > max(a) * (1 + LEAST_CHANGE):
        return "slower"
    if min(a) > max(b) * (1 + LEAST_CHANGE):
        return "faster"
    return "same"


def compare_costs(
    a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]], in_turn: bool
) -> list[CostChange]:
    """The cost of each call that was timed on both sides, in the order of ``a``.

    ``a``, ``b``   rows of the costs table, one for each process that timed a call.
    ``in_turn``    the processes of both sides alternated, so that they can be judged.
    """
    sides: tuple[dict[tuple[str, str], list[float]], ...] = ({}, {})
    for medians, rows in zip(sides, (a, b), strict=True):
        for row in rows:
            medians.setdefault((row["call"], row["answer"]), []).append(row["median_s"])
    old, new = sides
    return [
        CostChange(
            *key,
            statistics.median(old[key]),
            statistics.median(new[key]),
            judge(old[key], new[key]) if in_turn else "not judged",
        )
        for key in old
        if key in new
    ]
