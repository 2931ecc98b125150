"""What a bench prints: the table, the ratio, what is doubtful, and what was not timed."""

from __future__ import annotations

import shlex
from typing import Any

from pyharness.present.bench import bench_data, render_bench
from pyharness.spec.tables import TABLES

Row = dict[str, Any]
COLUMNS = [c.name for c in TABLES["timings"]]


def row(pass_name: str, mode: str | None, median_s: float | None, **more: Any) -> Row:
    """A row of the table; nothing else is known of it."""
    timed = {
        "n": 100, "throttled": 0, "stop": "precise", "trend": "steady", "trend_change": 0.0,
        "median_relative_error": 0.001, "status": "SUCCESS", "outcome": "passed",
    } if median_s is not None else {}  # fmt: skip
    return {
        **dict.fromkeys(COLUMNS),
        "release": "9.28.0.42+cu12", "name": "lstm-25", "problem": "cell_mode=lstm hidden_size=8",
        "pass": pass_name, "mode": mode, "median_s": median_s, "call": "cudnnRNNForward",
        "provenance": "observed", **timed, **more,
    }  # fmt: skip


def run(release: str = "9.28.0.42+cu12", **more: Any) -> dict[str, Any]:
    """The manifest of a side, as far as it is shown."""
    timing = {"rule": {"relative_error": 0.005}, "rule_name": "RULE"}
    return {
        "release": {"name": release, "asked": release, "origin": "pypi"},
        "device": {"name": "H200"},
        "space": {"name": "smoke", "timing": timing},
        "results": {"cases": 3, "cases_left": 0},
        "state": "complete",
        "notes": [],
        **more,
    }


def lines(rows: list[Row], *runs: dict[str, Any]) -> list[str]:
    text = render_bench(rows, runs or [run()])
    assert all(len(line) <= 100 for line in text.splitlines() if "pyharness bench" not in line)
    assert text == text.strip()
    return text.splitlines()


def test_one_side() -> None:
    hot = {"median_low_s": 1.99e-5, "median_high_s": 2.01e-5, "flop_per_s": 3.21e13}
    found = lines(
        [
            row("forward_inference", "hot", 2e-5, of_peak_flop=0.123, **hot),
            row("forward_inference", "cold", 2.5e-5),
            row("forward_inference", "graph", None, outcome="unsupported", status="NOT_CAPTURABLE"),
            row("forward_inference", "enqueue", 8e-6),
            row("backward_data", "hot", 1.5e-3, **hot | {"flop_per_s": 4.2e8}),
        ]
    )
    assert found[:7] == [
        "9.28.0.42+cu12 on H200: 3 problems of smoke",
        "Medians; sampled until: RULE",
        "",
        "                            hot  ± 95 %      cold     graph   enqueue  Gflop/s  of peak",
        "",
        "lstm-25: cell_mode=lstm hidden_size=8",
        "  forward_inference    20.00 µs   0.50%  25.00 µs  no graph  8.000 µs   32,100    12.3%",
    ]
    assert found[7] == (
        "  backward_data        1.500 ms   0.01%                                 0.4200"
    )


def test_a_column_that_nothing_has_is_left_out() -> None:
    found = lines([row("forward_inference", "enqueue", 8e-6)])
    assert found[3:7:3] == [
        "                        enqueue",
        "  forward_inference    8.000 µs",
    ]


