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

Places = NDArray[np.int64]


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
        here = geometry(self.first)
        lengths = [here.lengths[i] for i in self.order]
        # cuDNN takes a packed batch only if max_seq_length is that of its longest sequence.
        packed = here.layout == "seq_major_packed"
        steps = max(lengths) if packed else here.max_seq_length + self.more_steps
        changed = {
            "batch_size": str(len(lengths)),
            "max_seq_length": str(steps),
            "seq_lengths": lengths_label(lengths),
        }
        return Problem({**self.first.given, **changed})

    def moved(self, name: str, data: bytes) -> bytes:
        """An input of the first problem as this one has it; zeros in the padding."""
        if name in _OF_WEIGHTS:
            return data
        of = geometry(self.problem)
        theirs, ours = self._pairs(name)
        before = np.frombuffer(data, f"V{of.element_bytes}")
        after = np.zeros(_stored(name, of), before.dtype)
        after[ours] = before[theirs]
        return after.tobytes()

    def shared(self, name: str, before: bytes, now: bytes) -> tuple[bytes, bytes, Places]:
        """What both hold of the sequences that they share.

        ``before``, ``now``  an output of the first problem, and of this one.
        Returns              both, and for each element its index in the first problem's output;
                             in the order of these indices where both differ.
        """
        width = geometry(self.first).element_bytes
        if name in _OF_WEIGHTS:
            return before, now, np.arange(len(before) // width)
        theirs, ours = self._pairs(name)
        a, b = (np.frombuffer(data, f"V{width}") for data in (before, now))
        mine, other = a[theirs].tobytes(), b[ours].tobytes()
        if mine == other:
            return mine, other, theirs
        in_order = np.argsort(theirs)
        theirs, ours = theirs[in_order], ours[in_order]
        return a[theirs].tobytes(), b[ours].tobytes(), theirs

    def _pairs(self, name: str) -> tuple[Places, Places]:
        """Indices of the same numbers in the first problem and in this one."""
        theirs = _places(name, geometry(self.first))[:, list(self.order)]
        ours = _places(name, geometry(self.problem))
        rows = min(len(theirs), len(ours))
        theirs, ours = theirs[:rows].ravel(), ours[:rows].ravel()
        both = (theirs >= 0) & (ours >= 0)
        return theirs[both], ours[both]


def padding_of(problem: Problem) -> Places:
    """The indices in x that no sequence has; none in a packed layout or of full lengths."""
    of = geometry(problem)
    return np.setdiff1d(np.arange(_stored("x", of)), _places("x", of))


def reordered(lengths: Sequence[int], packed: bool) -> tuple[int, ...]:
    """The sequences of a batch the other way round.

    ``packed``  the lengths must stay sorted: only sequences of the same length change places.
    """
    if not packed:
        return tuple(reversed(range(len(lengths))))
    return tuple(sorted(range(len(lengths)), key=lambda i: (-lengths[i], -i)))


def _places(name: str, of: Geometry) -> Places:
    """[steps or pseudo-layers, batch, width]: index in the buffer, -1 for padding."""
    count, width = _stored(name, of), _width(name, of)
    if name not in (*_OF_X, *_OF_Y):
        return np.arange(count).reshape(of.pseudo_layers, of.batch_size, width)
    numbers = np.arange(count, dtype=np.float64)
    series = unpack(numbers, of.layout, of.lengths, of.max_seq_length, width)
    return np.where(np.isnan(series), -1, series).astype(np.int64)


def _width(name: str, of: Geometry) -> int:
    if name in _OF_X:
        return of.input_size
    if name in _OF_Y:
        return of.output_size * of.directions
    return of.hidden_size if name in _OF_CELL else of.output_size


def _stored(name: str, of: Geometry) -> int:
    """Elements of a buffer."""
    rows = of.stored_steps if name in (*_OF_X, *_OF_Y) else of.pseudo_layers * of.batch_size
    return rows * _width(name, of)
