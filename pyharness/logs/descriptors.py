"""Descriptors as a log unfolds them, in the words of our axes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from pyharness.spec import enums
from pyharness.spec.enums import EnumType

Fields = Mapping[str, str]

_NAMED = re.compile(r"(\w+) \((-?\d+|0x[0-9a-f]+)\)")
_LIST = re.compile(r"\[(?:-?\d+(?:,-?\d+)*)?\]")
_SET_FIELDS = {"dirMode": "bidirectional", "mathType": "mathMode"}  # of Set, as it is unfolded
_ENUMS = (
    ("algo", "algo", enums.ALGO),
    ("cell_mode", "cellMode", enums.CELL_MODE),
    ("bias_mode", "biasMode", enums.BIAS_MODE),
    ("direction_mode", "bidirectional", enums.DIRECTION_MODE),
    ("input_mode", "inputMode", enums.INPUT_MODE),
    ("data_type", "dataType", enums.DATA_TYPE),
    ("math_prec", "mathPrec", enums.DATA_TYPE),
    ("math_type", "mathMode", enums.MATH_TYPE),
)
_SIZES = (
    ("input_size", "inputSize"),
    ("hidden_size", "hiddenSize"),
    ("proj_size", "projSize"),
    ("num_layers", "numLayers"),
)
_BY_VENDOR = {
    e.name: {m.vendor: m.name for m in e.members}
    for e in (*(e for _, _, e in _ENUMS), enums.LAYOUT, enums.CLIP_MODE, enums.AUX_FLAGS)
}
NULL = "NULL_PTR"
CLIP_AXES = ("clip_mode", "lclip", "rclip")


class Unheld(ValueError):
    """An argument that a problem cannot describe; says which and why."""


def enum_text(enum: EnumType, text: str) -> str:
    """Our word for ``CUDNN_LSTM (2)``; the number's, where the name is none that we know.

    Raises  ValueError if the text has another form.
    """
    match = _NAMED.fullmatch(text)
    if match is None:
        raise ValueError(text)
    known = _BY_VENDOR.get(enum.name, {}).get(match[1])
    if known is not None:
        return known
    number = int(match[2], 0)
    if enum is enums.AUX_FLAGS and number >= 1 << 31:
        number -= 1 << 32  # an int travels: the same bits
    return enum.label(number)


def int_list(text: str) -> tuple[int, ...]:
    """``[5,3,2]`` as integers.

    Raises  ValueError if it is no whole list.
    """
    if _LIST.fullmatch(text) is None:
        raise ValueError(text)
    return tuple(map(int, text[1:-1].split(","))) if len(text) > 2 else ()


def lengths_text(inside: bytes, data: DataDescriptor) -> str:
    """The lengths of a batch as the axis takes them: ``equal`` or a list.

    ``inside``  what stands between the brackets.
    Raises      Unheld if the log does not show all; ValueError if it is no list, or of another
                number than the batch has.
    """
    if b"." in inside:
        raise Unheld("seqLengthArray is cut short")
    text = f"[{inside.decode('utf-8', 'replace')}]"
    count = inside.count(b",") + 1 if inside else 0
    if _LIST.fullmatch(text) is None or count != max(data.batch_size, 0):
        raise ValueError(text)
    equal = not inside or inside == b",".join([b"%d" % data.max_seq_length] * count)
    return "equal" if equal else text


class Clip(NamedTuple):
    """Clipping, in the order of CLIP_AXES. A log rounds the bounds to six digits."""

    mode: str
    lclip: str
    rclip: str


NO_CLIP = Clip("none", "0.0", "0.0")


class RnnDescriptor(NamedTuple):
    """An RNN descriptor.

    ``axes``  name and text of each axis of cudnnSetRNNDescriptor_v8.
    ``clip``  what an unfolded descriptor of 9.x holds; None if nothing is clipped, or not told.
    """

    axes: tuple[tuple[str, str], ...]
    clip: Clip | None


class DataDescriptor(NamedTuple):
    """An RNN data descriptor without its lengths, see configuration.

    ``padding_fill``  given or null; None where the log cannot tell them apart.
    """

    max_seq_length: int
    batch_size: int
    layout: str
    data_type: str
    width: int
    padding_fill: str | None


class TensorDescriptor(NamedTuple):
    """A tensor descriptor: what h or c is said to be."""

    data_type: str
    dims: tuple[int, ...]
    strides: tuple[int, ...]


Descriptor = RnnDescriptor | DataDescriptor | TensorDescriptor


def rnn_descriptor(fields: Fields) -> RnnDescriptor:
    """An RNN descriptor, unfolded or as it is set.

    Raises  Unheld for one of before 8.0; KeyError or ValueError if a field is missing or has
            another form.
    """
    fields = {_SET_FIELDS.get(name, name): text for name, text in fields.items()}
    if "inputSize" not in fields and "dataType" not in fields:
        raise Unheld("rnnDesc has no inputSize and no dataType: not set, or set as before 8.0")
    axes = [(axis, enum_text(enum, fields[name])) for axis, name, enum in _ENUMS]
    sizes = {axis: str(int(fields[name])) for axis, name in _SIZES}
    if sizes["proj_size"] == sizes["hidden_size"]:
        sizes["proj_size"] = "same"
    axes += sizes.items()
    axes.append(("dropout", "null" if fields["dropoutDesc"] == NULL else "present"))
    axes.append(("aux_flags", enum_text(enums.AUX_FLAGS, fields["auxFlags"])))
    clip = None
    if any(name in fields for name in ("clipMode", "lclip", "rclip")):  # all or none
        clip = Clip(enum_text(enums.CLIP_MODE, fields["clipMode"]), *clip_bounds(fields))
    return RnnDescriptor(tuple(axes), None if clip == NO_CLIP else clip)


def clip_bounds(fields: Fields) -> tuple[str, str]:
    """The two bounds as the axes label them.

    Raises  KeyError or ValueError.
    """
    lower, upper = (repr(float(fields[name])) for name in ("lclip", "rclip"))
    return lower, upper


def set_data_descriptor(fields: Fields) -> DataDescriptor:
    """What cudnnSetRNNDataDescriptor is given.

    Raises  Unheld without lengths; KeyError or ValueError as above.
    """
    batch_size = int(fields["batchSize"])
    longest = int(fields["maxSeqLength"])
    fill = "null" if fields["paddingFill"] == NULL else "given"
    return _data(fields, longest, batch_size, int(fields["vectorSize"]), fill)


def data_descriptor(fields: Fields) -> DataDescriptor:
    """An RNN data descriptor, unfolded.

    Raises  Unheld without lengths; KeyError or ValueError as above.
    """
    longest, batch_size, width = int_list(fields["dimA"])
    fill = fields["paddingFill"]
    given = fill not in ("NULL", NULL) and float(fill) != 0  # zero is what NULL shows as, too
    return _data(fields, longest, batch_size, width, "given" if given else None)


def _data(
    fields: Fields, longest: int, batch_size: int, width: int, fill: str | None
) -> DataDescriptor:
    lengths = fields["seqLengthArray"]
    if lengths == NULL:
        raise Unheld("seqLengthArray is NULL")
    if lengths != "[]":  # taken out by who read it
        raise ValueError(lengths)
    layout = enum_text(enums.LAYOUT, fields["layout"])
    data_type = enum_text(enums.DATA_TYPE, fields["dataType"])
    return DataDescriptor(longest, batch_size, layout, data_type, width, fill)


def tensor_descriptor(fields: Fields) -> TensorDescriptor:
    """A tensor descriptor, unfolded.

    Raises  KeyError or ValueError as above.
    """
    data_type = enum_text(enums.DATA_TYPE, fields["dataType"])
    dims, strides = int_list(fields["dimA"]), int_list(fields["strideA"])
    if not len(dims) == len(strides) == min(int(fields["nbDims"]), 8):  # it shows no more
        raise ValueError(fields["dimA"])
    return TensorDescriptor(data_type, dims, strides)


BY_TYPE: dict[str, Callable[[Fields], Descriptor]] = {
    "cudnnRNNDescriptor_t": rnn_descriptor,
    "cudnnRNNDataDescriptor_t": data_descriptor,
    "cudnnTensorDescriptor_t": tensor_descriptor,
}
