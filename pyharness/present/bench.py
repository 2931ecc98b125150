"""What was timed, in words and as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from pyharness.present.units import count_text, duration_text, wrapped
from pyharness.spec.timed import NOT_CAPTURABLE
from pyharness.spec.timed import TIMING_MODES as _MODES

Row = Mapping[str, Any]
_LABEL, _CELL = 22, 11
_MOST_SAID = 12


def render_bench(rows: Sequence[Row], head: Sequence[str], repeat: str) -> str:
    """The timings of all sides, problem by problem; ends without a newline.

    ``rows``    of the table ``timings``, a side after the other.
    ``head``    what was run, in lines.
    ``repeat``  the command that repeats a problem, without its words.
    """
    sides = list(dict.fromkeys(r["release"] for r in rows))
    lines = [*head, "", *_legend(len(sides))]
    for _, of_problem in groupby(_by_problem(rows), lambda r: r["name"]):
        several = list(of_problem)
        lines += ["", *wrapped(_title(several[0]), 0, 2)]
        for pass_name, of_pass in groupby(several, lambda r: r["pass"]):
            lines += _pass(pass_name, list(of_pass), sides)
    for part in (_marks(rows), _untimed(rows, repeat)):
        lines += ["", *part] if part else []
    return "\n".join(lines)


def bench_data(rows: Sequence[Row], runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The same as plain data, for JSON."""
    return {"runs": list(runs), "timings": list(rows)}


def _by_problem(rows: Sequence[Row]) -> list[Row]:
    """The rows in the order of problems, passes, sides."""
    names = {n: i for i, n in enumerate(dict.fromkeys(r["name"] for r in rows))}
    passes = {n: i for i, n in enumerate(dict.fromkeys(r["pass"] for r in rows))}
    return sorted(rows, key=lambda r: (names[r["name"]], passes[r["pass"]]))


def _legend(sides: int) -> list[str]:
    ratio = "      ratio" if sides > 1 else ""
    cells = "".join(f"{word:>{_CELL}}" for word in ("hot", "± 95 %", *_MODES[1:], "Gflop/s"))
    return [f"{'':<{_LABEL}}{cells}{'of peak':>9}{ratio}"]


def _title(row: Row) -> str:
    words = row["problem"]
    return words if row["name"] == words else f"{row['name']}: {words}"


def _pass(pass_name: str, rows: Sequence[Row], sides: Sequence[str]) -> Iterator[str]:
    """The lines of a pass: one a side."""
    first: float | None = None
    if len(sides) > 1:
        yield f"  {pass_name}"
    for release, of_side in groupby(rows, lambda r: r["release"]):
        modes = {r["mode"]: r for r in of_side}
        label = f"    {release}" if len(sides) > 1 else f"  {pass_name}"
        told = modes.get("hot") or next(iter(modes.values()))
        if all(r.get("median_s") is None for r in modes.values()):
            words = f"{told['status'] or told['outcome']}: {told['reason'] or 'no reason given'}"
            yield from wrapped(f"{label:<{_LABEL}} {words}", 0, _LABEL + 1)
            continue
        hot = modes.get("hot", {}).get("median_s")
        line = f"{label:<{_LABEL}}{_cells(modes)}"
        if len(label) >= _LABEL:
            yield label
            line = f"{'':<{_LABEL}}{_cells(modes)}"
        if first is not None and hot is not None:
            line += f"{hot / first:>11.3f}"
        if release == sides[0]:
            first = hot
        yield line.rstrip()


def _cells(modes: Mapping[str, Row]) -> str:
    hot = modes.get("hot", {})
    cells = [_time(hot), _spread(hot), *(_time(modes.get(m, {})) for m in _MODES[1:])]
    flops, share = hot.get("flop_per_s"), hot.get("of_peak_flop")
    cells.append("" if flops is None else f"{flops / 1e9:,.1f}")
    text = "".join(f"{cell:>{_CELL}}" for cell in cells)
    return text + f"{'' if share is None else f'{share:.1%}':>9}"


