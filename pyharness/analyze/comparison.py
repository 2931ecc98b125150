"""Two status maps of one grid, point by point: what changed, and in which words exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pyharness.analyze.conditions import AxisValues, Condition, describe, proves, text
from pyharness.analyze.cover import cover
from pyharness.analyze.partition import Classes, partition

Change = Literal[
    "newly_refused",
    "newly_failed",
    "newly_accepted",
    "no_longer_failed",
    "other_status",
    "other_reason",
]
CHANGES: tuple[Change, ...] = (
    "newly_refused",
    "newly_failed",
    "newly_accepted",
    "no_longer_failed",
    "other_status",
    "other_reason",
)
_BLOCK = 1 << 22


@dataclass(frozen=True, slots=True)
class Side:
    """One release's map of the grid.

    Shapes   codes: uint8 of the grid's shape; text_ids: uint16 of the same, or None.
    ``names``  status of each code; None: the worker died, or the row is a defect.
    ``texts``  reason of each text id.
    """

    codes: NDArray[np.uint8]
    names: Sequence[str | None]
    text_ids: NDArray[np.uint16] | None = None
    texts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Points that changed in the same way.

    ``label``       their number in Comparison.labels.
    ``conditions``  conjunctions whose union is exactly these points.
    ``proven``      every point of the grid was checked against the conditions.
    ``fewest``      no description has fewer conjunctions.
    ``values``      axis to the values that occur among the points, for axes that have several.
    """

    label: int
    change: Change
    status_a: str | None
    status_b: str | None
    reason_a: str | None
    reason_b: str | None
    rows: int
    conditions: list[list[Condition]]
    proven: bool
    fewest: bool
    values: dict[str, list[str]]

    @property
    def words(self) -> list[str]:
        """The conjunctions as a person reads them."""
        return [text(c) for c in self.conditions]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed in one grid.

    Shapes   labels: uint16 of the grid's shape; 0 where nothing changed.
    """

    labels: NDArray[np.uint16] = field(repr=False)  # as many as there are problems
    groups: list[Group]


def change_of(a: str | None, b: str | None) -> Change | None:
    """What the step from one status to another is called; None if it is none.

    ``None`` for a status stands for a defect: a worker that died.
    """
    if a == b:
        return None
    if b is None:
        return "newly_failed"
    if a is None:
        return "no_longer_failed"
    if b == "SUCCESS":
        return "newly_accepted"
    return "newly_refused" if a == "SUCCESS" else "other_status"


_Key = tuple[str | None, str | None, str | None, str | None]


class _Labeller:
    """Numbers the kinds of change as they are met."""

    def __init__(self) -> None:
        self.keys: list[_Key] = []
        self._numbers: dict[_Key, int] = {}

    def number(self, key: _Key) -> int:
        if key not in self._numbers:
            self.keys.append(key)
            self._numbers[key] = len(self.keys)
        return self._numbers[key]


def _label_statuses(a: Side, b: Side, labeller: _Labeller) -> NDArray[np.uint16]:
    table = np.zeros((256, 256), np.uint16)
    pairs = np.zeros(1 << 16, bool)
    flat_a, flat_b = a.codes.reshape(-1), b.codes.reshape(-1)
    blocks = [slice(s, s + _BLOCK) for s in range(0, flat_a.size, _BLOCK)]
    labels = np.empty(flat_a.size, np.uint16)
    for where in blocks:
        np.add(flat_a[where].astype(np.uint16) << 8, flat_b[where], out=labels[where])
        pairs[labels[where]] = True
    for pair in np.flatnonzero(pairs):
        code_a, code_b = divmod(int(pair), 256)
        name_a, name_b = a.names[code_a], b.names[code_b]
        if change_of(name_a, name_b):
            table[code_a, code_b] = labeller.number((name_a, name_b, None, None))
    flat_table = table.reshape(-1)
    for where in blocks:
        labels[where] = flat_table[labels[where]]
    return labels


def _label_reasons(a: Side, b: Side, labels: NDArray[np.uint16], labeller: _Labeller) -> None:
    """Numbers points with the same refusal and another reason, in place."""
    if a.text_ids is None or b.text_ids is None:
        return
    flat_a, flat_b, codes = a.text_ids.reshape(-1), b.text_ids.reshape(-1), a.codes.reshape(-1)
    refused = np.array([n not in ("SUCCESS", None) for n in a.names])
    for start in range(0, labels.size, _BLOCK):
        where = slice(start, start + _BLOCK)
        same = np.flatnonzero((labels[where] == 0) & refused[codes[where]])
        keys = (
            codes[where][same].astype(np.int64) << 32
            | flat_a[where][same].astype(np.int64) << 16
            | flat_b[where][same]
        )
        distinct, inverse = np.unique(keys, return_inverse=True)
        numbers = np.zeros(len(distinct), np.uint16)
        for i, key in enumerate(distinct):
            status = a.names[int(key) >> 32]
            reason_a = a.texts[int(key) >> 16 & 0xFFFF]
            reason_b = b.texts[int(key) & 0xFFFF]
            if reason_a != reason_b:
                numbers[i] = labeller.number((status, status, reason_a, reason_b))
        labels[same + start] = numbers[inverse]


def _occurring(
    target: NDArray[np.bool_], classes: Sequence[Classes], axes: Sequence[AxisValues]
) -> dict[str, list[str]]:
    values = {}
    for at, (of_axis, axis) in enumerate(zip(classes, axes, strict=True)):
        if len(axis.labels) > 1:
            others = tuple(i for i in range(target.ndim) if i != at)
            met = np.asarray(target.any(axis=others))[of_axis]
            values[axis.name] = [label for label, m in zip(axis.labels, met, strict=True) if m]
    return values


def compare(axes: Sequence[AxisValues], a: Side, b: Side) -> Comparison:
    """Every change between two maps of the same grid, described exactly.

    Shapes   a.codes and b.codes have one axis for each of axes.
    Returns  groups in the order of CHANGES, the largest of a kind first.
    """
    labeller = _Labeller()
    flat = _label_statuses(a, b, labeller)
    _label_reasons(a, b, flat, labeller)
    labels = flat.reshape(a.codes.shape)
    part = partition(labels)
    counts = part.counts
    groups = []
    for number, (status_a, status_b, reason_a, reason_b) in enumerate(labeller.keys, 1):
        target = part.quotient == number
        found = cover(target, part.sizes)
        conditions = [describe(box, part.classes, axes) for box in found.boxes]
        groups.append(
            Group(
                number,
                change_of(status_a, status_b) or "other_reason",
                status_a,
                status_b,
                reason_a,
                reason_b,
                int(counts[target].sum()),
                conditions,
                proves(conditions, axes, labels, number),
                found.optimal,
                _occurring(target, part.classes, axes),
            )
        )
    groups.sort(key=lambda g: (CHANGES.index(g.change), -g.rows, g.words))
    return Comparison(labels, groups)
