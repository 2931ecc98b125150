"""The four cells at one step of a batch: forward, and the gradient of it.

Every array is [sequences, width]. ``from_x`` and ``from_h`` are the products with x and h, biases
in them, the gates side by side in the order of lin_layer_id.

Source  the gate equations in cuDNN's manual (cudnnRNNMode_t), clipping in that of cudnnRNNSetClip.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pyharness.reference.arrays import Array


class States(NamedTuple):
    """What a step starts from; c is 0 wide where a cell has no state of its own."""

    h: Array
    c: Array


class Step(NamedTuple):
    """What a cell gives on: its output, and the cell state after the step."""

    output: Array
    c: Array


class StepGradients(NamedTuple):
    """Gradients of what a cell was given.

    ``dh``  what reaches h beside the product with it; None if nothing does.
    """

    from_x: Array
    from_h: Array
    dh: Array | None
    dc: Array


class Cell(Protocol):
    """One of the four.

    ``slots``  columns, each hidden_size wide, that ``kept`` has for the way back.
    """

    @property
    def slots(self) -> int: ...

    def forward(self, from_x: Array, from_h: Array, before: States, kept: Array, /) -> Step:
        """One step on; fills ``kept``."""

    def backward(self, kept: Array, before: States, doutput: Array, dc: Array, /) -> StepGradients:
        """The way back through a step that left ``kept``."""


@dataclass(frozen=True, slots=True)
class Clip:
    """Limits of an LSTM's cell state.

    ``nan_stays``  else NaN becomes ``low``: a maximum that knows no NaN takes its other argument.
    """

    low: float
    high: float
    nan_stays: bool = False

    def __call__(self, c: Array) -> Array:
        """The cell state within the limits."""
        if self.nan_stays:
            return np.minimum(np.maximum(c, self.low), self.high)
        return np.fmin(np.fmax(c, self.low), self.high)

    def passes(self, c: Array) -> NDArray[np.bool_]:
        """Where the derivative is 1: the limits themselves are not clipped; elsewhere 0."""
        inside = (self.low <= c) & (c <= self.high)
        return inside | np.isnan(c) if self.nan_stays else inside


@dataclass(frozen=True, slots=True)
class Rnn:
    """h = f(x + h), f tanh or the rectifier; kept is what f gives, or what the rectifier gets."""

    relu: bool
    slots: int = 1

    def forward(self, from_x: Array, from_h: Array, before: States, kept: Array) -> Step:
        """See Cell."""
        kept[:] = from_x + from_h if self.relu else np.tanh(from_x + from_h)
        return Step(np.maximum(kept, 0) if self.relu else kept, before.c)

    def backward(self, kept: Array, _before: States, doutput: Array, dc: Array) -> StepGradients:
        """See Cell."""
        dtotal = doutput * ((kept > 0) if self.relu else 1 - kept**2)
        return StepGradients(dtotal, dtotal, None, dc)


@dataclass(frozen=True, slots=True)
class Lstm:
    """c = f * c + i * g, clipped; h = o * tanh(c)."""

    clip: Clip | None
    slots: int = 5

    def forward(self, from_x: Array, from_h: Array, before: States, kept: Array) -> Step:
        """See Cell."""
        to_i, to_f, to_g, to_o = np.split(from_x + from_h, 4, axis=1)
        i, f, g, o, total = np.split(kept, self.slots, axis=1)
        i[:], f[:], g[:], o[:] = _sigmoid(to_i), _sigmoid(to_f), np.tanh(to_g), _sigmoid(to_o)
        total[:] = f * before.c + i * g
        c = self._clipped(total)
        return Step(o * np.tanh(c), c)

    def backward(self, kept: Array, before: States, doutput: Array, dc: Array) -> StepGradients:
        """See Cell."""
        i, f, g, o, total = np.split(kept, self.slots, axis=1)
        tanh_c = np.tanh(self._clipped(total))
        dtotal = dc + doutput * o * (1 - tanh_c**2)
        if self.clip is not None:
            dtotal = np.where(self.clip.passes(total), dtotal, 0.0)  # 0 times NaN is no 0
        dgates = np.concatenate(
            (
                dtotal * g * i * (1 - i),
                dtotal * before.c * f * (1 - f),
                dtotal * i * (1 - g**2),
                doutput * tanh_c * o * (1 - o),
            ),
            axis=1,
        )
        return StepGradients(dgates, dgates, None, dtotal * f)

    def _clipped(self, c: Array) -> Array:
        return c if self.clip is None else self.clip(c)


@dataclass(frozen=True, slots=True)
class Gru:
    """h = (1 - z) * n + z * h, n = tanh(x + r * h): the reset gate after h's product and bias."""

    slots: int = 4

    def forward(self, from_x: Array, from_h: Array, before: States, kept: Array) -> Step:
        """See Cell."""
        x_reset, x_update, x_new = np.split(from_x, 3, axis=1)
        h_reset, h_update, h_new = np.split(from_h, 3, axis=1)
        r, z, n, recurrent = np.split(kept, self.slots, axis=1)
        r[:] = _sigmoid(x_reset + h_reset)
        z[:] = _sigmoid(x_update + h_update)
        n[:] = np.tanh(x_new + r * h_new)
        recurrent[:] = h_new
        return Step((1 - z) * n + z * before.h, before.c)

    def backward(self, kept: Array, before: States, doutput: Array, dc: Array) -> StepGradients:
        """See Cell."""
        r, z, n, recurrent = np.split(kept, self.slots, axis=1)
        dnew = doutput * (1 - z) * (1 - n**2)
        dreset = dnew * recurrent * r * (1 - r)
        dupdate = doutput * (before.h - n) * z * (1 - z)
        return StepGradients(
            np.concatenate((dreset, dupdate, dnew), axis=1),
            np.concatenate((dreset, dupdate, dnew * r), axis=1),
            doutput * z,
            dc,
        )


def cell_of(cell_mode: str, clip: Clip | None) -> Cell:
    """The cell of a mode; only an LSTM has a state to clip."""
    if cell_mode == "lstm":
        return Lstm(clip)
    return Gru() if cell_mode == "gru" else Rnn(relu=cell_mode == "rnn_relu")


def _sigmoid(total: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-total)))
