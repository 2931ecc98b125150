"""``pyharness drift``: what it prints, its exit codes, and bad input."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli import test_main, test_map_stages
from tests.cli.test_main import Run
from tests.cli.test_map_stages import Emulate

run = test_main.run  # the fixtures
emulate = test_map_stages.emulate
SMALL = ["hidden_size=8", "input_size=4", "batch_size=2", "max_seq_length=3"]


def test_what_it_prints_and_the_gate(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    a, b, out = emulate(), emulate(fault="flip:dx@cudnnRNNBackwardData_v8:*"), tmp_path / "out"
    words = ["drift", a, b, *SMALL, "--axis", "cell_mode=lstm,gru", "--out", out]
    said = run(*words)
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0].startswith("9.28.0 and 9.28.0 on Emulated GPU: 2 problems of hidden_size=8")
    assert lines[2:4] == [
        "17 tensors: 15 same, 2 drifted",
        "EMULATED: these are results of a test double, not of a GPU",
    ]
    assert max(len(line) for line in lines if "pyharness drift" not in line) <= 100
    at = next(i for i, line in enumerate(lines) if line.startswith("drifted dx of backward_data"))
    assert "1 of 24 elements, the first at " in lines[at]
    again = run(*shlex.split(lines[at + 1])[1:], "--out", tmp_path / "again", "--json")
    found = json.loads(again.out)["drift"]
    assert [r["buffer"] for r in found if r["verdict"] == "drifted"] == ["dx"]
    said = run(*words, "--fail-on", "drifted")
    assert (said.code, said.err) == (3, "gate: drifted (2)\n")


def test_nothing_drifted(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["drift", emulate(), emulate(), *SMALL, "--out", out, "--fail-on", "drifted", "--json"]
    said = run(*words)
    assert (said.code, said.err) == (0, "")
    data = json.loads(said.out)
    assert data.pop("drift") == pq.read_table(out / "drift.parquet").to_pylist()
    assert data.pop("folder") == str(out)
    assert data == json.loads((out / "run.json").read_text())


def test_what_has_other_bits_each_time_says_nothing_of_a_release(
    run: Run, emulate: Emulate, tmp_path: Path
) -> None:
    unsteady = emulate(wrong="order_run")
    words = ["drift", emulate(), unsteady, *SMALL, "--out", tmp_path / "out"]
    said = run(*words, "--fail-on", "drifted")
    assert (said.code, said.err) == (
        2,
        "error: it cannot be told whether anything is drifted: there is none that both sides write "
        "and repeat\n  give problems that this device can run, or leave the gate out\n",
    )
    text = " ".join(said.out.split())
    assert "10 tensors: 0 same, 0 drifted, 10 not told" in text
    assert "dw of backward_weights (1 problem): the newer side has other bits each time" in text
    assert "Note" not in text
    rows = pq.read_table(tmp_path / "out" / "drift.parquet").to_pylist()
    assert {(row["verdict"], row["reason"]) for row in rows} == {
        ("not_told", "the newer side has other bits each time, too")
    }
    assert all(row["differing"] for row in rows)
    assert pq.read_table(tmp_path / "out" / "changes.parquet").num_rows == 0


def test_a_crash_of_the_second_run_is_told(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    faults = ["flip:dx@cudnnRNNBackwardData_v8:*", "crash@cudnnRNNForward:3"]
    words = ["drift", emulate(), emulate(fault=faults), *SMALL, "--out", tmp_path / "out"]
    said = run(*words, "--fail-on", "failed")
    assert (said.code, said.err) == (3, "gate: failed (1)\n")
    text = " ".join(said.out.split())
    assert "drifted dx of backward_data: 1 of 24 elements" in text
    assert "newer, once more: cudnnRNNForward: the worker ended: SIGSEGV" in text


def test_a_gate_on_what_was_never_compared(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    refused = [*SMALL, "proj_size=9"]
    words = ["drift", emulate(), emulate(), *refused, "--out", tmp_path / "out"]
    said = run(*words, "--fail-on", "drifted,failed")
    assert (said.code, "it cannot be told whether anything is drifted" in said.err) == (2, True)
    assert run(*words, "--fail-on", "failed").code == 0
    crash = emulate(fault="crash@cudnnRNNForward:2+")
    words = ["drift", emulate(), crash, *SMALL, "--out", tmp_path / "crash"]
    said = run(*words, "--fail-on", "drifted,failed")
    assert (said.code, said.err) == (3, "gate: failed (1)\n")


def test_a_refusal_is_told_with_both_sides(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    refuses = emulate(fault="status:NOT_SUPPORTED@cudnnRNNForward:*")
    said = run("drift", emulate(), refuses, *SMALL, "--out", tmp_path / "out")
    assert said.code == 0
    assert "0 tensors: 0 same, 0 drifted" in said.out
    assert "not compared forward_inference, forward_training (1 problem): older passed, newer" in (
        " ".join(said.out.split())
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no problem is given"),
        ([*SMALL, "--fail-on", "drifte"], "drifte"),
        ([*SMALL, "--device", "3"], "there is no device 3"),
    ],
)
def test_bad_input(run: Run, emulate: Emulate, tmp_path: Path, words: list[str], said: str) -> None:
    out = tmp_path / "out"
    answer = run("drift", emulate(), emulate(), *words, "--out", out)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: ")
    assert said in answer.err
    assert not out.exists()
