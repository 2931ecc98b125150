"""Time problems on releases and peers, each problem on all of them in turn, and keep the tables."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pyharness.api.bench_records import (
    case_from,
    record,
    sample_rows,
    timing_failures,
    timing_rows,
)
from pyharness.api.bench_sides import BenchOptions, Timer, tell_apart
from pyharness.api.folder import taken
from pyharness.api.progress import Progress, silent
from pyharness.api.stage_rows import stage_rows, summary
from pyharness.engine.timed_case import TimedCase
from pyharness.errors import HarnessError, UsageError
from pyharness.space.problems import NamedProblem, ProblemSet
from pyharness.spec.timed import TIMED_PASSES
from pyharness.store.case_journal import CaseJournal
from pyharness.store.manifest import NAME as MANIFEST
from pyharness.store.manifest import Manifest, describe_environment, now
from pyharness.store.schema import write_rows

DEFAULT_BENCHES = Path("results/bench")
TIMINGS, SAMPLES, STAGES = "timings.parquet", "samples.parquet", "stages.parquet"
_KIND = "bench"


@dataclass(frozen=True, slots=True)
class BenchRun:
    """One side's part of a bench, and where it lies.

    ``cases``  what each problem came to, by name; those that were not done are missing.
    ``old``    it was complete before: nothing was timed now.
    """

    folder: Path
    manifest: Manifest
    cases: dict[str, TimedCase]
    old: bool


def new_folder(name: str, results: Path = DEFAULT_BENCHES) -> Path:
    """A folder for a run over this set that no other run has: named by the time, in UTC."""
    stamp = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
    return results / f"{stamp}-{_plain(name)[:60]}"


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
    _check(problems, out, options)
    names = [_folder(t.side.release) for t in timers]
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
            release={**timer.release, "name": timer.side.release},
            space={
                "name": problems.name,
                "fingerprint": _fingerprint(problems, options),
                "grids": [],
                "timing": _how(options),
            },
            reasons="all",
            timeout_s=options.timeout_s,
            device=timer.device,
        )
        there = stack.enter_context(taken(folder, fresh))
        self.run = BenchRun(folder, there, {}, there.state == "complete")
        self._journal: CaseJournal | None = None
        self.left: list[NamedProblem] = []
        self._cases = timer.cases(())
        if self.run.old:
            return
        if there is fresh:
            there.write(folder)  # before the journal: a folder is known by its manifest
        journal = CaseJournal(folder, {"run": list(there.identity)})
        known = journal.cases
        if known and not resume:
            journal.close()
            raise UsageError(
                f"{folder} holds a run that is not finished",
                "go on with it by --resume, or give another --out",
            )
        self._journal = journal
        there.state, there.notes, there.results = "running", list(timer.notes), {}
        there.environment, there.timeout_s = describe_environment(), options.timeout_s
        there.write(folder)
        self.run.cases.update({name: case_from(data) for name, data in known.items()})
        self.left = [p for p in problems.problems if p.name not in known]
        self._pending = {p.name for p in self.left}
        self._cases = timer.cases(self.left)

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
        staged_summary = summary(staged)
        outcomes: dict[str, int] = {}
        for _, case in known:
            for timing in case.timings:
                outcome = timing.result.outcome
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
        manifest.results = {
            **staged_summary,
            "failures": [*staged_summary["failures"], *timing_failures(known)],
            "cases": len(known),
            "cases_left": len(self._problems.problems) - len(known),
            "rows": sum(outcomes.values()),
            "statuses": outcomes,
            "walk_s": round(time.monotonic() - self._started, 3),
        }
        manifest.notes += _peak_notes(c for _, c in known)
        manifest.state, manifest.ended = state, now()
        manifest.write(folder)
        if state == "complete":
            self._journal.remove()
        self._journal.close()
        self._journal = None

    def close(self) -> None:
        """Ends the sweep's processes, and leaves a journal that was not ended for the next run."""
        if self._journal is not None:
            self._journal.close()
        self._cases.close()

    def _has(self, named: NamedProblem) -> bool:
        return named.name in self.run.cases


def _fingerprint(problems: ProblemSet, options: BenchOptions) -> str:
    """A short digest of what is timed and how."""
    what: dict[str, Any] = {
        "problems": [(p.name, p.problem.command, options.passes_of(p)) for p in problems.problems],
        **_how(options),
    }
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:12]


def _how(options: BenchOptions) -> dict[str, Any]:
    """How all problems are timed."""
    return {
        "modes": list(options.modes),
        "rule": asdict(options.rule),
        "rule_name": options.rule.name,
        "warm_s": options.warm_s,
    }


def _peak_notes(cases: Iterable[TimedCase]) -> list[str]:
    """Why a share of the card's peak is not known: each reason once."""
    reasons = dict.fromkeys(c.peak.reason for c in cases if c.peak is not None and c.peak.reason)
    return [f"the share of the card's peak is not known: {reason}" for reason in reasons]


def _check(problems: ProblemSet, out: Path, options: BenchOptions) -> None:
    """Refuses what would time nothing, or put folders into a folder of something else.

    Raises  UsageError.
    """
    if not any(options.passes_of(p) for p in problems.problems):
        there = [p for p in TIMED_PASSES if any(p in q.passes for q in problems.problems)]
        raise UsageError(
            f"no problem of {problems.name} is timed with --passes {','.join(options.passes)}",
            f"they have {', '.join(there)}",
        )
    if (out / MANIFEST).exists():
        raise UsageError(
            f"{out} is the folder of a single run: a bench has one in it for each side",
            "give another --out",
        )


def _folder(release: str) -> str:
    """The name of a side's folder; what a path would be cut or changed to stays told apart."""
    name = _plain(release)[:80]
    if "/" not in release:
        return name
    return f"{name}-{hashlib.sha256(release.encode()).hexdigest()[:8]}"


def _plain(text: str) -> str:
    """A text as the name of a folder."""
    return re.sub(r"[^A-Za-z0-9.+=]+", "-", text).strip("-")
