"""Captures and graphs of the emulated driver: scenes of test_capture.py."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from ctypes import byref
from itertools import pairwise

from tests.emulator.driver import Driver

GLOBAL, THREAD_LOCAL, RELAXED = range(3)


def replay(cuda: Driver, launches: int) -> dict[str, object]:
    """Two passes are captured and replayed, and timed as they are and as a graph."""
    cuda.open()
    stream = cuda.stream()
    cuda.good("cuStreamBeginCapture_v2", stream, THREAD_LOCAL)
    capturing = cuda.probe.probe_capturing(stream)
    cuda.run_pass(stream, 1000, name=1)
    cuda.run_pass(stream, 3000, name=2)
    error, graph = cuda.end_capture(stream)
    cuda.sync(stream)
    answer: dict[str, object] = {
        "capturing": [capturing, cuda.probe.probe_capturing(stream)],
        "captured": [error, graph != 0],
        "not run yet": cuda.done,
    }
    exec_ = cuda.made("cuGraphInstantiateWithFlags", graph, 0)
    cuda.good("cuGraphDestroy", graph)
    events = [cuda.record(stream)]
    for _ in range(launches):
        cuda.good("cuGraphLaunch", exec_, stream)
        events.append(cuda.record(stream))
    answer["launched"] = cuda.done
    cuda.sync(stream)
    answer["run"] = cuda.done
    answer["ns"] = [round(cuda.elapsed_ns(a, b), 2) for a, b in pairwise(events)]
    return answer


def memset_in_graph(cuda: Driver) -> list[object]:
    """A memset is replayed too, and flushes the cache each time."""
    cuda.open()
    stream, pointer = cuda.stream(), cuda.alloc(1000)
    cuda.write(pointer, b"\1" * 1000)
    cuda.good("cuStreamBeginCapture_v2", stream, THREAD_LOCAL)
    cuda.memset(pointer, 9, 1000, stream)
    cuda.run_pass(stream, 500, 70)
    graph = cuda.end_capture(stream)[1]
    exec_ = cuda.made("cuGraphInstantiateWithFlags", graph, 0)
    cuda.sync(stream)
    answer: list[object] = [cuda.read(pointer, 1)[0]]
    for _ in range(2):
        first = cuda.record(stream)
        cuda.good("cuGraphLaunch", exec_, stream)
        last = cuda.record(stream)
        cuda.sync(stream)
        answer.append(round(cuda.elapsed_ns(first, last), 2))
    return [*answer, cuda.read(pointer, 1)[0]]


def unsafe_calls(cuda: Driver) -> dict[str, Callable[[int], int]]:
    """Calls that no graph can hold, by name; each takes the stream."""
    pointer, event = cuda.alloc(8), cuda.event()
    host = ctypes.create_string_buffer(8)
    return {
        "cuMemAlloc_v2": lambda s: cuda.call("cuMemAlloc_v2", byref(ctypes.c_void_p()), 8),
        "cuMemFree_v2": lambda s: cuda.call("cuMemFree_v2", pointer),
        "cuMemcpyHtoD_v2": lambda s: cuda.call("cuMemcpyHtoD_v2", pointer, host, 8),
        "cuMemcpyDtoH_v2": lambda s: cuda.call("cuMemcpyDtoH_v2", host, pointer, 8),
        "cuStreamSynchronize": lambda s: cuda.call("cuStreamSynchronize", s),
        "cuCtxSynchronize": lambda s: cuda.call("cuCtxSynchronize"),
        "cuEventSynchronize": lambda s: cuda.call("cuEventSynchronize", event),
    }


def unsafe(cuda: Driver, mode: int, name: str, blocking: bool) -> dict[str, object]:
    """What an unsafe call answers, and what becomes of the capture."""
    cuda.open()
    stream = cuda.stream(0 if blocking else 1)
    call = unsafe_calls(cuda)[name]
    cuda.good("cuStreamBeginCapture_v2", stream, mode)
    answer: dict[str, object] = {"call": call(stream)}
    answer["then a pass"] = cuda.run_pass(stream)
    answer["end"] = list(cuda.end_capture(stream))
    answer["after"] = cuda.call("cuStreamSynchronize", stream)
    cuda.good("cuStreamBeginCapture_v2", stream, mode)
    answer["again"] = cuda.end_capture(stream)[0]
    return answer


def safe(cuda: Driver) -> list[int]:
    """Calls that a capture does not mind; the last answer is its end."""
    cuda.open()
    stream, other = cuda.stream(), cuda.stream()
    cuda.good("cuStreamBeginCapture_v2", stream, THREAD_LOCAL)
    cuda.free_bytes()
    event = cuda.event()
    cuda.record(other, event)
    cuda.sync(other)
    cuda.good("cuEventDestroy_v2", event)
    answers: list[int] = []

    def elsewhere() -> None:
        context = cuda.made("cuDevicePrimaryCtxRetain", 0)
        cuda.good("cuCtxSetCurrent", context)
        answers.append(cuda.call("cuMemAlloc_v2", byref(ctypes.c_void_p()), 8))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    return [*answers, cuda.end_capture(stream)[0]]


def other_thread_spoils_global(cuda: Driver) -> list[int]:
    context = cuda.open()
    stream = cuda.stream()
    cuda.good("cuStreamBeginCapture_v2", stream, GLOBAL)
    answers: list[int] = []

    def elsewhere() -> None:
        cuda.good("cuCtxSetCurrent", context)
        answers.append(cuda.call("cuMemAlloc_v2", byref(ctypes.c_void_p()), 8))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    return [*answers, cuda.end_capture(stream)[0]]


def ends(cuda: Driver) -> dict[str, object]:
    """Captures that begin or end where they must not."""
    context = cuda.open()
    stream = cuda.stream()
    answer: dict[str, object] = {
        "null stream": cuda.call("cuStreamBeginCapture_v2", None, THREAD_LOCAL),
        "mode": cuda.call("cuStreamBeginCapture_v2", stream, 3),
        "none": cuda.end_capture(stream)[0],
    }
    cuda.good("cuStreamBeginCapture_v2", stream, THREAD_LOCAL)
    answer["twice"] = cuda.call("cuStreamBeginCapture_v2", stream, THREAD_LOCAL)

    def elsewhere() -> None:
        cuda.good("cuCtxSetCurrent", context)
        answer["other thread"] = cuda.end_capture(stream)[0]

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    answer["spoiled"] = cuda.end_capture(stream)[0]
    cuda.good("cuStreamBeginCapture_v2", stream, THREAD_LOCAL)
    event = cuda.record(stream)
    answer["captured event"] = cuda.call(
        "cuEventElapsedTime", byref(ctypes.c_float()), event, event
    )
    answer["good"] = cuda.end_capture(stream)[0]
    answer["waited for"] = cuda.call("cuEventSynchronize", event)
    cuda.good("cuStreamBeginCapture_v2", stream, THREAD_LOCAL)
    cuda.probe.probe_spoil(stream)
    answer["spoiled by a pass"] = cuda.end_capture(stream)[0]
    return answer


def uncapturable(cuda: Driver) -> list[int]:
    """A memset, outside and inside of a capture, and the capture's end."""
    cuda.open()
    stream, pointer = cuda.stream(), cuda.alloc(8)
    cuda.memset(pointer, 0, 8, stream)
    cuda.good("cuStreamBeginCapture_v2", stream, THREAD_LOCAL)
    inside = cuda.call("cuMemsetD8Async", pointer, 0, 8, stream)
    return [inside, cuda.end_capture(stream)[0]]
