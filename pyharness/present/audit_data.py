"""An audit as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyharness.analyze.findings import Audit, Finding
from pyharness.spec.documented.rules import Contradiction, Framework


def audit_data(audits: Sequence[Audit], contradictions: Sequence[Contradiction]) -> dict[str, Any]:
    """The whole audit as plain data, for JSON."""
    return {
        "releases": [
            {"release": a.release, "findings": [_finding_data(f) for f in a.findings]}
            for a in audits
        ],
        "contradictions": [
            {"question": c.question, "rules": list(c.rules), "left_open": c.gpu or None}
            for c in contradictions
        ],
    }


def _finding_data(finding: Finding) -> dict[str, Any]:
    rule, witness = finding.rule, finding.witness
    data: dict[str, Any] = {
        "rule": rule.id,
        "says": rule.says,
        "source": rule.source,
        "verdict": finding.verdict,
        "call": finding.call,
        "seen": finding.seen,
        "as_said": finding.as_said,
        "otherwise": finding.otherwise,
        "not_counted": finding.not_counted,
        "example": None
        if witness is None
        else {"problem": witness.problem, "status": witness.status, "reason": witness.reason},
        "otherwise_where": list(finding.conditions),
        "device": finding.device,
        "provenance": finding.call and finding.provenance,
    }
    if isinstance(rule, Framework):
        return {
            **data,
            "kind": "framework",
            "also_accepted": list(finding.spared),
            "needs_a_gpu": rule.device.text if rule.device else None,
        }
    return {
        **data,
        "kind": "rule",
        "documented": rule.outcome,
        "grade": rule.grade,
        "grade_means": rule.meaning,
        "versions": rule.versions,
        "note": rule.note,
        "review": rule.review,
    }
