"""``pyharness time``: what it prints, its gates and exit codes, the card's clock, and bad input."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pyharness.api import time_change
from pyharness.present.time_change import WIDTH
from pyharness.releases import Release
from tests.cli import test_main, test_map_stages
from tests.cli.test_bench import PROGRAM
from tests.cli.test_main import Run, Said
from tests.emulator.build import EmulatedRelease

run = test_main.run  # the fixtures
emulate = test_map_stages.emulate
Emulate = Callable[..., Path]
SMALL = ["hidden_size=8", "input_size=4", "batch_size=2", "max_seq_length=3"]
QUIET: dict[str, object] = {
    "compute": "off",
    "l2_bytes": 4096,
    "noise": 0.01,
    "process_noise": 0.003,
    "cost_ns.forward_inference": 20_000,
    "cost_ns.backward_data": 50_000,
}
FEW = ["--processes", "6", "--passes", "forward_inference,backward_data"]


def test_what_it_prints_and_the_gate(
    run: Run, emulate: Emulate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = emulate(**QUIET)
    b = emulate(**{**QUIET, "cost_ns.backward_data": 51_500})
    out = tmp_path / "out"
    words = ["time", a, b, *SMALL, *FEW, "--out", out, "--fail-on", "slower,inconclusive"]
    said = run(*words)
    assert (said.code, said.err) == (3, "gate: slower (1)\n")
    lines = said.out.splitlines()
    assert max(len(line) for line in lines[:-1] if "pyharness time" not in line) <= WIDTH
    head = "9.28.0 and 9.28.0 on Emulated GPU: 1 problem of hidden_size=8 input_size=4 batch_size=2"
    assert lines[:2] == [head, "  max_seq_length=3, 2 cases"]
    assert lines[2].startswith("6 processes a side in turn, ")
    assert lines[2].endswith("; margin 2.00%, level 2.00%")
    assert lines[3] == "1 slower, 1 same"
    assert lines[4].startswith("smallest visible change: ")
    at = lines.index("slower (1 case)")
    (row,) = [r for r in rows_of(out) if r["pass"] == "backward_data"]
    assert lines[at + 2].split() == [
        "backward_data", "hot", *f"{row['median_a_s'] * 1e6:.2f} µs to".split(),
        *f"{row['median_b_s'] * 1e6:.2f} µs x{row['ratio']:.4f}".split(),
        f"({row['ratio_low']:.4f}", "to", f"{row['ratio_high']:.4f})",
    ]  # fmt: skip
    repeat = shlex.split(lines[at + 3])
    assert repeat[:4] == ["pyharness", "time", str(a), str(b)]
    assert repeat[4:] == ["--processes", "6", *SMALL, "--passes", "backward_data"]
    assert "EMULATED: these are times of a test double's virtual clock, not of a GPU" in lines
    assert lines[-1] == f"Tables in {out}"
    assert next(line for line in lines if line.startswith("  standard ")).split()[1:5] == list(
        "1010"
    )
    # A finished run is shown again, and its gate stands.
    again = run(*words)
    assert again == Said(
        3, said.out, f"{out} is complete: nothing is timed anew\ngate: slower (1)\n"
    )
    # So is one that the budget cut, and what goes on with it.
    told = json.loads((out / "run.json").read_text())
    cut = {**told, "state": "out_of_time", "results": {**told["results"], "budget_s": 60.0}}
    (out / "run.json").write_text(json.dumps(cut))
    why = f"{out} has what a budget of 60 s had room for: --resume with a --budget of 90s or more"
    kept = run(*words)
    assert (kept.code, kept.err) == (3, f"{why} times all of it anew\ngate: slower (1)\n")
    assert "in turn (out of time)" in kept.out
    assert run(*words, "--budget", "89s", "--resume") == kept
    # The run that is cut says so, too.
    compare = time_change.compare_time
    now_cut = lambda *args, **more: replace(compare(*args, **more), old=False)  # noqa: E731
    with monkeypatch.context() as patch:
        patch.setattr(time_change, "compare_time", now_cut)
        assert run(*words) == kept
    (out / "run.json").write_text(json.dumps(told))
    data = json.loads(run(*words[:-2], "--json").out)
    assert data.pop("time_changes") == rows_of(out)
    assert data.pop("folder") == str(out)
    assert data == json.loads((out / "run.json").read_text())


def rows_of(out: Path) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = pq.read_table(out / "time_changes.parquet").to_pylist()
    return rows


def test_a_gate_that_cannot_be_told_is_no_pass(run: Run, emulate: Emulate, tmp_path: Path) -> None:
    b = emulate(**QUIET, fault="status:NOT_SUPPORTED@cudnnRNNForward:*")
    words = ["time", emulate(**QUIET), b, *SMALL, *FEW, "--out", tmp_path / "out"]
    said = run(*words, "--fail-on", "slower")
    assert (said.code, said.err) == (
        2,
        "error: it cannot be told whether anything is slower: there is no case that both sides "
        "time\n  give problems that this device can run, or leave the gate out\n",
    )
    lines = said.out.splitlines()
    assert "2 not compared" in lines
    at = lines.index("not compared (2 cases)")
    words_said = " ".join(" ".join(lines[at + 1 :]).split())
    assert "newer side unsupported: cudnnRNNForward: NOT_SUPPORTED: planted fault" in words_said


def test_seconds_that_only_the_clock_changed_are_no_finding(
    emulator: Callable[..., EmulatedRelease], cudnn: Callable[[str], Release], tmp_path: Path
) -> None:
    """NVML is loaded as the process starts: it needs one of its own, with these variables."""
    real = cudnn("9.28.0.42").path
    a, b = emulator(real, **QUIET), emulator(real, **QUIET, clock=0.95)
    words = ["time", str(a.cudnn), str(b.cudnn), *SMALL, "--processes", "6"]
    words += ["--passes", "forward_inference", "--out", str(tmp_path / "out"), "--json"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        env={**os.environ, **a.env}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["time_changes"]
    assert (row["verdict"], row["reason"]) == ("inconclusive", "clock")
    # 1410 MHz and 95 % of it, in whole MHz.
    assert (row["clock_a_hz"], row["clock_b_hz"]) == (1410e6, 1339e6)
    assert row["ratio"] == pytest.approx(1 / 0.95, abs=0.01)
    assert row["cycles_ratio"] == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--processes", "7"], "7 processes a side\n  an even number from 6 on: they run as A B"),
        (["--margin", "0"], "a margin of 0.0\n"),
        (["--level", "0.6"], "a level of 0.6\n"),
        (["--budget", "soon"], "'soon' is no time to spend\n"),
        (["--passes", "backwards"], "unknown pass 'backwards'\n"),
        (["--modes", "tepid"], "unknown mode 'tepid'\n"),
        (["--fail-on", "faster"], "unknown result 'faster'\n"),
        (["--resume"], "--resume needs the folder to go on with\n"),
    ],
)
def test_bad_input(run: Run, words: list[str], said: str) -> None:
    got = run("time", "9.12.0.46", "9.28.0.42", *SMALL, *words)
    assert (got.code, got.out) == (2, "")
    assert got.err.startswith(f"error: {said}")
