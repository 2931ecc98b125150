"""A problem as PyTorch's module that computes it, or why PyTorch has none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyharness.spec import enums
from pyharness.spec.problem import Problem
from pyharness.spec.run_axes import problem_axes
from pyharness.spec.seq_lengths import resolve_seq_lengths
from pyharness.spec.torch_algo import AlgoQuestion

DTYPES = {"float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16"}
_MODULES = {"rnn_relu": "RNN", "rnn_tanh": "RNN", "lstm": "LSTM", "gru": "GRU"}
_PACKED = "seq_major_packed"


@dataclass(frozen=True, slots=True)
class TorchModule:
    """What PyTorch is asked to build and to run.

    ``name``            the class in torch.nn.
    ``arguments``       of its constructor, by name.
    ``dtype``           the attribute of torch.
    ``lengths``         those of a packed sequence, descending; None for a plain tensor.
    ``initial_states``  whether h_0 (and c_0) are given; else PyTorch makes zeros.
    ``tf32``            whether PyTorch may compute with TF32.
    ``notes``           what PyTorch does otherwise, in sentences.
    """

    name: str
    arguments: dict[str, Any]
    dtype: str
    steps: int
    batch_size: int
    lengths: tuple[int, ...] | None
    initial_states: bool
    tf32: bool
    notes: tuple[str, ...]

    @property
    def algo_question(self) -> AlgoQuestion:
        """What PyTorch's choice of an algorithm depends on."""
        given = self.arguments
        nonlinearity = given.get("nonlinearity")
        return AlgoQuestion(
            cell_mode=f"rnn_{nonlinearity}" if nonlinearity else self.name.lower(),
            data_type=next(ours for ours, theirs in DTYPES.items() if theirs == self.dtype),
            input_size=given["input_size"],
            hidden_size=given["hidden_size"],
            num_layers=given["num_layers"],
            bidirectional=given["bidirectional"],
            projected=bool(given.get("proj_size")),
            packed=self.lengths is not None,
            batch_size=self.batch_size,
            steps=self.steps,
        )


def torch_module(problem: Problem, *, cuda: bool) -> TorchModule | str:
    """The module for a problem. Its algo is not asked for: PyTorch chooses one by itself.

    ``cuda``  it runs on a GPU, through cuDNN; elsewhere math types mean nothing.

    Returns  the module; or a sentence that says why PyTorch has no such module.
    Source   torch/nn/modules/rnn.py; the math types are those of RNNDescriptor::set in
             aten/src/ATen/cudnn/Descriptors.h.
    """
    checks = (_wrong_value, _wrong_network, _wrong_precision, _wrong_batch)
    for check in (*checks, _wrong_math_type) if cuda else checks:
        why = check(problem)
        if why is not None:
            return why
    cell, data_type = _label(problem, "cell_mode"), _label(problem, "data_type")
    layout, rate = _label(problem, "layout"), _rate(problem)
    arguments: dict[str, Any] = {
        "input_size": problem.value("input_size"),
        "hidden_size": problem.value("hidden_size"),
        "num_layers": problem.value("num_layers"),
        "bias": _label(problem, "bias_mode") == "double_bias",
        "batch_first": layout == "batch_major_unpacked",
        "dropout": rate if problem.value("num_layers") > 1 else 0.0,
        "bidirectional": _label(problem, "direction_mode") == "bidirectional",
    }
    if cell == "lstm":
        width = problem.shapes["h"][2]
        arguments["proj_size"] = 0 if width == arguments["hidden_size"] else width
    if cell.startswith("rnn_"):
        arguments["nonlinearity"] = cell.removeprefix("rnn_")
    lengths = _lengths(problem)
    steps, batch = problem.value("max_seq_length"), problem.value("batch_size")
    return TorchModule(
        name=_MODULES[cell],
        arguments=arguments,
        dtype=DTYPES[data_type],
        steps=max(lengths) if layout == _PACKED else steps,
        batch_size=batch,
        lengths=lengths if layout == _PACKED else None,
        initial_states=_label(problem, "initial_states") == "given",
        tf32=_label(problem, "math_type") != "fma_math",
        notes=tuple(_notes(problem, cuda)),
    )


def _label(problem: Problem, name: str) -> str:
    return problem_axes()[name].label(problem.value(name))


def _rate(problem: Problem) -> float:
    """The dropout between layers while training; 0 without a dropout descriptor."""
    return 0.0 if _label(problem, "dropout") == "null" else float(_label(problem, "dropout_rate"))


