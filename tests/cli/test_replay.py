"""``pyharness replay``: logs in words, as data and as tables; tried on releases; captured."""

from __future__ import annotations

import json
import random
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
from pyharness.spec.columns import TABLES
from tests.cli import test_main
from tests.cli.test_main import Run
from tests.logs.items import command, environment, random_item, record

run = test_main.run  # the fixture
PYHARNESS = [sys.executable, "-m", "pyharness.cli.main"]
OLD, NEW = "8.9.7.29", "9.28.0.42"
UNSORTED = "isSortedSequences == false"


def items() -> list[dict[str, Any]]:
    """One problem that every release takes, three times; one that 9.28 alone refuses; one bad."""
    good = random_item(random.Random(1))
    good.update(data_type=0, math_prec=0, cell_mode=3, hidden_size=7, proj_size=7, layout=0)
    good.update(seq_lengths=[5, 5], max_seq_length=5, modes=[0, 0, 1])
    good.pop("clip", None)
    data = {"data_type": 0, "vector_size": 8, "max_seq_length": 5, "only": "data"}
    return [
        good,
        {**data, "layout": 1, "seq_lengths": [3, 5]},
        {**data, "layout": 1, "seq_lengths": [3, 5]},
        {**data, "layout": 0, "seq_lengths": [5, 9]},
    ]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory, cudnn: Callable[[str], Release]) -> Path:
    """What 8.9.7 wrote of these items."""
    return record(cudnn(OLD), items(), tmp_path_factory.mktemp("replay") / "api.log")


def test_what_a_log_holds(run: Run, log: Path) -> None:
    said = run("replay", log)
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0].startswith(f"{log}: ")
    assert lines[1].startswith("  cuDNN 8.9.7; 1 process, 1 thread; 20")
    assert f"  {3:>12,}  cudnnRNNForward" in lines
    assert "3 distinct problems, the most frequent first" in lines
    first = lines.index("3 distinct problems, the most frequent first") + 1
    assert lines[first].split()[0] == "5"  # 3 forward, 2 backward
    assert "[forward_inference, forward_training," in said.out
    # 8.9.7 takes lengths in any order; what it refused without a handle is told.
    assert "seq_lengths=[3,5] max_seq_length=5 batch_size=2 layout=seq_major_packed" in said.out
    assert "logged 1 x cudnnRNNBackwardData_v8 BAD_PARAM: !handle" in said.out
    assert max(map(len, lines)) <= 100 or str(log) in max(lines, key=len)


