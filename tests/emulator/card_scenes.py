"""What is done with the emulated driver's cards and memory: scenes of test_cuda.py."""

from __future__ import annotations

import ctypes
import os
import resource
import threading
from ctypes import byref, c_int, c_size_t
from pathlib import Path

from tests.emulator.driver import Driver

GIB = 1 << 30


def lacking(cuda: Driver, names: list[str]) -> list[str]:
    return [name for name in names if not hasattr(cuda.library, name)]


def card(cuda: Driver) -> dict[str, object]:
    cuda.good("cuInit", 0)
    count, version, bytes_ = c_int(), c_int(), c_size_t()
    cuda.good("cuDeviceGetCount", byref(count))
    cuda.good("cuDriverGetVersion", byref(version))
    cuda.good("cuDeviceTotalMem_v2", byref(bytes_), 0)
    attributes = []
    for attribute in (16, 38, 75, 76):
        value = c_int()
        cuda.good("cuDeviceGetAttribute", byref(value), attribute, 0)
        attributes.append(value.value)
    texts = []
    for function in ("cuDeviceGetName", "cuDeviceGetPCIBusId"):
        text = ctypes.create_string_buffer(64)
        cuda.good(function, text, 64, count.value - 1)
        texts.append(text.value.decode())
    device = c_int()
    return {
        "count": count.value,
        "version": version.value,
        "bytes": bytes_.value,
        "attributes": attributes,
        "texts": texts,
        "no such card": cuda.call("cuDeviceGet", byref(device), count.value),
        "no such attribute": cuda.call("cuDeviceGetAttribute", byref(device), 9999, 0),
        "flags": cuda.call("cuInit", 1),
    }


def before_init(cuda: Driver) -> list[int]:
    answer = [cuda.call("cuDeviceGetCount", byref(c_int()))]
    answer.append(cuda.call("cuInit", 0))
    answer.append(cuda.call("cuCtxSynchronize"))
    return answer


def after_fork(cuda: Driver) -> int:
    cuda.open()
    child = os.fork()
    if child == 0:
        os._exit(cuda.call("cuMemFree_v2", 1) + 10 * cuda.call("cuInit", 0))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def words(cuda: Driver, errors: list[int]) -> list[list[str | None]]:
    said = []
    for error in errors:
        both: list[str | None] = []
        for function in ("cuGetErrorName", "cuGetErrorString"):
            text = ctypes.c_char_p(b"untouched")
            cuda.call(function, error, byref(text))
            both.append(text.value.decode() if text.value else None)
        said.append(both)
    return said


def contexts(cuda: Driver) -> dict[str, object]:
    cuda.good("cuInit", 0)
    first = cuda.made("cuDevicePrimaryCtxRetain", 0)
    answer: dict[str, object] = {
        "same": first == cuda.made("cuDevicePrimaryCtxRetain", 0),
        "other card": first != cuda.made("cuDevicePrimaryCtxRetain", 1),
        "unusable": cuda.probe.probe_usable(),
    }
    cuda.good("cuCtxSetCurrent", first)
    answer["usable"] = cuda.probe.probe_usable()
    threads = []
    thread = threading.Thread(target=lambda: threads.append(cuda.call("cuCtxSynchronize")))
    thread.start()
    thread.join()
    answer["other thread"] = threads
    cuda.good("cuDevicePrimaryCtxRelease_v2", 0)
    answer["after one release"] = cuda.call("cuCtxSynchronize")
    cuda.good("cuDevicePrimaryCtxRelease_v2", 0)
    answer["after the last"] = cuda.call("cuCtxSynchronize")
    answer["set again"] = cuda.call("cuCtxSetCurrent", first)
    answer["once too often"] = cuda.call("cuDevicePrimaryCtxRelease_v2", 0)
    return answer


def memory(cuda: Driver) -> dict[str, object]:
    cuda.open()
    whole = cuda.free_bytes()
    pointer = cuda.alloc(1000)
    fresh = cuda.read(pointer, 1000)
    cuda.write(pointer, bytes(range(250)) * 4)
    room = [cuda.probe.probe_room(pointer + at) for at in (0, 1, 999, 1000, -1)]
    answer: dict[str, object] = {
        "aligned": pointer % 512,
        "used": whole - cuda.free_bytes(),
        "fresh": sorted(set(fresh)),
        "room": room,
        "read": list(cuda.read(pointer + 200, 100)),
        "too much": cuda.call("cuMemcpyDtoH_v2", ctypes.create_string_buffer(9), pointer + 992, 9),
        "set too much": cuda.call("cuMemsetD8Async", pointer, 0, 1001, None),
        "not its start": cuda.call("cuMemFree_v2", pointer + 512),
        "nothing": cuda.call("cuMemAlloc_v2", byref(ctypes.c_void_p()), 0),
    }
    cuda.good("cuMemFree_v2", pointer)
    answer["freed"] = cuda.call("cuMemcpyDtoH_v2", ctypes.create_string_buffer(1), pointer, 1)
    answer["freed again"] = cuda.call("cuMemFree_v2", pointer)
    answer["restored"] = cuda.free_bytes() == whole
    answer["not given out again"] = all(cuda.alloc(1000) != pointer for _ in range(100))
    return answer


