"""The parts of an upgrade that need a GPU: how each is run, and where its tables lie."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pyharness.analyze.memory import Memory, Weighed
from pyharness.analyze.upgrade import Part, Where
from pyharness.analyze.upgrade_device import Rows
from pyharness.api.accuracy import measure_release
from pyharness.api.device import open_runner
from pyharness.api.drift import drift_between
from pyharness.api.memory_files import memory_folder, write_memory
from pyharness.api.progress import Progress
from pyharness.api.repeatability import RepeatOptions, repeat_release
from pyharness.api.scales import Scales, Wanted
from pyharness.api.staging import StageOptions, distinct, stage_release
from pyharness.api.time_change import CHANGES, TimeOptions, compare_time
from pyharness.api.upgrade_budget import left_of
from pyharness.releases.model import Release
from pyharness.space.problems import ProblemSet
from pyharness.spec.footprint import modes_of
from pyharness.store.manifest import Manifest, now
from pyharness.store.reading import read_rows

_TABLES: dict[Part, str] = {
    "stages": "stages",
    "time": CHANGES,
    "memory": "memory",
    "determinism": "repeatability",
    "accuracy": "accuracy",
    "drift": "drift",
}
_TOGETHER = ("time", "drift")  # one run of both releases


@dataclass(frozen=True, slots=True)
class GpuRequest:
    """What is to be run on a device.

    ``sides``     the older release and the newer one.
    ``problems``  the most telling first; ``times``: how often a log has each, by its words.
    ``device``    its name.
    ``commands``  what repeats a part.
    ``known``     words of problems, and changes, that the host told already.
    ``timing``    how time is compared; it has the number of the device, and the time limit.
    ``repeating`` how problems are repeated.
    """

    sides: tuple[Release, Release]
    problems: ProblemSet
    scope: Where
    times: Mapping[str, int]
    folder: Path
    device: str
    commands: Mapping[Part, list[str]]
    known: frozenset[tuple[str, str]]
    timing: TimeOptions
    repeating: RepeatOptions


def folders_of(part: Part) -> tuple[str, ...]:
    """Where the tables of a part lie, in the folder of the upgrade."""
    return (part,) if part in _TOGETHER else (f"{part}/old", f"{part}/new")


def rows_of(part: Part, folder: Path) -> tuple[Rows, Rows]:
    """What a part has found up to now: the rows of both releases, the same where they ran as one.

    Raises  UsageError if a table cannot be read.
    """
    found = [read_rows(folder / name, _TABLES[part]) for name in folders_of(part)]
    return found[0], found[-1]


def run_part(
    part: Part, request: GpuRequest, share_s: float, progress: Progress
) -> Mapping[str, Any]:
    """Runs a part for so many seconds, or goes on with it; one problem is tried at least.

    Returns  the facts of the device.
    Raises   HarnessError if it cannot go on; KeyboardInterrupt for a Ctrl-C: what was found is
             kept.
    """
    return _RUNS[part](request, time.monotonic() + share_s, progress)


def _in_turn(
    run: Callable[[Release, Path, float], Manifest], part: Part, request: GpuRequest, until: float
) -> Mapping[str, Any]:
    """The older release in half of the time, the newer one in what is left of it."""
    ends = (time.monotonic() + left_of(until) / 2, until)
    device: Mapping[str, Any] = {}
    for release, name, end in zip(request.sides, folders_of(part), ends, strict=True):
        manifest = run(release, request.folder / name, end)
        device = _whole(manifest).device
    return device


def _whole(manifest: Manifest) -> Manifest:
    """Hands on the Ctrl-C that ended a run."""
    if manifest.state == "interrupted":
        raise KeyboardInterrupt
    return manifest


def _stages(request: GpuRequest, until: float, progress: Progress) -> Mapping[str, Any]:
    named = request.problems
    problems = distinct(named.name, (one.problem for one in named.problems))
    options = StageOptions(request.timing.ordinal, request.timing.timeout_s)

    def run(release: Release, out: Path, end: float) -> Manifest:
        return stage_release(release, problems, out, options, progress, end).manifest

    return _in_turn(run, "stages", request, until)


def _time(request: GpuRequest, until: float, progress: Progress) -> Mapping[str, Any]:
    options = replace(request.timing, budget_s=max(left_of(until), 1e-3))
    out = request.folder / "time"
    args = (request.sides, request.problems, out, options)
    return _whole(compare_time(*args, resume=True, progress=progress).manifest).device


def _memory(request: GpuRequest, until: float, progress: Progress) -> Mapping[str, Any]:
    """Problem by problem on both, since each is asked in no time; written when all are.

    What is there stays if it is of all problems, or of more than there was time for now; a defect
    is looked for again.
    """
    timing, started, every = request.timing, now(), request.problems.problems
    there, failed = _weighed(request.folder)
    if there == len(every) and not failed:
        return {}
    rows: tuple[list[Weighed], list[Weighed]] = ([], [])
    with ExitStack() as stack:
        scales = [
            stack.enter_context(
                Scales(
                    release,
                    partial(open_runner, release, timing.ordinal, timing.timeout_s, set()),
                    timing.timeout_s,
                )
            )
            for release in request.sides
        ]
        for order, named in enumerate(every):
            if order and left_of(until) <= 0:
                break
            progress("asking for sizes", order, len(every))
            wanted = Wanted(named.problem, modes_of(named.passes), named.name)
            for side, kept in zip(scales, rows, strict=True):
                kept += [row.replace(order=order) for row in side.rows([wanted])]
    if len({row.order for row in rows[0]}) >= there:
        written = zip(request.sides, scales, rows, folders_of("memory"), strict=True)
        for release, side, kept, name in written:
            with memory_folder(request.folder / name):
                found = Memory(release.name, side.facts, kept, [])
                write_memory(found, release, request.folder / name, started)
    facts = scales[0].facts
    return {} if facts is None else {**asdict(facts), "ordinal": timing.ordinal}


def _weighed(folder: Path) -> tuple[int, bool]:
    """How many problems were weighed on both releases, and whether a defect ended any."""
    old, new = rows_of("memory", folder)
    both = {row["order"] for row in old} & {row["order"] for row in new}
    return len(both), any(row["outcome"] == "failed" for row in (*old, *new))


def _determinism(request: GpuRequest, until: float, progress: Progress) -> Mapping[str, Any]:
    options = request.repeating

    def run(release: Release, out: Path, end: float) -> Manifest:
        return repeat_release(release, request.problems, out, options, progress, end).manifest

    return _in_turn(run, "determinism", request, until)


def _accuracy(request: GpuRequest, until: float, progress: Progress) -> Mapping[str, Any]:
    timing = request.timing

    def run(release: Release, out: Path, end: float) -> Manifest:
        args = (release, request.problems, out, timing.ordinal, timing.timeout_s, progress, end)
        return measure_release(*args).manifest

    return _in_turn(run, "accuracy", request, until)


def _drift(request: GpuRequest, until: float, progress: Progress) -> Mapping[str, Any]:
    timing, out = request.timing, request.folder / "drift"
    old, new = request.sides
    args = (old, new, request.problems, out, timing.ordinal, timing.timeout_s, progress, until)
    return _whole(drift_between(*args).manifest).device


_RUNS: dict[Part, Callable[[GpuRequest, float, Progress], Mapping[str, Any]]] = {
    "stages": _stages,
    "time": _time,
    "memory": _memory,
    "determinism": _determinism,
    "accuracy": _accuracy,
    "drift": _drift,
}
