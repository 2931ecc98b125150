"""Rules in words: for a terminal, and as data for a script."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from pyharness.analyze.rules import Reason, Rule
from pyharness.analyze.rules_diff import FATES, RuleStep, compare_rules
from pyharness.analyze.rules_fold import pattern
from pyharness.analyze.rules_release import CallRules, ReleaseRules
from pyharness.analyze.rules_walk import MOST_LIMITS, Span, WalkedAxis
from pyharness.present.units import count_text

_WIDTH = 100
_MOST_REASONS = 2
_MOST_SPANS = 6
_MOST_TOLD = 1000


def _wrapped(text: str, lead: str, hang: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=lead, subsequent_indent=hang, break_long_words=False
    )


def _share(rows: int, of: int) -> str:
    """A share in per cent with two digits; ``<0.01%`` is not none."""
    share = 100 * rows / of
    return f"{share:.2f}%" if share >= 0.005 else "<0.01%"


def _said(rule: Rule) -> str:
    """What cuDNN says of the problems of a rule; "" if nobody knows.

    Reasons that differ in their numbers alone stand for one another.
    """
    alike: dict[str, list[Reason]] = {}
    for reason in rule.reasons:
        alike.setdefault(pattern(reason.text or ""), []).append(reason)
    words = []
    for reasons in list(alike.values())[:_MOST_REASONS]:
        text = reasons[0].text or "(no word)"
        if len(reasons) > 1:
            text += f", and {len(reasons) - 1} more with other numbers"
        if len(alike) > 1:
            text += f" ({sum(r.rows for r in reasons):,})"
        words.append(text)
    if len(alike) > _MOST_REASONS:
        words.append(f"and {count_text(len(alike) - _MOST_REASONS, 'other reason')}")
    asked = "" if rule.asked == rule.rows else f" of {rule.asked:,} asked"
    return f"cuDNN{asked}: {'; '.join(words)}" if words else ""


def _rule_lines(place: int, rule: Rule, of: int) -> Iterator[str]:
    yield from _wrapped(_titled(rule), f"{place:>4}  ", "          ")
    support = f"{count_text(rule.rows, 'problem')}, {_share(rule.rows, of)}"
    said = _said(rule)
    yield from _wrapped(f"{support}. {said}" if said else support, "      ", "          ")


def _titled(rule: Rule) -> str:
    return f"{rule.status or 'failed'} {'when ' if rule.conditions else ''}{rule.words}"


def _span(span: Span) -> str:
    first, last = span
    return f"{first:,}" if first == last else f"{first:,}..{last:,}"


def _listed(words: Sequence[str], count: int | None = None) -> str:
    """The first words; ``count`` of them there are, if not all are given."""
    more = (len(words) if count is None else count) - _MOST_SPANS
    shown = ", ".join(words[:_MOST_SPANS])
    return f"{shown} and {more} more" if more > 0 else shown


def _walked(walked: WalkedAxis) -> str:
    """What was tried of a size, what was not, and what that brought."""
    words = f"{walked.axis}: every value of {_listed([_span(s) for s in walked.tried])}"
    if 0 < walked.settings < walked.of_settings:
        words += (
            f", those between the map's in {walked.settings:,} of {walked.of_settings:,} settings "
            "of the rest"
        )
        if walked.kinds < walked.of_kinds:
            words += f" ({walked.kinds:,} of the {walked.of_kinds:,} kinds told apart here)"
    if walked.skipped:
        ends = [f"{first - 1:,} and {last + 1:,}" for first, last in walked.skipped]
        words += f"; between {_listed(ends)} only the ends"
    if not walked.limits:
        return f"{words}; no limit"
    limits = [f"{n:,}" for n in walked.limits[:_MOST_SPANS]]
    words += f"; the answer changes at {_listed(limits, len(walked.limits))}"
    if len(walked.limits) > MOST_LIMITS:
        words += ", too often to be told by rules: they name values that were tried"
    return words


def _space(call: CallRules) -> Iterator[str]:
    """What the rules say nothing of: axes that do not matter, and those with one value."""
    named = {c["axis"] for rule in call.found.rules for c in rule.conditions}
    idle = [name for name, labels in call.axes.items() if len(labels) > 1 and name not in named]
    if idle:
        yield from _wrapped(f"makes no difference: {', '.join(idle)}", "  ", "      ")
    one = [f"{name}={labels[0]}" for name, labels in call.axes.items() if len(labels) == 1]
    if one:
        yield from _wrapped(f"one value only: {', '.join(one)}", "  ", "      ")
    if call.walked:
        yield "  sizes tried"
        for walked in call.walked:
            yield from _wrapped(_walked(walked), "      ", "          ")


def _proof(call: CallRules) -> str:
    if not call.found.proven:
        return "NOT PROVEN: some problem is answered otherwise than these rules say"
    fewest = "no list of refusals is shorter" if call.found.fewest else "a shorter list may do"
    return f"proven on every problem; {fewest}"


def _call_lines(call: CallRules) -> Iterator[str]:
    yield ""
    count = count_text(len(call.found.rules), "rule")
    yield f"{call.call}: {count} for {count_text(call.rows, 'problem')}"
    yield f"  {_proof(call)}"
    for place, rule in enumerate(call.found.rules, 1):
        yield from _rule_lines(place, rule, call.rows)
    yield from _space(call)


def _tail(*sides: ReleaseRules) -> Iterator[str]:
    notes = [f"{side.release}: {note}" for side in sides for note in side.notes]
    if notes:
        yield ""
        yield "Notes"
        for note in notes:
            yield from _wrapped(note, "  ", "      ")


def render_rules(rules: ReleaseRules) -> str:
    """The rules of a release as text, at most 100 columns wide; ends without a newline."""
    total = sum(call.rows for call in rules.calls)
    lines = [
        f"cuDNN {rules.release}: rules of {count_text(len(rules.calls), 'call')} over "
        f"{count_text(total, 'problem')} ({rules.space})",
        "The first rule that matches decides.",
    ]
    for call in rules.calls:
        lines += _call_lines(call)
    if rules.absent_calls:
        lines += [
            "",
            *_wrapped(f"not in this release: {', '.join(rules.absent_calls)}", "", "    "),
        ]
    return "\n".join([*lines, *_tail(rules)])


def _counts(steps: Sequence[RuleStep]) -> str:
    return ", ".join(f"{sum(s.fate == fate for s in steps)} {fate}" for fate in FATES)


def _step_lines(step: RuleStep) -> Iterator[str]:
    counts = dict.fromkeys(f"{r.rows:,}" for r in (step.before, step.after) if r is not None)
    title = f"{step.fate:<6}  {_titled(step.rule)}: {' -> '.join(counts)} problems"
    yield from _wrapped(title, "  ", "              ")
    if step.fate != "stayed" and (said := _said(step.rule)):
        yield from _wrapped(said, "          ", "              ")


def render_rule_changes(a: ReleaseRules, b: ReleaseRules) -> str:
    """What became of the rules as text, at most 100 columns wide; ends without a newline."""
    spaces = " / ".join(dict.fromkeys((a.space, b.space)))
    lines = [
        f"cuDNN {a.release} -> {b.release}: rules ({spaces})",
        "A rule is the same if its conditions and its status are; the first that matches decides.",
    ]
    if a.fingerprint != b.fingerprint:
        lines.append("The two maps have other values: words may differ where answers do not.")
    for before, after in _pairs(a, b):
        steps = compare_rules(before.found.rules, after.found.rules)
        lines += ["", f"{before.call}: {_counts(steps)}"]
        for call, side in ((before, a), (after, b)):
            if not call.found.proven:
                lines.append(f"  {side.release}: {_proof(call)}")
        for step in steps:
            lines += _step_lines(step)
    for only, other in ((a, b), (b, a)):
        names = {call.call for call in other.calls}
        lines += [
            f"\n{call.call}: only on {only.release}"
            for call in only.calls
            if call.call not in names
        ]
    return "\n".join([*lines, *_tail(a, b)])


def _pairs(a: ReleaseRules, b: ReleaseRules) -> Iterator[tuple[CallRules, CallRules]]:
    others = {call.call: call for call in b.calls}
    yield from ((call, others[call.call]) for call in a.calls if call.call in others)


def _rule_data(rule: Rule) -> dict[str, Any]:
    return {
        "status": rule.status,
        "conditions": rule.conditions,
        "words": rule.words,
        "problems": rule.rows,
        "reasons": [{"reason": r.text, "problems": r.rows} for r in rule.reasons],
        "asked": rule.asked,
    }


def rules_data(rules: ReleaseRules) -> dict[str, Any]:
    """The rules of a release as plain data, for JSON."""
    return {
        "release": rules.release,
        "space": rules.space,
        "fingerprint": rules.fingerprint,
        "calls": [
            {
                "call": call.call,
                "problems": call.rows,
                "proven": call.found.proven,
                "fewest": call.found.fewest,
                "by_reason": call.found.by_reason,
                "rules": [_rule_data(rule) for rule in call.found.rules],
                "axes": call.axes,
                "walked": [
                    {
                        "axis": w.axis,
                        "tried": w.tried,
                        "skipped": w.skipped,
                        "settings": w.settings,
                        "of_settings": w.of_settings,
                        "kinds": w.kinds,
                        "of_kinds": w.of_kinds,
                        "limits": w.limits[:_MOST_TOLD],
                        "limits_in_all": len(w.limits),
                    }
                    for w in call.walked
                ],
            }
            for call in rules.calls
        ],
        "absent_calls": rules.absent_calls,
        "notes": rules.notes,
    }


def rule_changes_data(a: ReleaseRules, b: ReleaseRules) -> dict[str, Any]:
    """What became of the rules as plain data, for JSON; both lists are in it, too."""
    return {
        "changes": [
            {
                "call": before.call,
                "fate": step.fate,
                "status": step.rule.status,
                "words": step.rule.words,
                "problems_a": step.before.rows if step.before else None,
                "problems_b": step.after.rows if step.after else None,
            }
            for before, after in _pairs(a, b)
            for step in compare_rules(before.found.rules, after.found.rules)
        ],
        "sides": [rules_data(a), rules_data(b)],
    }
