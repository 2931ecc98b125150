"""The settings of a plan, field by field, against numbers written out here."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pyharness.errors import UsageError
from pyharness.spec.plan_settings import drops, plan_settings
from pyharness.spec.problem import parse_problem

# Enumerators as cuDNN's headers number them.
DEFAULTS: dict[str, Any] = {
    "algo": 0,
    "cell_mode": 2,
    "bias_mode": 2,
    "direction_mode": 0,
    "input_mode": 0,
    "data_type": 0,
    "math_prec": 0,
    "math_type": 0,
    "input_size": 64,
    "hidden_size": 64,
    "proj_size": 64,
    "num_layers": 1,
    "dropout": 1,
    "aux_flags": 1,
    "layout": 0,
    "max_seq_length": 16,
    "batch_size": 8,
    "padding_fill": 0,
    "seq_lengths": [16] * 8,
    "clip": False,
    "dropout_rate": 0.0,
    "dev_seq_lengths": 0,
    "initial_states": 0,
    "seed": 0,
}


def of(*words: str) -> dict[str, Any]:
    return plan_settings(parse_problem(words))


def test_the_defaults() -> None:
    assert of() == DEFAULTS
    assert {n: type(v) for n, v in of().items()} == {n: type(v) for n, v in DEFAULTS.items()}


CLIPPING = {"clip": True, "clip_mode": 1, "clip_nan_opt": 0, "lclip": -1.0, "rclip": 1.0}


@pytest.mark.parametrize(
    ("words", "changed"),
    [
        (["algo=persist_static_small_h"], {"algo": 3}),
        (["algo=-1"], {"algo": -1}),
        (["cell_mode=gru"], {"cell_mode": 3}),
        (["bias_mode=single_rec_bias"], {"bias_mode": 3}),
        (["direction_mode=bidirectional"], {"direction_mode": 1}),
        (["input_mode=skip_input"], {"input_mode": 1}),
        (["data_type=bfloat16"], {"data_type": 9}),
        (["math_prec=half"], {"math_prec": 2}),
        (["math_type=fma_math"], {"math_type": 3}),
        (["input_size=5"], {"input_size": 5}),
        (["hidden_size=33"], {"hidden_size": 33, "proj_size": 33}),
        (["hidden_size=33", "proj_size=half"], {"hidden_size": 33, "proj_size": 16}),
        (["proj_size=over"], {"proj_size": 65}),
        (["proj_size=7"], {"proj_size": 7}),
        (["num_layers=3"], {"num_layers": 3}),
        (["dropout=null"], {"dropout": 0}),
        (["aux_flags=padded_io_disabled"], {"aux_flags": 0}),
        (["layout=batch_major_unpacked"], {"layout": 2}),
        (["max_seq_length=3"], {"max_seq_length": 3, "seq_lengths": [3] * 8}),
        (["batch_size=2"], {"batch_size": 2, "seq_lengths": [16] * 2}),
        (["padding_fill=given"], {"padding_fill": 1}),
        (
            ["seq_lengths=[5,3,0]"],
            {"seq_lengths": [5, 3, 0], "batch_size": 3, "max_seq_length": 5},
        ),
        (
            ["seq_lengths=[5,3]", "batch_size=2", "max_seq_length=9"],
            {"seq_lengths": [5, 3], "batch_size": 2, "max_seq_length": 9},
        ),
        (
            ["seq_lengths=descending", "batch_size=3", "max_seq_length=5"],
            {"seq_lengths": [5, 3, 1], "batch_size": 3, "max_seq_length": 5},
        ),
        (
            ["seq_lengths=one_zero", "batch_size=3"],
            {"seq_lengths": [16, 16, 0], "batch_size": 3},
        ),
        (["seq_lengths=negative", "batch_size=2"], {"seq_lengths": [16, -1], "batch_size": 2}),
        (["batch_size=0"], {"batch_size": 0, "seq_lengths": [16]}),
        (["clip_mode=minmax"], CLIPPING),
        (["clip_mode=none"], {**CLIPPING, "clip_mode": 0}),
        (
            ["lclip=-inf", "rclip=0.5", "clip_nan_opt=propagate_nan"],
            {**CLIPPING, "lclip": -math.inf, "rclip": 0.5, "clip_nan_opt": 1},
        ),
        (["dropout_rate=0.25"], {"dropout_rate": 0.25}),
        (["dev_seq_lengths=given"], {"dev_seq_lengths": 1}),
        (["dev_seq_lengths=null"], {"dev_seq_lengths": 2}),
        (["initial_states=null"], {"initial_states": 1}),
        (["seed=12"], {"seed": 12}),
        (["vector_size=7"], {"x_vector_size": 7}),
        (["strides=packed", "nb_dims=3"], {}),
    ],
)
def test_what_is_given_changes_its_field_alone(words: list[str], changed: dict[str, Any]) -> None:
    assert of(*words) == {**DEFAULTS, **changed}


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["strides=zero"], "strides=zero cannot be run", "pyharness try"),
        (["nb_dims=4"], "nb_dims=4 cannot be run", "pyharness try"),
        (["tensor=h"], "tensor=h is one state alone", "leave tensor out"),
        (
            ["hidden_size=2147483647", "direction_mode=bidirectional"],
            "y would be 4294967294 wide",
            "smaller sizes",
        ),
        (
            ["seq_lengths=[5,3]", "batch_size=3"],
            "seq_lengths has a list of 2 entries, batch_size is 3",
            "add batch_size=2",
        ),
        (["seq_lengths=[5,3]", "batch_size=0"], "a list of 2 entries", "add batch_size=2"),
    ],
)
def test_what_no_run_has_is_refused(words: list[str], message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        of(*words)
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("words", "dropped"),
    [
        (["num_layers=2", "dropout_rate=0.5"], True),
        (["num_layers=1", "dropout_rate=0.5"], False),
        (["num_layers=2"], False),
        (["num_layers=2", "dropout_rate=0.5", "dropout=null"], False),
    ],
)
def test_what_drops(words: list[str], dropped: bool) -> None:
    assert drops(parse_problem(words)) == dropped
