"""The top of a report: an upgrade's verdict, question by question, and what changed in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any

from pyharness.errors import HarnessError
from pyharness.present.recording import problem_text
from pyharness.present.report.model import Card, Section, Source, Step, Tone
from pyharness.present.report.words import ratio_text, tone, words
from pyharness.present.units import count_text, share_text
from pyharness.spec.problem import parse_problem

_SECTIONS = {
    "validity": "validity",
    "time": "time",
    "memory": "memory",
    "repeatability": "repeatability",
    "accuracy": "accuracy",
}
_MOST_FINDINGS = 40
_COUNTED = {  # where a change's own word does not read well behind a number
    "newly_failed": "newly failing",
    "no_longer_failed": "no longer failing",
    "call_removed": "calls gone",
    "call_added": "calls new",
    "other_status": "refused with another status",
    "other_reason": "refused for another reason",
    "lost": "no longer repeatable",
    "gained": "repeatable now",
    "shifted": "with bytes in other parts",
    "newly_beyond": "newly beyond rounding",
    "no_longer_beyond": "no longer beyond rounding",
    "drifted": "with other bits",
}
_ORDER = (  # what is worse first
    *("newly_refused", "newly_failed", "call_removed", "newly_accepted", "no_longer_failed"),
    *("call_added", "other_status", "other_reason"),
)
_NAMED = " is not measured"  # what says so names its question
_REFUSALS = ("newly_refused", "newly_failed")
_NONE = {  # what is said to be none, so that nobody has to conclude a zero from a silence
    **dict.fromkeys(("diff", "replay", "stages"), _REFUSALS),
    "time": ("slower",),
    "memory": ("grown",),
    "determinism": ("lost",),
    "accuracy": ("newly_beyond", "less_accurate"),
    "drift": ("drifted",),
}


def headline(source: Source) -> tuple[str, str]:
    """The word of an upgrade's gate, and the verdict in a sentence."""
    gate = source.data["gate"]
    told = [r for r in gate["requirements"] if r["word"] == gate["word"]]
    words_of = [q["word"] for q in source.data["questions"]]
    missing, unsure = words_of.count("not_measured"), words_of.count("inconclusive")
    rest = f"; {missing} of {len(words_of)} questions are not measured" if missing else ""
    rest += f"; {unsure} of {len(words_of)} cannot be told" if unsure else ""
    if not gate["requirements"]:
        return "not_judged", "The gate asks for nothing: what changed is below."
    if gate["word"] == "passed":
        return "passed", f"Nothing is worse by the gate{rest}."
    if gate["word"] == "failed":
        return "failed", f"By the gate: {'; '.join(map(_broken, told))}."
    why = "; ".join(dict.fromkeys(_untold(r) for r in told if r["why"]))
    return "inconclusive", f"{why or 'Too little was compared'}."


def _untold(requirement: Mapping[str, Any]) -> str:
    """Why a line cannot be told, and what it is about."""
    question, why = requirement["key"].partition(".")[0], str(requirement["why"])
    return why if _NAMED in why else f"{question}: {why}"


def _broken(requirement: Mapping[str, Any]) -> str:
    question, _, change = requirement["key"].partition(".")
    of = " of the log" if requirement["scope"] == "log" else ""
    noun = "call" if change.startswith("call_") else "case" if question == "time" else "problem"
    said = {"worse": "less accurate", "changed": "with other bits"}.get(change, _changed(change))
    limit = requirement.get("limit")
    more = "" if limit is None else f" by more than {100 * limit:g}%"
    return f"{count_text(requirement['found'], noun)}{of} {said}{more}"


def gate_rows(source: Source) -> list[dict[str, Any]]:
    """The lines of the gate, as a person reads them."""
    rows = []
    for r in source.data["gate"]["requirements"]:
        what = r["key"].replace("_", " ").replace(".", ": ")
        limit = r.get("limit")
        rows.append(
            {
                "what": what + (f", {100 * limit:g}% at most" if limit is not None else ""),
                "where": "the log" if r["scope"] == "log" else "all that was tried",
                "word": r["word"],
                "found": r["found"],
                "why": r["why"],
            }
        )
    return rows


