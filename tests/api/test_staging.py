"""Problems through all stages: the table, what goes on after a kill, and where there is no GPU."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pyharness.api import staging
from pyharness.api.staging import Problems, StageOptions, StageRun, distinct, stage_release
from pyharness.api.trying import try_calls
from pyharness.errors import HarnessError, UsageError
from pyharness.releases import Release
from pyharness.spec.columns import SCHEMA_VERSION
from pyharness.spec.problem import parse_problem
from pyharness.spec.stages import STAGES
from pyharness.spec.tables import TABLES
from pyharness.store.case_journal import NAME as JOURNAL
from pyharness.store.manifest import read_manifest
from tests.emulator.build import EmulatedRelease

Cudnn = Callable[[str], Release]
RELEASE = "9.28.0.42"
SMALL = "input_size=4 batch_size=2 max_seq_length=3"
Made = Callable[..., Release]


@pytest.fixture
def emulate(
    emulator: Callable[..., EmulatedRelease], cudnn: Cudnn, monkeypatch: pytest.MonkeyPatch
) -> Made:
    """An emulated release with these settings, and the variables that choose its libcuda."""

    def set_up(**settings: object) -> Release:
        made = emulator(cudnn(RELEASE).path, **settings)
        for name, value in made.env.items():
            monkeypatch.setenv(name, value)
        return Release(None, None, made.cudnn, "path")

    return set_up


def sizes(*hidden: int, rest: str = SMALL) -> Problems:
    return distinct("sizes", [parse_problem(f"hidden_size={n} {rest}".split()) for n in hidden])


def rows(run: StageRun) -> list[dict[str, Any]]:
    table = pq.read_table(run.folder / "stages.parquet")
    assert table.column_names == [c.name for c in TABLES["stages"]]
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def outcomes(run: StageRun, stage: str) -> list[str]:
    return [r["outcome"] for r in rows(run) if r["stage"] == stage]


def test_the_table(emulate: Made, tmp_path: Path) -> None:
    release = emulate(name="Card X")
    words = f"hidden_size=8 proj_size=half dropout_rate=0.25 seed=3 {SMALL}"
    problems = distinct("one", [parse_problem(words.split())] * 2)
    run = stage_release(release, problems, tmp_path / "out")
    assert run.no_gpu == ""
    found = rows(run)
    assert [r["stage"] for r in found] == list(STAGES)
    for row in found:
        assert row["problem"] == words
        assert (row["release"], row["device"]) == ("9.28.0", "Card X")
        assert (row["hidden_size"], row["proj_size"], row["proj_rule"]) == (8, 4, "half")
        assert (row["dropout_rate"], row["seed"], row["initial_states"]) == (0.25, 3, "given")
        assert (row["vector_size"], row["lclip"], row["strides"]) == (4, None, None)
        assert row["provenance"] == "emulated"
    by_stage = {r["stage"]: r for r in found}
    assert by_stage["build"]["outcome"] == "skipped"
    assert {r["outcome"] for r in found if r["stage"] != "build"} == {"passed"}
    weight = by_stage["sizes"]["weight_space_bytes"]
    assert weight > 0
    assert {r["weight_space_bytes"] for r in found[3:]} == {weight}
    assert {r["weight_space_bytes"] for r in found[:3]} == {None}
    held = {s: (r["workspace_bytes"], r["reserve_space_bytes"]) for s, r in by_stage.items()}
    assert held["sizes"] == held["build"] == (None, None)
    assert held["forward_inference"][0] > 0
    assert held["forward_inference"][1] is None
    assert held["forward_training"] == held["backward_data"] == held["backward_weights"]
    assert held["forward_training"][1] > 0
    manifest = read_manifest(run.folder)
    assert (manifest.kind, manifest.state, manifest.device["name"]) == (
        "stages",
        "complete",
        "Card X",
    )
    assert manifest.results["rows"] == 9
    assert manifest.results["statuses"] == {"passed": 8, "skipped": 1}
    assert manifest.release["loaded"] == 92800
    assert not (run.folder / JOURNAL).exists()


def test_what_fails_is_a_row_and_the_next_case_runs_in_a_new_process(
    emulate: Made, tmp_path: Path
) -> None:
    # In each process the third forward pass, the second case's first, crashes.
    release = emulate(fault="crash@cudnnRNNForward:3")
    run = stage_release(release, sizes(8, 12, 16, 20), tmp_path / "out")
    assert outcomes(run, "forward_inference") == ["passed", "failed", "passed", "failed"]
    assert outcomes(run, "backward_weights") == ["passed", "skipped", "passed", "skipped"]
    failed = [r for r in rows(run) if r["outcome"] == "failed"]
    assert {(r["call"], r["status"]) for r in failed} == {("cudnnRNNForward", None)}
    assert all(r["reason"].startswith("the worker ended: SIGSEGV") for r in failed)
    results = run.manifest.results
    assert [f["problem"] for f in results["failures"]] == [
        f"hidden_size={n} {SMALL}" for n in (12, 20)
    ]
    assert results["stages"]["forward_inference"] == {"passed": 2, "failed": 2}


def test_an_end_that_fails_is_a_row_of_its_own_case(emulate: Made, tmp_path: Path) -> None:
    release = emulate(fault="crash@cudnnDestroyDropoutDescriptor:2")
    run = stage_release(release, sizes(8, 12, 16, 20), tmp_path / "out")
    failed = [r for r in rows(run) if r["outcome"] == "failed"]
    assert [(r["hidden_size"], r["stage"], r["call"]) for r in failed] == [
        (n, "close", "cudnnDestroyDropoutDescriptor") for n in (12, 20)
    ]
    assert outcomes(run, "backward_weights") == ["passed"] * 4
    assert run.manifest.results["stages"]["close"] == {"failed": 2}


def test_a_folder_that_is_removed_meanwhile_has_its_tables_in_the_end(
    emulate: Made, tmp_path: Path
) -> None:
    folder, done = tmp_path / "out", []

    def remove_once(what: str, count: int, total: int) -> None:
        if count == 1 and not done:
            done.append(what)
            shutil.rmtree(folder)

    run = stage_release(emulate(), sizes(8, 12), folder, progress=remove_once)
    assert outcomes(run, "backward_weights") == ["passed", "passed"]
    assert read_manifest(folder).state == "complete"


def test_out_of_memory_has_its_bytes_and_the_sweep_goes_on(emulate: Made, tmp_path: Path) -> None:
    release = emulate(memory_bytes=4 << 20)
    run = stage_release(release, sizes(8, 1024, 8 + 1), tmp_path / "out")
    assert outcomes(run, "forward_inference") == ["passed", "out_of_memory", "passed"]
    (row,) = [r for r in rows(run) if r["outcome"] == "out_of_memory"]
    assert row["asked_bytes"] > row["free_bytes"] > 0
    assert row["call"] == "cuMemAlloc_v2"
    assert {r["asked_bytes"] for r in rows(run) if r != row} == {None}


def test_refusals_are_told_once_with_an_example(emulate: Made, tmp_path: Path) -> None:
    release = emulate()
    words = [f"hidden_size={n} algo={a} {SMALL}" for n in (8, 12) for a in ("standard", "1")]
    problems = [parse_problem([*w.split(), "seq_lengths=[3,1]"]) for w in words]
    run = stage_release(release, distinct("r", problems), tmp_path / "out")
    told = run.manifest.results["refusals"]
    assert [(r["stage"], r["call"], r["status"], r["cases"]) for r in told] == [
        ("forward_inference", "cudnnRNNForward", "NOT_SUPPORTED", 2),
        ("forward_training", "cudnnRNNForward", "NOT_SUPPORTED", 2),
    ]
    example = "hidden_size=8 algo=persist_static"
    assert told[0]["example"].startswith(example)
    assert "equal length" in told[0]["reason"]


def test_a_finished_run_is_left_as_it_is(emulate: Made, tmp_path: Path) -> None:
    release = emulate()
    first = stage_release(release, sizes(8), tmp_path / "out")
    before = (first.folder / "stages.parquet").stat().st_mtime_ns
    again = stage_release(release, sizes(8), tmp_path / "out")
    assert again.manifest == first.manifest
    assert (first.folder / "stages.parquet").stat().st_mtime_ns == before


def test_what_failed_is_tried_again_under_other_circumstances(
    emulate: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = emulate(fault="crash@cudnnRNNForward:3")
    run = stage_release(release, sizes(8, 12), tmp_path / "out")
    assert outcomes(run, "forward_inference") == ["passed", "failed"]
    again = stage_release(release, sizes(8, 12), tmp_path / "out")
    assert outcomes(again, "forward_inference") == ["passed", "failed"]
    monkeypatch.setenv("PYHARNESS_SOMETHING", "else")
    (release.path.parent / "emulator.conf").write_text(
        (release.path.parent / "emulator.conf").read_text().replace("Forward:3", "Forward:99")
    )
    assert outcomes(
        stage_release(release, sizes(8, 12), tmp_path / "out"), "forward_inference"
    ) == ["passed", "passed"]


PROGRAM = """
import sys
from pathlib import Path
from pyharness.api.staging import StageOptions, distinct, stage_release
from pyharness.releases import Release
from pyharness.spec.problem import parse_problem
problems = [parse_problem(words.split()) for words in sys.argv[3:]]
run = stage_release(Release(None, None, Path(sys.argv[1]), "path"), distinct("sizes", problems),
                    Path(sys.argv[2]), StageOptions(timeout_s=30))
