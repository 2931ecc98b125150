"""Layouts against an index by hand; types against exact fractions, PyTorch and numpy."""

from __future__ import annotations

import struct
from fractions import Fraction
from math import inf, isinf

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from pyharness.errors import UsageError
from pyharness.reference.layouts import numbers, pack, rounded, to_bytes, ulps, unpack
from tests.emulator.types16 import to_bfloat16

LAYOUTS = ("seq_major_unpacked", "seq_major_packed", "batch_major_unpacked")
TYPES = ("double", "float", "half", "bfloat16")
# Bits of a number with the first one, the exponents of the least and largest normal number.
FORMATS = {
    "double": (53, -1022, 1023),
    "float": (24, -126, 127),
    "half": (11, -14, 15),
    "bfloat16": (8, -126, 127),
}
SIZE = {"double": 8, "float": 4, "half": 2, "bfloat16": 2}
NUMPY = {"double": np.float64, "float": np.float32, "half": np.float16}


@st.composite
def batches(draw: st.DrawFn) -> tuple[int, list[int], int]:
    steps = draw(st.integers(1, 5))
    lengths = draw(st.lists(st.integers(0, steps), min_size=1, max_size=5))
    return steps, lengths, draw(st.integers(1, 3))


def place(layout: str, lengths: list[int], steps: int, step: int, sequence: int) -> int:
    """Where the vector of a step of a sequence is, in vectors."""
    if layout == "seq_major_unpacked":
        return step * len(lengths) + sequence
    if layout == "batch_major_unpacked":
        return sequence * steps + step
    earlier = sum(length > t for t in range(step) for length in lengths)
    return earlier + sum(length > step for length in lengths[:sequence])


@given(batches(), st.sampled_from(LAYOUTS))
def test_each_step_is_where_its_layout_has_it(
    batch: tuple[int, list[int], int], layout: str
) -> None:
    steps, lengths, width = batch
    room = sum(lengths) if layout == "seq_major_packed" else steps * len(lengths)
    flat = np.arange(room * width, dtype=np.float64)
    series = unpack(flat, layout, lengths, steps, width)
    assert series.shape == (steps, len(lengths), width)
    for sequence, length in enumerate(lengths):
        assert np.isnan(series[length:, sequence]).all()
        for step in range(length):
            first = place(layout, lengths, steps, step, sequence) * width
            assert series[step, sequence].tolist() == list(range(first, first + width))
    back = pack(series, layout, lengths, fill=-7.0)
    assert back.shape == flat.shape
    assert ((back == flat) | (back == -7.0)).all()
    assert (back == flat).sum() == sum(lengths) * width
    assert np.array_equal(unpack(back, layout, lengths, steps, width), series, equal_nan=True)


def test_a_buffer_may_be_larger_and_not_smaller() -> None:
    assert unpack(np.arange(9.0), "seq_major_packed", [2, 1], 2, 2).shape == (2, 2, 2)
    for layout in LAYOUTS:
        with pytest.raises(ValueError, match="numbers, the layout holds"):
            unpack(np.arange(5.0), layout, [2, 1], 2, 2)


def test_unknown_names_are_refused() -> None:
    for call in (
        lambda: unpack(np.zeros(4), "packed", [1], 1, 1),
        lambda: pack(np.zeros((1, 1, 1)), "packed", [1]),
        lambda: numbers(b"", "int8"),
        lambda: to_bytes(np.zeros(1), "int8"),
        lambda: ulps(np.zeros(1), np.zeros(1), "fp16"),
    ):
        with pytest.raises(UsageError, match="unknown"):
            call()


def nearest(value: float, data_type: str) -> float:
    """The nearest number of a type by exact arithmetic, ties to even, too large is infinite."""
    if isinf(value) or value == 0:
        return value
    digits, least, most = FORMATS[data_type]
    exact = Fraction(abs(value))
    exponent = least
    while exponent < most and exact >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - digits + 1)
    found = round(exact / unit) * unit  # Python rounds ties of fractions to even
    size = inf if found >= Fraction(2) ** (most + 1) else float(found)
    return size if value > 0 else -size


FLOATS = st.floats(allow_nan=False) | st.floats(-70000, 70000) | st.floats(-1e-4, 1e-4)


@given(FLOATS, st.sampled_from(TYPES[1:]))
@example(2.0**-133 / 2, "bfloat16")  # a tie below the least number
@example(np.nextafter(2.0**-134, 1), "bfloat16")
@example(float.fromhex("0x1.01p0"), "bfloat16")  # a tie between two
@example(np.nextafter(float.fromhex("0x1.01p0"), 2), "bfloat16")  # a tie of floats after rounding
@example(float.fromhex("0x1.ffp127"), "bfloat16")  # halfway to infinity
@example(np.nextafter(float.fromhex("0x1.ffp127"), 0), "bfloat16")
@example(65519.99, "half")
@example(65520.0, "half")
@example(2.0**-25, "half")
def test_rounding_is_to_the_nearest_number(value: float, data_type: str) -> None:
    found = float(rounded(np.array([value]), data_type)[0])
    assert struct.pack("d", found) == struct.pack("d", nearest(value, data_type))  # the sign of 0


