"""Explain what a release refuses of the problems that a program's logs recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from pyharness.analyze.explanation import Blame
from pyharness.analyze.log_explanation import Explained, LogExplanation
from pyharness.api.explaining import explain_each
from pyharness.api.onward import DeviceChoice, Onward, open_onward
from pyharness.api.progress import Progress, silent
from pyharness.api.replay_files import replay_folder, write_replay
from pyharness.api.replaying import replay
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.releases.model import Release
from pyharness.spec.problem import CallResult
from pyharness.spec.recording import Recording, Replay
from pyharness.spec.stage_results import StageResult
from pyharness.store.manifest import now

# Each takes a fifth of a second; the rest of a log is listed without an explanation.
MOST_EXPLAINED = 200


def explain_log(
    recording: Recording,
    release: Release,
    out: Path | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    progress: Progress = silent,
    device: DeviceChoice = "first",
) -> LogExplanation:
    """Tries every recorded problem on a release, and explains those that it refuses.

    Where there is a device, those that the host accepts go on through the recorded stages.

    The most frequent come first, at most MOST_EXPLAINED of them.

    ``out``  folder for recorded.parquet, validity.parquet, explanations.parquet and run.json.
    Raises   UsageError for a folder that holds something else; HarnessError if the library cannot
             be used, or the disk is full.
    """
    started = now()
    with nullcontext() if out is None else replay_folder(out):
        tried = replay(recording, [release], timeout_s, progress, device)
        onward = open_onward(release, device, timeout_s)
        with onward if isinstance(onward, Onward) else nullcontext():
            found = _explain(
                tried, release, timeout_s, progress, onward if isinstance(onward, Onward) else None
            )
        if out is not None:
            rows = [row for one in found.explained for row in _rows(one)]
            write_replay(tried, [release], out, started, rows)
    return found


def _explain(
    tried: Replay,
    release: Release,
    timeout_s: float,
    progress: Progress,
    onward: Onward | None,
) -> LogExplanation:
    recording = tried.recording
    bad = ("unsupported", "failed", "out_of_memory")
    orders = tried.by_count([o for what in bad for o in tried.with_outcome(0, what)])
    chosen = orders[:MOST_EXPLAINED]
    asked = [(recording.problems[o].problem, tried.results[0][o]) for o in chosen]
    found = ((place, tried.case(0, o)) for place, o in enumerate(chosen))
    cases = {place: case for place, case in found if case is not None}
    explanations = explain_each(release, asked, timeout_s, progress, onward, cases)
    return LogExplanation(
        release.name,
        recording,
        [Explained(recording.problems[o], e) for o, e in zip(chosen, explanations, strict=True)],
        [recording.problems[o] for o in orders[MOST_EXPLAINED:]],
    )


def _rows(one: Explained) -> Iterator[dict[str, Any]]:
    """One row an argument to blame; one a refusal for which none was found."""
    found, recorded = one.explanation, one.recorded
    first = found.suggestions[0] if found.suggestions else None
    same = {
        "release": found.release,
        "order": recorded.order,
        "count": recorded.count,
        "problem": recorded.problem.command,
        "suggestion": first.problem.command if first else None,
        "cost": "; ".join(c.cost for c in first.changes) if first else None,
    }
    told: list[tuple[CallResult | StageResult, str | None, Sequence[Blame]]] = [
        (r.result, r.result.role, r.blames) for r in found.refusals
    ]
    if found.device is not None and found.device.case.stopped is not None:
        told.append((found.device.case.stopped, None, found.device.blames))
    for result, role, blames in told:
        said = {
            "call": result.call,
            "stage": result.stage,
            "role": role,
            "status": result.status,
            "outcome": result.outcome,
            "reason": result.reason,
            "provenance": result.provenance,
        }
        for blame in blames:
            yield {
                **same,
                **said,
                "argument": blame.argument,
                "axis": blame.axis,
                "value": blame.value,
                "batch_rows": _rows_text([row for a in blame.rows for row in a.rows]),
                "allowed": blame.allowed,
                "alone": "yes" if blame.alone else "no",
            }
        if not blames:
            yield {**same, **said}


def _rows_text(rows: Sequence[int]) -> str | None:
    return ",".join(str(r) for r in sorted(set(rows))) or None
