"""From the arguments of one call to a problem: what it holds, and where descriptors disagree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from pyharness.logs.descriptors import (
    CLIP_AXES,
    Clip,
    DataDescriptor,
    RnnDescriptor,
    TensorDescriptor,
    Unheld,
    clip_bounds,
    enum_text,
    lengths_text,
    rnn_descriptor,
    set_data_descriptor,
)
from pyharness.logs.grammar import Value
from pyharness.spec import enums

Arguments = Mapping[str, Value]
Texts = tuple[tuple[str, str], ...]  # axis and text

_SET_RNN, _SET_DATA = "cudnnSetRNNDescriptor_v8", "cudnnSetRNNDataDescriptor"
_FORWARD = {
    "CUDNN_FWD_MODE_INFERENCE (0)": "forward_inference",
    "CUDNN_FWD_MODE_TRAINING (1)": "forward_training",
    "0": "forward_inference",  # in 8.5 it is an int
    "1": "forward_training",
}
_STAGES = {
    _SET_RNN: "descriptor",
    "cudnnRNNSetClip_v8": "descriptor",
    "cudnnRNNSetClip_v9": "descriptor",
    _SET_DATA: "data",
    "cudnnGetRNNWeightSpaceSize": "sizes",
    "cudnnGetRNNTempSpaceSizes": "sizes",
    "cudnnBuildRNNDynamic": "build",
    "cudnnRNNBackwardData_v8": "backward_data",
    "cudnnRNNBackwardWeights_v8": "backward_weights",
}


class Structure(NamedTuple):
    """What one call tells of an RNN, but for the lengths of the sequences.

    ``before``  axes and texts that come before the lengths; ``after`` likewise.
    ``rnn``     axes of the RNN descriptor, or None.
    ``x``       the data descriptor of x, or the one that is set.
    ``datas``   roles of the data descriptors, in the order in which the call takes them.
    ``stage``   the part of an RNN's life that the call belongs to; empty where it says none.
    ``words``   where its descriptors disagree.
    """

    before: Texts
    after: Texts
    roles: tuple[str, ...]
    rnn: Texts | None
    clip: Clip | None
    x: DataDescriptor | None
    y: DataDescriptor | None
    datas: tuple[str, ...]
    stage: str
    words: tuple[str, ...]


class Configuration(NamedTuple):
    """What one call tells of an RNN.

    ``words``    where its descriptors disagree.
    ``lengths``  of x and of y, as the axis takes them.
    """

    structure: Structure
    words: tuple[str, ...]
    lengths: tuple[str, ...]

    @property
    def given(self) -> dict[str, str]:
        """Axes and texts, as a problem has them."""
        lengths = {"seq_lengths": self.lengths[0]} if self.lengths else {}
        return {**dict(self.structure.before), **lengths, **dict(self.structure.after)}


def configure(name: str, arguments: Arguments) -> Structure:
    """What a call's arguments tell.

    ``name``  the C name, one of grammar.SIGNATURES.
    Raises    Unheld if no problem can describe it; KeyError or ValueError if an argument is
              malformed.
    """
    for value in arguments.values():
        if isinstance(value, Unheld):
            raise value
    texts = {n: v for n, v in arguments.items() if isinstance(v, str)}
    if name == _SET_DATA:
        return _of_data(set_data_descriptor(texts))
    rnn = rnn_descriptor(texts) if name == _SET_RNN else arguments["rnnDesc"]
    if not isinstance(rnn, RnnDescriptor):
        raise Unheld("rnnDesc is NULL")
    axes = dict(rnn.axes)
    before, roles = list(rnn.axes), ["descriptor"]
    clip = _set_clip(texts) if "clipMode" in texts else rnn.clip
    if clip is not None:
        before += zip(CLIP_AXES, clip, strict=True)
        roles.append("clip")
    if "clipNanOpt" in texts:
        before.append(("clip_nan_opt", enum_text(enums.CLIP_NAN_OPT, texts["clipNanOpt"])))
    datas = tuple(role[0] for role in arguments if role in ("xDesc", "yDesc"))
    found = {role: _data(arguments, role) for role in datas}
    x, y = found.get("x"), found.get("y")
    after: list[tuple[str, str]] = []
    words: list[str] = []
    if x is not None:
        after = _batch(x, y or x)
        if str(x.width) != axes["input_size"]:
            after.append(("vector_size", str(x.width)))
        roles.append("x")
        words += _x_words(axes, x)
    if x is not None and y is not None:
        roles.append("y")
        words += [*_y_words(axes, y), *_batch_words(x, y)]
        for role in ("h", "c") if axes["cell_mode"] == "lstm" else ("h",):
            tensor = arguments.get(f"{role}Desc")
            if isinstance(tensor, TensorDescriptor):
                roles.append(role)
                words += _state_words(axes, x.batch_size, role, tensor)
    stage = _STAGES.get(name, "")
    if not stage:
        stage = _FORWARD.get(texts["fwdMode"], "")
        words += [] if stage else [f"fwdMode is {texts['fwdMode']}"]
    return Structure(
        tuple(before),
        tuple(after),
        tuple(roles),
        rnn.axes,
        clip,
        x,
        y,
        datas,
        stage,
        tuple(words),
    )


def with_lengths(
    structure: Structure,
    insides: Sequence[bytes],
    lengths_of: Callable[[bytes, DataDescriptor], str] = lengths_text,
) -> Configuration:
    """A call's configuration with the lengths of its sequences.

    ``insides``     what stands between the brackets of each data descriptor, in the call's order.
    ``lengths_of``  lengths_text, or one that remembers.
    Raises          Unheld or ValueError as lengths_text does.
    """
    x, y, words = structure.x, structure.y, structure.words
    if x is None:
        return Configuration(structure, words, ())
    if y is None:
        return Configuration(structure, words, (lengths_of(insides[0], x),))
    of_x, of_y = insides if structure.datas[0] == "x" else reversed(insides)
    lengths = (lengths_of(of_x, x), lengths_of(of_y, y))
    if of_x != of_y and x.batch_size == y.batch_size:
        pairs = zip(of_x.split(b","), of_y.split(b","), strict=True)
        row, (a, b) = next((i, pair) for i, pair in enumerate(pairs) if pair[0] != pair[1])
        said = f"seq_lengths differ, first in row {row}: {a.decode()} in x, {b.decode()} in y"
        words = (*words, said)
    return Configuration(structure, words, lengths)


def _data(arguments: Arguments, role: str) -> DataDescriptor:
    data = arguments[f"{role}Desc"]
    if not isinstance(data, DataDescriptor):
        raise Unheld(f"{role}Desc is NULL")
    return data


def _set_clip(texts: Mapping[str, str]) -> Clip:
    """What clipping is set to, whatever the descriptor had before."""
    return Clip(enums.CLIP_MODE.label(int(texts["clipMode"])), *clip_bounds(texts))


def _of_data(data: DataDescriptor) -> Structure:
    after = (*_batch(data, data), ("data_type", data.data_type), ("vector_size", str(data.width)))
    stage = _STAGES[_SET_DATA]
    return Structure((), after, ("x",), None, None, data, None, ("x",), stage, ())


def _batch(x: DataDescriptor, y: DataDescriptor) -> list[tuple[str, str]]:
    """The axes of the batch after its lengths; the padding of y is what is filled."""
    pairs = [
        ("max_seq_length", str(x.max_seq_length)),
        ("batch_size", str(x.batch_size)),
        ("layout", x.layout),
    ]
    if y.padding_fill == "given":
        pairs.append(("padding_fill", "given"))
    return pairs


def _output_width(axes: Mapping[str, str]) -> int:
    """Width of h: proj_size, which a log has as a number."""
    return int(axes["hidden_size" if axes["proj_size"] == "same" else "proj_size"])


def _directions(axes: Mapping[str, str]) -> int:
    return 2 if axes["direction_mode"] == "bidirectional" else 1


def _x_words(axes: Mapping[str, str], x: DataDescriptor) -> list[str]:
    """Where x does not fit the RNN descriptor."""
    words = []
    if str(x.width) != axes["input_size"]:
        words.append(f"x is {x.width} wide, input_size is {axes['input_size']}")
    return words + _type_words(axes, "x", x.data_type)


def _y_words(axes: Mapping[str, str], y: DataDescriptor) -> list[str]:
    """Where y does not fit the RNN descriptor."""
    words, due = [], _output_width(axes) * _directions(axes)
    if y.width != due:
        words.append(f"y is {y.width} wide, the output is {due}")
    return words + _type_words(axes, "y", y.data_type)


def _type_words(axes: Mapping[str, str], role: str, data_type: str) -> list[str]:
    if data_type == axes["data_type"]:
        return []
    return [f"{role} is {data_type}, the RNN descriptor {axes['data_type']}"]


def _batch_words(x: DataDescriptor, y: DataDescriptor) -> list[str]:
    """Where x and y differ and must not, but for the lengths."""
    return [
        f"{name} is {getattr(x, name)} in x, {getattr(y, name)} in y"
        for name in ("layout", "max_seq_length", "batch_size")
        if getattr(x, name) != getattr(y, name)
    ]


def _state_words(
    axes: Mapping[str, str], batch_size: int, role: str, tensor: TensorDescriptor
) -> list[str]:
    """Where h or c is not [num_layers x directions, batch_size, width], packed.

    Source  the documented shapes of hDesc and cDesc.
    """
    width = _output_width(axes) if role == "h" else int(axes["hidden_size"])
    due = (int(axes["num_layers"]) * _directions(axes), batch_size, width)
    words = []
    if tensor.dims != due:
        words.append(f"{role} is {list(tensor.dims)}, {list(due)} is due")
    packed: list[int] = []
    step = 1
    for size in reversed(tensor.dims):
        packed.insert(0, step)
        step *= size
    if tensor.strides != tuple(packed):
        words.append(f"{role} has the strides {list(tensor.strides)}, packed are {packed}")
    return words + _type_words(axes, role, tensor.data_type)
