"""What a run of checks prints: the matrix, what is violated, what ended, and what is not told."""

from __future__ import annotations

import shlex
from typing import Any

from pyharness.present.checking import checks_data, render_checks
from pyharness.spec.tables import TABLES

Row = dict[str, Any]
COLUMNS = [c.name for c in TABLES["equivalences"]]
SMALL = "num_layers=2 hidden_size=1 input_size=1 batch_size=1 max_seq_length=1 cell_mode=rnn_tanh"


def row(name: str, check: str | None, verdict: str | None, **more: Any) -> Row:
    """A row of the table; nothing else is known of it."""
    compared = {"buffer": "y", "elements": 40, "differing": 0, "error": 0.0, "threshold": 2e-6}
    return {
        **dict.fromkeys(COLUMNS),
        "algo": "standard", "name": name, "problem": f"hidden_size=64 seed={name}",
        "check": check, "verdict": verdict, "outcome": "passed" if verdict else "skipped",
        **(compared if verdict else {}), **more,
    }  # fmt: skip


def violated(name: str, check: str, error: float | None, **more: Any) -> Row:
    shown = {"smallest": SMALL, "smallest_error": 0.5, "shrinking": "settled", "tries": 1234}
    found = {"error": error, "differing": 24, "first_element": 3, **shown}
    return row(name, check, "violated", **{**found, **more})


def run(**more: Any) -> dict[str, Any]:
    """The manifest, as far as it is shown."""
    return {
        "release": {"name": "9.28.0.42+cu12", "asked": "9.28.0.42+cu12"},
        "device": {"name": "H200", "ordinal": 0},
        "space": {"name": "smoke", "checks": ["batch_is_parts", "layers_in_turn"]},
        "results": {"cases": 9, "cases_left": 0},
        "state": "complete",
        "notes": [],
        **more,
    }


def lines(rows: list[Row], **more: Any) -> list[str]:
    found = render_checks(rows, run(**more)).splitlines()
    assert max(len(line) for line in found if "pyharness check" not in line) <= 80
    return found


def test_the_matrix_counts_problems() -> None:
    rows = [row(str(i), "layers_in_turn", "holds") for i in range(1200)]
    rows += [
        violated("2", "layers_in_turn", 0.1),
        violated("3", "layers_in_turn", 0.1, buffer="dx"),
    ]
    rows += [row("2", "batch_is_parts", "not_told", reason="why")]
    rows += [row("2", "padding_filled", None, reason="no padding")]
    rows += [
        row(n, "batch_is_parts", "holds", algo="persist_static_small_h", differing=9, threshold=t)
        for n, t in (("4", 0.0123), ("5", 1e-5))
    ]
    third = [row("5", "batch_is_parts", None, algo="persist_static", outcome="failed", call="c")]
    found = lines(rows + third + [violated("6", "batch_is_parts", 0.1, algo="persist_static")])
    assert found[0] == "9.28.0.42+cu12 on H200: 9 problems of smoke put to 2 checks"
    head = found.index(" " * 24 + f"{'standard':<28}persist_static_small_h")
    assert [line.split() for line in found[head + 1 : head + 8]] == [
        ["padding_filled", "-", "-"],
        ["layers_in_turn", "VIOLATED", "in", "2", "of", "1,200", "-"],
        ["batch_is_parts", "1", "not", "told", "2", "hold", "within", "1e-02"],
        [],
        ["persist_static"],
        ["batch_is_parts", "FAILED", "in", "1", "of", "2"],
        [],
    ]


