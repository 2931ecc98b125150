"""Two releases timed in turn on the emulator: what was set is what is found, whatever fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import pyharness
from pyharness.analyze.time_change import LEAST_BLOCKS, Reason, TimeChange, alternate
from pyharness.api.bench_records import Side
from pyharness.api.progress import Progress, silent
from pyharness.api.time_change import TimeOptions, TimeRun, compare_time
from pyharness.api.time_records import EVENT_STEP_S, Case, change_row, step_of
from pyharness.engine.alternating import Seen
from pyharness.errors import UsageError
from pyharness.measure.stopping import StoppingRule
from pyharness.releases import Release
from pyharness.space.problems import NamedProblem
from pyharness.spec.problem import Problem, parse_problem
from pyharness.spec.stage_results import StageResult
from pyharness.store.case_journal import NAME as JOURNAL
from tests.api import test_staging
from tests.api.bench_scene import SMALL, Row, named, row_of
from tests.api.test_bench_emulated import violations

Made = Callable[..., Release]
emulate = test_staging.emulate  # the fixture
COSTS = {
    "forward_inference": 20_000,
    "forward_training": 30_000,
    "backward_data": 50_000,
    "backward_weights": 80_000,
}
QUIET: dict[str, object] = {
    "compute": "off",
    "l2_bytes": 4096,
    "noise": 0.01,
    "process_noise": 0.003,
    **{f"cost_ns.{name}": ns for name, ns in COSTS.items()},
}
RULE = StoppingRule(12, 0.0, 1.0, 60.0)
ORDER = alternate(6)


def options(**more: Any) -> TimeOptions:
    """Options for a short run: three blocks, the fewest, and nothing is warmed up."""
    chosen: dict[str, Any] = {"processes": 6, "rule": RULE, "warm_s": 0.0, "timeout_s": 20.0}
    return TimeOptions(**{**chosen, **more})


def readings(run: TimeRun) -> list[Row]:
    found: list[Row] = pq.read_table(run.folder / "time_readings.parquet").to_pylist()
    return found


def test_a_slower_pass_is_found_and_the_others_are_the_same(emulate: Made, tmp_path: Path) -> None:
    slower = {**QUIET, "cost_ns.backward_data": 51_500, "cost_ns.backward_weights": 76_000}
    pair = emulate(**QUIET), emulate(**slower)
    run = compare_time(pair, named(""), tmp_path / "out", options())
    said = {name: row_of(run.rows, 0, name) for name in COSTS}
    assert {name: row["verdict"] for name, row in said.items()} == {
        "forward_inference": "same",
        "forward_training": "same",
        "backward_data": "slower",
        "backward_weights": "faster",
    }
    # Six pairs, each off by 0.3 % * sqrt(2) and a little of the samples: 0.2 % for their mean.
    for name, ratio in (("backward_data", 1.03), ("backward_weights", 0.95)):
        assert said[name]["ratio"] == pytest.approx(ratio, abs=0.008)
        assert said[name]["median_a_s"] == pytest.approx(COSTS[name] * 1e-9, rel=0.01)
    assert all(row["pairs"] == 6 and row["ratio_low"] < row["ratio_high"] for row in run.rows)
    assert {row["provenance"] for row in run.rows} == {"emulated"}
    assert run.manifest.results["verdicts"] == {"same": 2, "slower": 1, "faster": 1}
    assert (run.manifest.kind, run.manifest.state) == ("time", "complete")
    # Each process said something of each pass, in its place: the new release in those of b.
    for name in COSTS:
        own = [row for row in readings(run) if row["pass"] == name]
        assert [row["order"] for row in own] == list(range(12))
        assert tuple(row["side"] for row in own) == ORDER
        assert len({row["median_s"] for row in own}) == 12
        assert all(row["samples"] >= 12 for row in own)
    assert not (run.folder / JOURNAL).exists()
    assert violations() == []


def test_noise_is_no_finding(emulate: Made, tmp_path: Path) -> None:
    noisy = {**QUIET, "process_noise": 0.1}
    pair = emulate(**noisy), emulate(**noisy)
    chosen = options(passes=("forward_inference",))
    (row,) = compare_time(pair, named(""), tmp_path / "out", chosen).rows
    assert (row["verdict"], row["reason"]) == ("inconclusive", "noise")
    # 10 % for a process: 14 % for a pair, 6 % for six, and four of these to be seen.
    assert row["visible"] > 0.1


def test_what_a_side_refuses_is_told_and_not_asked_again(emulate: Made, tmp_path: Path) -> None:
    fault = "status:NOT_SUPPORTED@cudnnRNNBackwardData_v8:*"
    pair = emulate(**QUIET), emulate(**QUIET, fault=fault)
    chosen = options(passes=("forward_inference", "backward_data", "backward_weights"))
    scene = named("", "seed=1")
    other = replace(scene.problems[1], passes=("forward_training",))
    scene = replace(scene, problems=(scene.problems[0], other))
    run = compare_time(pair, scene, tmp_path / "out", chosen)
    assert run.manifest.notes[-1] == "1 problem without any of these passes is left out"
    assert {row["name"] for row in run.rows} == {"0"}
    assert run.manifest.results["problems"] == 1  # no process was bothered with the other
    row = row_of(run.rows, 0, "backward_data")
    assert (row["verdict"], row["outcome_a"], row["outcome_b"], row["status_b"]) == (
        "not_compared",
        "passed",
        "unsupported",
        "NOT_SUPPORTED",
    )
    assert row["reason"] == (
        "newer side unsupported: cudnnRNNBackwardData_v8: NOT_SUPPORTED: planted fault"
    )
    assert row_of(run.rows, 0, "backward_weights")["verdict"] == "not_compared"  # it needs it
    assert row_of(run.rows, 0, "forward_inference")["verdict"] == "same"
    asked = [row["order"] for row in readings(run) if row["pass"] == "backward_data"]
    assert asked == [0, 1]


class Planted:
    """Does something as a process begins, by its place; a progress callback for one problem.

    ``first``  place of the first process.
    """

    def __init__(self, *deeds: tuple[int, Callable[[], object]], first: int = 0) -> None:
        self._deeds, self._ended = dict(deeds), first

    def __call__(self, step: str, done: int, total: int) -> None:
        del step, total
        if done == self._ended:
            self._deeds.pop(done, lambda: None)()
        else:
            self._ended = done


def test_a_crash_in_one_process_costs_a_block(emulate: Made, tmp_path: Path) -> None:
    a, b = emulate(**QUIET), emulate(**QUIET)
    conf = b.path.with_name("emulator.conf")
    well = conf.read_text()
    planted = Planted(
        (1, lambda: conf.write_text(f"{well}fault=crash@cudnnRNNForward:1\n")),
        (2, lambda: conf.write_text(well)),
    )
    chosen = options(passes=("forward_inference",), processes=8)
    run = compare_time((a, b), named(""), tmp_path / "out", chosen, progress=planted)
    (row,) = run.rows
    assert (row["verdict"], row["pairs"], row["processes_b"]) == ("same", 6, 7)
    assert row["outcome_b"] == "failed"
    assert run.manifest.results["failed"] == 1
    (failed,) = [row for row in readings(run) if row["outcome"] == "failed"]
    assert failed["order"] == 1
    assert "SIGSEGV" in failed["reason"]


class Killed(BaseException):
    """Ends a run as a kill does: nothing of it is told."""


def test_a_run_that_was_killed_or_stopped_goes_on(emulate: Made, tmp_path: Path) -> None:
    pair, out = (emulate(**QUIET), emulate(**QUIET)), tmp_path / "out"
    chosen = options(passes=("forward_inference",))

    def ends(error: type[BaseException]) -> Callable[[], None]:
        def end() -> None:
            raise error

        return end

    def go(planted: Progress, resume: bool) -> TimeRun:
        return compare_time(pair, named(""), out, chosen, resume=resume, progress=planted)

    with pytest.raises(Killed):
        go(Planted((5, ends(Killed))), False)
    kept = (out / JOURNAL).read_bytes()
    assert len(kept.splitlines()) == 1 + 5
    with pytest.raises(UsageError, match="holds a run that is not finished"):
        go(silent, False)
    run = go(Planted((10, ends(KeyboardInterrupt)), first=4), True)
    assert (run.manifest.state, run.manifest.results["processes"]) == ("interrupted", 10)
    assert (run.rows[0]["verdict"], run.rows[0]["reason"]) == ("inconclusive", "few")
    early = readings(run)
    assert (out / JOURNAL).read_bytes().startswith(kept)
    run = go(silent, True)
    assert (run.manifest.state, run.rows[0]["verdict"]) == ("complete", "same")
    # A block that was cut off is timed anew: what was neighbours is none after a night.
    lines = [json.loads(line) for line in kept.splitlines()[1:]]
    medians = [line["result"]["problems"]["0"]["cases"][0]["median_s"] for line in lines]
    assert [row["median_s"] for row in early[:4]] == medians[:4]
    assert early[4]["median_s"] != medians[4]
    assert readings(run)[:8] == early[:8]
    assert not {r["median_s"] for r in readings(run)} & {r["median_s"] for r in early[8:]}
    assert [row["order"] for row in readings(run)] == list(range(12))
    with pytest.raises(UsageError, match=r"holds another comparison: --margin 0\.02, here 0.03"):
        compare_time(pair, named(""), out, replace(chosen, margin=0.03), resume=True)
    with pytest.raises(UsageError, match=r"another comparison: newer release .*, here "):
        compare_time((pair[0], pair[0]), named(""), out, chosen, resume=True)
    again = go(silent, False)
    assert again.old
    assert again.rows == run.rows


def test_what_the_budget_has_no_room_for_is_told(emulate: Made, tmp_path: Path) -> None:
    pair, out = (emulate(**QUIET), emulate(**QUIET)), tmp_path / "out"

    def go(budget_s: float, resume: bool = True, progress: Progress = silent) -> TimeRun:
        chosen = options(passes=("forward_inference",), processes=8, budget_s=budget_s)
        problems = named("seed=0", "seed=1", "seed=2")
        return compare_time(pair, problems, out, chosen, resume=resume, progress=progress)

    def interrupt() -> None:
        raise KeyboardInterrupt

    assert go(0.001, False, Planted((4, interrupt))).manifest.state == "interrupted"
    run = go(0.01)  # more, and too late for what was cut
    assert [(row["verdict"], row["reason"]) for row in run.rows] == [
        ("same", None),
        ("not_timed", "budget"),
        ("not_timed", "budget"),
    ]
    results = run.manifest.results
    assert run.manifest.state == "out_of_time"
    assert results["processes"] == 4 * LEAST_BLOCKS < results["processes_planned"]
    assert (results["problems_not_timed"], results["budget_s"]) == (2, 0.001)
    for kept in (go(0.00149), go(600.0, False)):  # hardly more; not asked to
        assert (kept.old, kept.rows) == (True, run.rows)
    anew = go(600.0)
    assert (anew.old, anew.manifest.state) == (False, "complete")
    assert [row["verdict"] for row in anew.rows] == ["same"] * 3
    assert [row["order"] for row in readings(anew)] == [*range(16)] * 3
    assert go(6000.0).old


def test_the_python_api_gives_the_table(emulate: Made, tmp_path: Path) -> None:
    refusing = {**QUIET, "fault": "status:NOT_SUPPORTED@cudnnRNNForward:*"}
    a, b = emulate(**refusing), emulate(**refusing)
    frame = pyharness.time_change(
        str(a.path), str(b.path), SMALL.split(), processes=6, passes="forward_inference",
        out=tmp_path / "out",
    )  # fmt: skip
    assert frame.verdict.tolist() == ["not_compared"]
    assert json.loads((tmp_path / "out" / "run.json").read_text())["results"]["processes"] == 2
    with pytest.raises(UsageError, match="7 processes a side"):
        pyharness.time_change(str(a.path), str(b.path), SMALL.split(), processes=7)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"processes": 7}, "7 processes a side"),
        ({"margin": 0.0}, "a margin of 0.0"),
        ({"level": 0.7}, "a level of 0.7"),
        ({"budget_s": 0.0}, "a budget of 0.0 s"),
    ],
)
def test_options_that_are_none(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        options(**wrong)


@pytest.mark.parametrize(
    ("reason", "within", "verdict"),
    [("few", False, "not_timed"), ("few", True, "inconclusive"), (None, False, "same")],
)
def test_what_a_smaller_budget_cut_later_on_is_told_by_the_blocks_before(
    reason: Reason | None, within: bool, verdict: str
) -> None:
    result = StageResult("backward_data", "call", "SUCCESS", 0, "passed", None, "emulated")
    seen = {place: Seen("backward_data", "hot", result, 1e-5, 30) for place in range(12)}
    case = Case(NamedProblem("0", "", parse_problem([]), ()), "backward_data", "hot", seen)
    change = TimeChange("same" if reason is None else "inconclusive", reason, 6)
    row = change_row((Side("1", "GPU"), Side("2", "GPU")), case, change, ORDER, within)
    assert (row["verdict"], row["reason"]) == (
        verdict,
        "budget" if verdict == "not_timed" else reason,
    )


# None: all samples of a process are one reading, which hides the timer's step.
@pytest.mark.parametrize(
    ("steps", "mode", "expected"),
    [
        ([None, None], "hot", EVENT_STEP_S),
        ([None, None], "enqueue", 0.0),
        ([None, 3.2e-8, 6.4e-8], "hot", 6.4e-8),
        ([None, 0.0], "hot", 0.0),
    ],
)
def test_the_timers_step(steps: list[float | None], mode: str, expected: float) -> None:
    result = StageResult("backward_data", "call", "SUCCESS", 0, "passed", None, "observed")
    seen = {
        place: Seen("backward_data", mode, result, 1e-5, 30, step_s=step)
        for place, step in enumerate(steps)
    }
    case = Case(NamedProblem("0", "", Problem({}), ()), "backward_data", mode, seen)
    assert step_of(case, EVENT_STEP_S) == expected
