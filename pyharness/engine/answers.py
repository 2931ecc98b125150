"""Answers kept in memory: the sink for jobs that are small, such as one problem or a sample."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pyharness.engine.crew import Crew, some
from pyharness.space.grid import Grid
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
