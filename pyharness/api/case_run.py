"""A run over problems on a device, case by case: its folder, journal, table, and how it ends."""

from __future__ import annotations

import hashlib
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from math import inf
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from pyharness.api.folder import release_data, taken
from pyharness.api.progress import Progress
from pyharness.engine.cases import Breakable, for_each_case
from pyharness.engine.runner import Runner
from pyharness.errors import HarnessError
from pyharness.releases.model import Release, loaded_version
from pyharness.space.problems import NamedProblem, ProblemSet
from pyharness.spec.problem import Problem
from pyharness.store.case_journal import CaseJournal
from pyharness.store.manifest import OUT_OF_TIME, Manifest, describe_environment, now
from pyharness.store.schema import write_rows

_R = TypeVar("_R", bound=Breakable)


class CaseRun(ABC, Generic[_R]):
    """Every problem once, each kept as plain data; what an interrupted run left is gone on with.

    ``kind``    of the run, its table and the file of that.
    ``first``   the runner that is there already.
    ``folder``  for this run alone.
    """

    kind: ClassVar[str]

    def __init__(
        self,
        problems: Sequence[NamedProblem],
        folder: Path,
        fresh: Manifest,
        progress: Progress,
        first: _R,
    ) -> None:
        self._problems, self._progress, self._first = problems, progress, first
        self.folder = folder
        self._fresh = self.manifest = fresh
        self._journal: CaseJournal | None = None
        self._parts: list[str] = []

    @abstractmethod
    def work(self, runner: _R, named: NamedProblem) -> dict[str, Any]:
        """What a problem came to, as plain data."""

    def keep(self, named: NamedProblem, part: str, data: dict[str, Any]) -> None:
        """Keeps a part of what work() finds of a problem, for the case that it does not end.

        Raises  HarnessError if the disk is full.
        """
        if self._journal is not None:
            self._journal.add(key := _part_key(named, part), data)
            self._parts.append(key)

    def kept(self, named: NamedProblem, part: str) -> Any | None:
        """What keep() kept, here or in a run that did not end; None without it."""
        cases = {} if self._journal is None else self._journal.cases
        return cases.get(_part_key(named, part))

    @abstractmethod
    def failed(self, case: Mapping[str, Any]) -> bool:
        """Whether a defect ended it, or a part that was kept of it."""

    @abstractmethod
    def rows(self, cases: Sequence[tuple[NamedProblem, Any]]) -> list[dict[str, Any]]:
        """The rows of the table."""

    @abstractmethod
    def results(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """What the manifest says of the rows: statuses, verdicts, failures."""

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Writes the table of the rows into the folder.

        Raises  HarnessError if the disk is full.
        """
        write_rows(self.folder / f"{self.kind}.parquet", self.kind, rows)

    def go(self, start: Callable[[], _R], deadline: float = inf) -> None:
        """Every problem that an earlier run has not done.

        ``deadline``  by time.monotonic(): no problem but the first that is left begins after it;
                      what is left then makes the state ``out_of_time``, and the same run goes on.
        """
        with taken(self.folder, self._fresh) as there:
            retry = there.circumstances != self._fresh.circumstances
            if self._begun(there, retry):
                identity = {"run": list(self.manifest.identity)}
                journal = CaseJournal(self.folder, identity, self.failed if retry else None)
                self._journal = journal
                with closing(journal):
                    if self._sweep(journal, start, deadline) == "complete":
                        journal.remove()

    def _begun(self, there: Manifest, retry: bool) -> bool:
        """Whether there is something to do; then the manifest says that it is being done."""
        self.manifest = there
        if there.state == "complete":
            # What failed under other circumstances says nothing about these: it is tried again.
            if not retry or "failed" not in there.results["statuses"]:
                return False
            self.manifest = self._fresh
        self.manifest.state, self.manifest.notes, self.manifest.results = "running", [], {}
        self.manifest.environment = describe_environment()
        self.manifest.timeout_s = self._fresh.timeout_s
        self.manifest.write(self.folder)
        return True

    def _sweep(self, journal: CaseJournal, start: Callable[[], _R], deadline: float) -> str:
        """Every case that is not in the journal; how it ended."""
        started = time.monotonic()
        left = [p for p in self._problems if p.name not in journal.cases]
        self._parts = [key for key in journal.cases if "\n" in key]
        self._forget_parts(journal.cases)
        before, place, rest = len(self._problems) - len(left), iter(left), iter([self._first])

        def next_runner() -> _R:
            runner = next(rest, None)
            return start() if runner is None or runner.broken else runner

        def work(runner: _R, problem: Problem) -> dict[str, Any]:
            del problem
            return self.work(runner, next(place))

        def tick(done: int, total: int) -> None:
            self._progress("cases", before + done, before + total)

        cases = [(i, p.problem) for i, p in enumerate(left)]
        sweep = for_each_case(cases, next_runner, work, tick, deadline)
        try:
            with closing(sweep):
                for index, _, case in sweep:
                    journal.add(left[index].name, case)
                    self._forget_parts(journal.cases)
        except KeyboardInterrupt:
            return self._end("interrupted", journal, started)
        except HarnessError as error:
            self.manifest.notes.append(str(error))
            self._end("stopped", journal, started)
            raise
        whole = all(p.name in journal.cases for p in self._problems)
        return self._end("complete" if whole else OUT_OF_TIME, journal, started)

    def _forget_parts(self, cases: dict[str, Any]) -> None:
        """Drops parts of which the whole is there: there may be many problems."""
        for key in self._parts:
            if key.partition("\n")[0] in cases:
                cases.pop(key, None)
        self._parts = [key for key in self._parts if key in cases]

    def _end(self, state: str, journal: CaseJournal, started: float) -> str:
        """Writes table and manifest of what there is."""
        found = journal.cases
        known = [(p, found[p.name]) for p in self._problems if p.name in found]
        rows = self.rows(known)
        self.write(rows)
        self.manifest.results = {
            "cases": len(known),
            "cases_left": len(self._problems) - len(known),
            "rows": len(rows),
            **self.results(rows),
            "walk_s": round(time.monotonic() - started, 3),
        }
        self.manifest.state, self.manifest.ended = state, now()
        self.manifest.write(self.folder)
        return state


def _part_key(named: NamedProblem, part: str) -> str:
    return f"{named.name}\n{part}"  # no name of a problem has two lines


def counts(rows: Sequence[Mapping[str, Any]], column: str) -> dict[str, int]:
    """How often each value of a column occurs."""
    values = [row[column] for row in rows if row[column] is not None]
    return {value: values.count(value) for value in dict.fromkeys(values)}


def fingerprint(problems: ProblemSet, *more: Any) -> str:
    """A short digest of what is run."""
    what = [*([p.name, p.problem.command, p.passes] for p in problems.problems), *more]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:12]


def running_release(release: Release, runner: Runner) -> dict[str, Any]:
    """What a manifest says of a release that a runner has loaded."""
    number = runner.version()
    data = {**release_data(release), "loaded": number}
    if release.version is None and number is not None:
        data["name"] = data["version"] = loaded_version(number)
    return data
