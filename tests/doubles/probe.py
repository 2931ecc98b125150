"""Calls a cuDNN directly through ctypes: a second way to the same status numbers.

Run as a program: the library's path as argument, ``[[call, arguments], …]`` as JSON on stdin; the
status numbers come back as JSON. It imports nothing of pyharness.
"""

from __future__ import annotations

import ctypes as c
import json
import sys
from typing import Any


def _made(library: c.CDLL, kind: str) -> c.c_void_p:
    descriptor = c.c_void_p()
    status = getattr(library, f"cudnnCreate{kind}Descriptor")(c.byref(descriptor))
    assert status == 0, f"cudnnCreate{kind}Descriptor: {status}"
    return descriptor


def _ints(values: list[int]) -> Any:
    # Never an empty array: the library may look at the first entry of one that is said to be empty.
    return (c.c_int * max(len(values), 16))(*values)


def status_of(library: c.CDLL, call: str, arguments: list[Any]) -> int:
    """What the library says, on descriptors of its own for this one call."""
    function = getattr(library, call)
    if call == "cudnnSetRNNDescriptor_v8":
        *enums_and_sizes, dropout, aux_flags = arguments
        given = _made(library, "Dropout") if dropout else None
        rnn = _made(library, "RNN")
        values = [c.c_int(v) for v in enums_and_sizes]
        return int(function(rnn, *values, given, c.c_uint32(aux_flags)))
    if call.startswith("cudnnRNNSetClip"):
        cell, mode, nan_option, lclip, rclip = arguments
        rnn, dropout = _made(library, "RNN"), _made(library, "Dropout")
        plain = [0, cell, 2, 0, 0, 0, 0, 0, 64, 64, 64, 1]
        assert library.cudnnSetRNNDescriptor_v8(rnn, *plain, dropout, c.c_uint32(0)) == 0
        option = [] if nan_option == -1 else [c.c_int(nan_option)]
        return int(function(rnn, c.c_int(mode), *option, c.c_double(lclip), c.c_double(rclip)))
    if call == "cudnnSetRNNDataDescriptor":
        *numbers, fill, lengths = arguments
        padding = c.byref(c.c_double(0)) if fill else None
        values = [c.c_int(v) for v in numbers]
        return int(function(_made(library, "RNNData"), *values, _ints(lengths), padding))
    data_type, count, dims, strides = arguments
    tensor = _made(library, "Tensor")
    return int(function(tensor, c.c_int(data_type), c.c_int(count), _ints(dims), _ints(strides)))


if __name__ == "__main__":
    opened = c.CDLL(sys.argv[1])
    print(json.dumps([status_of(opened, *one) for one in json.load(sys.stdin)]))  # noqa: T201
