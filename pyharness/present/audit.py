"""An audit in words: of one release what is otherwise, of several a table of letters too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyharness.analyze.findings import Audit, Finding, spans
from pyharness.analyze.verdicts import AGREEMENTS, VERDICTS
from pyharness.present.units import count_text, led
from pyharness.spec.documented.rules import GRADES, Contradiction, Framework, Rule

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
_UNDECIDED = ("needs_a_gpu", "not_applicable")
_SHOWN = ("contradicted", "partly")  # in full; of the others the ids, unless they were asked for


def _titled(rule: Rule | Framework) -> Iterator[str]:
    yield from led(f"{rule.id:<25}{rule.says}", "  ", " " * 27)


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
    if finding.device is not None:
        return f"pyharness explain --cudnn {release} {problem}  -> {said}{reason}"
    return f"pyharness try --cudnn {release} {problem}  -> {said}{reason}"


def _rule_lines(release: str, finding: Finding, in_full: bool) -> Iterator[str]:
    rule = finding.rule
    assert isinstance(rule, Rule)
    yield from _titled(rule)
    said = f"document  {rule.outcome} [{rule.grade}: {rule.source}]"
    yield from led(said, " " * 6, " " * 16)
    if in_full:
        yield f"      grade     {rule.grade}, {rule.meaning}"
        if rule.versions != "all":
            yield from led(f"releases  {rule.versions}", " " * 6, " " * 16)
        if rule.note and rule.note not in finding.seen:
            yield from led(f"note      {rule.note}", " " * 6, " " * 16)
    yield from led(f"seen      {finding.seen}", " " * 6, " " * 16)
    if finding.conditions:
        yield from led(f"otherwise where {_where(finding.conditions)}", " " * 16, " " * 18)
    if tried := _tried(release, finding):
        yield from led(tried, " " * 6, " " * 10)


def _names(findings: Sequence[Finding]) -> list[str]:
    return led(", ".join(f.rule.id for f in findings), "  ")


def _framework_lines(release: str, finding: Finding, in_full: bool, brief: bool) -> Iterator[str]:
    rule = finding.rule
    assert isinstance(rule, Framework)
    yield from _titled(rule)
    if in_full:
        yield from led(f"source: {rule.source}", " " * 6, " " * 10)
        yield from led(f"seen: {finding.seen}", " " * 6, " " * 10)
    if finding.conditions:
        yield from led(
            f"allows what the library refuses: {_where(finding.conditions)}", " " * 6, " " * 10
        )
        yield from led(_tried(release, finding), " " * 6, " " * 10)
    if finding.spared:
        yield from led(
            f"narrower: the library also accepts {_where(finding.spared)}", " " * 6, " " * 10
        )
    if finding.verdict == "not_applicable":
        yield from led(f"not applicable: {finding.seen}", " " * 6)
    if finding.verdict == "agrees":
        yield from led("agrees: what it hands over is what is accepted", " " * 6)
    if rule.device is not None and not brief:
        yield from led(f"needs a GPU or a program: {rule.device.text}", " " * 6, " " * 10)


def _contradictions(
    audits: Sequence[Audit], contradictions: Sequence[Contradiction], brief: bool
) -> Iterator[str]:
    tried = {f.rule.id for audit in audits for f in audit.findings}
    asked = [c for c in contradictions if tried & set(c.rules)]
    if not asked:
        return
    yield from ("", "Where the documents contradict each other")
    for question in asked:
        yield from ("", f"  {question.question}")
        undecided = []
        for rule in question.rules:
            for releases, finding in spans(audits, rule):
                if brief and finding.verdict in _UNDECIDED:
                    undecided.append(rule)
                elif finding.verdict != "not_applicable" or len(releases) == len(audits):
                    yield from led(_answer(releases, finding, len(audits)), "    ", " " * 8)
        if undecided:
            yield from led(f"not decided here: {', '.join(undecided)}", "    ", " " * 8)
        if question.gpu:
            yield from led(f"left open: {question.gpu}", "    ", " " * 8)


def _answer(releases: Sequence[str], finding: Finding, of: int) -> str:
    seen = f"; {finding.seen}" if finding.call or finding.verdict != "needs_a_gpu" else ""
    where = f"; otherwise where {_where(finding.conditions)}" if finding.conditions else ""
    on = "" if of == len(releases) else f" on {_span(releases)}"
    return f"{finding.rule.id}: {finding.rule.says} -- {_words(finding.verdict)}{on}{seen}{where}"


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


def _others(audit: Audit) -> Iterator[str]:
    """The rules that came to a verdict that needs no words of its own, by their ids."""
    for verdict in VERDICTS:
        found = [f for f in audit.findings if f.verdict == verdict and isinstance(f.rule, Rule)]
        if verdict in _SHOWN or not found:
            continue
        yield from ("", _heading(verdict))
        asked = [f for f in found if f.call or verdict != "needs_a_gpu"]
        yield from _names(asked)
        if unasked := [f for f in found if f not in asked]:
            yield "  and none of their calls, or not all that they speak of, is on the host:"
            yield from _names(unasked)
    yield from ("", "`pyharness audit --rule ID` prints any rule in full.")


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
    yield from led("; ".join(f"{LETTERS[v]} {_words(v)}" for v in verdicts), "  ")
    yield ""
    yield " " * 27 + "".join(f"{i:>3}" for i in range(1, len(audits) + 1))
    silent: dict[str, list[str]] = {}
    for finding in audits[-1].findings:
        rule = finding.rule.id
        row = [said.verdict for audit in audits if (said := audit.of(rule))]
        if set(row) <= set(_UNDECIDED):
            what = "need a GPU" if "needs_a_gpu" in row else "speak of none of these releases"
            silent.setdefault(what, []).append(rule)
        else:
            yield f"  {rule:<25}" + "".join(f"{LETTERS[v]:>3}" for v in row)
    for what, names in silent.items():
        yield from ("", f"  {what}:")
        yield from led(", ".join(names), "    ")


def _details(audits: Sequence[Audit], in_full: bool) -> Iterator[str]:
    """Every contradiction and partial truth, once for the releases that share it; or all rules."""
    rules = [f.rule for f in audits[-1].findings if isinstance(f.rule, Rule)]
    for verdict in VERDICTS if in_full else _SHOWN:
        found = [s for r in rules for s in spans(audits, r.id) if s[1].verdict == verdict]
        if found:
            yield from ("", _heading(verdict))
        for releases, finding in found:
            if len(audits) > 1:
                yield f"  on {_span(releases)}"
            yield from _rule_lines(releases[-1], finding, in_full)


def _frameworks(audits: Sequence[Audit], in_full: bool, brief: bool) -> Iterator[str]:
    """The rules of thumb, once for the releases that share what came of them."""
    rules = [f.rule for f in audits[-1].findings if isinstance(f.rule, Framework)]
    if rules:
        yield from ("", "Rules of thumb of frameworks, against what the host accepts")
    for rule in rules:
        for releases, finding in spans(audits, rule.id):
            if len(audits) > 1:
                yield f"  on {_span(releases)}"
            yield from _framework_lines(releases[-1], finding, in_full, brief)


def _legend(audit: Audit) -> Iterator[str]:
    if any(isinstance(f.rule, Rule) for f in audit.findings):
        grades = "; ".join(f"{grade} {meaning}" for grade, meaning in GRADES.items())
        yield ""
        yield from led(f"Grades of sources: {grades}", "", "  ")


def render_audit(
    audits: Sequence[Audit], contradictions: Sequence[Contradiction], in_full: bool
) -> str:
    """The whole audit as text, at most 100 columns wide; ends without a newline.

    ``audits``   one a release, the oldest first.
    ``in_full``  every rule, whatever its verdict; otherwise of most rules their ids only.
    """
    newest, brief = audits[-1], len(audits) == 1 and not in_full
    if len(audits) == 1:
        lines = led(f"cuDNN {newest.release}: {_counts(newest)}", "", "  ")
    else:
        rules = count_text(len(newest.findings), "rule")
        lines = [f"{rules} on {count_text(len(audits), 'release')}", *_matrix(audits)]
    lines += [*_details(audits, in_full), *_contradictions(audits, contradictions, brief)]
    lines += _frameworks(audits, in_full, brief)
    if brief:
        lines += _others(newest)
    return "\n".join([*lines, *_legend(newest)])


def render_page(text: str, command: str, remark: str, devices: Sequence[str] = ()) -> str:
    """A Markdown page around the text of an audit; ends with a newline.

    ``devices``  the GPUs that were used.
    ``remark``  a sentence on the command; empty: none.
    """
    where = " and ".join(devices)
    where = f"on {where}" if where else "without a GPU"
    intro = (
        f"What documents and frameworks say of cuDNN's RNN API, tried on real releases {where}. "
        "`audit.parquet` has one row a rule and release; its columns are explained in "
        "[../README.md](../README.md). Made by"
    )
    return (
        f"# Documents against the library\n\n{intro}\n\n```console\n$ {command}\n```\n\n"
        + (f"{remark}\n\n" if remark else "")
        + f"```text\n{text}\n```\n"
    )
