"""What a runner and its parent say to each other about the results of the open plan.

The bytes of a buffer follow their message as a frame of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class FillPlan:
    """Take the memory of the open plan and fill it from the seed."""

    kind: ClassVar[str] = "fill_plan"


@dataclass(frozen=True, slots=True)
class DescribePlan:
    """Say which buffers and which weights the open plan has."""

    kind: ClassVar[str] = "describe_plan"


@dataclass(frozen=True, slots=True)
class RunPass:
    """Run a pass of the open plan once, or replay the graph that was captured of it.

    It is answered by StageDone.
    """

    kind: ClassVar[str] = "run_pass"
    pass_name: str
    graph: bool


@dataclass(frozen=True, slots=True)
class RenewStream:
    """Go on with a fresh stream on the same handle; the plan stays open."""

    kind: ClassVar[str] = "renew_stream"


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """Put a second plan of these settings to work on a stream of its own, beside each pass.

    Answered by Filling, then Done; by StageDone if a stage of it was refused.

    ``settings``  None: end the load.
    ``count``     its training passes for each pass of the first plan.
    """

    kind: ClassVar[str] = "load_plan"
    settings: dict[str, Any] | None
    count: int


@dataclass(frozen=True, slots=True)
class ReadBuffer:
    """Send the bytes of a buffer, in a frame behind the answer."""

    kind: ClassVar[str] = "read_buffer"
    name: str


@dataclass(frozen=True, slots=True)
class WriteBuffer:
    """Overwrite a buffer with the frame that follows."""

    kind: ClassVar[str] = "write_buffer"
    name: str


@dataclass(frozen=True, slots=True)
class PoisonBuffers:
    """Overwrite every byte of these buffers with this one."""

    kind: ClassVar[str] = "poison_buffers"
    names: list[str]
    byte: int


@dataclass(frozen=True, slots=True)
class Reseed:
    """Bring the states of dropout to what they were before the first pass."""

    kind: ClassVar[str] = "reseed"


@dataclass(frozen=True, slots=True)
class KeepBuffers:
    """Keep a copy of these buffers under a key, in place of what was kept under it."""

    kind: ClassVar[str] = "keep_buffers"
    key: str
    names: list[str]


@dataclass(frozen=True, slots=True)
class CompareBuffers:
    """Compare these buffers with what is kept under a key."""

    kind: ClassVar[str] = "compare_buffers"
    key: str
    names: list[str]


@dataclass(frozen=True, slots=True)
class ForgetBuffers:
    """Drop what is kept under a key."""

    kind: ClassVar[str] = "forget_buffers"
    key: str


@dataclass(frozen=True, slots=True)
class DigestBuffers:
    """Say the SHA-256 of these buffers."""

    kind: ClassVar[str] = "digest_buffers"
    names: list[str]


@dataclass(frozen=True, slots=True)
class PlanDescribed:
    """The names of the buffers, and each weight as [name, rows, cols, byte offset in w]."""

    kind: ClassVar[str] = "plan_described"
    buffers: list[str]
    weights: list[list[Any]]


@dataclass(frozen=True, slots=True)
class BufferRead:
    """So many bytes follow, as a frame."""

    kind: ClassVar[str] = "buffer_read"
    bytes: int


@dataclass(frozen=True, slots=True)
class BuffersKept:
    """Copies are there: what is compared with one is compared where it is.

    ``on_host``  why, by the name of each that is in the host's memory, and not in the device's.
    """

    kind: ClassVar[str] = "buffers_kept"
    on_host: dict[str, str]


@dataclass(frozen=True, slots=True)
class Compared:
    """By buffer, the fields of spec.differences.Difference."""

    kind: ClassVar[str] = "compared"
    differences: dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Digested:
    """By buffer, in hexadecimal."""

    kind: ClassVar[str] = "digested"
    digests: dict[str, str]
