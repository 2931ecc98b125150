"""Recorded problems and what releases say of them, in words and as data."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyharness.present.units import bytes_text, count_text
from pyharness.spec.problem import CallResult, Problem
from pyharness.spec.recording import Recorded, Recording, Replay, Step

_WIDTH = 100
_MOST = 20
_MOST_LENGTHS = 40  # characters of a list


def render_recording(recording: Recording, versions: Sequence[str]) -> str:
    """What logs hold, the most frequent problems first; ends without a newline.

    ``versions``  of cuDNN, as the entries carry them.
    """
    files = recording.files
    name = files[0] if len(files) == 1 else count_text(len(files), "log")
    lines = [f"{name}: {bytes_text(recording.size_bytes)}, {count_text(recording.entries, 'call')}"]
    origins = recording.origins
    who = f"{_processes(origins)}, {count_text(len(origins), 'thread')}" if origins else ""
    when = f"{recording.first} to {recording.last}" if recording.first else ""
    what = f"cuDNN {', '.join(versions)}" if versions else ""
    if about := "; ".join(part for part in (what, who, when) if part):
        lines += _wrapped(about, "  ")
    lines += [*_calls(recording), *_doubts(recording), *_statuses(recording), ""]
    count = count_text(len(recording.problems), "distinct problem")
    lines.append(f"{count}, the most frequent first" if recording.problems else "No RNN problem")
    ordered = sorted(recording.problems, key=lambda p: (-p.count, p.order))
    for recorded in ordered[:_MOST]:
        lines += _problem_lines(recorded)
    if len(ordered) > _MOST:
        lines.append(f"  and {len(ordered) - _MOST:,} more (--out and --json have them all)")
    return "\n".join(lines)


def render_replay(replay: Replay) -> str:
    """What each release says of the problems, and what changes between them."""
    lines: list[str] = []
    for i, release in enumerate(replay.releases):
        lines += ["", *_release_lines(replay, i, release)]
    for step in replay.steps():
        lines += ["", *_step_lines(replay, step)]
    return "\n".join(lines[1:])


def recording_data(recording: Recording, versions: Sequence[str]) -> dict[str, Any]:
    """What logs hold as plain data, for JSON."""
    return {
        "logs": recording.files,
        "size_bytes": recording.size_bytes,
        "cudnn": list(versions),
        "first": recording.first,
        "last": recording.last,
        "processes": sorted({process for process, _ in recording.origins}),
        "threads": len(recording.origins),
        "calls": dict(recording.calls.most_common()),
        "incomplete": recording.incomplete,
        "not_held": dict(recording.not_held),
        "statuses": [
            {"call": s.call, "status": s.status, "reason": s.reason or None, "count": n}
            for s, n in recording.statuses.most_common()
        ],
        "notes": recording.notes,
        "problems": [_problem_data(p) for p in recording.problems],
    }


def replay_data(replay: Replay) -> dict[str, Any]:
    """What releases say as plain data, for JSON; problems by their order."""
    return {
        "releases": [
            {
                "release": release,
                "outcomes": _outcomes(replay, i),
                "refused": [
                    {"order": order, **_result_data(_worst(replay.results[i][order]))}
                    for order in _not_passed(replay, i)
                ],
            }
            for i, release in enumerate(replay.releases)
        ],
        "steps": [
            {
                "release_a": step.release_a,
                "release_b": step.release_b,
                "newly_refused": step.newly_refused,
                "newly_accepted": step.newly_accepted,
                "newly_failed": step.newly_failed,
            }
            for step in replay.steps()
        ],
    }


def _problem_data(p: Recorded) -> dict[str, Any]:
    return {
        "order": p.order,
        "count": p.count,
        "problem": dict(p.problem.given),
        "roles": list(p.roles),
        "calls": dict(p.calls),
        "stages": dict(p.stages),
        "disagreements": list(p.disagreements),
        "said": [
            {"call": s.call, "status": s.status, "reason": s.reason or None, "count": n}
            for s, n in p.said.items()
        ],
        "place": p.place,
        "processes": sorted({process for process, _ in p.origins}),
        "threads": len(p.origins),
    }


def _result_data(result: CallResult) -> dict[str, Any]:
    return {
        "role": result.role,
        "call": result.call,
        "outcome": result.outcome,
        "status": result.status,
        "reason": result.reason,
    }


def _wrapped(text: str, lead: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=lead,
        subsequent_indent=lead + "    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _processes(origins: set[tuple[int, int]]) -> str:
    count = len({process for process, _ in origins})
    return f"{count:,} process{'es' if count != 1 else ''}"


def _calls(recording: Recording) -> Iterator[str]:
    rnn = [(name, n) for name, n in recording.calls.most_common() if "RNN" in name]
    if not rnn:
        return
    yield ""
    yield "RNN calls"
    for name, n in rnn:
        yield f"  {n:>12,}  {name}"


def _doubts(recording: Recording) -> Iterator[str]:
    """What of the logs could not be read, and why."""
    told = [f"{n:,} x {what}" for what, n in recording.not_held.items()]
    if recording.incomplete:
        told.append(
            f"{count_text(recording.incomplete, 'RNN call')} whose text is cut, mixed with "
            "another's (a file for each process avoids that: %i in its name), or not as cuDNN 8.5 "
            "to 9.28 writes it"
        )
    told += recording.notes
    if told:
        yield ""
        yield "Not read"
        for what in told:
            yield from _wrapped(what, "  ")


def _statuses(recording: Recording) -> Iterator[str]:
    if not recording.statuses:
        return
    yield ""
    yield "Errors and warnings logged"
    shown = recording.statuses.most_common(_MOST)
    for said, n in shown:
        reason = f": {said.reason}" if said.reason else ""
        yield from _wrapped(f"{n:,} x {said.call} {said.status}{reason}", "  ")
    if len(recording.statuses) > len(shown):
        yield f"  and {len(recording.statuses) - len(shown):,} more (--json has them all)"


def _problem_lines(recorded: Recorded) -> Iterator[str]:
    lead = f"  {recorded.count:>12,}  "
    text = _short(recorded.problem)
    yield from textwrap.wrap(
        f"{text}  [{', '.join(recorded.stages) or ', '.join(recorded.calls)}]",
        _WIDTH,
        initial_indent=lead,
        subsequent_indent=" " * (len(lead) + 4),
        break_long_words=False,
        break_on_hyphens=False,
    )
    indent = " " * len(lead)
    for words in recorded.disagreements:
        yield from _wrapped(f"disagreement: {words}", indent)
    for said, n in recorded.said.items():
        reason = f": {said.reason}" if said.reason else ""
        yield from _wrapped(f"logged {n:,} x {said.call} {said.status}{reason}", indent)


def _short(problem: Problem) -> str:
    """What differs from the defaults; a long list of lengths by its ends."""
    words = []
    for name, text in problem.given.items():
        if name not in problem.telling:
            continue
        shown = text
        if len(text) > _MOST_LENGTHS:
            numbers = text.strip("[]").split(",")
            shown = f"[{','.join(numbers[:3])},…,{numbers[-1]}]"
        words.append(f"{name}={shown}")
    return " ".join(words) or "(all as by default)"


def _outcomes(replay: Replay, release: int) -> dict[str, dict[str, int]]:
    """Outcome to problems and to the calls that production made with them."""
    found: dict[str, dict[str, int]] = {}
    for p in replay.recording.problems:
        outcome = found.setdefault(replay.outcome(release, p.order), {"problems": 0, "calls": 0})
        outcome["problems"] += 1
        outcome["calls"] += p.count
    return found


def _not_passed(replay: Replay, release: int) -> list[int]:
    found = [
        order
        for outcome in ("failed", "unsupported", "skipped")
        for order in replay.with_outcome(release, outcome)
    ]
    return replay.by_count(found)


def _worst(results: Sequence[CallResult]) -> CallResult:
    """The result that a problem fails by: the first of the worst outcome."""
    rank = {"failed": 0, "unsupported": 1, "skipped": 2, "passed": 3}
    return min(results, key=lambda r: rank[r.outcome])


def _amount(outcomes: Mapping[str, Mapping[str, int]], outcome: str) -> str:
    found = outcomes.get(outcome, {"problems": 0, "calls": 0})
    return f"{count_text(found['problems'], 'problem')} ({count_text(found['calls'], 'call')})"


def _release_lines(replay: Replay, i: int, release: str) -> Iterator[str]:
    outcomes = _outcomes(replay, i)
    told = {"unsupported": "refused", "passed": "accepted"}
    told.update({outcome: outcome for outcome in ("failed", "skipped") if outcome in outcomes})
    words = [f"{_amount(outcomes, outcome)} {word}" for outcome, word in told.items()]
    yield from _wrapped(f"cuDNN {release}: {', '.join(words)}", "")
    shown = _not_passed(replay, i)
    for order in shown[:_MOST]:
        yield from _refusal_lines(replay, i, order)
    if len(shown) > _MOST:
        yield f"  and {len(shown) - _MOST:,} more (--out and --json have them all)"
    if not shown:
        yield "  what needs a GPU was not tried"


def _refusal_lines(replay: Replay, i: int, order: int) -> Iterator[str]:
    recorded = replay.recording.problems[order]
    lead = f"  {recorded.count:>12,}  "
    yield from textwrap.wrap(
        _short(recorded.problem),
        _WIDTH,
        initial_indent=lead,
        subsequent_indent=" " * (len(lead) + 4),
        break_long_words=False,
        break_on_hyphens=False,
    )
    result = _worst(replay.results[i][order])
    reason = f": {result.reason}" if result.reason else " (cuDNN gives no reason)"
    what = f"{result.call} of {result.role}" if result.role in ("x", "y", "h", "c") else result.call
    status = result.status if result.outcome == "unsupported" else result.outcome.upper()
    yield from _wrapped(f"{what} {status}{reason}", " " * len(lead))


def _step_lines(replay: Replay, step: Step) -> Iterator[str]:
    kinds = {
        "newly refused": step.newly_refused,
        "newly accepted": step.newly_accepted,
        "newly failing": step.newly_failed,
    }
    counts = [f"{len(orders):,} {what}" for what, orders in kinds.items() if orders]
    yield f"{step.release_a} -> {step.release_b}: {', '.join(counts) or 'nothing changed'}"
    after = replay.releases.index(step.release_b)
    for what, orders in kinds.items():
        if orders:
            yield f"  {what[0].upper()}{what[1:]}"
        for order in orders[:_MOST]:
            if what == "newly accepted":
                recorded = replay.recording.problems[order]
                yield from _wrapped(f"{recorded.count:>12,}  {_short(recorded.problem)}", "  ")
            else:
                yield from _refusal_lines(replay, after, order)
        if len(orders) > _MOST:
            yield f"  and {len(orders) - _MOST:,} more (--out and --json have them all)"
