"""Answers kept in memory: the sink for jobs that are small, such as one problem or a sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pyharness.engine.crew import Crew, some
from pyharness.space.grid import Grid
from pyharness.spec.calls import Call
from pyharness.spec.ledger import FAILED, NOT_RUN, Death


class Answers:
    """Codes and text ids by position, and the deaths.

    ``codes``     uint8 [count], in the ledger's terms; FAILED where the worker died.
    ``text_ids``  uint16 [count].
    ``deaths``    position to death.
    """

    def __init__(self, count: int) -> None:
        self.codes: NDArray[np.uint8] = np.full(count, NOT_RUN, np.uint8)
        self.text_ids: NDArray[np.uint16] = np.zeros(count, np.uint16)
        self.deaths: dict[int, Death] = {}

    def rows(
        self, begin: int, codes: NDArray[np.uint8], text_ids: NDArray[np.uint16] | None
    ) -> None:
        """Takes a run of answers."""
        self.codes[begin : begin + len(codes)] = codes
        if text_ids is not None:
            self.text_ids[begin : begin + len(codes)] = text_ids

    def death(self, position: int, death: Death) -> None:
        """Takes a death."""
        self.codes[position] = FAILED
        self.deaths[position] = death


def grid_of(call: Call, columns: Sequence[NDArray[np.int64]]) -> tuple[Grid, NDArray[np.int64]]:
    """The grid of all values of some problems, and the row of each problem in it.

    Shapes   columns: for each axis of the call its value in each of n problems.
    Raises   OverflowError if the grid has more rows than can be numbered: ask for fewer at a time.
    """
    distinct, places = [], []
    for column in columns:
        values, inverse = np.unique(column, return_inverse=True)
        distinct.append(tuple(values.tolist()))
        places.append(inverse.reshape(-1))
    grid = Grid(call, tuple(distinct))
    if grid.size > np.iinfo(np.int64).max:
        raise OverflowError(f"{grid.size} rows")
    return grid, np.ravel_multi_index(tuple(places), grid.shape).astype(np.int64)


def ask(
    crew: Crew,
    grid: Grid,
    rows: NDArray[np.int64],
    tick: Callable[[], None] = lambda: None,
) -> Answers:
    """What a library says of these rows.

    Returns  answers by position in ``rows``.
    Raises   Collapse if no worker survives.
    """
    answers = Answers(len(rows))
    if len(rows):
        crew.run(some(grid, rows), answers, tick)
    return answers
