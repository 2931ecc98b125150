"""Which equivalences hold, and the smallest problem that violates one, in words and as data."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pyharness.analyze.equivalences import FAILED, by_algo, widest
from pyharness.analyze.shrinking import extent
from pyharness.present.units import count_text, wrapped
from pyharness.spec.equivalences import CHECKS, HOLDS, NOT_TOLD, VIOLATED
from pyharness.spec.problem import Problem, parse_problem
from pyharness.spec.tensors import WRITTEN

Row = Mapping[str, Any]
_WIDTH = 80
_LABEL, _CELL, _ALGOS = 24, 28, 2  # two algos beside each other fill the width
_TENSORS = tuple(dict.fromkeys(name for names in WRITTEN.values() for name in names))
_HOW = {
    "": "smallest problem that shows it in",
    "not_repeated": "not seen a second time in",
    "not_shrunk": "not shrunk, seen in",
}
_MOST_SAID, _MOST_SMALLEST = 12, 4


def render_checks(rows: Sequence[Row], manifest: Mapping[str, Any]) -> str:
    """A matrix of check and algo, then what is violated, worst first; ends without a newline.

    ``rows``      of the table ``equivalences``.
    ``manifest``  run.json as plain data.
    """
    lines = _head(manifest)
    repeat = _command(manifest)
    for part in (_matrix(rows), _violated(rows, repeat), _ended(rows, repeat), _untold(rows)):
        lines += ["", *part] if part else []
    return "\n".join(lines)


def checks_data(rows: Sequence[Row], manifest: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """The same as plain data, for JSON; the summary counts problems."""
    summary = [
        {"algo": algo, "check": check, **counts} for (algo, check), counts in by_algo(rows).items()
    ]
    return {"folder": folder, **manifest, "summary": summary, "equivalences": list(rows)}


def _head(manifest: Mapping[str, Any]) -> list[str]:
    results, space = manifest["results"], manifest["space"]
    where = f"{manifest['release']['name']} on {manifest['device']['name']}"
    cases, checks = count_text(results["cases"], "problem"), len(space["checks"])
    words = f"{where}: {cases} of {space['name']} put to {count_text(checks, 'check')}"
    if results["cases_left"]:
        words += f", {results['cases_left']:,} not done ({manifest['state']})"
    lines = _said(words, 0)
    if manifest["device"].get("emulated"):
        lines.append("EMULATED: these are results of a test double, not of a GPU")
    return lines + [line for note in manifest["notes"] for line in _said(f"Note: {note}", 0)]


def _matrix(rows: Sequence[Row]) -> list[str]:
    cells, limits = by_algo(rows), widest(rows)
    algos = list(dict.fromkeys(algo for algo, _ in cells))
    lines: list[str] = []
    for begin in range(0, len(algos), _ALGOS):
        some = algos[begin : begin + _ALGOS]
        lines += [""] if begin else []
        lines.append(" " * _LABEL + "".join(f"{a:<{_CELL}}" for a in some).rstrip())
        for check in CHECKS:
            told = [cells.get((algo, check), Counter()) for algo in some]
            if any(told):
                within = [limits.get((algo, check), 0.0) for algo in some]
                texts = map(_cell, told, within)
                words = "".join(f"{text:<{_CELL}}" for text in texts)
                lines.append(f"{check:<{_LABEL}}{words}".rstrip())
    return lines


def _cell(counts: Counter[str], within: float) -> str:
    """What is worst, of how many problems that the check says something of.

    ``within``  the largest error that would still be said to hold.
    """
    told = sum(counts[word] for word in (HOLDS, VIOLATED, FAILED))
    for word in (FAILED, VIOLATED):
        if counts[word]:
            return f"{word.upper()} in {counts[word]:,} of {told:,}"
    if counts[HOLDS]:
        return f"{counts[HOLDS]:,} hold" + (f" within {within:.0e}" if within else "")
    return f"{counts[NOT_TOLD]:,} not told" if counts[NOT_TOLD] else "-"


def _violated(rows: Sequence[Row], repeat: str) -> list[str]:
    """Each check once, that of the largest error first, with the smallest problem that shows it."""
    groups: dict[str, list[Row]] = {}
    for row in sorted((r for r in rows if r["verdict"] == VIOLATED), key=_error, reverse=True):
        groups.setdefault(row["check"], []).append(row)
    lines = ["Violated, worst first"] if groups else []
    for check, several in groups.items():
        problems = count_text(len({r["name"] for r in several}), "problem")
        lines += _said(f"{check}: {CHECKS[check]}", 2)
        lines += _said(f"{_buffers(several)} ({problems}), worst {_worst(several[0])}", 4)
        shown = _smallest(several)
        for words, problem in shown[:_MOST_SMALLEST]:
            lines += _said(f"{words}:", 4)
            lines.append(f"      {_repeat(repeat, check, problem)}")
        if len(shown) > _MOST_SMALLEST:
            lines.append(f"    and {len(shown) - _MOST_SMALLEST:,} more: see equivalences.parquet")
    return lines


def _smallest(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """The smallest problem of each algo and data type; where none was found, the worst itself.

    Returns  what to say of it, and the problem.
    """
    kinds: dict[tuple[str, int, int], list[Row]] = {}
    for row in rows:
        of = _shows(row)
        how = "" if row["smallest"] is not None else row["shrinking"] or "not_shrunk"
        kinds.setdefault((how, of.value("algo"), of.value("data_type")), []).append(row)
    found = []
    for (how, *_), own in kinds.items():
        least = own[0] if how else min(own, key=lambda row: extent(_shows(row)))
        same = own if how else [row for row in own if row["smallest"] == least["smallest"]]
        words = f"{_HOW[how]} {_buffers(same)}"
        found.append((words if how else f"{words} ({_found(same)})", _shows(least).command))
    return found


def _shows(row: Row) -> Problem:
    """The smallest problem that shows it, as far as there is one."""
    words = row["problem"] if row["smallest"] is None else row["smallest"]
    return parse_problem(words.split())


def _error(row: Row) -> float:
    return float("inf") if row["error"] is None else float(row["error"])


def _worst(row: Row) -> str:
    way = f" ({row['variant']})" if row["variant"] else ""
    where = "" if row["first_element"] is None else f", the first is {row['first_element']:,}"
    allowed = f"rounding explains {row['threshold']:.1e}" if row["threshold"] else "must be equal"
    return (
        f"{row['buffer']} of {row['name']}{way}: {row['differing']:,} of {row['elements']:,} "
        f"elements differ{where}; error {_error_text(row['error'])}, {allowed}"
    )


def _error_text(error: float | None) -> str:
    return "no number" if error is None else f"{error:.1e}"


def _found(rows: Sequence[Row]) -> str:
    """The error that a smallest problem shows, in the tensor where it is largest."""
    errors = [row["smallest_error"] for row in rows]
    words = f"error {_error_text(None if None in errors else max(errors))}"
    if any(row["shrinking"] == "settled" for row in rows):
        return words
    return f"{words}; there may be a smaller one: {rows[0]['tries']:,} tried"


def _buffers(rows: Sequence[Row]) -> str:
    """The tensors of rows, forward's first."""
    there = {r["buffer"] for r in rows}
    return ", ".join(name for name in _TENSORS if name in there)


