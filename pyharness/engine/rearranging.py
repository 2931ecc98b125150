"""The same sequences in another batch: bits moved from one problem's buffers to another's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pyharness.reference.layouts import unpack
from pyharness.spec.geometry import Geometry, geometry
from pyharness.spec.problem import Problem
from pyharness.spec.seq_lengths import lengths_label

_OF_X, _OF_Y = ("x", "dx"), ("y", "dy")
_OF_CELL = ("cx", "cy", "dcx", "dcy")
_OF_WEIGHTS = ("w", "dw")

Rows = NDArray[np.int64]  # numbers of rows in a buffer: a step or a state of one sequence is one


@dataclass(frozen=True)
class Move:
    """A problem whose sequences are those of another one.

    ``order``       for each of its sequences the number of that sequence in the first problem.
    ``more_steps``  of padding behind them; a packed layout has none.
    """

    first: Problem
    order: tuple[int, ...]
    more_steps: int = 0

    @cached_property
    def problem(self) -> Problem:
        """What is run."""
        here = self._before
        lengths = [here.lengths[i] for i in self.order]
        # cuDNN takes a packed batch only if max_seq_length is that of its longest sequence.
        packed = here.layout == "seq_major_packed"
        steps = max(lengths) if packed else here.max_seq_length + self.more_steps
        return with_lengths(self.first, lengths, steps)

    def moved(self, name: str, data: bytes) -> bytes:
        """An input of the first problem as this one has it.

        The padding of a sequence goes with it, so that only its place is another; the steps that
        it gets behind that are zeros.
        """
        if name in _OF_WEIGHTS:
            return data
        theirs, ours = self._stored if _is_series(name) else self._states
        before = _rows(name, self._before, data)
        after = np.zeros((_count(name, self._after), before.shape[1]), np.uint8)
        after[ours] = before[theirs]
        return after.tobytes()

    def shared(self, name: str, before: bytes, now: bytes) -> tuple[bytes, bytes]:
        """What both hold of the sequences that they share, in the order of the first problem.

        ``before``, ``now``  an output of the first problem, and of this one.
        """
        if name in _OF_WEIGHTS:
            return before, now
        theirs, ours = self._used if _is_series(name) else self._states
        a, b = _rows(name, self._before, before), _rows(name, self._after, now)
        return a[theirs].tobytes(), b[ours].tobytes()

    def place(self, name: str, index: int) -> int:
        """Where an element of what ``shared`` gave lies in the first problem's output."""
        if name in _OF_WEIGHTS:
            return index
        theirs, _ = self._used if _is_series(name) else self._states
        row, element = divmod(index, row_width(name, self._before))
        return int(theirs[row]) * row_width(name, self._before) + element

    @cached_property
    def _before(self) -> Geometry:
        return geometry(self.first)

    @cached_property
    def _after(self) -> Geometry:
        return geometry(self.problem)

    @cached_property
    def _used(self) -> tuple[Rows, Rows]:
        """The rows of x and y that a sequence has."""
        before, after = (_steps(of, of.lengths) for of in (self._before, self._after))
        return self._both(before, after)

    @cached_property
    def _stored(self) -> tuple[Rows, Rows]:
        """The same with the padding that both have."""
        return self._both(stored_rows("x", self._before), stored_rows("x", self._after))

    @cached_property
    def _states(self) -> tuple[Rows, Rows]:
        return self._both(stored_rows("hx", self._before), stored_rows("hx", self._after))

    def _both(self, before: Rows, after: Rows) -> tuple[Rows, Rows]:
        """Rows of the same numbers in the first problem and in this one, by the first's order."""
        common = min(len(before), len(after))
        theirs, ours = before[:common, list(self.order)].ravel(), after[:common].ravel()
        there = np.flatnonzero((theirs >= 0) & (ours >= 0))
        in_order = there[np.argsort(theirs[there])]
        return theirs[in_order], ours[in_order]


def with_lengths(problem: Problem, lengths: Sequence[int], steps: int) -> Problem:
    """The problem with another batch: sequences of these lengths, ``steps`` with their padding."""
    batch = {
        "batch_size": str(len(lengths)),
        "max_seq_length": str(steps),
        "seq_lengths": lengths_label(lengths),
    }
    return Problem({**problem.given, **batch})


def stored_rows(name: str, of: Geometry) -> Rows:
    """[steps or pseudo-layers, batch]: the row of a tensor, padding's too; -1 where it has none."""
    if _is_series(name):
        packed = of.layout == "seq_major_packed"
        return _steps(of, of.lengths if packed else [of.max_seq_length] * of.batch_size)
    return np.arange(of.pseudo_layers * of.batch_size).reshape(of.pseudo_layers, -1)


def padding_rows(problem: Problem) -> Rows:
    """The steps in x and y that no sequence has; none in a packed layout or of full lengths."""
    of = geometry(problem)
    used = _steps(of, of.lengths)
    return np.setdiff1d(np.arange(of.stored_steps), used[used >= 0])


def reordered(lengths: Sequence[int], packed: bool) -> tuple[int, ...]:
    """The sequences of a batch the other way round.

    ``packed``  the lengths must stay sorted: only sequences of the same length change places.
    """
    if not packed:
        return tuple(reversed(range(len(lengths))))
    return tuple(sorted(range(len(lengths)), key=lambda i: (-lengths[i], -i)))


def _steps(of: Geometry, lengths: Sequence[int]) -> Rows:
    """[steps, batch]: the row of a step in x and y, -1 where a sequence has none."""
    numbers = np.arange(of.stored_steps, dtype=np.float64)
    series = unpack(numbers, of.layout, lengths, of.max_seq_length, 1)[..., 0]
    return np.where(np.isnan(series), -1, series).astype(np.int64)


def _is_series(name: str) -> bool:
    return name in (*_OF_X, *_OF_Y)


def _rows(name: str, of: Geometry, data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8).reshape(_count(name, of), -1)


def row_width(name: str, of: Geometry) -> int:
    """Elements of a row of a tensor."""
    if name in _OF_X:
        return of.input_size
    if name in _OF_Y:
        return of.output_size * of.directions
    return of.hidden_size if name in _OF_CELL else of.output_size


def _count(name: str, of: Geometry) -> int:
    """Rows of a buffer."""
    return of.stored_steps if _is_series(name) else of.pseudo_layers * of.batch_size
