"""cuDNN's statuses: their numbers in the two numberings, their families, their aliases.

The numbers changed in 9.0; the names hold. tests/abi compiles every entry against the real headers
of every release.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyharness.spec.enums import ReleaseNumber, appeared

PREFIX = "CUDNN_STATUS_"


@dataclass(frozen=True, slots=True)
class Status:
    """One name of a status in one numbering.

    ``name``      the enumerator without CUDNN_STATUS_.
    ``since``     first release whose headers have it; None: every release of the numbering.
    ``alias_of``  the name that cuDNN itself prints for this number; None: this one.
    """

    name: str
    value: int
    since: ReleaseNumber | None = None
    alias_of: str | None = None

    @property
    def vendor(self) -> str:
        """The C enumerator."""
        return PREFIX + self.name


def _run(base: int, *names: str) -> Iterator[Status]:
    """Statuses with consecutive numbers that every release of the numbering has."""
    return (Status(name, base + i) for i, name in enumerate(names))


STATUSES_8 = tuple(
    _run(
        0,
        "SUCCESS",
        "NOT_INITIALIZED",
        "ALLOC_FAILED",
        "BAD_PARAM",
        "INTERNAL_ERROR",
        "INVALID_VALUE",
        "ARCH_MISMATCH",
        "MAPPING_ERROR",
        "EXECUTION_FAILED",
        "NOT_SUPPORTED",
        "LICENSE_ERROR",
        "RUNTIME_PREREQUISITE_MISSING",
        "RUNTIME_IN_PROGRESS",
        "RUNTIME_FP_OVERFLOW",
        "VERSION_MISMATCH",
    )
)
STATUSES_9 = (
    Status("SUCCESS", 0),
    *_run(
        1001,
        "NOT_INITIALIZED",
        "SUBLIBRARY_VERSION_MISMATCH",
        "SERIALIZATION_VERSION_MISMATCH",
        "DEPRECATED",
        "LICENSE_ERROR",
        "RUNTIME_IN_PROGRESS",
        "RUNTIME_FP_OVERFLOW",
    ),
    Status("SUBLIBRARY_LOADING_FAILED", 1008, (9, 2)),
    *_run(
        2000,
        "BAD_PARAM",
        "INVALID_VALUE",
        "BAD_PARAM_NULL_POINTER",
        "BAD_PARAM_MISALIGNED_POINTER",
        "BAD_PARAM_NOT_FINALIZED",
        "BAD_PARAM_OUT_OF_BOUND",
        "BAD_PARAM_SIZE_INSUFFICIENT",
        "BAD_PARAM_STREAM_MISMATCH",
        "BAD_PARAM_SHAPE_MISMATCH",
        "BAD_PARAM_DUPLICATED_ENTRIES",
        "BAD_PARAM_ATTRIBUTE_TYPE",
    ),
    Status("BAD_PARAM_CUDA_GRAPH_MISMATCH", 2011, (9, 5)),
    Status("BAD_PARAM_DESCRIPTOR_TYPE", 2012, (9, 6)),
    *_run(
        3000,
        "NOT_SUPPORTED",
        "NOT_SUPPORTED_GRAPH_PATTERN",
        "NOT_SUPPORTED_SHAPE",
        "NOT_SUPPORTED_DATA_TYPE",
        "NOT_SUPPORTED_LAYOUT",
        "NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER",
        "NOT_SUPPORTED_INCOMPATIBLE_CUDART",
        "NOT_SUPPORTED_ARCH_MISMATCH",
        "NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING",
        "NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE",
        "NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT",
        "NOT_SUPPORTED_PADDING",
        "NOT_SUPPORTED_BAD_LAUNCH_PARAM",
    ),
    Status("NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API", 3013, (9, 5)),
    Status("NOT_SUPPORTED_INVALID_DYNAMIC_SHAPE", 3014, (9, 18)),
    *_run(
        4000,
        "INTERNAL_ERROR",
        "INTERNAL_ERROR_COMPILATION_FAILED",
        "INTERNAL_ERROR_UNEXPECTED_VALUE",
        "INTERNAL_ERROR_HOST_ALLOCATION_FAILED",
        "INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
        "INTERNAL_ERROR_BAD_LAUNCH_PARAM",
        "INTERNAL_ERROR_TEXTURE_CREATION_FAILED",
    ),
    *_run(
        5000,
        "EXECUTION_FAILED",
        "EXECUTION_FAILED_CUDA_DRIVER",
        "EXECUTION_FAILED_CUBLAS",
        "EXECUTION_FAILED_CUDART",
        "EXECUTION_FAILED_CURAND",
    ),
    Status("ALLOC_FAILED", 4003, alias_of="INTERNAL_ERROR_HOST_ALLOCATION_FAILED"),
    Status("ARCH_MISMATCH", 3007, alias_of="NOT_SUPPORTED_ARCH_MISMATCH"),
    Status("MAPPING_ERROR", 4006, alias_of="INTERNAL_ERROR_TEXTURE_CREATION_FAILED"),
    Status(
        "RUNTIME_PREREQUISITE_MISSING", 3008, alias_of="NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING"
    ),
    Status("VERSION_MISMATCH", 1002, alias_of="SUBLIBRARY_VERSION_MISMATCH"),
)

ALIASES = {s.name: s.alias_of for s in STATUSES_9 if s.alias_of is not None}

# A category is the thousand of the number; only these have a name of their own.
_FAMILIES = {s.value: s.name for s in STATUSES_9 if s.value and s.value % 1000 == 0}
_VALUES_9 = {s.name: s.value for s in STATUSES_9}


def numbering(release: ReleaseNumber) -> tuple[Status, ...]:
    """Every status of the numbering that a release uses, whether it knows the status yet or not."""
    return STATUSES_8 if release < (9,) else STATUSES_9


def known_statuses(release: ReleaseNumber) -> tuple[Status, ...]:
    """The statuses that a release's headers have."""
    return tuple(s for s in numbering(release) if appeared(s.since, release))


def status_name(code: int, release: ReleaseNumber) -> str:
    """The name that cuDNN prints for a number, or the bare number where it has none."""
    for status in known_statuses(release):
        if status.value == code and status.alias_of is None:
            return status.name
    return str(code)


def canonical(name: str) -> str:
    """The name of 9.x for a status of 8.x: ARCH_MISMATCH is NOT_SUPPORTED_ARCH_MISMATCH."""
    return ALIASES.get(name, name)


def family(name: str) -> str:
    """The general status that a status belongs to, the same in both numberings.

    Returns  BAD_PARAM, NOT_SUPPORTED, INTERNAL_ERROR or EXECUTION_FAILED; a status outside these
             four is its own family, under its canonical name. A name newer than this list is
             taken by its beginning.
    Source   CUDNN_STATUS_CATEGORY in the headers of 9.x.
    """
    value = _VALUES_9.get(name)
    if value is not None:
        return _FAMILIES.get(value // 1000 * 1000, canonical(name))
    return next((f for f in _FAMILIES.values() if name.startswith(f + "_")), name)
