"""What releases say of recorded problems, in words and as data."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyharness.present.on_device import device_name
from pyharness.present.recording import MOST_SHOWN, in_lines, problem_text
from pyharness.present.units import count_text, led
from pyharness.spec.problem import CallResult
from pyharness.spec.recording import OnDevice, Replay, Step
from pyharness.spec.stage_results import StageResult

_MOST_LOGS = 5  # named in a command


def render_replay(replay: Replay) -> str:
    """What changes between releases, and what each says of the problems."""
    lines: list[str] = []
    for step in replay.steps():
        lines += ["", *_step_lines(replay, step)]
    for i, release in enumerate(replay.releases):
        lines += ["", *_release_lines(replay, i, release)]
    return "\n".join(lines[1:])


def render_next(replay: Replay, asked: Sequence[str]) -> str:
    """The command that explains what is refused; empty where nothing is.

    ``asked``  the releases as they were given, which may be paths.
    """
    refused = [text for i, text in enumerate(asked) if replay.with_outcome(i, "unsupported")]
    if not refused:
        return ""
    files = replay.recording.files
    logs = [f"--log {shlex.quote(name)}" for name in files[:_MOST_LOGS]]
    more = f" (and {len(files) - len(logs):,} more)" if len(files) > len(logs) else ""
    command = " ".join(("pyharness explain --cudnn", shlex.quote(refused[-1]), *logs))
    return f"Why, and what is accepted instead: {command}{more}"


def replay_data(replay: Replay) -> dict[str, Any]:
    """What releases say as plain data, for JSON; problems by their order."""
    return {
        "releases": [
            {
                "release": release,
                "outcomes": _outcomes(replay, i),
                **_device_data(replay, i),
                "refused": [
                    {"order": order, **_result_data(_worst(replay.said(i, order)))}
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


def _device_data(replay: Replay, i: int) -> dict[str, Any]:
    """The device that a release ran on, and how many problems it took there."""
    if not replay.devices:
        return {"device": None}
    on = replay.devices[i]
    if on.facts is None:
        return {"device": None, "no_device": on.why or None}
    return {
        "device": on.facts.name,
        "provenance": on.facts.provenance,
        "cases": len(on.cases),
        "no_device": on.why or None,
    }


def _result_data(result: CallResult | StageResult) -> dict[str, Any]:
    return {
        "role": result.role if isinstance(result, CallResult) else None,
        "stage": result.stage,
        "call": result.call,
        "outcome": result.outcome,
        "status": result.status,
        "reason": result.reason,
    }


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
        for outcome in ("failed", "unsupported", "out_of_memory", "skipped")
        for order in replay.with_outcome(release, outcome)
    ]
    return replay.by_count(found)


def _worst(results: Sequence[CallResult | StageResult]) -> CallResult | StageResult:
    """The result that a problem fails by: the first of the worst outcome."""
    rank = {"failed": 0, "unsupported": 1, "out_of_memory": 2, "skipped": 3, "passed": 4}
    return min(results, key=lambda r: rank[r.outcome])


def _amount(outcomes: Mapping[str, Mapping[str, int]], outcome: str) -> str:
    found = outcomes.get(outcome, {"problems": 0, "calls": 0})
    return f"{count_text(found['problems'], 'problem')} ({count_text(found['calls'], 'call')})"


def _release_lines(replay: Replay, i: int, release: str) -> Iterator[str]:
    outcomes = _outcomes(replay, i)
    told = {"unsupported": "refused", "passed": "accepted"}
    others = {"failed": "failed", "out_of_memory": "out of memory", "skipped": "skipped"}
    told.update({outcome: word for outcome, word in others.items() if outcome in outcomes})
    words = [f"{_amount(outcomes, outcome)} {word}" for outcome, word in told.items()]
    on = replay.devices[i] if replay.devices else OnDevice()
    where = f" on {device_name(on.facts)}" if on.facts else ""
    yield from in_lines(f"cuDNN {release}{where}: {', '.join(words)}", "")
    shown = _not_passed(replay, i)
    for order in shown[:MOST_SHOWN]:
        yield from _refusal_lines(replay, i, order)
    if len(shown) > MOST_SHOWN:
        yield f"  and {len(shown) - MOST_SHOWN:,} more (--out and --json have them all)"
    if on.why:
        yield from led(f"what needs a GPU was not tried to the end: {on.why}", "  ", "    ")
    elif on.facts is None and not shown:
        yield "  what needs a GPU was not tried"


def _refusal_lines(replay: Replay, i: int, order: int) -> Iterator[str]:
    recorded = replay.recording.problems[order]
    lead = f"  {recorded.count:>12,}  "
    yield from in_lines(problem_text(recorded.problem), lead)
    result = _worst(replay.said(i, order))
    reason = f": {result.reason}" if result.reason else " (cuDNN gives no reason)"
    what = _what(result)
    told = result.outcome.replace("_", " ").upper()
    status = result.status if result.outcome == "unsupported" else told
    yield from in_lines(f"{what} {status}{reason}", " " * len(lead))


def _what(result: CallResult | StageResult) -> str:
    """The call, and what it was about."""
    if isinstance(result, StageResult):
        return f"{result.stage}, {result.call}:"
    return f"{result.call} of {result.role}" if result.role in ("x", "y", "h", "c") else result.call


def _step_lines(replay: Replay, step: Step) -> Iterator[str]:
    kinds = {
        "newly refused": step.newly_refused,
        "newly failing": step.newly_failed,
        "newly accepted": step.newly_accepted,
    }
    counts = [f"{len(orders):,} {what}" for what, orders in kinds.items() if orders]
    yield f"{step.release_a} -> {step.release_b}: {', '.join(counts) or 'nothing changed'}"
    after = replay.releases.index(step.release_b)
    for what, orders in kinds.items():
        if orders:
            yield f"  {what[0].upper()}{what[1:]}"
        for order in orders[:MOST_SHOWN]:
            if what == "newly accepted":
                recorded = replay.recording.problems[order]
                yield from in_lines(
                    f"{recorded.count:>12,}  {problem_text(recorded.problem)}", "  "
                )
            else:
                yield from _refusal_lines(replay, after, order)
        if len(orders) > MOST_SHOWN:
            yield f"  and {len(orders) - MOST_SHOWN:,} more (--out and --json have them all)"
