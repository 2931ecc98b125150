"""The words of a soak: what is looked at, what is said of it, and its table."""

from __future__ import annotations

from pyharness.spec.columns import (
    CALL,
    CODE,
    FLOAT,
    INT64,
    PROVENANCE,
    RELEASE,
    STATUS,
    TEXT,
    Column,
)
from pyharness.spec.device_tables import DEVICE, NAME

LEAK, FRAGMENTATION, STEADY, NOT_TOLD = "leak", "fragmentation", "steady", "not_told"
FAILED = "failed"
GATES = (LEAK, FRAGMENTATION, FAILED)
MEMORY = "memory"  # no stage: the look at the memory behind a cycle
# What is looked at: column of the table and what it is.
DEVICE_USED, HOST_USED, LARGEST = "device_used_bytes", "host_bytes", "largest_free_bytes"
LOOKED_AT = {
    DEVICE_USED: "device memory in use",
    HOST_USED: "host memory of the process",
    LARGEST: "largest free block",
}

SOAK_TABLES: dict[str, tuple[Column, ...]] = {
    "soak": (
        RELEASE,
        DEVICE,
        Column("cycle", INT64, "", "cycles that were done, this one included; 0: before the first"),
        Column("time_s", FLOAT, "s", "since the first cycle began"),
        NAME,
        Column("problem", TEXT, "", "of this cycle, as `pyharness soak` takes it; null of cycle 0"),
        Column("device_total_bytes", INT64, "B", "of the device"),
        Column("device_free_bytes", INT64, "B", "as the driver says it, in steps on some cards"),
        Column(
            DEVICE_USED,
            INT64,
            "B",
            "in use by anybody, to 64 KiB: the rest of a step that small blocks could still have "
            "is left out",
        ),
        Column(HOST_USED, INT64, "B", "of the process alone, resident or swapped out"),
        Column(LARGEST, INT64, "B", "largest free block of the device; null if not looked for"),
        Column(
            "outcome",
            TEXT,
            "",
            "passed; unsupported or out_of_memory: this problem was left out from then on; failed, "
            "or out_of_memory after it had passed: the run ended there",
        ),
        Column("stage", TEXT, "", "that did not pass, close or memory; null if all did"),
        CALL,
        STATUS,
        CODE,
        Column("reason", TEXT, "", "cuDNN's own condition, verbatim, or what happened"),
        PROVENANCE,
    ),
}
