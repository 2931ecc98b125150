"""A device's tensors beside those of PyTorch in float64 on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyharness.spec.enums import CELL_MODE, MATH_TYPE
from pyharness.spec.problem import Problem
from tests.gpu.tolerances import relu_gradients, signs_matter, tolerance
from tests.oracle.answers import INPUTS, Reading
from tests.oracle.network import Array
from tests.oracle.problems import network_of

TENSORS = ("y", "hy", "cy", "dx", "dhx", "dcx")


def differences(problem: Problem, answer: dict[str, Any]) -> list[str]:
    """Every tensor that is further from what it should be than rounding explains."""
    reading, network = Reading(problem), network_of(problem)
    parts, found = answer["weights"], answer["found"]
    wanted = reading.wanted(parts, answer["given"])
    math_type = MATH_TYPE.label(problem.value("math_type"))
    terms = max(network.input_size, network.hidden_size, reading.steps * reading.batch)
    bound = tolerance(reading.data_type, math_type, reading.steps * network.num_layers, terms)
    got = {name: reading.tensor(name, found[name]) for name in TENSORS if name in wanted}
    gradients = reading.weights(parts, found["dw"])
    got |= {f"dw.{name}": value for name, value in gradients.items()}
    if CELL_MODE.label(problem.value("cell_mode")) == "rnn_relu" and signs_matter(
        reading.data_type, math_type
    ):
        given = {name: reading.tensor(name, answer["given"][name]) for name in INPUTS[:3]}
        given["dhy"] = reading.tensor("dhy", answer["given"]["dhy"])
        weights = reading.weights(parts, answer["given"]["w"])
        wanted |= relu_gradients(got["y"], weights, given)
    got["y of inference"] = reading.series("y", answer["inference"]["y"])
    wanted["y of inference"] = wanted["y"]
    largest = {
        kind: max(_largest(wanted[name]) for name in got if _kind(name) == kind)
        for kind in map(_kind, got)
    }
    offs = {name: _off(got[name], wanted[name]) / largest[_kind(name)] for name in got}
    return [
        f"{problem.command}: {name} is off by {off:.3g} of the largest number, not by {bound:.3g}"
        for name, off in offs.items()
        if not off <= bound
    ]


def _kind(name: str) -> str:
    """What is measured by the same number: a sum of few terms may by chance be nearly nothing."""
    return "weights" if name.startswith("dw") else "inputs" if name[0] == "d" else "outputs"


def _largest(wanted: Array) -> float:
    return float(np.nanmax(np.abs(wanted)))


def _off(got: Array, wanted: Array) -> float:
    """The largest difference; nan where a number is missing."""
    there = ~np.isnan(wanted)
    return float(np.abs(got[there] - wanted[there]).max())
