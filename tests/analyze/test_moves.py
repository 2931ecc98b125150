"""How much a move changes a computation, and which values are tried."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.analyze.moves import LEVELS, Move, candidates, rank, single
from pyharness.spec.axes import INT_MAX, INT_MIN, PROJ_RULES
from pyharness.spec.calls import CALLS, all_axes
from pyharness.spec.enums import DATA_TYPE

AXES = all_axes()


def move(name: str, old: str, new: str) -> Move:
    axis = AXES[name]
    return single(axis, axis.parse(new)[0], {name: axis.parse(old)[0]})


def test_every_axis_has_a_level() -> None:
    assert set(LEVELS) == set(AXES) - {"tensor"}


def test_the_order_of_levels() -> None:
    order = [
        move("aux_flags", "0", "1"),
        move("math_type", "default_math", "fma_math"),
        move("algo", "persist_static", "standard"),
        move("math_prec", "half", "float"),
        move("data_type", "half", "float"),
        move("max_seq_length", "5", "4"),
        move("hidden_size", "5", "4"),
        move("cell_mode", "lstm", "gru"),
    ]
    ranks = [rank([m]) for m in order]
    assert all(nearer < farther for nearer, farther in pairwise(ranks))


def test_no_projection_is_what_a_size_of_none_means() -> None:
    axis = AXES["proj_size"]
    base = {"proj_size": 0, "hidden_size": 64}
    same, one = (single(axis, axis.parse(t)[0], base) for t in ("same", "1"))
    assert rank([same]) < rank([one])
    assert "no projection" in same.cost


def test_x_is_best_as_wide_as_the_network_takes_it() -> None:
    axis = AXES["vector_size"]
    base = {"vector_size": -1, "input_size": 64}
    assert rank([single(axis, 64, base)]) < rank([single(axis, 1, base)])


def test_one_great_change_is_more_than_two_small_ones() -> None:
    small = [move("math_type", "default_math", "fma_math"), move("algo", "1", "standard")]
    great = [move("data_type", "double", "float")]
    assert rank(small) < rank(great)
    assert rank(small[:1]) < rank(small)
    assert rank(small) == rank(small[::-1])


@pytest.mark.parametrize(
    ("old", "nearest_first"),
    [
        # More digits and range lose nothing; then what loses least.
        ("bfloat16", ["float", "double", "half"]),
        ("half", ["float", "double", "bfloat16"]),
        ("double", ["float", "half", "bfloat16"]),
        ("int8", ["float", "half", "bfloat16", "double"]),
    ],
)
def test_types_that_lose_nothing_come_first(old: str, nearest_first: list[str]) -> None:
    others = [m.name for m in DATA_TYPE.members if m.name != old]
    moves = {name: move("data_type", old, name) for name in others}
    ordered = sorted(others, key=lambda n: rank([moves[n]]))
    assert ordered[:3] == nearest_first[:3]
    assert ("still fits" in moves[ordered[0]].cost) == (old in ("bfloat16", "half"))


def test_what_is_lost_is_said() -> None:
    assert move("data_type", "double", "half").cost.endswith("digits and range are lost")
    assert move("data_type", "half", "bfloat16").cost.endswith("digits are lost")
    assert move("data_type", "bfloat16", "half").cost.endswith("range is lost")


@given(st.integers(INT_MIN, INT_MAX), st.sampled_from(["hidden_size", "batch_size", "proj_size"]))
def test_what_is_tried_is_another_value_that_can_be_handed_over(old: int, name: str) -> None:
    base = {"hidden_size": 64, "input_size": 32, name: old}
    values = candidates(name, base)
    assert old not in values
    assert len(values) == len(set(values))
    axis = AXES[name]
    for value in values:
        assert axis.parse(axis.label(value)) == [value]
    assert 1 in values or old == 1
    if name == "proj_size":
        assert set(PROJ_RULES.values()) <= set(values)


def test_all_names_are_tried() -> None:
    for call in CALLS:
        for axis in call.axes:
            if not axis.names or axis.name in ("seq_lengths", "proj_size"):
                continue
            old = axis.parse(axis.names[0])[0]
            found = {axis.label(v) for v in candidates(axis.name, {axis.name: old})}
            assert found == set(axis.names[1:]), axis.name
