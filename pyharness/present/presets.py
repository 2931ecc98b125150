"""Presets and axes in words."""

from __future__ import annotations

import textwrap
from typing import Any


def render_presets(data: dict[str, Any]) -> str:
    """Every preset with its size, then every call with its axes; ends without a newline.

    ``data``  space.presets.preset_data(), and space.problems.problem_set_data() as problem_sets.
    """
    lines = ["Presets of host calls (map, diff, rules, upgrade)", *_listed(data["presets"])]
    lines += [
        "",
        "Presets of problems to run (bench, time, memory, determinism, upgrade --problems, …)",
    ]
    lines += _listed(data["problem_sets"])
    for call in data["calls"]:
        lines += ["", f"{call['call']} ({call['stage']})"]
        for a in call["axes"]:
            lines.append(f"  {a['axis']:<16}{a['default']:<20}{a['about']}")
            if a["names"]:
                lines += textwrap.wrap(
                    ", ".join(a["names"]),
                    96,
                    initial_indent=" " * 18,
                    subsequent_indent=" " * 18,
                )
    return "\n".join(lines)


def _listed(presets: list[dict[str, Any]]) -> list[str]:
    lines = []
    for preset in presets:
        lines += textwrap.wrap(
            f"{preset['name']:<18}{preset['problems']:>12,}  {preset['about']}",
            96,
            initial_indent="  ",
            subsequent_indent=" " * 34,
        )
    return lines