def test_what_is_violated_the_worst_first_with_its_command() -> None:
    none = {"smallest": None, "smallest_error": None, "tries": None}
    rows = [
        violated("0", "layers_in_turn", 0.02, smallest_error=0.7),
        violated("1", "layers_in_turn", 0.25, buffer="dw", variant="in two"),
        violated("0", "layers_in_turn", 0.01, buffer="hy", smallest=f"{SMALL} seed=1"),
        violated("0", "layers_in_turn", 0.01, buffer="hy", smallest="data_type=half"),
        violated("1", "batch_is_parts", None, threshold=0.0, shrinking="stopped"),
        violated("2", "padding_ignored", 1e-3, **none, shrinking="not_repeated"),
        violated("3", "padding_filled", 1e-4, **none, shrinking=None),
    ]
    found = lines(rows, device={"name": "H200", "ordinal": 3})
    at = found.index("Violated, worst first")
    command = "pyharness check --cudnn 9.28.0.42+cu12 --device 3 --checks"
    assert " ".join(" ".join(line.split()) for line in found[at + 1 :]) == (
        "batch_is_parts: a batch is its parts, and dw their sum y (1 problem), worst y of 1: 24 of "
        "40 elements differ, the first is 3; error no number, must be equal "
        "smallest problem that shows it in y (error 5.0e-01; there may be a smaller one: 1,234 "
        f"tried): {command} batch_is_parts {SMALL} "
        # Of the larger of two problems of a kind nothing is said.
        "layers_in_turn: layers at once are the same layers one after the other y, hy, dw "
        "(2 problems), worst dw of 1 (in two): 24 of 40 elements differ, the first is 3; error "
        "2.5e-01, rounding explains 2.0e-06 "
        f"smallest problem that shows it in y, dw (error 7.0e-01): {command} layers_in_turn "
        f"{SMALL} smallest problem that shows it in hy (error 5.0e-01): "
        f"{command} layers_in_turn data_type=half "
        "padding_ignored: other numbers in the padding of x and dy change nothing y (1 problem), "
        "worst y of 2: 24 of 40 elements differ, the first is 3; error 1.0e-03, rounding explains "
        "2.0e-06 "
        f"not seen a second time in y: {command} padding_ignored hidden_size=64 seed=2 "
        "padding_filled: the padding of y holds padding_fill y (1 problem), worst y of 3: 24 of 40 "
        "elements differ, the first is 3; error 1.0e-04, rounding explains 2.0e-06 "
        f"not shrunk, seen in y: {command} padding_filled hidden_size=64 seed=3"
    )


def test_what_ended_and_what_is_not_told() -> None:
    crashed = {"outcome": "failed", "call": "cudnnRNNForward", "reason": "SIGSEGV"}
    rows = [
        row("0", "batch_is_parts", None, **crashed),
        row("1", "layers_in_turn", None, **crashed),
        row("2", None, None, outcome="unsupported", call="cudnnSetRNNDescriptor_v8",
            status="NOT_SUPPORTED", reason="a condition", problem=""),
        row("3", "batch_is_parts", "not_told", reason="dropout draws", buffer="hy"),
        row("4", "batch_is_parts", "not_told", reason="dropout draws"),
        row("4", "padding_filled", None, reason="there is no padding"),
        row("5", None, None, reason="strides=zero cannot be run"),
    ]  # fmt: skip
    found = lines(rows)
    said = "failed batch_is_parts, layers_in_turn: cudnnRNNForward: SIGSEGV (2 problems)"
    at = found.index(said)
    words = shlex.split(found[at + 1])
    assert words[4:] == ["--checks", "batch_is_parts", "hidden_size=64", "seed=0"]
    assert found[at + 2 : at + 5] == [
        "unsupported: cudnnSetRNNDescriptor_v8: NOT_SUPPORTED: a condition (1 problem)",
        "  pyharness check --cudnn 9.28.0.42+cu12 seed=0",
        "",
    ]
    at = found.index("Not told, or not checked")
    assert found[at + 1 :] == [
        "  batch_is_parts, y, hy (2 problems): dropout draws",
        "  padding_filled (1 problem): there is no padding",
        "  not run (1 problem): strides=zero cannot be run",
    ]


def test_what_is_left_and_what_is_emulated_is_said() -> None:
    results = {"cases": 1, "cases_left": 8}
    device = {"name": "Emulated GPU", "emulated": True}
    found = lines(
        [row("0", "batch_is_parts", "holds")], results=results, device=device,
        state="interrupted", notes=["the disk is full"],
    )  # fmt: skip
    assert "8 not done (interrupted)" in " ".join(" ".join(found[:2]).split())
    assert "EMULATED: these are results of a test double, not of a GPU" in found
    assert "Note: the disk is full" in found


def test_json_is_the_manifest_a_summary_and_all_rows() -> None:
    rows = [row("0", "batch_is_parts", "holds"), violated("1", "batch_is_parts", 0.5)]
    data = checks_data(rows, run(), "out")
    assert data["equivalences"] == rows
    assert data["summary"] == [
        {"algo": "standard", "check": "batch_is_parts", "holds": 1, "violated": 1}
    ]
    assert data["folder"] == "out"
    assert {n: data[n] for n in run()} == run()
