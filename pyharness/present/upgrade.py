"""The verdict on an upgrade: first what it is, then why; for a terminal, and as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyharness.analyze.upgrade import (
    FOR_WORSE,
    Evidence,
    Finding,
    Requirement,
    Upgrade,
    Verdict,
)
from pyharness.present.recording import problem_text
from pyharness.present.units import count_text, led
from pyharness.spec.gate import DEFAULT_GATE

_WIDTH = 90
_MOST_FINDINGS, _MOST_CONDITIONS = 8, 4
_HEADINGS = {
    "newly_refused": "Newly refused",
    "newly_failed": "Newly failing (crash, hang or another defect)",
    "call_removed": "Calls that are gone",
    "newly_accepted": "Newly accepted",
    "no_longer_failed": "No longer failing",
    "call_added": "New calls",
    "other_status": "Refused as before, with another status",
}
_COUNTED = {
    "newly_refused": "newly refused",
    "newly_failed": "newly failing",
    "call_removed": "calls gone",
    "newly_accepted": "newly accepted",
    "no_longer_failed": "no longer failing",
    "call_added": "calls new",
    "other_status": "refused with another status",
}
_CALLS = ("call_removed", "call_added")
_SCOPE = {"log": "the log", "any": "all that was tried"}


def render_upgrade(found: Upgrade) -> str:
    """The whole verdict as text, at most 90 columns wide; ends without a newline.

    A command stays on one line, however long, so that it can be copied.
    """
    lines = [f"cuDNN {found.release_a} -> {found.release_b}"]
    lines += [*led(_headline(found), "", width=_WIDTH), ""]
    for verdict in found.verdicts:
        lines += _verdict_lines(verdict)
    lines += ["", *_gate_lines(found)]
    for verdict in found.verdicts:
        for evidence in verdict.evidence:
            lines += ["", *_evidence_lines(verdict, evidence)]
    if unmeasured := [v for v in found.verdicts if v.word == "not_measured"]:
        lines += ["", "Not measured; on a machine with a GPU"]
        for verdict in unmeasured:
            lead = f"  {verdict.question:<15}$ "
            for command in verdict.commands:
                lines.append(lead + command)
                lead = f"{'$':>{len(lead) - 1}} "
    return "\n".join(lines)


def _headline(found: Upgrade) -> str:
    if not found.requirements:
        return "NOT JUDGED: the gate asks for nothing; what changed is below."
    if found.word == "passed":
        missing = sum(v.word == "not_measured" for v in found.verdicts)
        rest = f"; {missing} of {len(found.verdicts)} questions are not measured" if missing else ""
        return f"PASSED: nothing is worse by the gate{rest}."
    told = [r for r in found.requirements if r.word == found.word]
    if found.word == "failed":
        return f"WORSE: {'; '.join(map(_broken, told))}."
    return f"INCONCLUSIVE: {'; '.join(dict.fromkeys(r.why for r in told))}."


def _broken(requirement: Requirement) -> str:
    change = requirement.key.partition(".")[2]
    if change in _CALLS:
        return f"{count_text(requirement.found, 'call')} gone"
    of = " of the log" if requirement.scope == "log" else ""
    return f"{count_text(requirement.found, 'problem')}{of} {_COUNTED[change]}"


def _verdict_lines(verdict: Verdict) -> Iterator[str]:
    lead = f"  {verdict.question:<15}{verdict.word.replace('_', ' '):<14}"
    told = [_summary(e) for e in verdict.evidence] or [verdict.why]
    for line in told:
        yield from led(line, lead, " " * len(lead), _WIDTH)
        lead = " " * len(lead)


def _source(evidence: Evidence) -> str:
    return "the log" if evidence.scope == "log" else evidence.what


def _summary(evidence: Evidence) -> str:
    """Every source in one line, so that nobody has to conclude a zero from a silence."""
    counts = evidence.counts
    said = [f"{n:,} {_COUNTED[change]}" for change, n in counts.items()]
    none = [_COUNTED[c] for c in ("newly_refused", "newly_failed") if c not in counts]
    if none:
        said.append(f"none {' or '.join(none)}")
    if evidence.unanswered:
        said.append(f"{evidence.unanswered:,} could not be asked")
    compared = count_text(evidence.compared, "problem")
    return f"{_source(evidence)}: {compared} compared; {', '.join(said)}"


def _gate_lines(found: Upgrade) -> Iterator[str]:
    named = found.gate.source
    what = f"Gate ({named})"
    yield from led(f"{what}: {found.word if found.requirements else 'asks for nothing'}", "")
    for r in found.requirements:
        key = r.key.replace("_", " ").replace("validity.", "")
        words = f"no {key}" if r.scope == "any" else f"no {key} of {_SCOPE[r.scope]}"
        yield f"  {words:<32}{r.word:<14}{r.found:>9,}"
    if named == DEFAULT_GATE:
        yield "  (--gate FILE.toml sets another)"


def _evidence_lines(verdict: Verdict, evidence: Evidence) -> Iterator[str]:
    yield from led(f"{verdict.question.capitalize()} of {_source(evidence)}: {evidence.word}", "")
    if evidence.scope == "log":
        yield from led(evidence.what, "  ", "  ", _WIDTH)
    for change, count in evidence.counts.items():
        yield f"  {_HEADINGS[change]}: {count:,}"
        if change == "other_status":
            continue
        shown = [f for f in evidence.findings if f.change == change]
        for finding in shown[:_MOST_FINDINGS]:
            yield from _finding_lines(finding)
        if len(shown) > _MOST_FINDINGS:
            yield f"    and {len(shown) - _MOST_FINDINGS:,} more (upgrade.json has them all)"
    if not evidence.counts and evidence.compared:
        yield f"  All {evidence.compared:,} compared are accepted or refused as before."
    if evidence.unanswered:
        yield f"  Not compared, because a call cannot be made: {evidence.unanswered:,}"
    for note in evidence.notes:
        yield from led(f"Note: {note}", "  ", "    ", _WIDTH)
    yield from (f"  $ {command}" for command in evidence.commands)


def _finding_lines(finding: Finding) -> Iterator[str]:
    if finding.change in _CALLS:
        yield f"    {finding.call}"
        return
    step = f"{finding.before} -> {finding.after}"
    if finding.problem is not None:
        times = f"{count_text(finding.times, 'call')}: "
        yield from led(times + problem_text(finding.problem), "    ", "      ", _WIDTH)
        yield from led(f"{finding.call}: {step}", "      ", "        ", _WIDTH)
        return
    yield from led(f"{finding.call}  {finding.problems:,}: {step}", "    ", "      ", _WIDTH)
    for i, words in enumerate(finding.conditions[:_MOST_CONDITIONS]):
        yield from led(words, "      " if i == 0 else "   or ", "        ", _WIDTH)
    if (more := len(finding.conditions) - _MOST_CONDITIONS) > 0:
        yield f"   or {more:,} more (upgrade.json has them all)"


def upgrade_data(found: Upgrade) -> dict[str, Any]:
    """The whole verdict as plain data, for JSON."""
    return {
        "release_a": found.release_a,
        "release_b": found.release_b,
        "gate": {
            "source": found.gate.source,
            "word": found.word,
            "requirements": [
                {"key": r.key, "scope": r.scope, "found": r.found, "word": r.word, "why": r.why}
                for r in found.requirements
            ],
        },
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
        "scope": evidence.scope,
        "what": evidence.what,
        "word": evidence.word,
        "compared": evidence.compared,
        "unanswered": evidence.unanswered,
        "counts": evidence.counts,
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
        "before": finding.before,
        "after": finding.after,
        "conditions": finding.conditions,
    }
