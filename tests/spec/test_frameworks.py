"""Texts of frameworks: what PyTorch 2.13 and Keras 3.15 make of them, and what is said of the rest.

The expected values were taken from the modules and layers themselves, and from their sources.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.errors import UsageError
from pyharness.spec.frameworks import FrameworkProblem, keras_problem, torch_problem
from pyharness.spec.problem import Problem, parse_problem


def read(problem: FrameworkProblem) -> Problem:
    """The problem that the words describe: every one of them is a key's own spelling."""
    parsed = parse_problem([f"{name}={text}" for name, text in problem.words.items()])
    assert dict(parsed.given) == problem.words
    return parsed


def said(problem: FrameworkProblem) -> str:
    return " | ".join(problem.notes)


TORCH = {
    "cell_mode": "lstm",
    "bias_mode": "double_bias",
    "direction_mode": "unidirectional",
    "input_mode": "linear_input",
    "data_type": "float",
    "math_prec": "float",
    "math_type": "default_math",
    "proj_size": "same",
    "num_layers": "1",
    "dropout": "present",
    "nb_dims": "5",
    "layout": "seq_major_unpacked",
    "seq_lengths": "equal",
    "aux_flags": "padded_io_enabled",
    "algo": "standard",
}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "LSTM(256, 512, num_layers=2, proj_size=64)",
            {"input_size": "256", "hidden_size": "512", "num_layers": "2", "proj_size": "64"},
        ),
        (
            "self.r = torch.nn.LSTM(1, 2000, 3, True, False, 0.5, True, 1, 'cuda', torch.float64)",
            {
                "input_size": "1",
                "hidden_size": "2000",
                "num_layers": "3",
                "direction_mode": "bidirectional",
                "proj_size": "1",
                "data_type": "double",
                "math_prec": "double",
            },
        ),
        (
            "nn.GRU(1, 200, 3, False, True, 0.25, True)",
            {
                "cell_mode": "gru",
                "input_size": "1",
                "hidden_size": "200",
                "num_layers": "3",
                "direction_mode": "bidirectional",
            },
        ),
        (
            "nn.RNN(10, 400, 2, 'relu', False, True, 0.1, True, dtype=torch.half)",
            {
                "cell_mode": "rnn_relu",
                "input_size": "10",
                "hidden_size": "400",
                "num_layers": "2",
                "direction_mode": "bidirectional",
                "data_type": "half",
                "math_type": "tensor_op_math",
            },
        ),
        (
            "RNN(hidden_size=400, input_size=+3, dtype=torch.bfloat16)",
            {
                "cell_mode": "rnn_tanh",
                "input_size": "3",
                "hidden_size": "400",
                "data_type": "bfloat16",
            },
        ),
    ],
)
def test_a_module_is_handed_to_cudnn_as_pytorch_does(text: str, words: dict[str, str]) -> None:
    problem = torch_problem(text)
    assert problem.words == {**TORCH, **words}
    assert problem.calls_cudnn
    read(problem)


@pytest.mark.parametrize(
    ("text", "algo"),
    [
        ("LSTM(8, 192)", "persist_static_small_h"),
        ("LSTM(8, 193)", "standard"),
        ("GRU(8, 192)", "persist_static_small_h"),
        ("GRU(8, 193)", "standard"),
        ("RNN(8, 384, nonlinearity='relu')", "persist_static_small_h"),
        ("RNN(8, 385, nonlinearity='relu')", "standard"),
        ("RNN(8, 384)", "persist_static_small_h"),
        ("RNN(8, 385)", "standard"),
        ("LSTM(8, 64, proj_size=8)", "standard"),
        ("LSTM(8, 64, dtype=torch.double)", "standard"),
    ],
)
def test_small_networks_get_their_own_algorithm(text: str, algo: str) -> None:
    assert torch_problem(text).words["algo"] == algo
    assert torch_problem(text, lengths=[3, 2]).words["algo"] == "standard"


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("LSTM(8, {})", 128),
        ("GRU(8, {})", 128),
        ("RNN(8, {})", 256),
        ("RNN(8, {}, nonlinearity='relu')", 256),
    ],
)
def test_where_backwards_takes_another_algorithm(text: str, most: int) -> None:
    note = f"backwards PyTorch takes algo=standard: hidden_size is above {most} there"
    assert note in torch_problem(text.format(most + 1)).notes
    assert "backwards" not in said(torch_problem(text.format(most)))


