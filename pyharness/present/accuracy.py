"""How far each tensor is from the truth, in words and as data."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from pyharness.present.accuracy_settings import settings_data, settings_lines
from pyharness.present.units import WIDTH, count_text, share_text, wrapped

Row = Mapping[str, Any]
_MOST_LINES, _MOST_SAID = 40, 12
_WORDS = {"not_told": "not told"}
_MARGIN = 0.05  # a growth below it is none


def render_accuracy(rows: Sequence[Row], manifest: Mapping[str, Any]) -> str:
    """One line a tensor and pass, problem by problem, the worst first; ends without a newline.

    ``rows``      of the table ``accuracy``.
    ``manifest``  run.json as plain data.
    """
    tensors = _worst_first([r for r in rows if r["buffer"] is not None])
    lines = _head(manifest)
    if tensors:
        lines += ["", _line("error", "of limit", "ULP", "growth", "verdict", "tensor, pass")]
    title = None
    for row in tensors[:_MOST_LINES]:
        if row["name"] != title:
            title = row["name"]
            lines += wrapped(_title(row), 0, 2)
        lines.append(_tensor(row))
    if len(tensors) > _MOST_LINES:
        lines.append(f"and {len(tensors) - _MOST_LINES:,} more: see accuracy.parquet")
    repeat = _command(manifest)
    for part in (
        settings_lines(tensors),
        _beyond(tensors, repeat),
        _scales(tensors),
        _untold(tensors),
        _ended(rows, repeat),
    ):
        lines += ["", *part] if part else []
    return "\n".join(lines)


def accuracy_data(rows: Sequence[Row], manifest: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """The same as plain data, for JSON."""
    return {
        "folder": folder,
        **manifest,
        "settings": settings_data(rows),
        "accuracy": list(rows),
    }


def _worst_first(tensors: Sequence[Row]) -> list[Row]:
    """The problem with the worst tensor first, and of each its worst tensor."""
    groups: dict[str, list[Row]] = {}
    for row in sorted(tensors, key=_rank):
        groups.setdefault(row["name"], []).append(row)
    return [row for several in groups.values() for row in several]


def _rank(row: Row) -> tuple[int, float]:
    """Beyond first, then what is not told, each by its error as a share of the threshold."""
    verdicts = ("beyond", "not_told", "within")
    broken = bool(row["nan"] or row["inf"])
    share = float("inf") if broken else (row["max_rel"] or 0.0) / row["threshold"]
    return verdicts.index(row["verdict"]), -share


def _head(manifest: Mapping[str, Any]) -> list[str]:
    results, space = manifest["results"], manifest["space"]["name"]
    where = f"{manifest['release']['name']} on {manifest['device']['name']}"
    words = f"{where}: {count_text(results['cases'], 'problem')} of {space} beside float64"
    if results["cases_left"]:
        words += f", {results['cases_left']:,} not done ({manifest['state']})"
    lines = wrapped(words, 0, 2)
    counts = [f"{n:,} {_WORDS.get(v, v)}" for v, n in results["verdicts"].items()]
    lines += wrapped(f"Tensors: {', '.join(counts)}", 0, 2) if counts else []
    if manifest["device"].get("emulated"):
        lines.append("EMULATED: these are results of a test double, not of a GPU")
    return lines + [line for note in manifest["notes"] for line in wrapped(f"Note: {note}", 0, 2)]


def _title(row: Row) -> str:
    words: str = row["problem"] or "every axis at its default"
    return words if row["name"] == words else f"{row['name']}: {words}"


def _line(error: str, share: str, ulps: str, growth: str, verdict: str, what: str) -> str:
    return f"  {error:>9}{share:>10}{ulps:>12}  {growth:<24}{verdict:<10}{what}".rstrip()[:WIDTH]


def _tensor(row: Row) -> str:
    said = _WORDS.get(row["verdict"], str(row["verdict"]))
    what = f"{row['buffer']}, {row['pass']}"
    growth = _growth(row)
    if row["nan"] or row["inf"]:
        growth = f"{row['nan']:,} NaN, {row['inf']:,} infinite"
    if row["max_rel"] is None:
        return _line("-", "-", "-", growth, said, what)
    ulps = f"{row['max_ulps']:,}" if row["max_ulps"] < 10**9 else f"{row['max_ulps']:.1e}"
    share = row["max_rel"] / row["threshold"]
    per_cent = f"{100 * share:.2g}%" if share < 0.1 else f"{share:.0%}"
    of_limit = per_cent if share < 100 else f"{share:.0e} x"
    return _line(f"{row['max_rel']:.1e}", of_limit, ulps, growth, said, what)


def _growth(row: Row) -> str:
    """How the usual error changes from the first quarter of steps to the last, or over layers."""
    for what in ("steps", "layer"):
        first, last = row[f"first_{what}_rel"], row[f"last_{what}_rel"]
        if first is None or last is None:
            continue
        name = "layers" if what == "layer" else what
        if first == 0:
            return f"over {name}: {'none' if last == 0 else 'from nothing'}"
        ratio = last / first
        if abs(ratio - 1) < _MARGIN:
            return f"over {name}: none"
        return f"over {name}: x {ratio:.2g}"
    return ""


def _command(manifest: Mapping[str, Any]) -> str:
    """The command that repeats a problem, without its words."""
    command = f"pyharness accuracy --cudnn {shlex.quote(manifest['release']['asked'])}"
    ordinal = manifest["device"].get("ordinal")
    return f"{command} --device {ordinal}" if ordinal else command


def _repeat(repeat: str, row: Row) -> str:
    words = row["problem"].split() or ["seed=0"]
    return f"  {repeat} {shlex.join(words)}"


def _beyond(tensors: Sequence[Row], repeat: str) -> list[str]:
    """What rounding does not explain, problem by problem, with a command that repeats it."""
    groups: dict[str, list[Row]] = {}
    for row in tensors:
        if row["verdict"] == "beyond":
            groups.setdefault(row["name"], []).append(row)
    lines = []
    for several in list(groups.values())[:_MOST_SAID]:
        told = (f"{r['buffer']} of {r['pass']} (worst at {r['worst']})" for r in several)
        lines += wrapped(f"beyond what rounding explains: {', '.join(told)}", 0, 2)
        lines.append(_repeat(repeat, several[0]))
    if len(groups) > _MOST_SAID:
        lines.append(f"and {len(groups) - _MOST_SAID:,} other problems: see accuracy.parquet")
    return lines


def _scales(tensors: Sequence[Row]) -> list[str]:
    """What gradients in narrow types lose, and the loss scales that all of them can have."""
    gradients = [r for r in tensors if r["underflow"] is not None]
    lines = []
    for data_type in dict.fromkeys(r["data_type"] for r in gradients):
        own = [r for r in gradients if r["data_type"] == data_type]
        worst = {part: max(r[part] for r in own) for part in ("underflow", "overflow")}
        lows = [r["loss_scale_log2_low"] for r in own]
        highs = [r["loss_scale_log2_high"] for r in own]
        none = None in lows or max(lows) > min(highs)
        usable = "none for all of them" if none else f"2^{max(lows)} to 2^{min(highs)}"
        lines += wrapped(
            f"gradients in {data_type}: at most {share_text(worst['underflow'])} of a tensor "
            f"underflow, {share_text(worst['overflow'])} overflow; loss scales that keep all but "
            f"1 in 1,000 from zero and all from infinity: {usable}",
            0,
            2,
        )
    return lines


def _untold(tensors: Sequence[Row]) -> list[str]:
    """Why there is no verdict: each reason once."""
    groups: dict[str, list[Row]] = {}
    for row in tensors:
        if row["verdict"] == "not_told":
            groups.setdefault(row["reason"], []).append(row)
    lines = []
    for reason, several in groups.items():
        names = ", ".join(dict.fromkeys(r["buffer"] for r in several))
        problems = count_text(len({r["name"] for r in several}), "problem")
        lines += wrapped(f"not told of {names} ({problems}): {reason}", 0, 2)
    return lines


def _ended(rows: Sequence[Row], repeat: str) -> list[str]:
    """The passes that did not end well: each distinct answer once."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row["buffer"] is None:
            key = (row["outcome"], row["call"], row["status"], row["reason"])
            groups.setdefault(key, []).append(row)
    order = ("failed", "out_of_memory", "unsupported", "skipped")
    several = sorted(groups.values(), key=lambda g: order.index(g[0]["outcome"]))
    lines = []
    for group in several[:_MOST_SAID]:
        first = group[0]
        passes = ", ".join(dict.fromkeys(r["pass"] for r in group))
        call = "" if first["outcome"] == "skipped" else f"{first['call']}: "
        problems = count_text(len({r["name"] for r in group}), "problem")
        status = f"{first['status']}: " if first["status"] not in (None, "SUCCESS") else ""
        said = f"{call}{status}{first['reason'] or 'no reason given'} ({problems})"
        lines += wrapped(f"{first['outcome'].replace('_', ' ')} {passes}: {said}", 0, 2)
        if first["outcome"] != "skipped":
            lines.append(_repeat(repeat, first))
    if len(several) > _MOST_SAID:
        lines.append(f"and {len(several) - _MOST_SAID:,} other answers: see accuracy.parquet")
    return lines
