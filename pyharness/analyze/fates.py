"""Problems that the releases of a history accept and refuse alike: each such set, and its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from pyharness.analyze.conditions import EVERYTHING, AxisValues, Condition, plainest, text
from pyharness.analyze.cover import cover
from pyharness.analyze.partition import Classes

# The classes of each axis, and for each combination of classes whether it is accepted.
Accepted = tuple[Sequence[Classes], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Fate:
    """Problems of one call with the same history.

    ``accepted``    by each of the answers that were compared.
    ``rows``        so many problems.
    ``conditions``  conjunctions, whose union tells them from all others that any answer accepts.
    """

    accepted: tuple[bool, ...]
    rows: int
    conditions: list[list[Condition]]

    @property
    def words(self) -> str:
        """The same as a person reads it."""
        return " or ".join(text(c) if c else EVERYTHING for c in self.conditions)


def find_fates(axes: Sequence[AxisValues], answers: Sequence[Accepted]) -> list[Fate]:
    """Every set of problems that some answer accepts, by which ones do; the largest first.

    ``answers``  of the same problems.
    """
    joint, pairs = [], []
    for at in range(len(axes)):
        of_all = np.stack([classes[at] for classes, _ in answers])
        firsts, numbers = np.unique(of_all, axis=1, return_index=True, return_inverse=True)[1:]
        joint.append(numbers.reshape(-1))
        pairs.append(of_all[:, firsts])
    accepted = np.stack(
        [cells[np.ix_(*(p[n] for p in pairs))] for n, (_, cells) in enumerate(answers)], -1
    )
    if not accepted.any():
        return []
    # Values that nothing was ever accepted with would only make the words longer.
    for at, numbers in enumerate(joint):
        others = tuple(n for n in range(accepted.ndim) if n != at)
        alive = np.asarray(accepted.any(axis=others))
        accepted = np.compress(alive, accepted, axis=at)
        kept = np.flatnonzero(alive[numbers])
        joint[at] = (np.cumsum(alive) - 1)[numbers[kept]]
        axes = [*axes[:at], _only(axes[at], kept), *axes[at + 1 :]]
    sizes = [np.bincount(numbers).astype(np.int64) for numbers in joint]
    counts = reduce(np.multiply.outer, sizes, np.ones((), np.int64))
    never = np.asarray(~accepted.any(axis=-1))
    found = []
    for history in np.unique(accepted.reshape(-1, len(answers)), axis=0):
        if history.any():
            target = np.asarray((accepted == history).all(axis=-1))
            boxes = cover(target, sizes, never).boxes
            said = [_conditions(target, box, joint, axes) for box in boxes]
            found.append(Fate(tuple(history.tolist()), int(counts[target].sum()), said))
    return sorted(found, key=lambda fate: (-fate.rows, fate.words))


def _conditions(
    target: NDArray[np.bool_],
    box: Sequence[Sequence[int]],
    joint: Sequence[Classes],
    axes: Sequence[AxisValues],
) -> list[Condition]:
    """A box in words: values that occur in none of its problems are not named."""
    own = np.argwhere(target[np.ix_(*box)])
    said = []
    for at, (side, of_axis, axis) in enumerate(zip(box, joint, axes, strict=True)):
        needed = [side[n] for n in np.unique(own[:, at])]
        if (condition := plainest(axis, of_axis, needed, side)) is not None:
            said.append(condition)
    return said


def _only(axis: AxisValues, places: NDArray[np.intp]) -> AxisValues:
    numbers = None if axis.numbers is None else tuple(axis.numbers[p] for p in places)
    return replace(axis, labels=tuple(axis.labels[p] for p in places), numbers=numbers)
