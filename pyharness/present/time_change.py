"""Which cases got slower or faster from one release to another, in words and as data."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from itertools import groupby
from math import exp, fsum, log
from typing import Any

from pyharness.analyze.time_change import LEVEL, MARGIN, PROCESSES
from pyharness.present.units import count_text, duration_text, seconds_text, visible_text, wrapped

Row = Mapping[str, Any]
WIDTH = 90
_MOST_SAID = 20  # problems under each heading
_USUAL = {"device": 0, "processes": PROCESSES, "margin": MARGIN, "level": LEVEL}
_JUDGED = ("slower", "faster", "same", "inconclusive")
_WORDS = {"not_compared": "not compared", "not_timed": "not timed"}
_REASONS = {
    "noise": "too noisy",
    "clock": "cycles do not say what seconds say: the clock changed, or varies",
    "few": "too few complete blocks of processes",
    "budget": "the budget had no room for it",
    "end": "the run ended before",
}


def render_time(rows: Sequence[Row], manifest: Mapping[str, Any]) -> str:
    """A summary, then what changed, the largest change first; ends without a newline.

    ``rows``      of the table ``time_changes``.
    ``manifest``  run.json as plain data.
    """
    lines = _head(rows, manifest)
    repeat = _command(manifest)
    for verdict in ("slower", "faster"):
        lines += _changed(verdict, [r for r in rows if r["verdict"] == verdict], repeat)
    lines += _unsure([r for r in rows if r["verdict"] == "inconclusive"])
    lines += _told("not compared", [r for r in rows if r["verdict"] == "not_compared"])
    lines += _told("not timed", [r for r in rows if r["verdict"] == "not_timed"])
    lines += _failed(manifest["results"])
    lines += _by_algo(rows)
    return "\n".join(lines)


def time_data(rows: Sequence[Row], manifest: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """The same as plain data, for JSON."""
    return {"folder": folder, **manifest, "time_changes": list(rows)}


def _head(rows: Sequence[Row], manifest: Mapping[str, Any]) -> list[str]:
    """What was compared, how, what came of it, and what it could have seen."""
    results, release, how = manifest["results"], manifest["release"], manifest["space"]["timing"]
    problems, cases = count_text(results["problems"], "problem"), count_text(len(rows), "case")
    lines = _wrapped(
        f"{release['name']} and {release['against']['name']} on {manifest['device']['name']}: "
        f"{problems} of {manifest['space']['name']}, {cases}"
    )
    done = f"{how['processes']} processes a side in turn"
    if results["processes"] < results["processes_planned"]:
        done = f"{results['processes']} of {results['processes_planned']} processes in turn"
    if manifest["state"] != "complete":
        done += f" ({manifest['state'].replace('_', ' ')})"
    lines += _wrapped(
        f"{done}, {seconds_text(results['spent_s'])}; margin {how['margin']:.2%}, "
        f"level {how['level']:.2%}"
    )
    counts = [
        f"{count:,} {_WORDS.get(verdict, verdict)}"
        for verdict in (*_JUDGED, *_WORDS)
        if (count := results["verdicts"].get(verdict, 0))
    ]
    lines += _wrapped(", ".join(counts) or "nothing was timed")
    lines += _visible(results)
    if manifest["device"].get("emulated"):
        lines += _wrapped(
            "EMULATED: these are times of a test double's virtual clock, not of a GPU"
        )
    return lines + [line for note in manifest["notes"] for line in _wrapped(f"note: {note}")]


def _visible(results: Mapping[str, Any]) -> list[str]:
    if results["visible_most"] is None:
        return []
    median, most = (visible_text(results[f"visible_{of}"]) for of in ("median", "most"))
    return _wrapped(
        f"smallest visible change: {median} in half of the cases, "
        f"{most} in all (95 % of runs like this one would see it)"
    )


def _changed(verdict: str, rows: Sequence[Row], repeat: str) -> list[str]:
    """The cases that got slower or faster, problem by problem, each with how to repeat it."""
    lines: list[str] = []
    if not rows:
        return lines
    lines += ["", f"{verdict} ({count_text(len(rows), 'case')})"]
    groups = _by_problem(rows)
    groups.sort(key=lambda group: -max(abs(log(r["ratio"])) for r in group))
    for group in groups[:_MOST_SAID]:
        lines += _wrapped(_title(group[0]), 2)
        lines += [_line(row) for row in group]
        passes = ",".join(dict.fromkeys(r["pass"] for r in group))
        modes = ",".join(dict.fromkeys(r["mode"] for r in group))
        words = shlex.join(group[0]["problem"].split() or ["seed=0"])
        how = f"--passes {passes}" + (f" --modes {modes}" if modes != "hot" else "")
        lines.append(f"    {repeat} {words} {how}")
    return lines + _more(len(groups))


def _line(row: Row) -> str:
    """A case: its times, and the ratio with its interval."""
    times = f"{duration_text(row['median_a_s'])} to {duration_text(row['median_b_s'])}"
    return f"    {row['pass'] + ' ' + row['mode']:<23} {times:<23} {_ratio(row)}"


def _ratio(row: Row) -> str:
    return f"x{row['ratio']:.4f} ({row['ratio_low']:.4f} to {row['ratio_high']:.4f})"


def _unsure(rows: Sequence[Row]) -> list[str]:
    """The cases of which nothing can be said, reason by reason, and what they could have shown."""
    lines: list[str] = []
    if rows:
        lines += ["", f"inconclusive ({count_text(len(rows), 'case')})"]
    for reason in ("noise", "clock", "few"):
        own = [row for row in rows if row["reason"] == reason]
        if not own:
            continue
        lines += _wrapped(f"{_REASONS[reason]}:", 2)
        groups = _by_problem(own)
        for group in groups[:_MOST_SAID]:
            lines += _wrapped(_title(group[0]), 2)
            lines += [
                f"    {row['pass'] + ' ' + row['mode']:<23} {_unsure_of(row)}" for row in group
            ]
        lines += _more(len(groups))
    return lines


def _unsure_of(row: Row) -> str:
    if row["ratio"] is None:
        ended = (
            f"{side} side {outcome.replace('_', ' ')}"
            for side, outcome in (("older", row["outcome_a"]), ("newer", row["outcome_b"]))
            if outcome not in (None, "passed")
        )
        return ", ".join([count_text(row["pairs"], "pair"), *ended])
    if row["reason"] == "clock" and row["cycles_ratio"] is not None:
        return f"{_ratio(row)}, in cycles x{row['cycles_ratio']:.4f}"
    return f"{_ratio(row)}, sees {row['visible']:.1%}"


def _told(heading: str, rows: Sequence[Row]) -> list[str]:
    """Cases without a verdict: each reason once."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["reason"], []).append(row)
    lines = ["", f"{heading} ({count_text(len(rows), 'case')})"] if rows else []
    for reason, group in list(groups.items())[:_MOST_SAID]:
        problems = count_text(len({r["name"] for r in group}), "problem")
        passes = ", ".join(dict.fromkeys(r["pass"] for r in group))
        lines += _wrapped(f"{passes} ({problems}): {_REASONS.get(reason, reason)}", 2)
    return lines + _more(len(groups), "reason")


