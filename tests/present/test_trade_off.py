"""What the table of choices says in words."""

from __future__ import annotations

from typing import Any

import pytest

from pyharness.present.trade_off import render_trade_offs


def row(algo: str, median: float | None, **more: Any) -> dict[str, Any]:
    return {
        "without_choice": "hidden_size=8",
        "algo": algo,
        "math_prec": "float",
        "math_type": "fma_math",
        "pass": "training_step",
        "median_s": median,
        "verdict": "repeatable",
        "differs": None,
        "untried": None,
        "fastest_repeatable": "no",
        "cost": None,
        "cost_low": None,
        "cost_high": None,
        "reason": None,
        **more,
    }


DIFFERS = {"verdict": "not_repeatable", "differs": "graph, batch"}
BEST = {"fastest_repeatable": "yes", "cost": 1.5}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"fastest_repeatable": "yes"}, {"cost": 2.0}, "the fastest choice repeats"),
        (
            DIFFERS,
            {**BEST, "cost_low": 1.4, "cost_high": 1.625},
            "the fastest that repeats is standard: 50.0% slower (40.0% to 62.5%)",
        ),
        (
            DIFFERS,
            {**BEST, "cost": 1.02, "cost_low": 0.9, "cost_high": 1.1},
            "standard: 2.0% slower, which the samples do not tell from nothing",
        ),
        (DIFFERS, BEST, "standard: 50.0% slower (too few samples for bounds)"),
        (DIFFERS, {**DIFFERS, "cost": 1.5}, "no choice is known to repeat under all conditions"),
    ],
)
def test_a_sentence_says_what_repeatability_costs(
    first: dict[str, Any], second: dict[str, Any], expected: str
) -> None:
    lines = render_trade_offs(
        [row("persist_static", 1e-3, **first), row("standard", 2e-3, **second)]
    )
    assert expected in lines[-1]
    assert lines[1] == "  hidden_size=8"
    assert "1.000 ms" in lines[2]
    assert lines[2].endswith("differs under graph, batch" if first is DIFFERS else "repeatable")


def test_what_has_no_time_says_why() -> None:
    lines = render_trade_offs([row("standard", None, reason="no room", **{"pass": None})])
    assert lines[0].startswith("Time beside repeatability (nothing")
    assert lines[2].split() == ["-", "standard:", "no", "room"]
    assert lines[3].strip() == "no choice could be timed"
    assert render_trade_offs([]) == []


def test_many_choices_and_the_best_of_them() -> None:
    rows = [row("standard", 1e-3 * i, **DIFFERS) for i in range(1, 12)]
    rows += [row("persist_static", 12e-3, **BEST), row("standard", 13e-3)]
    lines = render_trade_offs(rows, width=80)
    assert len([line for line in lines if "differs under" in line]) == 8
    assert [line for line in lines if line.endswith("  persist_static: repeatable")]
    assert "    and 4 more choices: see trade_offs.parquet" in lines


def test_a_choice_that_less_is_known_of_says_so() -> None:
    rows = [row("standard", 1e-3, untried="graph"), row("persist_static", 2e-3, **BEST)]
    lines = render_trade_offs(rows)
    assert lines[2].endswith("standard: repeatable, but not told under graph")
    assert lines[-1].strip().startswith("the fastest that repeats is persist_static: 50.0% slower")


def test_times_of_two_passes_stand_apart() -> None:
    both = ("training_step", "forward_inference")
    rows = [row("standard", 1e-3, **{"pass": p, "fastest_repeatable": "yes"}) for p in both]
    lines = [line.strip() for line in render_trade_offs(rows)]
    assert [line for line in lines if line.startswith("hidden_size=8")] == [
        f"hidden_size=8 ({p})" for p in both
    ]
    assert lines.count("the fastest choice repeats: it costs nothing") == 2