def _time(row: Row) -> str:
    if not row:
        return ""
    if row.get("median_s") is not None:
        return duration_text(row["median_s"])
    return "no graph" if row["status"] == NOT_CAPTURABLE else str(row["outcome"])[: _CELL - 1]


def _spread(row: Row) -> str:
    """Half of the interval of the median, in per cent of it."""
    if row.get("median_low_s") is None:
        return ""
    half = (row["median_high_s"] - row["median_low_s"]) / 2
    return f"{half / row['median_s']:.2%}"


def _marks(rows: Sequence[Row]) -> list[str]:
    """What a reader has to know before believing a time."""
    lines: list[str] = []
    if any(r["provenance"] == "emulated" for r in rows):
        lines += wrapped(
            "EMULATED: these are times of a test double's virtual clock, not of a GPU", 0, 2
        )
    throttled = [r for r in rows if r.get("throttled")]
    if throttled:
        reasons = sorted({r["throttle_reasons"] for r in throttled if r["throttle_reasons"]})
        left_out = sum(r["throttled"] for r in throttled)
        lines += wrapped(
            f"throttled: {count_text(left_out, 'sample')} of {count_text(len(throttled), 'row')} "
            f"left out, because the card was held down ({'; '.join(reasons)})",
            0,
            2,
        )
    for word, of_word in (
        ("drifting", [r for r in rows if r.get("trend") == "drifting"]),
        ("not precise", [r for r in rows if r.get("stop") in ("time limit", "sample limit")]),
    ):
        if of_word:
            lines += wrapped(f"{word}: {_places(of_word)}", 0, 2)
    return lines


def _places(rows: Sequence[Row]) -> str:
    said = [f"{r['name']} {r['pass']} {r['mode']}{_by(r)}" for r in rows[:_MOST_SAID]]
    more = f", and {len(rows) - _MOST_SAID} more" if len(rows) > _MOST_SAID else ""
    return ", ".join(said) + more


def _by(row: Row) -> str:
    if row.get("trend") == "drifting":
        return f" ({row['trend_change']:+.1%})"
    error = row.get("median_relative_error")
    return "" if error is None else f" ({error:.1%})"


def _untimed(rows: Sequence[Row], repeat: str) -> list[str]:
    """Why rows were not timed: each distinct answer once, with a command that repeats it."""
    lines: list[str] = []
    keys = ("outcome", "pass", "call", "status", "reason")
    others = [r for r in rows if r["outcome"] != "passed"]
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in others:
        groups.setdefault(tuple(row[k] for k in keys), []).append(row)
    most_first = sorted(groups.items(), key=lambda item: (item[0][0] != "failed", -len(item[1])))
    for (outcome, pass_name, call, status, reason), several in most_first[:_MOST_SAID]:
        names = list(dict.fromkeys(r["name"] for r in several))
        answer = " ".join(filter(None, (call, status)))
        lines += wrapped(
            f"{outcome} {pass_name}: {answer}: {reason or 'no reason given'} "
            f"({count_text(len(names), 'problem')})",
            0,
            2,
        )
        lines.append(f"  {repeat} {several[0]['problem']}".rstrip())
    if len(most_first) > _MOST_SAID:
        lines.append(f"and {len(most_first) - _MOST_SAID} other answers: see timings.parquet")
    return lines


def head_lines(runs: Iterable[Mapping[str, Any]]) -> list[str]:
    """What was run, from the manifests of all sides."""
    lines = []
    for run in runs:
        results = run["results"]
        words = f"{run['release']['name']} on {run['device']['name']}: "
        words += count_text(results["cases"], "problem") + f" of {run['space']['name']}"
        if results["cases_left"]:
            words += f", {results['cases_left']} not done ({run['state']})"
        lines += wrapped(words, 0, 2)
    return lines
