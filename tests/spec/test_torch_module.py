"""Problems as PyTorch's modules: back to what they came from, and what it has no module for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.spec.problem import parse_problem
from pyharness.spec.torch_algo import AlgoQuestion
from pyharness.spec.torch_module import TorchModule, torch_module
from pyharness.spec.torch_text import torch_problem

SIZES = st.integers(1, 900)


def module(text: str, cuda: bool = True) -> TorchModule:
    made = torch_module(parse_problem(text.split()), cuda=cuda)
    assert isinstance(made, TorchModule), made
    return made


@given(
    st.sampled_from(["LSTM", "GRU", "RNN"]),
    st.fixed_dictionaries(
        {
            "input_size": SIZES,
            "hidden_size": SIZES,
            "num_layers": st.integers(1, 4),
            "bidirectional": st.booleans(),
        }
    ),
    st.sampled_from(["float32", "float64", "float16", "bfloat16"]),
    st.sampled_from(["tanh", "relu"]),
    st.data(),
)
def test_a_module_comes_back_from_the_problem_that_it_makes(
    name: str, arguments: dict[str, object], dtype: str, nonlinearity: str, data: st.DataObject
) -> None:
    if name == "RNN":
        arguments["nonlinearity"] = nonlinearity
    if name == "LSTM":
        arguments["proj_size"] = data.draw(st.integers(0, int(str(arguments["hidden_size"])) - 1))
    lengths = data.draw(
        st.none() | st.lists(st.integers(1, 60), min_size=1, max_size=9).map(sorted)
    )
    steps, batch = data.draw(st.integers(60, 70)), len(lengths) if lengths else 5
    written = ", ".join(f"{n}={v!r}" for n, v in arguments.items())
    text = f"{name}({written}, dtype=torch.{dtype})"
    words = torch_problem(text, f"{steps}x{batch}x{arguments['input_size']}", lengths).words
    made = module(" ".join(f"{n}={t}" for n, t in words.items()))
    assert made.name == name
    assert {n: v for n, v in made.arguments.items() if n in arguments} == arguments
    assert made.dtype == dtype
    assert made.notes == ()
    assert (made.arguments["bias"], made.arguments["dropout"]) == (True, 0.0)
    if lengths is None:
        assert (made.lengths, made.steps, made.batch_size) == (None, steps, 5)
    else:
        assert made.lengths == tuple(reversed(lengths))
        assert (made.steps, made.batch_size) == (max(lengths), batch)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("input_mode=skip_input", "no skip_input"),
        ("bias_mode=single_inp_bias", "both bias vectors or none, not single_inp_bias"),
        ("bias_mode=single_rec_bias", "not single_rec_bias"),
        ("clip_mode=minmax lclip=-1 rclip=1", "does not clip"),
        ("data_type=int8 math_prec=int8", "no data_type int8"),
        ("cell_mode=7", "no cell_mode 7"),
        ("direction_mode=-1", "no direction_mode -1"),
        ("layout=9", "no layout 9"),
        ("hidden_size=0", "refuses hidden_size=0"),
        ("batch_size=0", "refuses batch_size=0"),
        ("proj_size=over", "refuses proj_size=65"),
        ("proj_size=0", "refuses proj_size=0"),
        ("cell_mode=gru proj_size=half", "output of LSTM only"),
        ("vector_size=7", "width is not input_size"),
        ("strides=transposed", "states are contiguous"),
        ("data_type=half math_prec=half", "computes half with math_prec=float, not half"),
        ("data_type=double", "computes double with math_prec=double, not float"),
        ("seq_lengths=descending", "packed only"),
        ("seq_lengths=one_zero", "packed only"),
        ("layout=seq_major_packed seq_lengths=one_zero", "refuses lengths below 1"),
        ("layout=seq_major_packed seq_lengths=unsorted", "sorted, longest first"),
        ("seq_lengths=over_max", "none of a batch"),
        ("seq_lengths=negative", "none of a batch"),
        ("seq_lengths=[4,4] batch_size=3", "none of a batch"),
    ],
)
@pytest.mark.parametrize("cuda", [True, False])
def test_what_pytorch_cannot_express_is_named(text: str, words: str, cuda: bool) -> None:
    why = torch_module(parse_problem(text.split()), cuda=cuda)
    assert isinstance(why, str)
    assert words in why


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("math_type=tensor_op_math_allow_conversion", "convert float to half"),
        ("data_type=half math_type=fma_math", "tensor cores for half"),
        ("math_type=8", "no math_type 8"),
    ],
)
def test_math_types_matter_on_a_gpu_alone(text: str, words: str) -> None:
    problem = parse_problem(text.split())
    why = torch_module(problem, cuda=True)
    assert isinstance(why, str)
    assert words in why
    assert isinstance(torch_module(problem, cuda=False), TorchModule)


@pytest.mark.parametrize(
    ("math_type", "tf32"), [("default_math", True), ("tensor_op_math", True), ("fma_math", False)]
)
def test_tf32_follows_the_math_type(math_type: str, tf32: bool) -> None:
    assert module(f"math_type={math_type}").tf32 is tf32


def test_dropout_acts_between_layers() -> None:
    assert module("num_layers=2 dropout_rate=0.5").arguments["dropout"] == 0.5
    assert module("num_layers=2 dropout_rate=0.5 dropout=null").arguments["dropout"] == 0.0
    one = module("dropout_rate=0.5")
    assert one.arguments["dropout"] == 0.0
    assert "with one layer there is none" in one.notes[0]


def test_what_pytorch_does_otherwise_is_noted() -> None:
    text = "bias_mode=no_bias layout=batch_major_unpacked math_type=tensor_op_math"
    made = module(text)
    assert (made.arguments["bias"], made.arguments["batch_first"]) == (False, True)
    told = " ".join(made.notes)
    assert "double_bias with biases of 0" in told
    assert "copies x into seq_major_unpacked" in told
    assert "math_type=default_math, not tensor_op_math" in told
    assert module(text, cuda=False).notes == ()


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (
            "cell_mode=rnn_relu data_type=half input_size=3 hidden_size=4 batch_size=6",
            AlgoQuestion("rnn_relu", "half", 3, 4, 1, False, False, False, 6, 16),
        ),
        (
            "proj_size=half num_layers=2 direction_mode=bidirectional max_seq_length=9 "
            "layout=seq_major_packed seq_lengths=[7,2]",
            AlgoQuestion("lstm", "float", 64, 64, 2, True, True, True, 2, 7),
        ),
        (
            "cell_mode=gru data_type=bfloat16 max_seq_length=9 seq_lengths=[9,9]",
            AlgoQuestion("gru", "bfloat16", 64, 64, 1, False, False, False, 2, 9),
        ),
    ],
)
def test_what_the_choice_of_an_algo_depends_on(text: str, question: AlgoQuestion) -> None:
    assert module(text).algo_question == question


def test_a_width_that_is_input_size_is_none_of_its_own() -> None:
    assert module("vector_size=64").arguments == module("").arguments


def test_no_clipping_is_none() -> None:
    assert module("clip_mode=none lclip=-1").name == "LSTM"


def test_states_that_are_not_given() -> None:
    assert module("").initial_states
    assert not module("initial_states=null").initial_states
