"""The reference and the emulator's network: two implementations that check each other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyharness.reference.network import Network, backward, forward
from pyharness.releases import Release
from pyharness.spec.problem import Problem
from tests.emulator.build import EmulatedRelease
from tests.emulator.networks import LSTM, UNTOUCHED, Array, Arrays, Net, Probe, random_inputs
from tests.emulator.test_network import random_net

ROOT = Path(__file__).parents[2]
CELLS = ("rnn_relu", "rnn_tanh", "lstm", "gru")
BIASES = ("no_bias", "single_inp_bias", "double_bias", "single_rec_bias")


@pytest.fixture(scope="module")
def probe(shared_tmp: Path) -> Probe:
    return Probe(shared_tmp / "emulator")


def problem_of(net: Net) -> Problem:
    """The same network in the words of a problem."""
    words = {
        "cell_mode": CELLS[net.cell],
        "bias_mode": BIASES[net.bias],
        "direction_mode": ("unidirectional", "bidirectional")[net.directions - 1],
        "input_mode": ("linear_input", "skip_input")[net.skip_input],
        "input_size": str(net.input_size),
        "hidden_size": str(net.hidden_size),
        "num_layers": str(net.num_layers),
        "seq_lengths": f"[{','.join(map(str, net.lengths))}]",
        "batch_size": str(len(net.lengths)),
        "max_seq_length": str(net.steps),
    }
    if net.proj_size is not None:
        words["proj_size"] = str(net.proj_size)
    if net.clip is not None:
        low, high = net.clip
        words |= {"clip_mode": "minmax", "lclip": str(low), "rclip": str(high)}
        words["clip_nan_opt"] = ("not_propagate_nan", "propagate_nan")[net.clip_propagates_nan]
    return Problem(words)


def both(net: Net, probe: Probe, given: Arrays, incoming: Arrays) -> list[tuple[str, Array, Array]]:
    """Every tensor of the emulator's network beside the reference's."""
    said = probe.training(net, given, incoming)
    network, flat = Network.of(problem_of(net)), given["weights"]
    assert flat is not None
    names = {(w.pseudo_layer, w.lin_layer_id, w.kind): w.name for w in network.shape.weights}
    parts = {
        names[part.pseudo_layer, part.lin_layer_id, "matrix" if part.matrix else "bias"]: part
        for part in probe.parts(net)
        if part.rows
    }
    assert parts.keys() == set(names.values())

    def cut(values: Array) -> dict[str, Array]:
        return {
            name: values[p.offset :][: p.rows * p.cols].reshape(p.rows, p.cols)
            for name, p in parts.items()
        }

    weights, x = cut(flat), given["x"]
    assert x is not None
    arguments = (x, net.lengths, given["hx"], given["cx"], given["mask"])
    ahead = forward(network, weights, *arguments, tape=True)
    dy = np.zeros_like(ahead.y) if incoming["dy"] is None else incoming["dy"]
    back = backward(network, weights, ahead, dy, incoming["dhy"], incoming["dcy"])
    found = [("y", said["y"], ahead.y), ("hy", said["hy"], ahead.hy), ("dx", said["dx"], back.dx)]
    found.append(("dhx", said["dhx"], back.dhx))
    if net.cell == LSTM:
        assert ahead.cy is not None
        assert back.dcx is not None
        found += [("cy", said["cy"], ahead.cy), ("dcx", said["dcx"], back.dcx)]
    added = cut(said["dweights"] - UNTOUCHED)
    return found + [(f"dw.{name}", value, back.dw[name]) for name, value in added.items()]


def close(name: str, said: Array, found: Array, net: Net) -> None:
    """Equal up to the order of sums; the emulator leaves what is behind an end as it was."""
    if name in ("y", "dx"):
        np.testing.assert_array_equal(np.isnan(found[~net.inside]), True)
        said, found = said[net.inside], found[net.inside]
    np.testing.assert_allclose(said, found, rtol=1e-10, atol=1e-10, err_msg=f"{name} {net}")


def test_random_networks(probe: Probe) -> None:
    draw, compared = np.random.default_rng(54), 0
    for number in range(300):
        net = random_net(draw)
        if net.cell == LSTM and number % 2:
            net = Net(**{**vars(net), "clip": (-0.25, 0.125), "clip_propagates_nan": True})
        given, incoming = random_inputs(net, probe, draw, nulls=0.2, dropout=0.3 * (number % 3 > 0))
        for name, said, found in both(net, probe, given, incoming):
            close(name, said, found, net)
            compared += 1
    assert compared > 5000


@pytest.mark.parametrize("stays", [False, True])
def test_a_nan_in_the_cell_state(probe: Probe, stays: bool) -> None:
    net = Net(LSTM, 3, (3, 2), clip=(-0.5, 0.25), clip_propagates_nan=stays, hidden_size=3)
    given, incoming = random_inputs(net, probe, np.random.default_rng(5))
    assert given["cx"] is not None
    given["cx"][0, 0, 1] = np.nan
    seen = False
    for name, said, found in both(net, probe, given, incoming):
        close(name, said, found, net)
        seen = seen or bool(np.isnan(said).any() and name == "cy")
    assert seen == stays


def sweep(emulated: EmulatedRelease, count: int, seed: int, *types: str) -> dict[str, Any]:
    """What tests/reference/emulated.py prints."""
    command = [sys.executable, "-m", "tests.reference.emulated", str(emulated.cudnn)]
    done = subprocess.run(
        [*command, str(emulated.libcuda), str(count), str(seed), *types],
        cwd=ROOT,
        env={**os.environ, **emulated.env},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_buffers_of_a_plan(
    cudnn: Callable[[str], Release], emulator: Callable[..., EmulatedRelease]
) -> None:
    emulated = emulator(cudnn("9.28.0.42").path)
    found = sweep(emulated, 120, 7, "float", "double", "half", "bfloat16")
    assert found["differences"] == []
    assert found["problems"] == 120
    assert found["tensors"] > 20 * 120
    assert found["dropped"] > 10
    assert emulated.violations == []


def test_a_planted_fault_is_found(
    cudnn: Callable[[str], Release], emulator: Callable[..., EmulatedRelease]
) -> None:
    emulated = emulator(cudnn("9.28.0.42").path, fault="flip:dw@cudnnRNNBackwardWeights_v8:*")
    found = sweep(emulated, 6, 3, "double")
    assert found["differences"]
    assert all(": dw." in line for line in found["differences"])
