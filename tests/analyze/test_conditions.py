"""Conditions: the words, the words read back, and the proof against the raw labels."""

import json
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pyharness.analyze import conditions as module
from pyharness.analyze.conditions import AxisValues, describe, evaluate, proves, text
from pyharness.analyze.cover import cover
from pyharness.analyze.partition import partition

ALGO = AxisValues("algo", ("standard", "persist_static", "persist_dynamic", "small_h"))
DTYPE = AxisValues("data_type", ("float", "half", "bfloat16", "-1"))
HIDDEN = AxisValues("hidden_size", ("64", "0", "1024", "512", "-1"), (64, 0, 1024, 512, -1))
BOTH = AxisValues("direction_mode", ("unidirectional", "bidirectional"))
ONE = AxisValues("layout", ("seq_major_packed",))


def words(*restrictions):
    """Describe the box that takes the named labels of each axis, one class for each value."""
    axes = [axis for axis, _ in restrictions]
    box = [[axis.labels.index(label) for label in labels] for axis, labels in restrictions]
    return text(describe(box, [np.arange(len(axis.labels)) for axis in axes], axes))


@pytest.mark.parametrize(
    ("axis", "labels", "expected"),
    [
        (DTYPE, ["bfloat16"], "data_type=bfloat16"),
        (ALGO, ["persist_dynamic", "standard"], "algo in {standard, persist_dynamic}"),
        (ALGO, ["persist_static", "persist_dynamic", "small_h"], "algo!=standard"),
        (BOTH, ["bidirectional"], "direction_mode=bidirectional"),
        (HIDDEN, ["1024"], "hidden_size=1024"),
        (HIDDEN, ["1024", "512"], "hidden_size>=512"),
        (HIDDEN, ["-1", "0"], "hidden_size<=0"),
        (HIDDEN, ["64", "0", "1024", "512"], "hidden_size>=0"),
        (HIDDEN, ["64", "512"], "64<=hidden_size<=512"),
        (HIDDEN, ["-1", "0", "512", "1024"], "hidden_size!=64"),
        (HIDDEN, ["1024", "-1", "64"], "hidden_size in {-1, 64, 1024}"),
        (HIDDEN, list(HIDDEN.labels), "every problem"),
        (ONE, ["seq_major_packed"], "every problem"),
    ],
)
def test_words(axis, labels, expected):
    assert words((axis, labels)) == expected


def test_complement_of_two():
    axis = AxisValues("math_type", tuple("abcdef"))
    assert words((axis, "bcef")) == "math_type not in {a, d}"
    assert words((axis, "cef")) == "math_type in {c, e, f}"


def test_words_are_joined_in_the_order_of_the_axes():
    found = words((DTYPE, ["half"]), (ONE, ONE.labels), (ALGO, ALGO.labels), (HIDDEN, ["1024"]))
    assert found == "data_type=half and hidden_size=1024"


def test_classes_are_spelled_out():
    box = [(1,)]
    classes = [np.array([0, 1, 1, 0])]
    found = describe(box, classes, [ALGO])
    assert found == [{"axis": "algo", "op": "in", "values": ["persist_static", "persist_dynamic"]}]
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize("numbers", [(1.0, 1.0, 2.0), (1.0, 2.0, 1.0)])
def test_equal_numbers_on_both_sides_are_no_threshold(numbers):
    axis = AxisValues("n", ("a", "b", "c"), numbers)
    found = describe([(1, 2)], [np.arange(3)], [axis])
    ((_, mask),) = evaluate([found], [axis])
    assert mask.tolist() == [False, True, True]


@st.composite
def spaces(draw):
    """Axes and labels: values repeat, numbers come in any order."""
    axes = []
    for position in range(draw(st.integers(1, 4))):
        length = draw(st.integers(1, 5))
        numbers = draw(st.permutations(range(-1, length - 1)))
        numeric = draw(st.booleans())
        labels = tuple(str(n) if numeric else f"v{n}" for n in numbers)
        axes.append(
            AxisValues(f"x{position}", labels, tuple(map(float, numbers)) if numeric else None)
        )
    shape = tuple(len(axis.labels) for axis in axes)
    labels = draw(hnp.arrays(np.uint8, shape, elements=st.integers(0, 2)))
    for axis, length in enumerate(shape):
        choice = st.lists(st.integers(0, length - 1), min_size=length, max_size=length)
        labels = labels.take(draw(choice), axis)
    return axes, labels


def described(axes, labels, k):
    part = partition(labels)
    found = cover(part.quotient == k, part.sizes)
    return [describe(box, part.classes, axes) for box in found.boxes]


def read(sentence, axis_by_name):
    """The mask that a sentence means, from its text alone: axis name -> allowed labels."""
    allowed = {name: set(axis.labels) for name, axis in axis_by_name.items()}
    for part in [] if sentence == "every problem" else sentence.split(" and "):
        if match := re.fullmatch(r"(-?\d+)<=(\w+)<=(-?\d+)", part):
            low, name, high = match.groups()
            keep = {v for v in axis_by_name[name].labels if int(low) <= int(v) <= int(high)}
        elif match := re.fullmatch(r"(\w+) (not in|in) \{(.*)\}", part):
            name, op, names = match.groups()
            named = set(names.split(", "))
            keep = named if op == "in" else set(axis_by_name[name].labels) - named
        else:
            name, op, value = re.fullmatch(r"(\w+)(!=|<=|>=|=)(.*)", part).groups()
            test = {
                "=": lambda v, value=value: v == value,
                "!=": lambda v, value=value: v != value,
                "<=": lambda v, value=value: int(v) <= int(value),
                ">=": lambda v, value=value: int(v) >= int(value),
            }[op]
            keep = {v for v in axis_by_name[name].labels if test(v)}
        allowed[name] &= keep
    return allowed


