"""The result of trying one problem, in words and as data."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pyharness.spec.problem import CallResult, Problem

ROLES = {
    "descriptor": "RNN descriptor",
    "clip": "clipping",
    "x": "data descriptor of x",
    "y": "data descriptor of y",
    "h": "tensor descriptor of h",
    "c": "tensor descriptor of c",
}


def render_try(release: str, problem: Problem, results: Sequence[CallResult]) -> str:
    """One line a call, its reason below; ends without a newline."""
    lines = [f"cuDNN {release}: {problem.command}"]
    defaults = " ".join(f"{name}={text}" for name, text in problem.defaults.items())
    lines += textwrap.wrap(
        f"with the defaults {defaults}", 98, initial_indent="  ", subsequent_indent="    "
    )
    for r in results:
        status = r.status or r.outcome.upper()
        lines.append(f"  {r.call:<28}{ROLES[r.role]:<24}{status}")
        reason = r.reason
        if reason is None and r.outcome == "unsupported":
            reason = "(cuDNN gives no reason)"
        if reason:
            lines += textwrap.wrap(reason, 100, initial_indent="      ", subsequent_indent="      ")
    others = [r for r in results if r.outcome != "passed"]
    failed = sum(r.outcome == "failed" for r in others)
    skipped = sum(r.outcome == "skipped" for r in others)
    refused = len(others) - failed - skipped
    counts = [(refused, "refused it"), (failed, "failed"), (skipped, "skipped")]
    words = ", ".join(f"{n} {what}" for n, what in counts if n)
    lines.append(
        f"of {len(results)} calls {words}"
        if others
        else f"all {len(results)} host calls accept it; what needs a GPU was not tried"
    )
    return "\n".join(lines)


def try_data(release: str, problem: Problem, results: Sequence[CallResult]) -> dict[str, Any]:
    """The same as plain data, for JSON."""
    return {
        "release": release,
        "problem": dict(problem.given),
        "defaults": problem.defaults,
        "calls": [asdict(r) for r in results],
    }
