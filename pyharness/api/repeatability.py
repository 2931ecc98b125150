"""Ask problems whether their results repeat, condition by condition, and keep the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

from pyharness.analyze.repeatability import Tally
from pyharness.api.case_run import CaseRun, counts, fingerprint, running_release
from pyharness.api.device import open_runner
from pyharness.api.diffing import folder_name
from pyharness.api.progress import Progress, silent
from pyharness.api.stage_rows import problem_cells
from pyharness.engine.repeating import Earlier, repeat
from pyharness.engine.repeats import NotTried, Seen, Start
from pyharness.engine.runner import Runner
from pyharness.engine.workbench import Workbench
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import UsageError, unknown_name
from pyharness.releases.model import Release
from pyharness.space.problems import NamedProblem, ProblemSet
from pyharness.spec.repeatability import BETWEEN_PROCESSES, CONDITIONS, OF_PARTS, UNCHANGED
from pyharness.store.manifest import Manifest

DEFAULT_FOLDER = Path("results/determinism")
TABLE = "repeatability"
RUNS, MOST_RUNS = 10, 100_000
_Key = tuple[str, str | None]  # condition and tensor; None: all of them
_ELSEWHERE = {BETWEEN_PROCESSES, OF_PARTS}
_ORDER = {condition: place for place, condition in enumerate(CONDITIONS)}


@dataclass(frozen=True, slots=True)
class RepeatOptions:
    """How problems are repeated.

    ``runs``        under each condition.
    ``conditions``  of spec.repeatability.CONDITIONS.
    ``ordinal``     the device.

    Raises  UsageError for no run, or too many.
    """

    runs: int = RUNS
    conditions: tuple[str, ...] = tuple(CONDITIONS)
    ordinal: int = 0
    timeout_s: float = DEFAULT_TIMEOUT_S

    def __post_init__(self) -> None:
        if not 1 <= self.runs <= MOST_RUNS:
            raise UsageError(f"{self.runs} runs cannot be made", f"1 to {MOST_RUNS:,} can")


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
    deadline: float = inf,
) -> RepeatRun:
    """Repeats problems under each condition on a device, and writes table and manifest.

    Goes on with what an interrupted run left in the folder. After a Ctrl-C the manifest's state is
    ``interrupted``.

    ``out``       the folder; None: one that no other run shares.
    ``deadline``  see CaseRun.go.
    Raises        UsageError for a folder or device that cannot be used; HarnessError if the library
                  cannot be used or the disk is full: what was found so far is kept then.
    """
    options = options or RepeatOptions()
    start = partial(open_runner, release, options.ordinal, options.timeout_s, set[str]())
    first = start()
    try:
        run = _Repeating(release, problems, out, options, progress, first, start)
        run.go(start, deadline)
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
        what = fingerprint(problems, how, options.ordinal)  # another card of the same name
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
        """One problem under all conditions, folded as the runs come, each kept when it ends."""
        self.old = False
        o, passes = self._options, repeated_passes(named)
        tallies: dict[_Key, Tally] = {}
        earlier = self._earlier(named, tallies)
        touched: dict[_Key, None] = {}

        def ended(condition: str) -> None:
            new = {key: tallies[key] for key in touched}
            self.keep(named, condition, {"tallies": _as_data(new)})
            touched.clear()

        args = (named.problem, passes, o.conditions, o.runs, self._another)
        for event in repeat(Workbench(runner), *args, earlier, ended):
            if isinstance(event, Seen):
                seen: _Key = (event.condition, event.tensor)
                touched.setdefault(seen)
                _add(tallies.setdefault(seen, Tally()), event)
                continue
            if event.void:
                tallies[event.condition, event.tensor] = Tally()
            for key in _meant(tallies, event):
                touched.setdefault(key)
                tally = tallies.setdefault(key, Tally())
                tally.reason = tally.reason or event.why
                tally.failed |= event.failed
        return {"rows": _rows(tallies)}

    def _earlier(self, named: NamedProblem, tallies: dict[_Key, Tally]) -> Earlier:
        """What a run that did not end has kept of a problem; its tallies are added."""
        conditions = []
        for condition in self._options.conditions:
            if (part := self.kept(named, condition)) is not None:
                conditions.append(condition)
                tallies |= {(c, b): Tally.from_data(data) for c, b, data in part["tallies"]}
        same = {b: tally for (c, b), tally in tallies.items() if b and c == UNCHANGED}
        unsteady = [b for b, tally in same.items() if tally.differing]
        return Earlier(conditions, unsteady)

    def failed(self, case: Mapping[str, Any]) -> bool:
        parts = (data["failed"] for _, _, data in case.get("tallies", ()))
        return any(parts) or any(row["outcome"] == "failed" for row in case.get("rows", ()))

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


def _add(tally: Tally, seen: Seen) -> None:
    tally.add(seen.digest, seen.difference, seen.variant, seen.part, seen.process, seen.compared_on)


def _rows(tallies: Mapping[_Key, Tally]) -> list[dict[str, Any]]:
    """By condition: what is told of one may come with another one."""
    placed = sorted(tallies.items(), key=lambda item: _ORDER[item[0][0]])
    return [{"condition": c, "buffer": b, **tally.as_row()} for (c, b), tally in placed]


def _as_data(tallies: Mapping[_Key, Tally]) -> list[list[Any]]:
    return [[condition, tensor, tally.as_data()] for (condition, tensor), tally in tallies.items()]


def _meant(tallies: Mapping[_Key, Tally], event: NotTried) -> list[_Key]:
    """The tallies that something which was not tried is said of: one of its own where none is."""
    found = [
        (condition, tensor)
        for (condition, tensor), tally in tallies.items()
        if event.ends and event.tensor is None and condition == event.condition and tally.runs
    ]
    return found or [(event.condition, event.tensor)]


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
