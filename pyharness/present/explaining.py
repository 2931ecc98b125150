"""An explanation in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pyharness.analyze.explanation import Blame, Explanation, Refusal, Suggestion
from pyharness.present.explanation_data import explain_command, try_command
from pyharness.present.on_device import (
    case_words,
    device_name,
    stages_line,
    stopped_lines,
    verdict,
)
from pyharness.present.trying import ROLES
from pyharness.present.units import count_text, wrapped
from pyharness.spec.batches import list_text
from pyharness.spec.calls import call_named
from pyharness.spec.length_advice import NAMES
from pyharness.spec.masks import CLOSE_UP, MaskReading
from pyharness.spec.problem import Problem
from pyharness.spec.reading import Reading

_MOST_WORDS = 160  # characters of a value: a list of lengths may have thousands
_MOST_FAULTS = 5
_SHAPES = "x, y: steps x batch x width; h, c: layers and directions x batch x width"


def render_explanation(found: Explanation, reading: Reading | None = None) -> str:
    """Who refuses it and why, and what is accepted nearby; ends without a newline.

    ``reading``  where the problem came from: a mask that is no lengths comes before all else.
    """
    lines, as_if = [], ""
    if reading is not None and reading.mask is not None and reading.mask.lengths is None:
        lines += [*_no_lengths(reading.mask), ""]
        as_if = "as if every row were full, "
    words = _command(found.problem.given) or "the defaults"
    if found.accepted:
        host = f"all {len(found.results)} host calls accept"
        further = f"; {verdict(found.device)}" if found.device else ""
        lines += wrapped(f"{as_if}cuDNN {found.release}: {host} {words}{further}", 0, 2)
        lines += _on_device(found)
        return "\n".join([*lines, *_notes(found)])
    lines += [*wrapped(f"{as_if}cuDNN {found.release} refuses {words}", 0, 2), ""]
    for refusals in _alike(found.refusals):
        lines += [*_refusal(refusals), ""]
    passed = [r for r in found.results if r.outcome == "passed"]
    if passed:
        roles = ", ".join(ROLES[r.role] for r in passed)
        lines += [*wrapped(f"accepted: {roles}", 0), ""]
    lines += _suggestions(found)
    return "\n".join([*lines, *_notes(found)])


def _on_device(found: Explanation) -> list[str]:
    """What stage stops an accepted problem on a device, and what is accepted nearby."""
    device = found.device
    if device is None or device.case.stopped is None:
        return []
    lines = ["", *stopped_lines(device, found.release, found.problem)]
    refused = device.case.stopped.outcome == "unsupported"
    if refused:
        lines += _to_blame(device.blames, device.together)
        lines += [] if device.blames else ["  no change that was tried makes it pass"]
    lines += ["", *stages_line(device.case)]
    return [*lines, "", *_suggestions(found)] if refused else lines


def _no_lengths(mask: MaskReading) -> list[str]:
    lines = wrapped(f"no release takes this mask: {'; '.join(mask.summary)}", 0, 2)
    lines += _mask_words(mask)
    lines += wrapped(
        "closed up it has lengths; x is [steps, batch, width], mask [steps, batch], and this gives "
        "what a network gives that skips masked steps:",
        2,
    )
    return lines + [f"      {line}" for line in CLOSE_UP.splitlines()]


def _mask_words(mask: MaskReading) -> list[str]:
    few = len(mask.faults) <= _MOST_FAULTS
    said = [*([f.words for f in mask.faults] if few else mask.summary), *mask.notes]
    return [line for words in said for line in wrapped(f"- {words}", 2, 4)]


def render_problem(found: Explanation, reading: Reading) -> str:
    """What the problem was taken to be: how it was read, and what was not given of it.

    Ends without a newline.
    """
    lines = ["the problem:"]
    lines += [line for note in reading.notes for line in wrapped(f"- {note}", 2, 4)]
    if (mask := reading.mask) is not None:
        order = "time x batch" if mask.time_major else "batch x time"
        size = f"{count_text(mask.batch_size, 'sequence')} of up to {mask.max_seq_length:,} steps"
        lines += wrapped(f"- the mask is {order}: {size}", 2, 4)
        lines += _mask_words(mask) if mask.lengths is not None else []
    return "\n".join([*lines, *in_full(found)])


def in_full(found: Explanation) -> list[str]:
    """The defaults of the calls that were made, and the shapes of their tensors."""
    roles = [r.role for r in found.results]
    axes = {a.name for r in found.results for a in call_named(r.call).axes}
    defaults = {n: t for n, t in found.problem.defaults.items() if n in axes}
    lines = wrapped(f"with the defaults {_command(defaults)}", 2, 4) if defaults else []
    shapes = {n: "x".join(map(str, s)) for n, s in found.problem.shapes.items() if n in roles}
    if shapes:
        words = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        lines += wrapped(f"so {words} ({_SHAPES})", 2, 4)
    return lines


def _notes(found: Explanation) -> list[str]:
    return [line for note in found.notes for line in wrapped(f"note: {note}", 0)]


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
        lines += wrapped(said, 2)
    elif result.reason:
        lines += wrapped(result.reason, 2)
    lines += _to_blame(blames, group[0].together)
    if not blames:
        lines.append("  no change of up to three arguments makes it pass")
    return lines


def _to_blame(blames: Sequence[Blame], sets: Sequence[tuple[str, ...]]) -> list[str]:
    """The arguments to blame; ``sets``: those that have to change together."""
    lines = []
    alone = [b for b in blames if b.alone]
    if alone:
        head = "to blame:" if len(alone) == 1 else "to blame, each enough to change alone:"
        lines += [f"  {head}", *_blames(alone)]
    together = [b for b in blames if not b.alone]
    if together:
        words = " or ".join(" and ".join(names) for names in sets)
        lines += [*wrapped(f"to blame, to be changed together ({words}):", 2), *_blames(together)]
    return lines


def _blames(blames: Iterable[Blame]) -> Iterator[str]:
    for blame in blames:
        value = short(blame.value)
        same = blame.argument.lower() == blame.axis.replace("_", "").lower()
        name = blame.argument if same else f"{blame.argument} ({blame.axis})"
        yield from wrapped(f"{name} = {value}", 4, 8)
        for advice in blame.rows:
            yield from wrapped(advice.words, 8)
        allowed = blame.allowed or "nothing that was tried"
        yield from wrapped(f"allowed: {allowed}", 8)


def _suggestions(found: Explanation) -> list[str]:
    if not found.suggestions and found.device is None:
        return [f"no accepted problem was found among {found.searched:,} near it"]
    tried = f"{found.searched:,} problems tried"
    if found.device is not None:
        where = device_name(found.device.facts)
        tried = f"{count_text(found.device.searched, 'problem')} tried on {where}"
    if not found.suggestions:
        return [f"no accepted problem was found, of {tried}"]
    lines = [f"nearest accepted, of {tried}, least change first:"]
    for number, suggestion in enumerate(found.suggestions, 1):
        lines += _suggestion(number, suggestion, found.release)
    return lines


def _suggestion(number: int, suggestion: Suggestion, release: str) -> list[str]:
    words = "  ".join(_command(c.changes) for c in suggestion.changes)
    lines = wrapped(f"{number}. {words}", 2, 5)
    for change in suggestion.changes:
        what = f"{change.words}: {change.cost}" if change.words else change.cost
        head = f"{', '.join(change.changes)}: " if len(suggestion.changes) > 1 else ""
        lines += wrapped(f"{head}{what}", 5)
    if suggestion.case is not None:
        lines += wrapped(f"on the device: {case_words(suggestion.case)}", 5)
        return [*lines, *wrapped(explain_command(release, suggestion.problem), 5, 9)]
    for one in suggestion.predicted:
        lines += wrapped(f"but predicted on a GPU: {one.rule.says} ({one.rule.id})", 5)
    return [*lines, *wrapped(try_command(release, suggestion.problem), 5, 9)]


def render_recipes(found: Explanation) -> str:
    """The ways around what may be refused about the lengths; empty if nothing is.

    Ends without a newline.
    """
    if not found.advice:
        return ""
    lines, with_code = ["the lengths, with the same numbers in the end:"], False
    for advice in found.advice:
        lines += wrapped(f"{advice.words}:", 2)
        for recipe in advice.recipes:
            lines += wrapped(f"- {recipe.title}", 2, 4)
            lines += [f"      {line}" for line in recipe.code.splitlines()]
            lines += [line for note in recipe.notes for line in wrapped(f"({note})", 4)]
            with_code |= bool(recipe.code)
    return "\n".join(lines + (wrapped(f"in this code {NAMES}", 2) if with_code else []))


def _command(texts: Mapping[str, str]) -> str:
    return Problem({name: short(text) for name, text in texts.items()}).command


def short(text: str) -> str:
    """A text with its middle left out where it is long: of a list whole numbers."""
    if len(text) <= _MOST_WORDS:
        return text
    if text.startswith("["):
        return list_text([int(n) for n in text[1:-1].split(",")])
    return f"{text[: _MOST_WORDS // 2]} … {text[-_MOST_WORDS // 2 :]}"
