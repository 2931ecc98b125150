"""Presets in words: both kinds, and who takes them."""

from __future__ import annotations

from pyharness.present.presets import render_presets


def test_both_kinds_are_listed_under_the_commands_that_take_them() -> None:
    data = {
        "presets": [{"name": "state", "problems": 274_560, "about": "the tensor descriptors"}],
        "problem_sets": [{"name": "deepbench", "problems": 125, "about": "the public list"}],
        "calls": [],
    }
    assert render_presets(data).splitlines() == [
        "Presets of host calls (map, diff, rules, upgrade)",
        "  state                  274,560  the tensor descriptors",
        "",
        "Presets of problems to run (bench, time, memory, determinism, upgrade --problems, …)",
        "  deepbench                  125  the public list",
    ]
