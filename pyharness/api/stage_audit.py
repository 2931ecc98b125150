"""Documented rules that only a GPU can show, tried on one: by what its stages refuse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.analyze.conditions import AxisValues, text
from pyharness.analyze.findings import Audit, Finding, Witness
from pyharness.analyze.observed import stages_of, told_by
from pyharness.analyze.verdicts import Answers, Judged, judge_acceptance, judge_refusal
from pyharness.api.onward import DeviceChoice, Onward, open_onward
from pyharness.api.progress import Progress
from pyharness.errors import HarnessError
from pyharness.releases.model import Release
from pyharness.spec.axes import Axis, SizeAxis
from pyharness.spec.documented.facts import facts_of, sources_of
from pyharness.spec.documented.rules import REFUSALS, Rule
from pyharness.spec.problem import Problem
from pyharness.spec.run_axes import problem_axes
from pyharness.spec.stage_results import CaseResult, StageResult
from pyharness.spec.stages import CALLS, STAGES
from pyharness.spec.statuses import family

# Small, and good for every algo: what a rule does not speak of.
_GOOD = {"batch_size": "3", "max_seq_length": "4", "aux_flags": "padded_io_enabled"}
_TEXTS = {
    "data_type": ("float", "double", "half", "bfloat16"),
    "math_prec": ("float", "double", "half"),
    "lclip": ("-1.0", "0.0", "1.0"),
    "rclip": ("-1.0", "0.0", "1.0"),
    "dropout_rate": ("0.0", "0.5"),
    "proj_size": ("same", "half"),
}
_FULL_ROWS = ("equal", "descending", "unsorted")
_EMPTY_ROWS = ("one_zero", "all_zero")
_SIZES = ("hidden_size", "input_size", "vector_size", "num_layers")
_MOST_COMBINATIONS = 4_000
_MOST_OF_RULE, _MOST_BESIDE = 16, 32  # cases of a rule, and cases that differ in its fields
_NOT_COUNTED, _ACCEPTED, _AS_NAMED, _REFUSED = range(4)


@dataclass(frozen=True, slots=True)
class _Space:
    """The problems around a rule: every combination of values of the axes that it speaks of.

    Shapes   applies, changes: of the axes' lengths.
    ``applies``  where the rule speaks of the problem.
    ``changes``  axes that have another value than the good one.
    """

    axes: list[Axis]
    values: list[list[int]]
    applies: NDArray[np.bool_]
    changes: NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each axis has."""
        return tuple(map(len, self.values))

    def problem(self, place: Sequence[int]) -> Problem:
        """One of them."""
        cells = self.cells(place)
        return Problem(_GOOD | {axis.name: axis.label(values[i]) for axis, values, i in cells})

    def cells(self, place: Sequence[int]) -> Iterator[tuple[Axis, list[int], int]]:
        """Each axis with its values and which of them it has there."""
        return zip(self.axes, self.values, place, strict=True)

    def chosen(self) -> list[tuple[int, ...]]:
        """The places to try: of the rule those with the fewest changes, then those beside them."""
        order = np.argsort(self.changes, axis=None, kind="stable")
        places = [tuple(map(int, p)) for p in np.transpose(np.unravel_index(order, self.shape))]
        mine = [p for p in places if self.applies[p]][:_MOST_OF_RULE]
        apart = {
            p: min(sum(a != b for a, b in zip(p, q, strict=True)) for q in mine)
            for p in places
            if not self.applies[p]
        }
        return mine + sorted(apart, key=apart.__getitem__)[:_MOST_BESIDE]


def audit_stages(
    audit: Audit, release: Release, device: DeviceChoice, timeout_s: float, progress: Progress
) -> None:
    """Tries what needs a GPU on a device, if there is one; the findings of the audit are replaced.

    Raises  UsageError or HarnessError if a device that is given by number cannot be used.
    """
    left = [i for i, f in enumerate(audit.findings) if f.verdict == "needs_a_gpu"]
    onward = open_onward(release, device, timeout_s) if left else ""
    if isinstance(onward, str):
        audit.no_device = onward
        return
    with onward:
        for done, place in enumerate(left):
            progress(f"{release.name} rules on {onward.facts.name}", done, len(left))
            audit.findings[place] = _on_device(audit.findings[place], onward)


def _on_device(finding: Finding, onward: Onward) -> Finding:
    """A rule that the host cannot show, judged by the stages of a device.

    Only cases count that no stage before those of the rule's calls refused.

    Returns  the finding as it was, with why, where no case can show the rule.
    """
    rule = finding.rule
    assert isinstance(rule, Rule)
    stages = sorted(stages_of(rule.later_calls), key=STAGES.index)
    if why := _inexpressible(rule, stages):
        return replace(finding, seen=why)
    space = _space(rule, onward)
    if isinstance(space, str):
        return replace(finding, seen=space)
    codes = np.full(space.shape, _NOT_COUNTED)
    cases: dict[tuple[int, ...], CaseResult] = {}
    ended = ""
    for place in space.chosen():
        try:
            cases[place] = onward.take(space.problem(place), stages[-1])
        except HarnessError as error:
            ended = error.message
            break
        codes[place] = _code(rule, stages, cases[place])
    judged = _judged(rule, space, codes)
    left = [c for p, c in cases.items() if space.applies[p] and codes[p] == _NOT_COUNTED]
    return Finding(
        rule,
        judged.verdict,
        CALLS[stages[-1]],
        _words(onward, judged, codes, left, ended),
        int(judged.kept.sum()),
        int(judged.broken.sum()),
        judged.not_counted,
        _witness(space, judged, cases, stages),
        () if judged.where is None else tuple(text(c) for c in judged.where.conditions),
        provenance=onward.facts.provenance,
        device=onward.facts.name,
    )