def fill_up(cuda: Driver) -> list[int]:
    """Of 1 MiB: all, then one byte more, then all again."""
    cuda.open()
    pointer = cuda.alloc(1 << 20)
    answer = [cuda.call("cuMemAlloc_v2", byref(ctypes.c_void_p()), size) for size in (1, GIB)]
    cuda.good("cuMemFree_v2", pointer)
    answer.append(cuda.call("cuMemAlloc_v2", byref(ctypes.c_void_p()), (1 << 20) + 1))
    answer.append(cuda.call("cuMemAlloc_v2", byref(ctypes.c_void_p()), 1 << 20))
    answer.append(cuda.call("cuMemAlloc_v2", byref(ctypes.c_void_p()), (1 << 64) - 1))
    return answer


def largest(cuda: Driver) -> int:
    """The largest block that can be had, in MiB."""
    had = 0
    for mib in range(1, 65):
        pointer = ctypes.c_void_p()
        if cuda.call("cuMemAlloc_v2", byref(pointer), mib << 20) == 0:
            cuda.good("cuMemFree_v2", pointer)
            had = mib
    return had


def gaps(cuda: Driver) -> list[int]:
    """Of 64 MiB: the largest block and what is free, as four blocks come and two go."""
    cuda.open()
    blocks = [cuda.alloc(mib << 20) for mib in (10, 10, 20, 10)]
    seen = [largest(cuda), cuda.free_bytes() >> 20]
    for at in (0, 2):
        cuda.good("cuMemFree_v2", blocks[at])
        seen += [largest(cuda), cuda.free_bytes() >> 20]
    small = cuda.alloc(5 << 20)  # into the first gap that is large enough, not the last
    seen += [largest(cuda), cuda.free_bytes() >> 20]
    for pointer in (blocks[1], blocks[3], small):
        cuda.good("cuMemFree_v2", pointer)
    return [*seen, largest(cuda)]


def told_free(cuda: Driver, sizes: list[int]) -> list[int]:
    """What is told as free after each allocation."""
    cuda.open()
    seen = [cuda.free_bytes()]
    for size in sizes:
        cuda.alloc(size)
        seen.append(cuda.free_bytes())
    return seen


def spoiled(cuda: Driver, function: str, calls: int) -> list[list[int]]:
    """Bytes in use and the largest block in MiB, at first and after each call of a function."""
    cuda.open()
    whole = cuda.free_bytes()
    seen = [[0, largest(cuda)]]
    for _ in range(calls):
        cuda.enter(function)
        seen.append([whole - cuda.free_bytes(), largest(cuda)])
    cuda.good("cuDevicePrimaryCtxRelease_v2", 0)
    return seen


def host_growth(cuda: Driver, function: str, calls: int) -> int:
    """By how many bytes the process grows over so many calls of a function."""
    cuda.open()
    for _ in range(300):  # what is free on the heap is used up first
        cuda.enter(function)
    before = _resident()
    for _ in range(calls):
        cuda.enter(function)
    return _resident() - before


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize()


def untouched(cuda: Driver) -> dict[str, object]:
    """How much memory 15 GiB take of which one page is written; and what stands at their end."""
    cuda.open()
    cuda.free_bytes()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pointer = cuda.alloc(15 * GIB)
    cuda.write(pointer + 8 * GIB, b"x")
    end = cuda.read(pointer + 15 * GIB - 1, 1)
    kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {"kib": kib, "end": list(end)}


def touch(cuda: Driver, where: str) -> None:
    """Behind the end, before the start, or after it was freed: from the host, unasked."""
    cuda.open()
    pointer = cuda.alloc(512)
    if where == "freed":
        cuda.good("cuMemFree_v2", pointer)
    ctypes.memset(
        pointer + {"behind": 512, "before": -4096, "freed": 0, "inside": 511}[where], 1, 1
    )
