"""The text of one entry: the arguments of a call, descriptors unfolded, as 8.x and 9.x log them.

Strict on purpose: an entry into which other text got, or of which lines are missing, is not read.
The arguments must be exactly those of the call, in order; a descriptor must have all its fields.

    I! CuDNN (v92800 42) function cudnnRNNForward() called:
    i!     fwdMode: type=cudnnForwardMode_t; val=CUDNN_FWD_MODE_TRAINING (1);
    i!     x: location=dev; addr=0x7f0000001000;
    i!     hDesc: type=cudnnTensorDescriptor_t:
    i!         nbDims: type=int; val=3;
    i! Time: 2026-01-31T10:20:30.123456 (0d+0h+0m+0s since start)
    i! Process=17; Thread=18; GPU=0; Handle=0x55; StreamId=(nil) (defaultStream).

Source  what 8.5, 8.9 and 9.0 to 9.28 write; tests/logs makes it anew with real libraries.
"""

from __future__ import annotations

import re

from pyharness.logs.descriptors import BY_TYPE, NULL, Descriptor, Unheld

# The arguments of a call whose entry holds an RNN's configuration.
_HEAD = ("handle", "rnnDesc")
SPACES = "weightSpaceSize"  # it and what follows say where buffers are
_SPACES = ("workSpaceSize", "workSpace", "reserveSpaceSize", "reserveSpace")
_H, _C = ("hDesc", "hx", "hy"), ("cDesc", "cx", "cy")
_CLIP_ENDS = ("lclip", "rclip")
_SIZES = "cudnnGetRNNTempSpaceSizes"
SIGNATURES: dict[str, tuple[str, ...]] = {
    "cudnnSetRNNDescriptor_v8": (
        *("algo", "cellMode", "biasMode", "dirMode", "inputMode", "dataType", "mathPrec"),
        *("mathType", "inputSize", "hiddenSize", "projSize", "numLayers", "dropoutDesc"),
        "auxFlags",
    ),
    "cudnnRNNSetClip_v8": ("rnnDesc", "clipMode", "clipNanOpt", *_CLIP_ENDS),
    "cudnnRNNSetClip_v9": ("rnnDesc", "clipMode", *_CLIP_ENDS),
    "cudnnSetRNNDataDescriptor": (
        *("dataType", "layout", "maxSeqLength", "batchSize", "vectorSize", "seqLengthArray"),
        "paddingFill",
    ),
    "cudnnGetRNNWeightSpaceSize": _HEAD,
    _SIZES: (*_HEAD, "fwdMode", "xDesc"),
    "cudnnBuildRNNDynamic": ("rnnDesc", "miniBatch"),
    "cudnnRNNForward": (
        *(*_HEAD, "fwdMode", "devSeqLengths", "xDesc", "x", "yDesc", "y", *_H, *_C),
        *(SPACES, "weightSpace", *_SPACES),
    ),
    "cudnnRNNBackwardData_v8": (
        *(*_HEAD, "devSeqLengths", "yDesc", "y", "dy", "xDesc", "dx"),
        *("hDesc", "hx", "dhy", "dhx", "cDesc", "cx", "dcy", "dcx"),
        *(SPACES, "weightSpace", *_SPACES),
    ),
    "cudnnRNNBackwardWeights_v8": (
        *(*_HEAD, "addGrad", "devSeqLengths", "xDesc", "x", "hDesc", "hx", "yDesc", "y"),
        *(SPACES, "dweightSpace", *_SPACES),
    ),
}
# The calls of before 8.0: what they log leaves sizes or types open.
OLD_CALLS = frozenset(
    {
        *("cudnnSetRNNDescriptor_v5", "cudnnSetRNNDescriptor_v6", "cudnnSetRNNDescriptor"),
        *("cudnnRNNForwardInference", "cudnnRNNForwardInferenceEx", "cudnnRNNForwardTraining"),
        *("cudnnRNNForwardTrainingEx", "cudnnRNNBackwardData", "cudnnRNNBackwardDataEx"),
        *("cudnnRNNBackwardWeights", "cudnnRNNBackwardWeightsEx"),
        *("cudnnFindRNNForwardInferenceAlgorithmEx", "cudnnFindRNNForwardTrainingAlgorithmEx"),
    }
)

