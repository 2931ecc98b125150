"""What a repeatable result costs, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from pyharness.analyze.trade_off import CHOICE
from pyharness.present.units import WIDTH, count_text, duration_text, led, wrapped
from pyharness.spec.repeatability import NOT_REPEATABLE, REPEATABLE

Row = Mapping[str, Any]
_MOST_SAID, _MOST_CHOICES = 20, 8
_TIME, _COST = 12, 8


def render_trade_offs(rows: Sequence[Row], width: int = WIDTH) -> list[str]:
    """The choices of each problem, the fastest first, each with what it shows and costs.

    ``rows``  of the table ``trade_offs``.
    """
    passes = ", ".join(dict.fromkeys(r["pass"] for r in rows if r["pass"])) or "nothing"
    words = f"Time beside repeatability ({passes}, hot; median, over the fastest)"
    lines = wrapped(words, 0, 2, width) if rows else []
    problems = [list(of) for _, of in groupby(rows, lambda r: (r["without_choice"], r["pass"]))]
    for choices in problems[:_MOST_SAID]:
        words = choices[0]["without_choice"] or "every axis at its default"
        if "," in passes:
            words += f" ({choices[0]['pass'] or 'not timed'})"
        lines += wrapped(words, 2, 4, width)
        labelled = list(zip(choices, _labels(choices), strict=True))
        told = [
            (row, label)
            for place, (row, label) in enumerate(labelled)
            if place < _MOST_CHOICES or row["fastest_repeatable"] == "yes"
        ]
        for row, label in told:
            lead = f"  {_time(row):>{_TIME}}{_cost(row):>{_COST}}  "
            lines += led(f"{label}: {_shown(row)}", lead, " " * (len(lead) + 2), width)
        if len(told) < len(choices):
            left = count_text(len(choices) - len(told), "more choice")
            lines.append(f"    and {left}: see trade_offs.parquet")
        lines += wrapped(_sum(choices), 4, 4, width)
    if len(problems) > _MOST_SAID:
        more = count_text(len(problems) - _MOST_SAID, "more problem")
        lines.append(f"  and {more}: see trade_offs.parquet")
    return lines


def _labels(choices: Sequence[Row]) -> list[str]:
    """What tells the choices apart: their algo, and what else of a choice differs between them."""
    more = [c for c in CHOICE[1:] if len({r[c] for r in choices}) > 1]
    return [" ".join((r["algo"], *(f"{c}={r[c]}" for c in more))) for r in choices]


def _time(row: Row) -> str:
    return "-" if row["median_s"] is None else duration_text(row["median_s"])


def _cost(row: Row) -> str:
    return "" if row["cost"] is None else f"x {row['cost']:.2f}"


def _shown(row: Row) -> str:
    if row["median_s"] is None:
        return str(row["reason"])
    if row["verdict"] == NOT_REPEATABLE:
        return f"differs under {row['differs']}"
    words = "repeatable" if row["verdict"] == REPEATABLE else "no condition was tried to its end"
    return f"{words}, but not told under {row['untried']}" if row["untried"] else words


def _sum(choices: Sequence[Row]) -> str:
    """What repeatability costs, in a sentence."""
    timed = [r for r in choices if r["median_s"] is not None]
    best = next((r for r in timed if r["fastest_repeatable"] == "yes"), None)
    if not timed:
        return "no choice could be timed"
    if best is None:
        return "no choice is known to repeat under all conditions: --conditions asks for fewer"
    if best["cost"] is None:
        return "the fastest choice repeats: it costs nothing"
    label = _labels(choices)[list(choices).index(best)]
    words = f"the fastest that repeats is {label}: {best['cost'] - 1:.1%} slower"
    if best["cost_low"] is None or best["cost_high"] is None:
        return f"{words} (too few samples for bounds)"
    if best["cost_low"] <= 1:
        return f"{words}, which the samples do not tell from nothing"
    return f"{words} ({best['cost_low'] - 1:.1%} to {best['cost_high'] - 1:.1%})"