def _ended(rows: Sequence[Row], repeat: str) -> list[str]:
    """What was not run to the end: each distinct answer once, defects first."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row["outcome"] not in ("passed", "skipped"):
            key = (row["outcome"], row["call"], row["status"], row["reason"])
            groups.setdefault(key, []).append(row)
    order = (FAILED, "out_of_memory", "unsupported")
    found = sorted(groups.values(), key=lambda g: order.index(g[0]["outcome"]))
    lines = []
    for several in found[:_MOST_SAID]:
        first = several[0]
        checks = ", ".join(dict.fromkeys(r["check"] for r in several if r["check"]))
        status = f"{first['status']}: " if first["status"] not in (None, "SUCCESS") else ""
        problems = count_text(len({r["name"] for r in several}), "problem")
        said = f"{first['call']}: {status}{first['reason'] or 'no reason given'} ({problems})"
        lines += _said(f"{first['outcome'].replace('_', ' ')} {checks}".rstrip() + f": {said}", 0)
        lines.append(f"  {_repeat(repeat, first['check'], first['problem'])}")
    if len(found) > _MOST_SAID:
        lines.append(f"and {len(found) - _MOST_SAID:,} other answers: see equivalences.parquet")
    return lines


def _untold(rows: Sequence[Row]) -> list[str]:
    """Why checks say nothing: each reason once."""
    groups: dict[tuple[str | None, str], list[Row]] = {}
    for row in rows:
        if row["verdict"] == NOT_TOLD or row["outcome"] == "skipped":
            groups.setdefault((row["check"], row["reason"]), []).append(row)
    lines = ["Not told, or not checked"] if groups else []
    for (check, reason), several in list(groups.items())[:_MOST_SAID]:
        problems = count_text(len({r["name"] for r in several}), "problem")
        what = ", ".join(word for word in (check or "not run", _buffers(several)) if word)
        lines += _said(f"{what} ({problems}): {reason}", 2)
    if len(groups) > _MOST_SAID:
        lines.append(f"  and {len(groups) - _MOST_SAID:,} more: see equivalences.parquet")
    return lines


def _command(manifest: Mapping[str, Any]) -> str:
    """The command that repeats something, without its check and its words."""
    words = ["pyharness", "check", "--cudnn", manifest["release"]["asked"]]
    ordinal = manifest["device"].get("ordinal")
    return shlex.join([*words, "--device", str(ordinal)] if ordinal else words)


def _repeat(repeat: str, check: str | None, problem: str) -> str:
    checks = [] if check is None else ["--checks", check]
    return f"{repeat} {shlex.join([*checks, *(problem.split() or ['seed=0'])])}"


def _said(text: str, indent: int) -> list[str]:
    return wrapped(text, indent, indent + 2, _WIDTH)
