"""The emulated libcudnn called directly, so that also what the harness never does can be done."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_int, c_size_t, c_void_p
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyharness.spec.functions import FUNCTIONS
from tests.emulator.driver import Driver
from tests.emulator.networks import Net
from tests.emulator.types16 import from_bfloat16, to_bfloat16

FLOAT, DOUBLE, HALF, BFLOAT16 = 0, 1, 2, 9
UNPACKED, PACKED, BATCH_MAJOR = range(3)
STANDARD, STATIC, DYNAMIC, SMALL_H = range(4)
INFERENCE, TRAINING = range(2)
BYTES = {FLOAT: 4, DOUBLE: 8, HALF: 2, BFLOAT16: 2}
UNTOUCHED = 0x2A  # every byte of an output before a pass
Array = NDArray[np.float64]
_CALLBACK = ctypes.CFUNCTYPE(None, c_int, c_void_p, c_void_p, c_void_p)


def stored(values: Array, data_type: int) -> bytes:
    """Values as elements of a type, rounded to the nearest."""
    if data_type == BFLOAT16:
        return to_bfloat16(values).tobytes()
    kinds = {FLOAT: np.float32, DOUBLE: np.float64, HALF: np.float16}
    with np.errstate(over="ignore"):
        return values.astype(kinds[data_type]).tobytes()


def loaded(data: bytes, data_type: int) -> Array:
    """Elements of a type as values."""
    if data_type == BFLOAT16:
        return from_bfloat16(np.frombuffer(data, np.uint16))
    kinds = {FLOAT: np.float32, DOUBLE: np.float64, HALF: np.float16}
    return np.frombuffer(data, kinds[data_type]).astype(np.float64)


@dataclass(frozen=True)
class Case:
    """A network, a batch and how it lies in memory."""

    net: Net
    data_type: int = DOUBLE
    layout: int = UNPACKED
    algo: int = STANDARD
    padded_io: bool = True
    fill: float | None = None
    rate: float = 0.0
    seed: int = 1


class Cuda(Driver):
    """Only libcuda: the probe of its own tests is not needed here."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(os.environ["PYHARNESS_LIBCUDA"])


def _kind(text: str) -> type:
    if text.endswith(("*", "Descriptor_t", "Handle_t", "Stream_t", "Callback_t")):
        return c_void_p
    named: dict[str, type] = {
        "size_t": c_size_t,
        "float": ctypes.c_float,
        "double": ctypes.c_double,
        "unsigned long long": ctypes.c_ulonglong,
    }
    return named.get(text, c_int)


class Cudnn:
    """libcudnn beside a libcuda. ``reason`` is what it said last."""

    def __init__(self, cuda: Cuda) -> None:
        self.cuda = cuda
        beside = Path(os.environ["PYHARNESS_LIBCUDA"]).with_name("libcudnn.so.9")
        self.library = ctypes.CDLL(str(beside))
        self.reason = ""
        self._kinds = {f.name: [_kind(p) for p in f.parameters] for f in FUNCTIONS}
        self.library.cudnnGetErrorString.restype = ctypes.c_char_p
        self._callback = _CALLBACK(self._hear)  # kept alive as long as it may be called
        self.good("cudnnSetCallback", 6, None, ctypes.cast(self._callback, c_void_p))

    def call(self, name: str, *arguments: object) -> str:
        """The status of a call, by name."""
        self.reason = ""
        function = getattr(self.library, name)
        function.argtypes = self._kinds[name]
        text: bytes = self.library.cudnnGetErrorString(function(*arguments))
        return text.decode().removeprefix("CUDNN_STATUS_")

    def good(self, name: str, *arguments: object) -> None:
        status = self.call(name, *arguments)
        assert status == "SUCCESS", f"{name}: {status} {self.reason}"

    def made(self, name: str, *arguments: object) -> int:
        value = c_void_p()
        self.good(name, byref(value), *arguments)
        return value.value or 0

    def size(self, name: str, *arguments: object) -> int:
        value = c_size_t()
        self.good(name, *arguments, byref(value))
        return value.value

    def has(self, name: str) -> bool:
        """Whether the release has a function. ctypes itself may not be asked: it takes the loader
        for one that never finds a symbol at null, as it is where the release has none."""
        since = {f.name: f.since for f in FUNCTIONS}[name]
        return since is None or int(self.library.cudnnGetVersion()) >= since[0] * 10000

    def last_error(self) -> str:
        """What the release remembers, and "" where it remembers nothing."""
        if not self.has("cudnnGetLastErrorString"):
            return ""
        text = ctypes.create_string_buffer(4096)
        self.library.cudnnGetLastErrorString(text, c_size_t(4096))
        return text.value.decode()

    def _hear(self, _severity: int, _udata: int, _debug: int, message: int) -> None:
        while text := ctypes.string_at(message):
            if b"Reason: " in text:
                self.reason = text.split(b"Reason: ")[1].decode()
            message += len(text) + 1


