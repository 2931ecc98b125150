"""What a soak saw of the memory, in words and as data."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from pyharness.present.units import binary_text, count_text, led, seconds_text, wrapped
from pyharness.spec.soak import (
    DEVICE_USED,
    HOST_USED,
    LARGEST,
    LOOKED_AT,
    NOT_TOLD,
    STEADY,
)

Row = Mapping[str, Any]
_LINES, _MOST_SAID = 8, 12  # of the course over time; cycles that did not pass
_WORDS = {NOT_TOLD: "not told"}


def render_soak(rows: Sequence[Row], run: Mapping[str, Any]) -> str:
    """The verdict, what it is made of, and the course over time; ends without a newline.

    ``rows``  of the table ``soak``.
    ``run``   the manifest as plain data.
    """
    lines = _head(rows, run)
    for part in (_trends(run["results"]["trends"]), _course(rows), _ended(rows, run)):
        lines += ["", *part] if part else []
    for note in run["notes"]:
        lines += wrapped(f"note: {note}", 0, 2)
    return "\n".join(lines)


def soak_data(rows: Sequence[Row], run: Mapping[str, Any]) -> dict[str, Any]:
    """The same as plain data, for JSON."""
    return {**run, "soak": list(rows)}


def _head(rows: Sequence[Row], run: Mapping[str, Any]) -> list[str]:
    results, space = run["results"], run["space"]
    cycles = count_text(results["cycles"], "cycle")
    lasted = seconds_text(rows[-1]["time_s"]) if rows else "no time"
    words = (
        f"{run['release']['name']} on {run['device']['name']}: {cycles} in {lasted} over "
        f"{count_text(space['problems'], 'problem')} of {space['name']}"
    )
    if run["state"] != "complete":
        words += f" ({run['state']})"
    lines = wrapped(words, 0, 2)
    if run["device"]["emulated"]:
        lines.append("EMULATED: this is the memory of a test double, not of a GPU")
    return [*lines, "", f"{_word(results['verdict'])}"]


def _word(verdict: str) -> str:
    return _WORDS.get(verdict, verdict)


def _trends(trends: Mapping[str, Row]) -> list[str]:
    """A line each: what changes by how much a cycle, with its interval, and the verdict."""
    lines = []
    for name, what in LOOKED_AT.items():
        trend = trends[name]
        said = f"{what}: {_word(trend['verdict'])}"
        if trend["slope"] is not None:
            said += f"; {_share_words(trend) if name == LARGEST else _bytes_words(trend)}"
        if trend["reason"] is not None:
            said += f"; {trend['reason']}"
        lines += led(said, "  ", "    ")
    return lines


def _bytes_words(trend: Row) -> str:
    between = f"{trend['low']:+,.0f} to {trend['high']:+,.0f} B"
    words = (
        f"{trend['slope']:+,.0f} B a cycle (95 %: {between}) over cycles {trend['first']:,} to "
        f"{trend['last']:,}, from {binary_text(int(trend['at_first']))} to "
        f"{binary_text(int(trend['at_last']))}"
    )
    if trend["verdict"] == STEADY:
        words += f": a leak of {max(trend['ruled_out'], 1.0):,.0f} B a cycle or more is ruled out"
    return words


def _share_words(trend: Row) -> str:
    return (
        f"{trend['at_first']:.1%} of what was free at first, {trend['at_last']:.1%} at last, over "
        f"cycles {trend['first']:,} to {trend['last']:,}"
    )


def _course(rows: Sequence[Row]) -> list[str]:
    """The course over time: medians of some rows each."""
    seen = [row for row in rows if row[DEVICE_USED] is not None]
    if len(seen) < 2:
        return []
    size = -(-len(seen) // _LINES)
    lines = [f"{'cycles':>17}{'time':>13}{'device in use':>16}{'host':>12}{'largest block':>16}"]
    for begin in range(0, len(seen), size):
        part = seen[begin : begin + size]
        cycles = f"{part[0]['cycle']:,}-{part[-1]['cycle']:,}"
        lines.append(
            f"{cycles:>17}{seconds_text(part[-1]['time_s']):>13}{_typical(part, DEVICE_USED):>16}"
            f"{_typical(part, HOST_USED):>12}{_typical(part, LARGEST, min):>16}"
        )
    return lines


def _typical(rows: Sequence[Row], column: str, of: Callable[[list[int]], float] = median) -> str:
    known = [row[column] for row in rows if row[column] is not None]
    return binary_text(int(of(known))) if known else "-"


def _ended(rows: Sequence[Row], run: Mapping[str, Any]) -> list[str]:
    """The cycles that did not pass, with a command that takes the problem as far again."""
    lines: list[str] = []
    command = f"pyharness map --stages all --cudnn {shlex.quote(run['release']['asked'])}"
    ended = [row for row in rows if row["outcome"] != "passed"]
    for row in ended[-_MOST_SAID:]:
        left_out = row is not rows[-1] or run["state"] != "stopped"
        what = "left out" if left_out else row["outcome"].replace("_", " ")
        where = ", ".join(word for word in (row["stage"], row["call"]) if word)
        status = None if row["status"] == "SUCCESS" else row["status"]
        said = ": ".join(word for word in (status, row["reason"]) if word) or "no reason given"
        lines += wrapped(f"{what}: cycle {row['cycle']:,}, {where}: {said}", 0, 2)
        if row["problem"]:
            axes = " ".join(f"--axis {shlex.quote(word)}" for word in row["problem"].split())
            lines.append(f"  {command} {axes}")
    if len(ended) > _MOST_SAID:
        lines.append(f"and {len(ended) - _MOST_SAID:,} before: see soak.parquet")
    return lines
