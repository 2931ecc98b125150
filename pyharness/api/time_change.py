"""Two releases timed against each other in fresh processes that alternate, and the verdicts."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path
from statistics import median
from typing import Any

from pyharness.analyze.time_change import (
    BLOCK,
    LEAST_BLOCKS,
    LEVEL,
    MARGIN,
    PROCESSES,
    alternate,
    judge,
)
from pyharness.api.bench_records import Side
from pyharness.api.bench_sides import WARM_S
from pyharness.api.case_run import counts, fingerprint
from pyharness.api.folder import taken
from pyharness.api.progress import Progress, silent
from pyharness.api.time_folder import begin, check_same, has_room, open_journal
from pyharness.api.time_records import (
    EVENT_STEP_S,
    NOT_TIMED,
    cases_of,
    change_row,
    failures,
    judged,
    reading_rows,
    step_of,
    turn_data,
    turn_of,
)
from pyharness.api.time_sides import Sides
from pyharness.engine.alternating import Plan, take_turn
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import HarnessError, UsageError
from pyharness.measure.stopping import StoppingRule
from pyharness.present.units import count_text
from pyharness.releases.model import Release
from pyharness.space.problems import NamedProblem, ProblemSet
from pyharness.spec.stages import PASSES
from pyharness.spec.timed import TIMED_PASSES, stages_of
from pyharness.store.case_journal import CaseJournal
from pyharness.store.manifest import OUT_OF_TIME, Manifest, now
from pyharness.store.reading import read_rows
from pyharness.store.schema import write_rows

DEFAULT_TIMES = Path("results/time")
CHANGES, READINGS = "time_changes", "time_readings"
# Within a process more samples make nothing surer: processes differ by more than these leave open.
RULE = StoppingRule(least_samples=30, least_s=0.02, relative_error=0.005, most_s=0.5)
_KIND = "time"
_MOST_FAILURES = 20


@dataclass(frozen=True, slots=True)
class TimeOptions:
    """How two releases are compared.

    ``processes``  a side: an even number.
    ``margin``     share that a change must exceed to matter: 0.02 is 2 %.
    ``level``      share of wrong findings that is allowed.
    ``budget_s``   host time for all processes.
    ``passes``     wanted ones of TIMED_PASSES; each of those that a problem has.
    ``modes``      of TIMING_MODES.
    ``rule``       when a case has been timed for long enough in a process.
    ``warm_s``     host seconds that each case runs before its samples count.
    ``ordinal``    the device.
    ``timeout_s``  a call that takes so much longer than expected counts as hung.

    Raises  UsageError for numbers that are none.
    """

    processes: int = PROCESSES
    margin: float = MARGIN
    level: float = LEVEL
    budget_s: float = inf
    passes: tuple[str, ...] = PASSES
    modes: tuple[str, ...] = ("hot",)
    rule: StoppingRule = RULE
    warm_s: float = WARM_S
    ordinal: int = 0
    timeout_s: float = DEFAULT_TIMEOUT_S

    def __post_init__(self) -> None:
        alternate(self.processes)
        judge((), self.margin, self.level)
        if not self.budget_s > 0:
            raise UsageError(f"a budget of {self.budget_s} s", "more than 0")

    def passes_of(self, named: NamedProblem) -> tuple[str, ...]:
        """What is timed of a problem."""
        return tuple(p for p in self.passes if set(stages_of(p)) <= set(named.passes))

    @property
    def how(self) -> dict[str, Any]:
        """How all problems are timed and judged, as plain data; the budget is apart."""
        return {
            "processes": self.processes,
            "margin": self.margin,
            "level": self.level,
            "passes": list(self.passes),
            "modes": list(self.modes),
            "rule": asdict(self.rule),
            "rule_name": self.rule.name,
            "warm_s": self.warm_s,
        }


@dataclass(frozen=True, slots=True)
class TimeRun:
    """A comparison and where it lies; its manifest has the newer side as ``against``.

    ``rows``  of the table ``time_changes``.
    ``old``   it had ended before: nothing was timed now.
    """

    folder: Path
    manifest: Manifest
    rows: list[dict[str, Any]] = field(default_factory=list)
    old: bool = False


def compare_time(
    releases: tuple[Release, Release],
    problems: ProblemSet,
    out: Path,
    options: TimeOptions,
    *,
    resume: bool = False,
    progress: Progress = silent,
) -> TimeRun:
    """Times all problems on two releases in turn and judges each case.

    Writes run.json, time_changes and time_readings into ``out``. Blocks of processes that have
    ended are kept: what a kill or a Ctrl-C left is gone on with if ``resume``, with another budget,
    too; after a Ctrl-C the state is ``interrupted``. What the budget had no room for is
    ``out_of_time``: that is timed anew, all of it, if ``resume`` and time_folder.has_room says that
    the budget is enough larger; until it has ended the tables stay.

    ``problems``  the most telling first: what the budget has no room for is cut from the end.
    Raises        UsageError for a folder or device that cannot be used, a folder that holds an
                  unfinished run and no ``resume``, or nothing to time; HarnessError if the device
                  cannot go on or the disk is full: what was timed is kept then.
    """
    wanted = tuple((p, passes) for p in problems.problems if (passes := options.passes_of(p)))
    if not wanted:
        known = [p for p in TIMED_PASSES if any(p in q.passes for q in problems.problems)]
        raise UsageError(
            f"no problem of {problems.name} is timed with --passes {','.join(options.passes)}",
            f"they have {', '.join(known)}",
        )
    both = Sides(releases, options.ordinal, options.timeout_s)
    sides = both.told
    fresh = Manifest(
        kind=_KIND,
        release={**sides[0], "against": sides[1]},
        space={
            "name": problems.name,
            "fingerprint": fingerprint(problems, sides[1]["asked"], sides[1]["stamp"], options.how),
            "grids": [],
            "timing": options.how,
        },
        reasons="all",
        timeout_s=options.timeout_s,
        device=both.device,
    )
    if unwanted := len(problems.problems) - len(wanted):
        are = "is" if unwanted == 1 else "are"
        words = f"{count_text(unwanted, 'problem')} without any of these passes {are} left out"
        both.notes.append(words)
    order = alternate(options.processes)
    plan = Plan(wanted, len(order), len(BLOCK), LEAST_BLOCKS, options.budget_s)
    with closing(both):
        check_same(out, fresh)
        with taken(out, fresh) as there:
            if there.state == "complete" or (
                there.state == OUT_OF_TIME and not (resume and has_room(there, options.budget_s))
            ):
                return TimeRun(out, there, read_rows(out, CHANGES), old=True)
            anew = there.state == OUT_OF_TIME
            manifest = fresh if anew else there
            with open_journal(out, manifest, anew=anew, resume=resume) as journal:
                begin(out, manifest, both.notes, options.budget_s, options.timeout_s)
                return _Run(out, manifest, journal, plan, options).go(both, progress)


class _Run:
    """One run of compare_time."""

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        journal: CaseJournal,
        plan: Plan,
        options: TimeOptions,
    ) -> None:
        self._folder, self._manifest, self._journal = folder, manifest, journal
        self._plan, self._options = plan, options
        self._order = alternate(options.processes)
        self._budget_s = manifest.results["budget_s"]
        # Neighbours are compared because they are neighbours in time: a block that was cut off is
        # timed anew.
        whole = len(journal.cases) - len(journal.cases) % len(BLOCK)
        self._turns = [turn_of(journal.cases[str(i)]) for i in range(whole)]

    def go(self, sides: Sides, progress: Progress) -> TimeRun:
        """All processes that are still to come, then the tables."""
        started = time.monotonic()
        try:
            while (wanted := self._plan.after(self._turns)) is not None:
                place, each = len(self._turns), len(wanted.problems)

                def tick(done: int, total: int, before: int = place * each) -> None:
                    progress("cases", before + done, total * self._plan.processes)

                o = self._options
                start = sides.starter(self._order[place])
                turn = take_turn(start, wanted, o.modes, o.rule, o.warm_s, sides.read, tick)
                self._journal.add(str(place), turn_data(turn))
                self._turns.append(turn)
        except KeyboardInterrupt:
            return self._end("interrupted", started)
        except HarnessError as error:
            self._manifest.notes.append(str(error))
            self._end("stopped", started)
            raise
        run = self._end(OUT_OF_TIME if self._plan.cut(self._turns) else "complete", started)
        self._journal.remove()
        return run

    def _end(self, state: str, started: float) -> TimeRun:
        """Writes tables and manifest of what there is."""
        manifest, plan, o = self._manifest, self._plan, self._options
        release, device = manifest.release, manifest.device
        names = _apart(release["name"], release["against"]["name"])
        sides = (Side(names[0], device["name"]), Side(names[1], device["name"]))
        cases = cases_of(plan.problems, o.modes, self._turns)
        resolution_s = 0.0 if device["emulated"] else EVENT_STEP_S
        changes = judged(cases, self._order, resolution_s, o.margin, o.level)
        within = plan.within(self._turns)
        rows = [
            {
                **change_row(sides, case, changes.get(i), self._order, case.named.name in within),
                "margin": o.margin,
                "level": o.level,
                "step_s": step_of(case, resolution_s) if case.seen else None,
            }
            for i, case in enumerate(cases)
        ]
        write_rows(self._folder / f"{CHANGES}.parquet", CHANGES, rows)
        write_rows(
            self._folder / f"{READINGS}.parquet",
            READINGS,
            (row for case in cases for row in reading_rows(sides, case, self._order)),
        )
        manifest.results = self._results(rows, started)
        manifest.state, manifest.ended = state, now()
        manifest.write(self._folder)
        return TimeRun(self._folder, manifest, read_rows(self._folder, CHANGES))

    def _results(self, rows: Sequence[Mapping[str, Any]], started: float) -> dict[str, Any]:
        outcomes: dict[str, int] = {}
        for column in ("outcome_a", "outcome_b"):
            for outcome, count in counts(rows, column).items():
                outcomes[outcome] = outcomes.get(outcome, 0) + count
        commands = {p.name: p.problem.command for p, _ in self._plan.problems}
        visible = [row["visible"] for row in rows if row.get("visible") is not None]
        failed = list(failures(self._turns, commands))
        return {
            "rows": len(rows),
            "statuses": outcomes,
            "verdicts": counts(rows, "verdict"),
            "problems": len(self._plan.problems),
            "problems_not_timed": len({r["name"] for r in rows if r["verdict"] == NOT_TIMED}),
            "processes": len(self._turns),
            "processes_planned": self._plan.processes,
            "visible_median": median(visible) if visible else None,
            "visible_most": max(visible, default=None),
            "failures": failed[:_MOST_FAILURES],
            "failed": len(failed),
            "budget_s": self._budget_s,
            "spent_s": round(sum(turn.spent_s for turn in self._turns), 3),
            "walk_s": round(time.monotonic() - started, 3),
        }


def _apart(a: str, b: str) -> tuple[str, str]:
    """The names of both sides; of two builds of one version, told apart."""
    return (a, b) if a != b else (f"{a} (a)", f"{b} (b)")
