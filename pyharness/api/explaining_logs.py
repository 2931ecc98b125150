"""Explain what a release refuses of the problems that a program's logs recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from pyharness.analyze.log_explanation import Explained, LogExplanation
from pyharness.api.explaining import explain_each
from pyharness.api.progress import Progress, silent
from pyharness.api.replaying import replay, replay_folder, write_replay
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.releases.model import Release
from pyharness.spec.recording import Recording, Replay
from pyharness.store.manifest import now

# Each takes a fifth of a second; the rest of a log is listed without an explanation.
MOST_EXPLAINED = 200


def explain_log(
    recording: Recording,
    release: Release,
    out: Path | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    progress: Progress = silent,
) -> LogExplanation:
    """Tries every recorded problem on a release, and explains those that it refuses.

    The most frequent come first, at most MOST_EXPLAINED of them.

    ``out``  folder for recorded.parquet, validity.parquet, explanations.parquet and run.json.
    Raises   UsageError for a folder that holds something else; HarnessError if the library cannot
             be used, or the disk is full.
    """
    started = now()
    with nullcontext() if out is None else replay_folder(out):
        tried = replay(recording, [release], timeout_s, progress)
        found = _explain(tried, release, timeout_s, progress)
        if out is not None:
            rows = [row for one in found.explained for row in _rows(one)]
            write_replay(tried, [release], out, started, rows)
    return found


def _explain(
    tried: Replay, release: Release, timeout_s: float, progress: Progress
) -> LogExplanation:
    recording = tried.recording
    orders = tried.by_count(
        [o for what in ("unsupported", "failed") for o in tried.with_outcome(0, what)]
    )
    chosen = orders[:MOST_EXPLAINED]
    asked = [(recording.problems[o].problem, tried.results[0][o]) for o in chosen]
    explanations = explain_each(release, asked, timeout_s, progress)
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
        "provenance": "observed",
    }
    for refusal in found.refusals:
        result = refusal.result
        said = {
            "call": result.call,
            "role": result.role,
            "status": result.status,
            "outcome": result.outcome,
            "reason": result.reason,
        }
        for blame in refusal.blames:
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
        if not refusal.blames:
            yield {**same, **said}


def _rows_text(rows: Sequence[int]) -> str | None:
    return ",".join(str(r) for r in sorted(set(rows))) or None
