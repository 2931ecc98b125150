"""What a reader has to know before believing a time, and why there is none."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyharness.present.units import count_text, wrapped
from pyharness.spec.timed import TIMED_PASSES

Row = Mapping[str, Any]
_MOST_SAID = 12


def marks(rows: Sequence[Row], precision: float, notes: Sequence[str]) -> list[str]:
    """What holds for all rows, and which of them are doubtful.

    ``precision``  the relative error of a median that was asked for.
    ``notes``      of the runs.
    """
    lines: list[str] = []
    if any(r["provenance"] == "emulated" for r in rows):
        lines += wrapped(
            "EMULATED: these are times of a test double's virtual clock, not of a GPU", 0, 2
        )
    throttled = [r for r in rows if r["throttled"]]
    reasons = sorted({r["throttle_reasons"] for r in throttled if r["throttle_reasons"]})
    count = count_text(sum(r["throttled"] for r in throttled), "sample")
    held = f"throttled: {count} left out, since the card was held down ({'; '.join(reasons)})"
    # The host has other things to do: its times wander where nothing is wrong.
    drifting = [r for r in rows if r["trend"] == "drifting" and r["mode"] != "enqueue"]
    coarse = [r for r in rows if (r["median_relative_error"] or 0) > precision]
    for what, doubtful, told in (
        (held, throttled, _left_out),
        ("drifting: change from the first sample to the last", drifting, _change),
        (f"not within {precision:.2%}: standard error of the median", coarse, _error),
    ):
        lines += _marked(what, doubtful, told) if doubtful else []
    for note in notes:
        lines += wrapped(f"note: {note}", 0, 2)
    return lines


def untimed(rows: Sequence[Row], repeat: Mapping[str, str]) -> list[str]:
    """Why rows were not timed: each distinct answer once, with a command that repeats it.

    ``repeat``  the command for a release, without the problem's words.
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row["outcome"] != "passed":
            groups.setdefault(_answer(row), []).append(row)
    ranks = ("failed", "out_of_memory", "unsupported", "skipped")
    most_first = sorted(groups.values(), key=lambda g: (ranks.index(g[0]["outcome"]), -len(g)))
    lines: list[str] = []
    for several in most_first[:_MOST_SAID]:
        lines += _explained(several, repeat)
    if len(most_first) > _MOST_SAID:
        lines.append(f"and {len(most_first) - _MOST_SAID} other answers: see timings.parquet")
    return lines


def _answer(row: Row) -> tuple[Any, ...]:
    """What makes two rows one answer: of what was not tried the reason alone."""
    answer = (row["outcome"], row["reason"])
    return answer if row["outcome"] == "skipped" else (*answer, row["call"], row["status"])


def _explained(several: Sequence[Row], repeat: Mapping[str, str]) -> list[str]:
    first = several[0]
    problems = len({r["name"] for r in several})
    where = list(dict.fromkeys(" ".join(filter(None, (r["pass"], r["mode"]))) for r in several))
    if len(where) > 2:
        where = list(dict.fromkeys(r["pass"] for r in several))
    answer = [" ".join(filter(None, (first["call"], first["status"])))]
    words = [
        f"{first['outcome']} {', '.join(where)}",
        *(answer if first["outcome"] != "skipped" else []),
        first["reason"] or "no reason given",
    ]
    sides = len({r["release"] for r in several})
    count = count_text(problems, "problem") + (f", {sides} sides" if sides > 1 else "")
    lines = wrapped(f"{': '.join(words)} ({count})", 0, 2)
    if first["outcome"] == "skipped":
        return lines
    chosen = f"--passes {first['pass']} " if first["pass"] in TIMED_PASSES else ""
    problem = shlex.join(first["problem"].split())
    return [*lines, f"  {repeat[first['release']]} {chosen}{problem}".rstrip()]


def _marked(what: str, rows: Sequence[Row], told: Callable[[Row], str]) -> list[str]:
    """A mark with the rows that have it, by problem and side."""
    lines = wrapped(what, 0, 2)
    sides = {r["release"] for r in rows}
    places: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        where = places.setdefault((row["name"], row["release"]), [])
        where.append(f"{row['pass']} {row['mode']} ({told(row)})")
    for name, release in list(places)[:_MOST_SAID]:
        side = f" on {release}" if len(sides) > 1 else ""
        lines += wrapped(f"{name}{side}: {', '.join(places[name, release])}", 2, 4)
    if len(places) > _MOST_SAID:
        lines.append(f"  and {len(places) - _MOST_SAID} more: see timings.parquet")
    return lines


def _left_out(row: Row) -> str:
    return f"{row['throttled']} of {row['n'] + row['throttled']}"


def _change(row: Row) -> str:
    return f"{row['trend_change']:+.1%}"


def _error(row: Row) -> str:
    return f"{row['median_relative_error']:.2%}"
