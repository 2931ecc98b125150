"""Work of a pass: against torch's own counter, against the equations counted, and by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyharness.errors import UsageError
from pyharness.spec.flops import Work, work
from pyharness.spec.geometry import geometry
from pyharness.spec.problem import parse_problem
from pyharness.spec.stages import PASSES
from tests.spec.test_geometry import networks, torch_network


def of(text: str, pass_name: str) -> Work:
    return work(parse_problem(text.split()), pass_name)


@given(networks(), st.lists(st.integers(1, 5), min_size=1, max_size=4))
@settings(max_examples=40)
def test_matrix_products_are_those_that_torch_makes(
    words: dict[str, Any], lengths: list[int]
) -> None:
    """torch counts the flops of each matrix product that it runs, forward and backward, on a packed
    batch; with gradients of everything that is the work of both backward passes.
    """
    torch = pytest.importorskip("torch")
    from torch.nn.utils.rnn import pack_padded_sequence
    from torch.utils.flop_counter import FlopCounterMode

    lengths.sort(reverse=True)
    text = " ".join(f"{n}={v}" for n, v in words.items()) + f" seq_lengths={lengths}".replace(
        ", ", ","
    )
    g = geometry(parse_problem(text.split()))
    network = torch_network(words)
    x = torch.randn(g.max_seq_length, g.batch_size, g.input_size, dtype=torch.float64)
    shapes = [g.output_size] + [g.hidden_size] * (g.cell_mode == "lstm")
    states = [
        torch.randn(g.pseudo_layers, g.batch_size, n, dtype=torch.float64, requires_grad=True)
        for n in shapes
    ]
    packed = pack_padded_sequence(x.requires_grad_(), torch.tensor(lengths))
    with FlopCounterMode(display=False) as forward:
        y, _ = network(packed, tuple(states) if len(states) == 2 else states[0])
    with FlopCounterMode(display=False) as backward:
        y.data.square().sum().backward()
    assert forward.get_total_flops() == of(text, "forward_training").matrix_flops
    both = sum(of(text, name).matrix_flops for name in ("backward_data", "backward_weights"))
    assert backward.get_total_flops() == both


def test_the_network_of_a_paper_by_hand() -> None:
    # One LSTM layer, 2 * 4 * 512 * (512 + 512) a step, 25 steps of 16 sequences.
    for name in PASSES:
        found = of("hidden_size=512 input_size=512 batch_size=16 max_seq_length=25", name)
        assert found.matrix_flops == 8 * 512 * 1024 * 400
    whole = of("hidden_size=512 input_size=512 batch_size=16 max_seq_length=25", "training_step")
    assert whole.matrix_flops == 3 * 8 * 512 * 1024 * 400


def test_skip_input_multiplies_no_x() -> None:
    text = "input_mode=skip_input input_size=8 hidden_size=8 num_layers=2 batch_size=1 "
    # Layer 0 has 4 * 8 * 8, layer 1 twice that; 16 steps.
    assert of(text, "forward_inference").matrix_flops == 2 * 16 * 3 * 256


class Counted:
    """A number that counts what is done with it."""

    done = 0

    def _one(self, *others: object) -> Counted:
        Counted.done += 1
        return Counted()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _one

    def activated(self) -> Counted:
        """A sigmoid, tanh or relu."""
        return self._one()


def gates(count: int, biases: int) -> list[Counted]:
    """The sums of x and h parts and of so many biases."""
    made = []
    for _ in range(count):
        total = Counted() + Counted()
        for _ in range(biases):
            total = total + Counted()
        made.append(total)
    return made


def forward(cell: str, biases: int) -> None:
    """One unit at one step, by cuDNN's equations."""
    if cell == "lstm":
        i, f, g, o = (s.activated() for s in gates(4, biases))
        c = f * Counted() + i * g
        o * c.activated()
    elif cell == "gru":
        r, z = gates(2, biases)
        r, z = r.activated(), z.activated()
        recurrent = Counted()  # Rh, and its bias among those of the gate
        total = Counted() + r * recurrent
        for _ in range(biases):
            total = total + Counted()
        n = total.activated()
        (1 - z) * n + z * Counted()
    else:
        gates(1, biases)[0].activated()


def backward(cell: str) -> None:
    """One unit at one step from the gradients of what it gave, all of what was kept at hand."""

    def through_sigmoid(gradient: Counted, s: Counted) -> Counted:
        return gradient * (s * (1 - s))

    def through_tanh(gradient: Counted, t: Counted) -> Counted:
        return gradient * (1 - t * t)

    dh = Counted() + Counted()  # from y, and from the step after
    if cell == "lstm":
        i, f, g, o, before, tanh_c, dc = (Counted() for _ in range(7))
        dc = dc + through_tanh(dh * o, tanh_c)
        through_sigmoid(dh * tanh_c, o)
        through_sigmoid(dc * g, i)
        through_sigmoid(dc * before, f)
        through_tanh(dc * i, g)
        dc * f
    elif cell == "gru":
        r, z, n, before, recurrent = (Counted() for _ in range(5))
        dn = through_tanh(dh * (1 - z), n)
        through_sigmoid(dh * (before - n), z)
        through_sigmoid(dn * recurrent, r)
        dn * r
        # What comes back through the matrices is added to this at the step before.
        Counted() + dh * z
    elif cell == "rnn_tanh":
        through_tanh(dh, Counted())
    else:
        dh * Counted()  # 0 or 1


