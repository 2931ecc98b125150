"""The lengths of a batch: which rows have what, and how a batch is sorted, packed and cut.

Rows and steps count from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.errors import UsageError

LONGEST = 65_535  # steps that a data descriptor takes; what is above is cut by default
_MOST_IN_WORDS = 5


@dataclass(frozen=True, slots=True)
class Chunk:
    """A range of steps that is one call: ``x[first:end, rows]`` with these lengths, none of them 0.

    ``rows``     the rows that have steps here; the others are left out of the call.
    ``lengths``  the steps of each of these rows, counted from ``first``.
    """

    first: int
    end: int
    rows: tuple[int, ...]
    lengths: tuple[int, ...]


def rows_text(rows: Sequence[int], noun: str = "row") -> str:
    """Rows in words: ``row 3``, ``rows 3 and 7``, ``rows 3, 7, 9, 11, 12 and 41 more``."""
    shown, more = [str(r) for r in rows[:_MOST_IN_WORDS]], len(rows) - _MOST_IN_WORDS
    if len(rows) == 1:
        return f"{noun} {shown[0]}"
    last = f"{more:,} more" if more > 0 else shown.pop()
    return f"{noun}s {', '.join(shown)} and {last}"


def list_text(values: Sequence[int]) -> str:
    """A list in words, its middle left out where it is long: ``[3,0,1]``, ``[9,4,1,…,0,2]``."""
    texts = [str(v) for v in values]
    if len(texts) > 16:
        texts = [*texts[:8], "…", *texts[-2:]]
    return f"[{','.join(texts)}]"


def sort_order(lengths: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The order that makes lengths descend, rows of one length as they were, and the way back.

    Returns  order, inverse: ``lengths[order]`` descends, ``lengths[order][inverse]`` is as before.
    """
    order = np.argsort(-np.asarray(lengths, np.int64), kind="stable")
    return order, np.argsort(order)


def rows_where(marked: NDArray[np.bool_]) -> tuple[int, ...]:
    """The rows that are marked, as plain integers."""
    return tuple(int(row) for row in np.flatnonzero(marked))


def negative(lengths: Sequence[int]) -> tuple[int, ...]:
    """The rows with a length below 0."""
    return rows_where(np.asarray(lengths, np.int64) < 0)


def empty_rows(lengths: Sequence[int]) -> tuple[int, ...]:
    """The rows of length 0."""
    return rows_where(np.asarray(lengths, np.int64) == 0)


def too_long(lengths: Sequence[int], max_seq_length: int) -> tuple[int, ...]:
    """The rows that are longer than the steps that the batch is padded to."""
    return rows_where(np.asarray(lengths, np.int64) > max_seq_length)


def drop_empty(lengths: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The rows that have steps.

    Returns  their places, ascending, and their lengths.
    """
    kept = rows_where(np.asarray(lengths, np.int64) != 0)
    return kept, tuple(lengths[row] for row in kept)


def packed_steps(lengths: Sequence[int]) -> tuple[int, ...]:
    """The rows that each step of a packed x has; PyTorch calls them batch_sizes.

    Returns  one count a step, never ascending; their sum is the number of rows of x in memory.
    Raises   UsageError for a negative length.
    """
    _refuse_negative(lengths)
    longest = max(lengths, default=0)
    ends = np.bincount(np.asarray(lengths, np.int64), minlength=longest + 1)
    return tuple(int(n) for n in len(lengths) - np.cumsum(ends)[:longest])


def chunks(lengths: Sequence[int], limit: int = LONGEST) -> list[Chunk]:
    """The calls that a batch of longer sequences is cut into, the first steps first.

    hx and cx of a chunk are hy and cy of the one before, row by row; a row that has ended is left
    out, and its hy and cy are those of its last chunk. Of a network with one direction.

    Raises  UsageError for a negative length, or a limit below 1.
    """
    _refuse_negative(lengths)
    if limit < 1:
        raise UsageError(f"a chunk of {limit} steps", "allowed: 1 step or more")
    steps, plan = np.asarray(lengths, np.int64), []
    for first in range(0, max(lengths, default=0), limit):
        rows = rows_where(steps > first)
        here = tuple(int(n) for n in np.minimum(steps[list(rows)] - first, limit))
        plan.append(Chunk(first, first + max(here), rows, here))
    return plan


def _refuse_negative(lengths: Sequence[int]) -> None:
    rows = negative(lengths)
    if rows:
        raise UsageError(
            f"the length of row {rows[0]} is {lengths[rows[0]]}", "lengths are 0 or more"
        )
