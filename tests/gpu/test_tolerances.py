"""The tolerances against PyTorch in the types themselves, and against networks that are wrong.

They need no GPU: they say whether the tests that do could find anything.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.gpu.tolerances import TF32, relu_gradients, signs_matter, tolerance, uses_tf32
from tests.oracle.network import Array, Network, Tensors, run

DTYPES = {
    "float": torch.float32,
    "half": torch.float16,
    "bfloat16": torch.bfloat16,
    "float-tf32": torch.float32,
}
STEPS, BATCH, WIDE, LAYERS = 5, 8, 64, 2
GAINS = {"rnn_tanh": (0.5, 0.5), "lstm": (11.0, 1.0), "gru": (2.75, 1.0)}  # as the plan fills


def rounded(values: Array, types: str) -> Array:
    """The values as the type has them; of TensorFloat-32 10 bits behind the first."""
    narrow = torch.tensor(values).to(DTYPES[types])
    if types == "float-tf32":
        bits = (narrow.view(torch.int32) + 0x1000) & ~0x1FFF
        narrow = bits.view(torch.float32)
    return np.asarray(narrow.double().numpy())


def given(cell: str, types: str) -> tuple[torch.nn.RNNBase, torch.Tensor, torch.Tensor]:
    """A network with weights of the type, x and dy."""
    torch.manual_seed(1)
    kinds = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn_tanh": torch.nn.RNN}
    module = kinds[cell](WIDE, WIDE, LAYERS, dtype=torch.float64)
    for name, parameter in module.named_parameters():
        gain = GAINS[cell]["hh" in name]
        size = 0.1 if "bias" in name else (3 * gain / WIDE) ** 0.5
        parameter.data = (torch.rand_like(parameter) * 2 - 1) * size
        if types != "float-tf32":
            parameter.data = parameter.data.to(DTYPES[types]).double()
    x, dy = torch.rand(2, STEPS, BATCH, WIDE, dtype=torch.float64) * 2 - 1
    return module, x, dy


def gradients(module: torch.nn.RNNBase, x: torch.Tensor, dy: torch.Tensor) -> dict[str, Array]:
    """y, dx and the gradients of the weights."""
    module.zero_grad()
    x = x.clone().requires_grad_()
    y = module(x)[0]
    y.backward(dy)
    found = {"y": y, "dx": x.grad, **{f"dw.{n}": p.grad for n, p in module.named_parameters()}}
    return {n: t.detach().double().numpy() for n, t in found.items() if t is not None}


def off(got: dict[str, Array], wanted: dict[str, Array]) -> float:
    """The largest difference of any tensor, as a share of the largest number of its kind."""
    of_weights = max(np.abs(v).max() for n, v in wanted.items() if n.startswith("dw"))
    return max(
        float(np.abs(got[n] - v).max() / (of_weights if n.startswith("dw") else np.abs(v).max()))
        for n, v in wanted.items()
    )


def allowed(types: str) -> float:
    """The tolerance of these networks."""
    data_type, _, tf32 = types.partition("-")
    math_type = "default_math" if tf32 or data_type != "float" else "fma_math"
    return tolerance(data_type, math_type, STEPS * LAYERS, WIDE)


@pytest.mark.parametrize("types", DTYPES)
@pytest.mark.parametrize("cell", GAINS)
def test_what_the_type_itself_comes_to_is_inside(cell: str, types: str) -> None:
    module, x, dy = given(cell, types)
    wanted = gradients(module, x, dy)
    narrow = module.to(DTYPES[types])
    if types == "float-tf32":
        for parameter in narrow.parameters():
            parameter.data = torch.tensor(rounded(parameter.detach().numpy(), types)).float()
        x = torch.tensor(rounded(x.numpy(), types))
    found = off(gradients(narrow, x.to(DTYPES[types]), dy.to(DTYPES[types])), wanted)
    # Neither outside, nor so far inside that the tolerance says nothing.
    assert allowed(types) / 50 < found < allowed(types) / 2


@pytest.mark.parametrize("types", DTYPES)
@pytest.mark.parametrize("cell", GAINS)
def test_a_wrong_network_is_outside(cell: str, types: str) -> None:
    module, x, dy = given(cell, types)
    wanted = gradients(module, x, dy)
    others = {
        "x of another step": (x.roll(1, 0), dy),
        "dy of one sequence left out": (x, dy.clone()),
    }
    others["dy of one sequence left out"][1][:, 3] = 0
    for wrong, inputs in others.items():
        assert off(gradients(module, *inputs), wanted) > allowed(types), wrong
    recurrent = module.weight_hh_l1
    recurrent.data = torch.cat([w.T for w in recurrent.data.split(WIDE)])
    assert off(gradients(module, x, dy), wanted) > allowed(types)


def test_a_relu_with_the_signs_of_its_own_y_is_pytorchs() -> None:
    draw = np.random.default_rng(2)
    at = "l0.forward.hidden"
    shapes = {".x.matrix": (6, 4), ".h.matrix": (6, 6), ".x.bias": (6, 1), ".h.bias": (6, 1)}
    weights = {at + name: draw.uniform(-1, 1, shape) for name, shape in shapes.items()}
    x, dy, hx, dhy = (draw.uniform(-1, 1, s) for s in ((5, 3, 4), (5, 3, 6), (1, 3, 6), (1, 3, 6)))
    network = Network("rnn_relu", input_size=4, hidden_size=6, proj_size=6)
    wanted = run(network, weights, Tensors(x, dy, hx, None, dhy, None, [5, 5, 5]))
    given_ = {"x": x, "dy": dy, "hx": hx, "dhy": dhy}
    found = relu_gradients(wanted["y"], weights, given_)
    assert set(found) == set(wanted) - {"y", "hy"}
    for name, value in found.items():
        np.testing.assert_allclose(value, wanted[name], rtol=1e-12, atol=1e-12)


def test_only_float_may_use_tensorfloat32() -> None:
    assert [uses_tf32("float", m) for m in ("fma_math", "default_math", "tensor_op_math")] == [
        False,
        True,
        True,
    ]
    assert not uses_tf32("half", "default_math")
    # One step of one layer: two products of two operands, each rounded to 11 bits.
    assert tolerance("float", "default_math", 1, 1) == pytest.approx(4 * 4**0.5 * TF32, rel=1e-3)


@pytest.mark.parametrize(
    ("types", "matter"),
    [
        (("double", "default_math"), False),
        (("float", "fma_math"), False),
        (("float", "default_math"), True),
        (("half", "fma_math"), True),
        (("bfloat16", "fma_math"), True),
    ],
)
def test_signs_matter_where_a_rounding_is_coarse(types: tuple[str, str], matter: bool) -> None:
    assert signs_matter(*types) == matter