def _lengths(problem: Problem) -> tuple[int, ...]:
    steps, batch = problem.value("max_seq_length"), problem.value("batch_size")
    return resolve_seq_lengths(problem.value("seq_lengths"), steps, batch)


def _wrong_value(problem: Problem) -> str | None:
    """Values that PyTorch has no word for."""
    known: dict[str, Callable[[str], bool]] = {
        "cell_mode": lambda text: text in _MODULES,
        "data_type": lambda text: text in DTYPES,
        "direction_mode": lambda text: text in ("unidirectional", "bidirectional"),
        "layout": lambda text: any(text == m.name for m in enums.LAYOUT.members),
    }
    for name, knows in known.items():
        if not knows(_label(problem, name)):
            return f"PyTorch has no {name} {_label(problem, name)}"
    for name in ("input_size", "hidden_size", "num_layers", "max_seq_length", "batch_size"):
        if problem.value(name) < 1:
            return f"PyTorch refuses {name}={problem.value(name)}"
    return None


def _wrong_network(problem: Problem) -> str | None:
    """Networks that PyTorch cannot build."""
    bias, hidden = _label(problem, "bias_mode"), problem.value("hidden_size")
    width = problem.shapes["h"][2]
    if bias not in ("double_bias", "no_bias"):
        return f"PyTorch has both bias vectors or none, not {bias}"
    if _label(problem, "input_mode") != "linear_input":
        return "PyTorch always multiplies the input with a matrix: it has no skip_input"
    if problem.clips and _label(problem, "clip_mode") != "none":
        return "PyTorch does not clip the cell state"
    if "vector_size" in problem.given and problem.shapes["x"][2] != problem.value("input_size"):
        return "PyTorch refuses an input whose width is not input_size"
    if not 1 <= width <= hidden:
        return f"PyTorch refuses proj_size={width} with hidden_size={hidden}"
    if width != hidden and _label(problem, "cell_mode") != "lstm":
        return "PyTorch projects the output of LSTM only"
    if _label(problem, "strides") != "packed":
        return "PyTorch's states are contiguous"
    return None


def _wrong_precision(problem: Problem) -> str | None:
    """Precisions that PyTorch cannot be told to use."""
    data_type = _label(problem, "data_type")
    own = "float" if data_type in ("half", "bfloat16") else data_type
    precision = _label(problem, "math_prec")
    if precision != own:
        return f"PyTorch computes {data_type} with math_prec={own}, not {precision}"
    return None


def _wrong_math_type(problem: Problem) -> str | None:
    """Math types that PyTorch never hands to cuDNN, nor one that computes the same."""
    data_type, math = _label(problem, "data_type"), _label(problem, "math_type")
    if math not in (m.name for m in enums.MATH_TYPE.members):
        return f"PyTorch has no math_type {math}"
    if data_type == "float" and math == "tensor_op_math_allow_conversion":
        return "PyTorch does not let cuDNN convert float to half"
    if data_type == "half" and math == "fma_math":
        return "PyTorch always lets cuDNN use tensor cores for half"
    return None


def _wrong_batch(problem: Problem) -> str | None:
    """Batches that PyTorch cannot take as they are."""
    lengths, steps = _lengths(problem), problem.value("max_seq_length")
    if (
        len(lengths) != problem.value("batch_size")
        or not 0 <= min(lengths) <= max(lengths) <= steps
    ):
        return "the lengths are none of a batch"
    if _label(problem, "layout") != _PACKED:
        if min(lengths) < steps:
            return (
                "PyTorch takes sequences of unequal length packed only (pack_padded_sequence): "
                f"layout={_PACKED} is what it can run"
            )
    elif min(lengths) < 1:
        return "pack_padded_sequence refuses lengths below 1"
    elif list(lengths) != sorted(lengths, reverse=True):
        return "a packed sequence of PyTorch is sorted, longest first"
    return None


def _notes(problem: Problem, cuda: bool) -> list[str]:
    data_type, math = _label(problem, "data_type"), _label(problem, "math_type")
    theirs = "tensor_op_math" if data_type == "half" else "default_math"
    notes = []
    if cuda and math not in (theirs, "fma_math"):
        notes.append(f"PyTorch hands over math_type={theirs}, not {math}")
    if cuda and _label(problem, "bias_mode") == "no_bias":
        notes.append("PyTorch hands over double_bias with biases of 0")
    if cuda and _label(problem, "layout") == "batch_major_unpacked":
        notes.append("PyTorch copies x into seq_major_unpacked first, and gives y as a view")
    if _rate(problem) and problem.value("num_layers") == 1:
        notes.append("dropout acts between layers: with one layer there is none")
    return notes
