"""What is done with the emulated libcudnn, to see what comes of it: in processes of their own."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from ctypes import byref, c_void_p
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from pyharness.spec.functions import FUNCTIONS
from tests.emulator import direct
from tests.emulator.direct import INFERENCE, Array, Case, Cuda, Cudnn, Session
from tests.emulator.networks import LSTM, RELU, Net

PLAIN = Case(Net(LSTM, 4, (4, 4, 4), num_layers=2, hidden_size=4))
# These answer with no status, or have answered before the test begins.
NO_STATUS = (
    "cudnnGetVersion",
    "cudnnGetErrorString",
    "cudnnGetLastErrorString",
    "cudnnSetCallback",
)
OUTPUTS = ("y", "hy", "cy", "dx", "dhx", "dcx", "dweights")


def opened() -> Cudnn:
    """Both libraries, with a current context."""
    cuda = Cuda()
    cuda.open()
    return Cudnn(cuda)


def report() -> list[str]:
    """The violations so far, as "function: what"."""
    path = Path(os.environ["PYHARNESS_EMULATOR_REPORT"])
    return path.read_text().splitlines() if path.exists() else []


def _passes(session: Session) -> None:
    for status in (session.forward(), session.backward_data(), session.backward_weights()):
        assert status == "SUCCESS", session.cudnn.reason


def numbers(cases: list[tuple[Case, dict[str, Array]]]) -> list[dict[str, Array]]:
    """For each case and its inputs, what a training step writes; y of inference as "inference".

    A state or gradient that is not among the inputs is a null pointer.
    """
    cudnn, found = opened(), []
    for case, inputs in cases:
        session = Session(cudnn, case)
        for name, values in inputs.items():
            session.put(name, values)
        missing = {name for name in ("hx", "cx", "dhy", "dcy") if name not in inputs}
        at_first: dict[str, Any] = dict.fromkeys(missing & {"hx", "cx"})
        assert session.forward(INFERENCE, **at_first) == "SUCCESS", cudnn.reason
        one = {"inference": session.get("y")}
        assert session.forward(**at_first) == "SUCCESS", cudnn.reason
        assert session.backward_data(**dict.fromkeys(missing)) == "SUCCESS", cudnn.reason
        hx: dict[str, Any] = dict.fromkeys(missing & {"hx"})
        assert session.backward_weights(**hx) == "SUCCESS", cudnn.reason
        one.update({name: session.get(name) for name in OUTPUTS})
        found.append(one)
        session.close()
    assert report() == []
    return found


def identity(case: Case, x: Array, dy: Array) -> tuple[bytes, bytes]:
    """y and dx of a network of relu cells that hands on what it gets, as bytes."""
    session = Session(opened(), case)
    session.put("x", x)
    session.put("dy", dy)
    session.cuda.write(session.at["weights"], bytes(session.weight_bytes))
    assert session.forward(hx=None) == "SUCCESS", session.cudnn.reason
    assert session.backward_data(hx=None, dhy=None, dhx=None) == "SUCCESS"
    return session.raw("y"), session.raw("dx")


def products(case: Case, x: Array, weight: Array) -> bytes:
    """y of relu cells with one diagonal input matrix, as bytes."""
    session = Session(opened(), case)
    matrix = np.zeros(session.weight_bytes // direct.BYTES[case.data_type])
    size = case.net.hidden_size
    matrix[: size * size].reshape(size, size)[np.diag_indices(size)] = weight
    session.put("weights", matrix)
    session.put("x", x)
    assert session.forward(INFERENCE, hx=None) == "SUCCESS", session.cudnn.reason
    return session.raw("y")


def dropout(rate: float, seeds: list[int]) -> list[list[Array]]:
    """For each seed: the masks of two training passes as y / x, and of the backward pass of the
    second as dx / dy; y / x of inference last."""
    cudnn, found = opened(), []
    size = 16
    net = Net(RELU, 5, (5,) * 40, bias=0, skip_input=True, num_layers=2,
              input_size=size, hidden_size=size)  # fmt: skip
    for seed in seeds:
        session = Session(cudnn, Case(net, rate=rate, seed=seed))
        # Layer 0 has no input matrix; the one of layer 1 is the identity, what is on h is zero.
        matrix, address = cudnn.made("cudnnCreateTensorDescriptor"), c_void_p()
        bias, nothing = cudnn.made("cudnnCreateTensorDescriptor"), c_void_p()
        cudnn.good(
            "cudnnGetRNNWeightParams", session.handle, session.rnn, 1, session.weight_bytes,
            session.at["weights"], 0, matrix, byref(address), bias, byref(nothing),
        )  # fmt: skip
        session.cuda.write(session.at["weights"], bytes(session.weight_bytes))
        session.cuda.write(address.value or 0, np.eye(size).tobytes())
        ones = np.ones((net.steps, len(net.lengths), size))
        session.put("x", ones)
        session.put("dy", ones)
        masks = []
        for _ in range(2):
            assert session.forward(hx=None) == "SUCCESS", cudnn.reason
            masks.append(session.get("y"))
        assert session.backward_data(hx=None, dhy=None, dhx=None) == "SUCCESS"
        masks.append(session.get("dx"))
        assert session.forward(INFERENCE, hx=None) == "SUCCESS"
        masks.append(session.get("y"))
        found.append(masks)
    assert report() == []
    return found


def leaves(what: str) -> list[str]:
    """The report after the context was released with something left in it."""
    cudnn = opened()
    session = Session(cudnn, PLAIN)
    _passes(session)
    if what == "descriptor":
        cudnn.made("cudnnCreateTensorDescriptor")
    if what == "handle":
        cudnn.made("cudnnCreate")
    session.close()
    cudnn.cuda.good("cuDevicePrimaryCtxRelease_v2", 0)
    return report()


def without_context() -> tuple[str, str]:
    """cudnnCreate before there is a context: status and reason."""
    cudnn = Cudnn(Cuda())
    return cudnn.call("cudnnCreate", byref(c_void_p())), cudnn.reason


def handle() -> tuple[str, str]:
    """cudnnCreate with a context: status and reason."""
    cudnn = opened()
    return cudnn.call("cudnnCreate", byref(c_void_p())), cudnn.reason


def each_function() -> dict[str, str]:
    """The status of every function's first call, with null arguments."""
    cudnn = opened()
    return {
        f.name: cudnn.call(f.name, *(0 for _ in f.parameters))
        for f in FUNCTIONS
        if f.name not in NO_STATUS and cudnn.has(f.name)
    }


