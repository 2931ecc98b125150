"""What problems came to, stage by stage, in words."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from pyharness.present.units import count_text, led
from pyharness.spec.stage_results import OUTCOMES

_MOST_REFUSALS = 20
_NAMES = {"out_of_memory": "out of memory"}


def render_stages(manifest: Mapping[str, Any], folder: str) -> str:
    """What was tried, what came of it by stage, each distinct refusal; ends without a newline.

    ``manifest``  run.json as plain data.
    """
    results, release = manifest["results"], manifest["release"]
    where = manifest["device"].get("name") or "the host alone"
    problems = count_text(results["cases"], "problem")
    lines = [f"cuDNN {release['name']} on {where}: {problems} ({manifest['space']['name']})"]
    if results["cases_left"]:
        lines.append(f"  {count_text(results['cases_left'], 'problem')} not tried yet")
    lines += ["", *_table(results["stages"]), *_refusals(manifest), *_failures(manifest), ""]
    lines += [line for note in manifest["notes"] for line in led(f"Note: {note}", "", "  ")]
    lines.append(f"Tried in {results['walk_s']:.1f} s; tables in {folder}")
    return "\n".join(lines)


def _table(stages: Mapping[str, Mapping[str, int]]) -> list[str]:
    names = [_NAMES.get(outcome, outcome) for outcome in OUTCOMES]
    widths = [max(len(name), 7) + 2 for name in names]
    rows = [("stage", names)]
    for stage, counts in stages.items():
        rows.append((stage, [f"{counts[o]:,}" if counts.get(o) else "-" for o in OUTCOMES]))
    return [
        "  " + head.ljust(20) + "".join(c.rjust(w) for c, w in zip(cells, widths, strict=True))
        for head, cells in rows
    ]


def _refusals(manifest: Mapping[str, Any]) -> list[str]:
    refusals = manifest["results"]["refusals"]
    if not refusals:
        return []
    lines = ["", f"Refused, {count_text(len(refusals), 'distinct answer')}"]
    for refusal in refusals[:_MOST_REFUSALS]:
        said = f"{refusal['status']}: {refusal['reason'] or '(cuDNN gives no reason)'}"
        cases = count_text(refusal["cases"], "problem")
        lines += led(f"{refusal['stage']}, {refusal['call']}, {cases}: {said}", "  ", "      ")
        lines += _command(manifest, refusal["example"])
    more = len(refusals) - _MOST_REFUSALS
    return [*lines, f"  and {more:,} more (--json has them all)"] if more > 0 else lines


def _failures(manifest: Mapping[str, Any]) -> list[str]:
    results = manifest["results"]
    if not results["failures"]:
        return []
    lines = ["", "Failed: a defect, not a refusal"]
    for failure in results["failures"]:
        where = ", ".join(word for word in (failure["stage"], failure["call"]) if word)
        lines += led(f"{where}: {failure['cause']}", "  ", "      ")
        lines += _command(manifest, failure["problem"])
    more = results["statuses"]["failed"] - len(results["failures"])
    return [*lines, f"  and {more:,} more (outcome failed in the table)"] if more > 0 else lines


def _command(manifest: Mapping[str, Any], problem: str) -> list[str]:
    """The command that tries one problem again."""
    axes = (f"--axis {shlex.quote(word)}" for word in (problem or "algo=standard").split())
    release = shlex.quote(manifest["release"]["asked"])
    return [f"      pyharness map --stages all --cudnn {release} {' '.join(axes)}"]
