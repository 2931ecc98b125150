"""What a GPU says of an upgrade: part after part in its share of the time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from pyharness.analyze.upgrade import Evidence, OnGpu, Part, PartRun, PartState
from pyharness.analyze.upgrade_device import (
    Rows,
    Source,
    Tried,
    evidence_of_repeats,
    evidence_of_stages,
    in_both,
)
from pyharness.analyze.upgrade_numbers import (
    evidence_of_accuracy,
    evidence_of_drift,
    evidence_of_memory,
    evidence_of_time,
)
from pyharness.api.progress import Progress, silent
from pyharness.api.time_records import NOT_TIMED
from pyharness.api.upgrade_budget import WEIGHTS, Budget
from pyharness.api.upgrade_parts import GpuRequest, folders_of, rows_of, run_part
from pyharness.errors import HarnessError, UsageError

_ENDED = "the budget ended before it began"
_EVIDENCE: dict[Part, Callable[[Rows, Rows, Source], Evidence]] = {
    "stages": evidence_of_stages,
    "time": lambda rows, _, source: evidence_of_time(rows, source),
    "memory": evidence_of_memory,
    "determinism": evidence_of_repeats,
    "accuracy": evidence_of_accuracy,
    "drift": lambda rows, _, source: evidence_of_drift(rows, source),
}


def run_parts(
    request: GpuRequest, budget: Budget, progress: Progress
) -> tuple[OnGpu, dict[Part, Evidence]]:
    """Runs one part after the other, the most telling first, as far as the time goes.

    What a part found earlier in this folder counts, and is gone on with. What one cannot do keeps
    none of the others from their turn.

    Raises  KeyboardInterrupt for a Ctrl-C, when what was found is on the disk; UsageError for
            tables that cannot be read.
    """
    device: Mapping[str, Any] = {"name": request.device}
    parts: list[PartRun] = []
    evidence: dict[Part, Evidence] = {}
    for part in WEIGHTS:
        run, found, facts = take_part(part, request, budget.share(part), progress)
        parts.append(run)
        device = facts or device
        if found is not None:
            evidence[part] = found
    total = len(request.problems.problems)
    return OnGpu(device, request.problems.name, request.scope, total, parts), evidence


def take_part(
    part: Part, request: GpuRequest, share_s: float, progress: Progress = silent
) -> tuple[PartRun, Evidence | None, Mapping[str, Any]]:
    """Runs one part for so many seconds.

    Returns  how it ended, what it says if a problem was tried on both releases, or of validity what
             it leaves open, and the facts of the device where it was opened.
    Raises   see run_parts.
    """
    device: Mapping[str, Any] = {}
    began, why, ours = time.monotonic(), _ENDED, True
    if share_s > 0:
        why = ""
        try:
            device = run_part(part, request, share_s, _named(part, progress))
        except HarnessError as error:
            why = "; ".join((error.message, *error.hint.splitlines()))
            ours = not isinstance(error, UsageError)  # a folder of another run says nothing here
    rows: tuple[Rows, Rows] = rows_of(part, request.folder) if ours else ((), ())
    times = (share_s, time.monotonic() - began)
    return *_outcome(request, part, rows, why, times), device


def _outcome(
    request: GpuRequest, part: Part, rows: tuple[Rows, Rows], why: str, times: tuple[float, float]
) -> tuple[PartRun, Evidence | None]:
    """How a part ended and what it says; None where it measured nothing.

    ``why``    what it could not do, or that it did not begin.
    ``times``  what it was given and what it took.
    """
    total, done = len(request.problems.problems), _done(request, part, rows)
    left = total - done
    stopped = why not in ("", _ENDED)
    if left == 0 and not stopped:
        why = ""
    elif not stopped and (done or not why):
        why = f"{done:,} of {total:,} problems, the budget ended"
    share_s, spent_s = (round(seconds, 3) for seconds in times)
    state = _state(left, done, stopped)
    run = PartRun(part, share_s, spent_s, total, done, state, why, folders_of(part))
    if not done and part != "stages":  # validity is told by the host, too: what is open is said
        return run, None
    tried = {
        one.problem.command: Tried(
            one.problem,
            request.times.get(one.problem.command, 0),
            None if request.scope == "log" else one.name,
        )
        for one in request.problems.problems
    }
    source = Source(
        part,
        request.scope,
        request.problems.name,
        tried,
        request.commands[part],
        left,
        why,
        request.known,
    )
    return run, _EVIDENCE[part](*rows, source)


def _state(left: int, done: int, stopped: bool) -> PartState:
    if stopped:
        return "stopped"
    return "complete" if not left else "out_of_time" if done else "not_begun"


def _done(request: GpuRequest, part: Part, rows: tuple[Rows, Rows]) -> int:
    """How many problems were tried on both releases."""
    if part == "time":
        cut = {row["name"] for row in rows[0] if row["verdict"] == NOT_TIMED}
        return len({row["name"] for row in rows[0]} - cut)
    words = {words for (_, words), _, _ in in_both(*rows)}
    return sum(one.problem.command in words for one in request.problems.problems)


def _named(part: Part, progress: Progress) -> Progress:
    return lambda step, done, total: progress(f"{part}: {step}", done, total)
