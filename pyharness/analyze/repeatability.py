"""What repeated runs say: folded as they come, judged, and bounded where nothing differed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pyharness.spec.differences import Difference
from pyharness.spec.repeatability import (
    BY_DESIGN,
    LEFT_OUT,
    NOT_REPEATABLE,
    NOT_TRIED,
    REPEATABLE,
)

CONFIDENCE = 0.95
MOST_DISTINCT = 1_000  # that are counted, so that what is kept does not grow with the runs
_RANK = {REPEATABLE: 1, NOT_TRIED: 0, NOT_REPEATABLE: 2}


def failure_rate_bound(clean: int, confidence: float = CONFIDENCE) -> float | None:
    """The largest rate of runs that differ which so many clean ones do not rule out.

    Returns  None for no run at all: nothing is known then.
    Source   each run differs with probability p, independently: n clean ones come with (1 - p)^n,
             which is 1 - confidence at p = 1 - (1 - confidence)^(1/n).
    """
    return None if clean < 1 else 1 - (1 - confidence) ** (1 / clean)


@dataclass(slots=True)
class Tally:
    """One tensor under one condition: what its runs came to, without the runs.

    ``runs``         that were compared with the first one, which is not counted.
    ``differing``    of them; ``digests`` of these, by the part of the tensor that was compared.
    ``processes``    that made the runs.
    ``compared_on``  each place where they were compared, once.
    ``first_run``    the first that differs, from 1; ``variant`` says how it was made.
    ``first_index``  the first element that differs in that run.
    ``share``        of elements that differ, in the run where most do; ``nan`` of NaN on one side.
    ``reason``       why it was not tried, or not to the end; ``failed`` if a defect ended it.
    """

    runs: int = 0
    differing: int = 0
    digests: dict[str | None, set[str]] = field(default_factory=dict)
    processes: set[int] = field(default_factory=set)
    compared_on: dict[str, None] = field(default_factory=dict)
    first_run: int | None = None
    first_index: int | None = None
    variant: str | None = None
    most_ulps: int = 0
    most_abs: float = 0.0
    share: float = 0.0
    nan: int = 0
    reason: str | None = None
    failed: bool = False

    def add(
        self,
        digest: str | None,
        difference: Difference | None,
        variant: str | None = None,
        part: str | None = None,
        process: int = 0,
        compared_on: str | None = None,
    ) -> None:
        """Takes a run in: ``difference`` from the first one, None if every bit is the same."""
        self.runs += 1
        self.processes.add(process)
        if compared_on is not None:
            self.compared_on.setdefault(compared_on)
        if difference is None:
            return
        self.differing += 1
        digests = self.digests.setdefault(part, set())
        if len(digests) < MOST_DISTINCT - 1:  # the first one's is not in it
            digests.add(str(digest))
        if self.first_run is None:
            self.first_run, self.first_index = self.runs, difference.first
            self.variant = variant
        self.most_ulps = max(self.most_ulps, difference.most_ulps)
        self.most_abs = max(self.most_abs, difference.most_abs)
        self.share = max(self.share, difference.differing / max(difference.elements, 1))
        self.nan = max(self.nan, difference.nan)

    def as_data(self) -> dict[str, Any]:
        """All of it as plain data, for JSON: from_data() makes it again."""
        return {
            **asdict(self),
            "digests": [[part, sorted(of)] for part, of in self.digests.items()],
            "processes": sorted(self.processes),
            "compared_on": list(self.compared_on),
            "most_abs": None if self.most_abs == float("inf") else self.most_abs,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Tally:
        """The tally that as_data() was made of."""
        return cls(
            **{
                **data,
                "digests": {part: set(of) for part, of in data["digests"]},
                "processes": set(data["processes"]),
                "compared_on": dict.fromkeys(data["compared_on"]),
                "most_abs": float("inf") if data["most_abs"] is None else data["most_abs"],
            }
        )

    @property
    def verdict(self) -> str:
        """What the runs show: where they ended early, clean ones show nothing."""
        if self.differing:
            return NOT_REPEATABLE
        return NOT_TRIED if self.reason is not None or not self.runs else REPEATABLE

    def as_row(self) -> dict[str, Any]:
        """The columns of the table; what is not known is None, and so is an infinite distance."""
        verdict, differs = self.verdict, self.differing > 0
        return {
            "runs": self.runs,
            "distinct": 1 + max(map(len, self.digests.values()), default=0) if self.runs else None,
            "first_run": self.first_run,
            "first_element": self.first_index,
            "variant": self.variant,
            "most_ulps": min(self.most_ulps, 2**63 - 1) if differs else None,
            "most_abs": self.most_abs if differs and self.most_abs < float("inf") else None,
            "share": self.share if self.runs else None,
            "verdict": verdict,
            "failure_rate_bound": failure_rate_bound(self.runs) if verdict == REPEATABLE else None,
            "reason": self.reason,
            "processes": len(self.processes) or None,
            "outcome": "failed" if self.failed else "skipped" if self.reason else "passed",
            "compared_on": " and ".join(self.compared_on) or None,
            "differing": self.differing if self.runs else None,
            "nan": self.nan if differs else None,
        }


@dataclass(slots=True)
class Cell:
    """All problems of an algo under one condition.

    ``verdict``    the worst of their tensors'.
    ``problems``   that were tried; ``differing`` of them are not repeatable.
    ``untold``     of all problems those of which a tensor, or all of it, was not tried.
    ``clean``      runs without a difference, those of a problem once: the fewest of its tensors.
    ``processes``  that made the clean runs; one may have run several problems.
    """

    verdict: str = NOT_TRIED
    problems: int = 0
    differing: int = 0
    untold: int = 0
    clean: int = 0
    processes: int = 0

    @property
    def bound(self) -> float | None:
        """Of the failure rate, over the clean runs of all problems; None where one differed."""
        return failure_rate_bound(self.clean) if self.verdict == REPEATABLE else None


def by_algo(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], Cell]:
    """The rows of the table in a cell for each algo and condition."""
    cases: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        cases.setdefault((row["algo"], row["condition"], row["name"]), []).append(row)
    cells: dict[tuple[str, str], Cell] = {}
    for (algo, condition, _), of_case in cases.items():
        cell = cells.setdefault((algo, condition), Cell())
        worst = max((r["verdict"] for r in of_case), key=_RANK.__getitem__)
        cell.verdict = max(cell.verdict, worst, key=_RANK.__getitem__)
        cell.problems += worst != NOT_TRIED
        cell.differing += worst == NOT_REPEATABLE
        cell.untold += any(is_untold(r) for r in of_case)
        if worst == REPEATABLE:
            clean = [r for r in of_case if r["verdict"] == REPEATABLE]
            cell.clean += min(r["runs"] for r in clean)
            cell.processes += min(r["processes"] or 1 for r in clean)
    return cells


def is_untold(row: Mapping[str, Any]) -> bool:
    """Whether a row leaves open what its condition would tell of the tensor, or of all of them."""
    left_out = (row["condition"], row["buffer"]) in LEFT_OUT
    return bool(row["verdict"] == NOT_TRIED and not left_out)


def gated(rows: Iterable[Mapping[str, Any]]) -> int:
    """Rows that are not repeatable, without those that differ by design."""
    return sum(r["verdict"] == NOT_REPEATABLE and r["condition"] not in BY_DESIGN for r in rows)
