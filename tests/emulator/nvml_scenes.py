"""What the emulated libnvidia-ml says through nvidia-ml-py: scenes of test_nvml.py."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pynvml

from tests.emulator.driver import Driver


def _address(handle: ctypes._Pointer[ctypes.Structure]) -> int | None:
    return ctypes.cast(handle, ctypes.c_void_p).value


def seen(bus_id: str) -> dict[str, object]:
    """What nvidia-ml-py reads."""
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByPciBusId(bus_id)
    answer = {
        "count": pynvml.nvmlDeviceGetCount(),
        "same": _address(handle) == _address(pynvml.nvmlDeviceGetHandleByIndex(0)),
        "name": pynvml.nvmlDeviceGetName(handle),
        "sm": pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM),
        "memory": pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_MEM),
        "reasons": pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle),
        "old reasons": pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle),
        "temperature": pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU),
        "milliwatts": pynvml.nvmlDeviceGetPowerUsage(handle),
        "driver": pynvml.nvmlSystemGetDriverVersion(),
    }
    pynvml.nvmlShutdown()
    return answer


def nvml(cuda: Driver, bus_id: str) -> dict[str, object]:
    return seen(bus_id)


def nvml_errors(cuda: Driver) -> list[str]:
    said = []
    try:
        pynvml._LoadNvmlLibrary()
        pynvml.nvmlDeviceGetCount()
    except pynvml.NVMLError as error:
        said.append(str(error))
    pynvml.nvmlInit()
    for ask in (
        lambda: pynvml.nvmlDeviceGetHandleByIndex(7),
        lambda: pynvml.nvmlDeviceGetHandleByPciBusId("0000:FF:00.0"),
        lambda: pynvml.nvmlDeviceGetClockInfo(pynvml.nvmlDeviceGetHandleByIndex(0), 3),
    ):
        try:
            ask()
        except pynvml.NVMLError as error:
            said.append(str(error))
    return said


def work_and_look(cuda: Driver, passes: int) -> list[object]:
    """The clock, the reasons and the temperature after each pass."""
    cuda.open()
    stream = cuda.stream()
    answer: list[object] = []
    for _ in range(passes):
        cuda.run_pass(stream, 1000)
        now = seen("0000:10:00.0")
        answer.append([now["sm"], now["reasons"], now["temperature"]])
    return answer


def work(cuda: Driver, passes: int, ordinal: int) -> bool:
    cuda.open(ordinal)
    cuda.costs(cuda.stream(), passes)
    return Path(os.environ["PYHARNESS_EMULATOR_STATE"]).exists()
