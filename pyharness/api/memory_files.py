"""What `pyharness memory --out` leaves: a table, and how it was made."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyharness import __version__
from pyharness.analyze.memory import Memory, Weighed
from pyharness.api.replay_files import replay_folder
from pyharness.api.stage_rows import problem_cells
from pyharness.releases.model import Release
from pyharness.spec.columns import SCHEMA_VERSION
from pyharness.store.files import write_json
from pyharness.store.manifest import NAME, describe_environment, describe_host, now
from pyharness.store.schema import write_rows

_KIND = "memory"
TABLE = "memory.parquet"


def memory_folder(folder: Path) -> AbstractContextManager[None]:
    """A folder that is free, or holds an earlier answer; made for the block if it is not there.

    Raises  UsageError if it holds something else, or nothing can be written there.
    """
    return replay_folder(folder, _KIND)


def write_memory(found: Memory, release: Release | None, folder: Path, started: str) -> None:
    """Writes memory.parquet, one row a problem and forward mode, and run.json.

    Raises  HarnessError if the disk is full; each file is there whole or not at all.
    """
    manifest: dict[str, Any] = {
        "kind": _KIND,
        "schema_version": SCHEMA_VERSION,
        "tool_version": __version__,
        "release": None
        if release is None
        else {
            "name": release.name,
            "version": release.version,
            "cuda_major": release.cuda_major,
            "path": str(release.path),
            "origin": release.origin,
            "stamp": release.stamp,
        },
        "device": None if found.device is None else asdict(found.device),
        "host": describe_host(),
        "environment": describe_environment(),
        "started": started,
    }
    write_json(folder / NAME, {**manifest, "state": "running", "ended": None})
    write_rows(folder / TABLE, "memory", [_row(found, row) for row in found.rows])
    write_json(folder / NAME, {**manifest, "state": "complete", "ended": now()})


def _row(found: Memory, row: Weighed) -> dict[str, Any]:
    cells: dict[str, Any] = {
        **problem_cells(row.problem),
        "release": found.release,
        "device": None if found.device is None else found.device.name,
        "order": row.order,
        "name": row.name,
        "problem": row.problem.command,
        "forward_mode": row.mode,
        "outcome": row.outcome,
        "call": row.call,
        "status": row.status,
        "reason": row.reason,
        "asked_bytes": row.asked_bytes,
        "free_bytes": row.free_bytes,
        "provenance": row.provenance,
    }
    for prefix, footprint in (("", row.footprint), ("predicted_", row.predicted)):
        if footprint is not None:
            sizes = {**footprint.parts, "total": footprint.total}
            cells |= {f"{prefix}{part}_bytes": size for part, size in sizes.items()}
    return cells | {f"{part}_error": error for part, error in row.errors.items()}
