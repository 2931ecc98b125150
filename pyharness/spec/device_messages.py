"""What a runner, a worker for device work, and its parent say to each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class OpenDevice:
    """Open this CUDA driver, and make its device of this number current."""

    kind: ClassVar[str] = "open_device"
    libcuda: str
    ordinal: int


@dataclass(frozen=True, slots=True)
class CreateHandle:
    """Make cuDNN's handle on the device: the first call that may refuse the GPU."""

    kind: ClassVar[str] = "create_handle"


@dataclass(frozen=True, slots=True)
class RunStages:
    """Make a plan of these settings and take it through the stages, as far as ``until``.

    Each stage is answered by itself, the whole by Staged. The plan stays open.
    """

    kind: ClassVar[str] = "run_stages"
    settings: dict[str, Any]
    until: str


@dataclass(frozen=True, slots=True)
class Capture:
    """Record a CUDA graph of this pass of the open plan."""

    kind: ClassVar[str] = "capture"
    pass_name: str


@dataclass(frozen=True, slots=True)
class Sample:
    """Time this pass of the open plan. ``mode``: hot, cold, graph or enqueue."""

    kind: ClassVar[str] = "sample"
    pass_name: str
    mode: str
    count: int


@dataclass(frozen=True, slots=True)
class ClosePlan:
    """Give back what the open plan holds; ``memory``: the device's memory too, for others."""

    kind: ClassVar[str] = "close_plan"
    memory: bool = False


@dataclass(frozen=True, slots=True)
class MeasurePeak:
    """Measure what the card itself reaches with this data type under this math type."""

    kind: ClassVar[str] = "measure_peak"
    ordinal: int
    data_type: str
    math_type: str


@dataclass(frozen=True, slots=True)
class AskMemory:
    """Say what memory device and process have now; ``largest``: the largest free block, too."""

    kind: ClassVar[str] = "ask_memory"
    largest: bool


@dataclass(frozen=True, slots=True)
class MemoryTold:
    """Memory in bytes.

    ``free_bytes``     of the device, as the driver says it.
    ``room_bytes``     what small blocks can be had of beside that: it is in steps on some cards.
    ``largest_bytes``  the largest block that could be had; None if it was not asked for.
    ``host_bytes``     of the process alone: resident or swapped out, without what files back.
    """

    kind: ClassVar[str] = "memory_told"
    total_bytes: int
    free_bytes: int
    room_bytes: int
    largest_bytes: int | None
    host_bytes: int


@dataclass(frozen=True, slots=True)
class DeviceOpened:
    """The device is there; ``facts`` are those of spec.device_facts.DeviceFacts."""

    kind: ClassVar[str] = "device_opened"
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class NoSuchDevice:
    """The driver has ``count`` devices, and not the one asked for."""

    kind: ClassVar[str] = "no_such_device"
    count: int


@dataclass(frozen=True, slots=True)
class StageDone:
    """A stage was made: its calls in order, each as [name, status, status code, reason].

    ``broken``  what the pass wrote outside of its buffers.
    """

    kind: ClassVar[str] = "stage_done"
    stage: str
    records: list[list[Any]]
    broken: list[str]


@dataclass(frozen=True, slots=True)
class NoMemory:
    """The device has not the memory that a stage needs."""

    kind: ClassVar[str] = "no_memory"
    stage: str
    asked_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True)
class Filling:
    """So many bytes are filled before the next answer: that may take its time."""

    kind: ClassVar[str] = "filling"
    total_bytes: int


@dataclass(frozen=True, slots=True)
class Staged:
    """The plan went as far as it goes; ``sizes`` in bytes, None if they were not told.

    ``free_bytes``  what the device had for the plan before it took any; None without sizes.
    """

    kind: ClassVar[str] = "staged"
    sizes: dict[str, int] | None
    free_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Captured:
    """The calls of a capture, as in StageDone; the last says why where there is no graph."""

    kind: ClassVar[str] = "captured"
    records: list[list[Any]]


@dataclass(frozen=True, slots=True)
class Sampled:
    """Seconds per execution, one a sample; ``broken`` as in StageDone."""

    kind: ClassVar[str] = "sampled"
    samples_s: list[float]
    broken: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Peak:
    """What the card reaches: of a GEMM, and of a copy (read and written); None where unknown.

    ``reason``  why there is none, in a sentence; empty where both are there.
    """

    kind: ClassVar[str] = "peak"
    flop_per_s: float | None
    bytes_per_s: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class CudaFailed:
    """The CUDA driver failed; the context may be unusable from now on."""

    kind: ClassVar[str] = "cuda_failed"
    call: str
    code: int
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class CudnnRefused:
    """cuDNN refused a call outside of the stages."""

    kind: ClassVar[str] = "cudnn_refused"
    call: str
    status: str
    status_code: int
    reason: str
