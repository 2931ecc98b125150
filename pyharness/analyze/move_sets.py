"""Sets of moves that may be made together, as rows of indices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pyharness.analyze.moves import Move

_AT_ONCE = 100_000  # variants in memory: 20 axes of 8 bytes each


def disjoint(moves: Sequence[Move], size: int) -> Iterator[NDArray[np.intp]]:
    """Every set of so many moves that change different axes, as rows of indices."""
    if size == 1:
        yield np.arange(len(moves))[:, None]
        return
    apart = np.array([[not (a.axes & b.axes) for b in moves] for a in moves]).reshape(
        len(moves), len(moves)
    )
    if size == 2:
        yield np.argwhere(np.triu(apart, 1))
        return
    for first in range(len(moves)):
        later = np.flatnonzero(apart[first, first + 1 :]) + first + 1
        pairs = np.argwhere(np.triu(apart[np.ix_(later, later)], 1))
        yield np.column_stack([np.full(len(pairs), first), later[pairs]])


def batches(sets: Iterator[NDArray[np.intp]]) -> Iterator[NDArray[np.intp]]:
    """The same rows in arrays of about _AT_ONCE."""
    waiting: list[NDArray[np.intp]] = []
    for some in sets:
        waiting.append(some)
        if sum(map(len, waiting)) >= _AT_ONCE:
            yield np.concatenate(waiting)
            waiting = []
    if waiting and sum(map(len, waiting)):
        yield np.concatenate(waiting)