def test_where_pytorch_asks_the_gpu_for_the_algorithm() -> None:
    assert "algo=persist_static here" in said(torch_problem("LSTM(256, 512, dtype=torch.half)"))
    assert "algo=persist_static here" in said(torch_problem("LSTM(256, 1024, dtype=torch.half)"))
    assert "persist_static" not in said(torch_problem("LSTM(256, 1152, dtype=torch.half)"))
    assert "persist_static" not in said(torch_problem("LSTM(256, 512, 2, dtype=torch.half)"))
    assert "persist_static" not in said(torch_problem("LSTM(250, 512, dtype=torch.half)"))
    assert "persist_static" not in said(torch_problem("LSTM(256, 512)"))


@pytest.mark.parametrize(
    ("text", "shape", "batch", "steps"),
    [
        ("LSTM(256, 512)", "120x64x256", "64", "120"),
        ("LSTM(256, 512, batch_first=True)", "64x120x256", "64", "120"),
        ("LSTM(256, 512)", "(120, 64, 256)", "64", "120"),
        ("LSTM(256, 512)", " [120 X 64*256,] ", "64", "120"),
        ("LSTM(256, 512)", "120x256", "1", "120"),
        ("LSTM(256, 512, batch_first=True)", "120x256", "1", "120"),
        ("LSTM(256, 512)", "0x64x256", "64", "0"),
        ("LSTM(256, 512)", "120x0x256", "0", "120"),
    ],
)
def test_an_input_of_pytorch(text: str, shape: str, batch: str, steps: str) -> None:
    problem = torch_problem(text, shape)
    assert (problem.words["batch_size"], problem.words["max_seq_length"]) == (batch, steps)
    assert "vector_size" not in problem.words
    assert problem.words["layout"] == "seq_major_unpacked"
    assert ("one sequence, batch_size=1" in said(problem)) is (shape.count("x") == 1)
    assert ("an input of 0 steps" in said(problem)) is (steps == "0")
    read(problem)


def test_an_input_of_another_width_shows_in_the_problem() -> None:
    problem = torch_problem("LSTM(256, 512)", "120x64x250")
    assert (problem.words["vector_size"], problem.words["input_size"]) == ("250", "256")
    assert "250 features and input_size is 256" in said(problem)


def test_without_an_input_that_is_said() -> None:
    problem = torch_problem("LSTM(256, 512)")
    assert "no input is given" in said(problem)
    assert not {"batch_size", "max_seq_length"} & set(problem.words)


def test_a_packed_sequence() -> None:
    problem = torch_problem("GRU(8, 16)", "9x3x8", lengths=[2, 7, 4])
    assert problem.words == {
        **TORCH,
        "cell_mode": "gru",
        "input_size": "8",
        "hidden_size": "16",
        "layout": "seq_major_packed",
        "seq_lengths": "[7,4,2]",
        "max_seq_length": "7",
        "batch_size": "3",
        "aux_flags": "padded_io_disabled",
    }
    assert "enforce_sorted=False" in said(problem)
    read(problem)
    assert "enforce_sorted" not in said(torch_problem("GRU(8, 16)", lengths=[7, 4]))
    assert "refuses lengths below 1" in said(torch_problem("GRU(8, 16)", lengths=[7, 0]))
    with pytest.raises(UsageError, match="2 lengths are given and the input has a batch of 3"):
        torch_problem("GRU(8, 16)", "9x3x8", lengths=[2, 7])
    with pytest.raises(UsageError, match="longest length is 10 and the input has 9 steps"):
        torch_problem("GRU(8, 16)", "9x2x8", lengths=[2, 10])


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("LSTM(8, 8, bias=False)", "double_bias with biases of 0"),
        ("LSTM(8, 8, dropout=0.2)", "dropout=0.2 has no effect with one layer"),
        ("LSTM(8, 8, 2, dropout=.2)", "dropout=0.2 acts in training only"),
        ("LSTM(8, 8, batch_first=True)", "transposes the input"),
        ("LSTM(8, 8, dtype=torch.float16)", "half is computed with math_prec=float"),
        ("LSTM(8, 8, dtype=torch.bfloat16)", "bfloat16 is computed with math_prec=float"),
        ("LSTM(8, 8)", "fma_math where it is off"),
        ("LSTM(8, 8)", "5 dimensions"),
    ],
)
def test_what_pytorch_does_by_itself_is_said(text: str, note: str) -> None:
    assert note in said(torch_problem(text))


