"""What follows from a problem's sizes: against torch's parameters, and by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyharness.errors import UsageError
from pyharness.spec.geometry import Geometry, Weight, geometry
from pyharness.spec.problem import parse_problem


def of(text: str) -> Geometry:
    return geometry(parse_problem(text.split()))


@st.composite
def networks(draw: st.DrawFn) -> dict[str, Any]:
    """A network that torch has too, as words for both."""
    cell = draw(st.sampled_from(["rnn_relu", "rnn_tanh", "lstm", "gru"]))
    hidden = draw(st.integers(2, 9))
    proj = draw(st.sampled_from([None, hidden - 1])) if cell == "lstm" else None
    return {
        "cell_mode": cell,
        "input_size": draw(st.integers(1, 9)),
        "hidden_size": hidden,
        **({} if proj is None else {"proj_size": proj}),
        "num_layers": draw(st.integers(1, 3)),
        "direction_mode": draw(st.sampled_from(["unidirectional", "bidirectional"])),
        "bias_mode": draw(st.sampled_from(["no_bias", "double_bias"])),
    }


def torch_network(words: dict[str, Any]) -> Any:
    """The same network in torch."""
    torch = pytest.importorskip("torch")
    cell = words["cell_mode"]
    kind = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}.get(cell, torch.nn.RNN)
    extra = {"nonlinearity": cell[4:]} if kind is torch.nn.RNN else {}
    if "proj_size" in words:
        extra["proj_size"] = words["proj_size"]
    return kind(
        words["input_size"],
        words["hidden_size"],
        words["num_layers"],
        bias=words["bias_mode"] == "double_bias",
        bidirectional=words["direction_mode"] == "bidirectional",
        dtype=torch.float64,
        **extra,
    )


@given(networks())
@settings(max_examples=60)
def test_weights_are_those_of_torch(words: dict[str, Any]) -> None:
    """Each of torch's tensors holds all gates of one source: the same elements, side by side."""
    g = of(" ".join(f"{n}={v}" for n, v in words.items()))
    sizes: dict[tuple[int, str], int] = {}
    for weight in g.weights:
        *_, source, kind = weight.name.split(".")
        key = "proj" if source == "proj" else f"{source}.{kind}"
        place = (weight.pseudo_layer, key)
        sizes[place] = sizes.get(place, 0) + weight.count
    names = {"weight_ih": "x.matrix", "weight_hh": "h.matrix", "weight_hr": "proj",
             "bias_ih": "x.bias", "bias_hh": "h.bias"}  # fmt: skip
    expected = {}
    for name, parameter in torch_network(words).named_parameters():
        base, layer = name.removesuffix("_reverse").rsplit("_l", 1)
        pseudo = int(layer) * g.directions + name.endswith("_reverse")
        expected[pseudo, names[base]] = parameter.numel()
    assert sizes == expected
    assert g.matrix_count + g.bias_count == sum(expected.values())


def test_names_and_numbers_of_the_weights() -> None:
    g = of("cell_mode=lstm input_size=5 hidden_size=3 proj_size=2 bias_mode=single_rec_bias")
    assert g.weights == (
        *(Weight(f"l0.forward.{n}.x.matrix", 0, i, "matrix", 3, 5)
          for i, n in enumerate(("input", "forget", "cell", "output"))),
        *(w for i, n in enumerate(("input", "forget", "cell", "output"), 4) for w in (
            Weight(f"l0.forward.{n}.h.matrix", 0, i, "matrix", 3, 2),
            Weight(f"l0.forward.{n}.h.bias", 0, i, "bias", 3, 1))),
        Weight("l0.forward.proj.matrix", 0, 8, "matrix", 2, 3),
    )  # fmt: skip
    deep = of("cell_mode=gru direction_mode=bidirectional num_layers=2 hidden_size=4 input_size=7")
    named = {w.name: w for w in deep.weights}
    assert named["l1.reverse.new.h.bias"] == Weight("l1.reverse.new.h.bias", 3, 5, "bias", 4, 1)
    assert named["l0.reverse.reset.x.matrix"].cols == 7
    assert named["l1.forward.update.x.matrix"].cols == 8, "both directions below"


