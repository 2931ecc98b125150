"""Problems of a release put to the equivalences that must hold, and what came of it as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyharness.api.case_run import CaseRun, counts, fingerprint, running_release
from pyharness.api.checking_case import Cells, Checker, Hand
from pyharness.api.device import open_runner
from pyharness.api.diffing import folder_name
from pyharness.api.progress import Progress, silent
from pyharness.api.stage_rows import problem_cells
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import unknown_name
from pyharness.releases.model import Release
from pyharness.space.problems import NamedProblem, ProblemSet
from pyharness.spec.equivalences import CHECKS
from pyharness.store.manifest import Manifest

DEFAULT_CHECKS = Path("results/check")
MOST_TRIES = 300
MOST_S = 120.0
_MOST_FAILURES = 20


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """How problems are checked.

    ``checks``      of spec.equivalences.CHECKS.
    ``most_tries``  problems tried to find the smallest that shows what is violated; 0: none.
    ``ordinal``     the device.
    ``most_s``      that the search may take, for each check that a problem violates.
    """

    checks: tuple[str, ...] = tuple(CHECKS)
    most_tries: int = MOST_TRIES
    ordinal: int = 0
    timeout_s: float = DEFAULT_TIMEOUT_S
    most_s: float = MOST_S


@dataclass(frozen=True, slots=True)
class CheckRun:
    """A run and where it lies."""

    folder: Path
    manifest: Manifest


def check_release(
    release: Release,
    problems: ProblemSet,
    out: Path | None = None,
    options: CheckOptions | None = None,
    progress: Progress = silent,
) -> CheckRun:
    """Puts problems to checks on a device, shrinks what violates one, writes table and manifest.

    Goes on with what an interrupted run left in the folder. After a Ctrl-C the manifest's state is
    ``interrupted``.

    ``out``  the folder; None: one that no other run shares.
    Raises   UsageError for a folder or device that cannot be used; HarnessError if the device
             cannot go on or the disk is full: what was found so far is kept then.
    """
    options = options or CheckOptions()
    start = partial(Hand, partial(open_runner, release, options.ordinal, options.timeout_s, set()))
    first = start()
    try:
        run = _Checking(release, problems, out, options, progress, first)
        run.go(start)
        return CheckRun(run.folder, run.manifest)
    finally:
        first.close()


def checks_of(text: str | None) -> tuple[str, ...]:
    """The checks that a comma-separated text names, in their own order; all without one.

    Raises  UsageError for an unknown one.
    """
    if text is None:
        return tuple(CHECKS)
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in CHECKS:
            raise unknown_name("check", name, CHECKS)
    return tuple(name for name in CHECKS if name in names)


class _Checking(CaseRun[Hand]):
    """One run of check_release; a case is the cells of its rows."""

    kind = "equivalences"

    def __init__(
        self,
        release: Release,
        problems: ProblemSet,
        out: Path | None,
        options: CheckOptions,
        progress: Progress,
        first: Hand,
    ) -> None:
        how = {
            "checks": list(options.checks),
            "most_tries": options.most_tries,
            "most_s": options.most_s,
        }
        facts, what = first.runner.facts, fingerprint(problems, how)
        folder = out or folder_name(release, problems.name, what, facts.name, DEFAULT_CHECKS)
        fresh = Manifest(
            kind=self.kind,
            release=running_release(release, first.runner),
            space={"name": problems.name, "fingerprint": what, "grids": [], **how},
            reasons="all",
            timeout_s=options.timeout_s,
            device={**asdict(facts), "ordinal": options.ordinal},
        )
        super().__init__(problems.problems, folder, fresh, progress, first)
        self._checker = Checker(options.checks, options.most_tries, options.most_s, progress)

    def work(self, runner: Hand, named: NamedProblem) -> dict[str, Any]:
        def kept(check: str) -> list[Cells] | None:
            part = self.kept(named, check)
            return None if part is None else part["rows"]

        def keep(check: str, cells: list[Cells]) -> None:
            self.keep(named, check, {"rows": cells})

        return {"rows": self._checker.cells(runner, named, kept, keep)}

    def failed(self, case: Mapping[str, Any]) -> bool:
        return any(row["outcome"] == "failed" for row in case["rows"])

    def rows(self, cases: Sequence[tuple[NamedProblem, Any]]) -> list[dict[str, Any]]:
        return [
            {
                "release": self.manifest.release["name"],
                "device": self.manifest.device["name"],
                "name": named.name,
                "group": named.group,
                "problem": named.problem.command,
                **problem_cells(named.problem),
                **row,
            }
            for named, case in cases
            for row in case["rows"]
        ]

    def results(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        failed = [r for r in rows if r["outcome"] == "failed"]
        return {
            "statuses": counts(rows, "outcome"),
            "verdicts": counts([r for r in rows if r.get("verdict")], "verdict"),
            "failures": [
                {
                    "call": r["call"],
                    "problem": r["problem"],
                    "cause": f"{r['check'] or 'without a check'}: {r['reason'] or r['status']}",
                    "output": "",
                }
                for r in failed[:_MOST_FAILURES]
            ],
        }