KERAS = {
    "algo": "standard",
    "cell_mode": "lstm",
    "bias_mode": "double_bias",
    "direction_mode": "unidirectional",
    "input_mode": "linear_input",
    "data_type": "float",
    "math_prec": "float",
    "math_type": "tensor_op_math",
    "num_layers": "1",
    "dropout": "present",
    "seq_lengths": "equal",
    "layout": "batch_major_unpacked",
    "padding_fill": "given",
    "aux_flags": "padded_io_enabled",
}


@pytest.mark.parametrize(
    ("text", "shape", "words"),
    [
        (
            "LSTM(64, return_sequences=True)",
            "32x10x8",
            {"hidden_size": "64", "input_size": "8", "max_seq_length": "10", "batch_size": "32"},
        ),
        ("LSTM(1)", None, {"hidden_size": "1"}),
        ("keras.layers.GRU(units=128)", None, {"hidden_size": "128", "cell_mode": "gru"}),
        (
            "tf.keras.layers.LSTM(4, dtype=tf.float64, kernel_regularizer=l2(0.01), name='a')",
            None,
            {
                "hidden_size": "4",
                "data_type": "double",
                "math_prec": "double",
                "math_type": "fma_math",
            },
        ),
        (
            "LSTM(4, dtype=keras.mixed_precision.Policy('mixed_float16'))",
            None,
            {"hidden_size": "4", "data_type": "half"},
        ),
        ("LSTM(4, dtype='bfloat16')", None, {"hidden_size": "4"}),
        ("Bidirectional(LSTM(64), merge_mode='sum')", None, {"hidden_size": "64"}),
        ("Bidirectional(layer=layers.GRU(6))", None, {"hidden_size": "6", "cell_mode": "gru"}),
        (
            "LSTM(64, time_major=True)",
            "10x32x8",
            {
                "hidden_size": "64",
                "input_size": "8",
                "max_seq_length": "10",
                "batch_size": "32",
                "layout": "seq_major_unpacked",
                "aux_flags": "padded_io_disabled",
            },
        ),
        (
            "CuDNNGRU(3)",
            "32x10x8",
            {
                "cell_mode": "gru",
                "hidden_size": "3",
                "input_size": "8",
                "max_seq_length": "10",
                "batch_size": "32",
                "layout": "seq_major_unpacked",
                "padding_fill": "null",
                "aux_flags": "padded_io_disabled",
            },
        ),
    ],
)
def test_a_layer_is_handed_to_cudnn_as_keras_does(
    text: str, shape: str | None, words: dict[str, str]
) -> None:
    problem = keras_problem(text, shape)
    assert problem.words == {**KERAS, **words}
    assert problem.calls_cudnn
    assert ("no input is given" in said(problem)) is (shape is None)
    read(problem)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("LSTM(4, 'relu')", "activation=relu is not tanh"),
        ("LSTM(4, activation=None)", "activation=None is not tanh"),
        ("LSTM(4, activation=tf.nn.relu)", "activation=relu is not tanh"),
        (
            "LSTM(4, recurrent_activation='hard_sigmoid')",
            "recurrent_activation=hard_sigmoid is not sigmoid",
        ),
        ("GRU(4, recurrent_dropout=0.1)", "recurrent_dropout=0.1 is not 0"),
        ("LSTM(4, unroll=True)", "unroll=True"),
        ("LSTM(4, use_bias=False)", "use_bias=False"),
        ("GRU(4, reset_after=False)", "reset_after=False is another formula"),
        ("LSTM(4, use_cudnn=False)", "use_cudnn=False"),
        ("SimpleRNN(4)", "SimpleRNN never does"),
        ("Bidirectional(LSTM(4, unroll=True))", "unroll=True"),
    ],
)
def test_what_keras_computes_without_cudnn_is_said(text: str, reason: str) -> None:
    problem = keras_problem(text)
    assert not problem.calls_cudnn
    assert problem.notes[0].startswith("Keras does not use cuDNN for this layer: ")
    assert reason in problem.notes[0]
    read(problem)


