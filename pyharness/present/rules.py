"""Rules in words: for a terminal, and as data for a script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyharness.analyze.rules import Reason, Rule, RuleList
from pyharness.analyze.rules_diff import FATES, RuleStep, compare_rules
from pyharness.analyze.rules_fold import pattern
from pyharness.analyze.rules_release import CallRules, ReleaseRules
from pyharness.analyze.rules_walk import MOST_LIMITS, Span, WalkedAxis
from pyharness.present.units import count_text, wrapped

_MOST_REASONS = 2
_MOST_SPANS = 6
_MOST_TOLD = 1000


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
    yield from wrapped(f"{place:>4}  {_titled(rule)}", 0, 10)
    support = f"{count_text(rule.rows, 'problem')}, {_share(rule.rows, of)}"
    said = _said(rule)
    yield from wrapped(f"{support}. {said}" if said else support, 6, 10)


def _titled(rule: Rule) -> str:
    return f"{rule.status or 'failed'} {'when ' if rule.conditions else ''}{rule.words}"


def _span(span: Span) -> str:
    first, last = span
    return f"{first:,}" if first == last else f"{first:,}..{last:,}"


def _listed(words: Sequence[str], cut: bool = False) -> str:
    """The first words, and how many more there are; ``cut``: these are not all."""
    more = len(words) - _MOST_SPANS
    shown = ", ".join(words[:_MOST_SPANS])
    return f"{shown} and {'at least ' if cut else ''}{more:,} more" if more > 0 else shown


def _walked_words(walked: WalkedAxis) -> str:
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
        words += f"; between {_listed(ends)} only the ends, and halves where these differ"
    if not walked.limits:
        return f"{words}; no limit"
    words += f"; the answer changes at {_listed([f'{n:,}' for n in walked.limits], walked.cut)}"
    if len(walked.limits) > MOST_LIMITS:
        words += ", too often to be told by rules: they name values that were tried"
    return words


def _space(call: CallRules) -> Iterator[str]:
    """What the rules say nothing of: axes that do not matter, and those with one value."""
    named = {c["axis"] for rule in call.found.rules for c in rule.conditions}
    idle = [name for name, labels in call.axes.items() if len(labels) > 1 and name not in named]
    if idle:
        yield from wrapped(f"makes no difference: {', '.join(idle)}", 2, 6)
    one = [f"{name}={labels[0]}" for name, labels in call.axes.items() if len(labels) == 1]
    if one:
        yield from wrapped(f"one value only: {', '.join(one)}", 2, 6)
    if call.walked:
        yield "  sizes tried"
        for walked in call.walked:
            yield from wrapped(_walked_words(walked), 6, 10)


def _proof(found: RuleList) -> str:
    if not found.proven:
        return "NOT PROVEN: some problem is answered otherwise than these rules say"
    same = " that tells these reasons apart" if found.by_reason else ""
    words = f"no list of refusals{same} is shorter" if found.fewest else "a shorter list may do"
    if found.for_statuses < len(found.rules):
        words += f"; {count_text(found.for_statuses, 'rule')} would do for the statuses alone"
    return f"proven on every problem; {words}"


def _over(*sides: ReleaseRules) -> str:
    """What the problems are: a map's own, and those at limits that were found beside them."""
    space = " / ".join(dict.fromkeys(side.space for side in sides))
    grown = any(call.rows > call.of_map for side in sides for call in side.calls)
    return f"({space}{', with the limits found between its sizes' if grown else ''})"


def _call_lines(call: CallRules) -> Iterator[str]:
    yield ""
    count = count_text(len(call.found.rules), "rule")
    yield f"{call.call}: {count} for {count_text(call.rows, 'problem')}"
    yield from wrapped(_proof(call.found), 2, 6)
    for place, rule in enumerate(call.found.rules, 1):
        yield from _rule_lines(place, rule, call.rows)
    yield from _space(call)


def _tail(*sides: ReleaseRules) -> Iterator[str]:
    notes = [f"{side.release}: {note}" for side in sides for note in side.notes]
    if notes:
        yield ""
        yield "Notes"
        for note in notes:
            yield from wrapped(note, 2, 6)


def render_rules(rules: ReleaseRules) -> str:
    """The rules of a release as text, in lines of 100 columns or of one longer word."""
    total = count_text(sum(call.rows for call in rules.calls), "problem")
    calls = count_text(len(rules.calls), "call")
    heading = f"cuDNN {rules.release}: rules of {calls} over {total} {_over(rules)}"
    lines = [*wrapped(heading, 0, 4), "The first rule that matches decides."]
    for call in rules.calls:
        lines += _call_lines(call)
    if rules.absent_calls:
        lines += [
            "",
            *wrapped(f"not in this release: {', '.join(rules.absent_calls)}", 0, 4),
        ]
    return "\n".join([*lines, *_tail(rules)])


def _counts(steps: Sequence[RuleStep]) -> str:
    return ", ".join(f"{sum(s.fate == fate for s in steps)} {fate}" for fate in FATES)


def _step_lines(step: RuleStep) -> Iterator[str]:
    counts = dict.fromkeys(f"{r.rows:,}" for r in (step.before, step.after) if r is not None)
    title = f"{step.fate:<6}  {_titled(step.rule)}: {' -> '.join(counts)} problems"
    yield from wrapped(title, 2, 14)
    if step.fate != "stayed" and (said := _said(step.rule)):
        yield from wrapped(said, 10, 14)


def _status_lines(before: CallRules, after: CallRules, steps: Sequence[RuleStep]) -> Iterator[str]:
    """Whether any problem changed its status: rules may go and come where none did."""
    changed = after.changed
    assert changed is not None
    if not changed.of_rows:
        yield "  the two maps have no problem in common"
        return
    if changed.rows:
        of = count_text(changed.of_rows, "problem")
        both = "" if before.axes == after.axes else " that both maps have"
        words = f"the status changed on {changed.rows:,} of {of}{both}; `pyharness diff` says which"
    elif before.axes != after.axes:
        words = "no problem that both maps have changed its status"
    else:
        otherwise = any(step.fate != "stayed" for step in steps)
        words = "no problem changed its status"
        words += ": the rules are only worded otherwise" if otherwise else ""
    yield from wrapped(words, 2, 6)


def render_rule_changes(a: ReleaseRules, b: ReleaseRules) -> str:
    """What became of the rules as text, in lines of 100 columns or of one longer word."""
    lines = [
        *wrapped(f"cuDNN {a.release} -> {b.release}: rules {_over(a, b)}", 0, 4),
        "A rule is the same if its conditions and its status are; the first that matches decides.",
    ]
    if a.fingerprint != b.fingerprint:
        lines.append("The two maps have other values: words may differ where answers do not.")
    for before, after in _pairs(a, b):
        steps = compare_rules(before.found.rules, after.found.rules)
        lines += ["", f"{before.call}: {_counts(steps)}", *_status_lines(before, after, steps)]
        for call, side in ((before, a), (after, b)):
            if not call.found.proven:
                lines.append(f"  {side.release}: {_proof(call.found)}")
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
                "problems_of_map": call.of_map,
                "proven": call.found.proven,
                "fewest": call.found.fewest,
                "by_reason": call.found.by_reason,
                "rules_for_statuses": call.found.for_statuses,
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
                        "limits_cut": w.cut,
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
        "statuses": [
            {
                "call": after.call,
                "changed": after.changed and after.changed.rows,
                "problems": after.changed and after.changed.of_rows,
            }
            for _, after in _pairs(a, b)
        ],
        "sides": [rules_data(a), rules_data(b)],
    }
