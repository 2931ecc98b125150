"""What a release refuses of a log, in words and as data."""

from __future__ import annotations

from typing import Any

from pyharness.analyze.log_explanation import LogExplanation
from pyharness.present.explaining import in_full, render_explanation, render_recipes
from pyharness.present.explanation_data import explanation_data
from pyharness.present.units import count_text, wrapped


def render_log(found: LogExplanation) -> str:
    """What a release refuses of a log, refusals of one kind together; ends without a newline."""
    recording, refused = found.recording, [e.recorded for e in found.explained]
    refused += found.unexplained
    problems, calls = len(recording.problems), sum(p.count for p in recording.problems)
    lines = [
        f"cuDNN {found.release}: {len(refused):,} of {problems:,} recorded problems are refused, "
        f"{sum(p.count for p in refused):,} of {calls:,} calls"
    ]
    for number, group in enumerate(found.groups, 1):
        first = group[0]
        same = count_text(len(group), "problem")
        count = count_text(sum(e.recorded.count for e in group), "call")
        head = f"{number}. {same}, {count}; the most frequent is at {first.recorded.place}:"
        told = [render_explanation(first.explanation), *in_full(first.explanation)]
        if recipes := render_recipes(first.explanation):
            told += ["", recipes]
        lines += ["", *wrapped(head, 0, 3), ""]
        lines += [f"   {line}".rstrip() for line in "\n".join(told).split("\n")]
        for words in first.recorded.disagreements:
            lines += wrapped(f"the log disagrees with itself: {words}", 3)
    if found.unexplained:
        lines += ["", f"{len(found.unexplained):,} less frequent ones were not looked into"]
    return "\n".join(lines)


def log_data(found: LogExplanation) -> dict[str, Any]:
    """The same as plain data, for JSON."""
    return {
        "release": found.release,
        "problems": len(found.recording.problems),
        "refused": [
            {
                "order": e.recorded.order,
                "count": e.recorded.count,
                "place": e.recorded.place,
                "disagreements": list(e.recorded.disagreements),
                **explanation_data(e.explanation, None, []),
            }
            for e in found.explained
        ],
        "unexplained": [p.order for p in found.unexplained],
    }
