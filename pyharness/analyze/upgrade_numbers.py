"""What numbers of both releases say of an upgrade: time, bytes, errors and bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from pyharness.analyze.upgrade import Evidence, Finding
from pyharness.analyze.upgrade_device import (
    Row,
    Rows,
    Source,
    by_problem,
    in_both,
    problems_counted,
)
from pyharness.reference.tolerances import UNIT
from pyharness.spec.footprint import PARTS

# A usual error that is twice as large is a bit of every number less.
LESS_ACCURATE = 2.0
# Of what rounding to the type costs at most: an error below it is what storing a right number
# costs, and may be a few times what it was by chance.
_STORING = 0.25
_TIMED = ("slower", "faster", "same")
_CHANGED = {"slower": "slower", "faster": "faster", "inconclusive": "inconclusive"}
_WHY = {
    "noise": "the processes are too far apart",
    "clock": "cycles do not say what seconds say",
    "few": "too few blocks of processes are whole",
}
_TIMES = (
    *("pass", "mode", "median_a_s", "median_b_s", "ratio", "ratio_low", "ratio_high"),
    *("cycles_ratio", "q_change", "visible", "reason"),
)
_SIZES = tuple(f"{part}_bytes" for part in (*PARTS, "total"))
_ERRORS = ("rms_rel", "max_rel", "threshold")


def evidence_of_time(rows: Rows, source: Source) -> Evidence:
    """What takes longer, or less: the table ``time_changes``."""
    findings = [
        source.finding(
            _CHANGED[row["verdict"]],
            row["problem"],
            "",
            _seconds(row["median_a_s"]),
            _seconds(row["median_b_s"]),
            row["name"],
            **{name: row.get(name) for name in _TIMES},
        )
        for row in rows
        if row["verdict"] in _CHANGED
    ]
    told = sum(row["verdict"] in _TIMED for row in rows)
    why = Counter(row["reason"] for row in rows if row["verdict"] == "inconclusive")
    ends = [(row["verdict"], {row["outcome_a"], row["outcome_b"]}) for row in rows]
    one_sided = sum(
        verdict == "not_compared" and "passed" in outcomes and len(outcomes) > 1
        for verdict, outcomes in ends
    )
    # Timed on both, and in one process or several not: that is no speed, and is no pass.
    at_times = sum(verdict in _TIMED and outcomes != {"passed"} for verdict, outcomes in ends)
    notes = [f"{n:,} inconclusive: {_WHY.get(reason, reason)}" for reason, n in why.items()]
    if one_sided:
        notes.append(f"{one_sided:,} cannot be timed on one of the releases")
    if at_times:
        notes.append(f"{at_times:,} could be timed in some of the processes alone")
    seen = [row["visible"] for row in rows if row["verdict"] in _TIMED and row.get("visible")]
    if seen:
        notes.append(
            f"of the cases told, the least change that each would have shown: {min(seen):.1%} to "
            f"{max(seen):.1%}"
        )
    counts = Counter(f.change for f in findings if f.change != "inconclusive")
    known = {change: counts[change] for change in ("slower", "faster") if counts[change]}
    untold = why.total() + one_sided + at_times
    return source.evidence(told - at_times, untold, findings, notes, known)


def _seconds(seconds: float | None) -> str:
    return "unknown" if seconds is None else f"{seconds * 1e6:,.1f} µs"


def evidence_of_memory(a: Rows, b: Rows, source: Source) -> Evidence:
    """What needs more bytes, or fewer: the tables ``memory``."""
    findings: list[Finding] = []
    compared = unanswered = neither = 0
    for (name, words), old, new in in_both(a, b):
        sides = [{r["forward_mode"]: r for r in rows} for rows in (old, new)]
        known = [{m for m, r in side.items() if r.get("total_bytes") is not None} for side in sides]
        for mode in sides[0]:
            if mode in known[0] & known[1]:
                found = _bytes(source, words, name, sides[0][mode], sides[1][mode])
                findings += [] if found is None else [found]
        whole = bool(known[0]) and known[0] == known[1]
        compared += whole
        unanswered += known[0] != known[1]
        neither += not (known[0] or known[1])
    notes, counts = _of_neither(neither), problems_counted(findings)
    return source.evidence(compared, unanswered, findings, notes, counts)


def _of_neither(count: int) -> list[str]:
    """What is said of problems that no release has a number for: they are in no other count."""
    has = "has" if count == 1 else "have"
    return [f"{count:,} more {has} no number on either release"] if count else []


def _bytes(source: Source, words: str, name: str | None, x: Row, y: Row) -> Finding | None:
    moved = {size: y[size] - x[size] for size in _SIZES if y[size] != x[size]}
    if not moved:
        return None
    by = moved.pop("total_bytes", 0)
    change = "grown" if by > 0 else "shrunk" if by < 0 else "shifted"
    parts = ", ".join(f"{s.removesuffix('_bytes')} {n:+,} B" for s, n in moved.items())
    return source.finding(
        change,
        words,
        "",
        f"{x['forward_mode']}: {x['total_bytes']:,} B",
        f"{y['total_bytes']:,} B ({parts})",
        name,
        forward_mode=x["forward_mode"],
        **{f"{size}_{side}": row[size] for size in _SIZES for side, row in (("a", x), ("b", y))},
    )


def evidence_of_accuracy(a: Rows, b: Rows, source: Source) -> Evidence:
    """What is farther from the truth, or nearer: the tables ``accuracy``.

    A tensor that rounding explained and no longer does is newly beyond; one that it explains before
    and after is less accurate if its usual error is LESS_ACCURATE times what it was, or more.
    """
    findings: list[Finding] = []
    compared = unanswered = neither = 0
    for (name, words), old, new in in_both(a, b):
        sides = [
            {(r["pass"], r["buffer"]): r for r in rows if r["verdict"] in ("within", "beyond")}
            for rows in (old, new)
        ]
        for key, x in sides[0].items():
            y = sides[1].get(key)
            change = None if y is None else _accuracy_change(x, y)
            if y is not None and change is not None:
                findings.append(
                    source.finding(
                        change,
                        words,
                        "",
                        f"{key[0]} {key[1]}: {_error(x)}",
                        _error(y),
                        name,
                        **{"pass": key[0], "buffer": key[1]},
                        **{f"{e}_{s}": r[e] for e in _ERRORS for s, r in (("a", x), ("b", y))},
                    )
                )
        whole = bool(sides[0]) and sides[0].keys() == sides[1].keys()
        compared += whole
        unanswered += sides[0].keys() != sides[1].keys()
        neither += not (sides[0] or sides[1])
    notes, counts = _of_neither(neither), problems_counted(findings)
    return source.evidence(compared, unanswered, findings, notes, counts)


def _accuracy_change(x: Row, y: Row) -> str | None:
    if x["verdict"] != y["verdict"]:
        return "newly_beyond" if y["verdict"] == "beyond" else "no_longer_beyond"
    before, after = (_usual(row) for row in (x, y))
    least = UNIT[x["data_type"]] * _STORING
    if before == after:
        return None
    if after >= LESS_ACCURATE * before and after > least:
        return "less_accurate"
    if before >= LESS_ACCURATE * after and before > least:
        return "more_accurate"
    return None


def _usual(row: Row) -> float:
    """The usual error; a NaN or an infinity too many is infinitely far off."""
    return inf if row["nan"] or row["inf"] or row["rms_rel"] is None else float(row["rms_rel"])


def _error(row: Row) -> str:
    if row["nan"] or row["inf"]:
        return f"{row['verdict']}, {row['nan']:,} NaN and {row['inf']:,} infinite"
    far = f"usual error {row['rms_rel']:.2g}, largest {row['max_rel']:.2g}"
    return f"{row['verdict']}, {far} of {row['threshold']:.2g} allowed"


def evidence_of_drift(rows: Rows, source: Source) -> Evidence:
    """What has other bits: the table ``drift``."""
    findings: list[Finding] = []
    compared = unanswered = 0
    for (name, words), own in by_problem(rows).items():
        told = [r for r in own if r["verdict"] in ("same", "drifted")]
        for of_pass, drifted in _by_pass(told).items():
            far = [r["most_ulps"] for r in drifted]
            apart = [r["most_abs"] for r in drifted]
            share = max(r["share"] for r in drifted)
            findings.append(
                source.finding(
                    "drifted",
                    words,
                    "",
                    f"{of_pass}: {', '.join(r['buffer'] for r in drifted)}",
                    f"other bits in {share:.2%}, by at most {_most(far):,} ulp",
                    name,
                    **{"pass": of_pass},
                    buffers=[r["buffer"] for r in drifted],
                    share=share,
                    most_ulps=_most(far),
                    most_abs=None if None in apart else max(apart),
                )
            )
        untold = any(r["verdict"] == "not_told" or _one_sided(r) for r in own)
        compared += bool(told) and not untold
        unanswered += untold
    return source.evidence(compared, unanswered, findings, counts=problems_counted(findings))


def _one_sided(row: Row) -> bool:
    """Whether a pass was not compared though it ended well on one side, or on both."""
    ended_well = "passed" in (row["outcome_a"], row["outcome_b"])
    return ended_well and row["verdict"] == "not_compared"


def _by_pass(rows: Rows) -> Mapping[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row["verdict"] == "drifted":
            found.setdefault(row["pass"], []).append(row)
    return found


def _most(values: Sequence[Any]) -> int:
    return max((int(v) for v in values if v is not None), default=0)
