"""How far two buffers are apart, said by a plain loop over Python's numbers."""

from __future__ import annotations

import math
import struct

from pyharness.spec.differences import Difference

# How struct reads a number and its bits; bfloat16 is the upper half of a float.
FORMATS = {"float": ("<f", "<I"), "double": ("<d", "<Q"), "half": ("<e", "<H")}
BYTES = {"float": 4, "double": 8, "half": 2, "bfloat16": 2}


def slow_difference(before: bytes, now: bytes, data_type: str) -> Difference:
    """The same as spec.differences.difference."""
    width = BYTES[data_type]
    assert len(before) == len(now)
    elements = len(now) // width
    differing, first, most_ulps, most_abs, nan = 0, None, 0, 0.0, 0
    for i in range(elements):
        a, b = (data[i * width : (i + 1) * width] for data in (before, now))
        if a == b:
            continue
        differing += 1
        first = i if first is None else first
        one, other = _number(a, data_type), _number(b, data_type)
        if math.isnan(one) or math.isnan(other):
            nan += math.isnan(one) != math.isnan(other)
            continue
        most_ulps = max(most_ulps, abs(_place(a) - _place(b)))
        most_abs = max(most_abs, abs(one - other))
    return Difference(elements, differing, first, most_ulps, most_abs, nan)


def _number(data: bytes, data_type: str) -> float:
    if data_type == "bfloat16":
        data, data_type = b"\0\0" + data, "float"
    number: float = struct.unpack(FORMATS[data_type][0], data)[0]
    return number


def _place(data: bytes) -> int:
    """How many numbers lie between zero and this one, with its sign."""
    bits = int.from_bytes(data, "little")
    sign = 1 << (8 * len(data) - 1)
    return bits if bits < sign else sign - bits
