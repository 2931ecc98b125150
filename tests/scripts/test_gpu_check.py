"""scripts/gpu_check.sh on the emulator: a whole run in its short form, what it says of faults."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from pyharness.releases import Release
from tests.emulator.build import EmulatedRelease

SCRIPT = Path(__file__).parents[2] / "scripts" / "gpu_check.sh"


@dataclass(frozen=True)
class Checked:
    """What a run of the script came to."""

    code: int
    output: str
    folder: Path

    @property
    def summary(self) -> str:
        return (self.folder / "SUMMARY.md").read_text()


@pytest.fixture
def check(
    emulator: Callable[..., EmulatedRelease], cudnn: Callable[[str], Release], tmp_path: Path
) -> Callable[..., Checked]:
    """Runs the script in its short form on an emulator with these settings."""

    def run(steps: str | None = None, seconds: int = 180, **settings: object) -> Checked:
        real = cudnn("9.28.0.42").path
        release = emulator(real, **{"l2_bytes": 1 << 20, "name": "Emulated GPU", **settings})
        env = {
            **os.environ,
            **release.env,
            "PYHARNESS_CHECK_PYTHON": sys.executable,
            "PYHARNESS_CHECK_INSTALLED": "1",
            "PYHARNESS_CHECK_CUDNN": str(release.cudnn),
            "PYHARNESS_CHECK_PEER_DEVICE": "cpu",
            "PYHARNESS_CHECK_SIZE": "short",
            "PYHARNESS_CHECK_SECONDS": str(seconds),
        }
        if steps:
            env["PYHARNESS_CHECK_STEPS"] = steps
        folder = tmp_path / "check"
        done = subprocess.run(
            [SCRIPT, folder], env=env, capture_output=True, text=True, check=False, timeout=210
        )
        return Checked(done.returncode, done.stdout + done.stderr, folder)

    return run


def test_the_whole_check_passes_and_leaves_its_tables(check: Callable[..., Checked]) -> None:
    found = check()
    assert found.code == 0, found.output
    head, *_ = found.summary.splitlines()
    assert head == (
        "# EMULATED, nothing here was seen on a GPU: Emulated GPU, cuDNN 9.28.0: 11 steps passed"
    )
    looked = ("repeat", "accuracy", "check", "upgrade", "soak")
    for step in ("tests", "doctor", "stages", "bench", "deepbench", "memory", *looked):
        assert f"{step:<12} at most" in found.output
        assert f"| {step} | passed |" in found.summary
    tables = {
        path.relative_to(found.folder).as_posix(): pd.read_parquet(path)
        for path in found.folder.rglob("*.parquet")
    }
    ours = "9.28.0"
    for name in ("stages/stages", f"bench/{ours}/timings", f"deepbench/{ours}/timings"):
        rows = tables[f"{name}.parquet"]
        assert set(rows["provenance"]) == {"emulated"}
        assert set(rows["outcome"]) <= {"passed", "skipped"}
    assert set(tables["memory/memory.parquet"]["provenance"]) == {"emulated"}
    said = found.summary.splitlines()
    assert "- same_objects: 7 repeatable" in said
    assert "- y: 2 within" in said
    assert "- inference_is_training: 3 holds" in said
    assert "- 100 cycles: not_told" in said
    for question in ("validity", "time"):
        assert f"- {question}: same" in said
    passes = set(tables[f"bench/{ours}/timings.parquet"]["pass"])
    assert {"forward_inference", "backward_weights", "training_step"} <= passes
    # What costs 20 microseconds by default stands in the summary, with PyTorch beside it.
    row = next(line for line in found.summary.splitlines() if "| forward_training |" in line)
    assert row.split("|")[3].strip() == "20 µs"
    assert row.split("|")[-2].strip().endswith("µs")
    assert "tests passed, 0 failed, 0 skipped" in found.summary


@pytest.mark.parametrize(
    ("step", "fault", "says"),
    [
        # Two forward passes a case, counted anew in each process: the 3rd, 6th and 9th case.
        ("stages", "crash@cudnnRNNForward:5", "FAILED: 3 failed"),
        ("stages", "overrun:y@cudnnRNNForward:5", "y: byte 1 behind the end"),
        ("tests", "nan:dx@cudnnRNNBackwardData_v8:*", "tests failed"),
        ("bench", "status:EXECUTION_FAILED@cudnnRNNBackwardWeights_v8:*", "EXECUTION_FAILED"),
        ("memory", "status:INTERNAL_ERROR@cudnnGetRNNWeightSpaceSize:*", "refused or failed"),
        ("repeat", "crash@cudnnRNNForward:3", "cudnnRNNForward"),
        ("accuracy", "crash@cudnnRNNBackwardData_v8:1", "cudnnRNNBackwardData_v8"),
        ("check", "crash@cudnnRNNBackwardWeights_v8:1", "cudnnRNNBackwardWeights_v8"),
        ("soak", "crash@cudnnRNNForward:30", "cudnnRNNForward"),
    ],
)
def test_a_fault_is_told_of_the_step_that_met_it(
    check: Callable[..., Checked], step: str, fault: str, says: str
) -> None:
    # Numbers are looked at by the tests alone.
    found = check(step, fault=fault, compute=step == "tests")
    assert found.code == 1, found.output
    assert found.summary.splitlines()[0].endswith(f": 1 of 1 steps FAILED: {step}")
    assert says in found.summary


def test_a_step_that_hangs_is_ended_and_the_rest_is_said_not_to_have_run(
    check: Callable[..., Checked],
) -> None:
    found = check("deepbench memory", seconds=6, fault="hang@cudnnRNNForward")
    assert found.code == 1, found.output
    head = found.summary.splitlines()[0]
    assert head.endswith(": 2 of 2 steps FAILED: deepbench, memory")
    assert "| deepbench | FAILED: out of time |" in found.summary
    assert "| memory | FAILED: no time was left for it |" in found.summary


def test_what_stops_it_before_it_begins_is_said(tmp_path: Path) -> None:
    def run(*arguments: object, **env: str) -> tuple[int, str]:
        done = subprocess.run(
            [SCRIPT, *map(str, arguments)],
            env={**os.environ, "PYHARNESS_CHECK_PYTHON": sys.executable, **env},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return done.returncode, done.stderr

    code, said = run(tmp_path, PYHARNESS_LIBCUDA=str(tmp_path / "libcuda.so.1"))
    assert code == 2
    assert said.startswith("error: no GPU that CUDA can use: ")
    assert "PYHARNESS_LIBCUDA" in said
    code, said = run(tmp_path, PYHARNESS_CHECK_PYTHON="python-of-nobody")
    assert (code, said.partition(":")[0]) == (2, "error")
    assert "python-of-nobody" in said
    code, said = run(tmp_path, PYHARNESS_CHECK_SIZE="tiny")
    assert code == 2
    assert "tiny: full or short" in said
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_a_check_is_left_alone(check: Callable[..., Checked]) -> None:
    first = check("memory")
    assert first.code == 0, first.output
    before = first.summary
    second = check("memory")
    assert second.code == 2
    assert "holds a check already" in second.output
    assert second.summary == before
