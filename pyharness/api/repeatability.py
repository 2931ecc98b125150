"""Ask problems whether their results repeat, condition by condition, and keep the table."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyharness.analyze.repeatability import Tally
from pyharness.api.device import open_runner
from pyharness.api.diffing import folder_name
from pyharness.api.folder import release_data, taken
from pyharness.api.progress import Progress, silent
from pyharness.api.stage_rows import problem_cells
from pyharness.engine.cases import for_each_case
from pyharness.engine.repeating import repeat
from pyharness.engine.repeats import NotTried, Seen
from pyharness.engine.runner import Runner
from pyharness.engine.workbench import Workbench
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import HarnessError, unknown_name
from pyharness.releases.model import Release, loaded_version
from pyharness.space.problems import NamedProblem, ProblemSet
from pyharness.spec.problem import Problem
from pyharness.spec.repeatability import CONDITIONS, VERDICTS
from pyharness.store.case_journal import CaseJournal
from pyharness.store.manifest import Manifest, describe_environment, now
from pyharness.store.schema import write_rows

DEFAULT_FOLDER = Path("results/determinism")
TABLE = "repeatability"
RUNS = 10
_KIND = "repeatability"
_MOST_FAILURES = 20
Case = Mapping[str, Any]  # of one problem, as the journal keeps it: rows and failures


@dataclass(frozen=True, slots=True)
class RepeatOptions:
    """How problems are repeated.

    ``runs``        that are compared with the first one, under each condition.
    ``conditions``  of spec.repeatability.CONDITIONS.
    ``ordinal``     the device.
    """

    runs: int = RUNS
    conditions: tuple[str, ...] = tuple(CONDITIONS)
    ordinal: int = 0
    timeout_s: float = DEFAULT_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class RepeatRun:
    """A run and where it lies.

    ``old``  it was complete before: nothing was run now.
    """

    folder: Path
    manifest: Manifest
    old: bool


def repeat_release(
    release: Release,
    problems: ProblemSet,
    out: Path | None = None,
    options: RepeatOptions | None = None,
    progress: Progress = silent,
) -> RepeatRun:
    """Repeats problems under each condition on a device, and writes table and manifest.

    Goes on with what an interrupted run left in the folder. After a Ctrl-C the manifest's state is
    ``interrupted``.

    ``out``  the folder; None: one that no other run shares.
    Raises   UsageError for a folder or device that cannot be used; HarnessError if the library
             cannot be used or the disk is full: what was found so far is kept then.
    """
    options = options or RepeatOptions()
    warm = set[str]()
    start = partial(open_runner, release, options.ordinal, options.timeout_s, warm)
    first = start()
    try:
        return _Repeating(release, problems, out, options, progress, first).run(start)
    finally:
        first.close()


class _Repeating:
    """One run of repeat_release; ``first`` is the runner that is there already."""

    def __init__(
        self,
        release: Release,
        problems: ProblemSet,
        out: Path | None,
        options: RepeatOptions,
        progress: Progress,
        first: Runner,
    ) -> None:
        self._named = {p.problem.command: p for p in problems.problems}
        self._options, self._progress, self._first = options, progress, first
        how: dict[str, Any] = {"runs": options.runs, "conditions": list(options.conditions)}
        fingerprint = _fingerprint(self._named.values(), how)
        self._folder = out or folder_name(
            release, problems.name, fingerprint, first.facts.name, DEFAULT_FOLDER
        )
        number = first.version()
        said = release_data(release)
        if release.version is None and number is not None:
            said["name"] = said["version"] = loaded_version(number)
        self._manifest = Manifest(
            kind=_KIND,
            release={**said, "loaded": number},
            space={"name": problems.name, "fingerprint": fingerprint, "grids": [], **how},
            reasons="all",
            timeout_s=options.timeout_s,
            device={**asdict(first.facts), "ordinal": options.ordinal},
        )

    def run(self, start: Callable[..., Runner]) -> RepeatRun:
        """Every problem that is not done yet."""
        with taken(self._folder, self._manifest) as there:
            self._manifest, old = there, there.state == "complete"
            if not old:
                there.state, there.notes, there.results = "running", [], {}
                there.environment = describe_environment()
                there.timeout_s = self._options.timeout_s
                there.write(self._folder)
                journal = CaseJournal(self._folder, {"run": list(there.identity)})
                with closing(journal):
                    state = self._sweep(journal, start)
                if state == "complete":
                    journal.remove()
        return RepeatRun(self._folder, self._manifest, old)

    def _sweep(self, journal: CaseJournal, start: Callable[..., Runner]) -> str:
        """Every case that is not in the journal; how it ended."""
        started = time.monotonic()
        left = [
            (i, p.problem) for i, (c, p) in enumerate(self._named.items()) if c not in journal.cases
        ]
        before = len(self._named) - len(left)
        rest = iter([self._first])

        def next_runner() -> Runner:
            runner = next(rest, None)
            return start() if runner is None or runner.broken else runner

        def work(runner: Runner, problem: Problem) -> Case:
            return self._case(runner, problem, start)

        def tick(done: int, total: int) -> None:
            self._progress("cases", before + done, before + total)

        try:
            with closing(for_each_case(left, next_runner, work, tick)) as sweep:
                for _, problem, case in sweep:
                    journal.add(problem.command, case)
        except KeyboardInterrupt:
            self._end("interrupted", journal.cases, started)
            return "interrupted"
        except HarnessError as error:
            self._manifest.notes.append(str(error))
            self._end("stopped", journal.cases, started)
            raise
        self._end("complete", journal.cases, started)
        return "complete"

    def _case(self, runner: Runner, problem: Problem, start: Callable[..., Runner]) -> Case:
        """One problem under all conditions, folded as the runs come."""
        o = self._options
        passes = _passes(self._named[problem.command])
        tallies: dict[tuple[str, str | None], Tally] = {}
        failures: list[dict[str, str]] = []

        bench = Workbench(runner)

        def another(env: Mapping[str, str | None]) -> Runner:
            return start(env=env)

        for event in repeat(bench, problem, passes, o.conditions, o.runs, another):
            if isinstance(event, Seen):
                tally = tallies.setdefault((event.condition, event.tensor), Tally())
                tally.add(event.digest, event.difference, event.variant)
            else:
                for tally in _meant(tallies, event):
                    tally.reason = tally.reason or event.why
                if event.failed:
                    failures.append(
                        {
                            "call": "",
                            "problem": problem.command,
                            "cause": f"{event.condition}: {event.why}",
                            "output": "",
                        }
                    )
        rows = [
            {"condition": condition, "buffer": tensor, **tally.as_row()}
            for (condition, tensor), tally in tallies.items()
        ]
        return {"rows": rows, "failures": failures}

    def _end(self, state: str, cases: Mapping[str, Case], started: float) -> None:
        """Writes table and manifest of what there is."""
        known = [(p, cases[c]) for c, p in self._named.items() if c in cases]
        rows = list(self._rows(known))
        write_rows(self._folder / f"{TABLE}.parquet", TABLE, rows)
        failures = [f for _, case in known for f in case["failures"]]
        statuses = {v: sum(r["verdict"] == v for r in rows) for v in VERDICTS}
        if failures:
            statuses["failed"] = len(failures)
        self._manifest.results = {
            "cases": len(known),
            "cases_left": len(self._named) - len(known),
            "rows": len(rows),
            "statuses": statuses,
            "failures": failures[:_MOST_FAILURES],
            "walk_s": round(time.monotonic() - started, 3),
        }
        self._manifest.state, self._manifest.ended = state, now()
        self._manifest.write(self._folder)

    def _rows(self, known: Iterable[tuple[NamedProblem, Case]]) -> Iterator[dict[str, Any]]:
        device = self._manifest.device
        for named, case in known:
            shared = {
                "release": self._manifest.release["name"],
                "device": device["name"],
                "name": named.name,
                "problem": named.problem.command,
                **problem_cells(named.problem),
                "provenance": "emulated" if device["emulated"] else "observed",
            }
            for row in case["rows"]:
                yield {**shared, **row}


def _meant(tallies: dict[tuple[str, str | None], Tally], event: NotTried) -> list[Tally]:
    """The tallies that something which was not tried is said of: one of its own where none is."""
    found = [
        tally
        for (condition, _), tally in tallies.items()
        if event.ends and condition == event.condition and tally.runs
    ]
    return found or [tallies.setdefault((event.condition, event.tensor), Tally())]


def _passes(named: NamedProblem) -> tuple[str, ...]:
    """What one run is: training where its set trains it, or else inference."""
    training = tuple(p for p in named.passes if p != "forward_inference")
    return training or named.passes


def _fingerprint(problems: Iterable[NamedProblem], how: Mapping[str, Any]) -> str:
    """A short digest of what is repeated, and how."""
    what = [[(p.problem.command, _passes(p)) for p in problems], how]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:12]


def conditions_of(text: str | None) -> tuple[str, ...]:
    """The conditions that a comma-separated text names, in their own order; all without one.

    Raises  UsageError for an unknown one.
    """
    if text is None:
        return tuple(CONDITIONS)
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in CONDITIONS:
            raise unknown_name("condition", name, CONDITIONS)
    return tuple(c for c in CONDITIONS if c in names)