def test_infinities_and_nan_stay() -> None:
    given_ = np.array([inf, -inf, np.nan])
    nan_of_low_bits = np.array([0x7FF0000000000001], np.uint64).view(np.float64)
    for data_type in TYPES:
        found = rounded(given_, data_type)
        assert found[:2].tolist() == [inf, -inf]
        assert np.isnan(found[2])
        assert np.isnan(rounded(nan_of_low_bits, data_type)).all()


@pytest.mark.parametrize("data_type", TYPES)
def test_bits_are_those_of_others(data_type: str) -> None:
    draw = np.random.default_rng(1)
    values = np.concatenate([draw.normal(size=5000) * 10.0**e for e in range(-45, 39, 4)])
    # PyTorch rounds a double to 16 bits by way of float: hand it floats, which it rounds once.
    with np.errstate(under="ignore"):
        values = values.astype(np.float32).astype(np.float64)
    kinds = {"double": torch.float64, "half": torch.float16, "bfloat16": torch.bfloat16}
    by_torch = torch.tensor(values).to(kinds.get(data_type, torch.float32))
    raw = by_torch.view(torch.int16 if SIZE[data_type] == 2 else by_torch.dtype).numpy().tobytes()
    assert to_bytes(values, data_type) == raw
    if data_type == "bfloat16":
        assert to_bytes(values, data_type) == to_bfloat16(values).tobytes()


@pytest.mark.parametrize("data_type", TYPES[2:])
def test_every_number_of_16_bits_is_read_and_written(data_type: str) -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    values = numbers(bits.tobytes(), data_type)
    again = np.frombuffer(to_bytes(values, data_type), np.uint16)
    numeric = ~np.isnan(values)
    assert (again[numeric] == bits[numeric]).all()
    mantissa = FORMATS[data_type][0] - 1
    assert (~numeric).sum() == 2 * ((1 << mantissa) - 1)  # all mantissas but 0, both signs


@given(st.data(), st.sampled_from(("double", "float", "half")))
def test_neighbours_are_one_apart(data: st.DataObject, data_type: str) -> None:
    kind = NUMPY[data_type]
    value = kind(data.draw(st.floats(allow_nan=False, width=8 * SIZE[data_type])))  # type: ignore[arg-type]
    count = data.draw(st.integers(0, 5))
    other, steps = value, 0
    for _ in range(count):
        with np.errstate(all="ignore"):  # numpy says when it reaches infinity or leaves the normal
            following = np.nextafter(other, kind(inf))
        steps += following != other
        other = following
    pair = np.array([value], np.float64), np.array([other], np.float64)
    assert ulps(*pair, data_type).tolist() == [steps]
    assert ulps(*pair[::-1], data_type).tolist() == [steps]


def test_between_powers_of_two_a_distance_is_in_spacings() -> None:
    draw = np.random.default_rng(2)
    for data_type, kind in NUMPY.items():
        a, b = (draw.uniform(1, 2, 1000).astype(kind).astype(np.float64) for _ in range(2))
        spacing = float(np.spacing(kind(1)))
        assert ulps(a, b, data_type).tolist() == (abs(a - b) / spacing).astype(int).tolist()


def test_distances_of_bfloat16_are_those_of_its_list() -> None:
    bits = np.arange(0x7F80 + 1, dtype=np.uint16)  # zero to infinity, in order
    values = numbers(bits.tobytes(), "bfloat16")
    assert (np.diff(values) > 0).all()
    assert ulps(values[:-1], values[1:], "bfloat16").tolist() == [1] * 0x7F80
    assert ulps(values, -values, "bfloat16").tolist() == [2 * i for i in range(0x7F80 + 1)]


def test_the_ends_of_the_scale() -> None:
    far = np.finfo(np.float64).max
    assert ulps(np.array([0.0]), np.array([-0.0]), "double").tolist() == [0]
    assert ulps(np.array([-far]), np.array([far]), "double").tolist() == [2 * 0x7FEFFFFFFFFFFFFF]
    assert ulps(np.array([np.nan, np.nan, 1]), np.array([np.nan, 1, np.nan]), "half").tolist() == [
        0,
        2**64 - 1,
        2**64 - 1,
    ]
    assert ulps(np.array([65504.0]), np.array([inf]), "half").tolist() == [1]
    # Rounded to the type first.
    assert ulps(np.array([1.0]), np.array([1 + 2.0**-12]), "half").tolist() == [0]
