"""``pyharness soak``: what it prints, its exit codes, and bad input."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pyharness.api.progress import Progress
from tests.cli import test_main, test_map_stages, test_replay
from tests.cli.test_main import Run

run, log = test_main.run, test_replay.log  # the fixtures
emulate = test_map_stages.emulate
Emulate = Callable[..., Path]
SMALL = ["hidden_size=8", "input_size=4", "batch_size=2", "max_seq_length=3"]
LEAK = f"leak_device:{1 << 16}@cudnnRNNBackwardWeights_v8:*"
GIB = 1 << 30


def test_what_it_prints(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    words = ["--cudnn", emulate(), *SMALL, "--cycles", "200", "--out", tmp_path / "out"]
    said = run("soak", *words)
    assert (said.code, said.err) == (0, "")
    text, lines = " ".join(said.out.split()), said.out.splitlines()
    assert max(map(len, lines)) <= 100
    assert re.match(
        r"9\.28\.0 on Emulated GPU: 200 cycles in \S+ s over 6 problems of hidden_size=8", text
    )
    assert "EMULATED: this is the memory of a test double, not of a GPU" in lines
    assert "device memory in use: steady; +0 B a cycle (95 %: -493 to +493 B)" in text  # 64 KiB/133
    assert "over cycles 67 to 200, from 0 B to 0 B: a leak of 493 B a cycle or more" in text
    assert "largest free block: steady; 100.0% of what was free at first, 100.0% at last" in text
    course = [line.split() for line in lines if re.match(r" +[0-9,]+-[0-9,]+ ", line)]
    assert [row[0] for row in course][:2] == ["0-25", "26-51"]
    assert len(course) == 8
    assert all(row[-2:] == ["16.0", "GiB"] for row in course[:-1])
    again = run("soak", *words)
    assert again.out == said.out
    assert again.err == f"{tmp_path / 'out'} holds this soak already: nothing is run anew\n"


def test_a_leak_is_a_gate(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    release = emulate(fault=LEAK, memory_bytes=GIB)
    words = ["--cudnn", release, *SMALL, "--cycles", "200"]
    gate = ["--fail-on", "fragmentation, leak"]
    said = run("soak", *words, "--out", tmp_path / "out", *gate, "--json")
    assert (said.code, said.err) == (3, "gate: leak\n")
    data = json.loads(said.out)
    assert data["results"]["verdict"] == "leak"
    trend = data["results"]["trends"]["device_used_bytes"]
    assert (trend["verdict"], trend["slope"], trend["p"]) == ("leak", 1 << 16, 0.0)
    assert [row["cycle"] for row in data["soak"]] == list(range(201))
    assert (data["folder"], data["state"]) == (str(tmp_path / "out"), "complete")
    text = run("soak", *words, "--out", tmp_path / "out").out
    assert "leak" in text.splitlines()
    assert "device memory in use: leak; +65,536 B a cycle" in " ".join(text.split())


def test_a_failed_cycle_is_a_gate_and_told_with_a_command(
    run: Run, emulate: Emulate, tmp_path: Path
) -> None:
    release = emulate(fault="crash@cudnnRNNForward:31")
    words = ["--cudnn", release, *SMALL, "--cycles", "200", "--out", tmp_path / "out"]
    said = run("soak", *words, "--fail-on", "failed")
    assert (said.code, said.err) == (3, "gate: failed\n")
    assert "16 cycles" in said.out
    assert "(stopped)" in said.out
    told = "failed: cycle 16, forward_inference, cudnnRNNForward: the worker ended: SIGSEGV"
    assert told in " ".join(said.out.split())
    (command,) = [line for line in said.out.splitlines() if "--stages all" in line]
    calm = emulate()
    repeated = [calm if word == str(release) else word for word in shlex.split(command)[1:]]
    again = run(*repeated, "--out", tmp_path / "again")
    assert again.code == 0


def test_a_gate_that_cannot_be_told_does_not_pass(
    run: Run, emulate: Emulate, tmp_path: Path
) -> None:
    words = ["--cudnn", emulate(), *SMALL, "--cycles", "20", "--out", tmp_path / "out"]
    said = run("soak", *words, "--fail-on", "leak,failed")
    assert said.code == 2
    assert said.err == (
        "error: it cannot be told whether there is a leak: device memory in use: 14 samples behind "
        "a warm-up of 7 cycles: at least 96 are needed\n"
        "  let it run longer, with more --cycles or --minutes\n"
    )
    assert "not told" in said.out.splitlines()
    assert run("soak", *words, "--fail-on", "failed").code == 0


def test_no_gate_passes_where_no_cycle_went_well(
    run: Run, emulate: Emulate, tmp_path: Path
) -> None:
    words = ["--cudnn", emulate(), *SMALL, "proj_size=9", "--cycles", "20"]
    said = run("soak", *words, "--out", tmp_path / "out", "--fail-on", "failed")
    assert said.code == 2
    assert said.err.startswith("error: it cannot be told what a soak does: no cycle went well\n")
    assert "note: no cycle went well: nothing was soaked" in said.out


def test_it_ends_by_the_clock(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    words = ["--cudnn", emulate(), *SMALL, "--minutes", "0.005", "--out", tmp_path / "out"]
    said = run("soak", *words, "--json")
    assert said.code == 0
    data = json.loads(said.out)
    assert data["space"]["limits"] == {"seconds": 0.3}
    assert 0.2 <= data["soak"][-1]["time_s"] < 3
    assert data["results"]["cycles"] > 5


def test_a_preset_and_another_seed(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    axes = ["--axis", "hidden_size=8", "--axis", "input_size=8", "--axis", "max_seq_length=3"]
    words = ["--cudnn", emulate(), "--preset", "smoke", *axes, "--cycles", "12", "--json"]
    orders = []
    for seed in ("1", "2"):
        said = run("soak", *words, "--seed", seed, "--out", tmp_path / seed)
        assert said.code == 0, said.err
        orders.append([row["problem"] for row in json.loads(said.out)["soak"]])
    assert orders[0] != orders[1]


def test_a_ctrl_c_keeps_what_is_there(
    run: Run, emulate: Emulate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def shown(unit: str) -> Iterator[Progress]:
        assert unit == "cycles"

        def interrupt(step: str, done: int, total: int) -> None:
            if (step, done, total) == ("cycles", 30, 200):
                raise KeyboardInterrupt

        yield interrupt

    words = ["--cudnn", emulate(), *SMALL, "--cycles", "200", "--out", tmp_path / "out"]
    monkeypatch.setattr("pyharness.cli.progress.shown", shown)
    said = run("soak", *words, "--fail-on", "leak")
    assert said.code == 130
    assert said.err == "interrupted: what was seen is kept\n"
    assert "30 cycles" in said.out
    assert "(interrupted)" in said.out
    assert (tmp_path / "out" / "soak.parquet").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([*SMALL, "--fail-on", "leaks"], ["unknown result 'leaks'", "did you mean leak"]),
        ([*SMALL, "--fail-on", "steady"], ["unknown result", "fragmentation"]),
        ([*SMALL, "--minutes", "nan"], ["--minutes"]),
        ([*SMALL, "--minutes", "0"], ["Invalid value for '--minutes'"]),
        ([*SMALL, "--minutes", "-1"], ["Invalid value for '--minutes'"]),
        ([*SMALL, "--minutes", "soon"], ["Invalid value for '--minutes'"]),
        ([*SMALL, "--cycles", "0"], ["Invalid value for '--cycles'"]),
        ([*SMALL, "--cycles", "1.5"], ["Invalid value for '--cycles'"]),
        ([*SMALL, "--seed", "-1"], ["Invalid value for '--seed'"]),
        ([], ["no problem is given"]),
        (["hidden=8"], ["unknown key 'hidden'", "hidden_size"]),
        (["--preset", "nothing"], ["nothing"]),
        ([*SMALL, "--log", "nowhere.log"], ["--log brings its own problems"]),
        (["--log", "nowhere.log"], ["nowhere.log"]),
        ([*SMALL, "--device", "7"], ["there is no device 7"]),
    ],
)
def test_bad_input(run: Run, emulate: Emulate, words: list[str], expected: list[str]) -> None:
    said = run("soak", "--cudnn", emulate(), *words)
    assert (said.code, said.out) == (2, "")
    assert "Traceback" not in said.err
    for text in expected:
        assert text in said.err


def test_a_folder_of_something_else(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no run")
    words = ["--cudnn", emulate(), *SMALL, "--cycles", "3"]
    said = run("soak", *words, "--out", tmp_path)
    assert said.code == 2
    assert "holds no run of pyharness" in said.err
    assert run("soak", *words, "--out", tmp_path / "out").code == 0
    said = run("soak", *words, "--seed", "1", "--out", tmp_path / "out")
    assert said.code == 2
    assert "holds another run" in said.err


def test_the_problems_of_a_log(run: Run, emulate: Emulate, log: Path, tmp_path: Path) -> None:
    words = ["--cudnn", emulate(), "--log", log, "--cycles", "6", "--out", tmp_path / "out"]
    said = run("soak", *words, "--json")
    assert (said.code, said.err) == (0, "")
    data = json.loads(said.out)
    assert data["space"]["name"] == f"log {log.name}"
    assert {row["outcome"] for row in data["soak"]} <= {"passed", "unsupported"}
    assert len({row["problem"] for row in data["soak"][1:]}) >= 3


def test_an_interrupt_of_the_process(emulate: Emulate, tmp_path: Path) -> None:
    out, program = tmp_path / "out", "from pyharness.cli.main import main; main()"
    words = ["soak", "--cudnn", str(emulate()), *SMALL, "--minutes", "5", "--out", str(out)]
    command = [sys.executable, "-c", program, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until = time.monotonic() + 60
        while not (out / "cases.jsonl").exists() or (out / "cases.jsonl").stat().st_size < 1000:
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told == b"interrupted: what was seen is kept\n"
    assert b"(interrupted)" in said
    assert json.loads((out / "run.json").read_text())["results"]["rows"] > 10
    assert not (out / "cases.jsonl").exists()
