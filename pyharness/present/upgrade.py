"""The verdict on an upgrade for a terminal: first what it is, then why."""

from __future__ import annotations

from collections.abc import Iterator

from pyharness.analyze.upgrade import (
    Evidence,
    Finding,
    OnGpu,
    Requirement,
    Upgrade,
    Verdict,
)
from pyharness.present.recording import problem_text
from pyharness.present.units import count_text, led, seconds_text, share_text
from pyharness.spec.gate import DEFAULT_GATE

_WIDTH = 90
_MOST_FINDINGS, _MOST_CONDITIONS = 8, 4
_HEADINGS = {
    "newly_refused": "Newly refused",
    "newly_failed": "Newly failing (crash, hang or another defect)",
    "newly_out_of_memory": "Newly out of memory",
    "call_removed": "Calls that are gone",
    "newly_accepted": "Newly accepted",
    "no_longer_failed": "No longer failing",
    "no_longer_out_of_memory": "No longer out of memory",
    "call_added": "New calls",
    "other_status": "Refused as before, with another status",
    "slower": "Slower",
    "faster": "Faster",
    "grown": "Needs more memory",
    "shrunk": "Needs less memory",
    "shifted": "Needs as much memory, in other parts",
    "lost": "Repeated its bits and does so no more",
    "gained": "Repeats its bits now",
    "newly_beyond": "Newly beyond what rounding explains",
    "less_accurate": "Less accurate",
    "no_longer_beyond": "No longer beyond what rounding explains",
    "more_accurate": "More accurate",
    "drifted": "Other bits than before",
}
_COUNTED = {
    "newly_failed": "newly failing",
    "call_removed": "calls gone",
    "no_longer_failed": "no longer failing",
    "call_added": "calls new",
    "other_status": "refused with another status",
    "lost": "no longer repeatable",
    "gained": "repeatable now",
    "shifted": "with bytes in other parts",
    "newly_beyond": "newly beyond rounding",
    "no_longer_beyond": "no longer beyond rounding",
    "drifted": "with other bits",
}
# What is said to be none, so that nobody has to conclude a zero from a silence.
_NONE = {
    "replay": ("newly_refused", "newly_failed"),
    "diff": ("newly_refused", "newly_failed"),
    "stages": ("newly_refused", "newly_failed"),
    "time": ("slower",),
    "memory": ("grown",),
    "determinism": ("lost",),
    "accuracy": ("newly_beyond", "less_accurate"),
    "drift": ("drifted",),
}
_SETTLED = {  # in a heading: of what no finding says more
    "replay": "accepted or refused as before",
    "diff": "accepted or refused as before",
    "stages": "accepted or refused as before",
    "time": "as fast as before, within the margin",
    "memory": "as large as before, to the byte",
    "determinism": "as repeatable as before",
    "accuracy": "as accurate as before",
    "drift": "the same, bit by bit",
}
_ASKED = {
    "validity.newly_refused": "none newly refused",
    "validity.newly_failed": "none newly failing",
    "validity.newly_out_of_memory": "none newly out of memory",
    "validity.call_removed": "no call removed",
    "time.slower": "slower by at most",
    "time.inconclusive": "none too noisy to tell",
    "memory.grown": "memory grown by at most",
    "repeatability.lost": "no repeatability lost",
    "accuracy.worse": "none less accurate",
    "drift.changed": "no other bits",
}
_CALLS = ("call_removed", "call_added")
_NAMED = " is not measured"  # what says so names it


def render_upgrade(found: Upgrade) -> str:
    """The whole verdict as text, at most 90 columns wide; ends without a newline.

    A command stays on one line, however long, so that it can be copied.
    """
    lines = [f"cuDNN {found.release_a} -> {found.release_b}"]
    if found.gpu is not None and found.gpu.device.get("emulated"):
        lines.append("EMULATED: nothing of the GPU below was seen on one")
    lines += [*led(_headline(found), "", width=_WIDTH), ""]
    for verdict in found.verdicts:
        lines += _verdict_lines(verdict)
    lines += ["", *_gate_lines(found)]
    if found.gpu is not None:
        lines += ["", *_part_lines(found, found.gpu)]
    for verdict in found.verdicts:
        for evidence in verdict.evidence:
            lines += ["", *_evidence_lines(verdict, evidence)]
    if unmeasured := [v for v in found.verdicts if v.word == "not_measured"]:
        where = "on a machine with a GPU" if found.gpu is None else "by commands of their own"
        lines += ["", f"Not measured; {where}"]
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
        return f"PASSED: nothing is worse by the gate{_open_questions(found)}."
    told = [r for r in found.requirements if r.word == found.word]
    if found.word == "failed":
        return f"WORSE: {'; '.join(map(_broken, told))}."
    return f"INCONCLUSIVE: {'; '.join(dict.fromkeys(map(_untold, told)))}."


