"""An explanation in words and as data."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pyharness.analyze.explanation import Blame, Explanation, Refusal, Span, Suggestion
from pyharness.analyze.log_explanation import LogExplanation
from pyharness.present.trying import ROLES
from pyharness.spec.documented import Prediction
from pyharness.spec.length_advice import NAMES
from pyharness.spec.problem import Problem
from pyharness.spec.reading import Reading

_WIDTH = 100
_MOST_WORDS = 160  # characters of a value: a list of lengths may have thousands
_MOST_PREDICTIONS = 8
_MOST_FAULTS = 5
_SHAPES = "x, y: steps x batch x width; h, c: layers and directions x batch x width"
# What a prediction may hang on and still be worth telling: nothing that the program passes later.
_OF_THE_MACHINE = {"compute_capability", "cuda_version", "os", "fwd_mode"}


def render_explanation(found: Explanation, reading: Reading | None = None) -> str:
    """Who refuses it and why, and what is accepted nearby; ends without a newline.

    ``reading``  where the problem came from: of a mask that is no lengths it says so once more.
    """
    words = _command(found.problem.given) or "the defaults"
    lines = _wrapped(f"cuDNN {found.release}: {words}", 0, 2)
    lines += _wrapped(f"with the defaults {_command(found.problem.defaults)}", 2)
    shapes = found.problem.shapes.items()
    handed = ", ".join(f"{name} {'x'.join(map(str, shape))}" for name, shape in shapes)
    lines += _wrapped(f"so {handed} ({_SHAPES})", 2)
    lines.append("")
    no_lengths = reading is not None and reading.mask is not None and not reading.mask.lengths
    if found.accepted:
        verdict = f"all {len(found.results)} host calls accept it"
        lines.append(
            f"the mask cannot be given; as if it were full, {verdict}" if no_lengths else verdict
        )
        return "\n".join([*lines, *_notes(found)])
    for refusals in _alike(found.refusals):
        lines += [*_refusal(refusals), ""]
    passed = [r for r in found.results if r.outcome == "passed"]
    if passed:
        roles = ", ".join(ROLES[r.role] for r in passed)
        lines += _wrapped(f"accepted: {roles}", 0)
    lines += ["", *_suggestions(found)]
    return "\n".join([*lines, *_notes(found)])


def _notes(found: Explanation) -> list[str]:
    return [line for note in found.notes for line in _wrapped(f"note: {note}", 0)]


def _alike(refusals: Sequence[Refusal]) -> list[list[Refusal]]:
    """Refusals that say the same, such as those of x and y, together."""
    groups: list[list[Refusal]] = []
    for refusal in refusals:
        for group in groups:
            first = group[0]
            same = (first.result.call, first.result.status, first.result.reason, first.blames)
            if same == (
                refusal.result.call,
                refusal.result.status,
                refusal.result.reason,
                refusal.blames,
            ):
                group.append(refusal)
                break
        else:
            groups.append([refusal])
    return groups


def _refusal(group: Sequence[Refusal]) -> list[str]:
    result, blames = group[0].result, group[0].blames
    roles = " and ".join(ROLES[r.result.role] for r in group)
    lines = [f"{result.call} ({roles}): {result.status or result.outcome.upper()}"]
    if result.outcome == "unsupported":
        said = f"cuDNN's condition: {result.reason}" if result.reason else "cuDNN gives no reason"
        lines += _wrapped(said, 2)
    elif result.reason:
        lines += _wrapped(result.reason, 2)
    alone = [b for b in blames if b.alone]
    if alone:
        head = "to blame:" if len(alone) == 1 else "to blame, each enough to change alone:"
        lines += [f"  {head}", *_blames(alone)]
    together = [b for b in blames if not b.alone]
    if together:
        head = "or to change together:" if alone else "to blame, to be changed together:"
        lines += [f"  {head}", *_blames(together)]
    if not blames:
        lines.append("  no change of up to three arguments makes it pass")
    return lines


def _blames(blames: Iterable[Blame]) -> Iterator[str]:
    for blame in blames:
        value = short(blame.value)
        same = blame.argument.lower() == blame.axis.replace("_", "").lower()
        name = blame.argument if same else f"{blame.argument} ({blame.axis})"
        yield f"    {name} = {value}"
        for advice in blame.rows:
            yield from _wrapped(advice.words, 8)
        allowed = blame.allowed or "nothing that was tried"
        yield from _wrapped(f"allowed: {allowed}", 8)


def _suggestions(found: Explanation) -> list[str]:
    if not found.suggestions:
        return [f"no accepted problem was found among {found.searched:,} near it"]
    lines = [f"nearest accepted, of {found.searched:,} problems tried, least change first:"]
    for number, suggestion in enumerate(found.suggestions, 1):
        lines += _suggestion(number, suggestion)
    return lines


def _suggestion(number: int, suggestion: Suggestion) -> list[str]:
    words = "  ".join(_command(c.changes) for c in suggestion.changes)
    lines = _wrapped(f"{number}. {words}", 2, 5)
    for change in suggestion.changes:
        what = f"{change.words}: {change.cost}" if change.words else change.cost
        head = f"{', '.join(change.changes)}: " if len(suggestion.changes) > 1 else ""
        lines += _wrapped(f"{head}{what}", 5)
    for one in suggestion.predicted:
        lines += _wrapped(f"but predicted on a GPU: {one.rule.says} ({one.rule.id})", 5)
    return lines


def render_log(found: LogExplanation) -> str:
    """What a release refuses of a log, refusals of one kind together; ends without a newline."""
    recording, refused = found.recording, [e.recorded for e in found.explained]
    refused += found.unexplained
    problems, calls = len(recording.problems), sum(p.count for p in recording.problems)
    lines = [
        f"cuDNN {found.release}: {len(refused):,} of {problems:,} recorded problems are refused, "
        f"{sum(p.count for p in refused):,} of {calls:,} calls"
    ]
    for number, group in enumerate(found.groups, 1):
        first = group[0]
        count = sum(e.recorded.count for e in group)
        same = f"{len(group):,} problems" if len(group) > 1 else "1 problem"
        head = f"{number}. {same}, {count:,} calls; the most frequent is at {first.recorded.place}:"
        lines += ["", *_wrapped(head, 0, 3), ""]
        lines += [
            f"   {line}".rstrip() for line in render_explanation(first.explanation).split("\n")
        ]
        for words in first.recorded.disagreements:
            lines += _wrapped(f"the log disagrees with itself: {words}", 3)
    if found.unexplained:
        lines += ["", f"{len(found.unexplained):,} less frequent ones were not looked into"]
    return "\n".join(lines)


def log_data(found: LogExplanation) -> dict[str, Any]:
    """The same as plain data, for JSON."""
    return {
        "release": found.release,
        "problems": len(found.recording.problems),
        "refused": [
            {
                "order": e.recorded.order,
                "count": e.recorded.count,
                "place": e.recorded.place,
                "disagreements": list(e.recorded.disagreements),
                **explanation_data(e.explanation, [], [], []),
            }
            for e in found.explained
        ],
        "unexplained": [p.order for p in found.unexplained],
    }


def render_recipes(found: Explanation) -> str:
    """The ways around what may be refused about the lengths; empty if nothing is.

    Ends without a newline.
    """
    if not found.advice:
        return ""
    lines, with_code = ["the lengths, with the same numbers in the end:"], False
    for advice in found.advice:
        lines += _wrapped(f"{advice.words}:", 2)
        for recipe in advice.recipes:
            lines += _wrapped(f"- {recipe.title}", 2, 4)
            lines += [f"      {line}" for line in recipe.code.splitlines()]
            lines += [line for note in recipe.notes for line in _wrapped(f"({note})", 4)]
            with_code |= bool(recipe.code)
    return "\n".join(lines + (_wrapped(f"in this code {NAMES}", 2) if with_code else []))


def render_reading(reading: Reading) -> str:
    """What was made of a mask or of a framework's text; empty where nothing was."""
    lines = [line for note in reading.notes for line in _wrapped(f"- {note}", 0, 2)]
    if reading.mask is not None:
        mask = reading.mask
        order = "time x batch" if mask.time_major else "batch x time"
        size = f"{mask.batch_size:,} sequences of up to {mask.max_seq_length:,} steps"
        lines += _wrapped(f"mask ({order}): {size}", 0, 2)
        few = len(mask.faults) <= _MOST_FAULTS
        said = [f.words for f in mask.faults] if few else mask.summary
        lines += [line for words in said for line in _wrapped(f"- {words}", 2, 4)]
        lines += [line for note in mask.notes for line in _wrapped(f"- {note}", 2, 4)]
        if mask.lengths is None:
            lines += _wrapped(
                "so it has no lengths that any release of cuDNN could be given: each row must be "
                "steps that count followed by padding. The rest is explained with all rows full.",
                2,
            )
    return "\n".join(lines)


