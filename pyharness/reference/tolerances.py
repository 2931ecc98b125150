"""How far a device's numbers may be from float64: what is rounded, added up and handed on.

A difference is measured as a share of the largest number of its kind (see ``scales``): sums of both
signs lose of what they are made of, not of what they come to. Roundings are as often up as down and
independent of each other, so that their squares add up: n of them come to the square root of n
times one, not to n times. One is anything up to half of the last bit, the unit u, so that its
square is a third of u's. Of what is rounded:

one step of one layer forward
    to the data type       both products, their sum, the gates (2), the state and h: 6 times; a
                           projection, and the output before it: twice more
    of the operands        both of both products (and of the projection), where they are narrower
                           than the data type: with TensorFloat-32 or a conversion to half
    of the sums            each product adds up as many numbers one by one as its input is wide: the
                           squares of the sums on the way are half the last one's on average, and
                           that of a rounding a third of its unit's: a sixth of the number; an
                           activation may be a fast one, up to 8 units off
one step of one layer backward
    the same, but that the products with the transposed matrices add up a number for each gate's
    hidden unit

What is off in one step is handed on to the next as a part of the state is. The weights that a plan
is filled with (csrc/rnn/weights.cpp) let a layer hand on the square that it gets, and a step no
more than half of the state's: the recurrent products of rnn_tanh and rnn_relu have half of the
square, an LSTM forgets all but a quarter to a third, a GRU likewise. So that of all steps behind a
number 1 + 1/2 + 1/4 + ... of them count, and of all layers each. That is so on average over the
units. A network of few units may by chance hand on more than it gets, and one that does in every
step soon makes anything of a rounding: 1 + 8 / hidden_size times as much is allowed for, each step
and each layer, so that of fewer than 8 units and many steps little is told.

Outputs have the roundings of the forward steps behind them; gradients of x and of the states these,
since the activations that they are made of have them, and those of the backward steps. Gradients of
the weights have these too, and of their own the operands of one more product, its sum over all
steps of all sequences, and a rounding to the data type for each step where a library adds a step's
part to what is stored.

The largest of some ten thousand differences is 4 times the usual one. The scale is the largest of
numbers that are a third of it as a rule, so that what networks come to is a tenth to a fortieth of
the threshold, and what is off by some units more in each step lies beyond: of half and bfloat16 4
ULP of an LSTM's state or of a gate, of float 16 (tests/reference/test_rounding.py finds them, and
nothing in thousands of networks that only round). Of few numbers even the largest may by chance be
nearly nothing: n of them are all smaller than 10^(-4/n) times the usual once in ten thousand times.

The reference computes in double and is off by as much as a device that does.

A rectifier near zero, or a cell state near its limit, is another matter: there a rounding turns a
gradient on or off (``near_turn``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from pyharness.errors import unknown_name
from pyharness.reference.arrays import Array
from pyharness.reference.network import Forward, Network
from pyharness.spec.geometry import Geometry, geometry
from pyharness.spec.problem import Problem

# What rounding to the nearest number costs at most, as a share of it: half the last of its bits.
UNIT = {"double": 2.0**-53, "float": 2.0**-24, "half": 2.0**-11, "bfloat16": 2.0**-8}
# The least number that has all its bits; below it a rounding costs as much as at it.
NORMAL = {"double": 2.0**-1022, "float": 2.0**-126, "half": 2.0**-14, "bfloat16": 2.0**-126}
# TensorFloat-32 has as many bits as half, to which allow_conversion may convert: 11. Tensor cores
# may leave the others out, which is off by up to the last bit, not by half of it.
TF32 = 2.0**-10
_KINDS = {
    **dict.fromkeys(("y", "hy", "cy"), "outputs"),
    "dx": "inputs",
    **dict.fromkeys(("dhx", "dcx"), "states"),
    "dw": "weights",
}
LARGEST = 4  # the largest of many differences, in usual ones
_ACTIVATION = 8
_OF_A_SUM = 1 / 6
_OF_A_ROUNDING = 1 / 3
_OF_A_STATE = 1 / 2  # that a step hands on to the next
_BY_CHANCE = 8
_ONCE_IN = 1e4
_MOST_STEPS = _MOST_LAYERS = 300  # of more the power would be no number
_MOST = 1e300


@dataclass(frozen=True, slots=True)
class Rounding:
    """What is rounded, as a share of it: stored numbers, sums, and the operands of products."""

    kept: float
    summed: float
    operand: float

    @classmethod
    def of(cls, data_type: str, math_prec: str, math_type: str) -> Rounding:
        """That of a data type, computed in a precision with a math type.

        Raises  UsageError for a type that no RNN data has.
        Source  cuDNN's manual, cudnnMathType_t: only fma_math keeps floats from narrower products.
        """
        for name in (data_type, math_prec):
            if name not in UNIT:
                raise unknown_name("type of RNN data", name, UNIT)
        kept, summed = UNIT[data_type], UNIT[math_prec]
        narrow = summed if summed > kept else 0.0
        if data_type == "float" and math_type != "fma_math":
            narrow = max(narrow, TF32)
        return cls(kept, summed, narrow)

    def square(self, terms: int, *, products: int = 2, stored: int = 6) -> float:
        """Of one step: products that add up ``terms`` numbers in all."""
        roundings = stored * self.kept**2 + 2 * products * self.operand**2
        activation = _ACTIVATION**2 * self.summed**2
        return _OF_A_ROUNDING * (roundings + activation) + _OF_A_SUM * terms * self.summed**2


def threshold(
    problem: Problem, tensor: str, data_type: str, math_prec: str, math_type: str
) -> float:
    """The largest difference that rounding explains, as a share of the tensor's scale.

    ``tensor``  y, hy, cy, dx, dhx, dcx, dw, or dw.NAME of one weight.
    Returns     more than 0; a third or more, which is the usual number, says that the types hold
                nothing of such a network.
    Raises      UsageError for another tensor or type, or a problem that cannot be computed.
    """
    kind, shape = kind_of(tensor), geometry(problem)
    device = Rounding.of(data_type, math_prec, math_type)
    reference = Rounding.of("double", "double", "fma_math")
    square = _square(shape, kind, device) + _square(shape, kind, reference)
    return min(_few(shape, kind) * LARGEST * sqrt(square), _MOST)


def threshold_between(
    problem: Problem,
    others: Sequence[Problem],
    tensor: str,
    data_type: str,
    math_prec: str,
    math_type: str,
) -> float:
    """The largest difference of a device's two results that rounding explains.

    ``problem``  what one of them is of, whose scale the difference is a share of.
    ``others``   what the other is of: each has a part in it.
    Returns      as ``threshold``.
    Raises       as ``threshold``.
    """
    kind, device = kind_of(tensor), Rounding.of(data_type, math_prec, math_type)
    shapes = [geometry(one) for one in (problem, *others)]
    square = sum(_square(shape, kind, device) for shape in shapes)
    return min(_few(shapes[0], kind) * LARGEST * sqrt(square), _MOST)


def _few(shape: Geometry, kind: str) -> float:
    """How much smaller than usual the largest of a kind's numbers may be by chance."""
    numbers = {
        "inputs": shape.steps * shape.input_size,
        "states": shape.pseudo_layers * shape.batch_size * shape.output_size,
    }
    units = shape.steps * shape.hidden_size * shape.directions
    return float(_ONCE_IN ** (1 / max(1, min(units, numbers.get(kind, units)))))


