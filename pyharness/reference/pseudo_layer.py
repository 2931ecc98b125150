"""One direction of one layer, over all steps of a batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyharness.reference.arrays import Array
from pyharness.reference.blocks import Blocks
from pyharness.reference.cells import Cell, States
from pyharness.reference.rows import Rows


@dataclass(frozen=True, slots=True)
class Kept:
    """What the way back needs, a row a step.

    ``inputs``  what the layer read, [rows, layer input].
    ``before``  the states before the step, [rows, output_size] and [rows, hidden_size or 0].
    ``cells``   what the cell kept, [rows, slots * hidden_size].
    ``hidden``  the cell's output before its projection, [rows, hidden_size]; None without one.
    """

    inputs: Array
    before: States
    cells: Array
    hidden: Array | None


@dataclass(frozen=True, slots=True)
class Passed:
    """outputs [rows, output_size]; h, c the last states [batch, width]."""

    outputs: Array
    h: Array
    c: Array
    kept: Kept


@dataclass(frozen=True, slots=True)
class Returned:
    """dinputs [rows, layer input]; dh, dc of the first states; gradients of the weights."""

    dinputs: Array
    dh: Array
    dc: Array
    dweights: Blocks


@dataclass(frozen=True, slots=True)
class PseudoLayer:
    """A cell, its weights and its direction."""

    cell: Cell
    hidden_size: int
    weights: Blocks
    reverse: bool

    def forward(self, rows: Rows, inputs: Array, h: Array, c: Array) -> Passed:
        """All steps, from the states h [batch, output_size] and c [batch, hidden_size or 0] on.

        The product with the inputs is one over all steps, that with h one a step.
        """
        w = self.weights
        h, c = rows.sorted(h), rows.sorted(c)
        from_x = self._from_inputs(inputs)
        cells = np.empty((rows.count, self.cell.slots * self.hidden_size))
        h_before, c_before = np.empty((rows.count, h.shape[1])), np.empty((rows.count, c.shape[1]))
        outputs = np.empty_like(h_before)
        hidden = None if w.projection is None else np.empty((rows.count, self.hidden_size))
        for here, live in rows.turns(reverse=self.reverse):
            h_before[here], c_before[here] = h[:live], c[:live]
            before = States(h_before[here], c_before[here])
            from_h = before.h @ w.h.T
            if w.h_bias is not None:
                from_h += w.h_bias
            step = self.cell.forward(from_x[here], from_h, before, cells[here])
            if hidden is None or w.projection is None:
                h[:live] = step.output
            else:
                hidden[here] = step.output
                h[:live] = step.output @ w.projection.T
            outputs[here], c[:live] = h[:live], step.c
        kept = Kept(inputs, States(h_before, c_before), cells, hidden)
        return Passed(outputs, rows.unsorted(h), rows.unsorted(c), kept)

    def backward(self, rows: Rows, kept: Kept, doutputs: Array, dh: Array, dc: Array) -> Returned:
        """The way back, from the gradients of the outputs and of the last states on."""
        w = self.weights
        dh, dc = rows.sorted(dh), rows.sorted(dc)
        from_x = np.empty((rows.count, w.h.shape[0]))
        from_h = np.empty_like(from_x)
        projected = np.empty_like(doutputs)
        for here, live in rows.turns(reverse=not self.reverse):
            projected[here] = doutputs[here] + dh[:live]
            doutput = projected[here] if w.projection is None else projected[here] @ w.projection
            before = States(kept.before.h[here], kept.before.c[here])
            step = self.cell.backward(kept.cells[here], before, doutput, dc[:live])
            from_x[here], from_h[here], dc[:live] = step.from_x, step.from_h, step.dc
            dh[:live] = step.from_h @ w.h
            if step.dh is not None:
                dh[:live] += step.dh
        dweights = Blocks(
            None if w.x is None else from_x.T @ kept.inputs,
            from_h.T @ kept.before.h,
            None if w.x_bias is None else from_x.sum(0),
            None if w.h_bias is None else from_h.sum(0),
            None if kept.hidden is None else projected.T @ kept.hidden,
        )
        dinputs = self._to_inputs(from_x)
        return Returned(dinputs, rows.unsorted(dh), rows.unsorted(dc), dweights)

    @property
    def _gates(self) -> int:
        return len(self.weights.h) // self.hidden_size

    def _from_inputs(self, inputs: Array) -> Array:
        """What the inputs give to every gate; without a matrix they are added as they are."""
        w = self.weights
        from_x = np.tile(inputs, (1, self._gates)) if w.x is None else inputs @ w.x.T
        return from_x if w.x_bias is None else from_x + w.x_bias

    def _to_inputs(self, dfrom_x: Array) -> Array:
        if self.weights.x is not None:
            return dfrom_x @ self.weights.x
        return np.asarray(dfrom_x.reshape(-1, self._gates, self.hidden_size).sum(1))