def create_statuses(count: int) -> list[str]:
    """The statuses of so many calls that create a descriptor."""
    cudnn = Cudnn(Cuda())
    return [cudnn.call("cudnnCreateRNNDescriptor", byref(c_void_p())) for _ in range(count)]


def damaged(steps: list[str]) -> list[dict[str, tuple[bytes, bytes, bytes]]]:
    """Runs so many training steps on the same inputs.

    Returns  for each step and buffer that is written: the bytes before it, its own and those
             behind it.
    """
    cudnn, margin = opened(), 256
    session = Session(cudnn, PLAIN, margin)
    random = np.random.default_rng(7)
    for name in ("x", "dy", "hx", "cx", "dhy", "dcy", "weights"):
        size = session.bytes[name] // 8
        values = random.uniform(-0.5, 0.5, size)
        session.cuda.write(session.at[name], values.tobytes())
    found = []
    for _ in steps:
        for name in (*OUTPUTS, "workspace", "reserve"):
            at, size = session.at[name] - margin, session.bytes[name] + 2 * margin
            session.cuda.write(at, bytes([direct.UNTOUCHED]) * size)
        session.cuda.write(session.at["dweights"], bytes(session.bytes["dweights"]))
        _passes(session)
        session.cuda.sync(session.stream)
        one = {}
        for name in (*OUTPUTS, "workspace", "reserve"):
            size = session.bytes[name]
            data = session.cuda.read(session.at[name] - margin, size + 2 * margin)
            one[name] = (data[:margin], data[margin : margin + size], data[margin + size :])
        found.append(one)
    assert report() == []
    return found


def sticky() -> tuple[str, int, str, str]:
    """A forward pass that fails on the device: its status, that of the wait, and those of the next
    pass and its reason."""
    session = Session(opened(), PLAIN)
    first = session.forward()
    waited = session.cuda.call("cuStreamSynchronize", session.stream)
    return first, waited, session.forward(), session.cudnn.reason


