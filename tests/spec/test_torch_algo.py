"""PyTorch's choice of an algorithm, case by case as its source decides it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyharness.spec.torch_algo import AlgoQuestion, TorchBuild, torch_algo

A100 = TorchBuild((2, 13), 92800, (8, 0), 108)
V100 = TorchBuild((2, 13), 92800, (7, 0), 80)
ASKED = AlgoQuestion("lstm", "half", 512, 512, 1, False, False, False, 64, 50)


def chosen(build: TorchBuild = A100, forward: bool = True, **changes: object) -> str | None:
    return torch_algo(replace(ASKED, **changes), build, forward=forward)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cell", "forwards", "backwards"),
    [("lstm", 192, 128), ("gru", 192, 128), ("rnn_relu", 384, 256), ("rnn_tanh", 384, 256)],
)
@pytest.mark.parametrize("data_type", ["float", "half", "bfloat16"])
def test_small_networks(cell: str, forwards: int, backwards: int, data_type: str) -> None:
    # 100 wide, so that persist_static takes none of them
    sizes = {"cell_mode": cell, "data_type": data_type, "input_size": 100}
    for most, forward in ((forwards, True), (backwards, False)):
        assert chosen(forward=forward, hidden_size=most, **sizes) == "persist_static_small_h"
        assert chosen(forward=forward, hidden_size=most + 1, **sizes) == "standard"


@pytest.mark.parametrize(
    ("build", "algo"),
    [
        (A100, "persist_static_small_h"),
        (replace(A100, torch=(1, 12), cudnn=8201), "persist_static_small_h"),
        (replace(A100, torch=(1, 11)), "standard"),
        (replace(A100, cudnn=8200), "standard"),
        (replace(A100, compute_capability=(6, 0)), "persist_static_small_h"),
        (replace(A100, compute_capability=(5, 2)), "standard"),
    ],
)
def test_where_small_networks_have_their_own(build: TorchBuild, algo: str) -> None:
    assert chosen(build, data_type="float", hidden_size=32, input_size=32) == algo


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize(
    "changes",
    [{"data_type": "double"}, {"packed": True}, {"projected": True, "hidden_size": 128}],
)
def test_what_is_always_standard(changes: dict[str, object], forward: bool) -> None:
    for hidden in (32, 512):
        assert chosen(forward=forward, **{"hidden_size": hidden, **changes}) == "standard"


@pytest.mark.parametrize(
    ("changes", "algo"),
    [
        ({}, "persist_static"),
        ({"hidden_size": 1024}, "persist_static"),
        ({"hidden_size": 1152}, "standard"),
        ({"hidden_size": 500}, "standard"),
        ({"hidden_size": 576}, "standard"),
        ({"input_size": 576}, "standard"),
        ({"input_size": 500}, "standard"),
        ({"input_size": 4096}, "persist_static"),
        ({"num_layers": 2}, "standard"),
        ({"bidirectional": True}, "standard"),
        ({"data_type": "float"}, "standard"),
        ({"data_type": "bfloat16"}, "standard"),
        ({"cell_mode": "gru"}, "standard"),
        ({"batch_size": 128}, "persist_static"),
        ({"batch_size": 136}, "standard"),
        ({"batch_size": 60}, "standard"),
        ({"steps": 1}, "persist_static"),
        ({"cell_mode": "rnn_relu", "hidden_size": 896, "batch_size": 88}, "persist_static"),
        ({"cell_mode": "rnn_relu", "hidden_size": 896, "batch_size": 96}, "standard"),
        ({"cell_mode": "rnn_tanh", "hidden_size": 768, "batch_size": 128}, "persist_static"),
        ({"hidden_size": 896, "batch_size": 128}, "persist_static"),
    ],
)
def test_persist_static_on_an_ampere(changes: dict[str, object], algo: str) -> None:
    assert chosen(**changes) == algo


@pytest.mark.parametrize(
    ("build", "algo"),
    [
        (replace(A100, multiprocessors=98), "persist_static"),
        (replace(A100, multiprocessors=97), "standard"),
        (replace(A100, compute_capability=(8, 6)), "standard"),
        (replace(A100, compute_capability=(9, 0), multiprocessors=132), "persist_static"),
        (replace(A100, compute_capability=(7, 5)), "standard"),
        (replace(A100, compute_capability=(6, 1)), "standard"),
        (replace(A100, torch=(1, 11)), "persist_static"),
    ],
)
def test_persist_static_on_other_cards(build: TorchBuild, algo: str) -> None:
    assert chosen(build) == algo


@pytest.mark.parametrize(
    ("batch", "least"),
    [(8, 10), (16, 10), (32, 10), (48, 20), (96, 20), (128, 40), (64, 20)],
)
def test_persist_static_on_a_volta(batch: int, least: int) -> None:
    assert chosen(V100, batch_size=batch, steps=least) == "persist_static"
    assert chosen(V100, batch_size=batch, steps=least - 1) == "standard"
    assert chosen(V100, batch_size=batch, steps=least, cell_mode="gru") == "persist_static"


@pytest.mark.parametrize("batch", [24, 40, 80, 112, 144])
def test_batches_that_are_left_out_on_a_volta(batch: int) -> None:
    assert chosen(V100, batch_size=batch, steps=1000) == "standard"


@pytest.mark.parametrize(
    "build",
    [
        replace(A100, torch=(2, 9)),
        replace(A100, cudnn=91201),
        replace(A100, compute_capability=(7, 5)),
    ],
)
def test_bfloat16_without_cudnn(build: TorchBuild) -> None:
    assert chosen(build, data_type="bfloat16") is None
    assert chosen(build) is not None


def test_bfloat16_with_the_first_that_take_it() -> None:
    first = replace(A100, torch=(2, 10), cudnn=91300, compute_capability=(8, 0))
    assert chosen(first, data_type="bfloat16") == "standard"
