"""Variants of a problem against the walk of whole grids: two ways to ask the same library."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from pyharness.api.launching import launch_of
from pyharness.api.trying import try_calls
from pyharness.engine.answers import ask
from pyharness.engine.crew import Crew
from pyharness.engine.neighbours import UNMADE, Neighbourhood
from pyharness.releases import Release
from pyharness.space.grid import Grid
from pyharness.spec.axes import parse_values
from pyharness.spec.calls import all_axes
from pyharness.spec.ledger import NOT_RUN, Ledger
from pyharness.spec.problem import Problem, parse_problem

# Every axis at both sides of what is known of it; the grid of a call stays below three million.
VALUES = {
    "algo": "-1..4",
    "cell_mode": "1..4",
    "bias_mode": "0..4",
    "direction_mode": "0..2",
    "input_mode": "1,2",
    "data_type": "0..4,9,24",
    "math_prec": "0..2,9,10",
    "math_type": "0,3,4",
    "input_size": "-1,64",
    "hidden_size": "0,1,64,2147483647",
    "proj_size": "same,half,over,0,1",
    "num_layers": "0,1,2",
    "dropout": "all",
    "aux_flags": "0..2",
    "seq_lengths": "all",
    "max_seq_length": "-1,0,1,5,65535,65536",
    "batch_size": "-1,0,1,3",
    "layout": "-1..3",
    "padding_fill": "all",
}
PROBLEMS = 1_000_000


def crew_of(release: Release, ledger: Ledger) -> Crew:
    return Crew(launch_of(release), ledger, 1)


def around(crew: Crew, ledger: Ledger, *words: str) -> Neighbourhood:
    problem = parse_problem(words)
    return Neighbourhood(crew, ledger, problem, problem.calls(crew.first().opened.calls))


def mapped(
    crew: Crew, ledger: Ledger, call_name: str, values: Mapping[str, list[int]]
) -> tuple[Grid, NDArray[np.uint8]]:
    """The whole grid of a call, as a map walks it."""
    (call,) = (m.call for m in Problem({}).calls([call_name]) if m.role in ("descriptor", "x", "h"))
    texts = {n: parse_values(call.axis(n), t)[0] for n, t in call.defaults.items()}
    grid = Grid(call, tuple(tuple(values.get(a.name, [texts[a.name]])) for a in call.axes))
    return grid, ask(crew, grid, np.arange(grid.size)).codes


@pytest.mark.parametrize("version", ["8.9.7.29", "9.28.0.42"])
def test_a_million_random_problems_are_answered_as_their_maps_say(
    cudnn: Callable[[str], Release], version: str
) -> None:
    axes, rng, ledger = all_axes(), np.random.default_rng(7), Ledger()
    choices = {n: parse_values(axes[n], t) for n, t in VALUES.items()}
    drawn = {n: rng.integers(0, len(v), PROBLEMS) for n, v in choices.items()}
    changed = {n: np.array(choices[n], np.int64)[at] for n, at in drawn.items()}
    with crew_of(cudnn(version), ledger) as crew:
        near = around(crew, ledger, "hidden_size=64")
        codes = near.codes(changed)
        assert near.roles == ["descriptor", "x", "y", "h", "c"]

        # The map of the descriptor has one value of these; the problems with it are compared.
        fixed = {"input_size": [64], "num_layers": [1], "input_mode": [1]}
        here = np.logical_and.reduce([changed[n] == v[0] for n, v in fixed.items()])
        grid, whole = mapped(crew, ledger, "cudnnSetRNNDescriptor_v8", {**choices, **fixed})
        compare(grid, whole, changed, codes["descriptor"], here)

        width = changed["input_size"]
        grid, whole = mapped(
            crew, ledger, "cudnnSetRNNDataDescriptor", {**choices, "vector_size": [-1, 64]}
        )
        compare(grid, whole, {**changed, "vector_size": width}, codes["x"])

        sensible = np.isin(changed["direction_mode"], (0, 1))
        assert (codes["h"][~sensible] == NOT_RUN).all()
        enumerated = {**choices, "direction_mode": [0, 1], "tensor": [0]}
        grid, whole = mapped(crew, ledger, "cudnnSetTensorNdDescriptor", enumerated)
        compare(grid, whole, changed, codes["h"], sensible)
        enumerated["tensor"] = [1]
        grid, whole = mapped(crew, ledger, "cudnnSetTensorNdDescriptor", enumerated)
        lstm = changed["cell_mode"] == 2
        assert (codes["c"][~lstm] == UNMADE).all()  # only an LSTM has a cell state
        compare(grid, whole, changed, codes["c"], sensible & lstm)


def compare(
    grid: Grid,
    whole: NDArray[np.uint8],
    changed: Mapping[str, NDArray[np.int64]],
    found: NDArray[np.uint8],
    where: NDArray[np.bool_] | None = None,
) -> None:
    """Looks every problem up in the map of its call."""
    where = np.ones(len(found), bool) if where is None else where
    rows = np.zeros(int(where.sum()), np.int64)
    for axis, values in zip(grid.call.axes, grid.values, strict=True):
        place = np.zeros(len(rows), np.int64)
        if len(values) > 1:
            order = np.argsort(values)
            asked = changed[axis.name][where]
            place = order[np.searchsorted(np.array(values)[order], asked)]
            assert (np.array(values)[place] == asked).all()
        rows = rows * len(values) + place
    assert len(rows) > 20_000
    assert len(set(whole[rows].tolist())) > 1  # else nothing was told apart
    assert (whole[rows] == found[where]).all()


def test_y_is_as_wide_as_the_output(cudnn: Callable[[str], Release]) -> None:
    """A width that no int holds is no call; one that is refused says so itself."""
    ledger = Ledger()
    with crew_of(cudnn("9.28.0.42"), ledger) as crew:
        near = around(crew, ledger, "direction_mode=bidirectional")
        hidden = np.array([2**30 - 1, 2**30, 0, -3], np.int64)
        names = [
            None if code == NOT_RUN else ledger.name_of(code)
            for code in near.codes({"hidden_size": hidden})["y"].tolist()
        ]
        assert names == ["SUCCESS", None, "BAD_PARAM", "BAD_PARAM"]
        assert near.reads("y")[-3:] == ("hidden_size", "proj_size", "direction_mode")
        assert "vector_size" not in near.reads("x")
        given = around(crew, ledger, "vector_size=7")
        assert "input_size" not in given.reads("x")
        assert "vector_size" not in given.reads("y")


def test_random_problems_one_by_one(cudnn: Callable[[str], Release]) -> None:
    """The same statuses as the command that tries one problem, lists of lengths included."""
    release, ledger, rng = cudnn("9.28.0.42"), Ledger(), np.random.default_rng(3)
    axes = all_axes()
    for _ in range(12):
        lengths = rng.integers(-1, 6, rng.integers(1, 4)).tolist()
        given = {"seq_lengths": f"[{','.join(map(str, lengths))}]"}
        for name in ("algo", "data_type", "layout", "hidden_size", "proj_size", "max_seq_length"):
            values = parse_values(axes[name], VALUES[name])
            given[name] = axes[name].label(values[rng.integers(len(values))])
        with crew_of(release, ledger) as crew:
            near = around(crew, ledger, *(f"{n}={t}" for n, t in given.items()))
            base = {"hidden_size": np.array([near.base["hidden_size"]], np.int64)}
            found = {role: codes[0] for role, codes in near.codes(base).items()}
        said = try_calls(release, Problem(given))
        assert {r.role: r.status for r in said} == {
            role: None if code == NOT_RUN else ledger.name_of(code) for role, code in found.items()
        }


def test_a_neighbour_that_is_an_lstm_has_a_cell_state(cudnn: Callable[[str], Release]) -> None:
    """The problem's own calls do not describe c; those of an LSTM beside it do."""
    ledger = Ledger()
    with crew_of(cudnn("9.28.0.42"), ledger) as crew:
        near = around(crew, ledger, "cell_mode=gru", "hidden_size=300000000", "proj_size=8")
        cells = {"cell_mode": np.array([2, 3], np.int64)}
        codes = near.codes(cells)
        assert ledger.name_of(int(codes["c"][0])) == "NOT_SUPPORTED"  # too large a tensor
        assert codes["c"][1] == UNMADE
        assert near.accepted(cells, ["h", "c"]).tolist() == [False, True]
