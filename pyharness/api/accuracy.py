"""Problems of a release beside the truth, and what each tensor came to as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

from pyharness.api.accuracy_case import AccuracyCase, case_from, measure, record
from pyharness.api.case_run import CaseRun, counts, fingerprint, running_release
from pyharness.api.device import open_runner
from pyharness.api.diffing import folder_name
from pyharness.api.progress import Progress, silent
from pyharness.api.stage_rows import problem_cells
from pyharness.engine.runner import Runner
from pyharness.engine.workbench import Workbench
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.releases.model import Release
from pyharness.space.problems import NamedProblem, ProblemSet
from pyharness.store.manifest import Manifest

DEFAULT_ACCURACY = Path("results/accuracy")


@dataclass(frozen=True, slots=True)
class AccuracyRun:
    """A run and where it lies."""

    folder: Path
    manifest: Manifest


def measure_release(
    release: Release,
    problems: ProblemSet,
    out: Path | None = None,
    ordinal: int = 0,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    progress: Progress = silent,
    deadline: float = inf,
) -> AccuracyRun:
    """Runs problems on a device, compares all tensors with float64, writes table and manifest.

    Goes on with what an interrupted run left in the folder. After a Ctrl-C the manifest's state is
    ``interrupted``.

    ``out``       the folder; None: one that no other run shares.
    ``deadline``  see CaseRun.go.
    Raises        UsageError for a folder or device that cannot be used; HarnessError if the device
                  cannot go on or the disk is full: what was found so far is kept then.
    """
    start = partial(open_runner, release, ordinal, timeout_s, set())
    first = start()
    try:
        run = _Measuring(release, problems, out, timeout_s, progress, ordinal, first)
        run.go(start, deadline)
        return AccuracyRun(run.folder, run.manifest)
    finally:
        first.close()


class _Measuring(CaseRun[Runner]):
    """One run of measure_release; ``first`` is the runner that is there already."""

    kind = "accuracy"

    def __init__(
        self,
        release: Release,
        problems: ProblemSet,
        out: Path | None,
        timeout_s: float,
        progress: Progress,
        ordinal: int,
        first: Runner,
    ) -> None:
        facts, what = first.facts, fingerprint(problems)
        folder = out or folder_name(release, problems.name, what, facts.name, DEFAULT_ACCURACY)
        fresh = Manifest(
            kind=self.kind,
            release=running_release(release, first),
            space={"name": problems.name, "fingerprint": what, "grids": []},
            reasons="all",
            timeout_s=timeout_s,
            device={**asdict(facts), "ordinal": ordinal},
        )
        super().__init__(problems.problems, folder, fresh, progress, first)

    def work(self, runner: Runner, named: NamedProblem) -> dict[str, Any]:
        return record(measure(Workbench(runner), named.problem, named.passes))

    def failed(self, case: Mapping[str, Any]) -> bool:
        return case_from(case).failed

    def rows(self, cases: Sequence[tuple[NamedProblem, Any]]) -> list[dict[str, Any]]:
        known = [(named, case_from(case)) for named, case in cases]
        return list(_rows(self.manifest.release["name"], self.manifest.device["name"], known))

    def results(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return {
            "statuses": counts(rows, "outcome"),
            "verdicts": counts(rows, "verdict"),
            "failures": [_failure(r) for r in rows if r["outcome"] == "failed"],
        }


def _rows(
    release: str, device: str, cases: Sequence[tuple[NamedProblem, AccuracyCase]]
) -> Iterator[dict[str, Any]]:
    """The rows of the table: a tensor each, and a row for each pass that did not end well."""
    for named, case in cases:
        cells = {
            "release": release,
            "device": device,
            "name": named.name,
            "group": named.group,
            "problem": named.problem.command,
            **problem_cells(named.problem),
        }
        yield from ({**cells, **tensor} for tensor in case.tensors)
        for result in case.ended:
            data = asdict(result)
            yield {**cells, "pass": data.pop("stage"), "verdict": None, **data}


def _failure(row: Mapping[str, Any]) -> dict[str, str]:
    status = None if row["status"] == "SUCCESS" else row["status"]
    cause = ": ".join(word for word in (status, row["reason"]) if word) or "no word"
    return {"call": row["call"], "problem": row["problem"], "cause": cause, "output": ""}
