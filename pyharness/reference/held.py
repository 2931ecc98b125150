"""How much memory the reference needs for a network: it may be more than the device's."""

from __future__ import annotations

from pyharness.spec.geometry import Geometry

_BYTES = 8
_SLOTS = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 5, "gru": 4}  # what a cell keeps of a step


def held_bytes(shape: Geometry, *, training: bool) -> int:
    """No less than the bytes that are held at once; measured, at most three times these.

    ``training``  with all that the way back needs.
    """
    hidden, output = shape.hidden_size, shape.output_size
    widest = max(shape.layer_input(layer) for layer in range(shape.num_layers))
    widest = max(widest, output * shape.directions)
    # Of one pseudo-layer: what the cell keeps, states before a step, outputs, the inputs' sums.
    kept = (_SLOTS[shape.cell_mode] + 2) * hidden + 2 * output
    gates = shape.gates * hidden
    if not training:
        a_step = shape.directions * output + kept + 2 * gates + 3 * widest
    else:
        a_step = shape.pseudo_layers * kept + shape.num_layers * widest + 2 * gates + 4 * widest
    weights = shape.matrix_count + shape.bias_count
    return _BYTES * (shape.steps * a_step + (5 if training else 3) * weights)
