"""Emulated releases beside the truth: what is right is within, what is planted is beyond."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from pyharness.api import accuracy_case
from pyharness.api.accuracy import AccuracyRun, measure_release
from pyharness.engine.workbench import Workbench
from pyharness.errors import UsageError
from pyharness.reference.layouts import numbers, to_bytes
from pyharness.space.problems import NamedProblem, ProblemSet
from pyharness.spec.problem import parse_problem
from pyharness.spec.stages import PASSES
from pyharness.spec.tables import TABLES
from pyharness.spec.tensors import WRITTEN
from pyharness.store.case_journal import NAME as JOURNAL
from pyharness.store.manifest import read_manifest
from tests.api import test_staging
from tests.api.test_staging import Made

emulate = test_staging.emulate  # the fixture
SMALL = "hidden_size=8 input_size=5 batch_size=3 max_seq_length=6"
WIDE = f"{SMALL} seq_lengths=[6,4,1] num_layers=2 direction_mode=bidirectional"
Row = dict[str, Any]


def named(*words: str, rest: str = SMALL, passes: Sequence[str] = PASSES) -> ProblemSet:
    made = [parse_problem(f"{rest} {one}".split()) for one in words]
    return ProblemSet(
        "scene", "", tuple(NamedProblem(str(i), "g", p, tuple(passes)) for i, p in enumerate(made))
    )


def rows(run: AccuracyRun) -> list[Row]:
    table = pq.read_table(run.folder / "accuracy.parquet")
    assert table.column_names == [c.name for c in TABLES["accuracy"]]
    found: list[Row] = table.to_pylist()
    return found


def verdicts(found: Sequence[Row]) -> set[str]:
    return {row["verdict"] for row in found}


def beyond(found: Sequence[Row]) -> list[tuple[str, str]]:
    return [(r["pass"], r["buffer"]) for r in found if r["verdict"] == "beyond"]


def one(found: Sequence[Row], pass_name: str, buffer: str) -> Row:
    (row,) = [r for r in found if (r["pass"], r["buffer"]) == (pass_name, buffer)]
    return row


TYPES = (
    "data_type=float math_type=fma_math",
    "data_type=double math_prec=double",
    "data_type=half math_type=tensor_op_math",
    "data_type=bfloat16 math_type=tensor_op_math",
)


def test_every_cell_in_every_type_is_within(emulate: Made, tmp_path: Path) -> None:
    layouts = ("seq_major_packed", "seq_major_unpacked", "batch_major_unpacked")
    words = []
    for i, cell in enumerate(("rnn_relu", "rnn_tanh", "lstm", "gru")):
        for j, types in enumerate(TYPES):
            layout = layouts[(i + j) % 3]
            padded = "" if layout == layouts[0] else "aux_flags=padded_io_enabled"
            more = "proj_size=half" if cell == "lstm" and j % 2 else ""
            words.append(f"cell_mode={cell} {types} layout={layout} {padded} {more} seed=1")
    run = measure_release(emulate(), named(*words, rest=WIDE), tmp_path / "out")
    found = rows(run)
    told = [r for r in found if r["verdict"] != "not_told"]
    assert verdicts(told) == {"within"}
    assert {r["outcome"] for r in found} == {"passed"}
    assert {r["provenance"] for r in found} == {"emulated"}
    untold = {(r["cell_mode"], r["data_type"], r["buffer"]) for r in found if r not in told}
    narrow = ("half", "bfloat16")
    assert untold == {("rnn_relu", t, b) for t in narrow for b in ("dx", "dhx", "dw")}
    for number in range(len(words)):
        own = [r for r in found if r["name"] == str(number)]
        cells = own[0]["cell_mode"] == "lstm"
        assert [(r["pass"], r["buffer"]) for r in own] == [
            (p, b) for p in PASSES for b in WRITTEN[p] if cells or "c" not in b
        ]
        steps = 6 + 4 + 1
        width = 2 * own[0]["proj_size"]
        assert (own[0]["n"], one(own, "backward_data", "dx")["n"]) == (steps * width, steps * 5)
        # The emulator calculates in double and rounds once; a double of its own is no truth.
        if own[0]["data_type"] != "double":
            assert max(r["max_ulps"] for r in own) <= 1
        assert min(r["cosine"] for r in own) > 0.9999
    usual = [max(r["rms_rel"] for r in told if r["data_type"] == t) for t in ("float", *narrow)]
    assert usual[0] < 1e-6 < usual[1] < usual[2]
    assert run.manifest.results["verdicts"] == {
        "within": len(told),
        "not_told": len(found) - len(told),
    }
    assert not (run.folder / JOURNAL).exists()


@pytest.mark.parametrize(
    ("fault", "where"),
    [
        ("nan:y@cudnnRNNForward:1", ("forward_inference", "y")),
        ("unwritten:hy@cudnnRNNForward:1", ("forward_inference", "hy")),
        ("flip:cy@cudnnRNNForward:2", ("forward_training", "cy")),
        ("flip:dx@cudnnRNNBackwardData_v8:1", ("backward_data", "dx")),
        ("unwritten:dcx@cudnnRNNBackwardData_v8:1", ("backward_data", "dcx")),
        ("flip:dw@cudnnRNNBackwardWeights_v8:1", ("backward_weights", "dw")),
        ("nan:dw@cudnnRNNBackwardWeights_v8:1", ("backward_weights", "dw")),
    ],
)
def test_what_is_planted_is_beyond_and_nothing_else(
    emulate: Made, tmp_path: Path, fault: str, where: tuple[str, str]
) -> None:
    problems = named("cell_mode=lstm", "cell_mode=lstm data_type=half seed=3")
    found = rows(measure_release(emulate(fault=fault), problems, tmp_path / "out"))
    first = [r for r in found if r["name"] == "0"]
    assert beyond(first) == [where]
    assert verdicts([r for r in found if r not in first]) == {"within"}
    row = one(first, *where)
    if "flip" not in fault:
        assert row["nan"] >= 1
    assert row["worst"].split("[")[0] in (where[1], "l0.forward.input.x.matrix")


@pytest.mark.parametrize(
    ("layout", "place"),
    [
        ("seq_major_packed", (3 + 2) * 8 + 5),  # the third sequence ends after one step
        ("seq_major_unpacked", (2 * 3 + 0) * 8 + 5),
        ("batch_major_unpacked", (0 * 6 + 2) * 8 + 5),
    ],
)
def test_a_difference_is_found_where_it_is_and_as_large_as_it_is(
    emulate: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str, place: int
) -> None:
    def off(name: str, values: Any) -> None:
        if name == "y":
            values[place] += 0.5

    disturb(monkeypatch, "double", off)
    padded = "aux_flags=padded_io_enabled seq_lengths=[6,2,1]"
    problems = named(f"data_type=double math_prec=double layout={layout} {padded}")
    found = rows(measure_release(emulate(), problems, tmp_path / "out"))
    assert beyond(found) == [("forward_inference", "y"), ("forward_training", "y")]
    row = one(found, "forward_inference", "y")
    assert row["worst"] == "y[2,0,5]"
    assert row["max_abs"] == pytest.approx(0.5, rel=1e-12)
    assert row["rms_abs"] == pytest.approx(0.5 / np.sqrt(9 * 8), rel=1e-12)
    assert row["max_rel"] == pytest.approx(0.5 / row["scale"], rel=1e-12)


def disturb(
    monkeypatch: pytest.MonkeyPatch, data_type: str, off: Callable[[str, Any], None]
) -> None:
    """Changes what is read from the device."""
    read = Workbench.read

    def changed(bench: Workbench, name: str) -> bytes:
        values = numbers(read(bench, name), data_type).copy()
        off(name, values)
        return to_bytes(values, data_type)

    monkeypatch.setattr(Workbench, "read", changed)


@pytest.mark.parametrize(("share", "verdict"), [(0.5, "within"), (2.0, "beyond")])
def test_the_verdict_turns_where_the_table_says(
    emulate: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float, verdict: str
) -> None:
    problems = named("cell_mode=gru math_type=fma_math")
    release = emulate()
    clean = one(rows(measure_release(release, problems, tmp_path / "a")), "backward_data", "dx")
    far = share * clean["threshold"] * clean["scale"]

    def off(name: str, values: Any) -> None:
        if name == "dx":
            values[7] += far

    disturb(monkeypatch, "float", off)
    found = rows(measure_release(release, problems, tmp_path / "b"))
    row = one(found, "backward_data", "dx")
    assert row["verdict"] == verdict
    assert row["max_rel"] / row["threshold"] == pytest.approx(share, rel=0.05)
    assert verdicts([r for r in found if r != row]) == {"within"}


def test_states_that_are_not_given_and_clipping(emulate: Made, tmp_path: Path) -> None:
    clip = "cell_mode=lstm clip_mode=minmax lclip=-0.125 rclip=0.25 math_type=fma_math"
    problems = named("initial_states=null cell_mode=lstm", clip, "cell_mode=lstm")
    found = rows(measure_release(emulate(), problems, tmp_path / "out"))
    assert verdicts(found) == {"within"}
    scales = [one([r for r in found if r["name"] == n], "forward_inference", "cy") for n in "12"]
    assert scales[0]["scale"] != scales[1]["scale"]


def test_dropout_is_not_told_of_training_and_nan_in_it_is(emulate: Made, tmp_path: Path) -> None:
    words = "dropout=present dropout_rate=0.5 num_layers=2"
    release = emulate(fault="nan:dx@cudnnRNNBackwardData_v8:2")
    found = rows(measure_release(release, named(words, f"{words} seed=4"), tmp_path / "out"))
    assert verdicts([r for r in found if r["pass"] == "forward_inference"]) == {"within"}
    trained = [r for r in found if r["pass"] != "forward_inference"]
    assert beyond(trained) == [("backward_data", "dx")]
    assert {r["max_rel"] for r in trained} == {None}
    untold = [r for r in trained if r["verdict"] == "not_told"]
    assert len(untold) == len(trained) - 1
    assert all(r["reason"].startswith("dropout draws") for r in untold)


def test_what_half_loses_of_small_gradients(
    emulate: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def off(name: str, values: Any) -> None:
        if name == "dx":
            values[:4] = 0, 0, np.inf, 0.25  # none of these is as small as half's least numbers

    disturb(monkeypatch, "half", off)
    problems = named("data_type=half math_type=tensor_op_math cell_mode=gru", "cell_mode=gru")
    found = rows(measure_release(emulate(), problems, tmp_path / "out"))
    row = one([r for r in found if r["name"] == "0"], "backward_data", "dx")
    assert (row["n"], row["inf"]) == (90, 1)
    assert (row["underflow"], row["overflow"]) == (0.0, pytest.approx(1 / 90))
    assert row["loss_scale_log2_low"] < 0 < row["loss_scale_log2_high"] < 30
    lost = [r for r in found if r["underflow"] is not None]
    assert {(r["name"], r["buffer"]) for r in lost} == {("0", b) for b in ("dx", "dhx", "dw")}


def test_what_fails_is_a_row_and_the_next_problem_runs_in_a_new_process(
    emulate: Made, tmp_path: Path
) -> None:
    release = emulate(fault="crash@cudnnRNNBackwardData_v8:2")
    run = measure_release(release, named("", "seed=1", "seed=2"), tmp_path / "out")
    found = rows(run)
    ended = [(r["name"], r["pass"], r["outcome"]) for r in found if r["outcome"] != "passed"]
    assert ended == [("1", "backward_data", "failed"), ("1", "backward_weights", "skipped")]
    assert [r["name"] for r in found if r["pass"] == "backward_weights"] == ["0", "1", "2"]
    assert verdicts(found) == {"within", None}
    (failure,) = run.manifest.results["failures"]
    assert failure["cause"].startswith("the worker ended: SIGSEGV")


def test_refusals_and_memory_that_is_not_there_are_rows(emulate: Made, tmp_path: Path) -> None:
    problems = named("algo=persist_static seq_lengths=[6,2,2]", "proj_size=9 cell_mode=gru", "")
    found = rows(measure_release(emulate(), problems, tmp_path / "out"))
    ended = [(r["name"], r["pass"], r["outcome"]) for r in found if r["outcome"] != "passed"]
    assert ended[:4] == [
        ("0", "forward_inference", "unsupported"),
        ("0", "forward_training", "unsupported"),
        ("0", "backward_data", "skipped"),
        ("0", "backward_weights", "skipped"),
    ]
    assert [e[0] for e in ended[4:]] == ["1"]
    large = named("hidden_size=4096", "hidden_size=8", rest="")
    found = rows(measure_release(emulate(memory_bytes=4 << 20), large, tmp_path / "m"))
    (row,) = [r for r in found if r["name"] == "0"]
    assert verdicts(found) == {"within", None}
    assert (row["outcome"], row["pass"], row["verdict"]) == ("out_of_memory", PASSES[0], None)


def test_passes_bring_those_that_they_need_and_no_other(emulate: Made, tmp_path: Path) -> None:
    made: dict[str, list[str]] = {}
    for passes in (PASSES[:1], PASSES[1:2], PASSES[3:]):
        run = measure_release(emulate(), named("", passes=passes), tmp_path / passes[0])
        made[passes[0]] = list(dict.fromkeys(r["pass"] for r in rows(run)))
    assert made == {
        PASSES[0]: [PASSES[0]],
        PASSES[1]: [PASSES[1]],
        PASSES[3]: list(PASSES[1:]),
    }


def test_an_interrupted_run_goes_on_and_ends_as_one_that_was_not(
    emulate: Made, tmp_path: Path
) -> None:
    release, problems, done = emulate(), named("", "seed=1", "seed=2"), []

    def interrupt(what: str, count: int, total: int) -> None:
        done.append((count, total))
        if count == 1 and len(done) == 2:
            raise KeyboardInterrupt

    run = measure_release(release, problems, tmp_path / "out", progress=interrupt)
    assert (run.manifest.state, run.manifest.results["cases_left"]) == ("interrupted", 2)
    assert {r["name"] for r in rows(run)} == {"0"}
    again = measure_release(release, problems, tmp_path / "out", progress=interrupt)
    assert done[2:] == [(1, 3), (2, 3), (3, 3)]
    assert read_manifest(run.folder).state == again.manifest.state == "complete"
    assert rows(again) == rows(measure_release(release, problems, tmp_path / "whole"))
    before = (run.folder / "accuracy.parquet").stat().st_mtime_ns
    measure_release(release, problems, tmp_path / "out")
    assert (run.folder / "accuracy.parquet").stat().st_mtime_ns == before


def test_a_folder_of_another_run_is_refused(emulate: Made, tmp_path: Path) -> None:
    release = emulate()
    measure_release(release, named(""), tmp_path / "out")
    with pytest.raises(UsageError, match="holds another run"):
        measure_release(release, named("seed=1"), tmp_path / "out")
    with pytest.raises(UsageError, match="there is no device 7"):
        measure_release(release, named(""), tmp_path / "other", 7)
    assert not (tmp_path / "other").exists()


def test_a_problem_that_this_machine_cannot_compute_is_skipped_and_says_so(
    emulate: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accuracy_case, "available_bytes", lambda: 100_000)
    small = named("math_type=fma_math", rest="hidden_size=4 batch_size=2 max_seq_length=2")
    (row,) = rows(measure_release(emulate(), named("hidden_size=64", rest=""), tmp_path / "out"))
    assert (row["outcome"], row["verdict"]) == ("skipped", None)
    assert row["reason"].endswith("bytes of this machine, 100,000 are available")
    assert verdicts(rows(measure_release(emulate(), small, tmp_path / "small"))) == {"within"}