def _open_questions(found: Upgrade) -> str:
    """What a gate that is passed says nothing of."""
    words = [v.word for v in found.verdicts]
    missing, unsure = words.count("not_measured"), words.count("inconclusive")
    said = f"; {missing} of {len(words)} questions are not measured" if missing else ""
    return said + (f"; {unsure} of {len(words)} cannot be told" if unsure else "")


def _untold(requirement: Requirement) -> str:
    """Why a line cannot be told, and what it is about."""
    question = requirement.key.partition(".")[0]
    return requirement.why if _NAMED in requirement.why else f"{question}: {requirement.why}"


def _broken(requirement: Requirement) -> str:
    question, _, change = requirement.key.partition(".")
    if change in _CALLS:
        return f"{count_text(requirement.found, 'call')} gone"
    of = " of the log" if requirement.scope == "log" else ""
    noun = "case" if question == "time" else "problem"
    words = {"worse": "less accurate", "changed": "with other bits"}.get(change, _counted(change))
    more = "" if requirement.limit is None else f" by more than {_share(requirement.limit)}"
    return f"{count_text(requirement.found, noun)}{of} {words}{more}"


def _counted(change: str) -> str:
    return _COUNTED.get(change, change.replace("_", " "))


def _share(share: float) -> str:
    return f"{100 * share:g}%"


def _verdict_lines(verdict: Verdict) -> Iterator[str]:
    lead = f"  {verdict.question:<15}{verdict.word.replace('_', ' '):<14}"
    told = [verdict.why] if verdict.word == "not_measured" else []
    for line in told + [_summary(e) for e in verdict.evidence]:
        yield from led(line, lead, " " * len(lead), _WIDTH)
        lead = " " * len(lead)


def _source(evidence: Evidence) -> str:
    what = "the log" if evidence.scope == "log" else evidence.what
    if evidence.part == "stages":
        return f"{what} on the GPU"
    return f"{what}, bit by bit" if evidence.part == "drift" else what


def _summary(evidence: Evidence) -> str:
    """Every source in one line."""
    counts = evidence.counts
    said = [f"{n:,} {_counted(change)}" for change, n in counts.items()]
    none = [_counted(c) for c in _NONE[evidence.part] if c not in counts]
    if none and evidence.compared:
        said.append(f"none {' or '.join(none)}")
    if evidence.unanswered:
        words = "could not be asked" if evidence.part == "replay" else "cannot be told"
        said.append(f"{evidence.unanswered:,} {words}")
    if evidence.left:
        words = "of its calls not read" if evidence.part == "replay" else "not tried"
        said.append(f"{evidence.left:,} {words}")
    rest = f"; {', '.join(said)}" if said else ""
    return f"{_source(evidence)}: {_tried(evidence)}{rest}"


def _tried(evidence: Evidence) -> str:
    """What the counts are of: a problem that is told in part may have changed, too."""
    if evidence.part == "replay" or not evidence.unanswered:
        return f"{count_text(evidence.compared, evidence.unit)} compared"
    return f"{count_text(evidence.compared + evidence.unanswered, evidence.unit)} tried"


def _gate_lines(found: Upgrade) -> Iterator[str]:
    named = found.gate.source
    what = f"Gate ({named})"
    yield from led(f"{what}: {found.word if found.requirements else 'asks for nothing'}", "")
    for r in found.requirements:
        limit = "" if r.limit is None else f" {_share(r.limit)}"
        words = f"{_ASKED[r.key]}{limit}" + (" of the log" if r.scope == "log" else "")
        yield f"  {words:<38}{r.word:<14}{r.found:>9,}"
    if named == DEFAULT_GATE:
        yield "  (--gate FILE.toml sets another)"


