"""Take problems through all stages that this machine has, and keep what each came to."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

from pyharness.api.device import device_here, open_runner
from pyharness.api.diagnosis import explain_collapse
from pyharness.api.diffing import folder_name
from pyharness.api.driver import is_emulated
from pyharness.api.folder import release_data, taken
from pyharness.api.progress import Progress, silent
from pyharness.api.stage_rows import case_data, case_of, host_case, stage_rows, summary
from pyharness.api.trying import try_many
from pyharness.device import core
from pyharness.engine.cases import for_each_case
from pyharness.engine.crew import Collapse
from pyharness.engine.runner import Runner
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import HarnessError
from pyharness.releases.model import Release, loaded_version
from pyharness.spec.device_facts import DeviceFacts
from pyharness.spec.problem import Problem
from pyharness.spec.stage_results import CaseResult
from pyharness.store.case_journal import CaseJournal
from pyharness.store.manifest import OUT_OF_TIME, Manifest, describe_environment, now
from pyharness.store.schema import write_rows

DEFAULT_STAGES = Path("results/stages")
TABLE = "stages.parquet"
_KIND = "stages"


@dataclass(frozen=True, slots=True)
class Problems:
    """What is taken through the stages, each problem once; ``name`` tells where they are from."""

    name: str
    problems: tuple[Problem, ...]

    @property
    def fingerprint(self) -> str:
        """A short digest of the problems, whatever their name."""
        text = json.dumps([p.command for p in self.problems])
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def distinct(name: str, problems: Iterable[Problem]) -> Problems:
    """Problems with those left out that came before."""
    return Problems(name, tuple({p.command: p for p in problems}.values()))


@dataclass(frozen=True, slots=True)
class StageOptions:
    """How problems are taken through the stages.

    ``ordinal``    the device; None: the first, or none where there is none.
    ``timeout_s``  a stage that takes longer counts as hung; the first of its kind gets a minute.
    """

    ordinal: int | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class StageRun:
    """A run and where it lies.

    ``no_gpu``  why only the host stages were tried; empty where all were.
    """

    folder: Path
    manifest: Manifest
    no_gpu: str


def stage_release(
    release: Release,
    problems: Problems,
    out: Path | None = None,
    options: StageOptions | None = None,
    progress: Progress = silent,
    deadline: float = inf,
) -> StageRun:
    """Takes problems through the stages of a release and writes table and manifest.

    Where there is no GPU, and none is asked for, the host stages. Goes on with what an interrupted
    run left in the folder. After a Ctrl-C the manifest's state is ``interrupted``.

    ``out``       the folder; None: one that no other run shares.
    ``deadline``  see CaseRun.go; the host stages take no heed of it.
    Raises        UsageError for a folder or device that cannot be used; HarnessError if the library
                  cannot be used or the disk is full: what was found so far is kept then.
    """
    options = options or StageOptions()
    core()
    here = device_here() if options.ordinal is None else None
    if here is not None and not here.gpus:
        run = _Staging(release, problems, out, options, progress, None)
        return run.host(here.why)
    start = partial(open_runner, release, options.ordinal or 0, options.timeout_s, set())
    first = start()
    try:
        run = _Staging(release, problems, out, options, progress, first.facts)
        return run.device(first, start, deadline)
    finally:
        first.close()


class _Staging:
    """One run of stage_release."""

    def __init__(
        self,
        release: Release,
        problems: Problems,
        out: Path | None,
        options: StageOptions,
        progress: Progress,
        facts: DeviceFacts | None,
    ) -> None:
        self._release = release
        self._problems = problems
        self._options = options
        self._progress = progress
        self._facts = facts
        self._folder = out or folder_name(
            release,
            problems.name,
            problems.fingerprint,
            facts.name if facts else "host",
            DEFAULT_STAGES,
        )
        self._fresh = self._manifest = Manifest(
            kind=_KIND,
            release=release_data(release),
            space={"name": problems.name, "fingerprint": problems.fingerprint, "grids": []},
            reasons="all",
            timeout_s=options.timeout_s,
            device={} if facts is None else asdict(facts),
        )

    def host(self, why: str) -> StageRun:
        """The stages that the host validates."""
        with taken(self._folder, self._fresh) as there:
            if self._begun(there):
                self._manifest.notes.append(f"only host stages were tried: no GPU here ({why})")
                started = time.monotonic()
                self._progress("trying problems", 0, len(self._problems.problems))
                try:
                    tried = try_many(
                        self._release, self._problems.problems, self._options.timeout_s
                    )
                except Collapse as collapse:
                    raise explain_collapse(self._release, collapse) from None
                provenance = "emulated" if is_emulated(self._release) else "observed"
                cases = [host_case(results, provenance) for results in tried]
                self._end("complete", cases, started)
        return StageRun(self._folder, self._manifest, why)

    def device(self, first: Runner, start: Callable[[], Runner], deadline: float = inf) -> StageRun:
        """All stages, on a device; ``first`` is the runner that is there already."""
        with taken(self._folder, self._fresh) as there:
            retry = there.circumstances != self._fresh.circumstances
            if self._begun(there):
                self._note_version(first)
                forget = _failed if retry else None
                journal = CaseJournal(self._folder, self._identity(), forget)
                with closing(journal):
                    state = self._sweep(journal, first, start, deadline)
                if state == "complete":
                    journal.remove()
        return StageRun(self._folder, self._manifest, "")

    def _begun(self, there: Manifest) -> bool:
        """Whether there is something to do; then the manifest says that it is being done."""
        self._manifest = there
        if there.state == "complete":
            # What failed under other circumstances says nothing about these: it is tried again.
            elsewhere = there.circumstances != self._fresh.circumstances
            if not elsewhere or "failed" not in there.results["statuses"]:
                return False
            self._manifest = self._fresh
        self._manifest.state, self._manifest.notes, self._manifest.results = "running", [], {}
        self._manifest.environment = describe_environment()
        self._manifest.timeout_s = self._options.timeout_s
        self._manifest.write(self._folder)
        return True

    def _identity(self) -> dict[str, Any]:
        names = ("kind", "release", "library", "problems", "reasons", "device")
        return dict(zip(names, self._manifest.identity, strict=True))

    def _note_version(self, runner: Runner) -> None:
        number = runner.version()
        if number is None:
            self._manifest.notes.append("the library ended its process when asked its version")
            return
        self._manifest.release["loaded"] = number
        if self._release.version is None:
            said = loaded_version(number)
            self._manifest.release["name"], self._manifest.release["version"] = said, said

    def _sweep(
        self, journal: CaseJournal, first: Runner, start: Callable[[], Runner], deadline: float
    ) -> str:
        """Every case that is not in the journal; how it ended."""
        started = time.monotonic()
        every = self._problems.problems
        left = [(i, p) for i, p in enumerate(every) if p.command not in journal.cases]
        before = len(every) - len(left)
        rest = iter([first])

        def next_runner() -> Runner:
            runner = next(rest, None)
            return start() if runner is None or runner.broken else runner

        def tick(done: int, total: int) -> None:
            self._progress("cases", before + done, before + total)

        def finish(state: str) -> None:
            done = [journal.cases.get(p.command) for p in every]
            self._end(state, [None if d is None else case_of(d) for d in done], started)

        sweep = for_each_case(left, next_runner, Runner.whole, tick, deadline)
        try:
            with closing(sweep):
                for _, problem, case in sweep:
                    journal.add(problem.command, case_data(case))
        except KeyboardInterrupt:
            finish("interrupted")
            return "interrupted"
        except HarnessError as error:
            self._manifest.notes.append(str(error))
            finish("stopped")
            raise
        whole = all(p.command in journal.cases for p in every)
        state = "complete" if whole else OUT_OF_TIME
        finish(state)
        return state

    def _end(self, state: str, cases: Sequence[CaseResult | None], started: float) -> None:
        """Writes table and manifest of what there is."""
        known = [
            (p, c) for p, c in zip(self._problems.problems, cases, strict=True) if c is not None
        ]
        device = None if self._facts is None else self._facts.name
        rows = stage_rows(self._manifest.release["name"], device, known)
        write_rows(self._folder / TABLE, "stages", rows)
        results: dict[str, Any] = summary(known)
        self._manifest.results = {
            "cases": len(known),
            "cases_left": len(cases) - len(known),
            **results,
            "walk_s": round(time.monotonic() - started, 3),
        }
        self._manifest.state = state
        self._manifest.ended = now()
        self._manifest.write(self._folder)


def _failed(case: dict[str, Any]) -> bool:
    return case_of(case).failure is not None
