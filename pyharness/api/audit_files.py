"""What an audit leaves: a table, and a page to read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pyharness.analyze.findings import Audit, Finding
from pyharness.api.folder import writable_folder
from pyharness.errors import UsageError
from pyharness.spec.documented.rules import Framework
from pyharness.store.files import replacing
from pyharness.store.schema import write_rows

TABLE, PAGE = "audit.parquet", "README.md"


@contextmanager
def audit_folder(folder: Path) -> Iterator[None]:
    """The folder of an audit, made before the work starts; gone again if the work fails.

    Raises  UsageError if nothing can be written there or it holds something else; HarnessError if
            the disk is full.
    """
    new = [place for place in (folder, *folder.parents) if not os.path.isdir(place)]  # noqa: PTH112
    writable_folder(folder)
    there = sorted(f.name for f in folder.iterdir() if not f.name.startswith("."))
    if there and TABLE not in there:
        raise UsageError(f"{folder} holds {', '.join(there[:3])}", "give another --out")
    try:
        yield
    except BaseException:
        for place in new:
            with suppress(OSError):
                place.rmdir()
        raise


def write_audit(audits: Sequence[Audit], page: str, folder: Path) -> None:
    """Writes audit.parquet, one row a rule and release, and a page to read.

    Raises  HarnessError if the disk is full.
    """
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
        "as_said": found.as_said,
        "otherwise": found.otherwise,
        "not_counted": found.not_counted,
        "example": witness and witness.problem,
        "status": witness and witness.status,
        "reason": witness and witness.reason,
        "conditions": " or ".join(found.conditions) or None,
        "versions": rule.versions,
        "provenance": found.call and found.provenance,  # null where nothing was tried
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