def test_sides_and_their_ratio_to_the_first() -> None:
    names = ["9.13.0.50+cu12", "9.28.0.42+cu12", "torch 2.13.0+cpu"]
    rows = [
        *(row("backward_data", "hot", 2e-5, release=names[0]),),
        *(row("backward_weights", "hot", 3e-5, release=names[0]),),
        *(row("backward_data", "hot", 2.06e-5, release=names[1]),),
        *(row("backward_weights", "hot", None, release=names[1], outcome="failed"),),
        *(row("backward", "hot", 7.5e-5, release=names[2]),),
    ]
    found = lines(rows, *map(run, names))
    assert found[:3] == [f"{name} on H200: 3 problems of smoke" for name in names]
    assert [line.rstrip() for line in found[8:]][:8] == [
        "  backward_data",
        "    9.13.0.50+cu12     20.00 µs",
        "    9.28.0.42+cu12     20.60 µs           1.030",
        "  backward_weights",
        "    9.13.0.50+cu12     30.00 µs",
        "    9.28.0.42+cu12    failed",
        "  backward",
        "    torch 2.13.0+cpu   75.00 µs           1.500",  # to the sum of both
    ]


def test_long_names_are_numbered() -> None:
    names = ["9.28.0 /a/long/path/libcudnn.so.9", "9.28.0 /another/path/libcudnn.so.9", "9.1.0"]
    rows = [row("forward_inference", "hot", 1e-5 * n, release=name)
            for n, name in enumerate(names, 1)]  # fmt: skip
    found = lines(rows, *map(run, names))
    assert found[0] == f"[1] {names[0]} on H200: 3 problems of smoke"
    assert found[2] == "[3] 9.1.0 on H200: 3 problems of smoke"
    assert [line.split()[:2] for line in found[9:12]] == [
        ["[1]", "9.28.0"], ["[2]", "9.28.0"], ["[3]", "9.1.0"],
    ]  # fmt: skip
    assert [line.split()[-1] for line in found[10:12]] == ["2.000", "3.000"]


def test_passes_stand_in_the_order_of_a_step_and_problems_as_they_came() -> None:
    given = ["training_step", "backward", "close", "forward_training", "backward_data"]
    rows = [
        row(name, "hot" if name != "close" else None, 1e-5, name=problem, problem=problem)
        for problem in ("b", "a")
        for name in given
    ]
    found = lines(rows)
    words = [line.split()[0] for line in found[5:] if line and "EMU" not in line]
    order = ["forward_training", "backward_data", "backward", "training_step", "close"]
    assert words[:12] == ["b", *order, "a", *order]


def marks(rows: list[Row], *runs: dict[str, Any]) -> list[str]:
    found = lines(rows, *runs)
    return found[found.index("", 5) + 1 :]


def test_what_is_precise_goes_by_the_precision_that_was_asked_for() -> None:
    rows = [
        row("forward_inference", "hot", 1e-5, stop="sample limit", median_relative_error=0.0049),
        row("forward_training", "hot", 1e-5, stop="time limit", median_relative_error=0.0051),
        row("backward_data", "hot", 1e-5, stop="time limit", median_relative_error=None),
    ]
    assert marks(rows) == [
        "not within 0.50%: standard error of the median",
        "  lstm-25: forward_training hot (0.51%)",
    ]


def test_drift_is_told_of_the_card_and_not_of_the_host() -> None:
    drifts = {"trend": "drifting", "trend_change": -0.031}
    rows = [row("forward_inference", mode, 1e-5, **drifts) for mode in ("hot", "cold", "enqueue")]
    assert marks(rows) == [
        "drifting: change from the first sample to the last",
        "  lstm-25: forward_inference hot (-3.1%), forward_inference cold (-3.1%)",
    ]


def test_throttled_rows() -> None:
    reason = {"throttle_reasons": "sw_power_cap"}
    rows = [
        row("forward_inference", "hot", 1e-5, throttled=1200, n=34, **reason),
        row("forward_training", "hot", None, throttled=800, n=0, status="SUCCESS",
            outcome="passed", **reason),
        row("forward_training", "cold", 1e-5),
        row("backward_data", "hot", None, throttled=1, n=0, outcome="passed", **reason),
    ]  # fmt: skip
    found = lines(rows)
    assert found[7].split() == ["forward_training", "throttled", "10.00", "µs"]
    assert found[8] == "  backward_data       throttled: no sample is left (sw_power_cap)"
    assert found[10:] == [
        "throttled: 2,001 samples left out, since the card was held down (sw_power_cap)",
        "  lstm-25: forward_inference hot (1200 of 1234), forward_training hot (800 of 800), "
        "backward_data",
        "    hot (1 of 1)",
    ]


