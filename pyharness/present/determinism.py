"""Which results repeat, under which conditions, in words and as data."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyharness.analyze.repeatability import Cell, by_algo
from pyharness.present.units import count_text, led, share_text, wrapped
from pyharness.spec.repeatability import (
    BY_DESIGN,
    CONDITIONS,
    NOT_REPEATABLE,
    NOT_TRIED,
)

Row = Mapping[str, Any]
_MOST_SAID = 20
_LABEL, _CELL = 18, 22


def render_determinism(rows: Sequence[Row], run: Mapping[str, Any]) -> str:
    """A matrix of algo and condition, then what differs, worst first; ends without a newline.

    ``rows``  of the table ``repeatability``.
    ``run``   the manifest as plain data.
    """
    results = run["results"]
    cases = count_text(results["cases"], "problem")
    words = (
        f"{run['release']['name']} on {run['device']['name']}: {cases} of {run['space']['name']}"
    )
    if results["cases_left"]:
        words += f", {results['cases_left']:,} not done ({run['state']})"
    lines = wrapped(words, 0, 2)
    runs = count_text(run["space"]["runs"], "run")
    lines += wrapped(
        f"First run against {runs} under each condition, bit by bit; a cell: clean runs of all "
        "problems and the failure rate below which they say nothing, at 95 % confidence",
        0,
        2,
    )
    if run["device"]["emulated"]:
        lines.append("EMULATED: a test double computed these results, not a GPU")
    for part in (_matrix(rows), _different(rows, run), _not_tried(rows), _failures(run)):
        lines += ["", *part] if part else []
    for note in run["notes"]:
        lines += wrapped(f"note: {note}", 0, 2)
    return "\n".join(lines)


def determinism_data(rows: Sequence[Row], run: Mapping[str, Any]) -> dict[str, Any]:
    """The same as plain data, for JSON."""
    summary = [
        {
            "algo": algo,
            "condition": condition,
            "verdict": cell.verdict,
            "problems": cell.problems,
            "problems_differing": cell.differing,
            "clean_runs": cell.clean,
            "failure_rate_bound": cell.bound,
        }
        for (algo, condition), cell in by_algo(rows).items()
    ]
    return {"run": dict(run), "summary": summary, "repeatability": list(rows)}


def _matrix(rows: Sequence[Row]) -> list[str]:
    cells = by_algo(rows)
    algos = list(dict.fromkeys(algo for algo, _ in cells))
    lines = []
    for begin in range(0, len(algos), 3):  # as many as the width of a text holds
        some = algos[begin : begin + 3]
        lines += [""] if begin else []
        lines.append(f"{'':<{_LABEL}}" + "".join(f"{a:>{_CELL + 2}}" for a in some))
        for condition in CONDITIONS:
            if any((a, condition) in cells for a in some):
                told = (_cell(cells.get((a, condition)), condition) for a in some)
                lines.append(f"{condition:<{_LABEL}}" + "".join(f"{t:>{_CELL + 2}}" for t in told))
    return lines


def _cell(cell: Cell | None, condition: str) -> str:
    if cell is None or cell.verdict == NOT_TRIED:
        return "-"
    if (bound := cell.bound) is not None:
        return f"{cell.clean:,} same, <{share_text(bound)}"
    if condition in BY_DESIGN:
        return "differs, by design"
    return f"DIFFERS in {cell.differing:,} of {cell.problems:,}"


def _different(rows: Sequence[Row], run: Mapping[str, Any]) -> list[str]:
    """What is not repeatable, by problem and condition: the largest share of elements first."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["verdict"] == NOT_REPEATABLE and row["condition"] not in BY_DESIGN:
            groups.setdefault((row["problem"], row["condition"]), []).append(row)
    found = sorted(groups.values(), key=lambda g: max(_size(r) for r in g), reverse=True)
    lines = ["Not repeatable, worst first"] if found else []
    for several in found[:_MOST_SAID]:
        first = several[0]
        lines += led(f"{first['condition']}, {first['name']}", "  ", "    ")
        for row in sorted(several, key=_size, reverse=True):
            lines += led(_difference(row), "    ", "      ")
        lines.append(f"    {_command(first, run)}")
    if len(found) > _MOST_SAID:
        lines.append(f"  and {len(found) - _MOST_SAID:,} more: see repeatability.parquet")
    return lines + _by_design(rows)


def _by_design(rows: Sequence[Row]) -> list[str]:
    """What differs because it was asked to."""
    lines = []
    for condition in CONDITIONS:
        own = [r for r in rows if r["condition"] == condition and r["verdict"] == NOT_REPEATABLE]
        if own and condition in BY_DESIGN:
            tensors = ", ".join(dict.fromkeys(r["buffer"] for r in own))
            problems = count_text(len({r["problem"] for r in own}), "problem")
            lines += wrapped(f"{condition} differs by design ({problems}: {tensors})", 0, 2)
    return lines


def _size(row: Row) -> tuple[float, int]:
    return row["share"], row["most_ulps"]


def _difference(row: Row) -> str:
    where = f"run {row['first_run']:,} of {row['runs']:,}"
    if row["variant"]:
        where += f" ({row['variant']})"
    far = "infinite" if row["most_abs"] is None else f"{row['most_abs']:.3g}"
    return (
        f"{row['buffer']}: first in {where}, element {row['first_element']:,}; "
        f"{share_text(row['share'])} of the elements, at most {row['most_ulps']:,} ulp or {far}; "
        f"{count_text(row['distinct'], 'distinct result')}"
    )


def _not_tried(rows: Iterable[Row]) -> list[str]:
    """Why conditions were not tried: each distinct reason once."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["verdict"] == NOT_TRIED:
            found.setdefault((row["reason"] or "", row["buffer"] or ""), []).append(row)
    lines = ["Not tried"] if found else []
    for (reason, tensor), several in list(found.items())[:_MOST_SAID]:
        conditions = dict.fromkeys(r["condition"] for r in several)
        problems = count_text(len({r["problem"] for r in several}), "problem")
        what = f"{tensor} under {', '.join(conditions)}" if tensor else ", ".join(conditions)
        lines += led(f"{what} ({problems}): {reason}", "  ", "      ")
    if len(found) > _MOST_SAID:
        lines.append(f"  and {len(found) - _MOST_SAID:,} other reasons: see repeatability.parquet")
    return lines


def _failures(run: Mapping[str, Any]) -> list[str]:
    failures = run["results"]["failures"]
    lines = ["Failed: a defect, not a difference"] if failures else []
    for failure in failures:
        lines += led(f"{failure['problem']}: {failure['cause']}", "  ", "      ")
    return lines


def _command(row: Row, run: Mapping[str, Any]) -> str:
    """The command that repeats it."""
    words = ["pyharness", "determinism", "--cudnn", run["release"]["asked"]]
    if run["device"]["ordinal"]:
        words += ["--device", str(run["device"]["ordinal"])]
    words += ["--conditions", row["condition"], "--runs", str(run["space"]["runs"])]
    return shlex.join([*words, *(row["problem"].split() or ["algo=standard"])])
