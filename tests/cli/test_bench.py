"""``pyharness bench``: what it prints, its exit codes, kills and Ctrl-C, and bad input."""

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
from pyharness.spec.columns import SCHEMA_VERSION
from pyharness.store.manifest import read_manifest
from tests.cli import test_main, test_map_stages
from tests.cli.test_main import Run, Said
from tests.emulator.build import EmulatedRelease
from tests.logs.items import record
from tests.logs.test_real_logs import base
from tests.peer.test_client import NO_TORCH

run = test_main.run  # the fixtures
emulate = test_map_stages.emulate
Emulate = Callable[..., Path]
SMALL = ["hidden_size=8", "input_size=4", "batch_size=2", "max_seq_length=3"]
# A case takes this long at least, so that a signal meets a run that is under way.
LASTING = ["--least-time", "0.1"]
QUICK = ["--least-samples", "8", "--least-time", "0", "--precision", "1"]
HOT = ["--modes", "hot", "--passes", "forward_inference,backward_data"]
FORWARD = ["--modes", "hot", "--passes", "forward_inference"]
CHEAP: dict[str, object] = {"compute": "off", "l2_bytes": 4096}
PROGRAM = "from pyharness.cli.main import main; main()"


def command(*words: object) -> list[str]:
    return [sys.executable, "-c", PROGRAM, "bench", *(str(w) for w in words)]


