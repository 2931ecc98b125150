"""Streams, events and the virtual clock of the emulated driver: scenes."""

from __future__ import annotations

import ctypes
from ctypes import byref

from tests.emulator.driver import Driver


def laziness(cuda: Driver, flags: int) -> list[int]:
    """What is read before and after somebody waits for the stream."""
    cuda.open()
    pointer, stream = cuda.alloc(8), cuda.stream(flags)
    cuda.write(pointer, b"\1" * 8)
    cuda.memset(pointer, 7, 8, stream)
    early = cuda.read(pointer, 1)
    cuda.sync(stream)
    return [early[0], cuda.read(pointer, 1)[0]]


def waiting(cuda: Driver) -> dict[str, list[int]]:
    """Which passes are run by which wait."""
    cuda.open()
    stream, other = cuda.stream(), cuda.stream()
    cuda.run_pass(stream, name=1)
    event = cuda.record(stream)
    cuda.run_pass(stream, name=2)
    cuda.run_pass(other, name=3)
    answer = {"nothing": cuda.done}
    cuda.good("cuEventSynchronize", event)
    answer["event"] = cuda.done
    cuda.sync(other)
    answer["other"] = cuda.done
    cuda.run_pass(other, name=4)
    cuda.good("cuCtxSynchronize")
    answer["context"] = sorted(cuda.done)
    cuda.run_pass(other, name=5)
    cuda.good("cuStreamDestroy_v2", other)
    answer["destroyed"] = sorted(cuda.done)
    return answer


def long_queue(cuda: Driver) -> int:
    """How many of 10,000 passes nobody waits for."""
    cuda.open()
    stream = cuda.stream()
    for name in range(10_000):
        cuda.run_pass(stream, name=name)
    assert cuda.done == list(range(len(cuda.done)))
    return 10_000 - len(cuda.done)


def wrong_handles(cuda: Driver) -> list[int]:
    cuda.open()
    stream, event = cuda.stream(), cuda.event()
    cuda.good("cuStreamDestroy_v2", stream)
    cuda.good("cuEventDestroy_v2", event)
    graph = cuda.stream()
    return [
        cuda.call("cuStreamSynchronize", stream),
        cuda.call("cuStreamDestroy_v2", stream),
        cuda.call("cuEventRecord", event, None),
        cuda.call("cuEventDestroy_v2", event),
        cuda.call("cuGraphDestroy", graph),
        cuda.call("cuGraphLaunch", graph, None),
        int(cuda.run_pass(stream)),
    ]


def costs(cuda: Driver, count: int, cost_ns: float = 1000, cold_ns: float = 0) -> list[float]:
    cuda.open()
    return cuda.costs(cuda.stream(), count, cost_ns, cold_ns)


def between_events(cuda: Driver, count: int, cost_ns: float) -> float:
    """Back to back passes between two events, twice; the second after a wait."""
    cuda.open()
    stream = cuda.stream()
    elapsed = 0.0
    for _ in range(2):
        first = cuda.record(stream)
        for _ in range(count):
            cuda.run_pass(stream, cost_ns)
        last = cuda.record(stream)
        cuda.sync(stream)
        elapsed = cuda.elapsed_ns(first, last)
    return elapsed


def events(cuda: Driver) -> dict[str, object]:
    cuda.open()
    stream = cuda.stream()
    time = ctypes.c_float()
    first, last, untimed = cuda.event(), cuda.event(), cuda.made("cuEventCreate", 2)

    def elapsed(a: int, b: int) -> int:
        return cuda.call("cuEventElapsedTime", byref(time), a, b)

    answer: dict[str, object] = {
        "unrecorded": elapsed(first, last),
        "waited for": cuda.call("cuEventSynchronize", first),
    }
    cuda.record(stream, first)
    cuda.run_pass(stream, 500)
    cuda.record(stream, last)
    answer["not ready"] = elapsed(first, last)
    cuda.good("cuEventSynchronize", first)
    answer["half"] = elapsed(first, last)
    cuda.good("cuEventSynchronize", last)
    answer["ready"] = elapsed(first, last)
    answer["ns"] = round(cuda.elapsed_ns(first, last), 3)
    answer["backwards"] = round(cuda.elapsed_ns(last, first), 3)
    cuda.record(stream, last)
    answer["recorded anew"] = elapsed(first, last)
    middle = cuda.record(stream)
    cuda.record(stream, last)
    cuda.good("cuEventSynchronize", middle)
    answer["recorded twice"] = elapsed(first, last)
    cuda.record(stream, untimed)
    cuda.sync(stream)
    answer["untimed"] = elapsed(first, untimed)
    return answer


def copy_waits(cuda: Driver) -> list[float]:
    """By how much a copy after a pass of 1000 ns moves the host's clock, by the stream's flags."""
    cuda.open()
    pointer, timer = cuda.alloc(8), cuda.stream()
    answer = []
    for flags in (0, 1):
        stream = cuda.stream(flags)
        first = cuda.record(timer)
        cuda.run_pass(stream, 1000)
        cuda.read(pointer, 8)
        last = cuda.record(timer)
        cuda.sync(timer)
        answer.append(round(cuda.elapsed_ns(first, last), 2))
    return answer


def flushes(cuda: Driver, sizes: list[int]) -> list[list[float]]:
    """For each size: what its memset, the pass after it and the next pass cost."""
    cuda.open()
    pointer, stream = cuda.alloc(max(sizes)), cuda.stream()
    answer = []
    for size in sizes:
        events = [cuda.record(stream)]
        cuda.memset(pointer, 0, size, stream)
        events.append(cuda.record(stream))
        for _ in range(2):
            cuda.run_pass(stream, 1000, 300)
            events.append(cuda.record(stream))
        cuda.sync(stream)
        answer.append([round(cuda.elapsed_ns(events[i], events[i + 1]), 2) for i in range(3)])
    return answer
