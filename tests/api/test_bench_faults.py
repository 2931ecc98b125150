"""Every fault planted while passes are tried or timed is in the row of its pass and call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from pyharness.api.device import open_runner
from pyharness.engine import runner as runner_module
from pyharness.engine.runner import StageFailed
from pyharness.releases import Release
from pyharness.spec.functions import FUNCTIONS
from pyharness.spec.problem import parse_problem
from pyharness.spec.stages import PASSES
from pyharness.spec.timed import TIMED_PASSES, TIMING_MODES
from tests.api import test_staging
from tests.api.bench_scene import SMALL, Row, benched, named, options, row_of
from tests.api.test_bench_emulated import violations

Made = Callable[..., Release]
emulate = test_staging.emulate  # the fixture
# Without these there is no runner, see tests/engine/test_runner.py.
OPENING = ("cudnnCreate", "cudnnDestroy", "cudnnSetStream")
DEVICE_FUNCTIONS = [f.name for f in FUNCTIONS if f.needs_gpu and f.name not in OPENING]
# A problem that makes every call.
EVERY_CALL = "algo=persist_dynamic num_layers=2 dropout_rate=0.5"
FORWARD, DATA, WEIGHTS = "cudnnRNNForward", "cudnnRNNBackwardData_v8", "cudnnRNNBackwardWeights_v8"
ONCE = [f for f in DEVICE_FUNCTIONS if f not in (FORWARD, "cudnnGetRNNWeightParams")]
FAMILIES = {
    "NOT_SUPPORTED": "unsupported",
    "BAD_PARAM": "unsupported",
    "INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED": "out_of_memory",
    "EXECUTION_FAILED": "failed",
}


@pytest.fixture
def bench_with(emulate: Made, tmp_path: Path) -> Iterator[Callable[..., list[Row]]]:
    """Rows of a bench of some equal problems on an emulator with these faults; no rule of it is
    broken, and nothing is left behind, whatever the faults do.
    """

    folders = (tmp_path / f"out{n}" for n in count())

    def run(
        *faults: str, cases: int = 2, words: str = "", chosen: Any = None, **settings: Any
    ) -> list[Row]:
        release = emulate(fault=list(faults), compute="off", l2_bytes=4096, **settings)
        problems = named(*(f"{words} seed={n}" for n in range(cases)))
        (rows,) = benched([release], problems, next(folders), chosen or options())
        return rows

    yield run
    assert violations() == []


def said(row: Row) -> tuple[Any, ...]:
    return row["outcome"], row["call"], row["status"]


def all_passed(rows: list[Row], name: int) -> bool:
    return {r["outcome"] for r in rows if r["name"] == str(name)} == {"passed"}


def test_the_functions_of_the_device_are_here() -> None:
    assert len(DEVICE_FUNCTIONS) == 9
    assert {FORWARD, DATA, WEIGHTS} < set(DEVICE_FUNCTIONS)


@pytest.mark.parametrize("function", ONCE)
def test_each_status_of_each_call_of_the_stages(
    bench_with: Callable[..., list[Row]], function: str
) -> None:
    # A case calls it once until it is accepted: the families follow one another from case to case.
    faults = [f"status:{status}@{function}:{n}" for n, status in enumerate(FAMILIES, 1)]
    rows = bench_with(*faults, cases=5, words=EVERY_CALL)
    at = {DATA: "backward_data", WEIGHTS: "backward_weights"}.get(function, "forward_inference")
    # The last family breaks the worker: a new one counts from 1, and is refused as the first was.
    for case, status in enumerate((*FAMILIES, "NOT_SUPPORTED")):
        row = row_of(rows, case, at)
        assert said(row) == (FAMILIES[status], function, status)
        assert row["reason"] == "planted fault"
        for earlier in (row_of(rows, case, name) for name in PASSES[: PASSES.index(at)]):
            if status == "EXECUTION_FAILED":  # the worker is gone before anything is timed
                assert earlier["reason"] == f"the stage {at} failed"
            else:
                assert earlier["outcome"] == "passed"


@pytest.mark.parametrize("function", [FORWARD, "cudnnGetRNNWeightParams"])
@pytest.mark.parametrize("status", FAMILIES)
def test_each_status_of_a_call_that_is_made_often(
    bench_with: Callable[..., list[Row]], function: str, status: str
) -> None:
    rows = bench_with(f"status:{status}@{function}:1")
    outcome = FAMILIES[status]
    assert said(row_of(rows, 0, "forward_inference")) == (outcome, function, status)
    # Refused inference does not stop training; nor does it the next case, in the same worker. A new
    # worker's first call fails again.
    training = {"failed": "skipped"}.get(outcome, "passed")
    assert row_of(rows, 0, "forward_training")["outcome"] == training
    assert all_passed(rows, 1) is (outcome != "failed")


# Calls of the stages before the first sample: the forward pass for inference and for training; each
# backward pass once, since the stages find the reserve space as they need it.
BEFORE = {FORWARD: 2, DATA: 1, WEIGHTS: 1}
PASS_OF = {FORWARD: "forward_inference", DATA: "backward_data", WEIGHTS: "backward_weights"}


@pytest.mark.parametrize("function", PASS_OF)
@pytest.mark.parametrize("status", FAMILIES)
def test_each_status_while_a_pass_is_timed(
    bench_with: Callable[..., list[Row]], function: str, status: str
) -> None:
    name = PASS_OF[function]
    chosen = options((name, "training_step"))
    rows = bench_with(f"status:{status}@{function}:{BEFORE[function] + 3}", chosen=chosen)
    row, outcome = row_of(rows, 0, name), FAMILIES[status]
    assert said(row) == (outcome, function, status)
    assert row["reason"] == "planted fault"
    assert row["median_s"] is None
    step = row_of(rows, 0, "training_step")
    assert step["outcome"] == ("skipped" if outcome == "failed" else "passed")
    if outcome == "failed":
        assert step["reason"] == f"{name} hot failed"
    else:
        assert all_passed(rows, 1)


DEATHS = {
    "crash": "the worker ended: SIGSEGV",
    "abort": "the worker ended: SIGABRT",
    "exit:7": "the worker ended: exit status 7",
    "hang": "the worker ended: no answer for 0.5 s",
    "sticky": "CUDA_ERROR_ILLEGAL_ADDRESS (700)",
}


@pytest.mark.parametrize("kind", DEATHS)
@pytest.mark.parametrize("when", ["stage", "timing"])
def test_a_worker_that_is_lost(
    bench_with: Callable[..., list[Row]], kind: str, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "FIRST_TIMEOUT_S", 0.5)
    nth = 1 if when == "stage" else BEFORE[DATA] + 3
    chosen = options(("forward_training", "backward_data", "training_step"), timeout_s=0.5)
    rows = bench_with(f"{kind}@{DATA}:{nth}", cases=3, chosen=chosen)
    broken = [r for r in rows if r["outcome"] == "failed" and r["pass"] == "backward_data"]
    assert [r["name"] for r in broken] == ["0", "1", "2"]  # each in a worker of its own
    for row in broken:
        assert (row["pass"], row["call"], row["status"]) == ("backward_data", DATA, None)
        assert DEATHS[kind] in row["reason"]
        forward, step = (
            row_of(rows, row["name"], p) for p in ("forward_training", "training_step")
        )
        if when == "timing":
            assert forward["outcome"] == "passed"
            assert step["reason"] == "backward_data hot failed"
        else:
            assert forward["reason"] == "the stage backward_data failed"
            assert step["reason"] == row["reason"]


@pytest.mark.parametrize("nth", [1, 2])
def test_each_allocation_that_fails(bench_with: Callable[..., list[Row]], nth: int) -> None:
    # The states of dropout come first, then the buffers.
    rows = bench_with(f"oom@cuMemAlloc_v2:{nth}", words="dropout_rate=0.5 num_layers=2")
    row = row_of(rows, 0, "forward_inference")
    assert said(row) == ("out_of_memory", "cuMemAlloc_v2", None)
    assert "bytes were asked for" in row["reason"]
    assert all_passed(rows, 1)


def test_what_does_not_fit_between_what_does(emulate: Made, tmp_path: Path) -> None:
    problems = named("hidden_size=8", "hidden_size=1024", "hidden_size=9", rest="batch_size=2")
    release = emulate(memory_bytes=4 << 20, compute="off")
    (rows,) = benched([release], problems, tmp_path / "out", options())
    assert said(row_of(rows, 1, "forward_inference")) == ("out_of_memory", "cuMemAlloc_v2", None)
    # Nothing of it is left: the next one finds room as the first did.
    assert all_passed(rows, 0)
    assert all_passed(rows, 2)
    assert violations() == []


def test_without_room_for_the_flush_only_cold_is_not_timed(emulate: Made, tmp_path: Path) -> None:
    release = emulate(memory_bytes=8 << 20, l2_bytes=16 << 20, compute="off")
    chosen = options(("forward_inference", "backward_data"), TIMING_MODES)
    (rows,) = benched([release], named("", "seed=1"), tmp_path / "out", chosen)
    for row in rows:
        if row["mode"] == "cold":
            assert said(row)[::2] == ("out_of_memory", None)
            assert f"{32 << 20:,} bytes were asked for" in row["reason"]  # twice the cache
        else:
            assert row["outcome"] == "passed"
    assert violations() == []


WRITTEN = {
    ("forward_training", FORWARD): ("y", "hy", "cy", "workspace", "reserve_space"),
    ("backward_data", DATA): ("dx", "dhx", "dcx", "workspace", "reserve_space"),
    ("backward_weights", WEIGHTS): ("dw", "workspace", "reserve_space"),
}


@pytest.mark.parametrize(("name", "function"), WRITTEN)
def test_a_byte_beside_any_buffer_is_noticed_in_any_sample(
    emulate: Made, name: str, function: str
) -> None:
    # Each way of sampling a pass once makes two calls; of a backward pass no other makes that call.
    plans = [(kind, b) for b in WRITTEN[name, function] for kind in ("overrun", "underrun")]
    first = BEFORE[function] + 1
    faults = [f"{kind}:{b}@{function}:{first + 2 * n}" for n, (kind, b) in enumerate(plans)]
    with open_runner(emulate(fault=faults, compute="off", l2_bytes=4096)) as runner:
        assert runner.stages(parse_problem(SMALL.split())).failure is None
        for kind, buffer in plans:
            with pytest.raises(StageFailed) as caught:
                runner.sample(name, "hot", 1)
            result = caught.value.result
            assert (result.stage, result.call, result.outcome) == (name, function, "failed")
            where = {"overrun": "byte 1 behind the end", "underrun": "byte 1 before the start"}[
                kind
            ]
            words = f"it wrote outside of its buffers: {buffer}: {where}"
            assert (result.reason or "").startswith(words)
        assert len(runner.sample(name, "hot", 1)) == 1  # and no more than was planted
    assert violations() == []


def test_an_overwritten_guard_band_ends_the_case_and_not_the_bench(
    bench_with: Callable[..., list[Row]],
) -> None:
    fault = f"overrun:hy@{FORWARD}:{BEFORE[FORWARD] + 3}"
    rows = bench_with(fault, chosen=options(("forward_inference", "forward_training")))
    for case in range(2):  # the second in a worker of its own, that meets it again
        row = row_of(rows, case, "forward_inference")
        assert (row["outcome"], row["call"]) == ("failed", FORWARD)
        assert "hy: byte 1 behind the end" in row["reason"]
        skipped = row_of(rows, case, "forward_training")
        assert skipped["reason"] == "forward_inference hot failed"


def test_a_pass_that_cannot_be_captured_is_no_failure(
    bench_with: Callable[..., list[Row]],
) -> None:
    chosen = options(TIMED_PASSES, TIMING_MODES)
    rows = bench_with(f"uncapturable@{DATA}:*", chosen=chosen)
    for row in rows:
        if row["mode"] == "graph" and row["pass"] in ("backward_data", "training_step"):
            assert said(row) == ("unsupported", DATA, "NOT_CAPTURABLE")
            assert row["reason"] == "this call cannot be captured"
            assert row["median_s"] is None
        else:
            assert said(row)[::2] == ("passed", "SUCCESS")
            assert row["median_s"] > 0


def test_a_plan_that_cannot_be_closed_is_a_row(bench_with: Callable[..., list[Row]]) -> None:
    function = "cudnnDestroyRNNDataDescriptor"
    for fault, status, words in (
        ("status:NOT_SUPPORTED", "NOT_SUPPORTED", "None"),
        ("crash", None, "the worker ended: SIGSEGV"),
    ):
        rows = bench_with(f"{fault}@{function}:1")
        for case in range(2):  # each in a worker of its own
            row = row_of(rows, case, "close", None)
            assert said(row) == ("failed", function, status)
            assert words in str(row["reason"])
            assert {r["outcome"] for r in rows if r is not row and r["mode"]} == {"passed"}


def test_clean_runs_report_nothing(bench_with: Callable[..., list[Row]]) -> None:
    chosen = options(TIMED_PASSES, TIMING_MODES)
    rows = bench_with(words=EVERY_CALL, chosen=chosen)
    assert {(r["outcome"], r["status"], r["reason"]) for r in rows} == {("passed", "SUCCESS", None)}
    assert {(r["throttled"], r["notes"], r["trend"]) for r in rows} == {(0, None, "too few")}
