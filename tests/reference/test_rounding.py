"""Thresholds against networks that round as devices do: nothing of thousands lies beyond, what is
off by a few units more in each step does, and nothing lies so far inside that it would not.
"""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest

from pyharness.reference import network
from pyharness.reference.tolerances import kind_of, threshold
from pyharness.spec.problem import Problem
from tests.reference.rounding import (
    GATES,
    Arithmetic,
    Numbers,
    Shape,
    computed,
    drawn,
)

# Type and math type of a problem, and what a device rounds of it.
TYPES = {
    "float": ("float", "fma_math", Arithmetic("float")),
    "float-tf32": ("float", "default_math", Arithmetic("float", "tf32")),
    # Tensor cores look at the first bits of a float, however it goes on.
    "float-truncated": ("float", "default_math", Arithmetic("float", "truncated")),
    "half": ("half", "tensor_op_math", Arithmetic("half")),
    "bfloat16": ("bfloat16", "tensor_op_math", Arithmetic("bfloat16")),
}
PLAIN = Shape("lstm", networks=4, steps=25, batch=4, inputs=32, hidden=32, layers=2)


@cache
def truth(shape: Shape, kept: str, seed: int) -> dict[str, Numbers]:
    """What networks of a type's numbers come to in double."""
    return computed(shape.cell, *drawn(shape, kept, seed), Arithmetic())


@cache
def shares(
    shape: Shape, types: str, seed: int, how: Arithmetic | None = None
) -> dict[str, Numbers]:
    """The largest difference of each tensor as a share of its threshold, a network each.

    nan where nothing is told: of gradients behind a rectifier that is too near to zero.
    """
    kept, math_type, rounding = TYPES[types]
    wanted = dict(truth(shape, kept, seed))
    got = computed(shape.cell, *drawn(shape, kept, seed), how or rounding)
    nearest = wanted.pop("nearest", None)
    got.pop("nearest", None)
    problem, scales = Problem(shape.words()), dict[str, Numbers]()
    for name, numbers in wanted.items():
        most = np.abs(numbers.reshape(shape.networks, -1)).max(1)
        scales[kind_of(name)] = np.maximum(scales.get(kind_of(name), 0.0), most)
    found: dict[str, Numbers] = {}
    for name, numbers in wanted.items():
        tensor = name.partition(".")[0]
        limit = threshold(problem, tensor, kept, "float", math_type) * scales[kind_of(name)]
        off = np.abs(got[name].astype(np.float64) - numbers).reshape(shape.networks, -1).max(1)
        share = np.divide(off, limit, out=np.zeros_like(off), where=limit > 0)
        if nearest is not None and kind_of(name) != "outputs":
            far = threshold(problem, "y", kept, "float", math_type) * scales["outputs"]
            share[nearest <= far] = np.nan
        found[tensor] = np.fmax(found[tensor], share) if tensor in found else share
    return found


