"""Random problems with weights and tensors, and both answers to them by the oracle's names."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

from pyharness.reference import network as reference
from pyharness.spec.geometry import Geometry, geometry
from pyharness.spec.problem import Problem
from tests.oracle.network import Array, Network, Tensors, run
from tests.oracle.problems import network_of


@dataclass(frozen=True)
class Case:
    """A problem and what its passes are given; nan where nothing may be read."""

    problem: Problem
    weights: dict[str, Array]
    given: Tensors
    masks: Array | None

    @property
    def shape(self) -> Geometry:
        return geometry(self.problem)


def case_of(words: Mapping[str, str], seed: int, *, dropout: float = 0.0) -> Case:
    """A problem with random numbers."""
    problem, draw = Problem(words), np.random.default_rng(seed)
    shape = geometry(problem)
    weights = {
        weight.name: draw.normal(size=(weight.rows, weight.cols)) / weight.cols**0.5
        for weight in shape.weights
    }
    steps, batch, lstm = shape.max_seq_length, shape.batch_size, shape.cell_mode == "lstm"
    width, states = shape.output_size * shape.directions, (shape.pseudo_layers, batch)
    x, dy = (
        draw.normal(size=(steps, batch, shape.input_size)),
        draw.normal(size=(steps, batch, width)),
    )
    hx, dhy = draw.normal(size=(2, *states, shape.output_size))
    cx, dcy = draw.normal(size=(2, *states, shape.hidden_size))
    masks = None
    if dropout:
        size = (shape.num_layers - 1, steps, batch, width)
        masks = (draw.random(size) >= dropout) / (1 - dropout)
    behind = np.arange(steps)[:, None] >= np.array(shape.lengths)
    x[behind] = dy[behind] = np.nan
    if masks is not None:
        masks[:, behind] = np.nan
    null = words.get("initial_states") == "null"
    given = Tensors(
        x=x,
        dy=dy,
        hx=None if null else hx,
        cx=cx if lstm and not null else None,
        dhy=dhy,
        dcy=dcy if lstm else None,
        lengths=shape.lengths,
    )
    return Case(problem, weights, given, masks)


def wide_words(draw: random.Random) -> dict[str, str]:
    """Any network and batch that describes one, some sequences of no steps."""
    cell = draw.choice(["rnn_relu", "rnn_tanh", "lstm", "gru"])
    skip, hidden = draw.random() < 0.3, draw.randint(1, 12)
    batch, steps = draw.randint(1, 7), draw.randint(1, 9)
    lengths = [draw.randint(0, steps) for _ in range(batch)]
    lengths[draw.randrange(batch)] = draw.randint(1, steps)  # PyTorch has nothing for no steps
    words = {
        "cell_mode": cell,
        "bias_mode": draw.choice(["no_bias", "single_inp_bias", "double_bias", "single_rec_bias"]),
        "direction_mode": draw.choice(["unidirectional", "bidirectional"]),
        "input_mode": "skip_input" if skip else "linear_input",
        "input_size": str(hidden if skip else draw.randint(1, 12)),
        "hidden_size": str(hidden),
        "num_layers": str(draw.randint(1, 4)),
        "initial_states": draw.choice(["given", "null"]),
        "batch_size": str(batch),
        "max_seq_length": str(steps),
        "seq_lengths": f"[{','.join(map(str, lengths))}]",
    }
    if cell == "lstm" and hidden > 1 and draw.random() < 0.5:
        words["proj_size"] = str(draw.randint(1, hidden - 1))
    if cell == "lstm" and draw.random() < 0.5:
        words |= {"clip_mode": "minmax", "lclip": "-0.375", "rclip": "0.25"}
    return words


def referred(case: Case, module: ModuleType = reference) -> dict[str, Array]:
    """What the reference makes of a case."""
    code: Any = module
    network, given = code.Network.of(case.problem), case.given
    forward = code.forward(
        network, case.weights, given.x, given.lengths, given.hx, given.cx, case.masks, tape=True
    )
    backward = code.backward(network, case.weights, forward, given.dy, given.dhy, given.dcy)
    found = {name: getattr(forward, name) for name in ("y", "hy", "cy")}
    found |= {name: getattr(backward, name) for name in ("dx", "dhx", "dcx")}
    found |= {f"dw.{name}": value for name, value in backward.dw.items()}
    return {name: value for name, value in found.items() if value is not None}


def wanted(case: Case) -> dict[str, Array]:
    """What the oracle makes of it; with dropout, layer by layer, since it knows none."""
    network = network_of(case.problem)
    if case.masks is None:
        return run(network, case.weights, case.given)
    return _by_layers(network, case)


def _by_layers(network: Network, case: Case) -> dict[str, Array]:
    directions, inputs, found = len(network.directions), case.given.x, []
    assert case.masks is not None
    for layer in range(network.num_layers):
        found.append(_one_layer(network, case, layer, inputs, np.zeros_like(case.given.dy)))
        if layer + 1 < network.num_layers:
            inputs = found[-1]["y"] * case.masks[layer]
    dy = case.given.dy
    answer = {"y": found[-1]["y"]}
    for layer in reversed(range(network.num_layers)):
        inputs = found[layer - 1]["y"] * case.masks[layer - 1] if layer else case.given.x
        one = _one_layer(network, case, layer, inputs, dy)
        for name, value in one.items():
            if name.startswith("dw."):
                answer[name.replace("dw.l0.", f"dw.l{layer}.")] = value
            elif name in ("hy", "cy", "dhx", "dcx"):
                states = answer.setdefault(
                    name, np.zeros((layer * directions + directions, *value.shape[1:]))
                )
                states[layer * directions : (layer + 1) * directions] = value
        if layer:
            dy = one["dx"] * case.masks[layer - 1]
        else:
            answer["dx"] = one["dx"]
    return answer


def _one_layer(
    network: Network, case: Case, layer: int, inputs: Array, dy: Array
) -> dict[str, Array]:
    given, directions = case.given, len(network.directions)
    here = slice(layer * directions, (layer + 1) * directions)
    states: dict[str, Any] = {
        name: None if getattr(given, name) is None else getattr(given, name)[here]
        for name in ("hx", "cx", "dhy", "dcy")
    }
    one = network
    if layer:
        one = replace(network, skip_input=False, input_size=network.proj_size * directions)
    weights = {
        name.replace(f"l{layer}.", "l0.", 1): value
        for name, value in case.weights.items()
        if name.startswith(f"l{layer}.")
    }
    tensors = replace(given, x=inputs, dy=dy, **states)
    return run(replace(one, num_layers=1), weights, tensors)


def off(got: Mapping[str, Array], want: Mapping[str, Array]) -> dict[str, float]:
    """The largest difference of each tensor as a share of the largest number of its kind.

    A number where there should be none, or none where there should be one, is infinitely far off.
    """
    assert got.keys() == want.keys()
    assert all(got[name].shape == value.shape for name, value in want.items())
    largest: dict[str, float] = {}
    for name, value in want.items():
        most = float(np.nanmax(np.abs(value), initial=1e-300))
        largest[_kind(name)] = max(largest.get(_kind(name), 0.0), most)
    return {
        name: float(np.nanmax(np.abs(got[name] - value), initial=0.0)) / largest[_kind(name)]
        if (np.isnan(got[name]) == np.isnan(value)).all()
        else np.inf
        for name, value in want.items()
    }


def _kind(name: str) -> str:
    return "weights" if name.startswith("dw") else "inputs" if name[0] == "d" else "outputs"