def _inexpressible(rule: Rule, stages: Sequence[str]) -> str:
    """Why no case can show a rule; empty if one may."""
    if rule.status == "effect":
        return f"no status would show it: {rule.effect}"
    if not stages:
        return f"{', '.join(rule.later_calls)} is always called as it should be"
    of_machine = {"compute_capability", "multiprocessors", "os"}
    unsaid = sorted(n for n in rule.when.names - of_machine if not sources_of(n))
    return f"a problem does not say {', '.join(unsaid)}" if unsaid else ""


def _space(rule: Rule, onward: Onward) -> _Space | str:
    """The problems around a rule, or why none shows it."""
    names = dict.fromkeys(axis for name in sorted(rule.when.names) for axis in sources_of(name))
    axes = [problem_axes()[name] for name in names]
    for lengths in (_FULL_ROWS, _FULL_ROWS + _EMPTY_ROWS):  # empty rows break rules of their own
        values = [_values(axis, rule, lengths) for axis in axes]
        shape = tuple(map(len, values))
        if np.prod(shape, dtype=float) > _MOST_COMBINATIONS:
            return "it speaks of too much to be tried case by case"
        space = _Space(axes, values, np.zeros(shape, bool), np.zeros(shape, np.int64))
        _fill(space, rule, told_by(onward.facts))
        if space.applies.any():
            return space
    return f"no problem on {onward.facts.name} is one that it speaks of"


def _fill(space: _Space, rule: Rule, told: Mapping[str, Any]) -> None:
    good = Problem(_GOOD)
    for place in np.ndindex(space.shape):
        problem = space.problem(place)
        space.applies[place] = bool(rule.when.truth({**facts_of(problem), **told}).value)
        own = ((axis.name, values[i]) for axis, values, i in space.cells(place))
        space.changes[place] = sum(value != good.value(name) for name, value in own)


def _values(axis: Axis, rule: Rule, lengths: Sequence[str]) -> list[int]:
    """The values of an axis that may tell problems of a rule from others."""
    good = Problem(_GOOD).value(axis.name)
    if axis.name == "seq_lengths" or axis.name in _TEXTS:
        return [axis.parse(text)[0] for text in _TEXTS.get(axis.name, lengths)]
    if isinstance(axis, SizeAxis):
        constants = {v for f in rule.when.constants.values() for v in f if type(v) is int}
        near = {c + step for c in constants if c > 1 for step in (0, 1)}
        return sorted({good, good + 1, *near}) if axis.name in _SIZES else [good]
    return [axis.parse(name)[0] for name in axis.names] if axis.names else [good]


def _code(rule: Rule, stages: Sequence[str], case: CaseResult) -> int:
    """What a case says of a rule."""
    refused = _refused(stages, case)
    if refused is not None:
        named = rule.status not in REFUSALS or family(refused.status or "") == family(rule.status)
        return _AS_NAMED if named else _REFUSED
    return _ACCEPTED if all(map(case.passes, stages)) else _NOT_COUNTED


def _refused(stages: Sequence[str], case: CaseResult) -> StageResult | None:
    """The first of these stages that was refused."""
    return next((s for s in case.stages if s.stage in stages and s.outcome == "unsupported"), None)


def _judged(rule: Rule, space: _Space, codes: NDArray[np.int64]) -> Judged:
    answers = Answers(codes == _ACCEPTED, (codes == _AS_NAMED) | (codes == _REFUSED))
    fields = tuple(range(len(space.axes)))
    axes = [
        AxisValues(
            axis.name,
            tuple(axis.label(v) for v in values),
            tuple(axis.number(v) for v in values) if axis.numeric else None,
        )
        for axis, values in zip(space.axes, space.values, strict=True)
    ]
    if rule.status == "accepted":
        return judge_acceptance(space.applies, answers, fields, space.changes, axes, later=False)
    named = codes == _AS_NAMED
    return judge_refusal(space.applies, answers, named, fields, space.changes, axes, later=False)


def _words(
    onward: Onward,
    judged: Judged,
    codes: NDArray[np.int64],
    left: Sequence[CaseResult],
    ended: str,
) -> str:
    """What was seen.

    ``left``  cases of the rule that came to an end before its calls.
    """
    accepted = int(((codes == _ACCEPTED) & (judged.kept | judged.broken)).sum())
    counts = [(accepted, "accepted"), (int(judged.refused.sum()), "refused")]
    name = f"{onward.facts.name}, emulated" if onward.facts.emulated else onward.facts.name
    words = [f"on {name}: {', '.join(f'{n:,} {what}' for n, what in counts if n) or 'nothing'}"]
    if judged.not_counted:
        words.append(f"{judged.not_counted:,} not counted (another rule may have refused them)")
    if left:
        ends = dict.fromkeys(s.stage if (s := case.stopped) else "the host" for case in left)
        words.append(f"{len(left):,} not counted (they ended before, at {' or '.join(ends)})")
    return "; ".join([*words, *([ended] if ended else [])])


def _witness(
    space: _Space,
    judged: Judged,
    cases: dict[tuple[int, ...], CaseResult],
    stages: Sequence[str],
) -> Witness | None:
    if judged.witness is None:
        return None
    place = tuple(map(int, np.unravel_index(judged.witness, space.shape)))
    refused = _refused(stages, cases[place])
    command = space.problem(place).command
    if refused is None:
        return Witness(command, "SUCCESS", None)
    return Witness(command, refused.status, refused.reason)