def cards(source: Source) -> list[Card]:
    """The questions of an upgrade with their answers."""
    return [
        Card(
            q["question"],
            q["word"],
            [_told(e) for e in q["evidence"]] or [q["why"]],
            _SECTIONS[q["question"]],
        )
        for q in source.data["questions"]
    ]


def _changed(change: str) -> str:
    return _COUNTED.get(change, words(change))


def _told(evidence: Mapping[str, Any]) -> str:
    """What one source of problems says, zeros that matter included."""
    counts = evidence["counts"]
    said = [f"{n:,} {_changed(c)}" for c, n in counts.items()]
    part = evidence.get("part", "diff")
    none = [_changed(c) for c in _NONE.get(part, ()) if c not in counts]
    if none and evidence["compared"]:
        said.append(f"none {' or '.join(none)}")
    if evidence["unanswered"]:
        what = "could not be asked" if part == "replay" else "cannot be told"
        said.append(f"{evidence['unanswered']:,} {what}")
    if left := evidence.get("left"):
        said.append(f"{left:,} {'of its calls not read' if part == 'replay' else 'not tried'}")
    where = "the log" if evidence["scope"] == "log" else evidence["what"]
    where += {"stages": " on the GPU", "drift": ", bit by bit"}.get(part, "")
    # A problem that is told in part may have changed, too.
    tried = bool(evidence["unanswered"]) and part != "replay"
    count = evidence["compared"] + (evidence["unanswered"] if tried else 0)
    what = count_text(count, evidence.get("unit", "problem"))
    head = f"{where}: {what} {'tried' if tried else 'compared'}"
    return "; ".join(filter(None, [head, ", ".join(said)]))


def change_section(upgrades: Sequence[Source], diffs: Sequence[Source]) -> Section | None:
    """What changed, in words: from the verdict where there is one, else from the diffs."""
    steps: list[Step] = []
    commands: list[str] = []
    lead: list[str] = []
    for source in upgrades:
        for question in source.data["questions"]:
            for evidence in question["evidence"]:
                steps += _evidence_steps(question["question"], evidence)
                commands += evidence["commands"]
                asked = question["question"].capitalize()
                lead += [f"{asked}: {note}" for note in evidence["notes"]]
            commands += question["commands"]
    for source in diffs if not upgrades else ():
        steps += _diff_steps(source.data)
        commands += filter(None, [diff_command(source.data)])
        lead += [f"Note: {note}" for note in source.data["notes"]]
    if not upgrades and not diffs:
        return None
    if not steps:
        lead.insert(0, "Nothing changed in what was compared.")
    return Section("changes", "What changed", lead, steps, commands=list(dict.fromkeys(commands)))


def _evidence_steps(question: str, evidence: Mapping[str, Any]) -> Iterator[Step]:
    findings = evidence["findings"]
    for change, count in evidence["counts"].items():
        own = [f for f in findings if f["change"] == change]
        heading = f"{question.capitalize()}: {count:,} {_changed(change)}"
        told = 0
        for _, several in islice(groupby(own, _who), _MOST_FINDINGS):
            of = list(several)
            told += len(of)
            yield _step(heading, of)
        if told < len(own):
            yield Step(heading, "plain", f"and {len(own) - told:,} more: upgrade.json has them all")
        if not own:
            yield Step(heading, tone(change), "")


def _tone(finding: Mapping[str, Any]) -> Tone:
    if finding["for_worse"]:
        return "bad"
    neutral = finding["change"] in ("other_status", "shifted", "drifted")
    return "plain" if neutral else "good"


def _who(finding: Mapping[str, Any]) -> tuple[Any, ...]:
    """What findings share that are told as one: the problem; each of a host call is its own."""
    who = finding.get("name") or finding["problem"]
    return (who, finding["times"], finding["for_worse"]) if who else (id(finding),)


