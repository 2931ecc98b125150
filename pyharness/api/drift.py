"""The same problems on two releases, and what each tensor drifted as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import Any

from pyharness.analyze.drift_changes import changes_of
from pyharness.api.case_run import CaseRun, counts, fingerprint, running_release
from pyharness.api.device import open_runner
from pyharness.api.diffing import folder_name
from pyharness.api.drift_case import Pair, drift_cells
from pyharness.api.progress import Progress, silent
from pyharness.api.stage_rows import problem_cells
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.releases.model import Release
from pyharness.space.problems import NamedProblem, ProblemSet
from pyharness.store.manifest import Manifest
from pyharness.store.schema import write_rows

DEFAULT_DRIFT = Path("results/drift")
_SIDES = ("outcome_a", "outcome_b")


@dataclass(frozen=True, slots=True)
class DriftRun:
    """A run and where it lies; its manifest has the newer side as ``against`` of ``release``."""

    folder: Path
    manifest: Manifest


def drift_between(
    a: Release,
    b: Release,
    problems: ProblemSet,
    out: Path | None = None,
    ordinal: int = 0,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    progress: Progress = silent,
    deadline: float = inf,
) -> DriftRun:
    """Runs problems on two releases, compares all tensors bit by bit, writes tables and manifest.

    The tables are drift.parquet, and what changed of it as changes.parquet.

    Goes on with what an interrupted run left in the folder. After a Ctrl-C the manifest's state is
    ``interrupted``.

    ``out``       the folder; None: one that no other run shares.
    ``deadline``  see CaseRun.go.
    Raises        UsageError for a folder or device that cannot be used; HarnessError if the device
                  cannot go on or the disk is full: what was found so far is kept then.
    """
    warm: tuple[set[str], set[str]] = (set(), set())

    def start() -> Pair:
        first = open_runner(a, ordinal, timeout_s, warm[0])
        try:
            return Pair(first, open_runner(b, ordinal, timeout_s, warm[1]))
        except BaseException:
            first.close()
            raise

    pair = start()
    try:
        sides = (running_release(a, pair.a), running_release(b, pair.b))
        what = fingerprint(problems, sides[1]["asked"], sides[1]["stamp"])
        facts = pair.a.facts
        fresh = Manifest(
            kind=_Drift.kind,
            release={**sides[0], "against": sides[1]},
            space={"name": problems.name, "fingerprint": what, "grids": []},
            reasons="all",
            timeout_s=timeout_s,
            device={**asdict(facts), "ordinal": ordinal},
        )
        folder = out or folder_name(a, problems.name, what, facts.name, DEFAULT_DRIFT)
        run = _Drift(problems.problems, folder, fresh, progress, pair)
        run.go(start, deadline)
        return DriftRun(run.folder, run.manifest)
    finally:
        pair.close()


class _Drift(CaseRun[Pair]):
    """One run of drift_between; a case is the cells of its rows."""

    kind = "drift"

    def work(self, runner: Pair, named: NamedProblem) -> dict[str, Any]:
        return {"rows": drift_cells(runner, named.problem, named.passes)}

    def failed(self, case: Mapping[str, Any]) -> bool:
        return any(row[side] == "failed" for row in case["rows"] for side in _SIDES)

    def rows(self, cases: Sequence[tuple[NamedProblem, Any]]) -> list[dict[str, Any]]:
        release = self.manifest.release
        return [
            {
                "release_a": release["name"],
                "release_b": release["against"]["name"],
                "device": self.manifest.device["name"],
                "name": named.name,
                "problem": named.problem.command,
                **problem_cells(named.problem),
                **row,
            }
            for named, case in cases
            for row in case["rows"]
        ]

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        super().write(rows)
        write_rows(self.folder / "changes.parquet", "changes", changes_of(rows))

    def results(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        statuses: dict[str, int] = {}
        for side in _SIDES:
            for outcome, count in counts(rows, side).items():
                statuses[outcome] = statuses.get(outcome, 0) + count
        failed = [r for r in rows if "failed" in (r[side] for side in _SIDES)]
        return {
            "statuses": statuses,
            "verdicts": counts(rows, "verdict"),
            "failures": [
                {"call": r["pass"], "problem": r["problem"], "cause": r["reason"], "output": ""}
                for r in failed
            ],
        }
