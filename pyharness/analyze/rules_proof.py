"""The proof of an ordered list: every problem is put through it, and must get its own answer.

It reads the conditions as a reader would, from the first rule to the last, and shares no code with
what found them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.analyze.conditions import AxisValues, Condition, evaluate


def first_matches(
    rules: Sequence[Sequence[Condition]], axes: Sequence[AxisValues]
) -> Iterator[tuple[slice, NDArray[np.uint16]]]:
    """The rule that decides each problem, block by block.

    Shapes   a block is flat, of consecutive problems in C order; together they make the grid.
    ``rules``  conjunctions in their order.
    Returns  where the block lies, and the place of the first rule that matches; their number where
             none does.
    Raises   ValueError for an axis, a label or a comparison that the grid does not have.
    """
    for read in zip(*(evaluate([conditions], axes) for conditions in [*rules, []]), strict=True):
        where, everything = read[-1]
        decided = np.full(len(everything), len(rules), np.uint16)
        for place in range(len(rules) - 1, -1, -1):  # backwards: the first has the last word
            np.copyto(decided, np.uint16(place), where=read[place][1])
        yield where, decided


def put_through(
    rules: Sequence[Sequence[Condition]],
    answers: Sequence[int],
    axes: Sequence[AxisValues],
    codes: NDArray[Any],
) -> tuple[bool, list[int]]:
    """Puts every problem through a list: the first rule that matches decides.

    Shapes   codes: the answer of every problem, of the shape that axes make; C order.
    ``answers``  what each rule gives, and one more: what there is where none matches.
    Returns  whether every problem gets its own answer; how many each rule decides, the rest last.
    Raises   ValueError for an axis, a label or a comparison that the grid does not have.
    """
    flat, given = codes.reshape(-1), np.array(answers, codes.dtype)
    rows = np.zeros(len(answers), np.int64)
    proven = True
    for where, decided in first_matches(rules, axes):
        rows += np.bincount(decided, minlength=len(answers))
        proven = proven and np.array_equal(given[decided], flat[where])
    return proven, rows.tolist()