def test_skip_input_leaves_the_first_matrices_out_and_their_biases_in() -> None:
    g = of("cell_mode=rnn_relu input_mode=skip_input input_size=3 hidden_size=3 num_layers=2")
    assert [w.name for w in g.weights] == [
        "l0.forward.hidden.x.bias", "l0.forward.hidden.h.matrix", "l0.forward.hidden.h.bias",
        "l1.forward.hidden.x.matrix", "l1.forward.hidden.x.bias", "l1.forward.hidden.h.matrix",
        "l1.forward.hidden.h.bias",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("bias", "count"),
    [("no_bias", 0), ("single_inp_bias", 9), ("double_bias", 18), ("single_rec_bias", 9)],
)
def test_biases(bias: str, count: int) -> None:
    assert of(f"cell_mode=gru hidden_size=3 bias_mode={bias}").bias_count == count


SIZES = (
    "cell_mode=lstm input_size=5 hidden_size=4 proj_size=3 num_layers=2 "
    "direction_mode=bidirectional seq_lengths=[7,2,1] max_seq_length=8"
)


@pytest.mark.parametrize(
    ("layout", "steps"),
    [("seq_major_unpacked", 24), ("batch_major_unpacked", 24), ("seq_major_packed", 10)],
)
@pytest.mark.parametrize(("data_type", "size"), [("half", 2), ("bfloat16", 2), ("double", 8)])
def test_bytes_of_tensors(layout: str, steps: int, data_type: str, size: int) -> None:
    """8 steps x 3 sequences are stored, or 7 + 2 + 1; states are 2 layers x 2 directions x 3."""
    g = of(f"{SIZES} layout={layout} data_type={data_type}")
    assert (g.steps, g.batch_size, g.stored_steps) == (10, 3, steps)
    # Matrices: layer 0 4 * 4 * (5 + 3), layer 1 4 * 4 * (6 + 3), projection 3 * 4, each twice;
    # biases 2 * 4 * 4 in each of four pseudo-layers.
    weights = 2 * (128 + 12) + 2 * (144 + 12) + 4 * 32
    counts = {"x": steps * 5, "y": steps * 6, "hx": 36, "hy": 36, "cx": 48, "cy": 48, "w": weights}
    expected = {name: count * size for name, count in counts.items()}
    expected |= {f"d{name}": count for name, count in expected.items()}
    assert g.tensor_bytes == expected


def test_only_an_lstm_has_a_cell_state() -> None:
    assert set(of("cell_mode=gru").tensor_bytes) == {
        "x", "y", "hx", "hy", "w", "dx", "dy", "dhx", "dhy", "dw"
    }  # fmt: skip


def test_patterns_of_lengths() -> None:
    assert of("batch_size=3 max_seq_length=5").lengths == (5, 5, 5)
    assert of("batch_size=4 max_seq_length=5 seq_lengths=trailing_zeros").steps == 10


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cell_mode=9", "cell_mode=9 is no enumerator"),
        ("direction_mode=2", "direction_mode=2 is no enumerator"),
        ("data_type=int8", "data_type=int8 is no type of RNN data"),
        ("hidden_size=0", "hidden_size=0 is no size"),
        ("max_seq_length=-1", "max_seq_length=-1 is no size"),
        ("proj_size=0", "proj_size=0 beside hidden_size=64"),
        ("proj_size=over", "proj_size=65 beside hidden_size=64"),
        ("proj_size=half cell_mode=gru", "proj_size=32 with cell_mode=gru"),
        ("input_mode=skip_input input_size=63", "skip_input adds x, 63 wide"),
        ("seq_lengths=over_max", "sequence 0 is 17 long, max_seq_length is 16"),
        ("seq_lengths=negative", "sequence 7 is -1 long"),
        ("seq_lengths=[3,2] batch_size=3", "a list of 2 entries, batch_size is 3"),
    ],
)
def test_what_cannot_be_computed_is_told(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        of(text)
    assert message in caught.value.message
    assert caught.value.hint
