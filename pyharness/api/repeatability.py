"""Ask problems whether their results repeat, condition by condition, and keep the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyharness.analyze.repeatability import Tally
from pyharness.api.case_run import CaseRun, counts, fingerprint, running_release
from pyharness.api.device import open_runner
from pyharness.api.diffing import folder_name
from pyharness.api.progress import Progress, silent
from pyharness.api.stage_rows import problem_cells
from pyharness.engine.repeating import repeat
from pyharness.engine.repeats import NotTried, Seen, Start
from pyharness.engine.runner import Runner
from pyharness.engine.workbench import Workbench
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import unknown_name
from pyharness.releases.model import Release
from pyharness.space.problems import NamedProblem, ProblemSet
from pyharness.spec.repeatability import BETWEEN_PROCESSES, CONDITIONS, OF_PARTS
from pyharness.store.manifest import Manifest

DEFAULT_FOLDER = Path("results/determinism")
TABLE = "repeatability"
RUNS = 10
_ELSEWHERE = {BETWEEN_PROCESSES, OF_PARTS}
_ORDER = {condition: place for place, condition in enumerate(CONDITIONS)}


@dataclass(frozen=True, slots=True)
class RepeatOptions:
    """How problems are repeated.

    ``runs``        under each condition.
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
    start = partial(open_runner, release, options.ordinal, options.timeout_s, set[str]())
    first = start()
    try:
        run = _Repeating(release, problems, out, options, progress, first, start)
        run.go(start)
        return RepeatRun(run.folder, run.manifest, run.old)
    finally:
        first.close()


class _Repeating(CaseRun[Runner]):
    """One run of repeat_release; ``first`` is the runner that is there already."""

    kind = TABLE

    def __init__(
        self,
        release: Release,
        problems: ProblemSet,
        out: Path | None,
        options: RepeatOptions,
        progress: Progress,
        first: Runner,
        start: Callable[..., Runner],
    ) -> None:
        self._options = options
        self._another: Start = lambda env: start(env=env)
        facts = first.facts
        how: dict[str, Any] = {"runs": options.runs, "conditions": list(options.conditions)}
        what = fingerprint(problems, how)
        fresh = Manifest(
            kind=self.kind,
            release=running_release(release, first),
            space={"name": problems.name, "fingerprint": what, "grids": [], **how},
            reasons="all",
            timeout_s=options.timeout_s,
            device={**asdict(facts), "ordinal": options.ordinal},
        )
        folder = out or folder_name(release, problems.name, what, facts.name, DEFAULT_FOLDER)
        super().__init__(problems.problems, folder, fresh, progress, first)
        self.old = True

    def work(self, runner: Runner, named: NamedProblem) -> dict[str, Any]:
        """One problem under all conditions, folded as the runs come."""
        self.old = False
        o, passes = self._options, repeated_passes(named)
        tallies: dict[tuple[str, str | None], Tally] = {}
        bench = Workbench(runner)
        for event in repeat(bench, named.problem, passes, o.conditions, o.runs, self._another):
            if isinstance(event, Seen):
                tally = tallies.setdefault((event.condition, event.tensor), Tally())
                tally.add(
                    event.digest,
                    event.difference,
                    event.variant,
                    event.part,
                    event.process,
                    event.compared_on,
                )
                continue
            if event.void:
                tallies[event.condition, event.tensor] = Tally()
            for tally in _meant(tallies, event):
                tally.reason = tally.reason or event.why
                tally.failed |= event.failed
        rows = [
            {"condition": condition, "buffer": tensor, **tally.as_row()}
            for (condition, tensor), tally in sorted(tallies.items(), key=_place)
        ]
        return {"rows": rows}

    def failed(self, case: Mapping[str, Any]) -> bool:
        return any(row["outcome"] == "failed" for row in case["rows"])

    def rows(self, cases: Sequence[tuple[NamedProblem, Any]]) -> list[dict[str, Any]]:
        device = self.manifest.device
        rows: list[dict[str, Any]] = []
        for named, case in cases:
            shared = {
                "release": self.manifest.release["name"],
                "device": device["name"],
                "name": named.name,
                "problem": named.problem.command,
                **problem_cells(named.problem),
                "provenance": "emulated" if device["emulated"] else "observed",
            }
            rows += ({**shared, **row} for row in case["rows"])
        return rows

    def results(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return {
            "statuses": counts(rows, "outcome"),
            "verdicts": counts(rows, "verdict"),
            "failures": _failures(rows),
            "compared_on": sorted(counts(rows, "compared_on").keys() - _ELSEWHERE),
        }


def _place(tally: tuple[tuple[str, str | None], Tally]) -> int:
    """Where the rows of a condition stand: what is told of it may come with another one."""
    return _ORDER[tally[0][0]]


def _meant(tallies: dict[tuple[str, str | None], Tally], event: NotTried) -> list[Tally]:
    """The tallies that something which was not tried is said of: one of its own where none is."""
    found = [
        tally
        for (condition, _), tally in tallies.items()
        if event.ends and event.tensor is None and condition == event.condition and tally.runs
    ]
    return found or [tallies.setdefault((event.condition, event.tensor), Tally())]


def _failures(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Each defect once, whatever number of tensors it kept from the end."""
    found = dict.fromkeys(
        (r["problem"], f"{r['condition']}: {r['reason']}") for r in rows if r["outcome"] == "failed"
    )
    return [{"call": "", "problem": p, "cause": cause, "output": ""} for p, cause in found]


def repeated_passes(named: NamedProblem) -> tuple[str, ...]:
    """What one run is: training where its set trains it, or else inference."""
    training = tuple(p for p in named.passes if p != "forward_inference")
    return training or named.passes


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