def test_several_reasons_are_all_said() -> None:
    problem = keras_problem("LSTM(4, 'relu', unroll=True, use_bias=False)")
    first = problem.notes[0]
    assert all(r in first for r in ("activation=relu", "unroll=True", "use_bias=False"))
    assert problem.words["bias_mode"] == "no_bias"


@pytest.mark.parametrize(
    "text",
    [
        "LSTM(4, activation=keras.activations.tanh, recurrent_activation=tf.sigmoid)",
        "LSTM(4, dropout=0.5, recurrent_dropout=0.0, unroll=False)",
        "GRU(4, use_cudnn=True, reset_after=True, go_backwards=True, stateful=True)",
        "GRU(4, use_cudnn='auto', implementation=1)",
        "CuDNNLSTM(4)",
    ],
)
def test_what_keras_computes_with_cudnn(text: str) -> None:
    assert keras_problem(text).calls_cudnn


@pytest.mark.parametrize(
    ("activation", "cell", "noted"),
    [("'relu'", "rnn_relu", False), ("'tanh'", "rnn_tanh", False), ("'elu'", "rnn_tanh", True)],
)
def test_the_plain_cell_of_keras(activation: str, cell: str, noted: bool) -> None:
    problem = keras_problem(f"SimpleRNN(4, {activation})")
    assert problem.words["cell_mode"] == cell
    assert ("cuDNN has no cell with activation=elu" in said(problem)) is noted


