"""What runs on a device say of an upgrade: the tables of both releases in, evidence out.

Each problem is judged where both releases tell something. What tells nothing on either side, such
as dropout's conditions without dropout, is nothing to compare; what only one side tells is not
told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyharness.analyze.drift_changes import step_of
from pyharness.analyze.upgrade import Evidence, Finding, Part, Where, counted, in_order
from pyharness.analyze.upgrade_host import said
from pyharness.spec.problem import Problem
from pyharness.spec.repeatability import BY_DESIGN, NOT_REPEATABLE, NOT_TRIED
from pyharness.spec.stages import PASSES, blocked_by
from pyharness.spec.timed import CLOSE

Row = Mapping[str, Any]
Rows = Sequence[Row]
_IN_WORDS = {"passed": "SUCCESS", "out_of_memory": "out of memory", "unsupported": "refused"}
_Name = tuple[str | None, str]  # a set's name of a problem, and its words


@dataclass(frozen=True, slots=True)
class Tried:
    """A problem that was run: ``times`` a log has it, ``name`` a set has for it."""

    problem: Problem
    times: int = 0
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """What a part was given, and what it did not get to.

    ``problems``  by their words.
    ``known``     words of problems and changes that were told of the host already.
    """

    part: Part
    scope: Where
    what: str
    problems: Mapping[str, Tried]
    commands: list[str]
    left: int = 0
    why_left: str = ""
    known: frozenset[tuple[str, str]] = frozenset()

    def finding(self, change: str, words: str, call: str, before: str, after: str,
                name: str | None = None, **values: Any) -> Finding:  # fmt: skip
        """What was found of one problem."""
        tried = self.problems[words]
        return Finding(
            change,
            call,
            1,
            before,
            after,
            problem=tried.problem,
            times=tried.times,
            name=tried.name if name is None or tried.name is None else name,
            values=values,
        )

    def evidence(
        self,
        compared: int,
        unanswered: int,
        findings: Sequence[Finding],
        notes: Sequence[str] = (),
        counts: Mapping[str, int] | None = None,
    ) -> Evidence:
        """All that was found; ``counts`` where one problem has several findings of a kind."""
        return Evidence(
            self.part,
            self.scope,
            self.what,
            compared,
            unanswered,
            counted(findings) if counts is None else counts,
            in_order(findings),
            self.commands,
            list(notes),
            "case" if self.part == "time" else "problem",
            self.left,
            self.why_left,
        )


def problems_counted(findings: Sequence[Finding]) -> dict[str, int]:
    """Change to the number of problems that have it."""
    first = {(f.change, f.name, f.problem and f.problem.command): f for f in findings}
    return counted(list(first.values()))


def by_problem(rows: Rows) -> dict[_Name, list[Row]]:
    """The rows of each problem."""
    found: dict[_Name, list[Row]] = {}
    for row in rows:
        found.setdefault((row.get("name"), row["problem"]), []).append(row)
    return found


def in_both(a: Rows, b: Rows) -> Iterator[tuple[_Name, list[Row], list[Row]]]:
    """The rows of each problem that both releases have some of."""
    old, new = by_problem(a), by_problem(b)
    return ((key, rows, new[key]) for key, rows in old.items() if key in new)


def evidence_of_stages(a: Rows, b: Rows, source: Source) -> Evidence:
    """What both releases accept, pass by pass: the tables ``stages``.

    A pass that was not tried ended with the stage that kept it from that: what is refused as before
    and only later than before is not newly accepted, and what crashes where the older release did
    not get to is newly failing.
    """
    findings: list[Finding] = []
    compared = unanswered = elsewhere = 0
    for (_, words), old, new in in_both(a, b):
        changes: dict[str, Finding] = {}
        pairs = list(zip(_ends(old), _ends(new), strict=True))
        told = any(x and y for x, y in pairs)
        whole = all(bool(x) == bool(y) for x, y in pairs)
        for x, y in pairs:
            change = step_of(_end(x), _end(y)) if x and y else None
            if x and y and change is not None:
                changes.setdefault(change, _stage_finding(source, change, words, x, y))
        if any(row["outcome"] == "failed" for row in new):  # it fails, in whichever pass
            changes.pop("no_longer_failed", None)
        known = [change for change in changes if (words, change) in source.known]
        findings += (f for change, f in changes.items() if change not in known)
        elsewhere += bool(known)
        compared += told and whole
        unanswered += not (told and whole)
    notes = [f"{elsewhere:,} changed as on the host, which is told there"] if elsewhere else []
    return source.evidence(compared, unanswered, findings, notes)


def _ends(rows: Sequence[Row]) -> list[Row | None]:
    """What each pass came to, and then closing: of one that was not tried what kept it from that.

    Returns  None where nothing is known, as of a pass that is not needed.
    """
    of = {row["stage"]: row for row in rows}
    ended = [stage for stage, row in of.items() if row["outcome"] not in ("passed", "skipped")]
    died = next((of[stage] for stage in ended if of[stage]["outcome"] == "failed"), None)
    found: list[Row | None] = []
    for stage in PASSES:
        row = of.get(stage)
        if row is not None and row["outcome"] == "skipped":
            cause = blocked_by(stage, ended)
            row = died if cause is None else of[cause]
        found.append(row)
    # Closing has a row only where it failed.
    closed = of.get(CLOSE) or next((row for row in found if row is not None), None)
    return [*found, closed]


def _stage_finding(source: Source, change: str, words: str, x: Row, y: Row) -> Finding:
    row, before = (x if y["outcome"] == "passed" else y), _said(x)
    if x["outcome"] != "passed" and x["call"] != row["call"]:
        before = f"{x['call']}: {before}"
    return source.finding(change, words, row["call"], before, _said(y), stage=row["stage"])


def _end(row: Row) -> tuple[str, str | None]:
    return row["outcome"], row["status"]


def _said(row: Row) -> str:
    status = None if row["status"] == "SUCCESS" and row["outcome"] != "passed" else row["status"]
    return said(status or _IN_WORDS.get(row["outcome"]), row["reason"])


def evidence_of_repeats(a: Rows, b: Rows, source: Source) -> Evidence:
    """Whether results repeat as they did: the tables ``repeatability``."""
    findings: list[Finding] = []
    compared = unanswered = 0
    for (name, words), old, new in in_both(a, b):
        sides = [
            {(r["condition"], r["buffer"]): r for r in rows if r["condition"] not in BY_DESIGN}
            for rows in (old, new)
        ]
        told = [{k for k, r in side.items() if r["verdict"] != NOT_TRIED} for side in sides]
        changed: dict[tuple[str, str], list[tuple[Row, Row]]] = {}
        for key in sorted(told[0] & told[1]):
            x, y = sides[0][key], sides[1][key]
            differ = [r["verdict"] == NOT_REPEATABLE for r in (x, y)]
            if differ[0] != differ[1]:
                change = "lost" if differ[1] else "gained"
                changed.setdefault((change, key[0]), []).append((x, y))
        for (change, condition), pairs in changed.items():
            findings.append(_repeats(source, change, words, name, condition, pairs))
        # What is lost leaves others untold, as they would differ for the same cause.
        lost = any(change == "lost" for change, _ in changed)
        now = {k for k in told[1] - told[0] if sides[1][k]["verdict"] == NOT_REPEATABLE}
        whole = bool(told[0] & told[1]) and (lost or not (told[0] - told[1] or now))
        compared += whole
        unanswered += not whole
    return source.evidence(compared, unanswered, findings, counts=problems_counted(findings))


def _repeats(
    source: Source,
    change: str,
    words: str,
    name: str | None,
    condition: str,
    pairs: Sequence[tuple[Row, Row]],
) -> Finding:
    lost = change == "lost"
    buffers = [x["buffer"] for x, _ in pairs]
    clean = [x if lost else y for x, y in pairs]
    other = [y if lost else x for x, y in pairs]
    runs = min(r["runs"] for r in clean)
    differs = f"differs in {max(r['differing'] for r in other):,} of {other[0]['runs']:,} runs"
    same = f"the same in {runs:,} runs"
    what = f"{condition}, {', '.join(buffers)}"
    return source.finding(
        change,
        words,
        "",
        f"{what}: {same if lost else differs}",
        differs if lost else same,
        name,
        condition=condition,
        buffers=buffers,
        runs_a=min(x["runs"] for x, _ in pairs),
        runs_b=min(y["runs"] for _, y in pairs),
        share=max(r["share"] for r in other),
        failure_rate_bound=max(r["failure_rate_bound"] for r in clean),
    )
