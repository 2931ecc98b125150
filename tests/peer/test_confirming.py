"""The algorithm of each stage, from logs that a real cuDNN writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyharness.logs import read_logs
from pyharness.peer.confirming import algos_of, logged_algos
from pyharness.releases import Release
from pyharness.spec.problem import parse_problem
from tests.logs.items import record

FORWARD_ONLY, TRAINING = [0], [1]
# As PyTorch hands it over: half data, tensor cores, padded input, both biases.
BASE: dict[str, Any] = {
    "algo": 1, "cell_mode": 2, "bias_mode": 2, "direction_mode": 0, "input_mode": 0,
    "data_type": 2, "math_prec": 0, "math_type": 1, "input_size": 512, "hidden_size": 512,
    "proj_size": 512, "num_layers": 1, "dropout": 1, "aux_flags": 1, "layout": 0,
    "max_seq_length": 50, "seq_lengths": [50] * 64, "modes": FORWARD_ONLY,
}  # fmt: skip
WORDS = (
    "data_type=half math_type=tensor_op_math input_size=512 hidden_size=512 max_seq_length=50 "
    "batch_size=64"
)


@pytest.fixture
def told(cudnn: Callable[[str], Release], tmp_path: Path) -> Callable[..., dict[str, str]]:
    def of(text: str, *changes: dict[str, Any]) -> dict[str, str]:
        items = [{**BASE, **change} for change in changes]
        log = record(cudnn("9.28.0.42"), items, tmp_path / "api.log")
        return algos_of(parse_problem(text.split()), read_logs([log]))

    return of


def test_each_stage_has_the_algo_of_its_call(told: Callable[..., dict[str, str]]) -> None:
    seen = told(WORDS, {"algo": 3}, {"algo": 1, "modes": TRAINING, "hidden_size": 256})
    assert seen == {"forward_inference": "persist_static_small_h"}
    backward = told(WORDS, {"algo": 1, "modes": TRAINING})
    assert backward == dict.fromkeys(
        ("forward_training", "backward_data", "backward_weights"), "persist_static"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"cell_mode": 1},
        {"direction_mode": 1},
        {"data_type": 0, "math_type": 0},
        {"input_size": 511},
        {"hidden_size": 640, "proj_size": 512},
        {"num_layers": 2},
        {"max_seq_length": 49, "seq_lengths": [49] * 64},
        {"seq_lengths": [50] * 63},
        {"layout": 1},
    ],
)
def test_another_problem_is_not_taken_for_it(
    told: Callable[..., dict[str, str]], change: dict[str, Any]
) -> None:
    assert told(WORDS, change) == {}


def test_what_pytorch_sets_by_itself_makes_no_difference(
    told: Callable[..., dict[str, str]],
) -> None:
    assert told(f"{WORDS} bias_mode=no_bias algo=persist_dynamic", {}) == {
        "forward_inference": "persist_static"
    }


def test_several_algos_are_none(told: Callable[..., dict[str, str]]) -> None:
    assert told(WORDS, {"algo": 0}, {"algo": 1}) == {}


def test_a_packed_batch_is_known_by_its_lengths(told: Callable[..., dict[str, str]]) -> None:
    lengths = {"layout": 1, "aux_flags": 0, "algo": 0, "max_seq_length": 9}
    text = f"{WORDS.replace('batch_size=64', '').replace('max_seq_length=50', '')}"
    text += " layout=seq_major_packed seq_lengths=[9,4,4]"
    assert told(text, {**lengths, "seq_lengths": [9, 4, 4]}) == {"forward_inference": "standard"}
    assert told(text, {**lengths, "seq_lengths": [9, 5, 4]}) == {}


def test_a_peer_on_the_cpu_logs_nothing() -> None:
    problems = [parse_problem(t.split()) for t in ("hidden_size=8", "input_mode=skip_input")]
    assert logged_algos(problems, "cpu") == [{}, {}]