def render_since(spans: Sequence[Span], notes: Sequence[str], *, complete: bool) -> str:
    """How other releases answer, as ranges; ends without a newline."""
    asked = sum(len(s.releases) for s in spans)
    which = "of the index" if complete else "that are cached; --all-releases asks every one"
    lines = [f"since when (the {asked} releases {which}):"]
    lines += [f"  {_span(span, last=span is spans[-1])}" for span in spans]
    lines += [line for note in notes for line in _wrapped(f"note: {note}", 0)]
    return "\n".join(lines)


def _span(span: Span, *, last: bool) -> str:
    where = f"by {span.first}"
    if span.first != span.last:
        where += f" to {span.last}"
    if last and span.first != span.last:
        where = f"from {span.first} on (the newest asked is {span.last})"
    if span.outcome == "accepted":
        return f"accepted {where}"
    status = f": {span.status}" if span.status else ""
    return f"{span.outcome} {where}: {span.call}{status}"


def render_predictions(found: Sequence[Prediction], problem: Problem) -> str:
    """What documents say of the calls that need a GPU; ends without a newline.

    Of what is true of any problem, such as the demand for a workspace, nothing is said.
    """
    telling = [p for p in found if p.speaks_of(problem) and _worth_telling(p)]
    lines = ["on a GPU (predicted from documents, not run here):"]
    if not telling:
        lines.append("  nothing documented speaks of this problem in particular: unknown")
    for one in telling[:_MOST_PREDICTIONS]:
        rule = one.rule
        depends = f" (depends on {', '.join(one.depends_on)})" if one.depends_on else ""
        lines += _wrapped(f"- predicted: {rule.says}{depends}", 2, 4)
        source = rule.source.partition(";")[0]
        calls = ", ".join(rule.later_calls)
        words = f"{rule.outcome} in {calls}; source grade {rule.grade} ({rule.meaning}): {source}"
        lines += _wrapped(words, 6)
        lines += _wrapped(f"note: {rule.note}", 6) if rule.note else []
    rest = len(telling) - _MOST_PREDICTIONS
    if rest > 0:
        lines.append(f"  and {rest} more (--json has all)")
    return "\n".join(lines)


