"""What an audit leaves: a table, and a page to read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyharness.analyze.findings import Audit, Finding
from pyharness.errors import UsageError
from pyharness.spec.documented.rules import Framework
from pyharness.store.files import replacing
from pyharness.store.schema import write_rows

TABLE, PAGE = "audit.parquet", "README.md"


def write_audit(audits: Sequence[Audit], page: str, folder: Path) -> None:
    """Writes audit.parquet, one row a rule and release, and a page to read.

    Raises  UsageError if the folder holds something else; HarnessError if the disk is full.
    """
    there = sorted(f.name for f in folder.iterdir()) if folder.exists() else []
    if there and TABLE not in there:
        raise UsageError(f"{folder} holds {', '.join(there[:3])}", "give another --out")
    write_rows(folder / TABLE, "audit", [_row(a.release, f) for a in audits for f in a.findings])
    with replacing(folder / PAGE) as scratch:
        scratch.write_text(page, "utf-8")


def _row(release: str, found: Finding) -> dict[str, Any]:
    rule, witness = found.rule, found.witness
    row: dict[str, Any] = {
        "release": release,
        "rule": rule.id,
        "source": rule.source,
        "verdict": found.verdict,
        "call": found.call,
        "seen": found.seen,
        "kept": found.kept,
        "broken": found.broken,
        "masked": found.masked,
        "example": witness and witness.problem,
        "status": witness and witness.status,
        "reason": witness and witness.reason,
        "conditions": " or ".join(found.conditions) or None,
        "versions": rule.versions,
        "provenance": found.call and "observed",  # null where nothing was tried
    }
    if isinstance(rule, Framework):
        return {**row, "kind": "framework", "says": rule.says, "documented": "accepted"}
    return {
        **row,
        "kind": "rule",
        "says": rule.says,
        "documented": rule.outcome,
        "grade": rule.grade,
    }
