"""Axes: what a person writes becomes the values that he means, and values get their words back."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.errors import UsageError
from pyharness.spec.axes import Axis, parse_values, resolve_proj_size
from pyharness.spec.calls import CALLS, all_axes, call_named
from tests.doubles import arguments, rules

INTS = st.integers(-(2**31), 2**31 - 1)
DESCRIPTOR = call_named("cudnnSetRNNDescriptor_v8")
EVERY = [(c.name, a) for c in CALLS for a in c.axes]


def axis(name: str) -> Axis:
    """An axis of any call."""
    return all_axes()[name]


@pytest.mark.parametrize(("call", "one"), EVERY, ids=[f"{c}-{a.name}" for c, a in EVERY])
def test_defaults_and_all_come_back_from_their_labels(call: str, one: Axis) -> None:
    texts = [call_named(call).defaults[one.name]]
    if not one.numeric:
        texts.append("all")
    for text in texts:
        values = one.parse(text)
        assert values
        assert len(set(values)) == len(values)
        for value in values:
            assert one.parse(one.label(value)) == [value]


@pytest.mark.parametrize("name", sorted(set(arguments.WORDS)))
def test_words_are_the_numbers_of_the_headers(name: str) -> None:
    for number, word in enumerate(arguments.WORDS[name].split()):
        assert axis(name).parse(word) == [number]
        assert axis(name).label(number) == word
    assert axis(name).parse("all") == list(range(len(arguments.WORDS[name].split())))


@given(st.sampled_from(["algo", "cell_mode", "data_type", "layout", "hidden_size"]), INTS)
def test_integers_stay_what_they_are(name: str, value: int) -> None:
    one = DESCRIPTOR.axis(name) if name == "cell_mode" else axis(name)
    assert one.parse(str(value)) == [value]
    assert one.parse(one.label(value)) == [value]


@given(INTS)
def test_proj_size_takes_any_size(value: int) -> None:
    assert axis("proj_size").parse(str(value)) == [value]
    assert axis("proj_size").label(value) == str(value)


@given(st.sampled_from(["same", "half", "over"]), INTS)
def test_proj_size_follows_its_rule(rule: str, hidden: int) -> None:
    (value,) = axis("proj_size").parse(rule)
    assert resolve_proj_size(value, hidden) == rules.proj_size(rule, hidden)


@given(INTS, INTS)
def test_a_proj_size_given_is_handed_over(size: int, hidden: int) -> None:
    assert resolve_proj_size(axis("proj_size").parse(str(size))[0], hidden) == size


@given(st.floats())
def test_real_numbers_keep_every_bit(number: float) -> None:
    one = axis("lclip")
    (value,) = one.parse(repr(number))
    if math.isnan(number):
        assert math.isnan(one.number(value))
    else:
        assert struct.pack("<q", value) == struct.pack("<d", number)
    assert one.parse(one.label(value)) == [value]


def test_there_is_one_nan() -> None:
    assert parse_values(axis("lclip"), "nan,-nan,NaN") == axis("lclip").parse("nan")
    assert axis("lclip").parse("-0.0") != axis("lclip").parse("0.0")


@given(st.integers(-500, 500), st.integers(0, 300), st.integers(1, 70))
def test_ranges_are_the_ranges_of_a_loop(first: int, width: int, step: int) -> None:
    text, values = f"{first}..{first + width}", []
    value = first
    while value <= first + width:
        values.append(value)
        value += step
    assert axis("input_size").parse(f"{text}:{step}") == values
    assert axis("algo").parse(f"{text}:{step}") == values
    assert axis("proj_size").parse(f"{text}:{step}") == values
    assert axis("input_size").parse(text) == list(range(first, first + width + 1))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1..1000*10", [1, 10, 100, 1000]),
        ("3..24*2", [3, 6, 12, 24]),
        ("3..23*2", [3, 6, 12]),
        ("5..5", [5]),
        ("-3..3:3", [-3, 0, 3]),
        ("2147483646..2147483647", [2147483646, 2147483647]),
    ],
)
def test_ranges(text: str, values: list[int]) -> None:
    assert axis("input_size").parse(text) == values


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("algo", "persist_statik", "did you mean persist_static"),
        ("data_type", "bflot16", "did you mean bfloat16"),
        ("data_type", "tensor", "an integer is taken as it is"),
        ("proj_size", "halve", "did you mean half"),
        ("dropout", "nul", "did you mean null"),
        ("seq_lengths", "decending", "did you mean descending"),
        ("seq_lengths", "[1,x]", "is no list of lengths"),
        ("seq_lengths", "[]", "is no list of lengths"),
        ("seq_lengths", "[4294967296]", "does not fit the argument's 32-bit integer"),
        ("input_size", "many", "is no integer"),
        ("input_size", "1.5", "is no integer"),
        ("input_size", "2147483648", "does not fit the argument's 32-bit integer"),
        ("input_size", "-2147483649", "does not fit the argument's 32-bit integer"),
        ("algo", "4294967296", "does not fit the argument's 32-bit integer"),
        ("proj_size", str(2**40), "does not fit the argument's 32-bit integer"),
        ("input_size", "9..1", "the range 9..1 is empty"),
        ("input_size", "1..9:0", "the step of 1..9:0 must be 1 or more"),
        ("input_size", "0..9*2", "does not grow"),
        ("input_size", "1..9*1", "does not grow"),
        ("input_size", "1..2000000000", "has more than 10,000,000 values"),
        ("nb_dims", "17", "cannot be tried: the arrays that are handed over have 16 entries"),
        ("lclip", "huge", "is no number"),
        ("input_size", "", "has no values"),
        ("input_size", ",,", "has no values"),
    ],
)
def test_what_cannot_be_meant_is_told(name: str, text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_values(axis(name), text)
    assert words in str(caught.value)
    assert caught.value.hint
    assert name in caught.value.message


def test_a_batch_of_lengths_has_an_end() -> None:
    one = call_named("cudnnSetRNNDataDescriptor").axis("batch_size")
    assert one.parse("1048576") == [1048576]
    with pytest.raises(UsageError, match="1048577 cannot be tried"):
        one.parse("1048577")


@pytest.mark.parametrize("text", ["-1", "4", "-1..2", "2..4", "7"])
def test_a_closed_axis_takes_enumerators_only(text: str) -> None:
    closed = call_named("cudnnRNNSetClip_v9").axis("cell_mode")
    with pytest.raises(UsageError, match="is no enumerator, and this call does not take it"):
        closed.parse(text)
    assert closed.parse("0..3") == [0, 1, 2, 3]
    assert DESCRIPTOR.axis("cell_mode").parse(text)


def test_values_keep_their_order_and_stand_once() -> None:
    one = axis("hidden_size")
    assert parse_values(one, "5, 3..4,5,,1,3") == [5, 3, 4, 1]
    (pair, single) = parse_values(axis("seq_lengths"), "[2,1],[7]")
    assert [axis("seq_lengths").label(v) for v in (pair, single)] == ["[2,1]", "[7]"]
    assert parse_values(axis("seq_lengths"), "[2, 1],equal") == [pair, 0]


def test_an_axis_that_a_call_lacks_names_its_owner() -> None:
    with pytest.raises(UsageError, match="has no axis 'layout'") as caught:
        DESCRIPTOR.axis("layout")
    assert "cudnnSetRNNDataDescriptor" in caught.value.hint
    with pytest.raises(UsageError, match="unknown axis 'hiden_size'") as caught:
        DESCRIPTOR.axis("hiden_size")
    assert "hidden_size" in caught.value.hint
    with pytest.raises(UsageError, match="unknown call 'cudnnSetRNNDescriptor'") as caught:
        call_named("cudnnSetRNNDescriptor")
    assert "cudnnSetRNNDescriptor_v8" in caught.value.hint
