"""Run as a program: random problems through the compiled plan, compared with the reference.

``python -m tests.reference.emulated LIBCUDNN LIBCUDA COUNT SEED TYPE…`` prints one JSON object: how
many problems and tensors were compared, in how many something was dropped, and every difference.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import numpy as np

from pyharness.device import core
from pyharness.reference.layouts import numbers, unpack
from pyharness.reference.network import Network, backward, forward
from pyharness.spec.enums import DATA_TYPE, LAYOUT
from pyharness.spec.geometry import Geometry
from pyharness.spec.plan_settings import plan_settings
from pyharness.spec.problem import Problem
from pyharness.spec.stages import STAGES
from tests.oracle.network import Array
from tests.oracle.problems import random_words
from tests.oracle.sweep import Comparison

INPUTS = ("x", "dy", "hx", "cx", "dhy", "dcy")
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Buffers:
    """The buffers of a plan as the reference's arrays."""

    def __init__(self, plan: Any, problem: Problem, shape: Geometry) -> None:
        self.plan, self.shape = plan, shape
        self.data_type = DATA_TYPE.label(problem.value("data_type"))
        self.layout = LAYOUT.label(problem.value("layout"))

    def tensor(self, name: str) -> Array:
        """x, y, hx … or a gradient."""
        flat, shape = numbers(self.plan.read(name), self.data_type), self.shape
        if name in ("x", "y", "dx", "dy"):
            outputs = shape.output_size * shape.directions
            width = shape.input_size if name.endswith("x") else outputs
            return unpack(flat, self.layout, shape.lengths, shape.max_seq_length, width)
        width = shape.hidden_size if "c" in name else shape.output_size
        return flat.reshape(shape.pseudo_layers, shape.batch_size, width)

    def weights(self, name: str) -> dict[str, Array]:
        """Those of w or dw, each by its own name."""
        space, size = self.plan.read(name), self.shape.element_bytes
        return {
            weight: numbers(space[at : at + rows * cols * size], self.data_type).reshape(rows, cols)
            for weight, _, _, _, rows, cols, at in self.plan.weights()
        }


def emulated_masks(settings: dict[str, Any], shape: Geometry) -> Array | None:
    """The factors that the emulator draws in the first pass of training of a new state.

    Source  tests/emulator/cudnn_dropout.cpp
    """
    rate = settings["dropout_rate"] if settings["dropout"] == 1 else 0.0
    if rate == 0 or shape.num_layers == 1:
        return None
    width = shape.output_size * shape.directions
    size = (shape.num_layers - 1, shape.max_seq_length, shape.batch_size, width)
    key = mixed(mixed(np.array([settings["seed"]], np.uint64)))
    drawn = mixed(key ^ mixed(np.arange(np.prod(size), dtype=np.uint64)))
    uniform = (drawn >> np.uint64(11)).astype(np.float64) * 2.0**-53
    # The rate went through a float.
    rate = float(np.float32(rate))
    return np.where(uniform < rate, 0.0, 1 / (1 - rate)).reshape(size)


def mixed(value: Any) -> Any:
    """A step of splitmix64."""
    value = value + _GOLDEN
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


def compare(made: Any, problem: Problem, found: Comparison) -> bool:
    """One problem through every stage, and all its tensors; gives whether there was dropout."""
    handle, arena = made
    settings, network = plan_settings(problem), Network.of(problem)
    plan = core().Plan(handle, arena, settings)
    try:
        for stage in STAGES:
            for call, status, reason in plan.run(stage):
                assert status == 0, (problem.command, stage, call, reason)
            if stage == "sizes":
                plan.allocate()
        buffers = Buffers(plan, problem, network.shape)
        names = plan.names()
        given = {n: buffers.tensor(n) for n in INPUTS if n in names}
        states = given if settings["initial_states"] == 0 else {}
        weights, masks = buffers.weights("w"), emulated_masks(settings, network.shape)
        ahead = forward(
            network,
            weights,
            given["x"],
            network.shape.lengths,
            states.get("hx"),
            states.get("cx"),
            masks,
            tape=True,
        )
        back = backward(network, weights, ahead, given["dy"], given["dhy"], given.get("dcy"))
        for name in ("y", "hy", "cy", "dx", "dhx", "dcx"):
            want = getattr(ahead if name in ("y", "hy", "cy") else back, name)
            if want is not None:
                where = f"{problem.command}: {name}"
                found.same(where, buffers.tensor(name), want, buffers.data_type)
        for name, value in buffers.weights("dw").items():
            found.same(f"{problem.command}: dw.{name}", value, back.dw[name], buffers.data_type)
        found.problems += 1
    finally:
        plan.close()
    return masks is not None


def main() -> None:
    """Compares and prints."""
    libcudnn, libcuda, count, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    core_ = core()
    device = core_.Device(core_.Driver(libcuda), 0)
    trace = bytearray(256)
    handle = core_.Handle(core_.Library(libcudnn), device, core_.Trace(trace))
    arena = core_.Arena(device)
    found, draw, dropped = Comparison(), random.Random(seed), 0
    for number in range(count):
        words = random_words(draw, sys.argv[5:])
        if number % 3 == 0:
            words |= {"dropout": "present", "dropout_rate": "0.375"}
        dropped += compare((handle, arena), Problem(words), found)
    del handle
    arena.release()
    counts = {"problems": found.problems, "tensors": found.tensors, "dropped": dropped}
    sys.stdout.write(json.dumps({**counts, "differences": found.differences[:20]}))


if __name__ == "__main__":
    main()