def _square(shape: Geometry, kind: str, rounding: Rounding) -> float:
    """What adds up on the way to a kind of tensor."""
    longest = max(1, *shape.lengths)
    projection = shape.hidden_size if shape.projects else 0
    more = {"products": 3, "stored": 8} if shape.projects else {}
    chance = 1 + _BY_CHANCE / shape.hidden_size
    state = _OF_A_STATE * chance
    steps = longest if state == 1 else (1 - state ** min(longest, _MOST_STEPS)) / (1 - state)
    forward = backward = 0.0
    for layer in range(shape.num_layers):
        read = shape.layer_input(layer) if shape.has_input_matrix(layer) else 0
        above = chance ** min(shape.num_layers - 1 - layer, _MOST_LAYERS)
        forward += above * rounding.square(read + shape.output_size + projection, **more)
        gates = shape.gates * shape.hidden_size * (2 if shape.has_input_matrix(layer) else 1)
        below = chance ** min(layer, _MOST_LAYERS)
        terms = gates + (shape.output_size if shape.projects else 0)
        backward += below * rounding.square(terms, **more)
    if kind == "outputs":
        return steps * forward
    square = steps * (forward + backward)
    if kind != "weights":
        return square
    own = _OF_A_ROUNDING * (longest * rounding.kept**2 + 2 * rounding.operand**2)
    return square + own + _OF_A_SUM * shape.steps * rounding.summed**2


def kind_of(tensor: str) -> str:
    """Outputs, inputs, states or weights: the latter three of their gradients.

    Raises  UsageError for another tensor.
    """
    name = tensor.partition(".")[0]
    if name not in _KINDS:
        raise unknown_name("tensor", tensor, _KINDS)
    return _KINDS[name]


def scales(wanted: Mapping[str, Array], data_type: str) -> dict[str, float]:
    """What the differences of each tensor are a share of: the largest number of its kind.

    A sum of few terms may by chance be nearly nothing, so that it is no scale of its own. Below the
    least normal number of a type roundings do not become smaller, so that a scale does not either.

    Returns  by the names of ``wanted`` (y …, dw.NAME); nan and infinities do not count.
    """
    largest: dict[str, float] = {}
    for name, values in wanted.items():
        kind = kind_of(name)
        most = float(np.abs(values[np.isfinite(values)]).max(initial=NORMAL[data_type]))
        largest[kind] = max(largest.get(kind, 0.0), most)
    return {name: largest[kind_of(name)] for name in wanted}


def near_turn(network: Network, ahead: Forward, far: float) -> bool:
    """Whether a number lies so near to where a gradient turns on that it may on a device, or not.

    ``ahead``  with its tape.
    ``far``    the largest difference of the outputs that rounding explains.
    """
    if ahead.tape is None:
        raise ValueError("forward was not asked for a tape: tape=True")
    shape, clip = network.shape, network.clip
    turns = [0.0] if shape.cell_mode == "rnn_relu" else []
    if shape.cell_mode == "lstm" and clip is not None:
        turns = [clip.low, clip.high]
    # Of a rectifier what it gets, of an LSTM its state before it is clipped, comes last.
    numbers = [kept.cells[:, -shape.hidden_size :] for kept in ahead.tape.kept]
    return any(bool((np.abs(part - turn) <= far).any()) for part in numbers for turn in turns)
