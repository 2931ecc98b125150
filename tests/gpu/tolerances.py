"""How far a GPU's numbers may be from float64: the rounding of reference/tolerances.py.

One bound for all tensors of a network, by what a number goes through and what is added up at most;
gradients of weights add up a number for each step of each sequence. Measured with PyTorch on the
CPU this is 3 to 15 times what happens, and a wrong gate is far outside (test_tolerances).

A relu near zero is another matter: there a rounding turns a gradient on or off. The gradients of
rnn_relu are compared as they are where a sign that differs is improbable (double, float without
TensorFloat-32), and elsewhere with those of the device's own signs (`relu_gradients`).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import numpy as np

from pyharness.reference.tolerances import LARGEST, TF32, UNIT, Rounding
from tests.oracle.network import Array

__all__ = ["TF32", "relu_gradients", "signs_matter", "tolerance", "uses_tf32"]


def uses_tf32(data_type: str, math_type: str) -> bool:
    """Whether cuDNN may round the operands of a product of floats."""
    return _rounding(data_type, math_type).operand > 0


def tolerance(data_type: str, math_type: str, path: int, terms: int) -> float:
    """The largest difference that rounding explains, as a share of the largest number.

    ``path``   steps times layers: what a number goes through.
    ``terms``  the most numbers that a sum has.
    """
    # One bound for all tensors: that of a network that forgets nothing, every rounding the largest.
    return LARGEST * sqrt(3 * path * _rounding(data_type, math_type).square(2 * terms))


def signs_matter(data_type: str, math_type: str) -> bool:
    """Whether a relu may well be on here and off there: a rounding is coarser than float's."""
    rounding = _rounding(data_type, math_type)
    return max(rounding.kept, rounding.summed, rounding.operand) > UNIT["float"]


def _rounding(data_type: str, math_type: str) -> Rounding:
    return Rounding.of(data_type, _math_prec(data_type), math_type)


def _math_prec(data_type: str) -> str:
    return "double" if data_type == "double" else "float"


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
