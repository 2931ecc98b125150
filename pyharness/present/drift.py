"""What drifted from one release to another, in words and as data."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from pyharness.present.units import count_text, wrapped

Row = Mapping[str, Any]
_MOST_SAID = 20


def render_drift(rows: Sequence[Row], manifest: Mapping[str, Any]) -> str:
    """A summary, then what drifted, the worst first; ends without a newline.

    ``rows``      of the table ``drift``.
    ``manifest``  run.json as plain data.
    """
    results, release = manifest["results"], manifest["release"]
    problems = count_text(results["cases"], "problem")
    words = (
        f"{release['name']} and {release['against']['name']} on {manifest['device']['name']}: "
        f"{problems} of {manifest['space']['name']}"
    )
    if results["cases_left"]:
        words += f", {results['cases_left']:,} not done ({manifest['state']})"
    lines = wrapped(words, 0, 2)
    verdicts = results["verdicts"]
    same, drifted, untold = (verdicts.get(v, 0) for v in ("same", "drifted", "not_told"))
    lines.append(
        f"{count_text(same + drifted + untold, 'tensor')}: {same:,} same, {drifted:,} drifted"
        + (f", {untold:,} not told" if untold else "")
    )
    if manifest["device"].get("emulated"):
        lines.append("EMULATED: these are results of a test double, not of a GPU")
    lines += [line for note in manifest["notes"] for line in wrapped(f"Note: {note}", 0, 2)]
    repeat = _command(manifest)
    parts = (_drifted(rows, repeat), _untold(rows), _not_compared(rows, repeat), _noted(rows))
    for part in parts:
        lines += ["", *part] if part else []
    return "\n".join(lines)


def drift_data(rows: Sequence[Row], manifest: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """The same as plain data, for JSON."""
    return {"folder": folder, **manifest, "drift": list(rows)}


def _command(manifest: Mapping[str, Any]) -> str:
    """The command that repeats a problem, without its words."""
    release, ordinal = manifest["release"], manifest["device"].get("ordinal")
    sides = shlex.join(side["asked"] for side in (release, release["against"]))
    return f"pyharness drift {sides}" + (f" --device {ordinal}" if ordinal else "")


def _repeat(repeat: str, row: Row) -> str:
    return f"  {repeat} {shlex.join(row['problem'].split() or ['seed=0'])}"


def _rank(row: Row) -> tuple[float, int]:
    far = float("inf") if row["most_abs"] is None or _missing(row) else row["most_abs"]
    return -far, -row["differing"]


def _remarks(row: Row) -> list[str]:
    return row["reason"].split("; ") if row["reason"] else []


def _missing(row: Row) -> str:
    """The numbers that only one side has, in words; empty where there are none."""
    return next((said for said in _remarks(row) if "NaN" in said), "")


def _drifted(rows: Sequence[Row], repeat: str) -> list[str]:
    """The tensors that drifted, problem by problem, with a command that repeats each."""
    groups: dict[str, list[Row]] = {}
    for row in sorted((r for r in rows if r["verdict"] == "drifted"), key=_rank):
        groups.setdefault(row["name"], []).append(row)
    lines = []
    for several in list(groups.values())[:_MOST_SAID]:
        for row in several:
            far = "infinite" if row["most_abs"] is None else f"{row['most_abs']:.1e}"
            missing = f", {_missing(row)}" if _missing(row) else ""
            lines += wrapped(
                f"drifted {row['buffer']} of {row['pass']}: {row['differing']:,} of "
                f"{count_text(row['elements'], 'element')}, the first at {row['first_element']:,}, "
                f"at most {row['most_ulps']:,} ULP, {far}{missing}",
                0,
                2,
            )
        lines.append(_repeat(repeat, several[0]))
    return lines + _more(len(groups), "problem")


def _untold(rows: Sequence[Row]) -> list[str]:
    """The tensors that a side does not repeat: each reason once."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row["verdict"] == "not_told":
            groups.setdefault(_remarks(row)[-1], []).append(row)
    lines = []
    for reason, several in groups.items():
        names = ", ".join(dict.fromkeys(f"{r['buffer']} of {r['pass']}" for r in several))
        problems = count_text(len({r["name"] for r in several}), "problem")
        lines += wrapped(f"not told of {names} ({problems}): {reason}", 0, 2)
    return lines


def _not_compared(rows: Sequence[Row], repeat: str) -> list[str]:
    """The passes that did not end well on both sides: each distinct answer once."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row["verdict"] == "not_compared":
            keys = ("outcome_a", "status_a", "outcome_b", "status_b", "reason")
            groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    lines = []
    for group in list(groups.values())[:_MOST_SAID]:
        first = group[0]
        passes = ", ".join(dict.fromkeys(r["pass"] for r in group))
        sides = ", ".join(
            f"{side} {first[f'outcome_{letter}'].replace('_', ' ')}"
            for side, letter in (("older", "a"), ("newer", "b"))
        )
        problems = count_text(len({r["name"] for r in group}), "problem")
        words = f"not compared {passes} ({problems}): {sides}; {first['reason']}"
        lines += wrapped(words, 0, 2)
        if first["outcome_a"] != "skipped":
            lines.append(_repeat(repeat, first))
    return lines + _more(len(groups), "answer")


def _noted(rows: Sequence[Row]) -> list[str]:
    """What had to be done so that tensors could be compared, each once."""
    compared = [row for row in rows if row["verdict"] in ("same", "drifted")]
    said = dict.fromkeys(s for row in compared for s in _remarks(row) if s != _missing(row))
    return [line for remark in said for line in wrapped(f"Note: {remark}", 0, 2)]


def _more(count: int, what: str) -> list[str]:
    left = count - _MOST_SAID
    return [f"and {count_text(left, what)} more: see drift.parquet"] if left > 0 else []