@settings(max_examples=80, deadline=None)
@given(spaces())
def test_text_read_back_is_the_set_of_points(space):
    axes, labels = space
    by_name = {axis.name: axis for axis in axes}
    for k in range(3):
        mask = np.zeros(labels.shape, bool)
        for conjunction in described(axes, labels, k):
            allowed = read(text(conjunction), by_name)
            sides = [
                [i for i, v in enumerate(axis.labels) if v in allowed[axis.name]] for axis in axes
            ]
            mask[np.ix_(*sides)] = True
        assert np.array_equal(mask, labels == k)


@pytest.mark.parametrize("block", [1 << 18, 1, 6])
def test_description_is_proven_in_blocks_of_any_size(block, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", block)

    @settings(max_examples=40, deadline=None)
    @given(spaces())
    def check(space):
        axes, labels = space
        for k in range(3):
            description = described(axes, labels, k)
            mask = np.empty(labels.size, bool)
            for where, covered in evaluate(description, axes):
                mask[where] = covered
            assert np.array_equal(mask.reshape(labels.shape), labels == k)
            assert proves(description, axes, labels, k)

    check()


@settings(max_examples=60, deadline=None)
@given(spaces(), st.data())
def test_one_wrong_point_is_caught(space, data):
    axes, labels = space
    description = described(axes, labels, 1)
    point = data.draw(st.integers(0, labels.size - 1))
    changed = labels.copy()
    changed.flat[point] = 0 if changed.flat[point] == 1 else 1
    assert not proves(description, axes, changed, 1)


def planted():
    axes = [DTYPE, ALGO, HIDDEN]
    labels = np.zeros((4, 4, 5), np.uint8)
    labels[2, 1:, :] = 1
    labels[0, 0, [2, 3]] = 1
    return axes, labels, described(axes, labels, 1)


def test_planted_change_in_words():
    axes, labels, description = planted()
    assert [text(conjunction) for conjunction in description] == [
        "data_type=bfloat16 and algo!=standard",
        "data_type=float and algo=standard and hidden_size>=512",
    ]
    assert proves(description, axes, labels, 1)
    assert not proves(description, axes, labels, 0)


@pytest.mark.parametrize(
    ("conjunction", "position", "wrong"),
    [
        (0, 0, {"axis": "data_type", "op": "=", "values": ["half"]}),
        (0, 1, {"axis": "algo", "op": "in", "values": ["standard", "small_h"]}),
        (1, 2, {"axis": "hidden_size", "op": ">=", "values": ["64"]}),
        (1, 2, {"axis": "hidden_size", "op": "<=", "values": ["512"]}),
        (1, 2, {"axis": "hidden_size", "op": "between", "values": ["512", "512"]}),
    ],
)
def test_planted_mistakes_are_caught(conjunction, position, wrong):
    axes, labels, description = planted()
    description[conjunction][position] = wrong
    assert not proves(description, axes, labels, 1)


def test_missing_and_spare_conditions_are_caught():
    axes, labels, description = planted()
    assert not proves(description[:1], axes, labels, 1)
    assert not proves([*description, []], axes, labels, 1)
    assert not proves([description[0][:1], description[1]], axes, labels, 1)


def test_nothing_is_described_by_no_conjunction():
    axes, labels, _ = planted()
    assert proves([], axes, labels, 9)
    assert not proves([], axes, labels, 1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"axis": "seed", "op": "=", "values": ["1"]}, "no axis 'seed'"),
        ({"axis": "algo", "op": "=", "values": ["fast"]}, "no value 'fast'"),
        ({"axis": "algo", "op": ">=", "values": ["standard"]}, "not numeric"),
    ],
)
def test_conditions_that_do_not_fit_the_grid(wrong, message):
    axes, labels, _ = planted()
    with pytest.raises(ValueError, match=message):
        proves([[wrong]], axes, labels, 1)


def test_labels_of_another_grid():
    axes, labels, description = planted()
    with pytest.raises(ValueError, match="labels of shape"):
        proves(description, axes, labels[:, :, :4], 1)


def test_axes_must_make_sense():
    with pytest.raises(ValueError, match="stands twice"):
        AxisValues("algo", ("a", "a"))
    with pytest.raises(ValueError, match="1 numbers for 2 labels"):
        AxisValues("n", ("1", "2"), (1.0,))


@pytest.mark.parametrize("taken", range(1, 63))
def test_conditions_on_an_axis_with_a_nan_are_proven(taken: int) -> None:
    """Every proper subset of numbers that have no order among them."""
    numbers = (-math.inf, -1.0, 0.0, 1.0, math.inf, math.nan)
    axis = AxisValues("lclip", tuple(map(repr, numbers)), numbers)
    inside = np.array([bool(taken >> i & 1) for i in range(6)])
    labels = inside.astype(np.uint8)
    box = [[1]]
    conditions = describe(box, [inside.astype(np.intp)], [axis])
    assert proves([conditions], [axis], labels, 1), text(conditions)
