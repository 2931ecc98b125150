"""The verdict on an upgrade as plain data: upgrade.json, which docs describe key by key."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pyharness.analyze.upgrade import FOR_WORSE, Evidence, Finding, Upgrade

_HOST = ("replay", "diff")


def upgrade_data(found: Upgrade) -> dict[str, Any]:
    """The whole verdict as plain data, for JSON."""
    gpu = found.gpu
    return {
        "release_a": found.release_a,
        "release_b": found.release_b,
        "device": None if gpu is None else dict(gpu.device),
        "problems": None
        if gpu is None
        else {"name": gpu.what, "scope": gpu.scope, "count": gpu.problems},
        "budget_s": found.budget_s,
        "spent_s": found.spent_s,
        "gate": {
            "source": found.gate.source,
            "word": found.word,
            "requirements": [asdict(r) for r in found.requirements],
        },
        "parts": []
        if gpu is None
        else [{**asdict(run), "folders": list(run.folders)} for run in gpu.parts],
        "questions": [
            {
                "question": v.question,
                "word": v.word,
                "why": v.why,
                "commands": v.commands,
                "evidence": [_evidence_data(e) for e in v.evidence],
            }
            for v in found.verdicts
        ],
    }


def _evidence_data(evidence: Evidence) -> dict[str, Any]:
    return {
        "part": evidence.part,
        "source": "host" if evidence.part in _HOST else "device",
        "scope": evidence.scope,
        "what": evidence.what,
        "unit": evidence.unit,
        "word": evidence.word,
        "compared": evidence.compared,
        "unanswered": evidence.unanswered,
        "left": evidence.left,
        "why_left": evidence.why_left,
        "counts": dict(evidence.counts),
        "findings": [_finding_data(f) for f in evidence.findings],
        "commands": evidence.commands,
        "notes": evidence.notes,
    }


def _finding_data(finding: Finding) -> dict[str, Any]:
    return {
        "change": finding.change,
        "for_worse": finding.change in FOR_WORSE,
        "call": finding.call,
        "problems": finding.problems,
        "times": finding.times,
        "problem": None if finding.problem is None else finding.problem.command,
        "name": finding.name,
        "before": finding.before,
        "after": finding.after,
        "conditions": finding.conditions,
        "values": dict(finding.values),
    }
