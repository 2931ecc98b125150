"""``pyharness map --stages all``: what it prints, its exit codes, and what it says to bad input."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pyharness.releases import Release
from tests.cli import test_main
from tests.cli.test_main import Run
from tests.emulator.build import EmulatedRelease
from tests.logs.items import record
from tests.logs.test_real_logs import base

run = test_main.run  # the fixture
SMALL = ["--axis", "input_size=4", "--axis", "batch_size=2", "--axis", "max_seq_length=3"]
Emulate = Callable[..., Path]


@pytest.fixture
def emulate(
    emulator: Callable[..., EmulatedRelease],
    cudnn: Callable[[str], Release],
    monkeypatch: pytest.MonkeyPatch,
) -> Emulate:
    """An emulated libcudnn with these settings, and the variables that choose its libcuda."""

    def set_up(**settings: object) -> Path:
        made = emulator(cudnn("9.28.0.42").path, **settings)
        for name, value in made.env.items():
            monkeypatch.setenv(name, value)
        return made.cudnn

    return set_up


def stages(release: object, *words: object) -> list[object]:
    return ["map", "--stages", "all", "--cudnn", release, *words]


def test_what_it_prints(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    release = emulate(fault="crash@cudnnRNNBackwardWeights_v8:2")
    out = tmp_path / "out"
    axes = ["--axis", "algo=standard,persist_static", "--axis", "seq_lengths=[3,3],[3,1]"]
    said = run(*stages(release, *SMALL[:2], *axes, "--axis", "hidden_size=8", "--out", out))
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0].startswith("cuDNN 9.28.0 on Emulated GPU: 4 problems (")
    table = {words[0]: words[1:] for line in lines[3:12] if (words := line.split())}
    assert table == {
        "descriptor": ["4", "-", "-", "-", "-"],
        "data": ["4", "-", "-", "-", "-"],
        "state": ["4", "-", "-", "-", "-"],
        "sizes": ["4", "-", "-", "-", "-"],
        "build": ["-", "-", "-", "-", "4"],
        "forward_inference": ["3", "1", "-", "-", "-"],
        "forward_training": ["3", "1", "-", "-", "-"],
        "backward_data": ["3", "-", "-", "-", "1"],
        "backward_weights": ["2", "-", "1", "-", "1"],
    }
    assert "Refused, 2 distinct answers" in lines
    assert "Failed: a defect, not a refusal" in lines
    failed = lines.index("Failed: a defect, not a refusal")
    assert lines[failed + 1] == (
        "  backward_weights, cudnnRNNBackwardWeights_v8: the worker ended: SIGSEGV"
    )
    assert lines[-1].endswith(f"tables in {out}")
    # Each command that is printed tries that one problem.
    commands = [line.strip() for line in lines if line.startswith("      pyharness map ")]
    assert len(commands) == 3
    words = shlex.split(commands[0])[1:]
    again = run(*words, "--out", tmp_path / "again", "--json")
    results = json.loads(again.out)["results"]
    assert (again.code, results["cases"]) == (0, 1)
    assert results["stages"]["forward_inference"] == {"unsupported": 1}


def test_json_is_the_manifest_and_the_folder(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = run(*stages(emulate(), *SMALL, "--axis", "hidden_size=8,0", "--out", out, "--json"))
    assert (said.code, said.err) == (0, "")
    data = json.loads(said.out)
    written = json.loads((out / "run.json").read_text())
    assert data == {"folder": str(out), **written}
    assert (data["kind"], data["state"], data["device"]["emulated"]) == ("stages", "complete", True)
    assert data["results"]["cases"] == 2
    (refusal,) = data["results"]["refusals"]
    assert (refusal["stage"], refusal["status"], refusal["cases"]) == ("descriptor", "BAD_PARAM", 1)


def test_presets_of_problems(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    words = ["--preset", "smoke", "--axis", "hidden_size=8", "--axis", "input_size=8"]
    said = run(*stages(emulate(compute="off"), *words, "--out", tmp_path / "o", "--json"))
    assert said.code == 0
    data = json.loads(said.out)
    assert data["space"]["name"].startswith("smoke ")
    table = pq.read_table(tmp_path / "o/stages.parquet").to_pandas()
    assert set(table.hidden_size) == {8}
    assert len(table) == 9 * data["results"]["cases"]
    assert not table.duplicated(["problem", "stage"]).any()


def test_the_problems_of_a_log(
    run: Run, emulate: Emulate, cudnn: Callable[[str], Release], tmp_path: Path
) -> None:
    """The real library logs the calls of a problem; they are read back and run on the emulator."""
    small = {"max_seq_length": 3, "seq_lengths": [3, 2, 1], "hidden_size": 6, "num_layers": 2}
    items = [{**base(**small), "proj_size": 6, "data_type": 0, "math_prec": 0, "layout": 1}]
    log = record(cudnn("9.28.0.42"), [*items, *items], tmp_path / "api.log")
    said = run(*stages(emulate(), "--log", log, "--out", tmp_path / "o", "--json"))
    assert said.code == 0, said.err
    data = json.loads(said.out)
    assert data["space"]["name"] == "log api.log"
    table = pq.read_table(tmp_path / "o/stages.parquet").to_pandas()
    assert len(table) == 9 * data["results"]["cases"]
    assert set(table.hidden_size) == {6}
    assert set(table.seq_lengths) == {"[3,2,1]"}
    assert set(table[table.stage == "backward_weights"].outcome) == {"passed"}


def test_without_a_gpu(
    run: Run, cudnn: Callable[[str], Release], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYHARNESS_LIBCUDA", "/nowhere/libcuda.so.1")
    said = run(*stages("9.28.0.42", "--axis", "hidden_size=8,0", "--out", tmp_path / "o"))
    assert said.code == 0
    assert said.err.startswith(
        "no GPU here: only the host stages were tried (/nowhere/libcuda.so.1: cannot open"
    )
    lines = said.out.splitlines()
    assert lines[0] == "cuDNN 9.28.0.42+cu12 on the host alone: 2 problems (hidden_size=8,0)"
    assert [line.split()[0] for line in lines[3:6]] == ["descriptor", "data", "state"]
    assert lines[3].split()[1:] == ["1", "1", "-", "-", "-"]


BAD = [
    ([], "no problem is given", "--preset NAME (algos, "),
    (["--preset", "smok"], "unknown preset 'smok'", "smoke"),
    (["--preset", "host"], "the preset host is a space of host calls", ""),
    (["--axis", "hiden_size=8"], "unknown axis 'hiden_size'", "hidden_size"),
    (["--axis", "dropout_rate=2"], "dropout_rate: 2 is no rate", "less than 1"),
    (["--axis", "hidden_size=1..200000"], "these are 200,000 problems", "at most 100,000"),
    (
        ["--preset", "smoke", "--log", "x.log"],
        "--log brings its own problems",
        "leave --preset and --axis out",
    ),
    (
        ["--preset", "smoke", "--call", "cudnnRNNSetClip_v9", "--threads", "2", "--yes"],
        "--call, --threads, --yes and --stages all do not go together",
        "--preset, --axis or --log",
    ),
    (
        ["--axis", "hidden_size=8", "--reasons", "all"],
        "--reasons and --stages all do not go together",
        "with its reason",
    ),
    (["--axis", "hidden_size=8", "--device", "2"], "there is no device 2", "--device: 0 to 1"),
]


@pytest.mark.parametrize(("words", "message", "hint"), BAD)
def test_bad_input(
    run: Run, emulate: Emulate, tmp_path: Path, words: list[str], message: str, hint: str
) -> None:
    said = run(*stages(emulate(devices=2), *words, "--out", tmp_path / "o"))
    assert (said.code, said.out) == (2, "")
    assert message in said.err.splitlines()[0]
    assert hint in said.err
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--stages", "som"], "unknown way of choosing stages 'som'"),
        (["--device", "0"], "--device is for --stages all"),
    ],
)
def test_bad_input_for_the_host(run: Run, fake: Path, words: list[str], message: str) -> None:
    said = run("map", "--cudnn", fake, "--axis", "hidden_size=8", *words)
    assert said.code == 2
    assert message in said.err


def test_ctrl_c(emulate: Emulate, tmp_path: Path) -> None:
    release, out = emulate(fault="slow:0.1@cudnnRNNForward:*"), tmp_path / "out"
    axes = [*SMALL, "--axis", "hidden_size=4..20"]
    words = [str(w) for w in stages(release, *axes, "--out", out)]
    program = "from pyharness.cli.main import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    with process:
        for _ in range(600):
            journal = out / "cases.jsonl"
            if journal.exists() and journal.read_bytes().count(b"\n") > 2:
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        said, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "interrupted: the same command goes on\n")
    first, second = said.splitlines()[:2]
    done = int(first.partition(": ")[2].split()[0])
    assert 2 <= done < 17
    assert second == f"  {17 - done} problems not tried yet"
    table: Any = pq.read_table(out / "stages.parquet")
    assert table.num_rows == 9 * done