print(run.manifest.state)
"""


def program(release: Release, folder: Path, problems: Problems) -> list[str]:
    words = [p.command for p in problems.problems]
    return [sys.executable, "-c", PROGRAM, str(release.path), str(folder), *words]


def cases_of(folder: Path) -> list[str]:
    with suppress(FileNotFoundError):
        lines = (folder / JOURNAL).read_bytes().split(b"\n")[1:-1]
        return [json.loads(line)["case"] for line in lines]
    return []


def wait_for(cases: int, folder: Path) -> None:
    for _ in range(600):
        if len(cases_of(folder)) >= cases:
            return
        time.sleep(0.02)
    pytest.fail("the run does not get on")


def test_after_a_kill_nothing_is_measured_twice(emulate: Made, tmp_path: Path) -> None:
    release, folder = emulate(fault="slow:0.05@cudnnRNNForward:*"), tmp_path / "out"
    problems = sizes(*range(4, 16))
    with subprocess.Popen(program(release, folder, problems)) as process:
        wait_for(4, folder)
        process.send_signal(signal.SIGKILL)
    kept = cases_of(folder)
    assert 4 <= len(kept) < 12
    assert read_manifest(folder).state == "running"
    tried: list[str] = []

    class Watched(staging.CaseJournal):
        def add(self, key: str, case: Any) -> None:
            tried.append(key)
            super().add(key, case)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(staging, "CaseJournal", Watched)
        run = stage_release(release, problems, folder, StageOptions(timeout_s=30))
    assert [*kept, *tried] == [p.command for p in problems.problems]
    assert run.manifest.state == "complete"
    assert outcomes(run, "backward_weights") == ["passed"] * 12
    assert [r["hidden_size"] for r in rows(run) if r["stage"] == "sizes"] == list(range(4, 16))
    assert not (folder / JOURNAL).exists()


def test_the_worker_ends_with_a_parent_that_is_killed(emulate: Made, tmp_path: Path) -> None:
    release, folder = emulate(fault="hang@cudnnRNNForward:3"), tmp_path / "out"
    with subprocess.Popen(program(release, folder, sizes(4, 5))) as process:
        wait_for(1, folder)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert children
        process.send_signal(signal.SIGKILL)
    for child in children:
        for _ in range(100):
            if not Path(f"/proc/{child}").exists():
                break
            time.sleep(0.02)
        else:
            pytest.fail(f"the worker {child} lives on")


def test_ctrl_c_leaves_what_is_there_and_the_same_command_goes_on(
    emulate: Made, tmp_path: Path
) -> None:
    release, folder = emulate(fault="slow:0.1@cudnnRNNForward:*"), tmp_path / "out"
    problems = sizes(*range(4, 12))
    with subprocess.Popen(
        program(release, folder, problems), stdout=subprocess.PIPE, text=True
    ) as process:
        wait_for(2, folder)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=30)
    assert (said.strip(), process.returncode) == ("interrupted", 0)
    manifest = read_manifest(folder)
    assert manifest.state == "interrupted"
    done = cases_of(folder)
    assert manifest.results["cases"] == len(done) < 8
    assert manifest.results["cases_left"] == 8 - len(done)
    table = pq.read_table(folder / "stages.parquet")
    assert table.num_rows == 9 * len(done)
    run = stage_release(release, problems, folder, StageOptions(timeout_s=30))
    assert run.manifest.state == "complete"
    assert outcomes(run, "backward_weights") == ["passed"] * 8


def test_a_sweep_that_only_breaks_stops_and_keeps_what_it_saw(
    emulate: Made, tmp_path: Path
) -> None:
    release, folder = emulate(fault="abort@cudnnRNNForward"), tmp_path / "out"
    with pytest.raises(HarnessError, match="8 cases in a row broke their worker"):
        stage_release(release, sizes(*range(4, 24)), folder)
    manifest = read_manifest(folder)
    assert (manifest.state, manifest.results["cases"]) == ("stopped", 8)
    assert len(cases_of(folder)) == 8
    with pytest.raises(HarnessError, match="8 cases in a row"):
        stage_release(release, sizes(*range(4, 24)), folder)
    assert len(cases_of(folder)) == 16


def test_without_a_gpu_the_host_stages_are_as_try_has_them(
    cudnn: Cudnn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYHARNESS_LIBCUDA", "/nowhere/libcuda.so.1")
    release = cudnn(RELEASE)
    words = ["hidden_size=8", "hidden_size=0", "layout=1 seq_lengths=unsorted", "lclip=nan"]
    problems = distinct("host", [parse_problem(w.split()) for w in words])
    run = stage_release(release, problems, tmp_path / "out")
    assert "/nowhere/libcuda.so.1: cannot open shared object file" in run.no_gpu
    assert (run.manifest.state, run.manifest.device) == ("complete", {})
    assert "only host stages were tried" in run.manifest.notes[0]
    found = rows(run)
    expected = []
    for problem in problems.problems:
        results = try_calls(release, problem)
        for stage in STAGES[:3]:
            own = [r for r in results if r.stage == stage]
            bad = [r for r in own if r.status != "SUCCESS"]
            decides = bad[0] if bad else own[-1]
            expected.append((problem.command, stage, decides.call, decides.status, decides.reason))
    assert [
        (r["problem"], r["stage"], r["call"], r["status"], r["reason"]) for r in found
    ] == expected
    assert {r["provenance"] for r in found} == {"observed"}
    assert {r["device"] for r in found} == {None}
    again = stage_release(release, problems, tmp_path / "out")
    assert again.manifest == run.manifest


def test_a_device_that_is_asked_for_and_not_there_is_an_error(
    cudnn: Cudnn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYHARNESS_LIBCUDA", "/nowhere/libcuda.so.1")
    with pytest.raises(UsageError, match="there is no CUDA driver"):
        stage_release(cudnn(RELEASE), sizes(8), tmp_path / "out", StageOptions(ordinal=0))
    assert not (tmp_path / "out").exists()


def refuse(call: Callable[[], Any]) -> UsageError:
    with pytest.raises(UsageError) as caught:
        call()
    return caught.value


def test_folders_that_cannot_be_gone_on_with(emulate: Made, tmp_path: Path) -> None:
    release, folder = emulate(), tmp_path / "out"
    stage_release(release, sizes(8), folder)
    error = refuse(lambda: stage_release(release, sizes(8, 9), folder))
    assert "holds another run" in error.message
    manifest = json.loads((folder / "run.json").read_text())
    newer = {**manifest, "schema_version": SCHEMA_VERSION + 1}
    (folder / "run.json").write_text(json.dumps(newer))
    error = refuse(lambda: stage_release(release, sizes(8), folder))
    assert "written by a newer pyharness" in error.message
    (folder / "run.json").write_text(json.dumps({**manifest, "device": {"name": "Other"}}))
    error = refuse(lambda: stage_release(release, sizes(8), folder))
    assert "holds another run" in error.message
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").touch()
    error = refuse(lambda: stage_release(release, sizes(8), other))
    assert "is not empty and holds no run" in error.message


def test_a_folder_is_chosen_that_no_other_run_shares(
    emulate: Made, cudnn: Cudnn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    release = emulate(name="Card/ 1")
    one = stage_release(release, sizes(8))
    two = stage_release(release, sizes(9))
    monkeypatch.setenv("PYHARNESS_LIBCUDA", "/nowhere")
    three = stage_release(release, sizes(8))
    assert len({run.folder for run in (one, two, three)}) == 3
    assert one.folder.parts[:2] == ("results", "stages")
    assert one.folder.name.endswith("-Card-1")
    assert three.folder.name.endswith("-host")
    assert {r["provenance"] for r in rows(three)} == {"emulated"}


def test_progress_counts_what_was_done_before(emulate: Made, tmp_path: Path) -> None:
    ticks: list[tuple[str, int, int]] = []

    def progress(step: str, done: int, total: int) -> None:
        ticks.append((step, done, total))
        if done == interrupt_at:
            raise KeyboardInterrupt

    release, interrupt_at = emulate(), 2
    run = stage_release(release, sizes(4, 5, 6), tmp_path / "out", None, progress)
    assert run.manifest.state == "interrupted"
    assert ticks == [("cases", 0, 3), ("cases", 1, 3), ("cases", 2, 3)]
    ticks, interrupt_at = [], -1
    run = stage_release(release, sizes(4, 5, 6), tmp_path / "out", None, progress)
    assert run.manifest.state == "complete"
    assert ticks == [("cases", 2, 3), ("cases", 3, 3)]


def test_problems_are_taken_once() -> None:
    problems: Sequence[Any] = [parse_problem([f"hidden_size={n}"]) for n in (1, 2, 1)]
    assert [p.command for p in distinct("x", problems).problems] == [
        "hidden_size=1",
        "hidden_size=2",
    ]
    assert distinct("x", problems).fingerprint == distinct("y", problems[:2]).fingerprint
    assert distinct("x", problems).fingerprint != distinct("x", problems[:1]).fingerprint
