"""A program that uses cuDNN's RNN API without a GPU, for its log: run as a process of its own.

``program.py LIBRARY`` with a JSON list on stdin: for each item the arguments of every call. Calls
that need a GPU get no handle: they are refused, but logged in full.
"""

from __future__ import annotations

import ctypes as ct
import json
import os
import sys
import threading
from typing import Any

RNN = (
    *("algo", "cell_mode", "bias_mode", "direction_mode", "input_mode", "data_type", "math_prec"),
    *("math_type", "input_size", "hidden_size", "proj_size", "num_layers"),
)
ADDRESSES = iter(range(0x7F0000001000, 0x7FFFFFFFF000, 0x1000))


class Library:
    """The calls, by the arguments of an item."""

    def __init__(self, path: str) -> None:
        self.lib = ct.CDLL(path)
        self.lib.cudnnGetVersion.restype = ct.c_size_t
        self.version = self.lib.cudnnGetVersion()

    def made(self, kind: str) -> ct.c_void_p:
        descriptor = ct.c_void_p()
        assert getattr(self.lib, f"cudnnCreate{kind}")(ct.byref(descriptor)) == 0
        return descriptor

    def data(self, item: dict[str, Any], width: int, lengths: list[int]) -> ct.c_void_p:
        made = self.made("RNNDataDescriptor")
        array = (ct.c_int * max(len(lengths), 1))(*lengths)
        fill = ct.byref(ct.c_double(1.0)) if item.get("fill") else None
        self.lib.cudnnSetRNNDataDescriptor(
            made,
            item.get("data_data_type", item["data_type"]),
            item["layout"],
            item["max_seq_length"],
            len(lengths),
            width,
            array,
            fill,
        )
        return made

    def tensor(self, data_type: int, dims: list[int]) -> ct.c_void_p:
        made, strides = self.made("TensorDescriptor"), [1] * len(dims)
        for i in reversed(range(len(dims) - 1)):
            strides[i] = strides[i + 1] * dims[i + 1]
        array = ct.c_int * len(dims)
        self.lib.cudnnSetTensorNdDescriptor(
            made, data_type, len(dims), array(*dims), array(*strides)
        )
        return made

    def run(self, item: dict[str, Any]) -> None:
        """All calls of an item: ``only`` descriptor or data, or the whole of a training step."""
        lib, only = self.lib, item.get("only")
        if only == "data":
            self.data(item, item["vector_size"], item["seq_lengths"])
            return
        rnn = self.made("RNNDescriptor")
        dropout = self.made("DropoutDescriptor") if item["dropout"] else None
        lib.cudnnSetRNNDescriptor_v8(rnn, *(item[n] for n in RNN), dropout, item["aux_flags"])
        if "clip" in item:
            bounds = [ct.c_double(bound) for bound in item["clip"]]
            if self.version >= 90000:
                lib.cudnnRNNSetClip_v9(rnn, 1, *bounds)
            else:
                lib.cudnnRNNSetClip_v8(rnn, 1, 0, *bounds)
        if only == "descriptor":
            return
        lengths = item["seq_lengths"]
        width = item["proj_size"] * (1 + item["direction_mode"])
        x = self.data(item, item.get("x_width", item["input_size"]), lengths)
        y = self.data(item, item.get("y_width", width), item.get("y_lengths", lengths))
        outer = item["num_layers"] * (1 + item["direction_mode"])
        h_dims = item.get("h_dims", [outer, len(lengths), item["proj_size"]])
        h = self.tensor(item["data_type"], h_dims)
        c = self.tensor(item["data_type"], [outer, len(lengths), item["hidden_size"]])
        size = ct.c_size_t()
        lib.cudnnGetRNNWeightSpaceSize(None, rnn, ct.byref(size))
        for mode in item["modes"]:
            lib.cudnnGetRNNTempSpaceSizes(None, rnn, mode, x, ct.byref(size), ct.byref(size))
            self.step(rnn, mode, (x, y, h, c))

    def step(self, rnn: ct.c_void_p, mode: int, of: tuple[ct.c_void_p, ...]) -> None:
        """One forward call, and the two backward calls after a forward of training."""
        x, y, h, c = of
        at = [ct.c_void_p(next(ADDRESSES)) for _ in range(4)]
        null, size = None, ct.c_size_t(17)
        buffers = (size, at[2], size, at[3], size, null)
        self.lib.cudnnRNNForward(
            *(null, rnn, mode, null, x, at[0], y, at[1], h, null, null, c, null, null),
            *buffers,
        )
        if mode == 1:
            self.lib.cudnnRNNBackwardData_v8(
                *(null, rnn, null, y, at[0], at[1], x, at[0], h, null, null, null),
                *(c, null, null, null),
                *buffers,
            )
            self.lib.cudnnRNNBackwardWeights_v8(
                *(null, rnn, 0, null, x, at[0], h, null, y, at[1]), *buffers
            )


def main() -> None:
    library = Library(sys.argv[1])
    items = json.load(sys.stdin)
    threads = int(os.environ.get("THREADS", "1"))

    def work(which: int) -> None:
        for item in items[which::threads]:
            library.run(item)

    if threads == 1:
        work(0)
    else:
        several = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
        for thread in several:
            thread.start()
        for thread in several:
            thread.join()
    ct.CDLL(None).fflush(None)
    os._exit(0)  # some releases crash in their exit handlers when no driver is there


if __name__ == "__main__":
    main()
