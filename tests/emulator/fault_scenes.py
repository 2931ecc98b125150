"""Planted faults and what is left behind: scenes of test_faults.py."""

from __future__ import annotations

import ctypes
import signal
from ctypes import byref

from tests.emulator.driver import SIGNATURES, Driver


def every_call(cuda: Driver) -> dict[str, list[int]]:
    """The first and the second answer of every function, made with arguments that mean nothing."""
    cuda.open()
    answers = {}
    for name, types in SIGNATURES.items():
        if name in {"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2"}:
            continue
        zeros = [None if kind is ctypes.c_void_p else kind(0) for kind in types]
        answers[name] = [cuda.call(name, *zeros) for _ in range(2)]
    return answers


def allocations(cuda: Driver, count: int) -> list[int]:
    cuda.open()
    return [cuda.call("cuMemAlloc_v2", byref(ctypes.c_void_p()), 512) for _ in range(count)]


def sticky(cuda: Driver, how: str) -> dict[str, object]:
    """What is answered from a failing piece of work on."""
    cuda.open()
    pointer, stream = cuda.alloc(64), cuda.stream()
    cuda.run_pass(stream, name=1)
    if how == "pass":
        assert cuda.probe.probe_sticky_pass(stream)
        queued = 0
    else:
        queued = cuda.call("cuMemsetD8Async", pointer, 0, 64, stream)
    event = cuda.record(stream)
    cuda.run_pass(stream, name=2)
    return {
        "queued": queued,
        "sync": cuda.call("cuStreamSynchronize", stream),
        "done": cuda.done,
        "usable": cuda.probe.probe_usable(),
        "free": cuda.call("cuMemFree_v2", pointer),
        "event": cuda.call("cuEventSynchronize", event),
        "pass": cuda.run_pass(stream),
        "release": cuda.call("cuDevicePrimaryCtxRelease_v2", 0),
        "retain": cuda.call("cuDevicePrimaryCtxRetain", byref(ctypes.c_void_p()), 0),
    }


def entered(cuda: Driver, function: str, count: int) -> list[str]:
    return [cuda.enter(function) for _ in range(count)]


def configured(cuda: Driver, text: str, key: str) -> float:
    cuda.probe.probe_configure(text.encode())
    return float(cuda.probe.probe_number(key.encode(), -1.0))


def initialise(cuda: Driver) -> int:
    return cuda.call("cuInit", 0)


def hang_for(cuda: Driver, seconds: float) -> None:
    """Initialises, and is ended by SIGALRM if that does not come back."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    cuda.call("cuInit", 0)


def leave(cuda: Driver, kinds: list[str]) -> int:
    """Makes one of each kind, destroys those that are not named, and releases the context."""
    cuda.open()
    stream = cuda.stream()
    cuda.good("cuStreamBeginCapture_v2", stream, 1)
    graph = cuda.end_capture(stream)[1]
    exec_ = cuda.made("cuGraphInstantiateWithFlags", graph, 0)
    cuda.probe.probe_created(ctypes.c_void_p(16))
    made = {
        "allocation": ("cuMemFree_v2", cuda.alloc(100)),
        "event": ("cuEventDestroy_v2", cuda.event()),
        "graph": ("cuGraphDestroy", graph),
        "executable graph": ("cuGraphExecDestroy", exec_),
        "stream": ("cuStreamDestroy_v2", stream),
    }
    for kind, (function, handle) in made.items():
        if kind not in kinds:
            cuda.good(function, handle)
    if "handle" not in kinds:
        assert cuda.probe.probe_destroyed(ctypes.c_void_p(16))
    return cuda.call("cuDevicePrimaryCtxRelease_v2", 0)


def destroyed_twice(cuda: Driver) -> list[bool]:
    cuda.probe.probe_created(ctypes.c_void_p(16))
    return [bool(cuda.probe.probe_destroyed(ctypes.c_void_p(16))) for _ in range(2)]


def settings_of_a_release(cuda: Driver, library: str, key: str) -> list[float]:
    """A setting before and after the release's libcudnn was loaded, and the number of cards."""
    before = cuda.probe.probe_number(key.encode(), -1.0)
    ctypes.CDLL(library)
    after = cuda.probe.probe_number(key.encode(), -1.0)
    return [before, after, cuda.probe.probe_number(b"devices", 1.0)]
