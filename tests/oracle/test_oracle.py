"""The oracle against itself: the equations and torch.nn are two ways to one result."""

from __future__ import annotations

import numpy as np
import pytest

from .network import GATES, Array, Network, Tensors, run


def weights_of(network: Network, draw: np.random.Generator) -> dict[str, Array]:
    """Random weights of every name that the network has."""
    found: dict[str, Array] = {}
    width = network.proj_size * len(network.directions)
    for layer in range(network.num_layers):
        for direction in network.directions:
            at = f"l{layer}.{direction}"
            inputs = network.input_size if layer == 0 else width
            for gate in GATES[network.cell_mode]:
                if not (network.skip_input and layer == 0):
                    found[f"{at}.{gate}.x.matrix"] = draw.normal(size=(network.hidden_size, inputs))
                found[f"{at}.{gate}.h.matrix"] = draw.normal(
                    size=(network.hidden_size, network.proj_size)
                )
                if network.bias_mode in ("double_bias", "single_inp_bias"):
                    found[f"{at}.{gate}.x.bias"] = draw.normal(size=network.hidden_size)
                if network.bias_mode in ("double_bias", "single_rec_bias"):
                    found[f"{at}.{gate}.h.bias"] = draw.normal(size=network.hidden_size)
            if network.projects:
                found[f"{at}.proj.matrix"] = draw.normal(
                    size=(network.proj_size, network.hidden_size)
                )
    return found


def tensors_of(network: Network, lengths: list[int], draw: np.random.Generator) -> Tensors:
    """Random tensors for a batch of these lengths."""
    steps, batch, layers = max(lengths), len(lengths), network.num_layers * len(network.directions)
    states = (layers, batch)
    lstm = network.cell_mode == "lstm"
    return Tensors(
        x=draw.normal(size=(steps, batch, network.input_size)),
        dy=draw.normal(size=(steps, batch, network.proj_size * len(network.directions))),
        hx=draw.normal(size=(*states, network.proj_size)),
        cx=draw.normal(size=(*states, network.hidden_size)) if lstm else None,
        dhy=draw.normal(size=(*states, network.proj_size)),
        dcy=draw.normal(size=(*states, network.hidden_size)) if lstm else None,
        lengths=lengths,
    )


@pytest.mark.parametrize("bias_mode", ["no_bias", "double_bias"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("cell_mode", list(GATES))
def test_both_ways_agree(cell_mode: str, bidirectional: bool, bias_mode: str) -> None:
    draw = np.random.default_rng(7)
    for proj in (3, 5) if cell_mode == "lstm" else (5,):
        network = Network(cell_mode, bias_mode, bidirectional, False, 4, 5, proj, 2)
        weights = weights_of(network, draw)
        given = tensors_of(network, [4, 1, 3], draw)
        by_module = run(network, weights, given, by_steps=False)
        by_steps = run(network, weights, given, by_steps=True)
        assert by_module.keys() == by_steps.keys()
        for name, value in by_module.items():
            np.testing.assert_allclose(by_steps[name], value, rtol=1e-12, atol=1e-13, err_msg=name)
