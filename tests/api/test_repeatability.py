"""Results repeated on the emulator: what was planted is found, where it was, and nothing else."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pyharness.api.repeatability import (
    RepeatOptions,
    RepeatRun,
    conditions_of,
    repeat_release,
)
from pyharness.engine import repeating
from pyharness.engine.repeats import NotTried
from pyharness.errors import UsageError
from pyharness.releases import Release
from pyharness.space.problems import problems_from
from pyharness.spec.columns import SCHEMA_VERSION
from pyharness.spec.repeatability import CONDITIONS
from pyharness.spec.tables import TABLES
from pyharness.store.case_journal import NAME as JOURNAL
from tests.api import test_staging

Made = Callable[..., Release]
emulate = test_staging.emulate  # the fixture
SMALL = ("hidden_size=8", "input_size=4", "batch_size=3", "max_seq_length=4")
RAGGED = (*SMALL, "seq_lengths=[4,3,2]", "cell_mode=lstm", "aux_flags=padded_io_enabled")
TENSORS = ["y", "hy", "cy", "dx", "dhx", "dcx", "dw"]
DROPOUT = ("dropout_reseeded", "dropout_continued")
Row = dict[str, Any]


def repeated(
    release: Release,
    folder: Path,
    words: tuple[str, ...],
    axes: tuple[str, ...] = (),
    **options: Any,
) -> tuple[RepeatRun, list[Row]]:
    """A run and the rows of its table."""
    chosen = RepeatOptions(**{"runs": 3, "timeout_s": 20.0, **options})
    run = repeat_release(release, problems_from(None, axes, words), folder, chosen)
    table = pq.read_table(folder / "repeatability.parquet")
    assert table.column_names == [c.name for c in TABLES["repeatability"]]
    return run, table.to_pylist()


def of(rows: list[Row], verdict: str) -> set[tuple[str, str | None]]:
    """Condition and tensor of the rows with a verdict."""
    return {(r["condition"], r["buffer"]) for r in rows if r["verdict"] == verdict}


def test_a_clean_problem_repeats_under_every_condition(emulate: Made, tmp_path: Path) -> None:
    run, rows = repeated(emulate(), tmp_path / "out", RAGGED)
    tried = [c for c in CONDITIONS if c not in DROPOUT]
    expected = {(c, t) for c in tried for t in TENSORS} - {("batch", "dw")}
    assert of(rows, "repeatable") == expected
    assert of(rows, "not_repeatable") == set()
    assert of(rows, "not_tried") == {("batch", "dw"), *((c, None) for c in DROPOUT)}
    assert not Path(os.environ["PYHARNESS_EMULATOR_REPORT"]).exists(), "a rule was broken"
    runs = {r["condition"]: r["runs"] for r in rows if r["verdict"] == "repeatable"}
    longer = {"alignment": 15, "poisoned": 5, "cublas_workspace": 9}
    longer |= {"longer_padding": 6, "batch": 6}
    assert runs == {c: longer.get(c, 3) for c in tried}
    processes = {r["condition"]: r["processes"] for r in rows if r["verdict"] == "repeatable"}
    apart = {"fresh_process": 3, "cublas_workspace": 6}
    assert processes == {c: apart.get(c, 1) for c in tried}
    for row in rows:
        if row["verdict"] == "repeatable":
            assert row["distinct"] == 1
            assert row["failure_rate_bound"] == pytest.approx(1 - 0.05 ** (1 / row["runs"]))
        shared = (row["release"], row["algo"], row["provenance"])
        assert (row["differing"], row["nan"]) == ((0, None) if row["runs"] else (None, None))
        moved = row["condition"] in ("longer_padding", "batch")
        moved |= row["condition"] == "padding_garbage" and row["buffer"] in ("y", "dx")
        where = "host: parts of a tensor" if moved else "host: the device is emulated"
        where = "host: results of two processes" if row["condition"] in apart else where
        assert row["compared_on"] == (where if row["runs"] else None)
        assert shared == ("9.28.0", "standard", "emulated")
    assert run.manifest.results["verdicts"] == {"repeatable": len(expected), "not_tried": 3}
    assert run.manifest.results["statuses"] == {"passed": len(expected), "skipped": 3}
    assert run.manifest.results["compared_on"] == ["host: the device is emulated"]
    assert run.manifest.state == "complete"
    assert run.manifest.schema_version == SCHEMA_VERSION
    assert not (tmp_path / "out" / JOURNAL).exists()


def test_batches_in_every_layout_type_and_direction(emulate: Made, tmp_path: Path) -> None:
    words = (*RAGGED, "direction_mode=bidirectional", "num_layers=2", "proj_size=5")
    axes = ("layout=all", "data_type=half,double", "math_prec=data_type")
    chosen = ("padding_garbage", "longer_padding", "batch")
    _, rows = repeated(emulate(), tmp_path / "out", words, axes, conditions=chosen)
    tried = {(r["layout"], r["data_type"], r["condition"], r["verdict"]) for r in rows}
    for layout in ("seq_major_unpacked", "batch_major_unpacked"):
        for data_type in ("half", "double"):
            for condition in chosen:
                assert (layout, data_type, condition, "repeatable") in tried
    assert ("seq_major_packed", "half", "batch", "repeatable") in tried
    assert of(rows, "not_repeatable") == set()


def test_a_packed_batch_and_one_sequence(emulate: Made, tmp_path: Path) -> None:
    words = (*SMALL, "layout=seq_major_packed", "num_layers=2", "dropout_rate=0.5")
    chosen = ("padding_garbage", "longer_padding", "batch", *DROPOUT)
    _, rows = repeated(emulate(), tmp_path / "a", words, conditions=chosen)
    reasons = {r["condition"]: r["reason"] for r in rows if r["verdict"] == "not_tried"}
    assert reasons["padding_garbage"].startswith("x has no padding")
    assert reasons["longer_padding"] == "a packed layout has no padding"
    assert reasons["batch"].startswith("what is dropped depends")
    words = ("hidden_size=8", "input_size=4", "batch_size=1", "max_seq_length=4")
    _, rows = repeated(emulate(), tmp_path / "b", words, conditions=("batch",))
    assert {r["reason"] for r in rows if r["buffer"] is None} == {"there is one sequence only"}


@pytest.mark.parametrize("more", [(), ("num_layers=2", "dropout=null")])
def test_a_rate_that_drops_nothing_keeps_no_condition_away(
    emulate: Made, tmp_path: Path, more: tuple[str, ...]
) -> None:
    words = (*SMALL, "dropout_rate=0.5", *more)
    chosen = ("longer_padding", "batch", *DROPOUT)
    _, rows = repeated(emulate(), tmp_path / "out", words, conditions=chosen)
    assert {c for c, _ in of(rows, "repeatable")} == {"longer_padding", "batch"}
    reasons = {r["reason"] for r in rows if r["condition"] in DROPOUT}
    assert {reason[:18] for reason in reasons} == {"nothing is dropped"}


def test_a_flipped_bit_is_found_in_its_run_and_tensor_alone(emulate: Made, tmp_path: Path) -> None:
    # The first run is the first forward pass of a process: the seventh is run 6 of the first
    # condition. It is in each process of cublas_workspace, too, whatever the setting.
    release = emulate(fault="flip:y@cudnnRNNForward:7")
    chosen = ("same_objects", "other_stream", "graph", "cublas_workspace")
    _, rows = repeated(release, tmp_path / "out", RAGGED, runs=16, conditions=chosen)
    assert of(rows, "not_repeatable") == {("same_objects", "y")}
    (row,) = [r for r in rows if (r["condition"], r["buffer"]) == ("same_objects", "y")]
    assert (row["first_run"], row["runs"], row["distinct"]) == (6, 16, 2)
    assert row["first_element"] == 0
    assert row["share"] == pytest.approx(1 / (4 * 3 * 8))
    assert row["most_ulps"] > 0
    assert row["failure_rate_bound"] is None
    (row,) = [r for r in rows if (r["condition"], r["buffer"]) == ("cublas_workspace", "y")]
    assert (row["verdict"], row["runs"], row["processes"]) == ("not_tried", 0, None)
    assert row["reason"] == (
        "runs of one setting differ, in a process or between two (unset, :16:8, :4096:2): "
        "see fresh_process and same_objects"
    )


@pytest.mark.parametrize(
    ("condition", "call", "layout", "run", "variant", "element"),
    [
        ("fresh_handle", 3, "seq_major_unpacked", 2, None, 0),
        ("other_stream", 3, "seq_major_unpacked", 2, None, 0),
        ("alignment", 3, "seq_major_unpacked", 2, "buffers 32 bytes behind a multiple of 256", 0),
        ("poisoned", 3, "seq_major_unpacked", 2, "filled with 0xFF", 0),
        ("fresh_process", 1, "seq_major_unpacked", None, None, None),  # the first run has it, too
        ("padding_garbage", 2, "seq_major_unpacked", 1, None, 0),
        ("longer_padding", 4, "seq_major_unpacked", 3, "max_seq_length=7", 0),
        # The first element is that of the last sequence, which is 2 * 8 numbers on, or 2 * 4 * 8.
        ("batch", 3, "seq_major_unpacked", 2, "the other way round", 16),
        ("batch", 3, "batch_major_unpacked", 2, "the other way round", 64),
        ("batch", 4, "seq_major_packed", 3, "sequence 2 alone", 16),
    ],
)
def test_each_condition_looks_at_its_own_runs(
    emulate: Made,
    tmp_path: Path,
    condition: str,
    call: int,
    layout: str,
    run: int | None,
    variant: str | None,
    element: int | None,
) -> None:
    release = emulate(fault=f"flip:y@cudnnRNNForward:{call}")
    words = (*RAGGED, f"layout={layout}")
    runs = 3 if layout == "seq_major_packed" else 2  # there is no other order of a packed batch
    _, rows = repeated(release, tmp_path / "out", words, conditions=(condition,), runs=runs)
    if run is None:
        assert of(rows, "not_repeatable") == set()
        return
    assert of(rows, "not_repeatable") == {(condition, "y")}
    (row,) = [r for r in rows if r["verdict"] == "not_repeatable"]
    assert (row["first_run"], row["variant"], row["first_element"]) == (run, variant, element)
    assert row["distinct"] == 2


def test_another_tensor_than_y(emulate: Made, tmp_path: Path) -> None:
    release = emulate(fault="flip:dw@cudnnRNNBackwardWeights_v8:3")
    _, rows = repeated(release, tmp_path / "out", SMALL, conditions=("same_objects", "poisoned"))
    assert of(rows, "not_repeatable") == {("same_objects", "dw")}
    (row,) = [r for r in rows if r["verdict"] == "not_repeatable"]
    assert row["first_run"] == 2


def test_states_of_dropout_that_go_on_differ_under_that_condition_alone(
    emulate: Made, tmp_path: Path
) -> None:
    words = (*SMALL, "num_layers=2", "dropout_rate=0.5")
    _, rows = repeated(emulate(), tmp_path / "out", words)
    differing = of(rows, "not_repeatable")
    assert {c for c, _ in differing} == {"dropout_continued"}
    assert ("dropout_continued", "y") in differing
    assert {c for c, _ in of(rows, "repeatable")} == set(CONDITIONS) - {
        *("dropout_continued", "padding_garbage", "longer_padding", "batch")
    }
    (row,) = [r for r in rows if (r["condition"], r["buffer"]) == ("dropout_continued", "y")]
    assert (row["first_run"], row["distinct"]) == (1, 4)


@pytest.mark.parametrize(
    ("condition", "held"),
    # First runs of y and dx, x and dy as they were, and the one that is made or read now.
    [("same_objects", 0), ("padding_garbage", 9)],
)
def test_no_run_is_kept_but_the_first_and_the_current(
    emulate: Made, tmp_path: Path, condition: str, held: int
) -> None:
    release = emulate(compute="off", fault="flip:y@cudnnRNNForward:2+")
    words = ("hidden_size=256", "input_size=256", "batch_size=64", "max_seq_length=64")
    words = (*words, "seq_lengths=unsorted", "aux_flags=padded_io_enabled")
    y_bytes = 256 * 64 * 64 * 4
    peaks = []
    for runs in (2, 20):
        tracemalloc.start()
        folder = tmp_path / str(runs)
        _, rows = repeated(release, folder, words, conditions=(condition,), runs=runs)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert (condition, "y") in of(rows, "not_repeatable")
    assert max(peaks) < (held + 0.9) * y_bytes
    assert peaks[1] < peaks[0] + 0.5 * y_bytes


def test_a_crash_ends_its_condition_alone(emulate: Made, tmp_path: Path) -> None:
    # The fourth forward pass of each process: run 3 of a condition that began with a process.
    release = emulate(fault="crash@cudnnRNNForward:4")
    chosen = ("same_objects", "poisoned", "graph", "batch")
    axes = ("cell_mode=lstm,gru",)
    run, rows = repeated(release, tmp_path / "out", SMALL, axes, conditions=chosen)
    assert {r["cell_mode"] for r in rows} == {"lstm", "gru"}
    for row in rows:
        assert row["verdict"] == "not_tried"
        if row["condition"] == "batch" and row["buffer"] == "dw":
            assert row["outcome"] == "skipped"
        elif row["condition"] in ("same_objects", "poisoned"):
            # Of another condition than same_objects the run to compare with is made twice.
            runs = 2 if row["condition"] == "same_objects" else 1
            assert (row["runs"], row["processes"], row["outcome"]) == (runs, 1, "failed")
            assert "SIGSEGV" in row["reason"]
    assert len(run.manifest.results["failures"]) == 6
    assert run.manifest.results["statuses"]["failed"] == 2 * (7 + 5 + 1)
    last = {r["reason"] for r in rows if r["condition"] == "batch" and r["buffer"] is None}
    assert last == {"too many processes have ended under the conditions before"}


def test_a_refused_problem_has_its_reason(emulate: Made, tmp_path: Path) -> None:
    release = emulate(fault="status:NOT_SUPPORTED@cudnnGetRNNTempSpaceSizes:*")
    run, rows = repeated(release, tmp_path / "out", SMALL, conditions=("graph", "batch"))
    assert [r["buffer"] for r in rows] == [None, None]
    assert all("NOT_SUPPORTED" in r["reason"] for r in rows)
    assert "failed" not in run.manifest.results["statuses"]


def test_without_a_graph_it_is_not_tried(emulate: Made, tmp_path: Path) -> None:
    release = emulate(fault="uncapturable@cudnnRNNBackwardData_v8:*")
    _, rows = repeated(release, tmp_path / "out", SMALL, conditions=("same_objects", "graph"))
    assert {c for c, _ in of(rows, "repeatable")} == {"same_objects"}
    (row,) = [r for r in rows if r["condition"] == "graph"]
    assert row["reason"].startswith("there is no graph of backward_data")


def test_a_run_that_was_interrupted_goes_on(emulate: Made, tmp_path: Path) -> None:
    release, folder = emulate(), tmp_path / "out"
    problems = problems_from(None, ("hidden_size=4,8,12",), SMALL[1:])
    options = RepeatOptions(2, ("same_objects",))
    done: list[int] = []

    def interrupt(step: str, count: int, total: int) -> None:
        assert (step, total) == ("cases", 3)
        done.append(count)
        if count == 2 and len(done) == 3:
            raise KeyboardInterrupt

    run = repeat_release(release, problems, folder, options, interrupt)
    assert run.manifest.state == "interrupted"
    assert (run.manifest.results["cases"], run.manifest.results["cases_left"]) == (2, 1)
    with pytest.raises(UsageError, match="holds another run"):
        repeat_release(release, problems, folder, RepeatOptions(3, ("same_objects",)))
    run = repeat_release(release, problems, folder, options, interrupt)
    assert (run.manifest.state, run.old) == ("complete", False)
    assert done == [0, 1, 2, 2, 3]
    assert run.manifest.results["cases"] == 3
    assert repeat_release(release, problems, folder, options).old


def test_a_condition_that_ended_is_not_run_again(emulate: Made, tmp_path: Path) -> None:
    # The second pass has a flip: of same_objects, which the interrupt comes after.
    release, folder = emulate(fault="flip:y@cudnnRNNForward:2"), tmp_path / "out"
    problems = problems_from(None, (), SMALL)
    chosen = ("same_objects", "other_stream", "poisoned", "graph")
    options = RepeatOptions(3, chosen)
    whole = repeat_release(release, problems, tmp_path / "whole", options)
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(repeating._MADE, "poisoned", interrupting)
        run = repeat_release(release, problems, folder, options)
    assert (run.manifest.state, run.manifest.results["cases"]) == ("interrupted", 0)
    made = []

    def counting(s: Any, condition: str) -> Any:
        made.append(condition)
        yield from made_by[condition](s, condition)

    made_by = dict(repeating._MADE)
    with pytest.MonkeyPatch.context() as patched:
        for condition in chosen:
            patched.setitem(repeating._MADE, condition, counting)
        run = repeat_release(release, problems, folder, options)
    assert made == ["poisoned", "graph"]
    assert run.manifest.state == "complete"
    tables = [pq.read_table(f / "repeatability.parquet") for f in (whole.folder, folder)]
    found = {(r["condition"], r["buffer"]) for r in tables[1].to_pylist() if r["differing"]}
    # Another process has its second pass in the run that poisoned begins with, which is made
    # twice: it is told under same_objects, where one more differs than in the run in one go.
    assert found == {("same_objects", "y")}
    rows = [
        [r for r in t.to_pylist() if (r["condition"], r["buffer"]) not in found] for t in tables
    ]
    assert rows[0] == rows[1]
    both = [{r["buffer"]: r for r in t.to_pylist()[:7]}["y"] for t in tables]
    assert [(r["runs"], r["differing"], r["distinct"]) for r in both] == [(3, 1, 2), (4, 2, 2)]


def ending(s: Any, condition: str) -> Any:
    """A defect."""
    yield NotTried(condition, "it crashed", failed=True)


@pytest.mark.parametrize(
    ("timeout_s", "expected"), [(20.0, ["poisoned"]), (21.0, ["same_objects", "poisoned"])]
)
def test_a_condition_that_a_defect_ended_is_tried_again_under_another_limit(
    emulate: Made, tmp_path: Path, timeout_s: float, expected: list[str]
) -> None:
    release, folder, problems = emulate(), tmp_path / "out", problems_from(None, (), SMALL)
    chosen = ("same_objects", "other_stream", "poisoned")
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(repeating._MADE, "same_objects", ending)
        patched.setitem(repeating._MADE, "poisoned", interrupting)
        repeat_release(release, problems, folder, RepeatOptions(1, chosen, timeout_s=20.0))
    made, made_by = [], dict(repeating._MADE)

    def counting(s: Any, condition: str) -> Any:
        made.append(condition)
        yield from made_by[condition](s, condition)

    with pytest.MonkeyPatch.context() as patched:
        for condition in chosen:
            patched.setitem(repeating._MADE, condition, counting)
        again = RepeatOptions(1, chosen, timeout_s=timeout_s)
        run = repeat_release(release, problems, folder, again)
    assert made == expected
    assert ("failed" in run.manifest.results["statuses"]) == ("same_objects" not in expected)


def interrupting(s: Any, condition: str) -> Any:
    """A Ctrl-C in a condition."""
    raise KeyboardInterrupt
    yield


def test_another_card_of_the_same_name_is_another_run(emulate: Made, tmp_path: Path) -> None:
    problems, release = problems_from(None, (), SMALL), emulate(devices=2)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(tmp_path)
        options = [RepeatOptions(1, ("same_objects",), ordinal=n) for n in (0, 1)]
        runs = [repeat_release(release, problems, None, one) for one in options]
        assert [(run.old, run.manifest.device["ordinal"]) for run in runs] == [
            (False, 0),
            (False, 1),
        ]
        assert repeat_release(release, problems, None, options[1]).old
    assert runs[0].folder != runs[1].folder


def test_inference_is_repeated_where_nothing_trains(emulate: Made, tmp_path: Path) -> None:
    problems = problems_from(
        "deepbench/device-lstm-*", ("hidden_size=8", "input_size=8", "max_seq_length=2"), ()
    )
    assert all(p.passes == ("forward_inference",) for p in problems.problems)
    one = type(problems)(problems.name, "", problems.problems[:1])
    repeat_release(emulate(), one, tmp_path / "out", RepeatOptions(2, ("same_objects",)))
    rows = pq.read_table(tmp_path / "out" / "repeatability.parquet").to_pylist()
    assert {r["buffer"] for r in rows} <= {"y", "hy", "cy"}
    assert of(rows, "repeatable") >= {("same_objects", "y"), ("same_objects", "hy")}


@pytest.mark.parametrize("runs", [-1, 0, 100_001])
def test_a_number_of_runs_that_cannot_be_made(runs: int) -> None:
    with pytest.raises(UsageError, match=f"{runs} runs cannot be made"):
        RepeatOptions(runs)


def test_conditions_are_chosen_by_name() -> None:
    assert conditions_of(None) == tuple(CONDITIONS)
    assert conditions_of("batch, same_objects") == ("same_objects", "batch")
    with pytest.raises(UsageError, match="unknown condition 'grph'"):
        conditions_of("grph")
