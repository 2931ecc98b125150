"""Time problems on releases and peers, each problem on all of them in turn, and keep the tables."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pyharness.api.bench_records import case_from, record, sample_rows, timing_rows
from pyharness.api.bench_sides import BenchOptions, Timer, tell_apart
from pyharness.api.folder import taken
from pyharness.api.progress import Progress, silent
from pyharness.api.stage_rows import stage_rows, summary
from pyharness.engine.timed_case import TimedCase
from pyharness.errors import HarnessError, UsageError
from pyharness.space.problems import NamedProblem, ProblemSet
from pyharness.store.case_journal import CaseJournal
from pyharness.store.manifest import Manifest, describe_environment, now
from pyharness.store.schema import write_rows

DEFAULT_BENCHES = Path("results/bench")
TIMINGS, SAMPLES, STAGES = "timings.parquet", "samples.parquet", "stages.parquet"
_KIND = "bench"


@dataclass(frozen=True, slots=True)
class BenchRun:
    """One side's part of a bench, and where it lies.

    ``cases``  what each problem came to, by name; those that were not done are missing.
    """

    folder: Path
    manifest: Manifest
    cases: dict[str, TimedCase]


def new_folder(name: str) -> Path:
    """A folder for a bench of this set that no other run has: named by the time, in UTC."""
    stamp = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
    return DEFAULT_BENCHES / f"{stamp}-{_plain(name)[:60]}"


def bench(
    timers: Sequence[Timer],
    problems: ProblemSet,
    out: Path,
    options: BenchOptions,
    *,
    resume: bool = False,
    progress: Progress = silent,
) -> list[BenchRun]:
    """Times every problem on every side; a problem is done on all sides before the next begins.

    Writes a folder for each side into ``out``: run.json, timings, samples and stages. What a kill
    or a Ctrl-C left is gone on with if ``resume``; after a Ctrl-C the state is ``interrupted``.

    Raises  UsageError for a folder that cannot be used, or that holds an unfinished run and no
            ``resume``; HarnessError if a side cannot go on: what was timed is kept then.
    """
    tell_apart(timers)
    names = [_plain(t.side.release) for t in timers]
    with ExitStack() as stack:
        parts = [
            stack.enter_context(closing(_Part(t, problems, out / n, options, resume, stack)))
            for t, n in zip(timers, names, strict=True)
        ]
        state = _sweep(parts, problems, progress)
        for part in parts:
            part.end(state)
    return [part.run for part in parts]


def _sweep(parts: Sequence[_Part], problems: ProblemSet, progress: Progress) -> str:
    """Every problem on every part; how it ended."""
    total = len(problems.problems) * len(parts)
    done = total - sum(len(part.left) for part in parts)
    progress("cases", done, total)
    try:
        for named in problems.problems:
            for part in parts:
                if part.take(named):
                    done += 1
                    progress("cases", done, total)
    except KeyboardInterrupt:
        return "interrupted"
    except HarnessError as error:
        for part in parts:
            part.run.manifest.notes.append(str(error))
            part.end("stopped")
        raise
    return "complete"


class _Part:
    """One side of a bench with its folder.

    ``left``  the problems that are still to do.
    """

    def __init__(
        self,
        timer: Timer,
        problems: ProblemSet,
        folder: Path,
        options: BenchOptions,
        resume: bool,
        stack: ExitStack,
    ) -> None:
        self._timer, self._problems = timer, problems
        self._started = time.monotonic()
        fresh = Manifest(
            kind=_KIND,
            release=timer.release,
            space={
                "name": problems.name,
                "fingerprint": _fingerprint(problems, options),
                "grids": [],
            },
            reasons="all",
            timeout_s=options.timeout_s,
            device=timer.device,
        )
        there = stack.enter_context(taken(folder, fresh))
        self.run = BenchRun(folder, there, {})
        self._journal: CaseJournal | None = None
        self.left: list[NamedProblem] = []
        if there.state == "complete":
            return
        if there is not fresh and not resume:
            raise UsageError(
                f"{folder} holds a run that is not finished",
                "go on with it by --resume, or give another --out",
            )
        there.state, there.notes, there.results = "running", [], {}
        there.environment, there.timeout_s = describe_environment(), options.timeout_s
        there.write(folder)
        self._journal = CaseJournal(folder, {"run": list(there.identity)})
        known = self._journal.cases
        self.run.cases.update({name: case_from(data) for name, data in known.items()})
        self.left = [p for p in problems.problems if p.name not in known]
        self._pending = {p.name for p in self.left}
        self._cases: Iterator[TimedCase] = timer.cases(self.left)

    def take(self, named: NamedProblem) -> bool:
        """Times a problem if it is still to do; whether it was."""
        if self._journal is None or named.name not in self._pending:
            return False
        case = next(self._cases)
        self._journal.add(named.name, record(case))
        self.run.cases[named.name] = case
        return True

    def end(self, state: str) -> None:
        """Writes tables and manifest of what there is."""
        if self._journal is None:
            return
        manifest, folder = self.run.manifest, self.run.folder
        known = [(p, self.run.cases[p.name]) for p in self._problems.problems if self._has(p)]
        side = self._timer.side
        write_rows(
            folder / TIMINGS, "timings", (r for p, c in known for r in timing_rows(side, p, c))
        )
        write_rows(
            folder / SAMPLES, "samples", (r for p, c in known for r in sample_rows(side, p, c))
        )
        staged = [(p.problem, c.stages) for p, c in known if c.stages is not None]
        write_rows(folder / STAGES, "stages", stage_rows(side.release, side.device, staged))
        outcomes: dict[str, int] = {}
        for _, case in known:
            for timing in case.timings:
                outcome = timing.result.outcome
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
        manifest.results = {
            **summary(staged),
            "cases": len(known),
            "cases_left": len(self._problems.problems) - len(known),
            "rows": sum(outcomes.values()),
            "statuses": outcomes,
            "walk_s": round(time.monotonic() - self._started, 3),
        }
        manifest.state, manifest.ended = state, now()
        manifest.write(folder)
        if state == "complete":
            self._journal.remove()
        self._journal = None

    def close(self) -> None:
        """Ends the sweep's processes, and leaves a journal that was not ended for the next run."""
        if self._journal is not None:
            self._journal.close()
        cases = getattr(self, "_cases", None)
        if cases is not None:
            cases.close()

    def _has(self, named: NamedProblem) -> bool:
        return named.name in self.run.cases


def _fingerprint(problems: ProblemSet, options: BenchOptions) -> str:
    """A short digest of what is timed and how."""
    what: dict[str, Any] = {
        "problems": [(p.name, p.problem.command, options.passes_of(p)) for p in problems.problems],
        "modes": options.modes,
        "rule": asdict(options.rule),
        "warm_s": options.warm_s,
    }
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:12]


def _plain(text: str) -> str:
    """A text as the name of a folder."""
    return re.sub(r"[^A-Za-z0-9.+=]+", "-", text).strip("-")
