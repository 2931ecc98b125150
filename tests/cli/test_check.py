"""``pyharness check``: what it prints, its exit codes, Ctrl-C, bad input, and small problems."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pyharness.api import checking
from pyharness.engine.runner import Runner
from pyharness.releases import Release
from pyharness.spec.equivalences import CHECKS
from pyharness.spec.geometry import geometry
from pyharness.spec.problem import parse_problem
from tests.cli import test_main, test_map_stages
from tests.cli.test_main import Run
from tests.cli.test_map_stages import Emulate
from tests.logs.items import record
from tests.logs.test_real_logs import base

run = test_main.run  # the fixtures
emulate = test_map_stages.emulate
PLAIN = ["hidden_size=8", "input_size=4", "batch_size=2", "max_seq_length=3"]
RAGGED = [
    *("hidden_size=4", "input_size=3", "num_layers=2", "seq_lengths=[3,2,1]"),
    *("padding_fill=given", "math_type=fma_math", "seed=3"),
]
BOTH = "direction_mode=bidirectional"
PROGRAM = "from pyharness.cli.main import main; main()"


@pytest.fixture(scope="module")
def clean_runner() -> Iterator[list[Runner]]:
    """The runner of the release in which nothing is planted, once there is one."""
    kept: list[Runner] = []
    yield kept
    for runner in kept:
        runner.close()


@pytest.fixture
def left_open(monkeypatch: pytest.MonkeyPatch, clean_runner: list[Runner]) -> Iterator[None]:
    """Commands share a runner for each release: starting one takes longer than what it is for."""
    begin, close = checking.open_runner, Runner.close
    planted: dict[Path, Runner] = {}

    def shared(release: Release, *how: Any) -> Runner:
        settings = (release.path.parent / "emulator.conf").read_text()
        if "wrong=" in settings:
            if release.path not in planted:
                planted[release.path] = begin(release, *how)
            return planted[release.path]
        if not clean_runner:
            clean_runner.append(begin(release, *how))
        return clean_runner[0]

    monkeypatch.setattr(checking, "open_runner", shared)
    monkeypatch.setattr(Runner, "close", lambda runner: None)
    yield
    for runner in planted.values():
        close(runner)


@pytest.mark.parametrize(
    ("name", "wrong", "words", "least"),
    [  # layers, directions, sequences and padded steps: the fewest that can show it
        ("packed_is_padded", "packed", ["layout=seq_major_packed"], (1, 1, 2, 1)),
        ("padding_filled", "padding_unwritten", [], (1, 1, 1, 2)),
        ("padding_ignored", "padding_read", [BOTH], (1, 1, 1, 2)),
        ("reverse_starts_at_end", "reverse_from_padding", [BOTH], (1, 2, 1, 2)),
        ("projection_off", "projection_off", ["cell_mode=lstm", BOTH], (1, None, 1, 1)),
        ("layers_in_turn", "second_layer", [], (2, 1, 1, 1)),
        ("inference_is_training", "inference", [BOTH], (1, None, 1, 1)),
        ("batch_is_parts", "batch_parts", [], (1, 1, 2, None)),
        ("chunks_are_whole", "carried_state", [], (1, 1, 1, 2)),
    ],
)
def test_each_check_names_a_small_problem_whose_command_shows_it(
    run: Run,
    emulate: Emulate,
    left_open: None,
    tmp_path: Path,
    name: str,
    wrong: str,
    words: list[str],
    least: tuple[int | None, ...],
) -> None:
    release = emulate(wrong=wrong)
    out, only = tmp_path / "out", ["--checks", name, "--fail-on", "violated"]
    cell = [] if "cell_mode=lstm" in words else ["cell_mode=rnn_relu"]
    said = run("check", "--cudnn", release, *RAGGED, *cell, *words, *only, "--out", out)
    assert (said.code, said.err[:16]) == (3, "gate: violated (")
    lines = said.out.splitlines()
    assert [line.split() for line in lines if line.startswith(name)] == [
        [name, "VIOLATED", "in", "1", "of", "1"]
    ]
    (command,) = [line for line in lines if line.startswith("      pyharness check")]
    assert max(len(line) for line in lines if line not in (command, lines[-1])) <= 80
    told = shlex.split(command)[1:]
    of = geometry(parse_problem([word for word in told if "=" in word]))
    sizes = (of.num_layers, of.directions, of.batch_size, of.max_seq_length)
    assert [s for s, expected in zip(sizes, least, strict=True) if expected is not None] == [
        expected for expected in least if expected is not None
    ]
    assert max(sizes) <= 2
    assert max(of.hidden_size, of.input_size) <= 3
    again = run(*told, "--tries", "0", "--out", tmp_path / "again", "--fail-on", "violated")
    assert again.code == 3, again.out
    # Nothing of it is left where nothing is planted.
    clean = [str(emulate()) if word == str(release) else word for word in told]
    said = run(*clean, "--out", tmp_path / "clean", "--fail-on", "violated,failed")
    assert (said.code, "1 hold" in said.out) == (0, True), said.out


def test_what_it_prints_where_all_holds(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    axes = ["--axis", "algo=standard,persist_static", "--axis", "cell_mode=lstm,gru"]
    words = ["--cudnn", emulate(), *PLAIN, "padding_fill=given", *axes, "--out", tmp_path / "out"]
    said = run("check", *words, "--fail-on", "violated,failed")
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0].startswith("9.28.0 on Emulated GPU: 4 problems of hidden_size=8")
    assert "EMULATED: these are results of a test double, not of a GPU" in lines
    cells = {line.split()[0]: line.split()[1:] for line in lines if line[:1].isalpha()}
    assert cells["layers_in_turn"] == ["-", "-"]
    assert cells["packed_is_padded"] == ["2", "hold", "2", "hold"]
    # Some bits of dw differ, so that it is said how much would not be seen: TensorFloat-32 is not
    # excluded.
    assert cells["batch_is_parts"] == ["2", "hold", "within", "2e-02"] * 2
    assert "  layers_in_turn (4 problems): there is one layer" in lines
    assert max(map(len, lines[:-1])) <= 80
    assert lines[-1] == f"Tables in {tmp_path / 'out'}"
    assert run("check", *words).out == said.out


def test_json_is_all_of_it(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["--checks", "batch_is_parts", "--tries", "0", "--out", out, "--json"]
    said = run("check", "--cudnn", emulate(wrong="batch_parts"), *PLAIN, *words)
    assert (said.code, said.err) == (0, "")
    data = json.loads(said.out)
    assert data.pop("equivalences") == pq.read_table(out / "equivalences.parquet").to_pylist()
    assert data.pop("folder") == str(out)
    assert data.pop("summary") == [{"algo": "standard", "check": "batch_is_parts", "violated": 1}]
    assert data == json.loads((out / "run.json").read_text())
    assert data["space"]["checks"] == ["batch_is_parts"]


def test_the_problems_of_a_log(
    run: Run, emulate: Emulate, cudnn: Callable[[str], Release], tmp_path: Path
) -> None:
    sizes = {"hidden_size": 6, "proj_size": 6, "max_seq_length": 3, "seq_lengths": [3, 2, 1]}
    items = [base(**sizes, data_type=0, math_prec=0, layout=1)] * 2
    log = record(cudnn("9.28.0.42"), items, tmp_path / "api.log")
    only = ["--checks", "inference_is_training", "--out", tmp_path / "out"]
    said = run("check", "--cudnn", emulate(), "--log", log, *only)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("9.28.0 on Emulated GPU: 1 problem of log api.log put to 1 check")
    assert ["inference_is_training", "1", "hold"] in [
        line.split() for line in said.out.splitlines()
    ]


def test_a_crash_fails_its_gate(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    release = emulate(fault="crash@cudnnRNNForward:1")
    words = ["check", "--cudnn", release, *PLAIN, "--checks", "batch_is_parts"]
    said = run(*words, "--fail-on", "failed", "--out", tmp_path / "out")
    assert (said.code, said.err) == (3, "gate: failed (1)\n")
    assert "failed batch_is_parts: cudnnRNNForward: the worker ended: SIGSEGV" in said.out
    assert "FAILED in 1 of 1" in said.out
    # Of what it violates nothing is known.
    again = run(*words, "--fail-on", "violated", "--out", tmp_path / "out")
    assert again.code == 2
    assert "it cannot be told whether anything is violated: no check tells anything" in again.err
    assert run(*words, "--out", tmp_path / "out").code == 0


def test_ctrl_c_and_the_same_command_again(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    out = tmp_path / "out"
    release = emulate(fault="slow:0.05@cudnnRNNForward:*")
    words = ["check", "--cudnn", release, *PLAIN, "--axis", "seed=0..3"]
    words += ["--checks", "inference_is_training", "--out", out]
    command = [sys.executable, "-c", PROGRAM, *map(str, words)]
    process = subprocess.Popen(
        command, env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    journal = out / "cases.jsonl"
    try:
        while not (journal.exists() and journal.read_bytes().count(b"\n") >= 3):
            assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGINT)
        said, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130
    assert err.splitlines()[-1] == "interrupted: the same command goes on"
    assert "not done (interrupted)" in " ".join(said.split())
    first = {r["name"] for r in pq.read_table(out / "equivalences.parquet").to_pylist()}
    assert 1 <= len(first) < 4
    done = run(*words)
    assert (done.code, "4 problems" in done.out) == (0, True)
    found = pq.read_table(out / "equivalences.parquet").to_pylist()
    assert {r["verdict"] for r in found} == {"holds"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no problem is given"),
        (["hidden_sice=8"], "unknown key 'hidden_sice'"),
        ([*PLAIN, "--checks", "batch_is_part"], "did you mean batch_is_parts"),
        ([*PLAIN, "--fail-on", "violates"], "did you mean violated?"),
        ([*PLAIN, "--preset", "deepbench"], "both the preset"),
        ([*PLAIN, "--log", "a.log"], "--log brings its own problems"),
        (["--log", "/nowhere/a.log"], "/nowhere/a.log"),
        ([*PLAIN, "--device", "3"], "there is no device 3"),
    ],
)
def test_bad_input(run: Run, emulate: Emulate, tmp_path: Path, words: list[str], said: str) -> None:
    out = tmp_path / "out"
    answer = run("check", "--cudnn", emulate(), *words, "--out", out)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: ")
    assert said in answer.err
    assert not out.exists()


def test_a_folder_of_something_else(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    out, release = tmp_path / "out", emulate()
    assert run("accuracy", "--cudnn", release, *PLAIN, "--out", out).code == 0
    said = run("check", "--cudnn", release, *PLAIN, "--out", out)
    assert (said.code, said.out) == (2, "")
    assert f"{out} holds another run" in said.err


def test_the_help_names_every_check(run: Run) -> None:
    said = run("check", "--help").out
    listed = " ".join(said[said.index("--checks") : said.index("(default: all)")].split())
    assert listed.split(maxsplit=2)[2] == ", ".join(CHECKS)
