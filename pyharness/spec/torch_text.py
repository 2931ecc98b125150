"""PyTorch's recurrent modules as the problem that PyTorch hands to cuDNN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyharness.errors import UsageError, unknown_name
from pyharness.spec.batches import list_text, sort_order
from pyharness.spec.call_text import (
    FrameworkProblem,
    Parameter,
    bind,
    read_call,
    read_shape,
)
from pyharness.spec.torch_algo import SMALL_H

_EXAMPLE = "LSTM(256, 512, num_layers=2, proj_size=64)"
_SIZES = (
    Parameter("input_size", "size"),
    Parameter("hidden_size", "size"),
    Parameter("num_layers", "size", 1),
)
_OTHERS = (
    Parameter("bias", "truth", True),
    Parameter("batch_first", "truth", False),
    Parameter("dropout", "real", 0.0),
    Parameter("bidirectional", "truth", False),
)
_FACTORY = (Parameter("device", "ignored", None), Parameter("dtype", "word", None))
_PROJ = Parameter("proj_size", "size", 0)
# In PyTorch's order. RNN and GRU take device and dtype by name alone: by place they are proj_size.
_CLASSES: dict[str, tuple[Parameter, ...]] = {
    "LSTM": (*_SIZES, *_OTHERS, _PROJ, *_FACTORY),
    "GRU": (*_SIZES, *_OTHERS),
    "RNN": (*_SIZES, Parameter("nonlinearity", "word", "tanh"), *_OTHERS),
}
_ELSEWHERE = {
    "proj_size": "only LSTM projects its output",
    "nonlinearity": "only RNN has a choice: tanh or relu",
}
_TYPES: dict[str | None, str] = {
    None: "float",
    "float32": "float",
    "float": "float",
    "float16": "half",
    "half": "half",
    "bfloat16": "bfloat16",
    "float64": "double",
    "double": "double",
}


def torch_problem(
    text: str, input_text: str | None = None, lengths: Sequence[int] | None = None
) -> FrameworkProblem:
    """What PyTorch would ask of cuDNN for a module, an input and, if it is packed, its lengths.

    ``text``        such as ``nn.LSTM(256, 512, num_layers=2)``; parsed, never evaluated.
    ``input_text``  time x batch x features (batch first with batch_first), or time x features.
    ``lengths``     those of a packed sequence; None for a plain tensor.

    Raises  UsageError for what PyTorch itself would refuse to build, or what cannot be read.
    Source  torch/nn/modules/rnn.py, aten/src/ATen/native/cudnn/RNN.cpp, ATen/cudnn/Descriptors.h.
    """
    call = read_call(text, _EXAMPLE)
    name = call.name
    if name not in _CLASSES:
        if name in ("LSTMCell", "GRUCell", "RNNCell"):
            raise UsageError(
                f"{name} takes one step at a time and does not call cuDNN's RNN functions",
                f"known: {', '.join(_CLASSES)}",
            )
        raise unknown_name("PyTorch module", name, _CLASSES)
    by_name = () if name == "LSTM" else _FACTORY
    args = bind(call, _CLASSES[name], by_name, _ELSEWHERE)
    args.setdefault("proj_size", 0)
    _refuse_as_torch_does(name, args)
    notes: list[str] = []
    words = _network(name, args, notes)
    x_width = _batch(words, args, input_text, lengths, notes)
    _algo(words, args, lengths is not None, notes)
    if x_width is not None and x_width != args["input_size"]:
        words["vector_size"] = str(x_width)
        notes.append(
            f"the input has {x_width} features and input_size is {args['input_size']}: PyTorch "
            "itself refuses this before cuDNN"
        )
    return FrameworkProblem(words, tuple(notes))


def _refuse_as_torch_does(name: str, args: dict[str, Any]) -> None:
    """Nothing, if PyTorch would build the module.

    Raises  UsageError with what is allowed.
    """
    for size in ("input_size", "hidden_size", "num_layers"):
        if args[size] < 1:
            raise UsageError(f"PyTorch refuses {size}={args[size]}", "allowed: 1 or more")
    if not 0 <= args["proj_size"] < args["hidden_size"]:
        raise UsageError(
            f"PyTorch refuses proj_size={args['proj_size']} with hidden_size={args['hidden_size']}",
            f"allowed: 0 (no projection) to {args['hidden_size'] - 1}; to ask cuDNN itself give "
            "proj_size=… and hidden_size=… as keys",
        )
    if not 0 <= args["dropout"] <= 1:
        raise UsageError(f"PyTorch refuses dropout={args['dropout']}", "allowed: 0 to 1")
    if args["dtype"] not in _TYPES:
        known = [t for t in _TYPES if t is not None]
        raise unknown_name("dtype", str(args["dtype"]), known, "(weights are floating point)")
    if name == "RNN" and args["nonlinearity"] not in ("tanh", "relu"):
        raise unknown_name("nonlinearity", str(args["nonlinearity"]), ("tanh", "relu"))


def _network(name: str, args: dict[str, Any], notes: list[str]) -> dict[str, str]:
    """The keys of the RNN descriptor and of the states."""
    data_type = _TYPES[args["dtype"]]
    words = {
        "cell_mode": f"rnn_{args['nonlinearity']}" if name == "RNN" else name.lower(),
        "bias_mode": "double_bias",
        "direction_mode": "bidirectional" if args["bidirectional"] else "unidirectional",
        "input_mode": "linear_input",
        "data_type": data_type,
        "math_prec": "float" if data_type in ("half", "bfloat16") else data_type,
        "math_type": "tensor_op_math" if data_type == "half" else "default_math",
        "input_size": str(args["input_size"]),
        "hidden_size": str(args["hidden_size"]),
        "proj_size": str(args["proj_size"] or "same"),
        "num_layers": str(args["num_layers"]),
        "dropout": "present",
        "nb_dims": "5",
    }
    if data_type in ("half", "bfloat16"):
        notes.append(f"{data_type} is computed with math_prec=float, as PyTorch does")
    if data_type != "half":
        notes.append(
            "math_type=default_math, as PyTorch does while torch.backends.cudnn.allow_tf32 is on; "
            "fma_math where it is off"
        )
    notes.append("states are described with 5 dimensions, the last two 1, as PyTorch does")
    if not args["bias"]:
        notes.append(
            "bias=False: PyTorch hands over double_bias with biases of 0; bias_mode=no_bias would "
            "give the same numbers"
        )
    if args["dropout"] and args["num_layers"] == 1:
        notes.append(
            f"dropout={args['dropout']:g} has no effect with one layer, of which PyTorch warns: it "
            "acts between layers"
        )
    elif args["dropout"]:
        notes.append(
            f"dropout={args['dropout']:g} acts in training only; else it is handed over as 0"
        )
    return words


def _batch(
    words: dict[str, str],
    args: dict[str, Any],
    input_text: str | None,
    lengths: Sequence[int] | None,
    notes: list[str],
) -> int | None:
    """Adds the keys of the data descriptors; returns the features of the input, if it is given."""
    first = ("batch", "time") if args["batch_first"] else ("time", "batch")
    shape: dict[str, int] = {}
    if input_text is not None:
        shape = read_shape(input_text, [(*first, "features"), ("time", "features")])
        if "batch" not in shape:
            shape["batch"] = 1
            notes.append("the input has no batch axis: it is one sequence, batch_size=1")
        words["max_seq_length"], words["batch_size"] = str(shape["time"]), str(shape["batch"])
        if not shape["time"]:
            notes.append("PyTorch itself refuses an input of 0 steps before cuDNN")
    elif lengths is None:
        notes.append("no input is given: its steps and sequences have their defaults")
    if lengths is not None:
        _packed(words, shape, lengths, notes)
        return shape.get("features")
    words |= {
        "layout": "seq_major_unpacked",
        "seq_lengths": "equal",
        "aux_flags": "padded_io_enabled",
    }
    if args["batch_first"]:
        notes.append("batch_first: PyTorch transposes the input and hands over seq_major_unpacked")
    return shape.get("features")


def _packed(
    words: dict[str, str], shape: dict[str, int], lengths: Sequence[int], notes: list[str]
) -> None:
    """The keys of a packed sequence: sorted, and no longer than its longest row."""
    if shape and shape["batch"] != len(lengths):
        raise UsageError(
            f"{len(lengths)} lengths are given and the input has a batch of {shape['batch']}",
            "give one length for each sequence of the batch",
        )
    if shape and max(lengths) > shape["time"]:
        raise UsageError(
            f"the longest length is {max(lengths)} and the input has {shape['time']} steps",
            "a length is at most the steps of the input",
        )
    order = sorted(lengths, reverse=True)
    words |= {
        "layout": "seq_major_packed",
        "seq_lengths": f"[{','.join(map(str, order))}]",
        "max_seq_length": str(max(lengths)),
        "batch_size": str(len(lengths)),
        "aux_flags": "padded_io_disabled",
    }
    notes.append(
        "lengths are those of a packed sequence: seq_major_packed with padded_io_disabled and "
        "max_seq_length of the longest, as PyTorch does"
    )
    if order != list(lengths):
        rows = list_text(sort_order(lengths)[0].tolist())
        notes.append(
            "the lengths are sorted, as pack_padded_sequence does with enforce_sorted=False: the "
            f"rows below are {rows} of yours"
        )
    if min(lengths) < 1:
        notes.append("pack_padded_sequence itself refuses lengths below 1")


def _algo(words: dict[str, str], args: dict[str, Any], packed: bool, notes: list[str]) -> None:
    """Adds the algorithm that PyTorch chooses; what it makes of the GPU goes to the notes."""
    words["algo"] = "standard"
    data_type, hidden = words["data_type"], args["hidden_size"]
    forwards, backwards = SMALL_H[words["cell_mode"]]
    if args["proj_size"] or packed:
        return
    if data_type != "double" and hidden <= forwards:
        words["algo"] = "persist_static_small_h"
        notes.append(
            f"algo=persist_static_small_h, as PyTorch does for {words['cell_mode']} of hidden_size "
            f"up to {forwards}; older releases of it take standard"
        )
        if hidden > backwards:
            notes.append(
                f"backwards PyTorch takes algo=standard: hidden_size is above {backwards} there"
            )
    elif (
        data_type == "half"
        and args["num_layers"] == 1
        and not args["bidirectional"]
        and hidden <= 1024
        and hidden % 128 == args["input_size"] % 128 == 0
    ):
        notes.append(
            "on some GPUs and for some batches PyTorch takes algo=persist_static here: try it too"
        )
