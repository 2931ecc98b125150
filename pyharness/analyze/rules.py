"""Which conditions give which answer: an ordered list of rules, the first that matches decides.

A library looks at its arguments one after the other, so what it says of a later check holds only
where no earlier one spoke. An ordered list needs no words for that. What no rule matches gets the
answer that is left: SUCCESS, if there is any.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pyharness.analyze.conditions import AxisValues, Condition, text
from pyharness.analyze.rules_fold import Folded
from pyharness.analyze.rules_order import Ordered, best_order
from pyharness.analyze.rules_proof import put_through

# A list that tells cuDNN's reasons apart may have so many times the rules of one that does not.
SPLIT_BOUND = 4 / 3
OTHERWISE = "otherwise"
_MOST_ANSWERS = 40  # among more no order can be found in reasonable time


@dataclass(frozen=True, slots=True)
class Reason:
    """What cuDNN says of some of the problems that a rule decides.

    ``text``  verbatim; None where it has no word.
    ``rows``  so many of those that were asked.
    """

    text: str | None
    rows: int


@dataclass(frozen=True, slots=True)
class Rule:
    """One conjunction and its answer.

    ``status``      None: the worker died, or the row is another defect.
    ``conditions``  in the order of the axes; none: whatever no earlier rule matches.
    ``rows``        problems that it decides.
    ``asked``       of so many the reason is known.
    """

    status: str | None
    conditions: list[Condition]
    rows: int
    reasons: tuple[Reason, ...] = ()
    asked: int = 0

    @property
    def words(self) -> str:
        """The conjunction as a person reads it."""
        return text(self.conditions) if self.conditions else OTHERWISE


@dataclass(frozen=True, slots=True)
class RuleList:
    """The rules of one call in their order, the one for all else last.

    ``proven``        every problem was put through the list and got its own status.
    ``fewest``        it is proven that no ordered list has fewer rules that tells the same answers
                      apart and leaves the last one to what no rule matches.
    ``by_reason``     its answers are statuses with their reasons, not statuses alone.
    ``for_statuses``  so many rules has the list that was found for the statuses alone.
    """

    rules: list[Rule]
    proven: bool
    fewest: bool
    by_reason: bool
    for_statuses: int


def find_rules(
    axes: Sequence[AxisValues],
    codes: NDArray[np.uint8],
    names: Mapping[int, str | None],
    folded: Folded,
    split: bool = True,
) -> RuleList:
    """An ordered list that gives every problem its status, as short as its answers allow.

    Shapes   codes has one axis for each of axes; C order.
    ``names``   the status of each code that occurs; None for a defect.
    ``folded``  the same map, folded; its answers may tell reasons apart.
    ``split``   its rules may do so too, where this takes not many more: see SPLIT_BOUND.
    """
    statuses = list(dict.fromkeys(status for status, _ in folded.answers))
    of_status = np.array([statuses.index(status) for status, _ in folded.answers])
    ordered, last = _ordered(axes, folded, of_status[folded.cells], statuses)
    assert ordered is not None
    for_statuses = len(ordered.conjunctions) + 1
    given = statuses
    by_reason = False
    if split and len(statuses) < len(folded.answers) <= _MOST_ANSWERS:
        told = [status for status, _ in folded.answers]
        most = SPLIT_BOUND * len(ordered.conjunctions)
        longer, its_last = _ordered(axes, folded, folded.cells, told, most)
        if longer is not None and len(longer.conjunctions) <= most:
            ordered, last, given, by_reason = longer, its_last, told, True
    conditions = [_as_given(c.conditions, axes) for c in ordered.conjunctions]
    answers = [*(given[c.answer] for c in ordered.conjunctions), given[last]]
    code_of = {status: code for code, status in names.items()}
    proven, rows = put_through(conditions, [code_of[a] for a in answers], axes, codes)
    rules = [Rule(a, c, n) for a, c, n in zip(answers, [*conditions, []], rows, strict=True)]
    return RuleList(rules, proven, ordered.fewest, by_reason, for_statuses)


def _ordered(
    axes: Sequence[AxisValues],
    folded: Folded,
    cells: NDArray[np.int64],
    statuses: Sequence[str | None],
    most: float = math.inf,
) -> tuple[Ordered | None, int]:
    """The list for these answers, see best_order, and the answer of all else.

    Axes and classes come in an order that follows from their names and values, so that ties end the
    same way however the map was laid out.
    """
    counts = np.bincount(cells.reshape(-1), folded.counts.reshape(-1), len(statuses))
    accepted = [a for a, status in enumerate(statuses) if status == "SUCCESS"]
    last = accepted[0] if accepted else int(np.argmax(counts))
    by_name = sorted(range(len(axes)), key=lambda at: axes[at].name)
    cells = cells.transpose(by_name)
    sorted_axes, sorted_classes = [], []
    for place, at in enumerate(by_name):
        values = _sorted_values(axes[at])
        of_axis = folded.classes[at][values]
        firsts = np.sort(np.unique(of_axis, return_index=True)[1])
        met = of_axis[firsts]
        cells = cells.take(met, place)
        sorted_classes.append(np.argsort(met)[of_axis])
        sorted_axes.append(_reordered(axes[at], values))
    return best_order(cells, sorted_classes, sorted_axes, last, most), last


def _sorted_values(axis: AxisValues) -> list[int]:
    numbers = axis.numbers or (0.0,) * len(axis.labels)
    return sorted(
        range(len(axis.labels)),
        key=lambda i: (math.isnan(numbers[i]), numbers[i], axis.labels[i]),
    )


def _reordered(axis: AxisValues, values: Sequence[int]) -> AxisValues:
    numbers = axis.numbers and tuple(axis.numbers[i] for i in values)
    return replace(axis, labels=tuple(axis.labels[i] for i in values), numbers=numbers)


def _as_given(conditions: Sequence[Condition], axes: Sequence[AxisValues]) -> list[Condition]:
    """Conditions in the order of the axes, their sets in the order of the values."""
    by_name = {c["axis"]: c for c in conditions}
    found = []
    for axis in axes:
        if axis.name in by_name:
            one = by_name[axis.name]
            if axis.numbers is None:
                values = sorted(one["values"], key=axis.labels.index)
                one = Condition(axis=axis.name, op=one["op"], values=values)
            found.append(one)
    return found
