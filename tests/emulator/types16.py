"""bfloat16 by arithmetic on the bits of float64, for tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def from_bfloat16(bits: NDArray[np.uint16]) -> NDArray[np.float64]:
    """The upper half of a float32."""
    single = (bits.astype(np.uint32) << 16).view(np.float32)
    with np.errstate(invalid="ignore"):  # a NaN of the other kind
        return single.astype(np.float64)


def to_bfloat16(values: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Rounded to the nearest, ties to even, once: not by way of float32."""
    below = _toward_zero(np.ascontiguousarray(values, np.float64))
    above = below + np.uint16(1)  # one further from zero; of the largest, infinity
    with np.errstate(invalid="ignore"):
        to_below = np.abs(values - from_bfloat16(below))
        step = 2.0**120  # where the next one is infinity, as if the exponents went on
        next_one = from_bfloat16(above)
        next_one = np.where(np.isinf(next_one), np.copysign(2.0**8 * step, values), next_one)
        to_above = np.abs(next_one - values)
    up = (to_above < to_below) | ((to_above == to_below) & (below & 1 == 1))
    special = ~np.isfinite(values)
    return np.where(up & ~special, above, below).astype(np.uint16)


def _toward_zero(values: NDArray[np.float64]) -> NDArray[np.uint16]:
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    too_far = np.isfinite(values) & (np.abs(single.astype(np.float64)) > np.abs(values))
    single = np.where(too_far, np.nextafter(single, np.float32(0)), single)
    return (single.view(np.uint32) >> 16).astype(np.uint16)
