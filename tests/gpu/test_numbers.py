"""Numbers of every algo, cell and type, and of what a network can have beside, on a device."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from pyharness.spec.problem import Problem
from pyharness.spec.stage_results import outcome_of
from tests.gpu.comparing import differences
from tests.gpu.conftest import Gpu
from tests.oracle.answers import Reading
from tests.oracle.problems import random_words

pytestmark = pytest.mark.gpu

ALGOS = ("standard", "persist_static", "persist_static_small_h", "persist_dynamic")
CELLS = ("rnn_relu", "rnn_tanh", "lstm", "gru")
# data_type, math_prec, math_type: what frameworks hand over, and float as strict as can be
TYPES = {
    "double": ("double", "double", "fma_math"),
    "float": ("float", "float", "fma_math"),
    "float-tf32": ("float", "float", "default_math"),
    "half": ("half", "float", "tensor_op_math"),
    "bfloat16": ("bfloat16", "float", "tensor_op_math"),
}
MASKED = {"batch_size": "4", "max_seq_length": "6"}
OTHERS: dict[str, dict[str, str]] = {
    "bidirectional": {"cell_mode": "lstm", "direction_mode": "bidirectional"},
    "masked": {"cell_mode": "lstm", "seq_lengths": "[2,6,1,4]", **MASKED},
    "masked-both-ways": {
        "cell_mode": "gru",
        "direction_mode": "bidirectional",
        "layout": "batch_major_unpacked",
        "seq_lengths": "[5,1,6,3]",
        **MASKED,
    },
    "packed": {
        "cell_mode": "gru",
        "layout": "seq_major_packed",
        "seq_lengths": "[6,4,4,1]",
        **MASKED,
    },
    "projected": {"cell_mode": "lstm", "proj_size": "24"},
    "skip-input": {"cell_mode": "rnn_tanh", "input_mode": "skip_input"},
    "no-bias": {"cell_mode": "gru", "bias_mode": "no_bias"},
    "bias-of-x": {"cell_mode": "lstm", "bias_mode": "single_inp_bias"},
    "bias-of-h": {"cell_mode": "gru", "bias_mode": "single_rec_bias"},
    "clipped": {"cell_mode": "lstm", "clip_mode": "minmax", "lclip": "-0.5", "rclip": "0.25"},
    "null-states": {"cell_mode": "lstm", "initial_states": "null"},
    "no-dropout-descriptor": {"cell_mode": "gru", "dropout": "null"},
    "odd-sizes": {
        "cell_mode": "lstm",
        "input_size": "7",
        "hidden_size": "13",
        "batch_size": "3",
        "num_layers": "3",
    },
}
RANDOM = 20 if os.environ.get("PYHARNESS_CHECK_SIZE") == "short" else 120


def words(types: str, **changes: str) -> dict[str, str]:
    """A problem of these types: two layers; rnn_relu has one, see tolerances."""
    data_type, math_prec, math_type = TYPES[types]
    chosen = {
        "data_type": data_type,
        "math_prec": math_prec,
        "math_type": math_type,
        "input_size": "64",
        "hidden_size": "64",
        "batch_size": "8",
        "max_seq_length": "5",
        "num_layers": "1" if changes["cell_mode"] == "rnn_relu" else "2",
        "seed": "3",
    }
    return {**chosen, **changes}


def lacks(cudnn: int, types: str) -> bool:
    """Whether a version (91300) has not got the type yet."""
    return types == "bfloat16" and cudnn < 91300


def refusal(answer: dict[str, Any]) -> str:
    """What was refused, in words; empty if nothing was.

    A status that is none of a refusal is a failure of the test.
    """
    if answer["refused"] is None:
        return ""
    stage, call, status, reason = answer["refused"]
    text = f"{stage}: {call}: {status}: {reason}"
    assert outcome_of(status.removeprefix("CUDNN_STATUS_")) == "unsupported", text
    return text


def check(gpu: Gpu, problem: Problem) -> str:
    """Sees that every number is right and no guard band is broken.

    Returns  what was refused instead, in words.
    """
    answer = gpu.run(problem)
    assert answer["broken"] == {}, problem.command
    refused = refusal(answer)
    if not refused:
        assert differences(problem, answer) == []
    return refused


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("algo", ALGOS)
def test_every_algo(gpu: Gpu, algo: str, types: str, cell: str) -> None:
    refused = check(gpu, Problem(words(types, algo=algo, cell_mode=cell)))
    if refused:
        # Every framework falls back to standard; bfloat16 is accepted from 9.13.0 on.
        assert algo != "standard" or lacks(gpu.facts["cudnn"], types), refused
        pytest.skip(refused)


@pytest.mark.parametrize("types", ["double", "float", "half"])
@pytest.mark.parametrize("name", OTHERS)
def test_what_a_network_can_have_beside(gpu: Gpu, name: str, types: str) -> None:
    assert check(gpu, Problem(words(types, **OTHERS[name]))) == ""


def test_padding_is_filled(gpu: Gpu) -> None:
    problem = Problem(words("float", padding_fill="given", **OTHERS["masked"]))
    answer = gpu.run(problem)
    assert refusal(answer) == ""
    padding = Reading(problem).padding(answer["found"]["y"])
    assert padding.shape == (11, 64)
    assert (padding == 0).all()


def test_random_problems(gpu: Gpu) -> None:
    draw, refused, wrong = random.Random(4), 0, []
    for _ in range(RANDOM):
        chosen = random_words(draw, ("float", "double"))
        problem = Problem({**chosen, "math_type": "fma_math"})
        answer = gpu.run(problem)
        said = refusal(answer)
        if said:
            refused += 1
            wrong += [said] if chosen["algo"] == "standard" else []
        else:
            wrong += [f"{problem.command}: {stage}: {w}" for stage, w in answer["broken"].items()]
            wrong += differences(problem, answer)
    assert wrong == []
    assert refused < RANDOM / 2
