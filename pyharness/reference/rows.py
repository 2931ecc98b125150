"""The steps of a batch as rows: what is behind a sequence's end is no row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pyharness.reference.arrays import Array


class Rows:
    """Every step of every sequence, step after step, the longest sequence first.

    The sequences that still have a step are then the first so many places of the batch, so that a
    step works on one slice of the rows and one of the states.

    Raises  ValueError for a length below 0 or above the steps.
    """

    def __init__(self, lengths: Sequence[int], steps: int) -> None:
        self.steps = steps
        self.lengths = np.asarray(lengths, np.intp)
        if self.lengths.ndim != 1 or ((self.lengths < 0) | (self.lengths > steps)).any():
            raise ValueError(f"lengths {list(lengths)}: each is 0 to {steps}, the steps of x")
        # Which sequence is at a place; equal lengths stay in order.
        self.order = np.argsort(-self.lengths, kind="stable")
        self._live = (self.lengths[:, None] > np.arange(steps)).sum(0)
        self._begins = np.concatenate([[0], np.cumsum(self._live)])

    @property
    def count(self) -> int:
        """Rows."""
        return int(self._begins[-1])

    @cached_property
    def _place(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Step and sequence of each row."""
        step = np.repeat(np.arange(self.steps), self._live)
        return step, self.order[np.arange(self.count) - self._begins[step]]

    def turns(self, *, reverse: bool) -> Iterator[tuple[slice, int]]:
        """The rows of each step that has any, and their number, first step first or last."""
        steps = range(int(self.lengths.max(initial=0)))
        for step in reversed(steps) if reverse else steps:
            yield slice(self._begins[step], self._begins[step + 1]), int(self._live[step])

    def gather(self, series: Array) -> Array:
        """[steps, batch, width] as [rows, width]."""
        return series[self._place]

    def scatter(self, rows: Array) -> Array:
        """[rows, width] as [steps, batch, width], nan behind each sequence's end."""
        series = np.full((self.steps, len(self.lengths), rows.shape[1]), np.nan)
        series[self._place] = rows
        return series

    def sorted(self, state: Array) -> Array:
        """A copy of [batch, width], the longest sequence first."""
        return state[self.order]

    def unsorted(self, state: Array) -> Array:
        """Back from ``sorted``."""
        given = np.empty_like(state)
        given[self.order] = state
        return given
