"""Run as a program of its own: what the CUDA driver says, as one JSON object on stdout.

A process apart, because a driver library may hang or end its process. It imports nothing of
pyharness. ``libcuda`` gives the devices, the management library the version of the driver.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from importlib import import_module
from typing import Any

_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
_NAME_BYTES = 256
_LIBCUDA = os.environ.get("PYHARNESS_LIBCUDA") or "libcuda.so.1"  # as api.device chooses it


def _driver_version() -> str | None:
    try:
        nvml: Any = import_module("pynvml")
    except ImportError:
        return None
    try:
        nvml.nvmlInit()
        version = nvml.nvmlSystemGetDriverVersion()
    except (nvml.NVMLError, OSError, AttributeError):
        return None
    return version.decode() if isinstance(version, bytes) else str(version)


def _words(cuda: Any, status: int) -> str:
    text = ctypes.c_char_p()
    cuda.cuGetErrorString(status, ctypes.byref(text))
    return (text.value or b"").decode("utf-8", "replace") or f"status {status}"


def _device(cuda: Any, ordinal: int) -> dict[str, Any]:
    device = ctypes.c_int()
    cuda.cuDeviceGet(ctypes.byref(device), ordinal)
    name = ctypes.create_string_buffer(_NAME_BYTES)
    cuda.cuDeviceGetName(name, _NAME_BYTES, device)
    memory = ctypes.c_size_t()
    cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    numbers = []
    for attribute in (_MAJOR, _MINOR):
        number = ctypes.c_int()
        cuda.cuDeviceGetAttribute(ctypes.byref(number), attribute, device)
        numbers.append(number.value)
    return {
        "name": name.value.decode("utf-8", "replace"),
        "memory_bytes": memory.value,
        "compute_capability": f"{numbers[0]}.{numbers[1]}",
    }


def probe() -> dict[str, Any]:
    """What the driver says.

    Returns  loaded, problem, version, cuda_version and gpus, as far as each is known.
    """
    found: dict[str, Any] = {"loaded": False, "problem": "", "cuda_version": None, "gpus": []}
    found["version"] = _driver_version()
    try:
        cuda: Any = ctypes.CDLL(_LIBCUDA)
    except OSError as error:
        found["problem"] = str(error)
        return found
    found["loaded"] = True
    try:
        status = cuda.cuInit(0)
        number = ctypes.c_int()
        if cuda.cuDriverGetVersion(ctypes.byref(number)) == 0 and number.value > 0:
            found["cuda_version"] = f"{number.value // 1000}.{number.value % 1000 // 10}"
        if status != 0:
            found["problem"] = _words(cuda, status)
            return found
        count = ctypes.c_int()
        status = cuda.cuDeviceGetCount(ctypes.byref(count))
        if status != 0:
            found["problem"] = _words(cuda, status)
        found["gpus"] = [_device(cuda, ordinal) for ordinal in range(count.value)]
    except AttributeError as error:
        found["problem"] = f"{_LIBCUDA} is not complete: {error}"
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(probe()))
