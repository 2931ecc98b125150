"""An audit in words: for one release in full, for several as a table of letters."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from pyharness.analyze.findings import Audit, Finding, spans
from pyharness.analyze.verdicts import AGREEMENTS, VERDICTS
from pyharness.spec.documented.rules import Contradiction, Framework, Rule

_WIDTH = 100
_MOST_CONDITIONS = 3
LETTERS = {
    "contradicted": "C",
    "partly": "P",
    "holds": "H",
    "needs_a_gpu": "g",
    "cannot_be_told": "?",
    "not_applicable": ".",
    "wider": "W",
    "narrower": "N",
    "agrees": "A",
}
_MEANINGS = {
    "contradicted": "the library answers otherwise",
    "partly": "it answers so in part; the condition says where it does not",
    "holds": "every problem that counts is answered as the rule says",
    "needs_a_gpu": "the host does not refuse it; only a run can tell",
    "cannot_be_told": "no answer of a call can show it",
    "not_applicable": "the rule speaks of other releases, or the release lacks the call",
    "wider": "the framework hands over problems that the library refuses",
    "narrower": "it hands over nothing that is refused; the library accepts more",
    "agrees": "it hands over exactly what the library accepts",
}
_SHOWN = ("contradicted", "partly")  # in full, where only one release is shown


def _wrapped(text: str, lead: str, more: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=lead,
        subsequent_indent=lead if more is None else more,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _titled(rule: Rule | Framework) -> Iterator[str]:
    yield from _wrapped(f"{rule.id:<25}{rule.says}", "  ", " " * 27)


def _where(conditions: Sequence[str]) -> str:
    more = len(conditions) - _MOST_CONDITIONS
    shown = " or ".join(conditions[:_MOST_CONDITIONS])
    return f"{shown} or {more} more (--json has them all)" if more > 0 else shown


def _tried(release: str, finding: Finding) -> str:
    """The command that shows it, and what comes of it."""
    witness = finding.witness
    if witness is None or finding.call is None:
        return ""
    said = witness.status or "no answer"
    reason = f": {witness.reason}" if witness.reason else ""
    problem = witness.problem or "(every axis at its default)"
    return f"pyharness try --cudnn {release} {problem}  -> {said}{reason}"


def _rule_lines(release: str, finding: Finding) -> Iterator[str]:
    rule = finding.rule
    yield from _titled(rule)
    if isinstance(rule, Rule):
        yield from _wrapped(
            f"document  {rule.outcome} [{rule.grade}: {rule.source}]", " " * 6, " " * 16
        )
    yield from _wrapped(f"seen      {finding.seen}", " " * 6, " " * 16)
    if finding.conditions:
        yield from _wrapped(f"otherwise where {_where(finding.conditions)}", " " * 16, " " * 18)
    if tried := _tried(release, finding):
        yield from _wrapped(tried, " " * 6, " " * 10)


def _short_lines(findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings:
        yield from _titled(finding.rule)
        yield from _wrapped(finding.seen, " " * 27)


def _names(findings: Sequence[Finding]) -> list[str]:
    return _wrapped(", ".join(f.rule.id for f in findings), "  ")


def _framework_lines(release: str, finding: Finding) -> Iterator[str]:
    rule = finding.rule
    assert isinstance(rule, Framework)
    yield from _titled(rule)
    if finding.conditions:
        yield from _wrapped(
            f"allows what the library refuses: {_where(finding.conditions)}", " " * 6, " " * 10
        )
        yield from _wrapped(_tried(release, finding), " " * 6, " " * 10)
    if finding.spared:
        yield from _wrapped(
            f"narrower: the library also accepts {_where(finding.spared)}", " " * 6, " " * 10
        )
    if finding.verdict == "not_applicable":
        yield from _wrapped(f"not applicable: {finding.seen}", " " * 6)
    if finding.verdict == "agrees":
        yield from _wrapped("agrees: what it hands over is what is accepted", " " * 6)
    if rule.device is not None:
        yield from _wrapped(f"needs a GPU or a program: {rule.device.text}", " " * 6, " " * 10)


def _contradictions(
    audits: Sequence[Audit], contradictions: Sequence[Contradiction]
) -> Iterator[str]:
    tried = {f.rule.id for audit in audits for f in audit.findings}
    asked = [c for c in contradictions if tried & set(c.rules)]
    if not asked:
        return
    yield from ("", "Where the documents contradict each other")
    for question in asked:
        yield from ("", f"  {question.question}")
        for rule in question.rules:
            for releases, finding in spans(audits, rule):
                if finding.verdict == "not_applicable" and len(releases) < len(audits):
                    continue
                yield from _wrapped(_answer(releases, finding, len(audits)), "    ", " " * 8)
        if question.gpu:
            yield from _wrapped(f"left open: {question.gpu}", "    ", " " * 8)


def _answer(releases: Sequence[str], finding: Finding, of: int) -> str:
    where = f", otherwise where {_where(finding.conditions)}" if finding.conditions else ""
    on = "" if of == len(releases) else f" on {_span(releases)}"
    return (
        f"{finding.rule.id}: {finding.rule.says} -- {_words(finding.verdict)}{on} "
        f"({finding.seen}){where}"
    )


def _span(releases: Sequence[str]) -> str:
    return releases[0] if len(releases) == 1 else f"{releases[0]} .. {releases[-1]}"


def _words(verdict: str) -> str:
    return verdict.replace("_a_gpu", " a GPU").replace("_", " ")


def _heading(verdict: str) -> str:
    words = _words(verdict)
    return f"{words[0].upper()}{words[1:]}: {_MEANINGS[verdict]}"


def _counts(audit: Audit) -> str:
    names = [*VERDICTS, *AGREEMENTS]
    return ", ".join(f"{audit.count(v)} {_words(v)}" for v in names if audit.count(v))


def _one(audit: Audit, contradictions: Sequence[Contradiction]) -> Iterator[str]:
    yield from _wrapped(f"cuDNN {audit.release}: {_counts(audit)}", "", "  ")
    rules = [f for f in audit.findings if isinstance(f.rule, Rule)]
    for verdict in VERDICTS:
        found = [f for f in rules if f.verdict == verdict]
        if not found:
            continue
        yield from ("", _heading(verdict))
        if verdict in _SHOWN:
            for finding in found:
                yield from _rule_lines(audit.release, finding)
        elif verdict == "not_applicable":
            yield from _names(found)
        else:
            yield from _short_lines([f for f in found if f.call or verdict != "needs_a_gpu"])
            if unasked := [f for f in found if not f.call and verdict == "needs_a_gpu"]:
                yield "  and none of their calls, or not all that they speak of, is on the host:"
                yield from _names(unasked)
    yield from _contradictions([audit], contradictions)
    yield from _frameworks([audit])


def _columns(audits: Sequence[Audit]) -> list[list[Audit]]:
    """Neighbouring releases that come to the same verdict on every rule, together."""
    columns: list[list[Audit]] = []
    for audit in audits:
        verdicts = [f.verdict for f in audit.findings]
        if columns and [f.verdict for f in columns[-1][-1].findings] == verdicts:
            columns[-1].append(audit)
        else:
            columns.append([audit])
    return columns


def _matrix(audits: Sequence[Audit]) -> Iterator[str]:
    verdicts, columns = (*VERDICTS, *AGREEMENTS), _columns(audits)
    names = [_span([a.release for a in column]) for column in columns]
    width = max(map(len, names)) + 2
    for i, (column, name) in enumerate(zip(columns, names, strict=True), 1):
        counts = "  ".join(f"{LETTERS[v]} {column[0].count(v)}" for v in verdicts)
        many = f"  ({len(column)} releases)" if len(column) > 1 else ""
        yield f"  {i:>2}  {name:<{width}}{counts}{many}"
    audits = [column[-1] for column in columns]
    yield ""
    yield from _wrapped("; ".join(f"{LETTERS[v]} {_words(v)}" for v in verdicts), "  ")
    yield ""
    yield " " * 27 + "".join(f"{i:>3}" for i in range(1, len(audits) + 1))
    silent: dict[str, list[str]] = {}
    for finding in audits[-1].findings:
        rule = finding.rule.id
        row = [said.verdict for audit in audits if (said := audit.of(rule))]
        if set(row) <= {"needs_a_gpu", "not_applicable"}:
            what = "need a GPU" if "needs_a_gpu" in row else "speak of none of these releases"
            silent.setdefault(what, []).append(rule)
        else:
            yield f"  {rule:<25}" + "".join(f"{LETTERS[v]:>3}" for v in row)
    for what, names in silent.items():
        yield from ("", f"  {what}:")
        yield from _wrapped(", ".join(names), "    ")


def _details(audits: Sequence[Audit]) -> Iterator[str]:
    """Every contradiction and partial truth, once for the releases that share it."""
    rules = [f.rule for f in audits[-1].findings if isinstance(f.rule, Rule)]
    for verdict in _SHOWN:
        found = [s for r in rules for s in spans(audits, r.id) if s[1].verdict == verdict]
        if found:
            yield from ("", _heading(verdict))
        for releases, finding in found:
            yield f"  on {_span(releases)}"
            yield from _rule_lines(releases[-1], finding)


def _frameworks(audits: Sequence[Audit]) -> Iterator[str]:
    """The rules of thumb, once for the releases that share what came of them."""
    rules = [f.rule for f in audits[-1].findings if isinstance(f.rule, Framework)]
    if rules:
        yield from ("", "Rules of thumb of frameworks, against what the host accepts")
    for rule in rules:
        for releases, finding in spans(audits, rule.id):
            if len(audits) > 1:
                yield f"  on {_span(releases)}"
            yield from _framework_lines(releases[-1], finding)


def render_audit(audits: Sequence[Audit], contradictions: Sequence[Contradiction]) -> str:
    """The whole audit as text, at most 100 columns wide; ends without a newline.

    ``audits``  one a release, the oldest first.
    """
    if len(audits) == 1:
        return "\n".join(_one(audits[0], contradictions))
    lines = [f"{len(audits[-1].findings)} rules on {len(audits)} releases"]
    lines += [*_matrix(audits), *_details(audits)]
    lines += [*_contradictions(audits, contradictions), *_frameworks(audits)]
    return "\n".join(lines)


def render_page(text: str, command: str) -> str:
    """A Markdown page around the text of an audit; ends with a newline."""
    return (
        "# Documents against the library\n\n"
        "What documents and frameworks say of cuDNN's RNN API, tried on real releases without a "
        "GPU. `audit.parquet` has one row a rule and release; its columns are explained in "
        f"[../README.md](../README.md). Made by\n\n```console\n$ {command}\n```\n\n"
        f"```text\n{text}\n```\n"
    )


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
        "kept": finding.kept,
        "broken": finding.broken,
        "masked": finding.masked,
        "example": None
        if witness is None
        else {"problem": witness.problem, "status": witness.status, "reason": witness.reason},
        "otherwise_where": list(finding.conditions),
        "provenance": finding.call and "observed",
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
