"""Work of a pass by a stated model: flops of matrix products, flops of the rest, least traffic.

S steps computed over all sequences, G gates, H hidden_size, P output_size, I width that a layer
reads, B biases a gate, D directions, e bytes an element. Every formula is of one pseudo-layer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyharness.errors import unknown_name
from pyharness.spec.geometry import Geometry, geometry
from pyharness.spec.problem import Problem
from pyharness.spec.stages import PASSES
from pyharness.spec.timed import BACKWARD, TRAINING_STEP

# One flop: an addition, a multiplication, a comparison, or an activation as a whole.
# Forward, of a hidden unit at a step, behind the sums of the gates:
#   rnn   the activation
#   lstm  5 activations; c = f*c + i*g (3), h = o*tanh(c) (1)
#   gru   3 activations; r*(Rh + b) (1), h = (1 - z)*n + z*h (4)
_FORWARD_UNIT = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 9, "gru": 8}
# Backward data; s' = s*(1 - s) times a gradient takes 3, t' = 1 - t*t times a gradient 3:
#   relu  the mask; tanh  t'
#   lstm  dc += dh*o*(1 - tanh(c)^2) (5); do = dh*tanh(c), di = dc*g, df = dc*c, dg = dc*i and each
#         activation (4 * 4); dc*f for the step before (1)
#   gru   dn = dh*(1 - z) (2), t' (3); dz = dh*(h - n) (2), s' (3); dr = dn*(Rh + b) (1), s' (3);
#         dn*r (1); dh*z for the step before (2)
_BACKWARD_UNIT = {"rnn_relu": 1, "rnn_tanh": 3, "lstm": 22, "gru": 17}
# What forward training has to keep for each hidden unit and step beside y: the gates and c; the
# gates and Rh + b of the new gate; nothing, since the derivative follows from h.
_KEPT = {"rnn_relu": 0, "rnn_tanh": 0, "lstm": 5, "gru": 4}
# Gradients of the gates that backward data hands on: a GRU's new gate has one for x, one for h.
_DELTAS = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 4}


@dataclass(frozen=True, slots=True)
class Work:
    """What one pass has to do.

    ``matrix_flops``     of matrix products, 2 for each multiplication and its addition.
    ``pointwise_flops``  of all else; an activation counts as one.
    ``traffic_bytes``    compulsory: each weight once a pass, each tensor's valid steps once; what
                         one layer or pass hands to the next once out and once in.
    """

    matrix_flops: int
    pointwise_flops: int
    traffic_bytes: int

    @property
    def flops(self) -> int:
        """All of them."""
        return self.matrix_flops + self.pointwise_flops

    @property
    def intensity(self) -> float:
        """Flops for each byte of compulsory traffic."""
        return self.flops / self.traffic_bytes

    def __add__(self, other: Work) -> Work:
        return Work(
            self.matrix_flops + other.matrix_flops,
            self.pointwise_flops + other.pointwise_flops,
            self.traffic_bytes + other.traffic_bytes,
        )


def work(problem: Problem, pass_name: str) -> Work:
    """The work of a pass; backward is both backward passes, training_step all three of training.

    Dropout between layers, clipping and the filling of padding are not counted. A pass that reads
    its recurrent matrices again at every step moves more than traffic_bytes: a lower bound.

    Raises  UsageError for another pass, or a problem that cannot be computed (see geometry).
    """
    return work_of(geometry(problem), pass_name)


def work_of(g: Geometry, pass_name: str) -> Work:
    """The work of a pass on these sizes.

    Raises  UsageError for another pass.
    """
    if pass_name == BACKWARD:
        return work_of(g, "backward_data") + work_of(g, "backward_weights")
    if pass_name == TRAINING_STEP:
        return work_of(g, "forward_training") + work_of(g, BACKWARD)
    if pass_name not in _MODELS:
        raise unknown_name("pass", pass_name, (*PASSES, BACKWARD, TRAINING_STEP))
    pointwise, elements = _MODELS[pass_name]
    return Work(matrix_flops(g), pointwise(g), elements(g) * g.element_bytes)


def matrix_flops(g: Geometry) -> int:
    """Flops of a pass's matrix products; the same number for each of the four passes.

    Forward multiplies every matrix with its input at each step; backward data each transposed
    matrix with the gradient of its output; backward weights the gradient with the input. Each is
    2 * rows * cols a step:
      x           2*S*G*H*I   (none in the first layer of skip_input)
      h           2*S*G*H*P   the state before the first step counts, given or zero
      projection  2*S*P*H
    """
    return 2 * g.steps * g.matrix_count


def _forward_pointwise(g: Geometry) -> int:
    """S*H*(G*(1 + B) + unit): x and h parts of a gate and its biases are summed, then the cell."""
    unit = g.gates * (1 + len(g.bias_sources)) + _FORWARD_UNIT[g.cell_mode]
    return g.steps * g.pseudo_layers * g.hidden_size * unit


def _backward_data_pointwise(g: Geometry) -> int:
    """S*H*unit, and dh = dy + what the step after sends: S*P; skip_input adds up dx: S*G*H."""
    unit = g.hidden_size * _BACKWARD_UNIT[g.cell_mode] + g.output_size
    skipped = g.directions * g.gates * g.hidden_size if g.skip_input else 0
    return g.steps * (g.pseudo_layers * unit + skipped)


def _backward_weights_pointwise(g: Geometry) -> int:
    """S*G*H*B: each bias is summed over the steps; what is added into dw is part of a product."""
    return g.steps * g.pseudo_layers * g.gates * g.hidden_size * len(g.bias_sources)


def _state_elements(g: Geometry) -> int:
    """hx, and cx of an LSTM, of all pseudo-layers; as many for hy and cy, and for gradients."""
    cell = g.hidden_size if g.cell_mode == "lstm" else 0
    return g.pseudo_layers * g.batch_size * (g.output_size + cell)


def _between_layers(g: Geometry) -> int:
    """What a layer hands to the next: S*P*D, for each but the last."""
    return (g.num_layers - 1) * g.steps * g.output_size * g.directions


def _ends(g: Geometry) -> int:
    """Both ends of the network, x and y or dx and dy: S*I + S*P*D."""
    return g.steps * (g.input_size + g.output_size * g.directions)


def _kept(g: Geometry) -> int:
    return g.steps * g.pseudo_layers * g.hidden_size * _KEPT[g.cell_mode]


def _deltas(g: Geometry) -> int:
    return g.steps * g.pseudo_layers * g.hidden_size * _DELTAS[g.cell_mode]


def _inference_elements(g: Geometry) -> int:
    """Reads weights, x, hx, cx; writes y, hy, cy; between layers out and in."""
    weights = g.matrix_count + g.bias_count
    return weights + _ends(g) + 2 * _state_elements(g) + 2 * _between_layers(g)


def _training_elements(g: Geometry) -> int:
    """What inference moves, and out what backward needs."""
    return _inference_elements(g) + _kept(g)


def _backward_data_elements(g: Geometry) -> int:
    """Reads matrices, dy, dhy, dcy and what was kept; writes dx, dhx, dcx and the gates' gradients.

    Between layers the gradient goes out and in. The derivative of an LSTM's gates needs no h but
    the cell state before the first step; that of the others the output of each layer, and a GRU's
    hx as well.
    """
    read = _kept(g)
    if g.cell_mode == "lstm":
        read += g.pseudo_layers * g.batch_size * g.hidden_size  # cx
    else:
        read += g.pseudo_layers * g.steps * g.output_size  # y, and h between layers
    if g.cell_mode == "gru":
        read += g.pseudo_layers * g.batch_size * g.output_size  # hx
    moved = _ends(g) + 2 * _state_elements(g) + 2 * _between_layers(g)
    return g.matrix_count + moved + read + _deltas(g)


def _backward_weights_elements(g: Geometry) -> int:
    """Reads x, hx, the output of each layer, the gates' gradients; reads dw and writes the sum.

    A projection's gradient needs h before it: S*H more, out of o and c of what was kept (2*S*H).
    The product with the output's gradient reads that as well: S*P.
    """
    inputs = g.steps * g.input_size + g.pseudo_layers * g.steps * g.output_size
    states = g.pseudo_layers * g.batch_size * g.output_size
    projected = g.steps * g.pseudo_layers * (2 * g.hidden_size + g.output_size)
    sums = 2 * (g.matrix_count + g.bias_count)
    return inputs + states + _deltas(g) + sums + (projected if g.projects else 0)


_Count = Callable[[Geometry], int]
_MODELS: dict[str, tuple[_Count, _Count]] = {
    "forward_inference": (_forward_pointwise, _inference_elements),
    "forward_training": (_forward_pointwise, _training_elements),
    "backward_data": (_backward_data_pointwise, _backward_data_elements),
    "backward_weights": (_backward_weights_pointwise, _backward_weights_elements),
}
