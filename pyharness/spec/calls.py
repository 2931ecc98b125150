"""The calls that cuDNN validates on the host, with their axes in the order of a walk.

The order is the C++ side's (csrc/calls/); a test compares them. The last axis turns fastest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyharness.errors import UsageError, unknown_name
from pyharness.spec import enums
from pyharness.spec.axes import (
    Axis,
    ChoiceAxis,
    EnumAxis,
    ProjSizeAxis,
    RealAxis,
    SizeAxis,
)
from pyharness.spec.seq_lengths import SeqLengthsAxis

# An array of so many lengths is made for each batch size: more would be memory, not validity.
_MOST_BATCH = 1 << 20
_MOST_DIMS = 16


@dataclass(frozen=True, slots=True)
class Call:
    """A function of cuDNN that can be walked.

    ``name``      the C name.
    ``stage``     the stage that it belongs to.
    ``axes``      outermost first.
    ``defaults``  the value of each axis that a space does not name, as text.
    """

    name: str
    stage: str
    axes: tuple[Axis, ...]
    defaults: dict[str, str]

    def cannot_make(self, texts: Mapping[str, str]) -> str | None:
        """Why there is no such call at all: a value that it is not given as it is, and no name.

        Returns  a sentence, or None if the call can be made.
        """
        for axis in self.axes:
            if isinstance(axis, EnumAxis) and axis.closed and axis.name in texts:
                (value,) = replace(axis, closed=False).parse(texts[axis.name])
                if value not in axis.enum.values:
                    return f"{axis.name}={axis.label(value)} has no meaning for this call"
        return None

    def axis(self, name: str) -> Axis:
        """The axis of this name.

        Raises  UsageError if the call has none, with the nearest names and who has it.
        """
        for axis in self.axes:
            if axis.name == name:
                return axis
        owners = [c.name for c in CALLS if any(a.name == name for a in c.axes)]
        if owners:
            raise UsageError(
                f"{self.name} has no axis {name!r}",
                f"it belongs to {', '.join(owners)}; this call has: "
                f"{', '.join(a.name for a in self.axes)}",
            )
        raise unknown_name("axis", name, [a.name for a in self.axes])


_DATA_TYPE = EnumAxis("data_type", enums.DATA_TYPE, "storage type of data and weights")
_HIDDEN = SizeAxis("hidden_size", "width of the hidden state")
_PROJ = ProjSizeAxis("proj_size", "width of h after projection: a size, same, half or over")
_LAYERS = SizeAxis("num_layers", "number of stacked layers")
_CELL = EnumAxis("cell_mode", enums.CELL_MODE, "cell of the network")
_DIRECTION = EnumAxis("direction_mode", enums.DIRECTION_MODE, "one direction or two")

SET_RNN_DESCRIPTOR = Call(
    "cudnnSetRNNDescriptor_v8",
    "descriptor",
    (
        EnumAxis("algo", enums.ALGO, "algorithm"),
        _CELL,
        EnumAxis("bias_mode", enums.BIAS_MODE, "number and place of the bias vectors"),
        _DIRECTION,
        EnumAxis("input_mode", enums.INPUT_MODE, "matrix or identity before the first layer"),
        _DATA_TYPE,
        EnumAxis("math_prec", enums.DATA_TYPE, "compute type"),
        EnumAxis("math_type", enums.MATH_TYPE, "leave to use tensor cores"),
        SizeAxis("input_size", "width of x"),
        _HIDDEN,
        _PROJ,
        _LAYERS,
        ChoiceAxis("dropout", ("null", "present"), "the dropout descriptor"),
        EnumAxis("aux_flags", enums.AUX_FLAGS, "padded input and output"),
    ),
    {
        "algo": "standard",
        "cell_mode": "lstm",
        "bias_mode": "double_bias",
        "direction_mode": "unidirectional",
        "input_mode": "linear_input",
        "data_type": "float",
        "math_prec": "float",
        "math_type": "default_math",
        "input_size": "64",
        "hidden_size": "64",
        "proj_size": "same",
        "num_layers": "1",
        "dropout": "present",
        "aux_flags": "padded_io_enabled",
    },
)

_CLIP_CELL = EnumAxis(
    "cell_mode", enums.CELL_MODE, "cell of the descriptor that is clipped", closed=True
)
_CLIP_MODE = EnumAxis("clip_mode", enums.CLIP_MODE, "clipping off or on")
_LCLIP = RealAxis("lclip", "lower bound of the cell state")
_RCLIP = RealAxis("rclip", "upper bound of the cell state")
_CLIP_DEFAULTS = {"cell_mode": "lstm", "clip_mode": "minmax", "lclip": "-1.0", "rclip": "1.0"}

SET_CLIP_V8 = Call(
    "cudnnRNNSetClip_v8",
    "descriptor",
    (
        _CLIP_CELL,
        _CLIP_MODE,
        EnumAxis("clip_nan_opt", enums.CLIP_NAN_OPT, "what clipping does to NaN"),
        _LCLIP,
        _RCLIP,
    ),
    {**_CLIP_DEFAULTS, "clip_nan_opt": "not_propagate_nan"},
)
SET_CLIP_V9 = Call(
    "cudnnRNNSetClip_v9",
    "descriptor",
    (_CLIP_CELL, _CLIP_MODE, _LCLIP, _RCLIP),
    _CLIP_DEFAULTS,
)

_BATCH = SizeAxis(
    "batch_size",
    "sequences in the batch",
    most=_MOST_BATCH,
    why="an array of so many lengths would have to be made",
)

SET_RNN_DATA_DESCRIPTOR = Call(
    "cudnnSetRNNDataDescriptor",
    "data",
    (
        SeqLengthsAxis("seq_lengths", "length of each sequence: a pattern or a list"),
        SizeAxis("max_seq_length", "time steps that the batch is padded to"),
        _BATCH,
        EnumAxis("layout", enums.LAYOUT, "order and packing of time and batch"),
        _DATA_TYPE,
        SizeAxis("vector_size", "width of x or y"),
        ChoiceAxis("padding_fill", ("null", "given"), "value that the padding of y gets"),
    ),
    {
        "seq_lengths": "equal",
        "max_seq_length": "16",
        "batch_size": "8",
        "layout": "seq_major_unpacked",
        "data_type": "float",
        "vector_size": "64",
        "padding_fill": "null",
    },
)

SET_TENSOR_ND = Call(
    "cudnnSetTensorNdDescriptor",
    "state",
    (
        ChoiceAxis(
            "strides",
            ("packed", "transposed", "zero", "overlapping", "negative"),
            "strides of the tensor",
        ),
        SizeAxis(
            "nb_dims",
            "number of dimensions",
            most=_MOST_DIMS,
            why=f"the arrays that are handed over have {_MOST_DIMS} entries",
        ),
        _DATA_TYPE,
        ChoiceAxis("tensor", ("h", "c"), "hidden state (proj_size wide) or cell state"),
        _LAYERS,
        EnumAxis("direction_mode", enums.DIRECTION_MODE, "one direction or two", closed=True),
        SizeAxis("batch_size", "sequences in the batch"),
        _HIDDEN,
        _PROJ,
    ),
    {
        "strides": "packed",
        "nb_dims": "3",
        "data_type": "float",
        "tensor": "h",
        "num_layers": "1",
        "direction_mode": "unidirectional",
        "batch_size": "8",
        "hidden_size": "64",
        "proj_size": "same",
    },
)

CALLS = (SET_RNN_DESCRIPTOR, SET_CLIP_V8, SET_CLIP_V9, SET_RNN_DATA_DESCRIPTOR, SET_TENSOR_ND)
HOST_STAGES = ("descriptor", "data", "state")


def call_named(name: str) -> Call:
    """The call of a C name.

    Raises  UsageError if there is none, with the nearest names.
    """
    for call in CALLS:
        if call.name == name:
            return call
    raise unknown_name("call", name, [c.name for c in CALLS])


def all_axes() -> dict[str, Axis]:
    """Every axis of every call by name, in the order of the calls; the first of a name counts."""
    axes: dict[str, Axis] = {}
    for call in CALLS:
        for axis in call.axes:
            axes.setdefault(axis.name, axis)
    return axes