def drawn_shape(draw: random.Random, networks: int) -> Shape:
    """Any cell and sizes, up to 200 steps and 6 layers; none that takes more than a moment."""
    steps = draw.choice((1, 2, 3, 5, 8, 13, 20, 35, 60, 100, 200))
    layers = draw.choice((1, 1, 2, 3, 4, 6))
    hidden = min(draw.choice((1, 2, 3, 4, 8, 16, 32, 64)), max(1, 2000 // (steps * layers)))
    inputs, batch = draw.choice((1, 2, 4, 8, 16, 64)), draw.choice((1, 1, 2, 4))
    return Shape(draw.choice(list(GATES)), networks, steps, batch, inputs, hidden, layers)


@pytest.mark.parametrize("types", TYPES)
def test_no_network_that_only_rounds_is_beyond(types: str) -> None:
    draw, found = random.Random(TYPES[types][0]), []  # of the same numbers the same shapes
    for seed in range(20):
        shape = drawn_shape(draw, networks=24)
        for tensor, share in shares(shape, types, seed).items():
            found.append(share[~np.isnan(share)])
            assert (found[-1] <= 1).all(), (shape, tensor, share.max())
    every = np.concatenate(found)
    assert every.size > 1800


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("cell", GATES)
def test_what_rounding_comes_to_is_not_far_inside(cell: str, types: str) -> None:
    shape = Shape(cell, networks=1, steps=25, batch=4, inputs=64, hidden=64, layers=2)
    found = shares(shape, types, 4)
    told = [t for t in found if not np.isnan(found[t]).any()]
    outputs = [t for t in found if kind_of(t) == "outputs"]
    assert told == (outputs if cell == "rnn_relu" and types != "float" else list(found))
    for tensor in told:
        # Operands rounded to the nearest are off by half of truncated ones; of few numbers, such as
        # those of a state, the largest difference is not as large.
        most = (35, 50)[types == "float-tf32"] * (1, 2)[kind_of(tensor) == "states"]
        assert found[tensor].min() > 1 / most, (tensor, 1 / found[tensor])


def test_a_long_and_deep_network_is_not_far_inside_either() -> None:
    for cell in ("rnn_tanh", "lstm", "gru"):
        shape = Shape(cell, networks=1, steps=200, batch=2, inputs=32, hidden=32, layers=4)
        found = shares(shape, "bfloat16", 1)
        for tensor in ("y", "dx", "dw"):
            assert 1 / 40 < found[tensor].min() < 1, (cell, tensor, 1 / found[tensor])


@pytest.mark.parametrize(
    ("types", "cell", "fault", "ulps", "tensor"),
    [
        *((t, "lstm", "state", 4, "cy") for t in ("half", "bfloat16")),
        *((t, "lstm", "gate", 8, "dw") for t in ("half", "bfloat16")),
        *((t, "gru", "output", 4, "y") for t in ("half", "bfloat16")),
        *((t, "gru", "gradient", 8, "dx") for t in ("half", "bfloat16")),
        *((t, "rnn_tanh", "gate", 8, "y") for t in ("half", "bfloat16")),
        ("float", "lstm", "state", 16, "cy"),
        ("float", "lstm", "gate", 32, "dw"),
        ("float", "gru", "output", 16, "y"),
        ("float", "gru", "gradient", 32, "dx"),
        ("float", "rnn_tanh", "gate", 32, "y"),
    ],
)
def test_a_few_units_too_many_in_each_step_are_beyond(
    types: str, cell: str, fault: str, ulps: int, tensor: str
) -> None:
    rounding = TYPES[types][2]
    wrong = Arithmetic(rounding.kept, rounding.operands, fault, ulps)
    shape = Shape(cell, PLAIN.networks, PLAIN.steps, PLAIN.batch, PLAIN.inputs, PLAIN.hidden, 2)
    assert shares(shape, types, 3)[tensor].max() < 1
    assert shares(shape, types, 3, wrong)[tensor].min() > 1


def test_narrower_products_than_the_problem_says_are_beyond() -> None:
    found = shares(PLAIN, "float", 3, Arithmetic("float", "tf32"))
    assert min(share.min() for share in found.values()) > 1


@pytest.mark.parametrize("cell", GATES)
def test_in_double_it_is_the_reference(cell: str) -> None:
    shape = Shape(cell, networks=1, steps=6, batch=3, inputs=5, hidden=7, layers=3)
    layers, given = drawn(shape, "float", 5)
    found = computed(cell, layers, given, Arithmetic())
    of = network.Network.of(Problem(shape.words()))
    weights = {}
    for weight in of.shape.weights:
        number, _, _, source, kind = weight.name.split(".")
        name = source if kind == "matrix" else f"{source}_bias"
        stacked = layers[int(number[1:])][name][0].reshape(GATES[cell], shape.hidden, -1)
        weights[weight.name] = stacked[weight.lin_layer_id % GATES[cell]]
    lstm = cell == "lstm"
    lengths = [shape.steps] * shape.batch
    cx, dcy = (given[name][0] if lstm else None for name in ("cx", "dcy"))
    ahead = network.forward(of, weights, given["x"][0], lengths, given["hx"][0], cx, tape=True)
    back = network.backward(of, weights, ahead, given["dy"][0], given["dhy"][0], dcy)
    wanted = {"y": ahead.y, "hy": ahead.hy, "cy": ahead.cy}
    wanted |= {"dx": back.dx, "dhx": back.dhx, "dcx": back.dcx}
    for name, numbers in wanted.items():
        if numbers is not None:
            np.testing.assert_allclose(found[name][0], numbers, rtol=0, atol=1e-13)
    for weight in of.shape.weights:
        number, _, _, source, kind = weight.name.split(".")
        name = source if kind == "matrix" else f"{source}_bias"
        mine = found[f"dw.{number[1:]}.{name}"][0].reshape(GATES[cell], shape.hidden, -1)
        own = back.dw[weight.name]
        np.testing.assert_allclose(mine[weight.lin_layer_id % GATES[cell]], own, rtol=0, atol=1e-12)
