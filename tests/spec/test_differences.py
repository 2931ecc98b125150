"""Differences between buffers: known bits, and hypothesis against a plain loop."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.errors import UsageError
from pyharness.spec import differences
from pyharness.spec.differences import Difference, difference

NAN, INF = math.nan, math.inf
LARGEST = 65504.0  # of half


def halves(*values: float) -> bytes:
    return np.array(values, np.float16).tobytes()


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ((), (), Difference(0)),
        ((1.0, NAN), (1.0, NAN), Difference(2)),
        ((0.0,), (-0.0,), Difference(1, 1, 0, 0, 0.0)),
        # After 1.0 come 1 + 2^-10 and 1 + 2^-9: 2 numbers on.
        ((5.0, 1.0, 1.0), (5.0, 1 + 2**-9, 1.0), Difference(3, 1, 1, 2, 2**-9)),
        # The smallest numbers of both signs, with the zero between them.
        ((2**-24,), (-(2**-24),), Difference(1, 1, 0, 2, 2**-23)),
        ((LARGEST,), (INF,), Difference(1, 1, 0, 1, INF)),
        ((NAN, 1.0), (1.0, NAN), Difference(2, 2, 0, 0, 0.0, 2)),
        # The NaN beside a number hides no other distance.
        ((1.0, 2.0), (NAN, 2 + 2**-9), Difference(2, 2, 0, 1, 2**-9, 1)),
    ],
)
def test_differences_of_known_halves(
    before: tuple[float, ...], now: tuple[float, ...], expected: Difference
) -> None:
    found = difference(halves(*before), halves(*now), "half")
    assert found == expected
    assert found.same == (expected.first is None)


def test_two_nan_of_other_bits_differ_and_are_no_distance() -> None:
    quiet, other = struct.pack("<H", 0x7E00), struct.pack("<H", 0xFE01)
    assert difference(quiet, other, "half") == Difference(1, 1, 0, 0, 0.0, 0)


def test_each_type_has_its_own_last_place() -> None:
    # 1.0 and the number behind it: 2^-7 of bfloat16, 2^-23 of float, 2^-52 of double.
    one, next_one = struct.pack("<H", 0x3F80), struct.pack("<H", 0x3F81)
    assert difference(one, next_one, "bfloat16") == Difference(1, 1, 0, 1, 2**-7)
    one, next_one = struct.pack("<I", 0x3F800000), struct.pack("<I", 0x3F800001)
    assert difference(one, next_one, "float") == Difference(1, 1, 0, 1, 2**-23)
    one, next_one = struct.pack("<d", 1.0), struct.pack("<d", 1 + 2**-52)
    assert difference(one, next_one, "double") == Difference(1, 1, 0, 1, 2**-52)
    # Both ends of the doubles: all numbers lie between them, and the distance is none of them.
    ends = struct.pack("<d", np.finfo(float).max), struct.pack("<d", -np.finfo(float).max)
    assert difference(*ends, "double") == Difference(1, 1, 0, 2 * 0x7FEF_FFFF_FFFF_FFFF, INF)


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ValueError, match="4 bytes cannot be compared with 2"):
        difference(b"12", b"1234", "half")
    with pytest.raises(UsageError, match="int8"):
        difference(b"", b"", "int8")


@given(st.lists(st.tuples(*[st.integers(0, 2**16 - 1)] * 2), max_size=40), st.integers(1, 9))
def test_parts_give_what_a_plain_loop_gives(pairs: list[tuple[int, int]], part: int) -> None:
    before, now = (np.array([p[i] for p in pairs], np.uint16) for i in (0, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(differences, "_CHUNK", part)
        found = difference(before.tobytes(), now.tobytes(), "half")
    expected = {"ulps": 0, "abs": 0.0, "nan": 0}
    places = [i for i, (a, b) in enumerate(pairs) if a != b]
    for i in places:
        a, b = (float(x.view(np.float16)[i]) for x in (before, now))
        if math.isnan(a) or math.isnan(b):
            expected["nan"] += math.isnan(a) != math.isnan(b)
            continue
        signed = [(-1) ** (bits >> 15) * (bits & 0x7FFF) for bits in pairs[i]]
        expected["ulps"] = max(expected["ulps"], abs(signed[0] - signed[1]))
        expected["abs"] = max(expected["abs"], abs(a - b))
    assert found == Difference(
        len(pairs), len(places), places[0] if places else None,
        expected["ulps"], expected["abs"], expected["nan"],
    )  # fmt: skip
