"""The NVIDIA driver and the GPUs, asked in a process of their own."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TIMEOUT_S = 20.0
_KERNEL_VERSION = Path("/proc/driver/nvidia/version")
_PCI_DEVICES = Path("/sys/bus/pci/devices")
_NVIDIA, _DISPLAY = "0x10de", "0x03"  # PCI vendor, and the class of display controllers


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU that CUDA can use."""

    name: str
    memory_bytes: int
    compute_capability: str


@dataclass(frozen=True, slots=True)
class Driver:
    """The driver, as its own libraries and the kernel tell.

    ``loaded``        whether libcuda.so.1 loads.
    ``version``       of the driver; None where nothing tells.
    ``cuda_version``  the newest CUDA that it serves.
    ``pci_gpus``      NVIDIA GPUs in this machine, driver or not; None where the system hides it.
    ``problem``       why CUDA cannot be used, in the driver's own words; empty when it can.
    """

    loaded: bool
    version: str | None
    cuda_version: str | None
    gpus: tuple[Gpu, ...]
    pci_gpus: int | None
    problem: str


def look_at_driver() -> Driver:
    """The driver and its GPUs; nothing of NVIDIA's is loaded into this process."""
    found = _ask()
    return Driver(
        loaded=bool(found.get("loaded")),
        version=found.get("version") or _kernel_version(),
        cuda_version=found.get("cuda_version"),
        gpus=tuple(Gpu(**gpu) for gpu in found.get("gpus", ())),
        pci_gpus=_pci_gpus(),
        problem=found.get("problem", ""),
    )


def _ask() -> dict[str, Any]:
    program = str(Path(__file__).with_name("cuda_probe.py"))
    try:
        done = subprocess.run(
            [sys.executable, "-I", program],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return {"problem": f"libcuda.so.1 did not answer within {_TIMEOUT_S:.0f} s"}
    except OSError as error:
        return {"problem": f"the driver cannot be asked: {error.strerror}"}
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        return {"problem": f"libcuda.so.1 ends the process that loads it ({name})"}
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = None
    return answer if isinstance(answer, dict) else {"problem": "the driver's answer is unreadable"}


def _kernel_version() -> str | None:
    """Version of the kernel module, which is there even where its libraries are not."""
    try:
        text = _KERNEL_VERSION.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    match = re.search(r"\b\d{3,}\.\d+(?:\.\d+)?\b", text)
    return match[0] if match else None


def _pci_gpus() -> int | None:
    try:
        devices = list(_PCI_DEVICES.iterdir())
    except OSError:
        return None
    return sum(
        _word(device / "vendor") == _NVIDIA and _word(device / "class").startswith(_DISPLAY)
        for device in devices
    )


def _word(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