def _failed(results: Mapping[str, Any]) -> list[str]:
    """What broke a process or failed in one."""
    if not results["failed"]:
        return []
    lines = ["", f"failed ({results['failed']:,})"]
    seen = dict.fromkeys(
        (f["problem"], f["stage"], f["call"], f["cause"]) for f in results["failures"]
    )
    for problem, stage, call, cause in seen:
        lines += _wrapped(f"{stage}, {call}: {cause}; {problem or 'defaults'}", 2)
    return lines


def _by_algo(rows: Sequence[Row]) -> list[str]:
    """A line for each algo: how many cases ended how, and the mean ratio."""
    judged = [row for row in rows if row["verdict"] in _JUDGED]
    algos = list(dict.fromkeys(row["algo"] for row in judged))
    if not algos:
        return []
    heads = "".join(f"{verdict:>{len(verdict) + 2}}" for verdict in _JUDGED)
    lines = ["", f"{'by algo':<24}{heads}  mean ratio (range)"]
    for algo in algos:
        own = [row for row in judged if row["algo"] == algo]
        counts = "".join(
            f"{sum(row['verdict'] == verdict for row in own):>{len(verdict) + 2},}"
            for verdict in _JUDGED
        )
        ratios = [row["ratio"] for row in own if row["ratio"] is not None]
        lines.append(f"  {algo:<22}{counts}  {_mean(ratios)}".rstrip())
    return lines


def _mean(ratios: Sequence[float]) -> str:
    """The geometric mean: of ratios it is the same whichever side is named first."""
    if not ratios:
        return ""
    mean = exp(fsum(map(log, ratios)) / len(ratios))
    return f"x{mean:.4f} ({min(ratios):.4f} to {max(ratios):.4f})"


def _by_problem(rows: Sequence[Row]) -> list[list[Row]]:
    return [list(group) for _, group in groupby(rows, lambda row: row["name"])]


def _title(row: Row) -> str:
    return row["name"] or row["problem"] or "(every axis at its default)"


def _command(manifest: Mapping[str, Any]) -> str:
    """The command that repeats a problem, without its words."""
    release, how = manifest["release"], manifest["space"]["timing"]
    given = {"device": manifest["device"].get("ordinal"), **how}
    words = [side["asked"] for side in (release, release["against"])]
    for name, usual in _USUAL.items():
        if given[name] not in (None, usual):
            words += [f"--{name}", str(given[name])]
    return f"pyharness time {shlex.join(words)}"


def _more(count: int, what: str = "problem") -> list[str]:
    left = count - _MOST_SAID
    return [f"  and {count_text(left, what)} more: see time_changes.parquet"] if left > 0 else []


def _wrapped(text: str, indent: int = 0) -> list[str]:
    return wrapped(text, indent, indent + 2, WIDTH)
