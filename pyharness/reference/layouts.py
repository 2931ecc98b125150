"""The three layouts of x and y, and the types that their numbers are stored in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pyharness.errors import unknown_name
from pyharness.reference.arrays import Array
from pyharness.spec.enums import LAYOUT
from pyharness.spec.number_bits import Bits, bit_distance, bits_of, values

_FLOATS = {"double": np.float64, "float": np.float32, "half": np.float16}
_LAYOUTS = [member.name for member in LAYOUT.members]
# Of bfloat16: bits of a number, the first one with them, and the exponent of the least normal
# number, as frexp counts them (0.5 to 1).
_BFLOAT16_DIGITS, _BFLOAT16_LEAST = 8, -125


def unpack(flat: Array, layout: str, lengths: Sequence[int], steps: int, width: int) -> Array:
    """The numbers of x or y, in the order of a layout.

    Returns  [steps, batch, width], nan behind each sequence's end.
    Raises   UsageError for no layout; ValueError for fewer numbers than the layout holds.
    Source   cudnnSetRNNDataDescriptor: packed holds, step after step, the sequences that still
             have one; the others hold every step of every sequence.
    """
    there = _there(lengths, steps)
    series: Array
    if _checked(layout) == "seq_major_packed":
        series = np.full((*there.shape, width), np.nan)
        series[there] = _first(flat, int(there.sum()) * width).reshape(-1, width)
        return series
    stored = _first(flat, there.size * width)
    if layout == "batch_major_unpacked":
        series = stored.reshape(len(lengths), steps, width).swapaxes(0, 1).copy()
    else:
        series = stored.reshape(steps, len(lengths), width).copy()
    series[~there] = np.nan
    return series


def pack(series: Array, layout: str, lengths: Sequence[int], fill: float = 0.0) -> Array:
    """The way back from ``unpack``: [steps, batch, width] to the numbers in a layout's order.

    ``fill``  what stands behind a sequence's end where the layout has room for it.
    Raises    UsageError for no layout.
    """
    there = _there(lengths, len(series))
    if _checked(layout) == "seq_major_packed":
        return series[there].reshape(-1)
    filled = np.where(there[..., None], series, fill)
    return np.ascontiguousarray(
        filled.swapaxes(0, 1) if layout == "batch_major_unpacked" else filled
    ).reshape(-1)


def numbers(data: bytes, data_type: str) -> Array:
    """The numbers of a buffer as float64, which holds each of them exactly.

    Raises  UsageError for a type that no RNN data has.
    """
    return values(np.frombuffer(data, bits_of(data_type)), data_type)


def to_bytes(array: Array, data_type: str) -> bytes:
    """The nearest numbers of a type, ties to even; beyond its largest infinity.

    Raises  UsageError for a type that no RNN data has.
    """
    return _stored(array, data_type).tobytes()


def rounded(array: Array, data_type: str) -> Array:
    """The nearest numbers of a type, as float64 of the same shape.

    Raises  UsageError for a type that no RNN data has.
    """
    return numbers(to_bytes(array, data_type), data_type).reshape(np.shape(array))


def ulps(a: Array, b: Array, data_type: str) -> NDArray[np.uint64]:
    """How many numbers of a type lie from one to the other, both rounded to it first.

    Returns  0 for equal ones, two zeros of other sign, and nan beside nan; 1 for neighbours, the
             largest number and infinity too; 2**64 - 1 for a number beside nan.
    Raises   UsageError for a type that no RNN data has.
    """
    distance = bit_distance(_stored(a, data_type), _stored(b, data_type))
    missing = np.isnan(a).astype(int) + np.isnan(b)
    return np.where(missing == 1, ~np.uint64(0), np.where(missing == 2, np.uint64(0), distance))


def _stored(array: Array, data_type: str) -> Bits:
    """The bits of the nearest numbers of a type."""
    bits = bits_of(data_type)
    wide = np.asarray(array, np.float64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if data_type != "bfloat16":
            return np.asarray(wide.astype(_FLOATS[data_type]).view(bits), bits)
        # Rounded in float64, once: by way of float a number close to a tie would be rounded twice.
        fraction, exponent = np.frexp(wide)
        unit = np.maximum(exponent, _BFLOAT16_LEAST) - _BFLOAT16_DIGITS
        nearest = np.ldexp(np.rint(np.ldexp(fraction, exponent - unit)), unit)
        return np.asarray(nearest.astype(np.float32).view(np.int32) >> 16, bits)


def _checked(layout: str) -> str:
    if layout not in _LAYOUTS:
        raise unknown_name("layout", layout, _LAYOUTS)
    return layout


def _there(lengths: Sequence[int], steps: int) -> NDArray[np.bool_]:
    """[steps, batch]: where a sequence still has a step."""
    return np.arange(steps)[:, None] < np.asarray(lengths)


def _first(flat: Array, count: int) -> Array:
    """What lies behind is the room of a buffer that is larger."""
    if flat.size < count:
        raise ValueError(f"{flat.size} numbers, the layout holds {count}")
    return flat[:count]