def _step(heading: str, findings: Sequence[Mapping[str, Any]]) -> Step:
    """What is told of a problem at once, or of a host call."""
    first = findings[0]
    name = first.get("name")
    if not name and not first["problem"]:
        what = [first["call"]] if first["call"] else []
        if first["problems"]:
            what.append(count_text(first["problems"], "problem"))
        told = f"{', '.join(what)}: {first['before']} → {first['after']}"
        return Step(heading, _tone(first), told, first["conditions"])
    who = str(name) if name and name != first["problem"] else _briefly(first["problem"])
    if first["times"]:
        who += f", {count_text(first['times'], 'call')} of the log"
    parts = [_told_step(finding) for finding in findings]
    if len(parts) == 1:
        return Step(heading, _tone(first), f"{who}: {parts[0]}")
    return Step(heading, _tone(first), who, parts=parts)


def _briefly(words_of: str) -> str:
    """A problem of a log without what is at its default."""
    try:
        return problem_text(parse_problem(words_of.split()))
    except HarnessError:  # an axis that this pyharness does not know
        return words_of


def _told_step(finding: Mapping[str, Any]) -> str:
    """What changed of a problem, before and after."""
    values = finding.get("values") or {}
    where = finding["call"]
    if (ratio := values.get("ratio")) is not None:
        where = f"{words(values['pass'])} {values['mode']}, {share_text(abs(ratio - 1))} "
        low, high = values["ratio_low"], values["ratio_high"]
        where += f"{finding['change']} (ratio {ratio_text(low)} to {ratio_text(high)})"
    return f"{where}: ".lstrip(": ") + f"{finding['before']} → {finding['after']}"


def diff_told(data: Mapping[str, Any]) -> str:
    """What a diff found, as one sentence."""
    counts = diff_counts(data)
    none = [_changed(c) for c in ("newly_refused", "newly_failed") if c not in counts]
    said = [f"{n:,} {_changed(c)}" for c, n in counts.items()]
    said += [f"none {' or '.join(none)}"] if none else []
    compared = f"{count_text(data['problems'], 'problem')} of {data['space']} compared"
    return f"{data['release_a']} → {data['release_b']}: {compared}; {', '.join(said)}."


def diff_counts(data: Mapping[str, Any]) -> dict[str, int]:
    """Change to problems of a diff."""
    counts: dict[str, int] = {}
    for call in data["calls"]:
        for group in call["changes"]:
            counts[group["change"]] = counts.get(group["change"], 0) + group["problems"]
    for change in ("call_removed", "call_added"):
        if names := data[{"call_removed": "calls_removed", "call_added": "calls_added"}[change]]:
            counts[change] = len(names)
    return {change: counts[change] for change in _ORDER if change in counts}


def diff_command(data: Mapping[str, Any]) -> str:
    """What makes a diff again; empty where two libraries have one name, which asks for neither."""
    if data["release_a"] == data["release_b"]:
        return ""
    return f"pyharness diff {data['release_a']} {data['release_b']} --preset {data['space']}"


def _diff_steps(data: Mapping[str, Any]) -> Iterator[Step]:
    counts = diff_counts(data)
    for change, count in counts.items():
        heading = f"Validity: {count:,} {_changed(change)}"
        for call in data["calls"]:
            for group in call["changes"]:
                if group["change"] == change:
                    yield Step(heading, tone(change), _group(call, group), group["words"])
    for what in ("calls_removed", "calls_added", "enumerators_removed", "enumerators_added"):
        if names := data[what]:
            kind: Tone = "bad" if what == "calls_removed" else "plain"
            yield Step(what.replace("_", " ").capitalize(), kind, ", ".join(names))
    if slower := [c for c in data["costs"] if c["verdict"] in ("slower", "faster")]:
        for c in slower:
            ratio = "" if c["ratio"] is None else f", {c['ratio']:.2f} times the host's time"
            what = f"{c['call']}, {c['answer']} problems{ratio}"
            yield Step("Cost of a call on the host", tone(c["verdict"]), f"{c['verdict']}: {what}")


def _group(call: Mapping[str, Any], group: Mapping[str, Any]) -> str:
    if group["change"] == "other_reason":
        step = f"{group['reason_a'] or '(no word)'} → {group['reason_b'] or '(no word)'}"
        step = f"{group['status_a']}: {step}"
    else:
        step = f"{group['status_a'] or 'failed'} → {group['status_b'] or 'failed'}"
    return f"{call['call']}, {group['problems']:,} of {call['problems']:,} problems: {step}"
