"""A map's summary in words."""

from __future__ import annotations

from typing import Any


def render_map(manifest: dict[str, Any], folder: str, costs: list[dict[str, Any]]) -> str:
    """What was mapped, what came of it, and where it lies; ends without a newline.

    ``manifest``  run.json as plain data; ``costs``: rows of the costs table.
    """
    results, release = manifest["results"], manifest["release"]
    lines = [f"cuDNN {release['name']}: {results['rows']:,} problems ({manifest['space']['name']})"]
    for status, rows in sorted(results["statuses"].items(), key=lambda item: -item[1]):
        lines.append(f"  {status:<28}{rows:>14,}  {rows / results['rows']:>7.2%}")
    lines += [
        f"  {call}: this release has no such function, so no rows"
        for call in manifest["absent_calls"]
    ]
    lines += _failures(results)
    for reasons in results.get("reasons", []):
        if reasons["asked"] < reasons["cells"]:
            lines.append(
                f"  {reasons['call']}: reasons were asked for {reasons['asked']:,} of "
                f"{reasons['cells']:,} classes of problems; --reasons all counts every one"
            )
        elif not reasons["agreed"]:
            lines.append(
                f"  {reasons['call']}: a sample of problems had other reasons than their class; "
                "--reasons all counts every one"
            )
    if costs:
        lines += ["", "Cost of a call (median)"]
        lines += [
            f"  {c['call']:<28}{c['answer']:<10}{c['median_s'] * 1e9:>8.1f} ns" for c in costs
        ]
    asked = sum(c["rows"] for c in results.get("spot_check", []))
    wrong = sum(c["changed"] + c["unkept"] for c in results.get("spot_check", []))
    lines.append("")
    if results["statuses"].get("SUCCESS"):
        lines.append("What is accepted here may still be refused by calls that need a GPU.")
    lines += [f"Spot check: {asked:,} problems asked again, {wrong:,} answered otherwise"]
    lines += [f"Note: {note}" for note in manifest["notes"]]
    lines.append(f"Walked in {results['walk_s']:.1f} s; tables in {folder}")
    return "\n".join(lines)


def _failures(results: dict[str, Any]) -> list[str]:
    failures = results["failures"]
    if not failures:
        return []
    lines = ["", "Failed: the worker did not survive the call"]
    for failure in failures:
        problem = failure["problem"] or "(every axis at its default)"
        lines.append(f"  {failure['call']} {problem}: {failure['cause']}")
        if failure["output"]:
            lines.append(f"    it said: {failure['output'].splitlines()[-1]}")
    more = results["statuses"].get("failed", 0) - len(failures)
    if more > 0:
        lines.append(f"  and {more:,} more (status null in the table)")
    return lines
