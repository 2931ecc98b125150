"""Stored numbers as their bits: what they are, and how far they lie apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.errors import unknown_name

# The bits of a number as a signed integer; of bfloat16 numpy has nothing else.
BITS: dict[str, type[np.signedinteger[Any]]] = {
    "float": np.int32,
    "double": np.int64,
    "half": np.int16,
    "bfloat16": np.int16,
}
_FLOATS = {"float": np.float32, "double": np.float64, "half": np.float16}
_INFINITY = {
    "float": 0x7F80_0000,
    "double": 0x7FF0_0000_0000_0000,
    "half": 0x7C00,
    "bfloat16": 0x7F80,
}

Bits = NDArray[np.signedinteger[Any]]


def bits_of(data_type: str) -> type[np.signedinteger[Any]]:
    """The integer that holds the bits of a type's numbers.

    Raises  UsageError for a type that no RNN data has.
    """
    if data_type not in BITS:
        raise unknown_name("type of RNN data", data_type, BITS)
    return BITS[data_type]


def values(bits: Bits, data_type: str) -> NDArray[np.float64]:
    """The numbers that these bits are, as float64, which holds each of them exactly."""
    if data_type == "bfloat16":  # the upper half of a float
        stored = (bits.astype(np.int32) << 16).view(np.float32)
    else:
        stored = bits.view(_FLOATS[data_type])
    with np.errstate(invalid="ignore"):  # a NaN of the signalling kind is one like others
        return stored.astype(np.float64)


def is_nan(bits: Bits, data_type: str) -> NDArray[np.bool_]:
    """Where no number is: the bits without their sign lie behind infinity's."""
    return (bits & np.iinfo(bits.dtype).max) > _INFINITY[data_type]


def bit_distance(a: Bits, b: Bits, arrays: Any = np) -> NDArray[np.unsignedinteger[Any]]:
    """How many numbers of a type lie from one to the other, NaN taken for numbers too.

    ``arrays``  the library of the arrays: numpy, or cupy.
    Returns     as unsigned integers of the same width, which hold the largest; 0 for equal ones and
                for two zeros of other sign; 1 for neighbours, the largest number and infinity too.
    """
    places = _places(a), _places(b)
    low, high = arrays.minimum(*places), arrays.maximum(*places)
    # Unsigned, where what would not fit wraps to what it is.
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    distance: NDArray[np.unsignedinteger[Any]] = high.view(unsigned) - low.view(unsigned)
    return distance


def _places(bits: Bits) -> Bits:
    """Where a number is in the order of all, 0 for both zeros: negative ones count downwards."""
    negative = bits >> (8 * bits.dtype.itemsize - 1)  # every bit is the sign
    return (bits ^ (negative & np.iinfo(bits.dtype).max)) - negative