def render_checklist(found: Sequence[Prediction], call: str) -> str:
    """What documents ask of a program at one call, to be checked in it; ends without a newline."""
    here = [p for p in found if call in p.rule.calls and p.rule.status != "accepted"]
    lines = [f"what to check where {call} failed (from documents):"]
    if not here:
        lines.append("  no documented rule speaks of this call and this problem: unknown")
    for one in here:
        hangs = f" (look at {', '.join(one.depends_on)})" if one.depends_on else " (applies here)"
        lines += _wrapped(f"- {one.rule.says}{hangs}", 2, 4)
        lines += _wrapped(f"{one.rule.outcome}; {one.rule.id}, grade {one.rule.grade}", 6)
    return "\n".join(lines)


def _worth_telling(one: Prediction) -> bool:
    """Nothing that hangs on what the program passes later, and no mere guess that all is well."""
    guess = one.rule.grade == "M" and one.rule.status == "accepted"
    return set(one.depends_on) <= _OF_THE_MACHINE and not guess


def explanation_data(
    found: Explanation,
    spans: Sequence[Span],
    notes: Sequence[str],
    predicted: Sequence[Prediction],
) -> dict[str, Any]:
    """All of it as plain data, for JSON."""
    return {
        "release": found.release,
        "problem": dict(found.problem.given),
        "defaults": found.problem.defaults,
        "accepted": found.accepted,
        "calls": [asdict(r) for r in found.results],
        "refusals": [
            {
                "call": r.result.call,
                "role": r.result.role,
                "status": r.result.status,
                "reason": r.result.reason,
                "blames": [asdict(b) for b in r.blames],
            }
            for r in found.refusals
        ],
        "tried": found.searched,
        "suggestions": [
            {
                "problem": dict(s.problem.given),
                "command": s.problem.command,
                "levels": list(s.levels),
                "changes": [asdict(c) for c in s.changes],
                "predicted": [p.rule.id for p in s.predicted],
            }
            for s in found.suggestions
        ],
        "since": [asdict(s) for s in spans],
        "predicted": [
            {
                "rule": p.rule.id,
                "calls": list(p.rule.later_calls),
                "outcome": p.rule.outcome,
                "says": p.rule.says,
                "state": p.state,
                "depends_on": list(p.depends_on),
                "source": p.rule.source,
                "grade": p.rule.grade,
                "provenance": "predicted",
            }
            for p in predicted
        ],
        "notes": [*found.notes, *notes],
    }


def _command(texts: Mapping[str, str]) -> str:
    return Problem({name: short(text) for name, text in texts.items()}).command


def short(text: str) -> str:
    """A text with its middle left out where it is long."""
    if len(text) <= _MOST_WORDS:
        return text
    half = _MOST_WORDS // 2
    return f"{text[:half]} … {text[-half:]}"


def _wrapped(text: str, indent: int, hanging: int | None = None) -> list[str]:
    later = indent if hanging is None else hanging
    return textwrap.wrap(
        text, _WIDTH, initial_indent=" " * indent, subsequent_indent=" " * later,
        break_on_hyphens=False,
    )  # fmt: skip
