"""Did the cost of a call change, or is it the noise of one measurement?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

# Medians of a process' samples repeat within a few per cent on a quiet machine; code alignment
# alone moves a call of 50 ns by some 10 % between two builds. A change counts from twice that on.
LEAST_CHANGE = 0.20


@dataclass(frozen=True, slots=True)
class CostChange:
    """One call's cost on two releases: seconds a call, medians.

    ``answer``   accepted or refused: which problems were timed.
    ``verdict``  slower or faster: the medians differ by more than LEAST_CHANGE and the middle
                 halves of the samples do not touch; else same.
    """

    call: str
    answer: str
    a_s: float
    b_s: float
    verdict: Literal["slower", "faster", "same"]

    @property
    def ratio(self) -> float:
        """B / a."""
        return self.b_s / self.a_s


def compare_costs(
    a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]
) -> list[CostChange]:
    """The cost of each call that was timed on both sides, in the order of ``a``.

    ``a``, ``b``  rows of the costs table.
    """
    others = {(r["call"], r["answer"]): r for r in b}
    changes = []
    for old in a:
        new = others.get((old["call"], old["answer"]))
        if new is not None:
            changes.append(
                CostChange(
                    old["call"], old["answer"], old["median_s"], new["median_s"], _verdict(old, new)
                )
            )
    return changes


def _verdict(old: Mapping[str, Any], new: Mapping[str, Any]) -> Literal["slower", "faster", "same"]:
    if new["p25_s"] > old["p75_s"] and new["median_s"] > old["median_s"] * (1 + LEAST_CHANGE):
        return "slower"
    if new["p75_s"] < old["p25_s"] and old["median_s"] > new["median_s"] * (1 + LEAST_CHANGE):
        return "faster"
    return "same"
