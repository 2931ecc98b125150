"""What cuDNN says of the problems that each rule decides."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pyharness.analyze.conditions import AxisValues, Condition, allows
from pyharness.analyze.rules import Reason, Rule
from pyharness.analyze.rules_fold import Folded, Say
from pyharness.analyze.rules_proof import first_matches

MOST_ASKED = 20_000  # of one rule: 0.1 s
_MOST_CELLS = 200_000


def with_row_reasons(
    rules: Sequence[Rule],
    axes: Sequence[AxisValues],
    text_ids: NDArray[np.uint16],
    texts: Sequence[str],
) -> list[Rule]:
    """The rules with their reasons, counted over every problem.

    Shapes   text_ids has one axis for each of axes; texts: the reason of each id.
    """
    counts = np.zeros((len(rules), len(texts)), np.int64)
    flat = text_ids.reshape(-1)
    for where, decided in first_matches([r.conditions for r in rules[:-1]], axes):
        keys = decided.astype(np.int64) * len(texts) + flat[where]
        counts += np.bincount(keys, minlength=counts.size).reshape(counts.shape)
    return [
        _told(rule, {texts[i]: int(row[i]) for i in np.flatnonzero(row).tolist()})
        for rule, row in zip(rules, counts, strict=True)
    ]


def with_asked_reasons(
    rules: Sequence[Rule], axes: Sequence[AxisValues], folded: Folded, say: Say, seed: int
) -> list[Rule]:
    """The rules with the reasons of some problems of each: of every cell, as far as that is few.

    ``say``  what cuDNN says of rows.
    """
    rng = np.random.default_rng(seed)
    refused = [a for a, (status, _) in enumerate(folded.answers) if status not in ("SUCCESS", None)]
    cells = np.flatnonzero(np.isin(folded.cells, refused))
    if len(cells) > _MOST_CELLS:
        cells = np.sort(rng.choice(cells, _MOST_CELLS, replace=False))
    deciding = _deciding([r.conditions for r in rules], axes, _members(folded, cells, 1, rng))
    found = []
    for place, rule in enumerate(rules):
        own = cells[deciding == place]
        if len(own):
            own = own[np.linspace(0, len(own) - 1, min(len(own), MOST_ASKED)).astype(np.int64)]
            rows = np.unique(_members(folded, own, MOST_ASKED // len(own), rng))
            rule = _told(rule, Counter(say(rows)))  # noqa: PLW2901
        found.append(rule)
    return found


def _told(rule: Rule, counts: Mapping[str, int]) -> Rule:
    if rule.status == "SUCCESS":
        return rule
    reasons = [Reason(text or None, rows) for text, rows in counts.items()]
    reasons.sort(key=lambda r: (-r.rows, r.text or ""))
    return replace(rule, reasons=tuple(reasons), asked=sum(counts.values()))


def _members(
    folded: Folded, cells: NDArray[np.intp], times: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Random rows of cells, so many of each.

    Conditions take whole classes, so one rule decides all rows of a cell.
    """
    rows = np.zeros((times, len(cells)), np.int64)
    shape = [len(of_axis) for of_axis in folded.classes]
    for at, place in enumerate(np.unravel_index(cells, folded.cells.shape)):
        of_axis = folded.classes[at]
        by_class, sizes = np.argsort(of_axis, kind="stable"), np.bincount(of_axis)
        starts = np.cumsum(sizes) - sizes
        offsets = (rng.random(rows.shape) * sizes[place]).astype(np.int64)
        rows += by_class[starts[place] + offsets] * math.prod(shape[at + 1 :])
    return rows.reshape(-1)


def _deciding(
    rules: Sequence[Sequence[Condition]], axes: Sequence[AxisValues], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The place of the first rule that matches each row; the last of them has no conditions."""
    values = np.unravel_index(rows, [len(axis.labels) for axis in axes])
    at = {axis.name: place for place, axis in enumerate(axes)}
    decided = np.zeros(len(rows), np.int64)
    for place in range(len(rules) - 1, -1, -1):
        matching = np.ones(len(rows), bool)
        for condition in rules[place]:
            axis = at[condition["axis"]]
            matching &= allows(condition, axes[axis])[values[axis]]
        decided[matching] = place
    return decided
