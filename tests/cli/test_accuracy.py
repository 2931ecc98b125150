"""``pyharness accuracy``: what it prints, its exit codes, Ctrl-C, and bad input."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pyharness.releases import Release
from tests.cli import test_main, test_map_stages
from tests.cli.test_main import Run
from tests.cli.test_map_stages import Emulate
from tests.logs.items import record
from tests.logs.test_real_logs import base

run = test_main.run  # the fixtures
emulate = test_map_stages.emulate
SMALL = ["hidden_size=8", "input_size=4", "batch_size=2", "max_seq_length=8"]
PROGRAM = "from pyharness.cli.main import main; main()"


def test_what_it_prints(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    release = emulate(fault="flip:dx@cudnnRNNBackwardData_v8:1")
    out = tmp_path / "out"
    axis = ["--axis", "cell_mode=lstm,gru", "--axis", "data_type=float,half"]
    said = run("accuracy", "--cudnn", release, *SMALL, "num_layers=2", *axis, "--out", out)
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0].startswith("9.28.0 on Emulated GPU: 4 problems of hidden_size=8")
    assert "Tensors: 33 within, 1 beyond" in lines
    assert "EMULATED: these are results of a test double, not of a GPU" in lines
    assert max(map(len, (line for line in lines if "pyharness accuracy" not in line))) <= 100
    head = next(i for i, line in enumerate(lines) if line.split()[:1] == ["error"])
    # The worst is the first, and what is beyond has a command of its own.
    assert lines[head + 1] == f"{' '.join(SMALL)} num_layers=2 cell_mode=lstm data_type=float"
    assert lines[head + 2].endswith("beyond    dx, backward_data")
    assert sum("within" in line for line in lines[head:]) == 33
    at = next(i for i, line in enumerate(lines) if line.startswith("beyond what rounding"))
    assert "dx of backward_data (worst at dx[0,0,0])" in lines[at]
    assert sum(line.startswith("gradients in half: at most ") for line in lines) == 1
    assert lines[-1] == f"Tables in {out}"
    words = shlex.split(lines[at + 1])
    again = run(*words[1:], "--out", tmp_path / "again", "--json")
    found = json.loads(again.out)["accuracy"]
    assert {r["problem"] for r in found} == {lines[head + 1]}
    assert [r["buffer"] for r in found if r["verdict"] == "beyond"] == ["dx"]


def test_the_gate(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    release = emulate(fault="flip:y@cudnnRNNForward:1")
    words = ["accuracy", "--cudnn", release, *SMALL, "--out", tmp_path / "out"]
    said = run(*words, "--fail-on", "beyond")
    assert (said.code, said.err) == (3, "gate: beyond (1)\n")
    assert run(*words, "--fail-on", "failed").code == 0
    clean = run("accuracy", "--cudnn", emulate(), *SMALL, "--fail-on", "beyond,failed", "--out",
                tmp_path / "clean")  # fmt: skip
    assert (clean.code, clean.err) == (0, "")
    crash = emulate(fault="crash@cudnnRNNForward:2")
    said = run("accuracy", "--cudnn", crash, *SMALL, "--fail-on", "failed", "--out", tmp_path / "c")
    assert (said.code, said.err) == (3, "gate: failed (1)\n")
    assert "failed forward_training: cudnnRNNForward: the worker ended: SIGSEGV" in said.out


def test_a_gate_on_what_has_no_verdict(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    words = ["accuracy", "--cudnn", emulate(), *SMALL, "proj_size=9", "--out", tmp_path / "out"]
    said = run(*words, "--fail-on", "beyond,failed")
    assert (said.code, said.err) == (
        2,
        "error: it cannot be told whether anything is beyond: no tensor has a verdict\n"
        "  give problems that this device can run, or leave the gate out\n",
    )
    assert run(*words, "--fail-on", "failed").code == 0


def test_json_is_all_of_it(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = run("accuracy", "--cudnn", emulate(), *SMALL, "--out", out, "--json")
    assert (said.code, said.err) == (0, "")
    data = json.loads(said.out)
    assert [s["tensors"] for s in data.pop("settings")] == [len(data["accuracy"])]
    assert data.pop("accuracy") == pq.read_table(out / "accuracy.parquet").to_pylist()
    assert data.pop("folder") == str(out)
    assert data == json.loads((out / "run.json").read_text())


def test_the_problems_of_a_log(
    run: Run, emulate: Emulate, cudnn: Callable[[str], Release], tmp_path: Path
) -> None:
    small = {"max_seq_length": 3, "seq_lengths": [3, 2, 1], "hidden_size": 6, "num_layers": 2}
    items = [{**base(**small), "proj_size": 6, "data_type": 0, "math_prec": 0, "layout": 1}]
    log = record(cudnn("9.28.0.42"), [*items, *items], tmp_path / "api.log")
    for command, sides in (("accuracy", ["--cudnn", emulate()]), ("drift", [emulate(), emulate()])):
        out = tmp_path / command
        said = run(command, *sides, "--log", log, "--out", out)
        assert (said.code, said.err) == (0, "")
        assert " of log api.log" in said.out.splitlines()[0]
        rows = pq.read_table(out / f"{command}.parquet").to_pylist()
        assert {(r["hidden_size"], r["seq_lengths"]) for r in rows} == {(6, "[3,2,1]")}
        assert {r["verdict"] for r in rows} <= {"within", "same"}
        assert len({r["problem"] for r in rows}) == 1
        both = run(command, *sides, "--log", log, *SMALL, "--out", tmp_path / "no")
        assert (both.code, "--log brings its own problems" in both.err) == (2, True)


def test_ctrl_c_and_the_same_command_again(emulate: Emulate, tmp_path: Path) -> None:
    out = tmp_path / "out"
    release = emulate(fault="slow:0.1@cudnnRNNForward:*")
    words = ["accuracy", "--cudnn", release, *SMALL, "--axis", "seed=0..5", "--out", out]
    command = [sys.executable, "-c", PROGRAM, *map(str, words)]
    process = subprocess.Popen(
        command, env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    journal = out / "cases.jsonl"
    try:
        while not (journal.exists() and journal.read_bytes().count(b"\n") >= 2):
            assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGINT)
        said, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130
    assert err.splitlines()[-1] == "interrupted: the same command goes on"
    assert "not done (interrupted)" in said
    first = {r["name"] for r in pq.read_table(out / "accuracy.parquet").to_pylist()}
    assert 1 <= len(first) < 6
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "6 problems" in done.stdout
    assert {r["verdict"] for r in pq.read_table(out / "accuracy.parquet").to_pylist()} == {"within"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no problem is given"),
        (["hidden_sice=8"], "hidden_sice"),
        ([*SMALL, "--fail-on", "beyont"], "beyont"),
        ([*SMALL, "--preset", "deepbench"], "both the preset"),
        ([*SMALL, "--axis", "hidden_size=4"], "hidden_size is given as a word and with --axis"),
        ([*SMALL, "--device", "3"], "there is no device 3"),
    ],
)
def test_bad_input(run: Run, emulate: Emulate, tmp_path: Path, words: list[str], said: str) -> None:
    out = tmp_path / "out"
    answer = run("accuracy", "--cudnn", emulate(), *words, "--out", out)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: ")
    assert said in answer.err
    assert not out.exists()


def test_without_a_driver(run: Run, emulate: Emulate, monkeypatch: pytest.MonkeyPatch) -> None:
    release = emulate()
    monkeypatch.setenv("PYHARNESS_LIBCUDA", "/nowhere/libcuda.so.1")
    said = run("accuracy", "--cudnn", release, *SMALL)
    assert said.code == 2
    assert said.err.startswith("error: there is no CUDA driver: /nowhere/libcuda.so.1")
