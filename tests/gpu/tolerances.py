"""How far a GPU's numbers may be from float64, by type and by what is added up.

The largest difference of a tensor is compared with the largest number of its kind (outputs,
gradients of inputs, gradients of weights): sums of both signs lose of what they are made of, not of
what they come to.

One step of one layer rounds, in units of what is rounded:

- to the data type: both products, their sum, the gates (2), the state and h, 6 times;
- with TensorFloat-32, which cuDNN may use for float unless math_type is fma_math: the operands of
  both products, to 11 bits;
- to the type of the sums: each of the two products adds up `terms` numbers one by one, whose
  errors, as often up as down, grow with the square root of their number; an activation may be a
  fast one that is 8 units off.

These are independent of each other and of those of other steps and layers, so that squares add up;
a network that hands signals on at their size hands errors on at theirs. The largest of some ten
thousand differences is 4 times the usual one. Gradients go through the same steps once more, and
the sums of dw are those of `terms`. Measured with PyTorch on the CPU this is 3 to 15 times what
happens, and a wrong gate is far outside (test_tolerances).

A relu near zero is another matter: there a rounding turns a gradient on or off. The gradients of
rnn_relu are compared as they are where a sign that differs is improbable (double, float without
TensorFloat-32), and elsewhere with those of the device's own signs (`relu_gradients`).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import numpy as np

from tests.oracle.network import Array

UNIT = {"double": 2.0**-53, "float": 2.0**-24, "half": 2.0**-11, "bfloat16": 2.0**-8}
TF32 = 2.0**-11


def uses_tf32(data_type: str, math_type: str) -> bool:
    """Whether cuDNN may round the operands of a product of floats."""
    return data_type == "float" and math_type != "fma_math"


def tolerance(data_type: str, math_type: str, path: int, terms: int) -> float:
    """The largest difference that rounding explains, as a share of the largest number.

    ``path``   steps times layers: what a number goes through.
    ``terms``  the most numbers that a sum has.
    """
    kept = UNIT[data_type]
    summed = UNIT["double" if data_type == "double" else "float"]
    operand = TF32 if uses_tf32(data_type, math_type) else 0.0
    of_a_step = 6 * kept**2 + 2 * operand**2 + (2 * terms + 8**2) * summed**2
    return 4 * sqrt(path * of_a_step)


def signs_matter(data_type: str, math_type: str) -> bool:
    """Whether a relu may be on here and off there."""
    return data_type in ("half", "bfloat16") or uses_tf32(data_type, math_type)


def relu_gradients(
    y: Array, weights: Mapping[str, Array], given: Mapping[str, Array]
) -> dict[str, Array]:
    """The gradients of one layer of rnn_relu in one direction, with its gates open where y > 0.

    ``given``  x, dy [steps, batch, width], hx, dhy [1, batch, width].
    """
    w, r = weights["l0.forward.hidden.x.matrix"], weights["l0.forward.hidden.h.matrix"]
    before = np.concatenate([given["hx"], y[:-1]])
    dh = given["dhy"][0]
    dz = np.empty_like(y)
    for step in reversed(range(len(y))):
        dz[step] = (dh + given["dy"][step]) * (y[step] > 0)
        dh = dz[step] @ r
    bias = dz.sum((0, 1))[:, None]
    at = "dw.l0.forward.hidden"
    return {
        "dx": dz @ w,
        "dhx": dh[None],
        f"{at}.x.matrix": np.einsum("tbh,tbi->hi", dz, given["x"]),
        f"{at}.h.matrix": np.einsum("tbh,tbk->hk", dz, before),
        f"{at}.x.bias": bias,
        f"{at}.h.bias": bias,
    }
