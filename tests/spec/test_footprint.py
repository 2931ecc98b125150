"""The formula: closed forms written out by hand, torch's parameter counts, and public reports."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pyharness.errors import UsageError
from pyharness.spec.footprint import MODES, PARTS, TERMS, ForwardMode, at_least, predict
from pyharness.spec.problem import parse_problem

SIZES = st.integers(1, 40)


def footprint(words: str, mode: ForwardMode = "training") -> dict[str, int]:
    return predict(parse_problem(words.split()), mode).parts


# What cudnnGetRNNTrainingReserveSize and cudnnGetRNNWorkspaceSize answered, as people printed it.
# The batch of the first two is not told; steps x batch is 25,000 by their reserve spaces.
REPORTED = {
    "LSTM, pytorch/pytorch#2895": (
        "cell_mode=lstm input_size=123 hidden_size=320 num_layers=4 batch_size=25 "
        "max_seq_length=1000",
        736_000_000,
        17_730_560,
    ),
    "GRU, pytorch/pytorch#2895": (
        "cell_mode=gru input_size=123 hidden_size=320 num_layers=4 batch_size=25 "
        "max_seq_length=1000",
        864_000_000,
        13_169_920,
    ),
    "first layer, SeanNaren/deepspeech.pytorch#172": (
        "cell_mode=gru bias_mode=no_bias direction_mode=bidirectional input_size=672 "
        "hidden_size=800 batch_size=64 max_seq_length=326",
        801_177_600,
        313_344_000,
    ),
    "other layers, SeanNaren/deepspeech.pytorch#172": (
        "cell_mode=gru bias_mode=no_bias direction_mode=bidirectional input_size=800 "
        "hidden_size=800 batch_size=64 max_seq_length=326",
        801_177_600,
        315_801_600,
    ),
}


@pytest.mark.parametrize("report", REPORTED)
def test_it_fits_what_was_reported(report: str) -> None:
    words, reserve_space, workspace = REPORTED[report]
    found = footprint(words)
    assert found["reserve_space"] == reserve_space
    allowed = 0.12 if report.startswith("GRU") else 0  # the terms' sources say so
    assert found["workspace"] == pytest.approx(workspace, rel=allowed, abs=0)


def test_the_parameters_of_the_reported_networks() -> None:
    # What makes 123, 320 and 4 layers of them: the printed counts, less 10 outputs of 320 and a
    # bias, which no other sizes come to.
    for cell, printed in (("lstm", 3_038_090), ("gru", 2_279_370)):
        words, _, _ = REPORTED[f"{cell.upper()}, pytorch/pytorch#2895"]
        assert footprint(words)["weight_space"] // 4 + 320 * 10 + 10 == printed


def test_a_small_lstm_by_hand() -> None:
    # 2 layers, one direction, x 3 wide, h 5 wide, 7 steps, 2 sequences, 4 bytes an element.
    words = "input_size=3 hidden_size=5 num_layers=2 batch_size=2 max_seq_length=7"
    matrices = 4 * 5 * (3 + 5) + 4 * 5 * (5 + 5)
    weights = matrices + 2 * 2 * 4 * 5
    states = 4 * 2 * 2 * 5  # hx, hy, cx, cy
    x, y = 7 * 2 * 3, 7 * 2 * 5
    in_flight = 44 * 2 * 5 * 2
    assert footprint(words, "inference") == {
        "weight_space": 4 * weights,
        "workspace": 4 * (matrices + in_flight + y),  # y of the first layer
        "reserve_space": 0,
        "tensor": 4 * (x + y + states),
        "dropout_states": 0,
    }
    assert footprint(words, "training") == {
        "weight_space": 4 * weights,
        "workspace": 4 * (matrices + in_flight),
        "reserve_space": 4 * (5 * 7 * 2 * 5 * 2 + y),
        "tensor": 4 * (2 * (x + y + states) + weights),
        "dropout_states": 0,
    }


def test_two_directions_a_projection_and_half_by_hand() -> None:
    words = (
        "data_type=half math_prec=float direction_mode=bidirectional bias_mode=single_inp_bias "
        "input_size=3 hidden_size=6 proj_size=2 num_layers=3 batch_size=4 max_seq_length=5"
    )
    first, later = 4 * 6 * (3 + 2) + 2 * 6, 4 * 6 * (4 + 2) + 2 * 6
    matrices = 2 * (first + 2 * later)
    found = footprint(words, "training")
    assert found["weight_space"] == 2 * (matrices + 6 * 4 * 6)
    assert found["reserve_space"] == 2 * (5 * 5 * 4 * 6 * 6 + 2 * 5 * 4 * 4)
    assert found["workspace"] == 2 * (matrices + 2 * 5 * 4 * 4 + 44 * 4 * 6 * 6)


@given(
    cell=st.sampled_from(["lstm", "gru", "rnn_tanh"]),
    sizes=st.tuples(SIZES, SIZES, st.integers(1, 9)),
    both=st.booleans(),
    bias=st.booleans(),
)
def test_weights_are_as_many_as_those_of_torch(
    cell: str, sizes: tuple[int, int, int], both: bool, bias: bool
) -> None:
    input_size, hidden, layers = sizes
    made = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn_tanh": torch.nn.RNN}[cell](
        input_size, hidden, layers, bias=bias, bidirectional=both, device="meta"
    )
    words = (
        f"cell_mode={cell} input_size={input_size} hidden_size={hidden} num_layers={layers} "
        f"direction_mode={'bidirectional' if both else 'unidirectional'} "
        f"bias_mode={'double_bias' if bias else 'no_bias'}"
    )
    assert footprint(words)["weight_space"] == 4 * sum(p.numel() for p in made.parameters())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("direction", ["unidirectional", "bidirectional"])
def test_many_layers_are_summed_as_few_are(mode: ForwardMode, direction: str) -> None:
    # From the fourth layer on each adds the same, so that a thousand need no list of weights.
    totals = [
        predict(
            parse_problem(
                [f"num_layers={n}", f"direction_mode={direction}", "input_size=3", "hidden_size=5"]
            ),
            mode,
        ).total
        for n in (3, 4, 5, 6, 1000)
    ]
    steps = [b - a for a, b in pairwise(totals)]
    assert steps[0] == steps[1] == steps[2]
    assert totals[4] == totals[0] + 997 * steps[0]


@given(
    axis=st.sampled_from(
        ["batch_size", "max_seq_length", "hidden_size", "num_layers", "input_size"]
    ),
    value=st.integers(1, 30),
    mode=st.sampled_from(MODES),
    both=st.booleans(),
)
def test_it_never_falls_and_is_never_below_its_floor(
    axis: str, value: int, mode: ForwardMode, both: bool
) -> None:
    direction = "direction_mode=" + ("bidirectional" if both else "unidirectional")
    less, more = (parse_problem([f"{axis}={v}", direction]) for v in (value, value + 1))
    assert predict(less, mode).total <= predict(more, mode).total
    assert at_least(less, mode) <= at_least(more, mode)
    assert 0 < at_least(less, mode) <= predict(less, mode).total


@pytest.mark.parametrize(
    ("words", "size"),
    [
        ("dropout_rate=0.5", 4 << 20),
        ("dropout_rate=0.5 dropout=null", 0),
        ("dropout_rate=0.0", 0),
        ("dropout=present", 0),
    ],
)
def test_only_what_drops_out_has_generators(words: str, size: int) -> None:
    assert footprint(words)["dropout_states"] == size


def test_buffers_are_as_large_as_the_padded_batch_and_packed_tensors_are_not() -> None:
    batch = "batch_size=2 seq_lengths=[9,1] max_seq_length=9 input_size=3 hidden_size=5 "
    unpacked = footprint(f"{batch} layout=seq_major_unpacked", "inference")
    packed = footprint(f"{batch} layout=seq_major_packed", "inference")
    assert unpacked["tensor"] - packed["tensor"] == 4 * (18 - 10) * (3 + 5)
    assert all(packed[p] == unpacked[p] for p in PARTS if p != "tensor")


def test_every_part_has_a_term_and_each_says_where_it_is_from() -> None:
    assert {t.part for t in TERMS} == set(PARTS)
    assert all(t.words and t.source and t.grade for t in TERMS)


@pytest.mark.parametrize("words", ["hidden_size=0", "batch_size=-1", "data_type=int8"])
def test_what_is_no_network_has_no_footprint(words: str) -> None:
    with pytest.raises(UsageError):
        footprint(words)
