"""Thresholds against PyTorch in the types themselves, against wrong networks, and by hand."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
import torch

from pyharness.errors import UsageError
from pyharness.reference.tolerances import (
    TF32,
    UNIT,
    Rounding,
    kind_of,
    scales,
    signs_matter,
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
        assert allowed / 80 < off < allowed / 1.5, (tensor, off / allowed)


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
        return (6 * times + terms / 6 + 64 * times) * (u**2 + d**2)

    said = [threshold(problem, name, "float", "float", "fma_math") for name in ("y", "dhx", "dw")]
    # Back through both matrices: 3 hidden units each. For dw a rounding and a sum of 2 sequences.
    squares = [by_hand(5), by_hand(5 + 6, 2), by_hand(5 + 6, 2) + (1 + 2 / 6) * (u**2 + d**2)]
    assert said == pytest.approx([4 * sqrt(square) for square in squares], rel=1e-12)


def test_what_makes_a_threshold_wider() -> None:
    plain = of_type("y", "float")
    assert of_type("y", "float", max_seq_length="20") == pytest.approx(2 * plain)  # 4 times as many
    assert of_type("y", "float", seq_lengths="[1]", batch_size="1") < plain
    assert of_type("y", "float", hidden_size="128") > plain
    assert of_type("y", "float", batch_size="64") == plain
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


@pytest.mark.parametrize(
    ("types", "matter"),
    [
        (("double", "double", "default_math"), False),
        (("float", "float", "fma_math"), False),
        (("float", "float", "default_math"), True),
        (("half", "float", "fma_math"), True),
        (("bfloat16", "float", "fma_math"), True),
    ],
)
def test_signs_matter_where_a_rounding_is_coarse(types: tuple[str, str, str], matter: bool) -> None:
    assert signs_matter(*types) == matter


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
    assert [kind_of(n) for n in ("cy", "dcx", "dw.l0.forward.hidden.x.bias")] == [
        "outputs",
        "inputs",
        "weights",
    ]
    with pytest.raises(UsageError, match="unknown tensor"):
        kind_of("w")
