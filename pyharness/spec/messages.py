"""What a worker and its parent say to each other: typed, one JSON object a frame.

Bulk data does not travel here: statuses and reasons stand on the shared board (engine/board.py);
row numbers follow a message as one frame of int64, the bytes of a buffer as one frame.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import ClassVar, get_args

from pyharness.spec.device_messages import (
    AskMemory,
    Capture,
    Captured,
    ClosePlan,
    CreateHandle,
    CudaFailed,
    CudnnRefused,
    DeviceOpened,
    Filling,
    MeasurePeak,
    MemoryTold,
    NoMemory,
    NoSuchDevice,
    OpenDevice,
    Peak,
    RunStages,
    Sample,
    Sampled,
    Staged,
    StageDone,
)
from pyharness.spec.peer_messages import ModulePrepared, PeerReady, PrepareModule
from pyharness.spec.result_messages import (
    BufferRead,
    BuffersKept,
    CompareBuffers,
    Compared,
    DescribePlan,
    DigestBuffers,
    Digested,
    FillPlan,
    ForgetBuffers,
    KeepBuffers,
    LoadPlan,
    PlanDescribed,
    PoisonBuffers,
    ReadBuffer,
    RenewStream,
    Reseed,
    RunPass,
    WriteBuffer,
)

__all__ = [
    "AskMemory",
    "AskVersion",
    "BufferRead",
    "BuffersKept",
    "Capture",
    "Captured",
    "ClosePlan",
    "CompareBuffers",
    "Compared",
    "CreateHandle",
    "CudaFailed",
    "CudnnRefused",
    "DescribePlan",
    "DeviceOpened",
    "DigestBuffers",
    "Digested",
    "Done",
    "FillPlan",
    "Filling",
    "ForgetBuffers",
    "KeepBuffers",
    "LoadPlan",
    "MeasurePeak",
    "MemoryTold",
    "Message",
    "ModulePrepared",
    "NameStatuses",
    "Named",
    "NoMemory",
    "NoSuchDevice",
    "OpenDevice",
    "Opened",
    "Peak",
    "PeerReady",
    "PlanDescribed",
    "PoisonBuffers",
    "PrepareModule",
    "ReadBuffer",
    "Refused",
    "RenewStream",
    "Reseed",
    "RunPass",
    "RunStages",
    "Sample",
    "Sampled",
    "StageDone",
    "Staged",
    "TimeRows",
    "Timed",
    "UseGrid",
    "Version",
    "WalkRange",
    "WalkRows",
    "WriteBuffer",
    "decode",
    "encode",
]


@dataclass(frozen=True, slots=True)
class UseGrid:
    """Later jobs are about this grid."""

    kind: ClassVar[str] = "use_grid"
    call: str
    axes: list[list[int]]
    literal_lengths: list[list[int]]


@dataclass(frozen=True, slots=True)
class WalkRange:
    """Try rows [begin, begin + count); the statuses go onto the board."""

    kind: ClassVar[str] = "walk_range"
    begin: int
    count: int
    explain: bool


@dataclass(frozen=True, slots=True)
class WalkRows:
    """Try the rows in the frame that follows."""

    kind: ClassVar[str] = "walk_rows"
    explain: bool


@dataclass(frozen=True, slots=True)
class TimeRows:
    """Time the rows in the frame that follows."""

    kind: ClassVar[str] = "time_rows"
    repeats: int


@dataclass(frozen=True, slots=True)
class NameStatuses:
    """Say the enumerators of these statuses."""

    kind: ClassVar[str] = "name_statuses"
    statuses: list[int]


@dataclass(frozen=True, slots=True)
class AskVersion:
    """Say cudnnGetVersion(). Not part of opening: some releases end the process in that call."""

    kind: ClassVar[str] = "ask_version"


@dataclass(frozen=True, slots=True)
class Opened:
    """The library is open; ``calls`` are those that it has."""

    kind: ClassVar[str] = "opened"
    calls: list[str]


@dataclass(frozen=True, slots=True)
class Version:
    """cudnnGetVersion(), for example 91300."""

    kind: ClassVar[str] = "version"
    version: int


@dataclass(frozen=True, slots=True)
class Done:
    """The job is through."""

    kind: ClassVar[str] = "done"


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds per call, one sample a repeat."""

    kind: ClassVar[str] = "timed"
    samples_s: list[float]


@dataclass(frozen=True, slots=True)
class Named:
    """The enumerators asked for, in order, as the library spells them."""

    kind: ClassVar[str] = "named"
    names: list[str]


@dataclass(frozen=True, slots=True)
class Refused:
    """The worker could not do what was asked.

    ``what``  load, driver, memory, unsupported, request or call.
    """

    kind: ClassVar[str] = "refused"
    what: str
    message: str


Message = (
    UseGrid
    | WalkRange
    | WalkRows
    | TimeRows
    | NameStatuses
    | AskVersion
    | OpenDevice
    | CreateHandle
    | RunStages
    | Capture
    | Sample
    | ClosePlan
    | Opened
    | Version
    | Done
    | Timed
    | Named
    | DeviceOpened
    | NoSuchDevice
    | StageDone
    | NoMemory
    | Filling
    | Staged
    | Captured
    | Sampled
    | CudaFailed
    | CudnnRefused
    | AskMemory
    | MemoryTold
    | MeasurePeak
    | Peak
    | PrepareModule
    | PeerReady
    | ModulePrepared
    | FillPlan
    | DescribePlan
    | RunPass
    | RenewStream
    | LoadPlan
    | ReadBuffer
    | WriteBuffer
    | PoisonBuffers
    | Reseed
    | KeepBuffers
    | CompareBuffers
    | ForgetBuffers
    | DigestBuffers
    | PlanDescribed
    | BufferRead
    | BuffersKept
    | Compared
    | Digested
    | Refused
)
_TYPES: dict[str, type[Message]] = {t.kind: t for t in get_args(Message)}


def encode(message: Message) -> bytes:
    """A message as one frame."""
    told = {f.name: getattr(message, f.name) for f in fields(message)}  # lists are not copied
    return json.dumps({"kind": message.kind, **told}).encode()


def decode(frame: bytes) -> Message:
    """The message of a frame.

    Raises  ValueError if the frame is none of ours.
    """
    data = json.loads(frame)
    kind = _TYPES.get(data.pop("kind", ""))
    if kind is None:
        raise ValueError("a frame of an unknown kind")
    return kind(**data)
