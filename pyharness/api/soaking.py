"""Plans made, run and given back for a long time, and what that does to the memory."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from pyharness.analyze.soak import Judgement, judge
from pyharness.api.case_run import fingerprint, running_release
from pyharness.api.device import open_runner
from pyharness.api.diffing import folder_name
from pyharness.api.folder import taken
from pyharness.api.progress import Progress, silent
from pyharness.engine.runner import Runner
from pyharness.engine.soaking import Limits, Sample, Work, soak
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import HarnessError
from pyharness.releases.model import Release
from pyharness.space.problems import NamedProblem, ProblemSet
from pyharness.spec.problem import Problem
from pyharness.spec.seq_lengths import literal_lengths
from pyharness.spec.soak import DEVICE_USED, HOST_USED, LARGEST, LOOKED_AT
from pyharness.store.case_journal import CaseJournal
from pyharness.store.manifest import Manifest, describe_environment, now
from pyharness.store.schema import write_rows

DEFAULT_SOAKS = Path("results/soak")
TABLE = "soak"
_SIZES = 8  # problems that cycles go round, at least
_BATCH, _BATCH_S = 200, 1.0  # rows in a line of the journal at most, and seconds
_MEMORY = ("device_free_bytes", *LOOKED_AT)


@dataclass(frozen=True, slots=True)
class SoakOptions:
    """How a soak is made.

    ``limits``   when it ends.
    ``seed``     of the order of the problems, and of sizes that are drawn.
    ``ordinal``  the device.
    """

    limits: Limits
    seed: int = 0
    ordinal: int = 0
    timeout_s: float = DEFAULT_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class SoakRun:
    """A soak and where it lies.

    ``old``  its samples were there before: nothing was run now.
    """

    folder: Path
    manifest: Manifest
    old: bool


def soak_release(
    release: Release,
    problems: ProblemSet,
    out: Path | None,
    options: SoakOptions,
    progress: Progress = silent,
) -> SoakRun:
    """Soaks a release on a device, in one process, and writes table and manifest.

    A soak cannot be gone on with, as its process has ended. Where one was killed, the table is made
    of what it had written. After a Ctrl-C the manifest's state is ``interrupted``; where a cycle
    failed it is ``stopped``.

    ``out``  the folder; None: one that no other soak shares.
    Raises   UsageError for a folder or device that cannot be used; HarnessError if the disk is
             full: what was found so far is kept then.
    """
    start = partial(open_runner, release, options.ordinal, options.timeout_s, set())
    with start() as first:
        soaking = _Soaking(release, problems, out, options, progress, first)
        if not first.broken:
            return soaking.run(first)
    with start() as runner:  # some releases end the process that asks for their version
        return soaking.run(runner)


def sized(problems: ProblemSet, seed: int) -> tuple[NamedProblem, ...]:
    """What cycles are made of: the problems, and of few ones smaller batches and fewer steps, too.

    They are a fixed number, so that what is kept of each size once is there after a while.
    """
    named = {p.problem.command: p for p in problems.problems}
    draw = np.random.default_rng(seed)
    for _ in range(20 * _SIZES):
        if len(named) >= _SIZES:
            break
        one = problems.problems[int(draw.integers(len(problems.problems)))]
        if literal_lengths(one.problem.value("seq_lengths")) is not None:
            continue
        drawn = {
            name: str(int(draw.integers(1, one.problem.value(name) + 1)))
            for name in ("batch_size", "max_seq_length")
        }
        smaller = Problem({**one.problem.given, **drawn})
        told = " ".join(f"{name}={text}" for name, text in drawn.items())
        named.setdefault(smaller.command, replace(one, name=f"{one.name} {told}", problem=smaller))
    return tuple(named.values())


class _Soaking:
    """One run of soak_release."""

    def __init__(
        self,
        release: Release,
        problems: ProblemSet,
        out: Path | None,
        options: SoakOptions,
        progress: Progress,
        first: Runner,
    ) -> None:
        self._options, self._progress = options, progress
        self._named = sized(problems, options.seed)
        limits = {n: v for n, v in asdict(options.limits).items() if isfinite(v)}
        how: dict[str, Any] = {"seed": options.seed, "limits": limits}
        what = fingerprint(replace(problems, problems=self._named), how)
        facts = first.facts
        began = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        self._folder = out or folder_name(
            release, problems.name, f"{what}-{began}", facts.name, DEFAULT_SOAKS
        )
        self._manifest = Manifest(
            kind=TABLE,
            release=running_release(release, first),
            space={
                "name": problems.name,
                "fingerprint": what,
                "grids": [],
                "problems": len(self._named),
                **how,
            },
            reasons="all",
            timeout_s=options.timeout_s,
            device={**asdict(facts), "ordinal": options.ordinal},
        )

    def run(self, runner: Runner) -> SoakRun:
        """All of it, unless the folder holds a soak already."""
        with taken(self._folder, self._manifest) as there:
            self._manifest = there
            if there.results:
                return SoakRun(self._folder, there, True)
            there.environment = describe_environment()
            there.write(self._folder)
            journal = CaseJournal(self._folder, {"run": list(there.identity)})
            with closing(journal):
                old = bool(journal.cases)
                if old:
                    there.notes.append("it was killed: this is what it had written until then")
                    seen = [row for rows in journal.cases.values() for row in rows]
                    self._end("interrupted", seen)
                else:
                    self._soak(runner, journal)
                journal.remove()
        return SoakRun(self._folder, self._manifest, old)

    def _soak(self, runner: Runner, journal: CaseJournal) -> None:
        """Cycles until the end, however it comes; the rows go to the journal as they come."""
        works = [Work(p.name, p.problem, p.passes[-1]) for p in self._named]
        limits, written = self._options.limits, time.monotonic()
        rows: list[dict[str, Any]] = []
        state = "complete"
        try:
            for sample in soak(runner, works, limits, self._options.seed):
                rows.append(self._row(sample))
                if sample.last:
                    state = "stopped"
                if len(rows) % _BATCH == 0 or time.monotonic() - written >= _BATCH_S:
                    _keep(journal, rows)
                    written = time.monotonic()
                self._tell(limits, sample)
        except KeyboardInterrupt:
            state = "interrupted"
        except HarnessError as error:
            self._manifest.notes.append(str(error))
            self._end("stopped", rows)
            raise
        _keep(journal, rows)
        self._end(state, rows)

    def _tell(self, limits: Limits, sample: Sample) -> None:
        if isfinite(limits.cycles):
            self._progress("cycles", sample.cycle, int(limits.cycles))
        else:
            self._progress("seconds", int(sample.time_s), int(limits.seconds))

    def _row(self, sample: Sample) -> dict[str, Any]:
        """A sample as the table has it, without what all rows share."""
        row: dict[str, Any] = {"cycle": sample.cycle, "time_s": sample.time_s, "outcome": "passed"}
        row |= dict.fromkeys(("name", "problem", *_MEMORY))
        if sample.work is not None:
            named = self._named[sample.work]
            row |= {"name": named.name, "problem": named.problem.command}
        if (memory := sample.memory) is not None:
            used = memory.total_bytes - memory.free_bytes - memory.room_bytes
            row |= {
                "device_total_bytes": memory.total_bytes,
                "device_free_bytes": memory.free_bytes,
                DEVICE_USED: used,
                HOST_USED: memory.host_bytes,
                LARGEST: memory.largest_bytes,
            }
        if sample.ended is not None:
            row |= asdict(sample.ended)
        return row

    def _end(self, state: str, seen: Sequence[Mapping[str, Any]]) -> None:
        """Writes table and manifest of what there is."""
        device = self._manifest.device
        shared = {
            "release": self._manifest.release["name"],
            "device": device["name"],
            "provenance": "emulated" if device["emulated"] else "observed",
        }
        rows = [{**row, **shared} for row in seen]
        write_rows(self._folder / f"{TABLE}.parquet", TABLE, rows)
        self._manifest.results = soak_results(rows, judge(rows, len(self._named)))
        went_well = any(row["outcome"] == "passed" for row in rows if row["cycle"])
        if state == "complete" and not went_well:
            self._manifest.notes.append("no cycle went well: nothing was soaked")
        self._manifest.state, self._manifest.ended = state, now()
        self._manifest.write(self._folder)


def _keep(journal: CaseJournal, rows: Sequence[Mapping[str, Any]]) -> None:
    """Puts the rows that it has not yet into the journal."""
    there = sum(len(case) for case in journal.cases.values())
    if there < len(rows):
        journal.add(str(len(journal.cases)), list(rows[there:]))


def soak_results(rows: Sequence[Mapping[str, Any]], judgement: Judgement) -> dict[str, Any]:
    """What the manifest says of the rows."""
    outcomes = [row["outcome"] for row in rows]
    return {
        "cycles": max((row["cycle"] for row in rows), default=0),
        "rows": len(rows),
        "statuses": {o: outcomes.count(o) for o in dict.fromkeys(outcomes)},
        "verdict": judgement.verdict,
        "trends": {name: asdict(trend) for name, trend in judgement.trends.items()},
        "failures": [_failure(row) for row in rows if row["outcome"] == "failed"],
        "walk_s": rows[-1]["time_s"] if rows else 0.0,
    }


def _failure(row: Mapping[str, Any]) -> dict[str, str]:
    said = ": ".join(word for word in (row.get("status"), row.get("reason")) if word)
    return {
        "call": row["call"],
        "problem": row.get("problem") or "",
        "cause": f"cycle {row['cycle']:,}, {row['stage']}: {said or 'no word'}",
        "output": "",
    }
