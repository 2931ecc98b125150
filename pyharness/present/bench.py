"""What was timed, in words and as data."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from pyharness.present.bench_marks import marks, untimed
from pyharness.present.units import count_text, duration_text, wrapped
from pyharness.spec.timed import (
    BACKWARD,
    CLOSE,
    NOT_CAPTURABLE,
    TIMED_PASSES,
    TIMING_MODES,
    TRAINING_STEP,
)

Row = Mapping[str, Any]
Run = Mapping[str, Any]
Modes = Mapping[str | None, Row]  # the rows of a pass on a side
_LABEL, _MOST_NAME = 21, 17
_WORDS = {"passed": "throttled", "out_of_memory": "no memory", "unsupported": "refused"}
_ORDER = (*TIMED_PASSES[: TIMED_PASSES.index(TRAINING_STEP)], BACKWARD, TRAINING_STEP, CLOSE)


class _Column(NamedTuple):
    """A column: its head, its width, and what stands there of a pass, by mode."""

    head: str
    width: int
    cell: Callable[[Modes], str]


def render_bench(rows: Sequence[Row], runs: Sequence[Run]) -> str:
    """The timings of all sides, problem by problem; ends without a newline.

    ``rows``  of the table ``timings``, a side after the other.
    ``runs``  the sides' manifests, as plain data.
    """
    sides = [run["release"]["name"] for run in runs]
    labels = _labels(sides)
    columns = _columns(rows)
    lines = _head(runs, labels)
    lines += ["", *_legend(columns, len(sides) > 1)] if columns else []
    for _, of_problem in groupby(_by_problem(rows, sides), lambda r: r["name"]):
        several = list(of_problem)
        medians = {(r["release"], r["pass"]): r["median_s"] for r in several if r["mode"] == "hot"}
        lines += ["", *wrapped(_title(several[0]), 0, 2)]
        for pass_name, of_pass in groupby(several, lambda r: r["pass"]):
            lines += _pass(pass_name, list(of_pass), labels, columns, medians)
    precision = max((r["space"]["timing"]["rule"]["relative_error"] for r in runs), default=0.0)
    notes = dict.fromkeys(note for run in runs for note in run["notes"])
    repeat = {run["release"]["name"]: _command(run) for run in runs}
    for part in (marks(rows, precision, list(notes)), untimed(rows, repeat)):
        lines += ["", *part] if part else []
    return "\n".join(lines)


def bench_data(rows: Sequence[Row], runs: Sequence[Run]) -> dict[str, Any]:
    """The same as plain data, for JSON."""
    return {"runs": list(runs), "timings": list(rows)}


def _command(run: Run) -> str:
    """The command that repeats a problem of a side, without its words."""
    asked = run["release"]["asked"]
    if run["release"]["origin"] == "peer":
        name, _, device = asked.partition(" on ")
        return f"pyharness bench --peer {name} --peer-device {device}"
    ordinal = run["device"].get("ordinal")
    return f"pyharness bench --cudnn {shlex.quote(asked)}" + (
        f" --device {ordinal}" if ordinal else ""
    )


def _by_problem(rows: Sequence[Row], sides: Sequence[str]) -> list[Row]:
    """The rows in the order of problems, passes, sides."""
    names = {n: i for i, n in enumerate(dict.fromkeys(r["name"] for r in rows))}
    place = {side: i for i, side in enumerate(sides)}
    return sorted(
        rows, key=lambda r: (names[r["name"]], _ORDER.index(r["pass"]), place[r["release"]])
    )


def _columns(rows: Sequence[Row]) -> list[_Column]:
    """Those that any row has something for."""
    found = []
    for mode in TIMING_MODES:
        if any(r["mode"] == mode for r in rows):
            found.append(_Column(mode, 10, partial(_time, mode)))
        if mode == "hot" and found:
            found.append(_Column("± 95 %", 8, _spread))
    if any(r["flop_per_s"] is not None for r in rows):
        found.append(_Column("Gflop/s", 9, _giga))
    if any(r["of_peak_flop"] is not None for r in rows):
        found.append(_Column("of peak", 9, _share))
    return found


def _giga(modes: Modes) -> str:
    flops = modes.get("hot", {}).get("flop_per_s")
    if flops is None:
        return ""
    value = flops / 1e9
    digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2 if value >= 0.9995 else 4
    return f"{value:,.{digits}f}"


def _share(modes: Modes) -> str:
    share = modes.get("hot", {}).get("of_peak_flop")
    return "" if share is None else f"{share:.1%}"


def _legend(columns: Sequence[_Column], several: bool) -> list[str]:
    cells = "".join(f"{c.head:>{c.width}}" for c in columns)
    return [f"{'':<{_LABEL}}{cells}{'   ratio' if several else ''}"]


def _title(row: Row) -> str:
    words: str = row["problem"] or "every axis at its default"
    return words if row["name"] == words else f"{row['name']}: {words}"


def _labels(sides: Sequence[str]) -> dict[str, str]:
    """What lines of a pass call each side: its name, or a number and as much of it as fits."""
    if all(len(side) <= _MOST_NAME for side in sides):
        return {side: side for side in sides}
    numbered = enumerate(sides, 1)
    return {side: f"[{i}] {side.partition(' /')[0]}"[:_MOST_NAME] for i, side in numbered}


def _pass(
    pass_name: str,
    rows: Sequence[Row],
    labels: Mapping[str, str],
    columns: Sequence[_Column],
    medians: Mapping[tuple[str, str], float | None],
) -> Iterator[str]:
    """The lines of a pass: one a side."""
    several = len(labels) > 1
    if several:
        yield f"  {pass_name}"
    base = next(iter(labels))
    first = _reference(pass_name, base, medians)
    for release, of_side in groupby(rows, lambda r: r["release"]):
        modes = {r["mode"]: r for r in of_side}
        label = f"    {labels[release]}" if several else f"  {pass_name}"
        if all(r["median_s"] is None for r in modes.values()):
            yield f"{label:<{_LABEL}} {_why(modes)}"
            continue
        line = f"{label:<{_LABEL}}" + "".join(f"{c.cell(modes):>{c.width}}" for c in columns)
        hot = medians.get((release, pass_name))
        if release != base and first is not None and hot is not None:
            ratio = hot / first
            line += f"{ratio:>8.3f}" if ratio < 99.9995 else f"{ratio:>8,.0f}"
        yield line.rstrip()


def _reference(
    pass_name: str, side: str, medians: Mapping[tuple[str, str], float | None]
) -> float | None:
    """What the ratios of a pass are to; of a peer's whole backward pass the sum of both."""
    parts = ("backward_data", "backward_weights") if pass_name == BACKWARD else (pass_name,)
    if (side, pass_name) in medians:
        parts = (pass_name,)
    found = [medians.get((side, part)) for part in parts]
    known = [m for m in found if m is not None]
    return sum(known) if len(known) == len(parts) else None