def test_a_masked_batch_of_keras() -> None:
    problem = keras_problem("LSTM(4)", "3x10x8", lengths=(3, 9, 1))
    assert problem.words["seq_lengths"] == "[3,9,1]"
    assert problem.words["max_seq_length"] == "10"
    assert "masked whole" not in said(problem)
    read(problem)
    assert "masked whole" in said(keras_problem("LSTM(4)", lengths=(3, 0)))
    assert keras_problem("LSTM(4)", lengths=(3, 5)).words["max_seq_length"] == "5"
    flags = [
        keras_problem("LSTM(4, time_major=True)", "5x2x8", lengths).words["aux_flags"]
        for lengths in ((5, 5), (5, 4))
    ]
    assert flags == ["padded_io_disabled", "padded_io_enabled"]
    with pytest.raises(UsageError, match="2 lengths are given and the input has a batch of 3"):
        keras_problem("LSTM(4)", "3x10x8", lengths=(3, 9))
    with pytest.raises(UsageError, match="refuse a mask"):
        keras_problem("CuDNNLSTM(4)", lengths=(3, 9))


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("LSTM(4, dropout=0.5)", "dropout=0.5: Keras applies it to x itself"),
        ("LSTM(4, go_backwards=True)", "turns x round itself"),
        ("LSTM(4, stateful=True)", "carries the states itself"),
        ("LSTM(4, time_major=True)", "Keras 2 only"),
        ("LSTM(4, dtype='bfloat16')", "bfloat16 to cuDNN as float"),
        ("LSTM(4, dtype='float16')", "half is computed with math_prec=float"),
        ("Bidirectional(LSTM(4))", "two unidirectional calls"),
        ("CuDNNLSTM(4)", "take no lengths"),
    ],
)
def test_what_keras_does_by_itself_is_said(text: str, note: str) -> None:
    assert note in said(keras_problem(text))
    assert note not in said(keras_problem("LSTM(4)", "32x10x8"))


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("LSMT(8, 8)", "unknown PyTorch module 'LSMT'", "did you mean LSTM"),
        ("LSTMCell(8, 8)", "LSTMCell takes one step at a time", "known: LSTM, GRU, RNN"),
        ("LSTM(8, 8, hiden_size=3)", "unknown argument of LSTM 'hiden_size'", "mean hidden_size"),
        ("GRU(8, 8, proj_size=2)", "GRU has no argument 'proj_size'", "only LSTM projects"),
        ("LSTM(8, 8, nonlinearity='relu')", "LSTM has no argument 'nonlinearity'", "only RNN"),
        ("LSTM(8)", "LSTM is not given hidden_size", "input_size, hidden_size, num_layers"),
        ("LSTM()", "LSTM is not given input_size and hidden_size", "its arguments"),
        ("LSTM(8, 8, hidden_size=9)", "LSTM is given hidden_size twice", "once"),
        ("GRU(8, 8, 1, True, False, 0., False, 0)", "8 arguments without a name", "allowed: 7"),
        ("LSTM(8, H)", "hidden_size=H has to be computed", "write the number itself"),
        ("LSTM(8, 4 * 64)", "hidden_size=4 * 64 has to be computed", "write the number itself"),
        ("LSTM(8, int('8'))", "has to be computed", "write the number itself"),
        ("LSTM(8, f'{8}')", "has to be computed", "write the number itself"),
        ("LSTM(8, 8, dtype=f'{8}')", "has to be computed", "write the word itself"),
        ("LSTM(8, 8, bias=not 1)", "has to be computed", "write the truth (True or False) itself"),
        ("LSTM(*sizes)", "*sizes stands for arguments", "name=value"),
        ("LSTM(8, 8, **more)", "LSTM is given **more", "name=value"),
        ("LSTM(8, 8.0)", "hidden_size=8.0 is not what it may be", "a whole number"),
        ("LSTM(8, True)", "hidden_size=True is not what it may be", "a whole number"),
        ("LSTM(8, '8')", "hidden_size='8' is not what it may be", "a whole number"),
        ("LSTM(8, 8, bias=1)", "bias=1 is not what it may be", "True or False"),
        ("LSTM(8, 8, dropout=True)", "dropout=True is not what it may be", "a number"),
        ("LSTM(8, 8, dropout=1.5)", "PyTorch refuses dropout=1.5", "0 to 1"),
        ("LSTM(8, 8, dropout=-.1)", "PyTorch refuses dropout=-0.1", "0 to 1"),
        ("LSTM(-8, 8)", "PyTorch refuses input_size=-8", "1 or more"),
        ("LSTM(8, 0)", "PyTorch refuses hidden_size=0", "1 or more"),
        ("LSTM(8, 8, 0)", "PyTorch refuses num_layers=0", "1 or more"),
        ("LSTM(8, 8, proj_size=8)", "proj_size=8 with hidden_size=8", "0 (no projection) to 7"),
        ("LSTM(8, 8, proj_size=-1)", "PyTorch refuses proj_size=-1", "0 (no projection) to 7"),
        ("LSTM(8, 8, dtype=torch.int8)", "unknown dtype 'int8'", "floating point"),
        ("RNN(8, 8, nonlinearity='sigmoid')", "unknown nonlinearity 'sigmoid'", "tanh"),
        ("LSTM(8, 2147483648)", "hidden_size: 2147483648 does not fit", "2147483647"),
        ("LSTM", "'LSTM' is no call", "LSTM(256, 512"),
        ("", "'' is no call", "LSTM(256, 512"),
        ("LSTM(8, 8", "cannot read", "LSTM(256, 512"),
        ("LSTM(8, 8); GRU(8, 8)", "is no call", "one call"),
        ("LSTM(8, 8).cuda()", "goes on after the call", "leave out what follows"),
        ("LSTM(8, 8)(x)", "goes on after the call", "leave out what follows"),
        ("LSTM(8, '\\d')", "is not what it may be", "a whole number"),
        ("a\0b", "cannot read", "one call"),
        ("(" * 9000, "cannot read", "one call"),
        ("x" * 20_000, "a text of 20,000 characters", "one call"),
        (f"LSTM(8, {'-' * 500}8)", "has to be computed", "write the number itself"),
        (f"LSTM(8, {'1+' * 900}1)", "has to be computed", "write the number itself"),
        ("__import__('os').system('false')", "goes on after the call", "one call"),
    ],
)
def test_what_is_no_module_is_refused(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        torch_problem(text)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("LSTN(8)", "unknown Keras layer 'LSTN'", "did you mean LSTM"),
        ("Dense(8)", "unknown Keras layer 'Dense'", "Bidirectional"),
        ("LSTM()", "LSTM is not given units", "units, activation"),
        ("LSTM(0)", "Keras refuses units=0", "1 or more"),
        ("LSTM(-3)", "Keras refuses units=-3", "1 or more"),
        ("LSTM(64.0)", "units=64.0 is not what it may be", "a whole number"),
        ("LSTM(units)", "units=units has to be computed", "write the number itself"),
        ("LSTM(4, mask=m)", "LSTM has no argument 'mask'", "--mask"),
        ("LSTM(4, reset_after=True)", "LSTM has no argument 'reset_after'", "only GRU"),
        ("SimpleRNN(4, recurrent_activation='tanh')", "SimpleRNN has no argument", "LSTM and GRU"),
        ("CuDNNLSTM(4, activation='relu')", "CuDNNLSTM has no argument 'activation'", "tanh"),
        ("LSTM(4, num_layers=2)", "LSTM has no argument 'num_layers'", "stack layers"),
        ("LSTM(4, use_bais=True)", "unknown argument of LSTM 'use_bais'", "did you mean use_bias"),
        ("LSTM(4, unroll=1)", "unroll=1 is not what it may be", "True or False"),
        ("LSTM(4, dtype='float8')", "unknown dtype 'float8'", "float16"),
        ("Bidirectional(layer)", "Bidirectional has no layer written out", "Bidirectional(LSTM("),
        ("Bidirectional()", "Bidirectional has no layer written out", "Bidirectional(LSTM("),
        ("Bidirectional(LSTM(4), mode=1)", "unknown argument of Bidirectional", "merge_mode"),
        ("Bidirectional(Dense(4))", "unknown Keras layer 'Dense'", "LSTM"),
        ("Bidirectional(Bidirectional(LSTM(4)))", "unknown Keras layer 'Bidi", "LSTM, SimpleRNN"),
    ],
)
def test_what_is_no_layer_is_refused(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        keras_problem(text)
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("shape", "message", "hint"),
    [
        ("120", "has 1 axes", "time x batch x features or time x features"),
        ("1x2x3x4", "has 4 axes", "allowed"),
        ("120x-64x256", "is no shape", "120x64x256"),
        ("120x64x", "is no shape", "120x64x256"),
        ("", "is no shape", "120x64x256"),
        ("TxBx8", "is no shape", "120x64x256"),
        ("1.5x2x8", "is no shape", "120x64x256"),
        ("(1,2,8", "is no shape", "120x64x256"),
        ("1x2x2147483648", "does not fit", "2147483647"),
        ("1x2x" + "9" * 5000, "a size that no tensor has", "2147483647"),
    ],
)
def test_what_is_no_shape_is_refused(shape: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        torch_problem("LSTM(8, 8)", shape)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_keras_takes_three_axes_only() -> None:
    with pytest.raises(UsageError) as caught:
        keras_problem("LSTM(8)", "120x64")
    assert caught.value.hint == "allowed: batch x time x features"
    with pytest.raises(UsageError) as caught:
        keras_problem("LSTM(8, time_major=True)", "120x64")
    assert caught.value.hint == "allowed: time x batch x features"


@pytest.mark.parametrize("read_text", [torch_problem, keras_problem])
@given(text=st.text(max_size=40) | st.from_regex(r"(LSTM|GRU|RNN)\([-\w ,=.'*()\[\]]{0,30}\)"))
def test_any_text_is_a_problem_or_an_error_in_words(
    read_text: Callable[..., FrameworkProblem], text: Any
) -> None:
    try:
        problem = read_text(text, "4x3x8")
    except UsageError:
        return
    read(problem)