@pytest.mark.parametrize("cell", ["rnn_relu", "rnn_tanh", "lstm", "gru"])
@pytest.mark.parametrize(
    ("bias", "biases"), [("no_bias", 0), ("single_inp_bias", 1), ("double_bias", 2)]
)
def test_pointwise_flops_are_those_of_the_equations(cell: str, bias: str, biases: int) -> None:
    text = f"cell_mode={cell} bias_mode={bias} hidden_size=5 seq_lengths=[3,1]"
    Counted.done = 0
    forward(cell, biases)
    assert of(text, "forward_training").pointwise_flops == 4 * 5 * Counted.done
    Counted.done = 0
    backward(cell)
    assert of(text, "backward_data").pointwise_flops == 4 * 5 * Counted.done
    gate_count = {"lstm": 4, "gru": 3}.get(cell, 1)
    assert of(text, "backward_weights").pointwise_flops == 4 * 5 * gate_count * biases


# 4 steps in all. Matrices 4 * 2 * (3 + 2) = 40, biases 2 * 4 * 2 = 16; x 12, y 8; hx, cx, hy, cy 16
# together; kept 5 * 2 * 4 = 40; gradients of the gates 4 * 2 * 4 = 32; 4 bytes each.
LSTM = "cell_mode=lstm input_size=3 hidden_size=2 seq_lengths=[3,1]"
# Matrices 2 * (3 * 2 * (3 + 2) + 3 * 2 * (4 + 2)) = 132, biases 4 * 2 * 3 * 2 = 48; x 12, y 16; hx,
# hy 16 each; between layers 16; kept 4 * 4 * 2 * 4 = 128; gradients 128; outputs of layers 32.
GRU = (
    "cell_mode=gru input_size=3 hidden_size=2 num_layers=2 direction_mode=bidirectional "
    "seq_lengths=[3,1] data_type=half"
)
# Matrices 4 * 4 * (3 + 2) + 2 * 4 = 88, no bias; x 12, y 8; states 2 * 2 * (2 + 4) = 24 in and out;
# kept 5 * 4 * 4 = 80; gradients 64; cx 8, hx 4; the projection 4 * (2 * 4 + 2) = 40.
PROJECTED = (
    "cell_mode=lstm bias_mode=no_bias input_size=3 hidden_size=4 proj_size=2 seq_lengths=[3,1] "
    "data_type=double math_prec=double"
)


@pytest.mark.parametrize(
    ("text", "pass_name", "count"),
    [
        (LSTM, "forward_inference", 4 * (40 + 16 + 12 + 8 + 16)),
        (LSTM, "forward_training", 4 * (40 + 16 + 12 + 8 + 16 + 40)),
        (LSTM, "backward_data", 4 * (40 + 12 + 8 + 16 + 40 + 4 + 32)),
        (LSTM, "backward_weights", 4 * (12 + 8 + 4 + 32 + 2 * 56)),
        (GRU, "forward_inference", 2 * (132 + 48 + 12 + 16 + 32 + 32)),
        (GRU, "forward_training", 2 * (132 + 48 + 12 + 16 + 32 + 32 + 128)),
        (GRU, "backward_data", 2 * (132 + 12 + 16 + 32 + 32 + 128 + 32 + 16 + 128)),
        (GRU, "backward_weights", 2 * (12 + 32 + 16 + 128 + 2 * 180)),
        (PROJECTED, "forward_inference", 8 * (88 + 12 + 8 + 24)),
        (PROJECTED, "backward_data", 8 * (88 + 12 + 8 + 24 + 80 + 8 + 64)),
        (PROJECTED, "backward_weights", 8 * (12 + 8 + 4 + 64 + 2 * 88 + 40)),
    ],
)
def test_traffic_by_hand(text: str, pass_name: str, count: int) -> None:
    assert of(text, pass_name).traffic_bytes == count


def test_padding_is_no_work() -> None:
    for name in PASSES:
        assert of(f"{LSTM} max_seq_length=50", name) == of(LSTM, name)


def test_a_training_step_is_the_sum_of_its_passes() -> None:
    step = of(GRU, "training_step")
    parts = [of(GRU, name) for name in PASSES[1:]]
    assert step.flops == sum(p.matrix_flops + p.pointwise_flops for p in parts)
    assert step.traffic_bytes == sum(p.traffic_bytes for p in parts)
    assert step.intensity == pytest.approx(step.flops / step.traffic_bytes)


def test_a_large_network_lives_on_its_matrices() -> None:
    found = of("hidden_size=1024 input_size=1024 batch_size=64 max_seq_length=64", PASSES[0])
    assert found.pointwise_flops / found.matrix_flops < 0.002
    assert math.isfinite(found.intensity)


def test_a_pass_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match="unknown pass 'forward'") as caught:
        of("", "forward")
    assert "forward_inference" in caught.value.hint


def test_skip_input_sums_the_gradient_of_x() -> None:
    """dx is the sum of the gates' gradients, 4 * 8 a step, instead of a product; 16 steps."""
    text = "input_size=8 hidden_size=8 batch_size=1"
    skipping = of(f"input_mode=skip_input {text}", "backward_data").pointwise_flops
    assert skipping - of(text, "backward_data").pointwise_flops == 16 * 4 * 8
