"""Differences between buffers: known bits, and all kinds of numbers against a plain loop."""

from __future__ import annotations

import math
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.errors import UsageError
from pyharness.spec.differences import HOST_BLOCK, Comparison, Difference, difference
from tests.spec.slow_difference import BYTES, slow_difference

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


def test_parts_of_two_sizes_are_refused() -> None:
    comparison = Comparison("half")
    with pytest.raises(ValueError, match="4 bytes cannot be compared with 2"):
        comparison.add(np.zeros(1, np.int16), np.zeros(2, np.int16))


@pytest.mark.parametrize("data_type", ["half", "bfloat16"])
def test_every_number_of_16_bits_beside_another(data_type: str) -> None:
    rng = np.random.default_rng(1)
    every = rng.permutation(1 << 16).astype(np.uint16)
    neighbours = every + rng.integers(-2, 3, every.size).astype(np.uint16)
    mirrored = every ^ np.uint16(1 << 15)
    for others in (rng.permutation(every), neighbours, mirrored):
        # So few together that no maximum hides the rest.
        for begin in range(0, every.size, 16):
            before, now = (x[begin : begin + 16].tobytes() for x in (every, others))
            assert difference(before, now, data_type) == slow_difference(before, now, data_type)


NUMBERS = {
    # Zero, the subnormal ones, the least normal one, one, the largest, infinity, NaN.
    "float": (0, 1, 2, 0x7FFFFF, 0x800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000),
    "double": (
        0, 1, 2, 0xFFFFFFFFFFFFF, 1 << 52, 0x3FF << 52, (0x7FF << 52) - 1, 0x7FF << 52,
        (0x7FF << 52) + 1,
    ),
    "half": (0, 1, 2, 0x3FF, 0x400, 0x3C00, 0x7BFF, 0x7C00, 0x7E00),
    "bfloat16": (0, 1, 2, 0x7F, 0x80, 0x3F80, 0x7F7F, 0x7F80, 0x7FC0),
}  # fmt: skip


@pytest.mark.parametrize("data_type", NUMBERS)
def test_every_kind_of_number_beside_every_other(data_type: str) -> None:
    width = BYTES[data_type]
    sign = 1 << (8 * width - 1)
    kinds = [(n | s).to_bytes(width, "little") for n in NUMBERS[data_type] for s in (0, sign)]
    for before in kinds:
        for now in kinds:
            found = difference(before, now, data_type)
            assert found == slow_difference(before, now, data_type), (before, now)
    # Where a zero changes its sign, bits differ and no number does.
    apart = difference(kinds[0] + kinds[2], kinds[1] + kinds[2], data_type)
    assert apart == Difference(2, 1, 0, 0, 0.0, 0)


@given(
    st.sampled_from(sorted(BYTES)),
    st.lists(st.tuples(*[st.binary(min_size=8, max_size=8)] * 2, st.booleans()), max_size=40),
    st.integers(1, 9),
    st.integers(1, 13),
)
def test_parts_and_blocks_give_what_a_plain_loop_gives(
    data_type: str, pairs: list[tuple[bytes, bytes, bool]], block: int, part: int
) -> None:
    before = b"".join(a for a, _, _ in pairs)
    now = b"".join(a if same else b for a, b, same in pairs)
    comparison = Comparison(data_type, block=block)
    a, b = (np.frombuffer(data, comparison.bits) for data in (before, now))
    for begin in range(0, a.size, part):
        comparison.add(a[begin : begin + part], b[begin : begin + part])
    assert comparison.difference == slow_difference(before, now, data_type)
    assert difference(before, now, data_type) == comparison.difference


def test_what_comparing_needs_does_not_grow() -> None:
    before = np.zeros(8 << 20, np.int32)
    now = before + 1
    tracemalloc.start()
    for size in (1 << 20, 8 << 20):
        tracemalloc.reset_peak()
        comparison = Comparison("float")
        comparison.add(before[:size], now[:size])
        assert comparison.difference.differing == size
        assert tracemalloc.get_traced_memory()[1] < 100 * HOST_BLOCK
    tracemalloc.stop()
