"""How far a device's numbers may be from float64, by what is rounded and what is added up.

A difference is measured as a share of the largest number of its kind (see ``scales``): sums of both
signs lose of what they are made of, not of what they come to. Roundings are as often up as down and
independent of each other, so that squares add up. In units of what is rounded:

one step of one layer forward
    to the data type       both products, their sum, the gates (2), the state and h: 6 times; a
                           projection, and the output before it: twice more
    of the operands        of both products (and of the projection), each where they are narrower
                           than the data type: with TensorFloat-32 or a conversion to half
    of the sums            each product adds up as many numbers one by one as its input is wide: the
                           squares of the sums on the way are half the last one's on average (a
                           third if all have one sign), and that of a rounding, which may be
                           anything up to its largest, a third of it: a sixth of the number; an
                           activation may be a fast one, 8 units off: its square is 64
one step of one layer backward
    the same, but that the products with the transposed matrices add up a number for each gate's
    hidden unit

A network that hands signals on at their size hands errors on at theirs, so that a tensor has those
of all steps of all layers behind it: outputs of the forward ones; gradients of x and of the states
of the forward ones, since the activations that they are made of have these, and of the backward
ones. Gradients of the weights have these too, and of their own the operands of one more product,
its sum over all steps of all sequences, and a rounding to the data type for each step where a
library adds a step's part to what is stored.

The reference computes in double and is off by as much as a device that does. The largest of some
ten thousand differences is 4 times the usual one.

A rectifier near zero is another matter: there a rounding turns a gradient on or off
(``signs_matter``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from pyharness.errors import unknown_name
from pyharness.reference.arrays import Array
from pyharness.spec.geometry import Geometry, geometry
from pyharness.spec.problem import Problem

# What rounding to the nearest number costs at most, as a share of it: half the last of its bits.
UNIT = {"double": 2.0**-53, "float": 2.0**-24, "half": 2.0**-11, "bfloat16": 2.0**-8}
# The least number that has all its bits; below it a rounding costs as much as at it.
NORMAL = {"double": 2.0**-1022, "float": 2.0**-126, "half": 2.0**-14, "bfloat16": 2.0**-126}
# TensorFloat-32 has as many bits as half, to which allow_conversion may convert: 11.
TF32 = 2.0**-11
_KINDS = {
    **dict.fromkeys(("y", "hy", "cy"), "outputs"),
    **dict.fromkeys(("dx", "dhx", "dcx"), "inputs"),
    "dw": "weights",
}
LARGEST = 4  # the largest of many differences, in usual ones
_ACTIVATION = 8
_OF_A_SUM = 1 / 6


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
        sums = _OF_A_SUM * terms + _ACTIVATION**2
        return stored * self.kept**2 + products * self.operand**2 + sums * self.summed**2


def threshold(
    problem: Problem, tensor: str, data_type: str, math_prec: str, math_type: str
) -> float:
    """The largest difference that rounding explains, as a share of the tensor's scale.

    ``tensor``  y, hy, cy, dx, dhx, dcx, dw, or dw.NAME of one weight.
    Returns     more than 0; 1 or more says that the types hold nothing of such a network.
    Raises      UsageError for another tensor or type, or a problem that cannot be computed.
    """
    kind, shape = kind_of(tensor), geometry(problem)
    device = Rounding.of(data_type, math_prec, math_type)
    reference = Rounding.of("double", "double", "fma_math")
    return LARGEST * sqrt(_square(shape, kind, device) + _square(shape, kind, reference))


def _square(shape: Geometry, kind: str, rounding: Rounding) -> float:
    """What adds up on the way to a kind of tensor."""
    longest = max(1, *shape.lengths)
    projection = shape.hidden_size if shape.projects else 0
    more = {"products": 3, "stored": 8} if shape.projects else {}
    forward = backward = 0.0
    for layer in range(shape.num_layers):
        read = shape.layer_input(layer) if shape.has_input_matrix(layer) else 0
        forward += rounding.square(read + shape.output_size + projection, **more)
        gates = shape.gates * shape.hidden_size * (2 if shape.has_input_matrix(layer) else 1)
        backward += rounding.square(gates + (shape.output_size if shape.projects else 0), **more)
    if kind == "outputs":
        return longest * forward
    square = longest * (forward + backward)
    if kind == "inputs":
        return square
    own = longest * rounding.kept**2 + 2 * rounding.operand**2
    return square + own + _OF_A_SUM * shape.steps * rounding.summed**2


def kind_of(tensor: str) -> str:
    """Outputs, inputs (their gradients) or weights (theirs).

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


def signs_matter(data_type: str, math_prec: str, math_type: str) -> bool:
    """Whether a rectifier that is on here may well be off there, and a gradient with it."""
    rounding = Rounding.of(data_type, math_prec, math_type)
    return max(rounding.kept, rounding.summed, rounding.operand) > UNIT["float"]
