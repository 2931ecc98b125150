"""What host calls say of an upgrade: two maps of a space, and a log tried on both releases."""

from __future__ import annotations

from pyharness.analyze.map_diff import MapDiff
from pyharness.analyze.upgrade import Evidence, Finding, counted, in_order
from pyharness.spec.problem import CallResult
from pyharness.spec.recording import Recorded, Replay

# A diff has others, too: of what a call costs.
_OF_MAPS = (
    "newly_refused",
    "newly_failed",
    "call_removed",
    "newly_accepted",
    "no_longer_failed",
    "call_added",
    "other_status",
)
_BECAME = {
    "unsupported": "newly_refused",
    "passed": "newly_accepted",
    "failed": "newly_failed",
}


def evidence_of_map(diff: MapDiff, commands: list[str]) -> Evidence:
    """What the maps of both releases say."""
    counts = {change: n for change in _OF_MAPS if (n := diff.count(change))}
    findings = [
        Finding(
            group.change,
            call.call,
            group.rows,
            said(group.status_a, None),
            said(group.status_b, None),
            group.words,
        )
        for call in diff.calls
        for group in call.comparison.groups
        if group.change in _OF_MAPS
    ]
    for change, names in (("call_removed", diff.calls_removed), ("call_added", diff.calls_added)):
        there = {"call_removed": ("there", "gone"), "call_added": ("not there", "there")}[change]
        findings += [Finding(change, name, 0, *there) for name in names]
    ordered = in_order(findings)
    return Evidence(
        "diff", "space", diff.space, diff.rows, 0, counts, ordered, commands, list(diff.notes)
    )


def evidence_of_log(replay: Replay, commands: list[str]) -> Evidence:
    """What both releases say of the problems that logs hold, on the host.

    ``replay``  of the older release, then the newer.
    """
    findings: list[Finding] = []
    unanswered = 0
    for recorded in replay.recording.problems:
        if not all(_asked(replay, side, recorded.order) for side in (0, 1)):
            unanswered += 1
        elif (finding := _log_finding(replay, recorded)) is not None:
            findings.append(finding)
    recording = replay.recording
    unread = [f"{n:,} x {why}" for why, n in recording.not_held.items()]
    if recording.incomplete:
        unread.append(f"{recording.incomplete:,} x cut or torn")
    told = f"calls not read: {'; '.join(unread)}" if unread else ""
    # A program that is killed leaves its last entry cut: that alone leaves nothing open.
    torn = recording.incomplete if recording.incomplete > len(recording.files) else 0
    left = recording.not_held.total() + torn
    return Evidence(
        "replay",
        "log",
        ", ".join(recording.files),
        len(recording.problems) - unanswered,
        unanswered,
        counted(findings),
        in_order(findings),
        commands,
        ([told] if told and not left else []) + recording.notes,
        left=left,
        why_left=told if left else "",
    )


def _asked(replay: Replay, side: int, order: int) -> bool:
    """Whether a release answered all that decides on a recorded problem."""
    outcomes = {r.outcome for r in replay.results[side][order]}
    return bool(outcomes & {"failed", "unsupported"}) or outcomes == {"passed"}


def _log_finding(replay: Replay, recorded: Recorded) -> Finding | None:
    """How a recorded problem changed; None if both releases say the same of it."""
    old, new = (_decisive(replay, side, recorded.order) for side in (0, 1))
    if old.outcome != new.outcome:
        change = "no_longer_failed" if old.outcome == "failed" else _BECAME[new.outcome]
    elif old.outcome == "unsupported" and old.status != new.status:
        change = "other_status"
    else:
        return None
    return Finding(
        change,
        (old if new.outcome == "passed" else new).call,
        1,
        said(old.status, old.reason),
        said(new.status, new.reason),
        problem=recorded.problem,
        times=recorded.count,
    )


def _decisive(replay: Replay, side: int, order: int) -> CallResult:
    """The first call that a problem fails by; the first of all where it passes."""
    outcome = replay.host_outcome(side, order)
    return next(r for r in replay.results[side][order] if r.outcome == outcome)


def said(status: str | None, reason: str | None) -> str:
    """A status and its reason in words; no status is a defect."""
    return f"{status or 'failed'}: {reason}" if reason else status or "failed"
