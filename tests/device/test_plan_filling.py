"""What plans fill their buffers with: by seed and name, and so that signals last."""

from __future__ import annotations

import numpy as np
import pytest

from tests.device import planning
from tests.device.planning import DOUBLE, FLOAT, GRU, HALF, LSTM, RELU, TANH, Ask, settings
from tests.device.torch_reference import weight_arrays


def test_the_same_seed_gives_the_same_numbers(ask: Ask) -> None:
    one = ask(planning.run_all, settings(), ())["given"]
    assert ask(planning.run_all, settings(), ())["given"] == one
    other = ask(planning.run_all, settings(seed=8), ())["given"]
    for name in ("x", "hx", "cx", "dy", "dhy", "dcy", "w"):
        assert other[name] != one[name], name
    # By name and index: a longer sequence begins with the same x, a second layer changes no first.
    longer = ask(planning.run_all, settings(max_seq_length=4, seq_lengths=[4, 4]), ())["given"]
    assert longer["x"][: len(one["x"])] == one["x"]
    assert longer["w"] == one["w"]


def test_weights_have_the_variance_that_keeps_signals(ask: Ask) -> None:
    wide = {"input_size": 96, "hidden_size": 128, "proj_size": 128}
    gains = {RELU: (1, 1), TANH: (0.5, 0.5), LSTM: (11, 1), GRU: (2.75, 1)}
    for cell, (on_x, on_h) in gains.items():
        answer = ask(planning.run_all, settings(cell_mode=cell, **wide), ())
        for name, array in weight_arrays(answer["weights"], answer["given"]["w"], DOUBLE).items():
            if array.ndim == 1:
                assert np.abs(array).max() <= 0.1
                continue
            variance = (on_x if ".x." in name else on_h) / array.shape[1]
            # The sample variance of n uniform numbers has a deviation of sqrt(0.8 / n) of itself.
            assert array.var() == pytest.approx(variance, rel=5 * (0.8 / array.size) ** 0.5), name
            assert np.abs(array).max() <= (3 * variance) ** 0.5


@pytest.mark.parametrize("cell_mode", [RELU, TANH, LSTM, GRU])
@pytest.mark.parametrize("hidden", [1, 4, 32])
def test_long_and_deep_networks_neither_die_nor_blow_up(
    ask: Ask, cell_mode: int, hidden: int
) -> None:
    chosen = settings(
        cell_mode=cell_mode, hidden_size=hidden, proj_size=hidden, input_size=16, num_layers=6,
        max_seq_length=150, batch_size=2, seq_lengths=[150, 150], data_type=HALF, math_prec=FLOAT,
    )  # fmt: skip
    answer = ask(planning.run_all, chosen)
    for name in ("y", "dx", "dw"):
        values = np.frombuffer(answer["backward_weights"][name], "<f2").astype(np.float64)
        if name == "dw":
            arrays = weight_arrays(answer["weights"], answer["backward_weights"]["dw"], HALF)
            values = np.concatenate([array.ravel() for array in arrays.values()])
        assert np.abs(values).max() < 2e4, name  # NaN is not
        if cell_mode != RELU or hidden > 1:  # a lone unit may be off whatever it is given
            assert np.abs(values).max() > 1e-4, name
