"""What Python says is handed over is what the library gets: the fake one repeats its arguments."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from pyharness.device import core
from pyharness.engine.worker import Launch
from pyharness.space.grid import Grid, make_grid
from pyharness.spec.axes import resolve_proj_size
from pyharness.spec.calls import CALLS, call_named
from pyharness.spec.seq_lengths import resolve_seq_lengths
from tests.doubles import arguments
from tests.doubles.walking import walk

Start = Callable[..., Launch]
MOST = 2**31 - 1


def echoes(launch: Start, grid: Grid) -> list[str]:
    """The arguments of every row as the library saw them."""
    answers, ledger = walk(launch(ECHO=grid.call.name), grid, explain=True)
    assert grid.size <= 4096, "the board keeps so many texts"
    return [ledger.texts[i] for i in answers.text_ids]


def table_rows(grid: Grid) -> list[dict[str, object]]:
    """Every row as a table has it: words, plain numbers, the rule of a proj_size."""
    names = [a.name for a in grid.call.axes]
    rows = []
    for values in product(*grid.values):
        row: dict[str, object] = {}
        for axis, value in zip(grid.call.axes, values, strict=True):
            word = axis.label(value)
            kind = float if axis.name in ("lclip", "rclip") else int if axis.numeric else str
            row[axis.name] = kind(word)
        if "proj_size" in names:
            word = str(row["proj_size"])
            row["proj_rule"] = word if word in ("same", "half", "over") else "given"
        rows.append(row)
    return rows


def text_of(values: object) -> str:
    """A list as the library prints it."""
    assert isinstance(values, list)
    return ",".join(str(v) for v in values)


def test_both_sides_know_the_same_calls_and_axes() -> None:
    names = [c.name for c in CALLS]
    assert core().call_names() == names
    for call in CALLS:
        assert core().call_axes(call.name) == [a.name for a in call.axes]
        assert set(call.defaults) == {a.name for a in call.axes}


@pytest.mark.parametrize("swapped", range(14))
def test_every_argument_of_a_descriptor_has_its_place(launch: Start, swapped: int) -> None:
    # One argument at a time stands out, so that no two can change places unseen.
    call = call_named("cudnnSetRNNDescriptor_v8")
    odd = {a.name: str(20 + i) for i, a in enumerate(call.axes)}
    odd |= {"dropout": "null" if swapped == 12 else "present"}
    name = call.axes[swapped].name
    if name != "dropout":
        odd[name] = "-7"
    grid = make_grid(call, odd)
    (row,) = table_rows(grid)
    assert echoes(launch, grid) == [text_of(arguments.descriptor(row))]


def test_proj_size_follows_hidden_size(launch: Start) -> None:
    call = call_named("cudnnSetRNNDescriptor_v8")
    hidden = f"-2147483648,-7,-1,0,1,2,7,64,{MOST}"
    grid = make_grid(call, {"hidden_size": hidden, "proj_size": f"same,half,over,-3,0,5,{MOST}"})
    seen = [int(text.split(",")[10]) for text in echoes(launch, grid)]
    hiddens, projs = grid.values[9], grid.values[10]
    assert seen == [resolve_proj_size(p, h) for h in hiddens for p in projs]
    assert seen == [arguments.proj_size(row) for row in table_rows(grid)]


@pytest.mark.parametrize(
    ("tops", "batches"),
    [
        (f"-2147483648,-5,-1,0,1,2,3,7,16,{MOST}", "-3,0,1,2,3,4,5,9,16"),
        (f"65535,1000000007,{MOST}", "100,101"),
    ],
)
def test_lengths_follow_their_pattern(launch: Start, tops: str, batches: str) -> None:
    call = call_named("cudnnSetRNNDataDescriptor")
    grid = make_grid(call, {"seq_lengths": "all", "max_seq_length": tops, "batch_size": batches})
    seen = [[int(n) for n in text.split(",")[6:] if n] for text in echoes(launch, grid)]
    places = list(product(*grid.values[:3]))
    assert seen == [list(resolve_seq_lengths(p, t, n))[: max(n, 0)] for p, t, n in places]
    assert seen == [arguments.data(row)[1] for row in table_rows(grid)]


def test_a_batch_of_none_still_has_memory_behind_it() -> None:
    # The library may read an entry of a batch that is said to be empty.
    for pattern in range(8):
        for batch in (-5, 0, 1):
            assert len(resolve_seq_lengths(pattern, 5, batch)) == 1


def test_every_argument_of_a_data_descriptor_has_its_place(launch: Start) -> None:
    call = call_named("cudnnSetRNNDataDescriptor")
    chosen = {"data_type": "21", "layout": "22", "vector_size": "23", "padding_fill": "all"}
    grid = make_grid(call, {**chosen, "seq_lengths": "[9,8,7],[1,-2,3]", "max_seq_length": "24"})
    assert grid.values[2] == (3,), "the batch is as long as the lists"
    assert echoes(launch, grid) == [
        "21,22,24,3,23,0,9,8,7",
        "21,22,24,3,23,1,9,8,7",
        "21,22,24,3,23,0,1,-2,3",
        "21,22,24,3,23,1,1,-2,3",
    ]


@pytest.mark.parametrize("strides", ["packed", "transposed", "zero", "overlapping", "negative"])
def test_dimensions_and_strides_of_a_state(launch: Start, strides: str) -> None:
    call = call_named("cudnnSetTensorNdDescriptor")
    chosen = {
        "strides": strides,
        "nb_dims": "-1..8,16",
        "data_type": "9",
        "tensor": "all",
        "num_layers": f"-2,3,{MOST}",
        "direction_mode": "all",
        "batch_size": f"5,{MOST}",
        "hidden_size": f"7,{MOST}",
        "proj_size": "same,half,over,4",
    }
    grid = make_grid(call, chosen)
    expected = []
    for row in table_rows(grid):
        data_type, count, dims, steps = arguments.tensor(row)
        expected.append(f"{data_type},{count};{text_of(dims)};{text_of(steps)}")
    assert echoes(launch, grid) == expected


@pytest.mark.parametrize("call", ["cudnnRNNSetClip_v8", "cudnnRNNSetClip_v9"])
def test_bounds_are_handed_over_bit_by_bit(launch: Start, call: str) -> None:
    bounds = "-inf,-1.5,-0.0,0.0,5e-324,0.1,inf,nan"
    chosen = {"cell_mode": "all", "clip_mode": "-1..2", "lclip": bounds, "rclip": "0.25,-1e308"}
    if call.endswith("v8"):
        chosen["clip_nan_opt"] = "-1..2"
    grid = make_grid(call_named(call), chosen)
    for text, row in zip(echoes(launch, grid), table_rows(grid), strict=True):
        *numbers, lclip, rclip = text.split(",")
        cell, mode, option, low, high = arguments.clip(row)
        assert [int(n) for n in numbers] == [cell, mode, option]
        for seen, given in ((lclip, low), (rclip, high)):
            value = float(seen) if "n" in seen else float.fromhex(seen)
            assert repr(value) == repr(given)
