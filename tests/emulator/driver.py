"""The emulated libcuda called from Python, as the harness calls the real one."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_double, c_float, c_int, c_size_t, c_uint, c_void_p
from itertools import pairwise
from pathlib import Path

NON_BLOCKING = 1
POINTER, OUT = c_void_p, c_void_p  # an out parameter is a pointer too
PROBE = Path(__file__).parent / "probe" / "device_probe.cpp"
SIGNATURES: dict[str, tuple[type, ...]] = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (OUT,),
    "cuGetErrorName": (c_int, OUT),
    "cuGetErrorString": (c_int, OUT),
    "cuDeviceGetCount": (OUT,),
    "cuDeviceGet": (OUT, c_int),
    "cuDeviceGetName": (POINTER, c_int, c_int),
    "cuDeviceGetAttribute": (OUT, c_int, c_int),
    "cuDeviceTotalMem_v2": (OUT, c_int),
    "cuDeviceGetPCIBusId": (POINTER, c_int, c_int),
    "cuDevicePrimaryCtxRetain": (OUT, c_int),
    "cuDevicePrimaryCtxRelease_v2": (c_int,),
    "cuCtxSetCurrent": (POINTER,),
    "cuCtxSynchronize": (),
    "cuMemGetInfo_v2": (OUT, OUT),
    "cuMemAlloc_v2": (OUT, c_size_t),
    "cuMemFree_v2": (POINTER,),
    "cuMemcpyHtoD_v2": (POINTER, POINTER, c_size_t),
    "cuMemcpyDtoH_v2": (POINTER, POINTER, c_size_t),
    "cuMemsetD8Async": (POINTER, ctypes.c_ubyte, c_size_t, POINTER),
    "cuStreamCreate": (OUT, c_uint),
    "cuStreamDestroy_v2": (POINTER,),
    "cuStreamSynchronize": (POINTER,),
    "cuStreamBeginCapture_v2": (POINTER, c_int),
    "cuStreamEndCapture": (POINTER, OUT),
    "cuGraphInstantiateWithFlags": (OUT, POINTER, ctypes.c_ulonglong),
    "cuGraphLaunch": (POINTER, POINTER),
    "cuGraphExecDestroy": (POINTER,),
    "cuGraphDestroy": (POINTER,),
    "cuEventCreate": (OUT, c_uint),
    "cuEventDestroy_v2": (POINTER,),
    "cuEventRecord": (POINTER, POINTER),
    "cuEventSynchronize": (POINTER,),
    "cuEventElapsedTime": (OUT, POINTER, POINTER),
}
PASSES = 32768


class DriverError(Exception):
    """A call was refused; the first argument is the CUresult."""


class Driver:
    """libcuda, and the probe beside it. A function called by its name answers with its CUresult."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(os.environ["PYHARNESS_LIBCUDA"])
        self.probe = ctypes.CDLL(os.environ["EMULATOR_PROBE"])
        self.probe.probe_pass.argtypes = (POINTER, c_double, c_double, POINTER, c_int, c_int)
        self.probe.probe_pass.restype = ctypes.c_bool
        self.probe.probe_room.argtypes = (POINTER,)
        self.probe.probe_room.restype = c_size_t
        self.probe.probe_number.argtypes = (ctypes.c_char_p, c_double)
        self.probe.probe_number.restype = c_double
        for name in ("sticky_pass", "capturing", "spoil", "created", "destroyed", "usable"):
            function = getattr(self.probe, f"probe_{name}")
            function.argtypes = () if name == "usable" else (POINTER,)
            function.restype = None if name in {"spoil", "created"} else ctypes.c_bool
        self.passes = (c_int * PASSES)()

    def call(self, name: str, *arguments: object) -> int:
        """The CUresult of a call."""
        function = getattr(self.library, name)
        function.argtypes = SIGNATURES[name]
        return int(function(*arguments))

    def good(self, name: str, *arguments: object) -> None:
        """A call that must not be refused."""
        error = self.call(name, *arguments)
        if error:
            raise DriverError(error, name)

    def made(self, name: str, *arguments: object) -> int:
        """What a call writes to its first parameter: a handle or an address."""
        value = c_void_p()
        self.good(name, byref(value), *arguments)
        return value.value or 0

    def open(self, ordinal: int = 0) -> int:
        """Initialises the driver and makes the card's primary context current."""
        self.good("cuInit", 0)
        context = self.made("cuDevicePrimaryCtxRetain", ordinal)
        self.good("cuCtxSetCurrent", context)
        return context

    def stream(self, flags: int = NON_BLOCKING) -> int:
        return self.made("cuStreamCreate", flags)

    def event(self) -> int:
        return self.made("cuEventCreate", 0)

    def record(self, stream: int, event: int | None = None) -> int:
        """An event, new or given, at the end of the stream."""
        event = event or self.event()
        self.good("cuEventRecord", event, stream)
        return event

    def alloc(self, size: int) -> int:
        return self.made("cuMemAlloc_v2", size)

    def write(self, pointer: int, data: bytes) -> None:
        self.good("cuMemcpyHtoD_v2", pointer, data, len(data))

    def read(self, pointer: int, size: int) -> bytes:
        data = ctypes.create_string_buffer(size)
        self.good("cuMemcpyDtoH_v2", data, pointer, size)
        return data.raw

    def memset(self, pointer: int, value: int, size: int, stream: int) -> None:
        self.good("cuMemsetD8Async", pointer, value, size, stream)

    def sync(self, stream: int) -> None:
        self.good("cuStreamSynchronize", stream)

    def elapsed_ns(self, first: int, last: int) -> float:
        time = c_float()
        self.good("cuEventElapsedTime", byref(time), first, last)
        return time.value * 1e6

    def free_bytes(self) -> int:
        free, total = c_size_t(), c_size_t()
        self.good("cuMemGetInfo_v2", byref(free), byref(total))
        return free.value

    def run_pass(self, stream: int, cost_ns: float = 0, cold_ns: float = 0, name: int = 0) -> bool:
        """Puts a pass into the stream; it writes its name to the list ``done`` when it is run."""
        return bool(self.probe.probe_pass(stream, cost_ns, cold_ns, self.passes, PASSES, name))

    @property
    def done(self) -> list[int]:
        """The names of the passes that were run, in that order."""
        return list(self.passes[1 : self.passes[0] + 1])

    def costs(
        self, stream: int, count: int, cost_ns: float = 1000, cold_ns: float = 0
    ) -> list[float]:
        """What each of so many passes takes, in ns."""
        events = [self.record(stream)]
        for _ in range(count):
            assert self.run_pass(stream, cost_ns, cold_ns)
            events.append(self.record(stream))
        self.sync(stream)
        return [self.elapsed_ns(a, b) for a, b in pairwise(events)]

    def end_capture(self, stream: int) -> tuple[int, int]:
        """The CUresult and the graph, 0 if there is none."""
        graph = c_void_p()
        error = self.call("cuStreamEndCapture", stream, byref(graph))
        return error, graph.value or 0

    def enter(self, function: str) -> str:
        """The faults that are due in this call of a function, as text."""
        answer = ctypes.create_string_buffer(200)
        self.probe.probe_enter(function.encode(), answer, c_size_t(200))
        return answer.value.decode()