class Session:
    """All that the passes of a case need, in the documented order.

    ``margin``  bytes before and behind each buffer that belong to its allocation.
    """

    def __init__(self, cudnn: Cudnn, case: Case, margin: int = 0) -> None:
        self.cudnn, self.cuda, self.case, self.margin = cudnn, cudnn.cuda, case, margin
        self.objects: list[tuple[str, int]] = []  # how to destroy each
        self.blocks: list[int] = []
        self.at: dict[str, int] = {}
        self.bytes: dict[str, int] = {}
        self.stream = self.cuda.stream()
        self.handle = self._object("cudnnCreate", "cudnnDestroy")
        cudnn.good("cudnnSetStream", self.handle, self.stream)
        self.dropout = self._descriptor("Dropout")
        self._set_dropout()
        self.rnn = self._descriptor("RNN")
        self.set_rnn()
        self.data = {name: self._descriptor("RNNData") for name in "xy"}
        self.set_data()
        self.tensors = {name: self._descriptor("Tensor") for name in "hc"}
        for name, tensor in self.tensors.items():
            self.set_tensor(tensor, self.state_shape(name))
        self.ask_sizes()
        if case.algo == DYNAMIC:
            cudnn.good("cudnnBuildRNNDynamic", self.handle, self.rnn, len(case.net.lengths))
        self._allocate()

    def _object(self, create: str, destroy: str) -> int:
        made = self.cudnn.made(create)
        self.objects.append((destroy, made))
        return made

    def _descriptor(self, kind: str) -> int:
        return self._object(f"cudnnCreate{kind}Descriptor", f"cudnnDestroy{kind}Descriptor")

    def alloc(self, name: str, size: int) -> None:
        block = self.cuda.alloc(size + 2 * self.margin)
        self.blocks.append(block)
        self.at[name], self.bytes[name] = block + self.margin, size

    def _set_dropout(self) -> None:
        states = 0
        if self.case.rate:
            states = self.cudnn.size("cudnnDropoutGetStatesSize", self.handle)
            self.alloc("states", states)
        self.cudnn.good(
            "cudnnSetDropoutDescriptor", self.dropout, self.handle, self.case.rate,
            self.at.get("states"), states, self.case.seed,
        )  # fmt: skip

    def set_rnn(self) -> None:
        case, net = self.case, self.case.net
        precision = DOUBLE if case.data_type == DOUBLE else FLOAT
        self.cudnn.good(
            "cudnnSetRNNDescriptor_v8", self.rnn, case.algo, net.cell, net.bias,
            net.directions - 1, int(net.skip_input), case.data_type, precision, 0,
            net.input_size, net.hidden_size, net.proj_size or net.hidden_size, net.num_layers,
            self.dropout, int(case.padded_io),
        )  # fmt: skip
        if net.clip is not None:
            self.cudnn.good(
                "cudnnRNNSetClip_v8", self.rnn, 1, int(net.clip_propagates_nan), *net.clip
            )

    def set_data(self, x_width: int | None = None, steps: int | None = None) -> None:
        case, net = self.case, self.case.net
        lengths = (c_int * len(net.lengths))(*net.lengths)
        fill = None if case.fill is None else stored(np.array([case.fill]), case.data_type)
        for name, width in (("x", x_width or net.input_size), ("y", net.outputs)):
            self.cudnn.good(
                "cudnnSetRNNDataDescriptor", self.data[name], case.data_type, case.layout,
                steps or net.steps, len(lengths), width, lengths, fill if name == "y" else None,
            )  # fmt: skip

    def state_shape(self, name: str) -> tuple[int, ...]:
        net = self.case.net
        width = net.hidden_size if name == "c" else net.proj_size or net.hidden_size
        return (net.num_layers * net.directions, len(net.lengths), width)

    def set_tensor(self, tensor: int, shape: tuple[int, ...]) -> None:
        strides = (shape[1] * shape[2], shape[2], 1)
        self.cudnn.good(
            "cudnnSetTensorNdDescriptor", tensor, self.case.data_type, 3,
            (c_int * 3)(*shape), (c_int * 3)(*strides),
        )  # fmt: skip

    def ask_sizes(self) -> None:
        """The sizes of the spaces, for inference and for training."""
        self.weight_bytes = self.cudnn.size("cudnnGetRNNWeightSpaceSize", self.handle, self.rnn)
        self.workspace_bytes = [0, 0]
        for mode in (INFERENCE, TRAINING):
            workspace, reserve = c_size_t(), c_size_t()
            self.cudnn.good(
                "cudnnGetRNNTempSpaceSizes", self.handle, self.rnn, mode, self.data["x"],
                byref(workspace), byref(reserve),
            )  # fmt: skip
            self.workspace_bytes[mode] = workspace.value
            self.reserve_bytes = reserve.value

    def _allocate(self) -> None:
        net, element = self.case.net, BYTES[self.case.data_type]
        vectors = net.steps * len(net.lengths)
        if self.case.layout == PACKED:
            vectors = sum(net.lengths)
        for names, count in (
            (("x", "dx"), vectors * net.input_size),
            (("y", "dy"), vectors * net.outputs),
            (("hx", "hy", "dhx", "dhy"), int(np.prod(self.state_shape("h")))),
            (("cx", "cy", "dcx", "dcy"), int(np.prod(self.state_shape("c")))),
        ):
            for name in names:
                self.alloc(name, count * element)
        for name in ("weights", "dweights"):
            self.alloc(name, self.weight_bytes)
        self.alloc("workspace", max(self.workspace_bytes))
        self.alloc("reserve", self.reserve_bytes)
        for name, size in self.bytes.items():
            if name != "states":
                self.cuda.write(self.at[name], bytes([UNTOUCHED]) * size)

    def close(self) -> None:
        """Gives everything back, each object once."""
        self.cuda.sync(self.stream)
        for destroy, made in reversed(self.objects):
            self.cudnn.good(destroy, made)
        for block in self.blocks:
            self.cuda.good("cuMemFree_v2", block)
        self.cuda.good("cuStreamDestroy_v2", self.stream)

    def raw(self, name: str) -> bytes:
        self.cuda.sync(self.stream)
        return self.cuda.read(self.at[name], self.bytes[name])

    def put(self, name: str, values: Array) -> None:
        """Writes a tensor; sequences are [steps, size, width], packed here."""
        self.cuda.write(self.at[name], stored(self._laid_out(name, values), self.case.data_type))

    def get(self, name: str) -> Array:
        """A tensor; the steps of sequences that are not there are NaN in the packed layout."""
        values = loaded(self.raw(name), self.case.data_type)
        net, width = self.case.net, self._width(name)
        if not width:
            return values
        shape = (net.steps, len(net.lengths), width)
        if self.case.layout == PACKED:
            made = np.full(shape, np.nan)
            made[net.inside] = values.reshape(-1, width)
            return made
        if self.case.layout == BATCH_MAJOR:
            values = values.reshape(shape[1], shape[0], width).swapaxes(0, 1)
        return values.reshape(shape)

    def _width(self, name: str) -> int:
        net = self.case.net
        return {"x": net.input_size, "y": net.outputs}.get(name.removeprefix("d"), 0)

    def _laid_out(self, name: str, values: Array) -> Array:
        if not self._width(name):
            return values.ravel()
        if self.case.layout == PACKED:
            values = values[self.case.net.inside]
        elif self.case.layout == BATCH_MAJOR:
            values = values.swapaxes(0, 1)
        return values.ravel()

    def forward(self, mode: int = TRAINING, **changes: object) -> str:
        at = self.at
        return self._pass(
            "cudnnRNNForward", changes, handle=self.handle, rnn=self.rnn, mode=mode,
            dev_seq_lengths=at.get("lengths"), x_desc=self.data["x"], x=at["x"],
            y_desc=self.data["y"], y=at["y"], h_desc=self.tensors["h"], hx=at["hx"], hy=at["hy"],
            c_desc=self.tensors["c"], cx=at["cx"], cy=at["cy"], weight_bytes=self.weight_bytes,
            weights=at["weights"], workspace_bytes=self.workspace_bytes[mode],
            workspace=at["workspace"], reserve_bytes=self.reserve_bytes, reserve=at["reserve"],
        )  # fmt: skip

    def backward_data(self, **changes: object) -> str:
        at = self.at
        return self._pass(
            "cudnnRNNBackwardData_v8", changes, handle=self.handle, rnn=self.rnn,
            dev_seq_lengths=at.get("lengths"), y_desc=self.data["y"], y=at["y"], dy=at["dy"],
            x_desc=self.data["x"], dx=at["dx"], h_desc=self.tensors["h"], hx=at["hx"],
            dhy=at["dhy"], dhx=at["dhx"], c_desc=self.tensors["c"], cx=at["cx"], dcy=at["dcy"],
            dcx=at["dcx"], weight_bytes=self.weight_bytes, weights=at["weights"],
            workspace_bytes=self.workspace_bytes[TRAINING], workspace=at["workspace"],
            reserve_bytes=self.reserve_bytes, reserve=at["reserve"],
        )  # fmt: skip

    def backward_weights(self, **changes: object) -> str:
        at = self.at
        return self._pass(
            "cudnnRNNBackwardWeights_v8", changes, handle=self.handle, rnn=self.rnn, mode=0,
            dev_seq_lengths=at.get("lengths"), x_desc=self.data["x"], x=at["x"],
            h_desc=self.tensors["h"], hx=at["hx"], y_desc=self.data["y"], y=at["y"],
            weight_bytes=self.weight_bytes, dweights=at["dweights"],
            workspace_bytes=self.workspace_bytes[TRAINING], workspace=at["workspace"],
            reserve_bytes=self.reserve_bytes, reserve=at["reserve"],
        )  # fmt: skip

    def _pass(self, function: str, changes: dict[str, object], **arguments: object) -> str:
        unknown = changes.keys() - arguments.keys()
        assert not unknown, unknown
        return self.cudnn.call(function, *{**arguments, **changes}.values())