# name: a scalar's type and value, the type of a descriptor that unfolds, or where memory lies. Only
# a value without a type ends without a semicolon.
_LINE = re.compile(
    r"(\w+): (?:type=(\w+)(?:; (?:val=([^;=]*);|val=(NULL)|\w+=[^;=]*;)|(:))"
    r"|location=\w+; addr=(?:NULL_PTR|\(nil\))?;)"
)
# After an array that is NULL the library forgets to end the line.
_UNENDED = re.compile(rf"(val={NULL})( +\w+: )")
_INDENT = 4  # of an argument, and the more of a descriptor's field
_PREFIX = "i! "

# A scalar's text, a descriptor, None for one that is NULL, or why one cannot be described.
Value = str | Descriptor | Unheld | None


def parse_arguments(name: str, text: str) -> dict[str, Value] | None:
    """The arguments of a call by name, in order.

    ``name``  the C name, one of SIGNATURES.
    ``text``  the lines of an entry between its first and ``Time:`` or the buffers, addresses left
              out.
    Returns   None if it is not written as cuDNN writes it.
    """
    arguments: dict[str, Value] = {}
    block = _Block()
    names: list[str] = []
    for line in _UNENDED.sub(r"\1;\n" + _PREFIX + r"\2", text).splitlines():
        content = line[len(_PREFIX) :].lstrip(" ")
        depth, odd = divmod(len(line) - len(_PREFIX) - len(content), _INDENT)
        match = _LINE.fullmatch(content)
        if not line.startswith(_PREFIX) or odd or match is None:
            return None
        argument, kind, plain, bare, unfolds = match.groups()
        value = plain or bare or ""
        if depth > 1:
            if not block.take(depth, argument, value, bool(unfolds)):
                return None
            continue
        names.append(argument)
        if not block.close(arguments):
            return None
        block = _Block(argument, kind) if unfolds else _Block()
        if not unfolds:
            arguments[argument] = None if value == NULL and kind in BY_TYPE else value
    due = SIGNATURES[name]
    if SPACES in due:
        due = due[: due.index(SPACES)]
    if name == _SIZES and "fwdMode" not in names:  # 8.5 leaves it out
        due = tuple(n for n in due if n != "fwdMode")
    return arguments if block.close(arguments) and tuple(names) == due else None


class _Block:
    """A descriptor that is being unfolded: its argument, its C type, and the fields so far."""

    def __init__(self, name: str = "", kind: str = "") -> None:
        self.name = name
        self._kind = kind
        self._fields: dict[str, str] = {}
        self._inner: list[str] = []

    def take(self, depth: int, name: str, value: str, unfolds: bool) -> bool:
        """Takes a field; ``depth`` 2 is the descriptor's own. False if it cannot be one."""
        del self._inner[max(depth - 2, 0) :]
        key = ".".join((*self._inner, name))
        if not self.name or len(self._inner) != depth - 2 or key in self._fields:
            return False
        self._fields[key] = value
        if unfolds:
            self._inner.append(name)
        return True

    def close(self, arguments: dict[str, Value]) -> bool:
        """Adds the descriptor to the arguments. False if fields are missing or malformed."""
        if not self.name:
            return True
        make = BY_TYPE.get(self._kind)
        if make is None:
            arguments[self.name] = ""  # its fields are no part of a problem
            return True
        try:
            arguments[self.name] = make(self._fields)
        except Unheld as why:
            arguments[self.name] = why
        except (KeyError, ValueError):
            return False
        return True
