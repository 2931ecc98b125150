"""Problems of a release beside the truth, and what each tensor came to as a table."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyharness.api.accuracy_case import AccuracyCase, case_from, measure, record
from pyharness.api.device import open_runner
from pyharness.api.diffing import folder_name
from pyharness.api.folder import release_data, taken
from pyharness.api.progress import Progress, silent
from pyharness.api.stage_rows import problem_cells
from pyharness.engine.cases import for_each_case
from pyharness.engine.runner import Runner
from pyharness.engine.workbench import Workbench
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import HarnessError
from pyharness.releases.model import Release, loaded_version
from pyharness.space.problems import NamedProblem, ProblemSet
from pyharness.spec.problem import Problem
from pyharness.store.case_journal import CaseJournal
from pyharness.store.manifest import Manifest, describe_environment, now
from pyharness.store.schema import write_rows

DEFAULT_ACCURACY = Path("results/accuracy")
TABLE = "accuracy.parquet"
_KIND = "accuracy"


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
) -> AccuracyRun:
    """Runs problems on a device, compares all tensors with float64, writes table and manifest.

    Goes on with what an interrupted run left in the folder. After a Ctrl-C the manifest's state is
    ``interrupted``.

    ``out``  the folder; None: one that no other run shares.
    Raises   UsageError for a folder or device that cannot be used; HarnessError if the device
             cannot go on or the disk is full: what was found so far is kept then.
    """
    start = partial(open_runner, release, ordinal, timeout_s, set())
    first = start()
    try:
        run = _Measuring(release, problems, out, timeout_s, progress, ordinal, first)
        return run.go(start)
    finally:
        first.close()


class _Measuring:
    """One run of measure_release; ``first`` is the runner that is there already."""

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
        self._problems, self._progress, self._first = problems.problems, progress, first
        facts, number = first.facts, first.version()
        data = {**release_data(release), "loaded": number}
        if release.version is None and number is not None:
            data["name"] = data["version"] = loaded_version(number)
        fingerprint = _fingerprint(problems)
        self._folder = out or folder_name(
            release, problems.name, fingerprint, facts.name, DEFAULT_ACCURACY
        )
        self._fresh = self._manifest = Manifest(
            kind=_KIND,
            release=data,
            space={"name": problems.name, "fingerprint": fingerprint, "grids": []},
            reasons="all",
            timeout_s=timeout_s,
            device={**asdict(facts), "ordinal": ordinal},
        )

    def go(self, start: Callable[[], Runner]) -> AccuracyRun:
        """Every problem that an earlier run has not done."""
        with taken(self._folder, self._fresh) as there:
            retry = there.circumstances != self._fresh.circumstances
            if self._begun(there, retry):
                identity = {"run": list(self._manifest.identity)}
                journal = CaseJournal(self._folder, identity, _failed if retry else None)
                with closing(journal):
                    if self._sweep(journal, start) == "complete":
                        journal.remove()
        return AccuracyRun(self._folder, self._manifest)

    def _begun(self, there: Manifest, retry: bool) -> bool:
        """Whether there is something to do; then the manifest says that it is being done."""
        self._manifest = there
        if there.state == "complete":
            # What failed under other circumstances says nothing about these: it is tried again.
            if not retry or "failed" not in there.results["statuses"]:
                return False
            self._manifest = self._fresh
        self._manifest.state, self._manifest.notes, self._manifest.results = "running", [], {}
        self._manifest.environment = describe_environment()
        self._manifest.timeout_s = self._fresh.timeout_s
        self._manifest.write(self._folder)
        return True

    def _sweep(self, journal: CaseJournal, start: Callable[[], Runner]) -> str:
        """Every case that is not in the journal; how it ended."""
        started = time.monotonic()
        left = [p for p in self._problems if p.name not in journal.cases]
        before, place, rest = len(self._problems) - len(left), iter(left), iter([self._first])

        def next_runner() -> Runner:
            runner = next(rest, None)
            return start() if runner is None or runner.broken else runner

        def work(runner: Runner, problem: Problem) -> AccuracyCase:
            return measure(Workbench(runner), problem, next(place).passes)

        def tick(done: int, total: int) -> None:
            self._progress("cases", before + done, before + total)

        sweep = for_each_case([(i, p.problem) for i, p in enumerate(left)], next_runner, work, tick)
        try:
            with closing(sweep):
                for index, _, case in sweep:
                    journal.add(left[index].name, record(case))
        except KeyboardInterrupt:
            return self._end("interrupted", journal, started)
        except HarnessError as error:
            self._manifest.notes.append(str(error))
            self._end("stopped", journal, started)
            raise
        return self._end("complete", journal, started)

    def _end(self, state: str, journal: CaseJournal, started: float) -> str:
        """Writes table and manifest of what there is."""
        found = journal.cases
        known = [(p, case_from(found[p.name])) for p in self._problems if p.name in found]
        device = self._manifest.device["name"]
        rows = list(_rows(self._manifest.release["name"], device, known))
        write_rows(self._folder / TABLE, "accuracy", rows)
        self._manifest.results = {
            "cases": len(known),
            "cases_left": len(self._problems) - len(known),
            "rows": len(rows),
            "statuses": _counts(rows, "outcome"),
            "verdicts": _counts(rows, "verdict"),
            "failures": [_failure(r) for r in rows if r["outcome"] == "failed"],
            "walk_s": round(time.monotonic() - started, 3),
        }
        self._manifest.state, self._manifest.ended = state, now()
        self._manifest.write(self._folder)
        return state


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


def _counts(rows: Sequence[Mapping[str, Any]], column: str) -> dict[str, int]:
    values = [row[column] for row in rows if row[column] is not None]
    return {value: values.count(value) for value in dict.fromkeys(values)}


def _failure(row: Mapping[str, Any]) -> dict[str, str]:
    status = None if row["status"] == "SUCCESS" else row["status"]
    cause = ": ".join(word for word in (status, row["reason"]) if word) or "no word"
    return {"call": row["call"], "problem": row["problem"], "cause": cause, "output": ""}


def _failed(data: Mapping[str, Any]) -> bool:
    return case_from(data).failed


def _fingerprint(problems: ProblemSet) -> str:
    """A short digest of what is run."""
    what = [(p.name, p.problem.command, p.passes) for p in problems.problems]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:12]
