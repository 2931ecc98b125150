"""What PyTorch has not: clipping, dropout factors that are given; and gradients by differences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.emulator.networks import (
    DOUBLE_BIAS,
    GRU,
    LSTM,
    NO_BIAS,
    SINGLE_INPUT_BIAS,
    SINGLE_RECURRENT_BIAS,
    TANH,
    UNTOUCHED,
    Array,
    Arrays,
    Net,
    Probe,
    random_inputs,
)

STEP = 1e-3
BIASES = [NO_BIAS, SINGLE_INPUT_BIAS, DOUBLE_BIAS, SINGLE_RECURRENT_BIAS]


@pytest.fixture(scope="module")
def probe(shared_tmp: Path) -> Probe:
    return Probe(shared_tmp / "emulator")


def loss(probe: Probe, net: Net, given: Arrays, incoming: Arrays) -> float:
    found = probe.inference(net, given)
    found["y"] = found["y"][net.inside]
    dy = incoming["dy"]
    weights = incoming | {"dy": None if dy is None else dy[net.inside]}
    return sum(
        float((array * factors).sum())
        for name, array in found.items()
        if (factors := weights[f"d{name}"]) is not None
    )


def by_differences(probe: Probe, net: Net, given: Arrays, incoming: Arrays, name: str) -> Array:
    """Central differences of fourth order: off by STEP^4 and by 1e-16 / STEP, about 1e-12."""
    array = given[name]
    assert array is not None
    found = np.full(array.shape, UNTOUCHED if name in {"x", "weights"} else 0.0)
    for place in np.ndindex(*array.shape):
        if np.isnan(array[place]):
            continue
        slope = 0.0
        for steps, factor in ((-2, 1), (-1, -8), (1, 8), (2, -1)):
            moved = array.copy()
            moved[place] += steps * STEP
            slope += factor * loss(probe, net, given | {name: moved}, incoming)
        before = UNTOUCHED if name == "weights" else 0.0
        found[place] = before + slope / (12 * STEP)
    return found


def assert_gradients(probe: Probe, net: Net, given: Arrays, incoming: Arrays) -> None:
    found = probe.training(net, given, incoming)
    for name in ("weights", "x", "hx", "cx"):
        if given[name] is not None:
            np.testing.assert_allclose(
                found[f"d{name}"],
                by_differences(probe, net, given, incoming, name),
                atol=1e-8,
                err_msg=name,
            )


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("cell", [TANH, LSTM, GRU])
def test_gradients_with_skipped_input_dropout_and_empty_sequences(
    probe: Probe, cell: int, bias: int
) -> None:
    net = Net(
        cell, 3, (2, 0, 3), bias=bias, skip_input=True, directions=2, num_layers=2,
        input_size=2, hidden_size=2,
    )  # fmt: skip
    given, incoming = random_inputs(net, probe, np.random.default_rng(30 + bias), dropout=0.4)
    mask = given["mask"]
    assert mask is not None
    assert {0.0, 1 / 0.6} == set(mask[~np.isnan(mask)])
    assert_gradients(probe, net, given, incoming)


@pytest.mark.parametrize("proj_size", [None, 1])
def test_gradients_with_a_clipped_cell(probe: Probe, proj_size: int | None) -> None:
    net = Net(
        LSTM, 4, (4, 2), directions=2, num_layers=2, hidden_size=2, proj_size=proj_size,
        clip=(-0.3, 0.2),
    )  # fmt: skip
    given, incoming = random_inputs(net, probe, np.random.default_rng(41))
    assert_gradients(probe, net, given, incoming)
    cells = probe.inference(net, given)["cy"]
    assert {-0.3, 0.2} < set(cells.flat), "no cell at a limit, or none between"


def test_a_wrong_gradient_is_noticed(probe: Probe) -> None:
    net = Net(LSTM, 3, (3,), clip=(-0.3, 0.3), hidden_size=2)
    given, incoming = random_inputs(net, probe, np.random.default_rng(42))
    right = probe.training(net, given, incoming)["dcx"]
    unclipped = probe.training(replace(net, clip=None), given, incoming)["dcx"]
    by_steps = by_differences(probe, net, given, incoming, "cx")
    np.testing.assert_allclose(right, by_steps, atol=1e-8)
    assert np.abs(unclipped - by_steps).max() > 1e-3


def test_the_cell_is_clipped_after_each_step_and_before_the_output(probe: Probe) -> None:
    net = Net(LSTM, 5, (5, 5), input_size=2, hidden_size=2, bias=NO_BIAS, clip=(-0.25, 0.15))
    given, _ = random_inputs(net, probe, np.random.default_rng(43))
    weights, x, h, c = (np.asarray(given[name]) for name in ("weights", "x", "hx", "cx"))
    matrices = {
        p.lin_layer_id: weights[p.offset :][: p.rows * p.cols].reshape(p.rows, p.cols)
        for p in probe.parts(net)
        if p.matrix and p.rows
    }
    h, c = h[0], c[0]
    outputs = []
    for step in x:
        sums = [step @ matrices[gate].T + h @ matrices[gate + 4].T for gate in range(4)]
        i, f, o = (1 / (1 + np.exp(-sums[gate])) for gate in (0, 1, 3))
        c = np.clip(f * c + i * np.tanh(sums[2]), -0.25, 0.15)
        h = o * np.tanh(c)
        outputs.append(h)
    found = probe.inference(net, given)
    np.testing.assert_allclose(found["y"], outputs, rtol=1e-13)
    np.testing.assert_allclose(found["hy"][0], h, rtol=1e-13)
    np.testing.assert_allclose(found["cy"][0], c, rtol=1e-13)


@pytest.mark.parametrize("propagates", [True, False])
def test_nan_in_the_cell_stays_or_becomes_the_lower_limit(probe: Probe, propagates: bool) -> None:
    net = Net(LSTM, 1, (1,), hidden_size=1, clip=(-0.5, 0.5), clip_propagates_nan=propagates)
    given, incoming = random_inputs(net, probe, np.random.default_rng(44))
    found = probe.training(net, given | {"cx": np.full((1, 1, 1), np.nan)}, incoming)
    if propagates:
        assert np.isnan(found["cy"]).all()
        assert np.isnan(found["y"]).all()
    else:
        assert found["cy"].item() == -0.5
        assert np.isfinite(found["y"]).all()
        assert found["dcx"].item() == 0


@pytest.mark.parametrize("cell", [TANH, LSTM, GRU])
def test_a_batch_of_empty_sequences_passes_its_states_through(probe: Probe, cell: int) -> None:
    net = Net(cell, 3, (0, 0), directions=2, num_layers=2)
    given, incoming = random_inputs(net, probe, np.random.default_rng(45))
    found = probe.training(net, given, incoming)
    for output, source in (("hy", "hx"), ("cy", "cx")):
        np.testing.assert_array_equal(found[output], given[source])
    for output, source in (("dhx", "dhy"), ("dcx", "dcy")):
        np.testing.assert_array_equal(found[output], incoming[source])
    for name in ("y", "dx", "dweights"):
        assert (found[name] == UNTOUCHED).all()


def test_dropout_multiplies_what_goes_into_each_layer_above_the_first(probe: Probe) -> None:
    net = Net(GRU, 4, (2, 4, 3), num_layers=3, directions=2, input_size=4, hidden_size=2)
    given, _ = random_inputs(net, probe, np.random.default_rng(46), dropout=0.4)
    weights, x, hx, mask = (np.asarray(given[name]) for name in ("weights", "x", "hx", "mask"))
    one = replace(net, num_layers=1)  # 2 directions of 2: as wide as the input
    factors = [np.ones(x.shape), *mask]
    y = x
    for layer in range(net.num_layers):
        mine = np.empty(probe.weight_count(one))
        states = slice(2 * layer, 2 * layer + 2)
        above = [p for p in probe.parts(net) if p.pseudo_layer in range(states.start, states.stop)]
        for part, source in zip(probe.parts(one), above, strict=True):
            count = part.rows * part.cols
            mine[part.offset :][:count] = weights[source.offset :][:count]
        inputs = y * factors[layer]
        alone: Arrays = {"weights": mine, "x": inputs, "hx": hx[states], "cx": None, "mask": None}
        y = probe.inference(one, alone)["y"]
    np.testing.assert_allclose(probe.inference(net, given)["y"], y, rtol=1e-13)
