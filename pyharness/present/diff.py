"""A diff in words: for a terminal, and as data for a script."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import Any

from pyharness.analyze.comparison import Change, Group
from pyharness.analyze.drift_changes import DRIFT_CHANGES
from pyharness.analyze.map_diff import GATES, CallDiff, MapDiff
from pyharness.present.diff_drift import drift_changes_data, drift_lines

_WIDTH = 100
_MOST_CONJUNCTIONS = 8
_MOST_REASONS, _MOST_OF_A_REASON = 6, 2  # what matters less, in less words
_MOST_NAMES = 12
_HEADINGS: dict[Change, str] = {
    "newly_refused": "Newly refused",
    "newly_failed": "Newly failing (crash, hang or another defect)",
    "newly_accepted": "Newly accepted",
    "no_longer_failed": "No longer failing",
    "other_status": "Refused with another status",
    "other_reason": "Refused for another reason",
}
_KIND_WORDS = {
    "other_status": "refused with another status",
    "other_reason": "refused for another reason",
    "slower": "costs slower",
    "faster": "costs faster",
    "call_removed": "calls removed",
    "call_added": "calls added",
    "enumerator_removed": "enumerators removed",
    "enumerator_added": "enumerators added",
}
_SPREAD = ("algo", "cell_mode")  # what people ask next: with which of these?


def _wrapped(text: str, lead: str = "") -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=lead, subsequent_indent=lead + "    ")


def _counted(count: int, words: str) -> str:
    """A number and what it counts; the words come in the plural."""
    if count != 1:
        return f"{count:,} {words}"
    return "1 " + re.sub(r"\b(call|cost|enumerator|conjunction|problem)s\b", r"\1", words)


def _step(group: Group) -> str:
    if group.change == "other_reason":
        return (
            f"{group.status_a}: {group.reason_a or '(no word)'} -> {group.reason_b or '(no word)'}"
        )
    return f"{group.status_a or 'failed'} -> {group.status_b or 'failed'}"


def _spread(call: CallDiff, group: Group) -> Iterator[str]:
    for name in _SPREAD:
        met, tested = group.values.get(name), call.axes.get(name, [])
        if met is not None:
            words = f"all {len(met)}" if len(met) == len(tested) else f"{len(met)} of {len(tested)}"
            yield f"{name} {words} ({', '.join(met)})"


def _group_lines(call: CallDiff, group: Group) -> Iterator[str]:
    yield from textwrap.wrap(
        f"{call.call}  {group.rows:,} of {call.rows:,}: {_step(group)}",
        _WIDTH,
        initial_indent="  ",
        subsequent_indent="      ",
    )
    words = group.words
    most = _MOST_OF_A_REASON if group.change == "other_reason" else _MOST_CONJUNCTIONS
    for i, conjunction in enumerate(words[:most]):
        lead = "      " if i == 0 else "   or "
        yield from textwrap.wrap(
            conjunction,
            _WIDTH,
            initial_indent=lead,
            subsequent_indent="        ",
            break_long_words=False,
        )
    if len(words) > most:
        yield f"   or {_counted(len(words) - most, 'more conjunctions')} (--json has them all)"
    if group.change != "other_reason" and (spread := "; ".join(_spread(call, group))):
        yield from textwrap.wrap(
            f"with {spread}", _WIDTH, initial_indent="      ", subsequent_indent="        "
        )
    if not group.fewest:
        yield "      (fewer conditions may be enough)"
    if not group.proven:
        yield "      NOT PROVEN: these conditions do not cover exactly the changed problems"


def _changes(diff: MapDiff) -> Iterator[str]:
    for change, heading in _HEADINGS.items():
        found = [(c, g) for c in diff.calls for g in c.comparison.groups if g.change == change]
        if not found or (change == "other_reason" and not diff.reasons_by_row):
            continue
        yield ""
        total = sum(g.rows for _, g in found)
        yield f"{heading}: {_counted(total, 'problems')}"
        shown = found[:_MOST_REASONS] if change == "other_reason" else found
        for call, group in shown:
            yield from _group_lines(call, group)
        if len(found) > len(shown):
            yield f"  and {len(found) - len(shown)} more steps of reasons (--json has them all)"


def _reason_texts(diff: MapDiff) -> Iterator[str]:
    if diff.reasons_by_row:
        return
    yield ""
    if not diff.reasons_compared:
        yield "Reasons: not compared, because they were not collected over the same problems"
        return
    yield "Reasons were not kept for every row, so only their texts are compared"
    for texts in diff.reason_texts:
        for word, reasons in (("gone", texts.gone), ("new", texts.new)):
            for reason in reasons:
                yield from _wrapped(
                    f"{texts.call} {texts.status} {word}: {reason or '(no word)'}", "  "
                )


def _surface(diff: MapDiff) -> Iterator[str]:
    yield ""
    moved = [
        ("calls removed", diff.calls_removed),
        ("calls added", diff.calls_added),
        ("enumerators removed", diff.enumerators_removed),
        ("enumerators added", diff.enumerators_added),
    ]
    if not any(names for _, names in moved) and not diff.renumbered:
        yield "Calls and enumerators: none came, none went"
        return
    yield "Calls and enumerators"
    for what, names in moved:
        if names:
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            yield from textwrap.wrap(
                f"{_counted(len(names), what)}: {', '.join(names[:_MOST_NAMES])}{more}",
                _WIDTH,
                initial_indent="  ",
                subsequent_indent="      ",
            )
    if diff.renumbered:
        yield f"  {diff.renumbered} enumerators keep their name and have another number"


def _costs(diff: MapDiff) -> Iterator[str]:
    if not diff.costs:
        return
    yield ""
    if not diff.comparable_costs:
        yield "Cost of a call: measured on different machines, so not compared"
        return
    if any(c.verdict == "not judged" for c in diff.costs):
        yield "Cost of a call (median, ns), as each map found it; not timed in turn, so not judged"
    else:
        yield "Cost of a call (median, ns), both timed in turn on this machine"
    yield f"  {'call':<28}{'problems':<10}{'before':>8}{'after':>8}{'ratio':>8}"
    for cost in diff.costs:
        verdict = f"  {cost.verdict}" if cost.verdict in ("slower", "faster") else ""
        yield (
            f"  {cost.call:<28}{cost.answer:<10}{cost.a_s * 1e9:>8.1f}{cost.b_s * 1e9:>8.1f}"
            f"{cost.ratio:>8.2f}{verdict}"
        )


def _summary(diff: MapDiff) -> str:
    """Every kind of change with its number, so that nobody has to conclude it from a silence."""
    gates = [g for g in GATES if diff.drift is not None or g not in DRIFT_CHANGES]
    words = {k: _KIND_WORDS.get(k, k.replace("_", " ")) for k in gates}
    some = [
        _counted(diff.count(k), w) for k, w in words.items() if diff.judged(k) and diff.count(k)
    ]
    none = [w for k, w in words.items() if diff.judged(k) and not diff.count(k)]
    unjudged = [w for k, w in words.items() if not diff.judged(k)]
    said = f"{'; '.join(some) or 'nothing changed'}. None: {', '.join(none)}."
    return f"{said} Not judged: {', '.join(unjudged)}." if unjudged else said


def _not_compared(diff: MapDiff) -> Iterator[str]:
    for call in diff.calls:
        for release, only in ((diff.release_a, call.only_a), (diff.release_b, call.only_b)):
            for axis, values in only.items():
                yield from _wrapped(
                    f"{call.call}: {axis}={', '.join(values)} only on {release}", "  "
                )


def _where(diff: MapDiff) -> Iterator[str]:
    for name, side in zip((diff.release_a, diff.release_b), diff.sides, strict=True):
        host = side["host"]
        yield from _wrapped(
            f"{name} mapped {side['ended']} on {host['cpu']}, {host['cores']} cores"
        )


def render_diff(diff: MapDiff) -> str:
    """The whole diff as text, at most 100 columns wide; ends without a newline."""
    lines = [f"cuDNN {diff.release_a} -> {diff.release_b}"]
    calls = "1 call" if len(diff.calls) == 1 else f"{len(diff.calls)} calls"
    lines += _wrapped(f"{_counted(diff.rows, 'problems')} compared over {calls} ({diff.space})")
    lines += textwrap.wrap(_summary(diff), _WIDTH)
    if skipped := list(_not_compared(diff)):
        lines += ["", "Not compared, because only one side has it", *skipped]
    lines += [
        *_changes(diff),
        *drift_lines(diff.drift),
        *_reason_texts(diff),
        *_surface(diff),
        *_costs(diff),
    ]
    lines += ["", *_where(diff)]
    if diff.notes:
        lines += ["", "Notes", *(line for note in diff.notes for line in _wrapped(note, "  "))]
    return "\n".join(lines)


def _group_data(group: Group) -> dict[str, Any]:
    return {
        "change": group.change,
        "status_a": group.status_a,
        "status_b": group.status_b,
        "reason_a": group.reason_a,
        "reason_b": group.reason_b,
        "problems": group.rows,
        "conditions": group.conditions,
        "words": group.words,
        "values": group.values,
        "proven": group.proven,
        "fewest": group.fewest,
    }


def diff_data(diff: MapDiff) -> dict[str, Any]:
    """The whole diff as plain data, for JSON."""
    return {
        "release_a": diff.release_a,
        "release_b": diff.release_b,
        "space": diff.space,
        "problems": diff.rows,
        "calls": [
            {
                "call": c.call,
                "problems": c.rows,
                "axes": c.axes,
                "only_a": c.only_a,
                "only_b": c.only_b,
                "changes": [_group_data(g) for g in c.comparison.groups],
            }
            for c in diff.calls
        ],
        "calls_removed": diff.calls_removed,
        "calls_added": diff.calls_added,
        "enumerators_removed": diff.enumerators_removed,
        "enumerators_added": diff.enumerators_added,
        "enumerators_renumbered": diff.renumbered,
        "costs_comparable": diff.comparable_costs,
        "costs": [
            {
                "call": c.call,
                "answer": c.answer,
                "a_s": c.a_s,
                "b_s": c.b_s,
                "ratio": c.ratio,
                "verdict": c.verdict,
            }
            for c in diff.costs
        ],
        "not_judged": [gate for gate in GATES if not diff.judged(gate)],
        "reasons_by_row": diff.reasons_by_row,
        "reasons_compared": diff.reasons_compared,
        "reason_texts": [
            {"call": t.call, "status": t.status, "gone": t.gone, "new": t.new}
            for t in diff.reason_texts
        ],
        "drift": drift_changes_data(diff.drift),
        "sides": diff.sides,
        "notes": diff.notes,
    }