def test_what_was_not_timed_is_said_once_with_a_command() -> None:
    refused = {
        "outcome": "unsupported", "status": "NOT_SUPPORTED", "status_code": 3000,
        "reason": "hiddenSize > 1024",
    }  # fmt: skip
    failed = {"outcome": "failed", "call": "cudnnRNNBackwardData_v8",
              "reason": "the worker ended: SIGSEGV"}  # fmt: skip
    skipped = {"outcome": "skipped", "reason": "backward_data hot failed"}
    rows = [
        *(row("forward_inference", "hot", None, name=n, problem=f"hidden_size={n}", **refused)
          for n in ("2000", "3000")),
        row("backward_data", "hot", None, problem="seq_lengths=[3,1]", **failed),
        row("backward_data", "cold", None, problem="seq_lengths=[3,1]", **skipped),
        row("backward_weights", "hot", None, problem="seq_lengths=[3,1]", **skipped),
    ]  # fmt: skip
    found = lines(rows)
    assert "  forward_inference   refused: NOT_SUPPORTED" in found
    assert "  backward_data       failed" in found
    assert "  backward_weights    skipped" in found
    at = found.index("  backward_weights    skipped") + 2
    assert found[at:] == [
        "failed backward_data hot: cudnnRNNBackwardData_v8: the worker ended: SIGSEGV (1 problem)",
        "  pyharness bench --cudnn 9.28.0.42+cu12 --passes backward_data 'seq_lengths=[3,1]'",
        "unsupported forward_inference hot: cudnnRNNForward NOT_SUPPORTED: hiddenSize > 1024 "
        "(2 problems)",
        "  pyharness bench --cudnn 9.28.0.42+cu12 --passes forward_inference hidden_size=2000",
        "skipped backward_data cold, backward_weights hot: backward_data hot failed (1 problem)",
    ]
    assert shlex.split(found[at + 1])[-1] == "seq_lengths=[3,1]"


def test_the_command_names_the_side() -> None:
    path = {"name": "x", "asked": "/a b/libcudnn.so.9", "origin": "path"}
    peer = {"name": "x", "asked": "torch on cuda:1", "origin": "peer"}
    for release, device, expected in (
        (path, {"name": "H200", "ordinal": 1}, "--cudnn '/a b/libcudnn.so.9' --device 1"),
        (peer, {"name": "H200"}, "--peer torch --peer-device cuda:1"),
    ):
        rows = [row("close", None, None, release="x", outcome="failed", reason="r")]
        found = lines(rows, {**run(), "release": release, "device": device})
        assert found[-1] == f"  pyharness bench {expected} cell_mode=lstm hidden_size=8"


def test_runs_that_did_not_come_to_their_end_and_notes() -> None:
    left = run(results={"cases": 1, "cases_left": 1234}, state="interrupted", notes=["no NVML"])
    found = lines([row("forward_inference", "hot", 1e-5, provenance="emulated")], left)
    assert found[0] == ("9.28.0.42+cu12 on H200: 1 problem of smoke, 1,234 not done (interrupted)")
    assert found[-2:] == [
        "EMULATED: these are times of a test double's virtual clock, not of a GPU",
        "note: no NVML",
    ]


def test_nothing_was_done() -> None:
    left = run(results={"cases": 0, "cases_left": 3}, state="interrupted")
    assert lines([], left)[0].endswith("0 problems of smoke, 3 not done (interrupted)")


def test_as_data() -> None:
    rows = [row("forward_inference", "hot", 1e-5)]
    assert bench_data(rows, [run()]) == {"runs": [run()], "timings": rows}
