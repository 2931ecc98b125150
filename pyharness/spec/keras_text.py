"""Keras' recurrent layers as the problem that Keras on TensorFlow hands to cuDNN."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from pyharness.errors import UsageError, unknown_name
from pyharness.spec.call_text import (
    FrameworkProblem,
    Parameter,
    WrittenCall,
    bind,
    read_call,
    read_shape,
)

_EXAMPLE = "LSTM(64, return_sequences=True)"
_UNITS = Parameter("units", "size")
_ACTIVATION = Parameter("activation", "word", "tanh")
_RECURRENT = Parameter("recurrent_activation", "word", "sigmoid")
_USE_BIAS = Parameter("use_bias", "truth", True)
_DROPOUTS = (Parameter("dropout", "real", 0.0), Parameter("recurrent_dropout", "real", 0.0))
_UNROLL = Parameter("unroll", "truth", False)
_USE_CUDNN = Parameter("use_cudnn", "ignored", "auto")


def _ignored(*names: str) -> tuple[Parameter, ...]:
    """Parameters that cuDNN never sees."""
    return tuple(Parameter(name, "ignored", None) for name in names)


_INITIAL = _ignored("kernel_initializer", "recurrent_initializer", "bias_initializer")
_FORGET = _ignored("unit_forget_bias")
_REGULAR = _ignored(
    "kernel_regularizer",
    "recurrent_regularizer",
    "bias_regularizer",
    "activity_regularizer",
    "kernel_constraint",
    "recurrent_constraint",
    "bias_constraint",
)
_SEED = _ignored("seed")
_RETURNS = (
    *_ignored("return_sequences", "return_state"),
    Parameter("go_backwards", "truth", False),
    Parameter("stateful", "truth", False),
)
# In the order of Keras 3; what only Keras 2 has is taken by name.
_CLASSES: dict[str, tuple[Parameter, ...]] = {
    "LSTM": (_UNITS, _ACTIVATION, _RECURRENT, _USE_BIAS, *_INITIAL, *_FORGET, *_REGULAR, *_DROPOUTS,
             *_SEED, *_RETURNS, _UNROLL, _USE_CUDNN),
    "GRU": (_UNITS, _ACTIVATION, _RECURRENT, _USE_BIAS, *_INITIAL, *_REGULAR, *_DROPOUTS, *_SEED,
            *_RETURNS, _UNROLL, Parameter("reset_after", "truth", True), _USE_CUDNN),
    "SimpleRNN": (_UNITS, _ACTIVATION, _USE_BIAS, *_INITIAL, *_REGULAR, *_DROPOUTS, *_RETURNS,
                  _UNROLL, *_SEED),
    "CuDNNLSTM": (_UNITS, *_INITIAL, *_FORGET, *_REGULAR, *_RETURNS),
    "CuDNNGRU": (_UNITS, *_INITIAL, *_REGULAR, *_RETURNS),
}  # fmt: skip
_BY_NAME = (
    Parameter("dtype", "word", None),
    Parameter("time_major", "truth", False),
    *_ignored(
        "implementation",
        "zero_output_for_mask",
        "name",
        "trainable",
        "autocast",
        "dynamic",
        "weights",
        "input_shape",
        "batch_input_shape",
        "input_dim",
        "input_length",
        "batch_size",
    ),
)
_BIDIRECTIONAL = _ignored("layer", "merge_mode", "weights", "backward_layer")
_MASK = "a mask belongs to the call, not to the layer: give it beside this text (--mask, --lengths)"
_ELSEWHERE = {
    "mask": _MASK,
    "mask_zero": f"it belongs to Embedding; {_MASK}",
    "reset_after": "only GRU has it",
    "recurrent_activation": "only LSTM and GRU have it",
    "activation": "the CuDNN layers have no choice: it is tanh",
    "use_bias": "the CuDNN layers have no choice: they have biases",
    "recurrent_dropout": "the CuDNN layers have none",
    "unroll": "the CuDNN layers cannot be unrolled",
    "num_layers": "a Keras layer is one layer: stack layers instead",
    "input_size": "the features of the input (--input) say it",
    "hidden_size": "it is called units in Keras",
    "bidirectional": "wrap the layer: Bidirectional(LSTM(…))",
    "batch_first": "Keras is batch first; Keras 2 has time_major",
}
_TYPES: dict[str | None, str] = {
    None: "float",
    "float32": "float",
    "float16": "half",
    "half": "half",
    "mixed_float16": "half",
    "bfloat16": "bfloat16",
    "mixed_bfloat16": "bfloat16",
    "float64": "double",
    "double": "double",
}


def keras_problem(
    text: str, input_text: str | None = None, lengths: Sequence[int] | None = None
) -> FrameworkProblem:
    """What Keras would ask of cuDNN for a layer, an input and, if it is masked, its lengths.

    ``text``        such as ``Bidirectional(LSTM(64))``; parsed, never evaluated.
    ``input_text``  batch x time x features (time first with time_major).
    ``lengths``     what a mask amounts to; None without a mask.

    Raises  UsageError for what Keras would refuse to build, or what cannot be read.
    Source  keras/src/layers/rnn, keras/src/backend/tensorflow/rnn.py, and of TensorFlow
            core/kernels/cudnn_rnn_ops.cc and cuda_dnn.cc of its stream executor.
    """
    notes: list[str] = []
    call, known = read_call(text, _EXAMPLE), [*_CLASSES, "Bidirectional"]
    if call.name == "Bidirectional":
        call, known = _wrapped(call), [*_CLASSES]
        notes.append(
            "Bidirectional: Keras makes two unidirectional calls, the second with the input turned "
            "round, so direction_mode=unidirectional"
        )
    name = call.name
    if name in ("Sequential", "Model", "Masking", "Embedding", "RNN"):
        raise UsageError(
            f"{name} is no recurrent layer of its own",
            f"give the layer alone, {_EXAMPLE}; what Masking or mask_zero marks goes to --mask",
        )
    if name not in _CLASSES:
        raise unknown_name("Keras layer", name, known)
    args = bind(call, _CLASSES[name], _BY_NAME, _ELSEWHERE)
    if args["units"] < 1:
        raise UsageError(f"Keras refuses units={args['units']}", "allowed: 1 or more")
    if args["dtype"] not in _TYPES:
        raise unknown_name("dtype", str(args["dtype"]), [t for t in _TYPES if t])
    reasons = _why_not(name, args, call)
    words = _network(name, args, notes)
    _batch(words, name, args, input_text, lengths, notes)
    if reasons:
        notes.insert(
            0,
            f"Keras does not use cuDNN for this layer: {'; '.join(reasons)}. What follows is the "
            "cuDNN problem nearest to it",
        )
    return FrameworkProblem(words, tuple(notes), not reasons)


def _wrapped(call: WrittenCall) -> WrittenCall:
    """The layer inside a Bidirectional(…)."""
    bind(call, _BIDIRECTIONAL, _BY_NAME)
    layers = [*call.node.args[:1], *(k.value for k in call.node.keywords if k.arg == "layer")]
    layer = call.inner(layers[0]) if layers else None
    if layer is None:
        raise UsageError(
            "Bidirectional has no layer written out", "for example Bidirectional(LSTM(64))"
        )
    return layer


def _why_not(name: str, args: dict[str, Any], call: WrittenCall) -> list[str]:
    """Every argument for which Keras takes its own loop in place of cuDNN; none if it calls cuDNN.

    Source  the conditions in keras/src/backend/tensorflow/rnn.py, Keras 2 has the same.
    """
    if name.startswith("CuDNN"):
        return []
    if name == "SimpleRNN":
        return ["SimpleRNN never does, LSTM and GRU do"]
    reasons = []
    for argument, wanted in (("activation", "tanh"), ("recurrent_activation", "sigmoid")):
        if args[argument] != wanted:
            reasons.append(f"{argument}={args[argument]} is not {wanted}")
    if args["recurrent_dropout"]:
        reasons.append(f"recurrent_dropout={args['recurrent_dropout']:g} is not 0")
    if args["unroll"]:
        reasons.append("unroll=True")
    if not args["use_bias"]:
        reasons.append("use_bias=False")
    if name == "GRU" and not args["reset_after"]:
        reasons.append("reset_after=False is another formula than cuDNN's")
    given = {k.arg: k.value for k in call.node.keywords}.get("use_cudnn")
    if isinstance(given, ast.Constant) and given.value is False:
        reasons.append("use_cudnn=False")
    return reasons


def _network(name: str, args: dict[str, Any], notes: list[str]) -> dict[str, str]:
    """The keys of the RNN descriptor."""
    data_type = _TYPES[args["dtype"]]
    if data_type == "bfloat16":
        data_type = "float"
        notes.append("TensorFlow describes bfloat16 to cuDNN as float: data_type=float")
    cell = name.removeprefix("CuDNN").lower()
    if name == "SimpleRNN":
        cell = "rnn_relu" if args["activation"] == "relu" else "rnn_tanh"
        if args["activation"] not in ("relu", "tanh"):
            notes.append(f"cuDNN has no cell with activation={args['activation']}: tanh is taken")
    words = {
        "algo": "standard",
        "cell_mode": cell,
        "bias_mode": "double_bias" if args.get("use_bias", True) else "no_bias",
        "direction_mode": "unidirectional",
        "input_mode": "linear_input",
        "data_type": data_type,
        "math_prec": "float" if data_type == "half" else data_type,
        "math_type": "fma_math" if data_type == "double" else "tensor_op_math",
        "hidden_size": str(args["units"]),
        "num_layers": "1",
        "dropout": "present",
    }
    if data_type == "half":
        notes.append("half is computed with math_prec=float, as TensorFlow does")
    if data_type == "float":
        notes.append(
            "math_type=tensor_op_math, as TensorFlow does while TensorFloat-32 is on; fma_math "
            "where it is off"
        )
    if args.get("dropout"):
        notes.append(
            f"dropout={args['dropout']:g}: Keras applies it to x itself, cuDNN is told of none"
        )
    if args["go_backwards"]:
        notes.append("go_backwards: Keras turns x round itself, cuDNN sees the same problem")
    if args["stateful"]:
        notes.append("stateful: Keras carries the states itself, cuDNN sees the same problem")
    return words


def _batch(
    words: dict[str, str],
    name: str,
    args: dict[str, Any],
    input_text: str | None,
    lengths: Sequence[int] | None,
    notes: list[str],
) -> None:
    """Adds the keys of the data descriptors, and input_size, which only the input says."""
    legacy, time_major = name.startswith("CuDNN"), args["time_major"]
    shape: dict[str, int] = {}
    if input_text is None:
        notes.append("no input is given: its features, steps and sequences have their defaults")
    else:
        first = ("time", "batch") if time_major else ("batch", "time")
        shape = read_shape(input_text, [(*first, "features")])
        words["input_size"] = str(shape["features"])
        words["max_seq_length"], words["batch_size"] = str(shape["time"]), str(shape["batch"])
    words["seq_lengths"] = "equal"
    if lengths is not None:
        _masked(words, legacy, shape, lengths, notes)
    padded = not (legacy or (time_major and _all_full(shape, lengths)))
    words["layout"] = "seq_major_unpacked" if time_major or legacy else "batch_major_unpacked"
    words["padding_fill"] = "null" if legacy else "given"
    words["aux_flags"] = "padded_io_enabled" if padded else "padded_io_disabled"
    if time_major:
        notes.append("time_major is an argument of Keras 2 only")
    if legacy:
        notes.append(
            f"{name} goes through functions of cuDNN that take no lengths, which newer releases of "
            "cuDNN no longer have; what follows is the same problem in those that remain"
        )


def _masked(
    words: dict[str, str],
    legacy: bool,
    shape: dict[str, int],
    lengths: Sequence[int],
    notes: list[str],
) -> None:
    """The keys of a masked batch.

    Raises  UsageError if the lengths are not those of the input.
    """
    if legacy:
        raise UsageError("the CuDNN layers of Keras refuse a mask", "take LSTM or GRU")
    if shape and shape["batch"] != len(lengths):
        raise UsageError(
            f"{len(lengths)} lengths are given and the input has a batch of {shape['batch']}",
            "give one length for each sequence of the batch",
        )
    words["seq_lengths"] = f"[{','.join(map(str, lengths))}]"
    words["batch_size"] = str(len(lengths))
    words.setdefault("max_seq_length", str(max(lengths)))
    if min(lengths) < 1:
        notes.append(
            "a row is masked whole: Keras 3 raises an error of its own before cuDNN, older ones "
            "take a loop of their own or hand the length 0 over"
        )


def _all_full(shape: dict[str, int], lengths: Sequence[int] | None) -> bool:
    """Whether every sequence has all steps of the batch."""
    return lengths is None or set(lengths) == {shape.get("time", max(lengths))}
