"""Grids number their problems as nested loops do, and come back from their words."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.errors import UsageError
from pyharness.space.grid import Grid, Space, from_labels, make_grid
from pyharness.spec.calls import CALLS, Call, call_named

DESCRIPTOR = call_named("cudnnSetRNNDescriptor_v8")
DATA = call_named("cudnnSetRNNDataDescriptor")
# Texts that every axis of a kind takes.
TEXTS = {
    "size": ["1", "-1,0,7", "3..9:2", "1..16*2"],
    "lclip": ["nan", "-inf,inf,0.1", "-0.0,0.0"],
}


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    """A grid of any call."""
    call: Call = draw(st.sampled_from(CALLS))
    chosen = {}
    for axis in call.axes:
        kind = "lclip" if axis.name in ("lclip", "rclip") else "size" if axis.numeric else ""
        texts = TEXTS.get(kind, ["all", call.defaults[axis.name]])
        if draw(st.booleans()):
            chosen[axis.name] = draw(st.sampled_from(texts))
    return make_grid(call, chosen)


@given(grids(), st.data())
def test_rows_are_numbered_like_nested_loops(grid: Grid, data: st.DataObject) -> None:
    assert grid.size == len(grid.values[0]) * _product(len(v) for v in grid.values[1:])
    row = data.draw(st.integers(0, grid.size - 1))
    digits = grid.digits(row)
    assert grid.row(digits) == row
    # The value of an axis changes once for every combination of the axes inside it.
    inner = 1
    for axis, values, digit in reversed(
        list(zip(grid.call.axes, grid.values, digits, strict=True))
    ):
        assert digit == row // inner % len(values)
        assert grid.at(row)[axis.name] == values[digit]
        assert grid.words(row)[axis.name] == axis.label(values[digit])
        inner *= len(values)


def _product(numbers: object) -> int:
    result = 1
    for number in numbers:  # type: ignore[attr-defined]
        result *= number
    return result


def test_a_small_grid_row_by_row() -> None:
    grid = make_grid(DESCRIPTOR, {"hidden_size": "8,16", "algo": "1,0", "dropout": "all"})
    rows = [tuple(grid.at(r)[n] for n in ("algo", "hidden_size", "dropout")) for r in range(8)]
    assert rows == list(product((1, 0), (8, 16), (0, 1)))


@given(grids())
def test_a_grid_comes_back_from_its_labels(grid: Grid) -> None:
    again = from_labels(grid.call.name, grid.labels())
    assert again == grid
    assert Space("a", (again,)).fingerprint == Space("b", (grid,)).fingerprint


@given(grids(), st.data())
def test_a_command_describes_its_row(grid: Grid, data: st.DataObject) -> None:
    row = data.draw(st.integers(0, grid.size - 1))
    words = dict(part.split("=") for part in grid.command(row).split())
    one = make_grid(grid.call, words)
    assert one.size == 1
    assert one.at(0) == grid.at(row)


def test_fingerprints_differ_when_anything_differs() -> None:
    def fingerprint(call: Call = DESCRIPTOR, **chosen: str) -> str:
        return Space("same name", (make_grid(call, chosen),)).fingerprint

    every = [
        fingerprint(),
        fingerprint(hidden_size="8"),
        fingerprint(hidden_size="8,9"),
        fingerprint(hidden_size="9,8"),
        fingerprint(input_size="8"),
        fingerprint(proj_size="64"),
        fingerprint(dropout="null"),
        fingerprint(DATA),
        fingerprint(DATA, seq_lengths="[1,2]"),
        fingerprint(DATA, seq_lengths="[2,1]"),
        fingerprint(DATA, batch_size="2"),
        fingerprint(call_named("cudnnRNNSetClip_v9")),
        fingerprint(call_named("cudnnRNNSetClip_v8")),
        fingerprint(call_named("cudnnRNNSetClip_v9"), lclip="-0.0"),
        fingerprint(call_named("cudnnRNNSetClip_v9"), lclip="0.0"),
        Space("two", (make_grid(DATA, {}), make_grid(DESCRIPTOR, {}))).fingerprint,
        Space("two", (make_grid(DESCRIPTOR, {}), make_grid(DATA, {}))).fingerprint,
        Space("none", ()).fingerprint,
    ]
    assert len(set(every)) == len(every)
    assert fingerprint(hidden_size="64") == fingerprint(), "the default, written out"
    assert fingerprint(hidden_size="8..9") == fingerprint(hidden_size="8,9")


@pytest.mark.parametrize(
    ("chosen", "batches"),
    [
        ({"seq_lengths": "[5,3,2]", "batch_size": "2"}, "2"),
        ({"seq_lengths": "[5,3,2]", "batch_size": "3,4"}, "3, 4"),
        ({"seq_lengths": "equal,[5,3,2]"}, "8"),
        ({"seq_lengths": "[5,3,2],[1]"}, "3"),
        ({"seq_lengths": "[5,3,2],[1]", "batch_size": "1"}, "1"),
    ],
)
def test_a_list_of_lengths_needs_its_batch(chosen: dict[str, str], batches: str) -> None:
    with pytest.raises(UsageError, match=f"batch_size is {batches}") as caught:
        make_grid(DATA, chosen)
    assert "the list needs one entry per sequence" in caught.value.hint


@pytest.mark.parametrize(
    ("lengths", "batch"), [("[5,3,2]", 3), ("[4],[5]", 1), ("[5,3],[2,1],equal", 2)]
)
def test_a_list_of_lengths_brings_its_batch(lengths: str, batch: int) -> None:
    grid = make_grid(DATA, {"seq_lengths": lengths})
    assert dict(zip((a.name for a in DATA.axes), grid.values, strict=True))["batch_size"] == (
        batch,
    )


def test_an_axis_of_another_call_is_refused() -> None:
    with pytest.raises(UsageError, match="has no axis 'layout'"):
        make_grid(DESCRIPTOR, {"layout": "all"})
