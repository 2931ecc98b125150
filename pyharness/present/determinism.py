"""Which results repeat, under which conditions, in words and as data."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyharness.analyze.repeatability import MOST_DISTINCT, Cell, by_algo
from pyharness.present.trade_off import render_trade_offs
from pyharness.present.units import WIDTH, count_text, led, share_text, wrapped
from pyharness.spec.repeatability import (
    BY_DESIGN,
    CONDITIONS,
    NOT_REPEATABLE,
    NOT_TRIED,
    REPEATABLE,
)
from pyharness.spec.tensors import WRITTEN

Row = Mapping[str, Any]
_MOST_SAID = 20
_LABEL, _LEAST_CELL = 18, 16
_UNTOLD = "*"
_UNTOLD_WORDS = "without problems or tensors that were not tried, or not to the end: see below"


def render_determinism(
    rows: Sequence[Row], run: Mapping[str, Any], times: Sequence[Row] = (), width: int = WIDTH
) -> str:
    """A matrix of algo and condition, then what differs, worst first; ends without a newline.

    ``rows``   of the table ``repeatability``.
    ``run``    the manifest as plain data.
    ``times``  of the table ``trade_offs``.
    """
    results = run["results"]
    cases = count_text(results["cases"], "problem")
    words = (
        f"{run['release']['name']} on {run['device']['name']}: {cases} of {run['space']['name']}"
    )
    if results["cases_left"]:
        words += f", {results['cases_left']:,} not done ({run['state']})"
    lines = wrapped(words, 0, 2, width)
    if run["device"]["emulated"]:
        lines.append("EMULATED: a test double computed these results, not a GPU")
    lines += wrapped(_legend(rows, run), 0, 0, width)
    for part in (
        _matrix(rows, width),
        _different(rows, run, width),
        _not_tried(rows, width),
        _failures(run, width),
        render_trade_offs(times, width),
    ):
        lines += ["", *part] if part else []
    for note in run["notes"]:
        lines += wrapped(f"note: {note}", 0, 2, width)
    return "\n".join(lines)


def _legend(rows: Sequence[Row], run: Mapping[str, Any]) -> str:
    """How the matrix is to be read, and what its bounds are bounds of."""
    runs = count_text(run["space"]["runs"], "run")
    words = (
        f"{runs} or more under each condition, compared bit by bit with one without it. A cell: "
        "the runs that came out the same, of all problems, and the rate of differing ones that "
        "so many rule out at 95 % confidence."
    )
    apart = dict.fromkeys(r["condition"] for r in rows if (r["processes"] or 0) > 1)
    if any(r["runs"] and r["condition"] not in apart for r in rows):
        words += " It is a rate within the process that ran a problem"
        words += f"; under {' and '.join(apart)} one over processes." if apart else "."
    elif apart:
        words += " It is a rate over processes."
    where = run["results"].get("compared_on", [])
    if any(w != "device" for w in where) and not run["device"]["emulated"]:
        words += f" Compared on the {' and the '.join(where)}."
    return words


def determinism_data(
    rows: Sequence[Row], run: Mapping[str, Any], times: Sequence[Row] = ()
) -> dict[str, Any]:
    """The same as plain data, for JSON; ``trade_offs`` where problems were timed."""
    summary = [
        {
            "algo": algo,
            "condition": condition,
            "verdict": cell.verdict,
            "problems": cell.problems,
            "problems_differing": cell.differing,
            "problems_not_told": cell.untold,
            "clean_runs": cell.clean,
            "processes": cell.processes,
            "failure_rate_bound": cell.bound,
        }
        for (algo, condition), cell in by_algo(rows).items()
    ]
    data = {"run": dict(run), "summary": summary, "repeatability": list(rows)}
    return {**data, "trade_offs": list(times)} if times else data


def _matrix(rows: Sequence[Row], width: int) -> list[str]:
    """As many algos beside each other as there is room for, block by block."""
    cells = by_algo(rows)
    lines: list[str] = []
    for algos in _blocks(list(dict.fromkeys(algo for algo, _ in cells)), width - _LABEL):
        lines += [""] if lines else []
        lines.append(f"{'':<{_LABEL}}" + "".join(f"{a:>{_room(a)}}" for a in algos))
        for condition in CONDITIONS:
            if any((a, condition) in cells for a in algos):
                told = ((a, _cell(cells.get((a, condition)), condition)) for a in algos)
                texts = "".join(f"{text:>{_room(a)}}" for a, text in told)
                lines.append(f"{condition:<{_LABEL}}{texts}")
    if any(cell.untold and cell.verdict == REPEATABLE for cell in cells.values()):
        lines += wrapped(f"{_UNTOLD} {_UNTOLD_WORDS}", 0, 2, width)
    return lines


def _room(algo: str) -> int:
    return max(len(algo), _LEAST_CELL) + 2


def _blocks(algos: Sequence[str], room: int) -> list[list[str]]:
    blocks: list[list[str]] = []
    for algo in algos:
        if blocks and sum(map(_room, [*blocks[-1], algo])) <= room:
            blocks[-1].append(algo)
        else:
            blocks.append([algo])
    return blocks


def _cell(cell: Cell | None, condition: str) -> str:
    if cell is None or cell.verdict == NOT_TRIED:
        return "-"
    if (bound := cell.bound) is not None:
        return f"{cell.clean:,} same, <{share_text(bound)}{_UNTOLD if cell.untold else ''}"
    if condition in BY_DESIGN:
        return "differs, by design"
    return f"DIFFERS in {cell.differing:,} of {cell.problems:,}"


def _different(rows: Sequence[Row], run: Mapping[str, Any], width: int) -> list[str]:
    """What is not repeatable, by problem and condition: the largest share of elements first."""
    groups: dict[tuple[str, str], list[Row]] = {}
    trained = {r["name"] for r in rows if r["buffer"] not in (None, *WRITTEN["forward_inference"])}
    for row in rows:
        if row["verdict"] == NOT_REPEATABLE and row["condition"] not in BY_DESIGN:
            groups.setdefault((row["name"], row["condition"]), []).append(row)
    found = sorted(groups.values(), key=lambda g: max(_size(r) for r in g), reverse=True)
    lines = ["Not repeatable, worst first"] if found else []
    for several in found[:_MOST_SAID]:
        first = several[0]
        lines += led(f"{first['condition']}, {first['name']}", "  ", "    ", width)
        for row in sorted(several, key=_size, reverse=True):
            lines += led(_difference(row), "    ", "      ", width)
        lines.append(f"    {_command(first, run, first['name'] in trained)}")
    if len(found) > _MOST_SAID:
        lines.append(f"  and {len(found) - _MOST_SAID:,} more: see repeatability.parquet")
    return lines + _by_design(rows, width)


def _by_design(rows: Sequence[Row], width: int) -> list[str]:
    """What differs because it was asked to."""
    lines = []
    for condition in CONDITIONS:
        own = [r for r in rows if r["condition"] == condition and r["verdict"] == NOT_REPEATABLE]
        if own and condition in BY_DESIGN:
            tensors = ", ".join(dict.fromkeys(r["buffer"] for r in own))
            problems = count_text(len({r["name"] for r in own}), "problem")
            words = f"{condition} differs by design ({problems}: {tensors})"
            lines += wrapped(words, 0, 2, width)
    return lines


def _size(row: Row) -> tuple[float, int]:
    return row["share"], row["most_ulps"]


def _difference(row: Row) -> str:
    some = "some" if row["differing"] is None else f"{row['differing']:,}"  # not in older tables
    where = f"{some} of {count_text(row['runs'], 'run')}, first run {row['first_run']:,}"
    if row["variant"]:
        where += f" ({row['variant']})"
    far = "infinite" if row["most_abs"] is None else f"{row['most_abs']:.3g}"
    nan = f", NaN on one side in {row['nan']:,}" if row["nan"] else ""
    many = "at least " if row["distinct"] >= MOST_DISTINCT else ""
    return (
        f"{row['buffer']}: {where}, element {row['first_element']:,}; "
        f"{share_text(row['share'])} of the elements, at most "
        f"{row['most_ulps']:,} ulp or {far}{nan}; "
        f"{many}{count_text(row['distinct'], 'distinct result')}"
    )


def _not_tried(rows: Iterable[Row], width: int) -> list[str]:
    """Why conditions were not tried: each distinct reason once."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["verdict"] == NOT_TRIED:
            found.setdefault((row["reason"] or "", row["condition"]), []).append(row)
    alike: dict[tuple[str, tuple[str | None, ...], int], list[str]] = {}
    for (reason, condition), several in found.items():
        tensors = tuple(dict.fromkeys(r["buffer"] for r in several))
        problems = len({r["name"] for r in several})
        alike.setdefault((reason, tensors, problems), []).append(condition)
    lines = ["Not tried"] if alike else []
    for (reason, tensors, problems), conditions in list(alike.items())[:_MOST_SAID]:
        named = ", ".join(t for t in tensors if t)
        what = f"{named} under {', '.join(conditions)}" if named else ", ".join(conditions)
        words = f"{what} ({count_text(problems, 'problem')}): {reason}"
        lines += led(words, "  ", "    ", width)
    if len(alike) > _MOST_SAID:
        lines.append(f"  and {len(alike) - _MOST_SAID:,} other reasons: see repeatability.parquet")
    return lines


def _failures(run: Mapping[str, Any], width: int) -> list[str]:
    failures = run["results"]["failures"]
    lines = ["Failed: a defect, not a difference"] if failures else []
    for failure in failures[:_MOST_SAID]:
        lines += led(f"{failure['problem']}: {failure['cause']}", "  ", "    ", width)
    if len(failures) > _MOST_SAID:
        lines.append(f"  and {len(failures) - _MOST_SAID:,} more: see run.json")
    return lines


def _command(row: Row, run: Mapping[str, Any], trained: bool) -> str:
    """The command that repeats it.

    ``trained``  as words alone are; what a preset does not train is run by the preset.
    """
    words = ["pyharness", "determinism", "--cudnn", run["release"]["asked"]]
    if run["device"]["ordinal"]:
        words += ["--device", str(run["device"]["ordinal"])]
    words += ["--conditions", row["condition"], "--runs", str(run["space"]["runs"])]
    preset, *axes = run["space"]["name"].split()
    if trained or "=" in preset or preset == "log":
        return shlex.join([*words, *(row["problem"].split() or ["algo=standard"])])
    return shlex.join([*words, "--preset", preset, *(w for a in axes for w in ("--axis", a))])
