"""What a comparison of time prints: the summary, what changed, and what is not known."""

from __future__ import annotations

from typing import Any

from pyharness.present.time_change import WIDTH, render_time, time_data
from pyharness.spec.tables import TABLES

Row = dict[str, Any]
COLUMNS = [c.name for c in TABLES["time_changes"]]
REPEAT = "pyharness time 9.12.0.46 latest --device 1 --processes 16 --level 0.01"


def row(name: str, verdict: str, ratio: float | None = None, **more: Any) -> Row:
    """A row of the table; nothing else is known of it."""
    known = {
        "ratio": ratio, "ratio_low": ratio - 0.01, "ratio_high": ratio + 0.01, "pairs": 16,
        "median_a_s": 1e-3, "median_b_s": 1e-3 * ratio, "visible": 0.021,
    } if ratio is not None else {}  # fmt: skip
    return {
        **dict.fromkeys(COLUMNS),
        "name": name, "problem": f"hidden_size={len(name)}", "pass": "backward_data",
        "mode": "hot", "algo": "standard", "verdict": verdict, **known, **more,
    }  # fmt: skip


def manifest(rows: list[Row], **more: Any) -> dict[str, Any]:
    """run.json as far as it is shown."""
    verdicts = [r["verdict"] for r in rows]
    results = {
        "problems": 3, "processes": 32, "processes_planned": 32, "spent_s": 61.0,
        "verdicts": {v: verdicts.count(v) for v in verdicts},
        "visible_median": 0.0123, "visible_most": 0.04, "failed": 0, "failures": [],
    }  # fmt: skip
    return {
        "release": {"name": "9.12.0.46", "asked": "9.12.0.46",
                    "against": {"name": "9.28.0.42", "asked": "latest"}},
        "device": {"name": "H200", "ordinal": 1},
        "space": {"name": "smoke", "timing": {"processes": 16, "margin": 0.02, "level": 0.01}},
        "state": "complete", "notes": [], "results": {**results, **more},
    }  # fmt: skip


def test_the_whole_of_it() -> None:
    rows = [
        row("a", "same", 1.001),
        row("bb", "slower", 1.031),
        row("ccc", "slower", 1.25, mode="cold", algo="persist_static_small_h"),
        row("dddd", "faster", 0.8),
        row("eeeee", "inconclusive", 1.02, reason="noise", visible=0.3),
        row("eeeee", "inconclusive", 1.05, reason="clock", cycles_ratio=1.001),
        row("eeeee", "inconclusive", reason="few", pairs=4, outcome_b="out_of_memory"),
        row("ffffff", "not_compared", reason="newer side unsupported: cudnnRNNForward: NO"),
        row("ggggggg", "not_timed", reason="budget"),
        row("hhhhhhhh", "not_timed", reason="budget"),
    ]
    assert render_time(rows, manifest(rows)).splitlines() == [
        "9.12.0.46 and 9.28.0.42 on H200: 3 problems of smoke, 10 cases",
        "16 processes a side in turn, 61 s; margin 2.00%, level 1.00%",
        "2 slower, 1 faster, 1 same, 3 inconclusive, 1 not compared, 2 not timed",
        "smallest visible change: 1.23% in half of the cases, 4.00% in all (95 % of runs like this",
        "  one would see it)",
        "",
        "slower (2 cases)",
        "  ccc",
        "    backward_data cold      1.000 ms to 1.250 ms    x1.2500 (1.2400 to 1.2600)",
        f"    {REPEAT} hidden_size=3 --passes backward_data --modes cold",
        "  bb",
        "    backward_data hot       1.000 ms to 1.031 ms    x1.0310 (1.0210 to 1.0410)",
        f"    {REPEAT} hidden_size=2 --passes backward_data",
        "",
        "faster (1 case)",
        "  dddd",
        "    backward_data hot       1.000 ms to 800.0 µs    x0.8000 (0.7900 to 0.8100)",
        f"    {REPEAT} hidden_size=4 --passes backward_data",
        "",
        "inconclusive (3 cases)",
        "  too noisy:",
        "  eeeee",
        "    backward_data hot       x1.0200 (1.0100 to 1.0300), sees 30.0%",
        "  cycles do not say what seconds say: the clock changed, or varies:",
        "  eeeee",
        "    backward_data hot       x1.0500 (1.0400 to 1.0600), in cycles x1.0010",
        "  too few complete blocks of processes:",
        "  eeeee",
        "    backward_data hot       4 pairs, newer side out of memory",
        "",
        "not compared (1 case)",
        "  backward_data (1 problem): newer side unsupported: cudnnRNNForward: NO",
        "",
        "not timed (2 cases)",
        "  backward_data (2 problems): the budget had no room for it",
        "",
        "by algo                   slower  faster  same  inconclusive  mean ratio (range)",
        "  standard                     1       1     1             3  "
        # The geometric mean of 1.001, 1.031, 0.8, 1.02 and 1.05.
        "x0.9757 (0.8000 to 1.0500)",
        "  persist_static_small_h       1       0     0             0  x1.2500 (1.2500 to 1.2500)",
    ]
    assert time_data(rows, {"kind": "time"}, "out") == {
        "folder": "out",
        "kind": "time",
        "time_changes": rows,
    }


def test_a_run_that_did_not_end_and_what_failed() -> None:
    failure = {"problem": "hidden_size=1", "stage": "backward_data hot", "call": "cudnnX",
               "cause": "the worker ended: SIGSEGV"}  # fmt: skip
    more = {"processes": 7, "failed": 2, "failures": [failure, failure], "visible_most": None}
    data = manifest([], **more)
    data["state"], data["notes"] = "interrupted", ["NVML does not tell of this card " * 5]
    lines = render_time([], data).splitlines()
    assert lines[1] == "7 of 32 processes in turn (interrupted), 61 s; margin 2.00%, level 1.00%"
    assert lines[2] == "nothing was timed"
    assert lines[-2:] == [
        "failed (2)",
        "  backward_data hot, cudnnX: the worker ended: SIGSEGV; hidden_size=1",
    ]
    assert max(map(len, lines)) <= WIDTH


def test_of_many_problems_the_first_are_shown() -> None:
    rows = [row("x" * n, "slower", 1.03 + n / 1000) for n in range(1, 26)]
    lines = render_time(rows, manifest(rows)).splitlines()
    assert "  and 5 problems more: see time_changes.parquet" in lines
    assert lines.index("  " + "x" * 25) < lines.index("  " + "x" * 6)
    assert "  " + "x" * 5 not in lines