def test_what_changes_from_one_release_to_the_next(run: Run, log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = run("replay", log, "--cudnn", OLD, "--cudnn", NEW, "--out", out)
    assert (said.code, said.err) == (0, "")
    assert "cuDNN 8.9.7.29+cu12: 1 problem (1 call) refused, 2 problems (7 calls) accepted" in (
        said.out
    )
    assert "cuDNN 9.28.0.42+cu12: 2 problems (3 calls) refused, 1 problem (5 calls) accepted" in (
        said.out
    )
    step = said.out.partition("8.9.7.29+cu12 -> 9.28.0.42+cu12: ")[2]
    assert step.startswith("1 newly refused\n  Newly refused\n")
    assert f"cudnnSetRNNDataDescriptor of x BAD_PARAM: {UNSORTED}" in step
    recorded = pq.read_table(out / "recorded.parquet")
    assert recorded.column_names == [c.name for c in TABLES["recorded"]]
    rows = recorded.to_pylist()
    assert [(r["order"], r["count"], r["roles"]) for r in rows] == [
        (0, 5, "descriptor, x, y, h"),
        (1, 2, "x"),
        (2, 1, "x"),
    ]
    assert rows[0]["calls"].startswith("cudnnRNNForward 3; cudnnRNNBackwardData_v8 1; ")
    assert (rows[0]["hidden_size"], rows[0]["proj_size"], rows[0]["proj_rule"]) == (7, 7, "same")
    assert (rows[1]["seq_lengths"], rows[1]["hidden_size"]) == ("[3,5]", None)
    validity = pq.read_table(out / "validity.parquet")
    assert validity.column_names == [c.name for c in TABLES["validity"]]
    rows = validity.to_pylist()
    assert len(rows) == 2 * (4 + 1 + 1)
    refused = [r for r in rows if r["reason"] == UNSORTED]
    (row,) = refused
    assert (row["release"], row["status"], row["seq_lengths"]) == (
        "9.28.0.42+cu12",
        "BAD_PARAM",
        "[3,5]",
    )
    assert (row["vector_size"], row["batch_size"], row["layout"]) == (8, 2, "seq_major_packed")
    manifest = json.loads((out / "run.json").read_text())
    assert (manifest["kind"], manifest["state"]) == ("replay", "complete")
    assert [r["name"] for r in manifest["releases"]] == ["8.9.7.29+cu12", "9.28.0.42+cu12"]
    again = run("replay", log, "--out", out)
    assert again.code == 0
    assert not (out / "validity.parquet").exists()  # of the earlier run


def test_the_same_as_data(run: Run, log: Path) -> None:
    data = json.loads(run("replay", log, "--json", "--cudnn", OLD, "--cudnn", NEW).out)
    assert data["cudnn"] == ["8.9.7"]
    assert data["calls"]["cudnnRNNForward"] == 3
    assert [(p["order"], p["count"]) for p in data["problems"]] == [(0, 5), (1, 2), (2, 1)]
    assert data["problems"][1]["problem"]["seq_lengths"] == "[3,5]"
    old, new = data["releases"]
    assert [r["order"] for r in old["refused"]] == [2]
    assert (new["refused"][0]["order"], new["refused"][0]["reason"]) == (1, UNSORTED)
    assert new["outcomes"]["unsupported"] == {"problems": 2, "calls": 3}
    assert data["steps"][0]["newly_refused"] == [1]
    assert "releases" not in json.loads(run("replay", log, "--json").out)


def test_gates(run: Run, log: Path) -> None:
    both = ("--cudnn", OLD, "--cudnn", NEW, "--fail-on")
    said = run("replay", log, *both, "newly_refused,newly_accepted")
    assert (said.code, said.err) == (3, "gate: newly_refused (1)\n")
    assert run("replay", log, *both, "newly_accepted,failed").code == 0
    assert run("replay", log, "--cudnn", NEW, "--fail-on", "refused").code == 3


def test_a_problem_that_kills_the_library_has_failed(
    run: Run, fake: Path, tmp_path: Path, cudnn: Callable[[str], Release]
) -> None:
    items = [
        {**random_item(random.Random(2)), "hidden_size": 666, "proj_size": 666, "cell_mode": 3}
    ]
    items[0].pop("clip", None)
    log = record(cudnn(NEW), items, tmp_path / "api.log")
    said = run("replay", log, "--cudnn", NEW, "--cudnn", fake, "--fail-on", "newly_failed")
    assert said.code == 3
    assert "the worker ended: SIGSEGV" in said.out
    assert "1 newly failing" in said.out


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ([], "no log is given", "--capture -- COMMAND"),
        (["--log", "x", "y"], "--log is where --capture writes", "without it"),
        (["--capture"], "no command is given", "--capture -- python train.py"),
        (["--capture", "--", "no-such-program"], "no-such-program cannot be run", "after --"),
        (["--capture", "--cudnn", "9.28.0.42", "--", "true"], "only records", "afterwards"),
        (["nothing.log"], "nothing.log cannot be read", "CUDNN_LOGDEST_DBG"),
        (["text"], "no entry of a cuDNN API log in text", "CUDNN_LOGLEVEL_DBG=3"),
        (["text", "--fail-on", "newly_refused"], "needs 2 --cudnn", "releases"),
        (["text", "--fail-on", "refuse"], "unknown change 'refuse'", "refused"),
        (["text", "--out", "full"], "full is not empty", "another --out"),
    ],
)
def test_what_cannot_be_done(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    message: str,
    hint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("epoch 1\n")
    Path("full").mkdir()
    Path("full/other").touch()
    said = run("replay", *words)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: ")
    assert message in said.err
    assert hint in said.err
    assert not list(tmp_path.glob("*.log"))


@pytest.mark.parametrize("release", [OLD, NEW])
def test_a_program_is_recorded_whichever_release_it_loads(
    tmp_path: Path, cudnn: Callable[[str], Release], release: str
) -> None:
    program = cudnn(release)
    done = subprocess.run(
        [*PYHARNESS, "replay", "--capture", "--log", "run.log", "--", *command(program)],
        input=json.dumps(items()),
        env={k: v for k, v in environment(program, "").items() if not k.startswith("CUDNN_LOG")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")
    (log,) = tmp_path.glob("run.*.log")
    assert f"cuDNN {'.'.join(release.split('.')[:3])}; 1 process" in done.stderr
    assert f"Recorded in {log}" in done.stderr
    assert "3 distinct problems" in done.stderr


def test_what_the_program_is_given_and_gives_is_its_own(tmp_path: Path) -> None:
    done = subprocess.run(
        [*PYHARNESS, "replay", "--capture", "--", "sh", "-c", "cat; echo no >&2; exit 7"],
        input="in",
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (7, "in")
    assert done.stderr.startswith("no\nnothing was recorded: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 9), (signal.SIGINT, 0)])
def test_signals_reach_the_program(tmp_path: Path, number: int, code: int) -> None:
    trap = "trap 'exit 9' TERM; trap 'exit 8' INT; touch ready; while :; do sleep 0.05; done"
    script = trap if code else "touch ready; sleep 0.4"  # Ctrl-C goes to the group, not to us
    with subprocess.Popen(
        [*PYHARNESS, "replay", "--capture", "--", "sh", "-c", script],
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
    ) as process:
        until = time.monotonic() + 20
        while not (tmp_path / "ready").exists() and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(number)
        assert process.wait(20) == code


def test_a_log_that_is_there_is_not_written_over(run: Run, tmp_path: Path) -> None:
    there = tmp_path / "run.17.log"
    there.write_text("mine")
    said = run("replay", "--capture", "--log", tmp_path / "run.log", "--", "true")
    assert (said.code, there.read_text()) == (2, "mine")
    assert "run.17.log is there already" in said.err