def outside(*words: object, **env: str) -> Said:
    """The command in a process of its own, which these variables reach as it starts."""
    done = subprocess.run(
        command(*words), env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    return Said(done.returncode, done.stdout, done.stderr)


def table(out: Path, name: str = "timings") -> list[dict[str, Any]]:
    (found,) = out.glob(f"*/{name}.parquet")
    rows: list[dict[str, Any]] = pq.read_table(found).to_pylist()
    return rows


def test_what_it_prints(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    release = emulate(fault="status:NOT_SUPPORTED@cudnnRNNBackwardData_v8:1", **CHEAP)
    out = tmp_path / "out"
    axis = ["--axis", "cell_mode=lstm,gru"]
    said = run("bench", "--cudnn", release, *SMALL, *axis, *QUICK, *HOT, "--out", out)
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0] == (
        "9.28.0 on Emulated GPU: 2 problems of hidden_size=8 input_size=4 batch_size=2 "
        "max_seq_length=3"
    )
    assert max(map(len, (line for line in lines if "pyharness bench" not in line))) <= 100
    times = [line.split()[:3] for line in lines if line.startswith("  forward_inference")]
    assert times == [["forward_inference", "20.00", "µs"]] * 2
    refused = [line.split() for line in lines if line.startswith("  backward_data")]
    assert refused[0] == ["backward_data", "refused:", "NOT_SUPPORTED"]
    assert refused[1][:3] == ["backward_data", "20.00", "µs"]
    assert "EMULATED: these are times of a test double's virtual clock, not of a GPU" in lines
    at = lines.index(
        "unsupported backward_data hot: cudnnRNNBackwardData_v8 NOT_SUPPORTED: planted fault "
        "(1 problem)"
    )
    assert lines[-1] == f"Tables in {out}"
    # The command that is printed repeats that one row.
    again = run(*shlex.split(lines[at + 1])[1:], *QUICK, "--out", tmp_path / "again", "--json")
    (row,) = {(r["problem"], r["pass"]) for r in json.loads(again.out)["timings"]}
    assert (again.code, row) == (0, (f"{' '.join(SMALL)} cell_mode=lstm", "backward_data"))


def test_json_is_all_of_it(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = run("bench", "--cudnn", emulate(**CHEAP), *SMALL, *QUICK, *HOT, "--out", out, "--json")
    assert (said.code, said.err) == (0, "")
    data = json.loads(said.out)
    assert data["timings"] == table(out)
    (run_data,) = data["runs"]
    assert run_data.pop("folder") == str(out / "9.28.0")
    assert run_data == json.loads((out / "9.28.0/run.json").read_text())
    assert run_data["device"]["emulated"] is True


def test_a_finished_bench_is_shown_again_and_says_so(
    run: Run, emulate: Emulate, tmp_path: Path
) -> None:
    words = ["bench", "--cudnn", emulate(**CHEAP), *SMALL, *QUICK, *HOT, "--out", tmp_path / "o"]
    first = run(*words)
    again = run(*words)
    assert again == Said(
        0, first.out, f"{tmp_path / 'o/9.28.0'} is complete: nothing is timed anew\n"
    )


def test_the_problems_of_a_log(
    run: Run, emulate: Emulate, cudnn: Callable[[str], Release], tmp_path: Path
) -> None:
    small = {"max_seq_length": 3, "seq_lengths": [3, 2, 1], "hidden_size": 6, "num_layers": 2}
    items = [{**base(**small), "proj_size": 6, "data_type": 0, "math_prec": 0, "layout": 1}]
    log = record(cudnn("9.28.0.42"), [*items, *items], tmp_path / "api.log")
    out = tmp_path / "out"
    said = run("bench", "--cudnn", emulate(**CHEAP), "--log", log, *QUICK, *HOT, "--out", out)
    assert (said.code, said.err) == (0, "")
    assert " of log api.log" in said.out.splitlines()[0]
    rows = table(out)
    assert {(r["hidden_size"], r["seq_lengths"], r["outcome"]) for r in rows} == {
        (6, "[3,2,1]", "passed")
    }
    assert len(rows) == 2 * len({r["problem"] for r in rows})  # each problem once


def test_presets(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    release = emulate(**CHEAP)
    words = ["--preset", "smoke", "--axis", "hidden_size=8", "--axis", "input_size=8"]
    out = tmp_path / "preset"
    said = run("bench", "--cudnn", release, *words, *QUICK, *HOT, "--out", out, "--json")
    assert said.code == 0
    assert {r["hidden_size"] for r in table(out)} == {8}
    assert {r["outcome"] for r in table(out)} <= {"passed", "unsupported", "skipped"}


def test_a_folder_of_its_own(
    run: Run, emulate: Emulate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = emulate(**CHEAP)
    monkeypatch.chdir(tmp_path)
    said = run("bench", "--cudnn", release, *SMALL, *QUICK, *HOT)
    folder = Path(said.out.splitlines()[-1].removeprefix("Tables in "))
    assert folder.parts[:2] == ("results", "bench")
    assert (folder / "9.28.0/timings.parquet").exists()


def test_two_releases_and_torch(
    run: Run,
    emulate: Emulate,
    emulator: Callable[..., EmulatedRelease],
    cudnn: Callable[[str], Release],
    tmp_path: Path,
) -> None:
    slower = emulator(cudnn("9.28.0.42").path, slower=1.5, **CHEAP).cudnn
    out = tmp_path / "out"
    words = ["--cudnn", emulate(**CHEAP), "--cudnn", slower, "--peer", "torch"]
    said = run(
        "bench", *words, "--peer-device", "cpu", *SMALL, "--modes", "hot", *QUICK, "--out", out
    )
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0].startswith("[1] 9.28.0")  # its path follows, on a line of its own if it is long
    assert sum(line.startswith("[2] 9.28.0") for line in lines) == 1
    at = lines.index("  forward_inference")
    one, two, peer = lines[at + 1 : at + 4]
    assert one.split()[:4] == ["[1]", "9.28.0", "20.00", "µs"]
    assert two.split()[:4] == ["[2]", "9.28.0", "30.00", "µs"]
    assert two.split()[-1] == "1.500"
    assert peer.split()[:2] == ["[3]", "torch"]
    # Nothing is wider than the page but paths, which stay whole so that they can be copied.
    assert [line for line in lines if len(line) > 100 and "/" not in line] == []
    # The peer's backward is one for both; its ratio is to the sum of both.
    at = lines.index("  backward")
    rows = {
        (Path(p).parent.name.partition("-")[0], r["pass"]): r
        for p in out.glob("*/timings.parquet")
        for r in pq.read_table(p).to_pylist()
    }
    backward = rows["torch", "backward"]["median_s"]
    assert float(lines[at + 1].split()[-1].replace(",", "")) == pytest.approx(
        backward / 40e-6, rel=0.01
    )
    assert len(list(out.iterdir())) == 3


def test_torch_alone(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    said = run("bench", "--peer", "torch", *SMALL, *QUICK, "--out", out)
    assert (said.code, said.err) == (0, "")
    assert {(r["pass"], r["mode"], r["outcome"]) for r in table(out)} == {
        (name, "hot", "passed")
        for name in ("forward_inference", "forward_training", "backward", "training_step")
    }
    assert {r["provenance"] for r in table(out)} == {"observed"}


def test_throttling_is_seen_named_and_left_out(
    emulator: Callable[..., EmulatedRelease], cudnn: Callable[[str], Release], tmp_path: Path
) -> None:
    # The library of NVML is found when the process starts.
    # At 0.2 ms a call there are at most some 260 passes before the first sample that counts.
    made = emulator(
        cudnn("9.28.0.42").path,
        throttle="after:400,for:1000000,factor:3",
        enqueue_us=200,
        noise=0.01,
        **CHEAP,
    )
    out = tmp_path / "out"
    words = ["--least-samples", "500", "--least-time", "0", "--most-time", "1"]
    words += ["--modes", "hot", "--passes", "forward_inference", "--precision", "1"]
    said = outside("--cudnn", made.cudnn, *SMALL, *words, "--out", out, **made.env)
    assert said.code == 0, said.err
    (row,) = table(out)
    assert row["throttle_reasons"] == "hw_thermal_slowdown"
    assert row["throttled"] > 0
    assert row["sm_clock_min_hz"] == 470e6  # a third of 1410 MHz
    assert row["power_w"] > 0
    samples = table(out, "samples")
    assert len(samples) == row["n"] + row["throttled"]
    slow = [s for s in samples if s["time_s"] > 40e-6]
    assert slow
    assert {s["throttled"] for s in slow} == {"yes"}
    assert sum(s["throttled"] == "yes" for s in samples) == row["throttled"]
    assert row["mean_s"] == pytest.approx(20e-6, rel=0.01)
    assert f"throttled: {row['throttled']:,} samples left out" in said.out
    assert "NVML does not tell" not in said.out
    quiet = emulator(cudnn("9.28.0.42").path, noise=0.01, **CHEAP)
    more = ["--out", tmp_path / "quiet"]
    said = outside("--cudnn", quiet.cudnn, *SMALL, *words, *more, **quiet.env)
    (row,) = table(tmp_path / "quiet")
    assert (row["throttled"], row["throttle_reasons"], row["trend"]) == (0, None, "steady")
    assert "throttled" not in said.out
    assert "drifting" not in said.out


def wait_for(cases: int, out: Path) -> list[str]:
    for _ in range(1500):
        for journal in out.glob("*/cases.jsonl"):
            lines = journal.read_bytes().split(b"\n")[1:-1]
            if len(lines) >= cases:
                return [json.loads(line)["case"] for line in lines]
        time.sleep(0.02)
    pytest.fail("the bench does not get on")


SIZES = ["batch_size=2", "input_size=4", "max_seq_length=3", "--axis", "hidden_size=4..33"]


def test_after_a_kill_nothing_is_timed_twice_and_nothing_is_lost(
    run: Run, emulate: Emulate, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    words = ["--cudnn", emulate(**CHEAP), *SIZES, *QUICK, *LASTING, *FORWARD, "--out", out]
    with subprocess.Popen(command(*words), env=os.environ) as process:
        wait_for(3, out)
        process.send_signal(signal.SIGKILL)
    done = wait_for(3, out)
    (journal,) = out.glob("*/cases.jsonl")
    kept = journal.read_bytes()
    journal.write_bytes(kept + b'{"case": "batch_size=2 in')  # cut off while it was written
    said = run("bench", *words)
    assert (said.code, said.out) == (2, "")
    assert said.err.splitlines() == [
        f"error: {out / '9.28.0'} holds a run that is not finished",
        "  go on with it by --resume, or give another --out",
    ]
    said = run("bench", *words, "--resume")
    assert (said.code, said.err) == (0, "")
    rows = table(out)
    sizes = [r["hidden_size"] for r in rows if r["pass"] == "forward_inference"]
    assert sizes == list(range(4, 34))
    assert len(rows) == 30
    # What the journal held is in the tables, to the last bit.
    before = {
        entry["case"]: entry["result"]["timings"][0]["chunks"][0]["samples"][0]
        for entry in map(json.loads, kept.splitlines()[1:])
    }
    assert list(before) == done
    first = {s["name"]: s["time_s"] for s in reversed(table(out, "samples"))
             if s["pass"] == "forward_inference"}  # fmt: skip
    assert {name: first[name] for name in done} == before
    assert not journal.exists()


def test_ctrl_c(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["--cudnn", emulate(**CHEAP), *SIZES, *QUICK, *LASTING, *FORWARD, "--out", out]
    process = subprocess.Popen(
        command(*words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    with process:
        wait_for(2, out)
        process.send_signal(signal.SIGINT)
        said, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, f"interrupted: --out {out} --resume goes on\n")
    manifest = read_manifest(out / "9.28.0")
    done = manifest.results["cases"]
    assert (manifest.state, 2 <= done < 30) == ("interrupted", True)
    assert f", {30 - done} not done (interrupted)" in " ".join(said.split())
    assert len(table(out)) == done
    again = run("bench", *words, "--resume")
    assert (again.code, len(table(out))) == (0, 30)


BAD: list[tuple[list[str], str, str]] = [
    ([], "no problem is given", "--preset NAME (algos, "),
    (["--preset", "smok"], "unknown preset 'smok'", "smoke"),
    (["--preset", "smoke", "hidden_size=8"], "both the preset smoke and hidden_size=8", "--axis"),
    (["hidden_size=8", "--axis", "hidden_size=9"], "hidden_size is given as a word and", "leave"),
    (["hiden_size=8"], "hiden_size", "hidden_size"),
    ([*SMALL, "--passes", "backwards"], "unknown pass 'backwards'", "backward_data"),
    ([*SMALL, "--passes", ""], "unknown pass ''", "training_step"),
    ([*SMALL, "--modes", "warm"], "unknown mode 'warm'", "hot"),
    ([*SMALL, "--peer", "jax"], "unknown peer 'jax'", "torch"),
    ([*SMALL, "--peer-device", "cpu"], "--peer-device is where a peer runs", "--peer torch"),
    ([*SMALL, "--peer", "torch", "--peer-device", "tpu"], "'tpu' is no device of a peer", "cpu"),
    ([*SMALL, "--peer", "torch", "--peer-device", "cpu", "--modes", "cold"],
     "a peer is timed hot, which --modes leaves out", "add hot"),
    ([*SMALL, "--resume"], "--resume needs the folder to go on with", "--out"),
    ([*SMALL, "--device", "2"], "there is no device 2", "--device: 0 to 1"),
    ([*SMALL, "--least-time", "4"], "at least 4.0 s and at most 3.0 s", ""),
    ([*SMALL, "--log", "x.log"], "--log brings its own problems", "leave"),
    (["--log", "/nowhere/x.log"], "/nowhere/x.log", ""),
    (["--preset", "deepbench", "--axis", "hidden_size=1..99999"], "these are", "at most"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "message", "hint"), BAD)
def test_bad_input(
    run: Run,
    emulate: Emulate,
    tmp_path: Path,
    words: list[str],
    message: str,
    hint: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    release = emulate(devices=2)
    out = [] if "--resume" in words else ["--out", tmp_path / "o"]
    said = run("bench", "--cudnn", release, *words, *out)
    assert (said.code, said.out) == (2, "")
    assert message in said.err.splitlines()[0]
    assert hint in said.err
    assert not (tmp_path / "o").exists()
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--most-time", "inf"],
        ["--least-time", "nan"],
        ["--precision", "nan"],
        ["--least-samples", "1"],
        ["--precision", "0"],
        ["--device", "-1"],
    ],
)
def test_numbers_out_of_range(run: Run, fake: Path, words: list[str]) -> None:
    said = run("bench", "--cudnn", fake, *SMALL, *words)
    assert (said.code, said.out) == (2, "")
    assert words[0] in said.err


def test_nothing_to_time_on(run: Run) -> None:
    said = run("bench", *SMALL)
    assert said == Said(
        2, "", "error: nothing to time on is given\n  --cudnn RELEASE, --peer torch, or both\n"
    )


def test_one_release_twice(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    release = emulate()
    said = run("bench", "--cudnn", release, "--cudnn", release, *SMALL, "--out", tmp_path / "o")
    assert said.code == 2
    assert "is given twice" in said.err.splitlines()[0]
    assert not (tmp_path / "o").exists()


def test_no_driver(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYHARNESS_LIBCUDA", "/nowhere/libcuda.so.1")
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "cache"))
    said = run("bench", "--cudnn", "9.28.0.42", *SMALL, "--out", tmp_path / "o")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(
        "error: there is no CUDA driver: /nowhere/libcuda.so.1 is not found\n  `pyharness doctor`"
    )
    assert not (tmp_path / "cache").exists()  # nothing is fetched for nothing
    assert not (tmp_path / "o").exists()


def test_no_gpu(run: Run, emulate: Emulate) -> None:
    said = run("bench", "--cudnn", emulate(devices=0), *SMALL)
    assert said.code == 2
    assert "no GPU" in said.err or "no device" in said.err


def test_no_torch(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text(NO_TORCH)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    said = run("bench", "--peer", "torch", *SMALL, "--out", tmp_path / "o")
    assert said == Said(
        2,
        "",
        "error: the peer torch cannot be used: No module named torch\n"
        "  install it where pyharness is: pip install torch\n",
    )


def test_folders_of_something_else(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    release = emulate(**CHEAP)
    words = ["bench", "--cudnn", release, *QUICK, *HOT, "--resume", "--out"]
    out = tmp_path / "out"
    assert run(*words, out, *SMALL).code == 0

    def refused(folder: Path, *problem: str) -> str:
        said = run(*words, folder, *problem)
        assert (said.code, said.out) == (2, "")
        return said.err

    assert "holds another run" in refused(out, "hidden_size=9")
    assert "is the folder of a single run" in refused(out / "9.28.0", *SMALL)
    path = out / "9.28.0/run.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "kind": "map"}))
    assert "holds another run" in refused(out, *SMALL)
    path.write_text(json.dumps({**manifest, "schema_version": SCHEMA_VERSION + 1}))
    assert "written by a newer pyharness" in refused(out, *SMALL)
    path.write_text("[]")
    assert "cannot be read" in refused(out, *SMALL)
