"""Soaks on the emulator: what leaks or breaks up is found, and nothing where nothing is planted."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pyharness.api import soaking
from pyharness.api.soaking import SoakOptions, SoakRun, sized, soak_release
from pyharness.engine.runner import Runner
from pyharness.engine.soaking import Limits
from pyharness.errors import HarnessError, UsageError
from pyharness.releases import Release
from pyharness.space.problems import ProblemSet, problems_from
from pyharness.spec.soak import DEVICE_USED, HOST_USED, LARGEST
from pyharness.spec.tables import TABLES
from pyharness.store.case_journal import NAME as JOURNAL
from pyharness.store.case_journal import CaseJournal
from tests.api import test_staging

Made = Callable[..., Release]
emulate = test_staging.emulate  # the fixture
SMALL = ("hidden_size=8", "input_size=4", "batch_size=6", "max_seq_length=5")
Row = dict[str, Any]
GIB = 1 << 30


def soaked(
    release: Release, folder: Path, cycles: float, words: tuple[str, ...] = SMALL, **more: Any
) -> tuple[SoakRun, list[Row]]:
    """A soak and the rows of its table."""
    options = SoakOptions(Limits(cycles=cycles), timeout_s=20.0)
    run = soak_release(release, problems_from(None, (), words), folder, options, **more)
    return run, rows_of(folder)


def rows_of(folder: Path) -> list[Row]:
    table = pq.read_table(folder / "soak.parquet")
    assert table.column_names == [c.name for c in TABLES["soak"]]
    found: list[Row] = table.to_pylist()
    return found


def verdicts(run: SoakRun) -> tuple[str, ...]:
    results = run.manifest.results
    told = (results["trends"][name]["verdict"] for name in (DEVICE_USED, HOST_USED, LARGEST))
    return (results["verdict"], *told)


def violations() -> list[str]:
    report = Path(os.environ["PYHARNESS_EMULATOR_REPORT"])
    return report.read_text().splitlines() if report.exists() else []


def test_a_clean_run_is_steady(emulate: Made, tmp_path: Path) -> None:
    run, rows = soaked(emulate(), tmp_path / "out", 300)
    assert verdicts(run) == ("steady", "steady", "steady", "steady")
    assert violations() == []
    assert [row["cycle"] for row in rows] == list(range(301))
    assert len({row["problem"] for row in rows[1:]}) == 8
    assert {row[DEVICE_USED] for row in rows} == {0}  # everything is given back
    assert {row["device_free_bytes"] for row in rows} == {16 * GIB}
    assert {row[LARGEST] for row in rows} == {None, 16 * GIB}
    assert all(0 < row[HOST_USED] < GIB for row in rows)
    assert {(r["outcome"], r["stage"], r["provenance"]) for r in rows} == {
        ("passed", None, "emulated")
    }
    times = [row["time_s"] for row in rows]
    assert times == sorted(times)
    assert times[-1] < 40  # of a small problem a cycle takes some milliseconds
    results = run.manifest.results
    assert (results["cycles"], results["rows"], run.manifest.state) == (300, 301, "complete")
    assert not (tmp_path / "out" / JOURNAL).exists()


def test_4_kb_a_cycle_are_found_within_1000_cycles(emulate: Made, tmp_path: Path) -> None:
    # Both at once, on a device that deals in 2 MiB; each alone: tests/api/test_planted.py.
    faults = ["leak_device:4096@cudnnRNNBackwardWeights_v8:*"]
    faults += ["leak_host:4096@cudnnDestroyRNNDescriptor:*"]
    release = emulate(fault=faults, memory_bytes=GIB, memory_step_bytes=2 << 20)
    run, _ = soaked(release, tmp_path / "out", 1000)
    assert verdicts(run) == ("leak", "leak", "leak", "steady")
    device, host = (run.manifest.results["trends"][name] for name in (DEVICE_USED, HOST_USED))
    assert device["low"] <= 4096 <= device["high"]
    # The allocator, and what the process keeps of its own, come on top.
    assert 4096 <= host["slope"] <= 5000
    assert violations() == ["cuDevicePrimaryCtxRelease_v2: 1000 allocation left behind"]


def test_memory_that_breaks_up(emulate: Made, tmp_path: Path) -> None:
    release = emulate(fault="fragment:1048576@cudnnRNNBackwardWeights_v8:*", memory_bytes=4 * GIB)
    run, rows = soaked(release, tmp_path / "out", 160)
    assert verdicts(run)[0::3] == ("fragmentation", "fragmentation")
    assert "leak" not in verdicts(run)
    trend = run.manifest.results["trends"][LARGEST]
    assert trend["at_last"] < 0.1 < trend["at_first"]
    assert rows[-1]["device_free_bytes"] == 4 * GIB - (1 << 20)


def test_a_cycle_that_fails_ends_it_with_what_was_seen(emulate: Made, tmp_path: Path) -> None:
    release = emulate(fault="crash@cudnnRNNBackwardData_v8:20")
    run, rows = soaked(release, tmp_path / "out", 1000)
    assert run.manifest.state == "stopped"
    assert [row["cycle"] for row in rows] == list(range(21))
    last = rows[-1]
    assert (last["outcome"], last["stage"]) == ("failed", "backward_data")
    assert last["call"] == "cudnnRNNBackwardData_v8"
    assert last["reason"] == "the worker ended: SIGSEGV"
    assert last["problem"] in {p.problem.command for p in sized(problems_from(None, (), SMALL), 0)}
    assert (last[DEVICE_USED], last[HOST_USED]) == (None, None)
    assert rows[-2][HOST_USED] > 0
    results = run.manifest.results
    assert results["statuses"] == {"passed": 20, "failed": 1}
    assert results["failures"] == [
        {
            "call": "cudnnRNNBackwardData_v8",
            "problem": last["problem"],
            "cause": "cycle 20, backward_data: the worker ended: SIGSEGV",
            "output": "",
        }
    ]
    assert results["verdict"] == "not_told"


def test_a_leak_that_uses_all_memory_up(emulate: Made, tmp_path: Path) -> None:
    # 256 MiB at first; a plan takes 84 MB, for the most part to flush the cache.
    release = emulate(
        fault=f"leak_device:{1 << 20}@cudnnRNNBackwardWeights_v8:*", memory_bytes=256 << 20
    )
    run, rows = soaked(release, tmp_path / "out", 1000)
    assert run.manifest.state == "stopped"
    last = rows[-1]
    assert (last["outcome"], last["call"]) == ("out_of_memory", "cuMemAlloc_v2")
    assert 100 < last["cycle"] == rows[-2]["cycle"] + 1 < 256
    assert last[DEVICE_USED] == (last["cycle"] - 1) << 20
    assert last[LARGEST] < 84_000_000 < last["device_free_bytes"]  # what leaked lies between


def test_a_library_that_ends_where_it_is_asked_for_its_version(
    emulate: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(runner: Runner) -> None:
        runner.broken = True
        runner.close()

    monkeypatch.setattr(Runner, "version", die)
    run, rows = soaked(emulate(), tmp_path / "out", 5)
    assert (run.manifest.state, len(rows)) == ("complete", 6)
    assert run.manifest.release["loaded"] is None


def test_what_is_refused_is_left_out(emulate: Made, tmp_path: Path) -> None:
    both = problems_from(None, ("num_layers=1,2", "dropout_rate=0.0"), SMALL)
    refused = problems_from(None, (), (*SMALL, "proj_size=9"))
    problems = ProblemSet("two", "", (*both.problems, *refused.problems))
    options = SoakOptions(Limits(cycles=30), timeout_s=20.0)
    run = soak_release(emulate(), problems, tmp_path / "out", options)
    told = [row for row in rows_of(tmp_path / "out") if row["outcome"] != "passed"]
    assert told
    assert {(row["outcome"], row["stage"]) for row in told} == {("unsupported", "descriptor")}
    assert len({row["problem"] for row in told}) == len(told)
    assert run.manifest.state == "complete"
    only, _ = soaked(emulate(), tmp_path / "none", 30, (*SMALL, "proj_size=9"))
    assert only.manifest.results["cycles"] == 8
    assert only.manifest.notes == ["no cycle went well: nothing was soaked"]


def test_a_ctrl_c_keeps_what_was_seen(emulate: Made, tmp_path: Path) -> None:
    def interrupt(step: str, done: int, total: int) -> None:
        assert (step, total) == ("cycles", 1000)
        if done == 150:
            raise KeyboardInterrupt

    release = emulate()
    run, rows = soaked(release, tmp_path / "out", 1000, progress=interrupt)
    assert run.manifest.state == "interrupted"
    assert [row["cycle"] for row in rows] == list(range(151))
    assert verdicts(run)[1] == "steady"  # by 101 samples behind the warm-up
    assert not (tmp_path / "out" / JOURNAL).exists()
    again, same = soaked(release, tmp_path / "out", 1000)
    assert (again.old, same, again.manifest.state) == (True, rows, "interrupted")


def test_a_soak_is_not_made_twice_in_one_folder(emulate: Made, tmp_path: Path) -> None:
    release = emulate()
    first, rows = soaked(release, tmp_path / "out", 5)
    second, same = soaked(release, tmp_path / "out", 5)
    assert (first.old, second.old, rows) == (False, True, same)
    with pytest.raises(UsageError, match="holds another run"):
        soaked(release, tmp_path / "out", 6)


def test_of_a_soak_that_was_killed_the_journal_makes_the_table(
    emulate: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = emulate()

    class Killed(BaseException):
        """No exception that anybody catches: as if the process had ended."""

    def kill(step: str, done: int, total: int) -> None:
        del step, total
        if done == 25:
            raise Killed

    monkeypatch.setattr(soaking, "_BATCH", 10)
    with pytest.raises(Killed):
        soaked(release, tmp_path / "out", 1000, progress=kill)
    assert not (tmp_path / "out" / "soak.parquet").exists()
    run, rows = soaked(release, tmp_path / "out", 1000)
    assert (run.old, run.manifest.state) == (True, "interrupted")
    assert len(rows) >= 20
    assert [row["cycle"] for row in rows] == list(range(len(rows)))
    assert run.manifest.notes == ["it was killed: this is what it had written until then"]


def test_a_full_disk_is_told_and_the_table_has_what_was_seen(
    emulate: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add, written = CaseJournal.add, []

    def full(self: CaseJournal, key: str, case: Any) -> None:
        written.append(key)
        if len(written) == 2:
            raise HarnessError("the disk is full")
        add(self, key, case)

    monkeypatch.setattr(soaking, "_BATCH", 10)
    monkeypatch.setattr(CaseJournal, "add", full)
    with pytest.raises(HarnessError, match="the disk is full"):
        soaked(emulate(), tmp_path / "out", 1000)
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert (run["state"], run["notes"]) == ("stopped", ["the disk is full"])
    assert len(rows_of(tmp_path / "out")) == run["results"]["rows"] >= 10


def test_few_problems_get_smaller_ones_beside_them() -> None:
    one = problems_from(None, (), SMALL)
    made = sized(one, 0)
    assert made[0] == one.problems[0]
    assert len({p.problem.command for p in made}) == len({p.name for p in made}) == 8
    for each in made:
        assert 1 <= each.problem.value("batch_size") <= 6
        assert 1 <= each.problem.value("max_seq_length") <= 5
        assert each.problem.value("hidden_size") == 8
        assert each.passes == one.problems[0].passes
    assert sized(one, 0) == made != sized(one, 1)
    many = problems_from(None, ("hidden_size=1..9",), SMALL[1:])
    assert sized(many, 0) == many.problems
    lengths = problems_from(None, (), ("seq_lengths=[3,2]", "hidden_size=8"))
    assert sized(lengths, 0) == lengths.problems
    least = problems_from(None, (), ("batch_size=1", "max_seq_length=2"))
    assert len(sized(least, 0)) == 2  # of 2 steps and of 1
