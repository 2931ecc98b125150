"""A documented rule against what a library answered over a grid: the verdict, and on which rows.

An accepted row always counts. A refused row counts only if the rule can be to blame, since another
one may refuse first: some change of one axis that the rule speaks of takes the row out of the rule
and is accepted. Where there are rows of which every such axis can do that, only these count; where
there are none, those of which every such axis can do it together with one other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pyharness.analyze.conditions import AxisValues, Condition, describe
from pyharness.analyze.cover import cover
from pyharness.analyze.partition import partition

Mask = NDArray[np.bool_]
Verdict = Literal[
    "holds",
    "contradicted",
    "partly",
    "needs_a_gpu",
    "cannot_be_told",
    "not_applicable",
]
VERDICTS: tuple[Verdict, ...] = (
    "contradicted",
    "partly",
    "holds",
    "needs_a_gpu",
    "cannot_be_told",
    "not_applicable",
)
Agreement = Literal["agrees", "narrower", "wider"]
AGREEMENTS: tuple[Agreement, ...] = ("wider", "narrower", "agrees")


@dataclass(frozen=True, slots=True)
class Answers:
    """What a library said over a grid.

    Shapes   accepted and refused are of the grid's shape; a row of neither had no answer.
    """

    accepted: Mask
    refused: Mask


@dataclass(frozen=True, slots=True)
class Described:
    """What tells some rows from others, in words.

    ``rows``        how many there are.
    ``conditions``  conjunctions; of the rows compared, exactly these fulfil one of them.
    """

    rows: int
    conditions: list[list[Condition]]


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """A rule judged on one grid.

    ``kept``         rows that answered as the rule says; ``broken``: otherwise.
    ``refused``      the rows that were refused and count.
    ``not_counted``  refused rows of the rule that another one may have refused.
    ``witness``      the row with the fewest changes: a broken one, else a kept one.
    ``where``        what tells the broken rows from the kept, if there are both.
    """

    verdict: Verdict
    kept: Mask
    broken: Mask
    refused: Mask
    not_counted: int
    witness: int | None
    where: Described | None


def blamed(applies: Mask, answers: Answers, fields: Sequence[int]) -> tuple[Mask, Mask, Mask]:
    """The refused rows of a rule that it can be to blame for.

    Shapes   masks of one grid; fields are places of the axes that the rule speaks of.
    Returns  rows for which every axis that leads out of the rule leads to an accepted row; those
             for which it does so if one other axis may change with it; and rows for which some axis
             does alone. Each holds the one before.
    """
    good = ~applies & answers.accepted
    leads = [(~applies).any(axis=f, keepdims=True) for f in fields]
    alone: list[Mask] = [np.asarray(good.any(axis=f, keepdims=True)) for f in fields]
    none = np.zeros_like(applies)
    some = reduce(np.logical_or, alone, none)
    # Two types that must be equal can only change together: neither leads anywhere alone.
    paired = [
        reduce(
            np.logical_or, (_elsewhere(good, f).any(axis=g, keepdims=True) for g in fields), none
        )
        for f in fields
    ]
    rows = applies & answers.refused & some

    def every(into: Sequence[Mask]) -> Mask:
        return reduce(np.logical_and, (~a | b for a, b in zip(leads, into, strict=True)), rows)

    return every(alone), every(paired), rows


def _elsewhere(rows: Mask, axis: int) -> Mask:
    """Where one of the rows differs in this axis and in no other."""
    return np.asarray(rows.sum(axis=axis, keepdims=True) > rows)


def judge_refusal(
    applies: Mask,
    answers: Answers,
    named: Mask,
    fields: Sequence[int],
    changes: NDArray[np.int64],
    axes: Sequence[AxisValues],
    *,
    later: bool,
) -> Judged:
    """A rule that says that problems are refused.

    Shapes   all of the grid's shape. ``named``: the status is the one that the document names;
             True everywhere if it names none. ``changes``: axes that differ from their default.
    ``later``  a call that needs a GPU may be the one that refuses: acceptance breaks nothing then.
    """
    *surely, counted = blamed(applies, answers, fields)
    counted = next((rows for rows in surely if rows.any()), counted)
    accepted = applies & answers.accepted
    kept, broken = counted & named, accepted | (counted & ~named)
    verdict = _verdict(kept, broken)
    if verdict == "contradicted" and later and not (counted & ~named).any():
        verdict = "needs_a_gpu"
    return _judged(verdict, kept, broken, applies & answers.refused, counted, changes, axes)


def judge_acceptance(
    applies: Mask,
    answers: Answers,
    fields: Sequence[int],
    changes: NDArray[np.int64],
    axes: Sequence[AxisValues],
    *,
    later: bool,
) -> Judged:
    """A rule that says that problems are accepted, with or without an effect.

    Shapes   as judge_refusal.
    ``later``  what it says shows in a call that needs a GPU: acceptance proves nothing yet.
    """
    *_, broken = blamed(applies, answers, fields)
    kept = applies & answers.accepted
    verdict = _verdict(kept, broken)
    if verdict == "holds" and later:
        verdict = "needs_a_gpu"
    return _judged(verdict, kept, broken, applies & answers.refused, broken, changes, axes)


def shown_by(sign: Mask, applies: Mask, answers: Answers) -> bool:
    """Whether the host shows an effect: where the sign is, it accepts with it and never without."""
    with_it, without = sign & applies & answers.accepted, sign & ~applies
    return bool(with_it.any() and without.any() and not (without & answers.accepted).any())


def _verdict(kept: Mask, broken: Mask) -> Verdict:
    match bool(kept.any()), bool(broken.any()):
        case True, True:
            return "partly"
        case True, False:
            return "holds"
        case False, True:
            return "contradicted"
        case _:
            return "cannot_be_told"


def _judged(
    verdict: Verdict,
    kept: Mask,
    broken: Mask,
    refused: Mask,
    counted: Mask,
    changes: NDArray[np.int64],
    axes: Sequence[AxisValues],
) -> Judged:
    where = tell_apart(broken, kept, axes) if verdict == "partly" else None
    witness = _least(broken if broken.any() else kept, changes)
    not_counted = int((refused & ~counted).sum())
    return Judged(verdict, kept, broken, counted, not_counted, witness, where)


def _least(rows: Mask, changes: NDArray[np.int64]) -> int | None:
    """The row with the fewest changes; the first of equals; None if there is no row."""
    places = np.flatnonzero(rows)
    if not len(places):
        return None
    return int(places[np.argmin(changes.reshape(-1)[places])])


def tell_apart(rows: Mask, others: Mask, axes: Sequence[AxisValues]) -> Described:
    """What rows of a grid have and others have not, in terms of as few axes as tell them apart.

    Shapes   two masks of the grid's shape that share no row; rows of neither do not count.
    """
    count = int(rows.sum())
    for axis in reversed(range(rows.ndim)):
        fewer: Mask = np.asarray(rows.any(axis=axis, keepdims=True))
        rest: Mask = np.asarray(others.any(axis=axis, keepdims=True))
        if not (fewer & rest).any():
            rows, others = fewer, rest
    left = [axis for axis in range(rows.ndim) if rows.shape[axis] > 1]
    region = np.ascontiguousarray(rows.reshape([rows.shape[axis] for axis in left]))
    if not left:
        return Described(count, [[]])
    part = partition(region)
    names = [axes[axis] for axis in left]
    boxes = cover(part.quotient, part.sizes).boxes
    return Described(count, [describe(box, part.classes, names) for box in boxes])


@dataclass(frozen=True, slots=True)
class Compared:
    """What a framework allows against what a library accepts.

    ``wider``     allowed and refused; ``narrower``: accepted and not allowed; None: no such rows.
    ``witness``   an allowed row that is refused, the one with the fewest changes.
    """

    verdict: Agreement
    allowed: int
    wider: Described | None
    narrower: Described | None
    witness: int | None


def compare_allowed(
    allowed: Mask, answers: Answers, changes: NDArray[np.int64], axes: Sequence[AxisValues]
) -> Compared:
    """Compares the problems that a framework hands over with those that a library accepts.

    Shapes   all of the grid's shape.
    Returns  wider if it allows what is refused, narrower if it only leaves out what is accepted.
    """
    over, under = allowed & answers.refused, ~allowed & answers.accepted
    both = allowed & answers.accepted
    return Compared(
        "wider" if over.any() else "narrower" if under.any() else "agrees",
        int((over | both).sum()),
        tell_apart(over, both, axes) if over.any() else None,
        tell_apart(under, both | answers.refused, axes) if under.any() else None,
        _least(over, changes),
    )