def _part_lines(found: Upgrade, gpu: OnGpu) -> Iterator[str]:
    spent = f"{seconds_text(found.spent_s)} of the budget's {seconds_text(found.budget_s)}"
    yield from led(f"On {gpu.device['name']}: {gpu.what}; {spent}", "", "  ", _WIDTH)
    for run in gpu.parts:
        lead = f"  {run.part:<13}{run.done:>5,} of {count_text(run.problems, 'problem'):<15}"
        times = f"{seconds_text(run.spent_s):>11} of {seconds_text(run.share_s)}"
        why = f"  {run.why}" if run.state in ("stopped", "not_begun") else ""
        yield from led(lead + times + why, "", "      ", _WIDTH)


def _evidence_lines(verdict: Verdict, evidence: Evidence) -> Iterator[str]:
    word = evidence.word.replace("_", " ")
    yield from led(f"{verdict.question.capitalize()} of {_source(evidence)}: {word}", "")
    if evidence.part == "replay":
        yield from led(evidence.what, "  ", "  ", _WIDTH)
    for change, count in evidence.counts.items():
        yield f"  {_HEADINGS[change]}: {count:,}"
        if change == "other_status":
            continue
        shown = [f for f in evidence.findings if f.change == change]
        last = None
        for finding in shown[:_MOST_FINDINGS]:
            yield from _finding_lines(finding, last)
            last = finding
        if len(shown) > _MOST_FINDINGS:
            yield f"    and {len(shown) - _MOST_FINDINGS:,} more (upgrade.json has them all)"
    if not evidence.counts and evidence.compared:
        yield f"  All {evidence.compared:,} compared are {_SETTLED[evidence.part]}."
    if evidence.unanswered:
        why = "a call cannot be made" if evidence.part == "replay" else "one side tells nothing"
        why = "the readings do not tell" if evidence.part == "time" else why
        yield f"  Not compared, because {why}: {evidence.unanswered:,}"
    if evidence.left:
        told = f"Not tried: {evidence.left:,} ({evidence.why_left})"
        if evidence.part == "replay":
            told = f"{evidence.left:,} {evidence.why_left}"
        yield from led(told, "  ", "    ", _WIDTH)
    for note in evidence.notes:
        yield from led(f"Note: {note}", "  ", "    ", _WIDTH)
    yield from (f"  $ {command}" for command in evidence.commands)


def _finding_lines(finding: Finding, last: Finding | None) -> Iterator[str]:
    """``last`` is what was told before it: a problem is named once."""
    if finding.change in _CALLS:
        yield f"    {finding.call}"
        return
    step = f"{finding.before} -> {finding.after}"
    lead = f"{finding.call}: " if finding.call else ""
    if finding.problem is not None:
        times = f"{count_text(finding.times, 'call')}: " if finding.times else ""
        what = finding.name or problem_text(finding.problem)
        if last is None or (last.name, last.problem) != (finding.name, finding.problem):
            yield from led(times + what, "    ", "      ", _WIDTH)
        yield from led(f"{lead}{_detail(finding)}{step}", "      ", "        ", _WIDTH)
        return
    yield from led(f"{finding.call}  {finding.problems:,}: {step}", "    ", "      ", _WIDTH)
    for i, words in enumerate(finding.conditions[:_MOST_CONDITIONS]):
        yield from led(words, "      " if i == 0 else "   or ", "        ", _WIDTH)
    if (more := len(finding.conditions) - _MOST_CONDITIONS) > 0:
        yield f"   or {more:,} more (upgrade.json has them all)"


def _detail(finding: Finding) -> str:
    """Of a time what was timed and the ratio; the rest says it in before and after."""
    values = finding.values
    if values.get("ratio") is None:
        return ""
    low, high = values["ratio_low"], values["ratio_high"]
    sure = f"{share_text(abs(values['ratio'] - 1))} {finding.change}"
    return f"{values['pass']} {values['mode']}, {sure} (x{low:.3f} to x{high:.3f}): "
