"""Thresholds against PyTorch in the types themselves, against wrong networks, and by hand."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
import torch

from pyharness.errors import UsageError
from pyharness.reference import network
from pyharness.reference.tolerances import (
    TF32,
    UNIT,
    Rounding,
    kind_of,
    near_turn,
    scales,
    threshold,
)
from pyharness.spec.problem import Problem
from tests.gpu.test_tolerances import (
    BATCH,
    DTYPES,
    GAINS,
    LAYERS,
    STEPS,
    WIDE,
    given,
    gradients,
    rounded,
)
from tests.oracle.network import Array
from tests.reference.networks import case_of


def of_type(tensor: str, types: str, cell: str = "lstm", **changes: str) -> float:
    """The threshold of the networks of tests/gpu/test_tolerances."""
    data_type, _, tf32 = types.partition("-")
    words = {
        "cell_mode": cell,
        "input_size": str(WIDE),
        "hidden_size": str(WIDE),
        "num_layers": str(LAYERS),
        "batch_size": str(BATCH),
        "max_seq_length": str(STEPS),
        **changes,
    }
    math_prec = "double" if data_type == "double" else "float"
    math_type = "default_math" if tf32 or data_type != "float" else "fma_math"
    return threshold(Problem(words), tensor, data_type, math_prec, math_type)


def offs(got: dict[str, Array], wanted: dict[str, Array], types: str) -> dict[str, float]:
    """The largest difference of each kind, as a share of its scale."""
    sizes, found = scales(wanted, types.partition("-")[0]), {"y": 0.0, "dx": 0.0, "dw": 0.0}
    for name, value in wanted.items():
        short = name.partition(".")[0]
        found[short] = max(found[short], float(np.abs(got[name] - value).max()) / sizes[name])
    return found


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
    found = offs(gradients(narrow, x.to(DTYPES[types]), dy.to(DTYPES[types])), wanted, types)
    for tensor, off in found.items():
        allowed = of_type(tensor, types, cell)
        # Neither outside, nor so far inside that the threshold says nothing.
        # (Of TensorFloat-32 inputs and weights are rounded here, and nothing on the way.)
        least = allowed / (80 if types == "float-tf32" else 40)
        assert least < off < allowed / 2, (tensor, off / allowed)


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
@pytest.mark.parametrize("types", ["float", "half", "bfloat16"])
@pytest.mark.parametrize("proj_size", [0, 16])
def test_two_directions_and_a_projection_are_inside_too(proj_size: int, types: str) -> None:
    torch.manual_seed(2)
    module = torch.nn.LSTM(32, 32, 3, proj_size=proj_size, bidirectional=True, dtype=torch.float64)
    for name, parameter in module.named_parameters():
        gain = 11.0 if "ih" in name else 1.0
        size = 0.1 if "bias" in name else (3 * gain / parameter.shape[1]) ** 0.5
        uniform = (torch.rand_like(parameter) * 2 - 1) * size
        parameter.data = uniform.to(DTYPES[types]).double()
    width = 2 * (proj_size or 32)
    x, dy = (
        (torch.rand(30, 4, size, dtype=torch.float64) * 2 - 1).to(DTYPES[types]).double()
        for size in (32, width)
    )
    wanted = gradients(module, x, dy)
    narrow = module.to(DTYPES[types])
    found = offs(gradients(narrow, x.to(DTYPES[types]), dy.to(DTYPES[types])), wanted, types)
    words = {"input_size": "32", "hidden_size": "32", "num_layers": "3", "batch_size": "4"}
    words |= {"max_seq_length": "30", "direction_mode": "bidirectional", "cell_mode": "lstm"}
    words |= {"proj_size": str(proj_size)} if proj_size else {}
    for tensor, off in found.items():
        limit = threshold(Problem(words), tensor, types, "float", "fma_math")
        assert limit / 60 < off < limit / 2, (tensor, off / limit)


@pytest.mark.parametrize("types", DTYPES)
@pytest.mark.parametrize("cell", GAINS)
def test_a_wrong_network_is_outside(cell: str, types: str) -> None:
    module, x, dy = given(cell, types)
    wanted = gradients(module, x, dy)
    less = dy.clone()
    less[:, 3] = 0
    found = offs(gradients(module, x.roll(1, 0), dy), wanted, types)
    assert found["y"] > of_type("y", types, cell)
    found = offs(gradients(module, x, less), wanted, types)
    assert found["dx"] > of_type("dx", types, cell)
    assert found["dw"] > of_type("dw", types, cell)
    for name in ("weight_ih_l0", "weight_hh_l1"):
        parameter = getattr(module, name)
        kept = parameter.data
        parameter.data = torch.cat([w.T for w in kept.split(WIDE)])
        found = offs(gradients(module, x, dy), wanted, types)
        parameter.data = kept
        assert all(found[t] > of_type(t, types, cell) for t in found), (name, found)


def test_one_step_by_hand() -> None:
    """One step of one tanh, 3 wide, x 2 wide: 6 roundings to float and 5 terms."""
    words = {"cell_mode": "rnn_tanh", "input_size": "2", "hidden_size": "3", "batch_size": "2"}
    problem, u, d = Problem({**words, "max_seq_length": "1"}), 2.0**-24, 2.0**-53

    def by_hand(terms: int, times: int = 1) -> float:
        return ((6 + 64) / 3 * times + terms / 6) * (u**2 + d**2)

    said = [threshold(problem, name, "float", "float", "fma_math") for name in ("y", "dhx", "dw")]
    # Back through both matrices: 3 hidden units each. For dw a rounding and a sum of 2 sequences.
    own = (1 / 3 + 2 / 6) * (u**2 + d**2)
    squares = [by_hand(5), by_hand(5 + 6, 2), by_hand(5 + 6, 2) + own]
    # Two sequences of a step with three units: six numbers, which may all be small; dx has four.
    few = 10 ** (4 / 6)
    of_dx = threshold(problem, "dx", "float", "float", "fma_math")
    assert of_dx == pytest.approx(10 ** (4 / 4) / few * said[1], rel=1e-12)
    assert said == pytest.approx([few * 4 * sqrt(square) for square in squares], rel=1e-12)


def test_what_is_handed_on_by_hand() -> None:
    """Four times the steps, and three times the layers, of 64 units."""
    chance = 1 + 8 / WIDE

    def handed(steps: int, layers: int) -> float:
        few = 10 ** (4 / (steps * BATCH * WIDE))
        by_steps = sum((chance / 2) ** i for i in range(steps))
        return few * sqrt(by_steps * sum(chance**i for i in range(layers)))

    plain = of_type("y", "float")
    longer, deeper = (of_type("y", "float", **{n: v}) for n, v in
                      (("max_seq_length", "20"), ("num_layers", "6")))  # fmt: skip
    assert longer / plain == pytest.approx(handed(4 * STEPS, LAYERS) / handed(STEPS, LAYERS))
    assert deeper / plain == pytest.approx(handed(STEPS, 3 * LAYERS) / handed(STEPS, LAYERS))
    # No more than a few steps are remembered, and the more units there are the fewer.
    assert of_type("y", "float", max_seq_length="2000") < 1.01 * longer
    narrow, wide = ({"hidden_size": size, "input_size": size} for size in ("1", "1024"))
    narrow_steps, wide_steps = (
        of_type("y", "bfloat16", max_seq_length="200", **size)
        / of_type("y", "bfloat16", max_seq_length="100", **size)
        for size in (narrow, wide)
    )
    assert narrow_steps > 1e20  # nine halves a step, without end
    assert wide_steps == pytest.approx(1, rel=1e-4)
    endless = {"hidden_size": "1", "num_layers": "5000", "max_seq_length": "5000"}
    assert 1 < of_type("dw", "half", **endless) < float("inf")


def test_what_makes_a_threshold_wider() -> None:
    plain = of_type("y", "float")
    assert of_type("y", "float", max_seq_length="20") > plain
    assert of_type("y", "float", seq_lengths="[1,1]", batch_size="2") < plain
    assert of_type("y", "float", hidden_size="512") > plain
    assert of_type("y", "float", batch_size="64") == pytest.approx(plain, rel=0.01)
    assert of_type("dw", "float", batch_size="64") > of_type("dw", "float")
    assert plain < of_type("dx", "float") < of_type("dw", "float")
    assert of_type("y", "float", proj_size="32") > plain
    assert of_type("dw", "float", seq_lengths="all_zero") > 0
    rising = [of_type("dx", types) for types in ("double", "float", "float-tf32", "bfloat16")]
    assert rising == sorted(rising)
    assert rising[0] < 1e-13


def test_what_is_rounded() -> None:
    single, half = UNIT["float"], UNIT["half"]
    assert Rounding.of("float", "float", "fma_math") == Rounding(single, single, 0.0)
    for math_type in ("default_math", "tensor_op_math", "tensor_op_math_allow_conversion"):
        assert Rounding.of("float", "float", math_type).operand == TF32
        assert Rounding.of("half", "float", math_type) == Rounding(half, single, 0.0)
        assert Rounding.of("double", "double", math_type).operand == 0
    assert Rounding.of("half", "half", "tensor_op_math") == Rounding(half, half, 0.0)
    assert Rounding.of("double", "float", "fma_math").operand == single
    with pytest.raises(UsageError, match="unknown type"):
        Rounding.of("int8", "float", "fma_math")


def test_a_scale_is_the_largest_number_of_its_kind() -> None:
    wanted = {
        "y": np.array([1.0, -3.0, np.nan]),
        "hy": np.array([0.5]),
        "dx": np.array([np.inf, 2.0]),
        "dw.a": np.array([1e-9]),
        "dw.b": np.array([-1e-7]),
    }
    said = scales(wanted, "float")
    assert said == {"y": 3.0, "hy": 3.0, "dx": 2.0, "dw.a": 1e-7, "dw.b": 1e-7}
    # 1e-7 is below the numbers of half that have all their bits.
    assert scales(wanted, "half")["dw.a"] == 2.0**-14


def test_tensors_have_a_kind() -> None:
    assert [kind_of(n) for n in ("cy", "dx", "dcx", "dw.l0.forward.hidden.x.bias")] == [
        "outputs",
        "inputs",
        "states",
        "weights",
    ]
    with pytest.raises(UsageError, match="unknown tensor"):
        kind_of("w")


def ahead_of(cell: str, **words: str) -> tuple[network.Network, network.Forward]:
    """A forward pass of three sequences over four steps."""
    given = {"cell_mode": cell, "input_size": "4", "hidden_size": "6", "num_layers": "2", **words}
    case = case_of({**given, "batch_size": "3", "max_seq_length": "4"}, seed=5)
    of = network.Network.of(case.problem)
    passed = network.forward(
        of, case.weights, case.given.x, case.given.lengths, case.given.hx, case.given.cx, tape=True
    )
    return of, passed


def test_a_rectifier_near_zero_is_seen_on_either_side_and_another_cell_has_none() -> None:
    of, ahead = ahead_of("rnn_relu")
    assert ahead.tape is not None
    numbers = np.concatenate([kept.cells.reshape(-1) for kept in ahead.tape.kept])
    assert min(numbers) < 0 < max(numbers)
    nearest = float(np.abs(numbers).min())
    assert not near_turn(of, ahead, nearest * 0.999)
    assert near_turn(of, ahead, nearest * 1.001)
    below = ahead.tape.kept[1].cells
    below[2, 3] = -1e-9
    assert near_turn(of, ahead, 1.1e-9)
    assert not near_turn(of, ahead, 0.9e-9)
    for cell in ("rnn_tanh", "gru", "lstm"):
        assert not near_turn(*ahead_of(cell), 10.0)


def test_a_cell_state_near_either_limit_is_seen() -> None:
    for limits in ({"lclip": "-0.25", "rclip": "9"}, {"lclip": "-9", "rclip": "0.5"}):
        of, ahead = ahead_of("lstm", clip_mode="minmax", **limits)
        assert ahead.tape is not None
        states = np.concatenate([kept.cells[:, -6:].reshape(-1) for kept in ahead.tape.kept])
        limit = min((float(v) for v in limits.values()), key=abs)
        nearest = float(np.abs(states - limit).min())
        assert not near_turn(of, ahead, nearest * 0.999)
        assert near_turn(of, ahead, nearest * 1.001)
