"""The emulator's network called from Python: a description, arrays in, arrays out."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.doubles.build import build_shared

HERE = Path(__file__).parent
RELU, TANH, LSTM, GRU = range(4)
NO_BIAS, SINGLE_INPUT_BIAS, DOUBLE_BIAS, SINGLE_RECURRENT_BIAS = range(4)
GATES = {RELU: 1, TANH: 1, LSTM: 4, GRU: 3}

# What outputs hold before a pass: what it must not write still has it after.
UNTOUCHED = 7.25
Array = NDArray[np.float64]
Arrays = dict[str, Array | None]  # None: a null pointer


class Part(NamedTuple):
    pseudo_layer: int
    lin_layer_id: int
    matrix: bool
    rows: int
    cols: int
    offset: int


class _Shape(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int) for name in ("cell", "bias", "directions", "skip_input")),
        *((name, ctypes.c_int) for name in ("input_size", "hidden_size", "proj_size")),
        *((name, ctypes.c_int) for name in ("num_layers", "clips", "clip_propagates_nan")),
        ("lclip", ctypes.c_double),
        ("rclip", ctypes.c_double),
        ("steps", ctypes.c_int),
        ("size", ctypes.c_int),
        ("lengths", ctypes.POINTER(ctypes.c_int)),
    )


@dataclass(frozen=True)
class Net:
    """A network and a batch. ``proj_size`` None: no projection. ``clip`` None: none."""

    cell: int
    steps: int
    lengths: tuple[int, ...]
    bias: int = DOUBLE_BIAS
    directions: int = 1
    skip_input: bool = False
    input_size: int = 3
    hidden_size: int = 3
    proj_size: int | None = None
    num_layers: int = 1
    clip: tuple[float, float] | None = None
    clip_propagates_nan: bool = False

    @property
    def outputs(self) -> int:
        return (self.proj_size or self.hidden_size) * self.directions

    @property
    def inside(self) -> NDArray[np.bool_]:
        """[steps, size]: the steps before each sequence's end."""
        return np.arange(self.steps)[:, None] < np.array(self.lengths)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        rows, states = (self.steps, len(self.lengths)), self.num_layers * self.directions
        return {
            "x": (*rows, self.input_size),
            "y": (*rows, self.outputs),
            "h": (states, rows[1], self.proj_size or self.hidden_size),
            "c": (states, rows[1], self.hidden_size if self.cell == LSTM else 0),
            "mask": (self.num_layers - 1, *rows, self.outputs),
        }

    def shape(self) -> _Shape:
        lclip, rclip = self.clip or (0.0, 0.0)
        return _Shape(
            self.cell, self.bias, self.directions, self.skip_input, self.input_size,
            self.hidden_size, self.proj_size or self.hidden_size, self.num_layers,
            self.clip is not None, self.clip_propagates_nan, lclip, rclip, self.steps,
            len(self.lengths), (ctypes.c_int * len(self.lengths))(*self.lengths),
        )  # fmt: skip