def captured(alone: bool) -> tuple[int, list[str]]:
    """A training step captured and launched twice; with ``alone`` only its backward data pass.

    Returns  the result of ending the capture, the violations.
    """
    session = Session(opened(), PLAIN)
    cuda = session.cuda
    if alone:
        assert session.forward() == "SUCCESS"
        cuda.sync(session.stream)
    cuda.good("cuStreamBeginCapture_v2", session.stream, 1)
    if alone:
        assert session.backward_data() == "SUCCESS", session.cudnn.reason
    else:
        # Stops at the first that is refused.
        all(run() == "SUCCESS" for run in (session.forward, session.backward_data,
                                           session.backward_weights))  # fmt: skip
    error, graph = cuda.end_capture(session.stream)
    if error == 0:
        launcher = cuda.made("cuGraphInstantiateWithFlags", graph, 0)
        for _ in range(2):
            cuda.good("cuGraphLaunch", launcher, session.stream)
        cuda.sync(session.stream)
    return error, report()


def captured_between() -> tuple[str, list[str]]:
    """A step whose backward data pass alone is a graph's, with no wait between: the status of the
    last pass, the violations."""
    session = Session(opened(), PLAIN)
    cuda = session.cuda
    assert session.forward() == "SUCCESS"
    cuda.sync(session.stream)
    cuda.good("cuStreamBeginCapture_v2", session.stream, 1)
    assert session.backward_data() == "SUCCESS"
    _, graph = cuda.end_capture(session.stream)
    launcher = cuda.made("cuGraphInstantiateWithFlags", graph, 0)
    assert session.forward() == "SUCCESS"
    cuda.good("cuGraphLaunch", launcher, session.stream)
    status = session.backward_weights()
    cuda.sync(session.stream)
    return status, report()


def costs() -> tuple[list[float], list[float]]:
    """The device time of each pass of a step in ns, and the host time of each call in s."""
    session = Session(opened(), PLAIN)
    cuda = session.cuda
    events, host = [cuda.record(session.stream)], []
    passes: list[Callable[[], str]] = [
        lambda: session.forward(INFERENCE),
        session.forward,
        session.backward_data,
        session.backward_weights,
    ]
    for run in passes:
        start = time.perf_counter()
        assert run() == "SUCCESS"
        host.append(time.perf_counter() - start)
        events.append(cuda.record(session.stream))
    cuda.sync(session.stream)
    times = [cuda.elapsed_ns(a, b) for a, b in pairwise(events)]
    return times, host


def untouched() -> bool:
    """Whether a step wrote nothing to its tensors."""
    session = Session(opened(), PLAIN)
    _passes(session)
    return all(set(session.raw(name)) == {direct.UNTOUCHED} for name in OUTPUTS)


def sizes(cases: list[Case]) -> list[tuple[int, list[int], int]]:
    """Weight space, workspaces of inference and training, reserve space in bytes."""
    cudnn = opened()
    found = []
    for case in cases:
        session = Session(cudnn, case)
        found.append((session.weight_bytes, session.workspace_bytes, session.reserve_bytes))
        session.close()
    return found


def weight_parts(
    case: Case, null: bool
) -> list[tuple[int, int, list[int] | None, int, list[int] | None, int]]:
    """For every pseudo-layer and lin_layer_id: shapes and offsets of matrix and bias; None and -1
    where there is none."""
    session = Session(opened(), case)
    cudnn = session.cudnn
    matrix, bias = (cudnn.made("cudnnCreateTensorDescriptor") for _ in range(2))
    base = 0 if null else session.at["weights"]
    found = []
    for pseudo_layer in range(case.net.num_layers * case.net.directions):
        for lin_layer_id in range(9):
            at = c_void_p(), c_void_p()
            cudnn.good(
                "cudnnGetRNNWeightParams", session.handle, session.rnn, pseudo_layer,
                session.weight_bytes, base or None, lin_layer_id, matrix, byref(at[0]), bias,
                byref(at[1]),
            )  # fmt: skip
            shapes = [_shape(cudnn, tensor) for tensor in (matrix, bias)]
            offsets = [
                -1 if shape is None else (address.value or 0) - base
                for shape, address in zip(shapes, at, strict=True)
            ]
            found.append((pseudo_layer, lin_layer_id, shapes[0], offsets[0], shapes[1], offsets[1]))
    return found


def _shape(cudnn: Cudnn, tensor: int) -> list[int] | None:
    data_type, count = ctypes.c_int(), ctypes.c_int()
    dims, strides = (ctypes.c_int * 8)(), (ctypes.c_int * 8)()
    cudnn.good(
        "cudnnGetTensorNdDescriptor", tensor, 8, byref(data_type), byref(count), dims, strides
    )
    return list(dims[: count.value]) or None
