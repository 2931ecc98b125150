"""The memory of the reference, against what it is seen to hold."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from pyharness.reference.held import held_bytes
from pyharness.reference.network import Network, backward, forward
from pyharness.spec.problem import parse_problem

SIZES = "hidden_size=64 input_size=64 batch_size=16 max_seq_length=64"


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    "words",
    [
        f"cell_mode=rnn_tanh {SIZES}",
        f"cell_mode=lstm proj_size=16 {SIZES}",
        f"cell_mode=lstm num_layers=3 direction_mode=bidirectional {SIZES}",
        f"cell_mode=gru num_layers=2 {SIZES}",
        "cell_mode=gru hidden_size=256 input_size=64 batch_size=1 max_seq_length=64",
    ],
)
def test_it_holds_no_more_than_is_said_and_not_much_less(words: str, training: bool) -> None:
    network, draw = Network.of(parse_problem(words.split())), np.random.default_rng(0)
    shape = network.shape
    weights = {w.name: draw.normal(size=(w.rows, w.cols)) / w.cols for w in shape.weights}
    x = draw.normal(size=(shape.max_seq_length, shape.batch_size, shape.input_size))
    tracemalloc.start()
    try:
        ahead = forward(network, weights, x, shape.lengths, tape=training)
        if training:
            backward(network, weights, ahead, np.ones_like(ahead.y))
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert held <= held_bytes(shape, training=training) <= 3 * held