def _why(modes: Modes) -> str:
    """Why there is no time of a pass at all, in short; untimed() says it in full."""
    row = modes.get("hot") or next(iter(modes.values()))
    if row["outcome"] == "passed":
        return f"throttled: no sample is left ({row['throttle_reasons'] or 'time limit'})"
    word = _WORDS.get(row["outcome"], str(row["outcome"]))
    return word if row["status"] in (None, "SUCCESS") else f"{word}: {row['status']}"


def _time(mode: str, modes: Modes) -> str:
    row = modes.get(mode)
    if row is None:
        return ""
    if row["median_s"] is not None:
        return duration_text(row["median_s"])
    if row["status"] == NOT_CAPTURABLE:
        return "no graph"
    return _WORDS.get(row["outcome"], str(row["outcome"]))


def _spread(modes: Modes) -> str:
    """Half of the interval of the median, in per cent of it."""
    row = modes.get("hot", {})
    if row.get("median_low_s") is None:
        return ""
    half = (row["median_high_s"] - row["median_low_s"]) / 2
    return f"{half / row['median_s']:.2%}"


def _head(runs: Sequence[Run], labels: Mapping[str, str]) -> list[str]:
    """What was run, and how."""
    lines: list[str] = []
    for run in runs:
        release, results = run["release"]["name"], run["results"]
        words = f"{release} on {run['device']['name']}: "
        words += f"{count_text(results['cases'], 'problem')} of {run['space']['name']}"
        if results["cases_left"]:
            words += f", {results['cases_left']:,} not done ({run['state']})"
        number = labels[release].partition(" ")[0] + " " if labels[release] != release else ""
        lines += wrapped(number + words, 0, 2)
    for rule in dict.fromkeys(run["space"]["timing"]["rule_name"] for run in runs):
        lines += wrapped(f"Medians; sampled until: {rule}", 0, 2)
    return lines