class Probe:
    def __init__(self, folder: Path, *options: str) -> None:
        sources = [*sorted(HERE.glob("network_*.cpp")), HERE / "probe" / "network_probe.cpp"]
        csrc = HERE.parents[1] / "csrc"
        built = build_shared(
            folder / "network_probe.so", "-O2", f"-I{HERE}", f"-I{csrc}", *options,
            *map(str, sources),
        )  # fmt: skip
        self._library = ctypes.CDLL(str(built))
        self._library.probe_weight_count.restype = ctypes.c_longlong
        self._library.probe_tape_count.restype = ctypes.c_longlong

    def parts(self, net: Net) -> list[Part]:
        room = 10_000
        numbers = np.zeros((room, 6), np.int64)
        count = self._library.probe_parts(
            ctypes.byref(net.shape()), numbers.ctypes.data_as(ctypes.c_void_p), room
        )
        return [Part(p, i, bool(m), r, c, o) for p, i, m, r, c, o in numbers[:count].tolist()]

    def weight_count(self, net: Net) -> int:
        return int(self._library.probe_weight_count(ctypes.byref(net.shape())))

    def tape_count(self, net: Net) -> int:
        return int(self._library.probe_tape_count(ctypes.byref(net.shape())))

    def inference(self, net: Net, given: Arrays) -> dict[str, Array]:
        """``given``: weights, x, hx, cx, mask. Returns y, hy, cy."""
        return self._forward(net, given, None)

    def training(self, net: Net, given: Arrays, incoming: Arrays) -> dict[str, Array]:
        """``incoming``: dy, dhy, dcy. Returns y, hy, cy, dx, dhx, dcx, dweights; these last
        were added to UNTOUCHED."""
        count, behind = self.tape_count(net), 16
        tape = np.full(count + behind, np.nan)
        tape[count:] = UNTOUCHED
        found = self._forward(net, given, tape)
        shapes = net.shapes()
        for name, kind in (("dx", "x"), ("dhx", "h"), ("dcx", "c")):
            found[name] = np.full(shapes[kind], UNTOUCHED)
        self._call(
            "probe_backward_data", net,
            *(given[name] for name in ("weights", "hx", "cx", "mask")),
            *(incoming[name] for name in ("dy", "dhy", "dcy")),
            found["dx"], found["dhx"], found["dcx"], tape,
        )  # fmt: skip
        found["dweights"] = np.full(self.weight_count(net), UNTOUCHED)
        self._call(
            "probe_backward_weights", net,
            given["x"], given["hx"], given["mask"], tape, found["dweights"],
        )  # fmt: skip
        assert (tape[count:] == UNTOUCHED).all(), "the tape is longer than tape_count"
        return found

    def _forward(self, net: Net, given: Arrays, tape: Array | None) -> dict[str, Array]:
        shapes = net.shapes()
        found = {name: np.full(shapes[kind], UNTOUCHED) for name, kind in OUTPUTS.items()}
        self._call(
            "probe_forward", net,
            *(given[name] for name in ("weights", "x", "hx", "cx", "mask")),
            *found.values(), tape,
        )  # fmt: skip
        return found

    def _call(self, function: str, net: Net, *arrays: Array | None) -> None:
        assert all(a is None or (a.dtype == np.float64 and a.flags.c_contiguous) for a in arrays)
        pointers = [None if array is None else array.ctypes.data for array in arrays]
        getattr(self._library, function)(
            ctypes.byref(net.shape()), (ctypes.c_void_p * len(pointers))(*pointers)
        )


OUTPUTS = {"y": "y", "hy": "h", "cy": "c"}


def random_inputs(
    net: Net, probe: Probe, random: np.random.Generator, nulls: float = 0.0, dropout: float = 0.0
) -> tuple[Arrays, Arrays]:
    """What the passes are given and the incoming gradients; what must not be read is NaN.

    ``nulls``    how often a state or an incoming gradient is a null pointer.
    ``dropout``  0: no mask.
    """
    shapes = net.shapes()
    scale = net.hidden_size**-0.5
    given: Arrays = {
        "weights": random.uniform(-scale, scale, probe.weight_count(net)),
        "x": random.standard_normal(shapes["x"]),
        "hx": random.standard_normal(shapes["h"]),
        "cx": random.standard_normal(shapes["c"]),
        "mask": (random.random(shapes["mask"]) >= dropout) / (1 - dropout) if dropout else None,
    }
    incoming: Arrays = {
        "dy": random.standard_normal(shapes["y"]),
        "dhy": random.standard_normal(shapes["h"]),
        "dcy": random.standard_normal(shapes["c"]),
    }
    for arrays, name, sequence_axis in ((given, "x", 0), (incoming, "dy", 0), (given, "mask", 1)):
        array = arrays[name]
        if array is not None:
            outside = ~net.inside if sequence_axis == 0 else np.s_[:, ~net.inside]
            array[outside] = np.nan
    for arrays, name in (
        (given, "hx"), (given, "cx"), (incoming, "dy"), (incoming, "dhy"), (incoming, "dcy"),
    ):  # fmt: skip
        if random.random() < nulls:
            arrays[name] = None
    return given, incoming
