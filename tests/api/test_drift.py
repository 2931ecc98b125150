"""Two emulated releases side by side: what is alike is the same, what is planted drifted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from pyharness.api.drift import DriftRun, drift_between
from pyharness.engine.workbench import WeightPart, Workbench
from pyharness.errors import UsageError
from pyharness.spec.stages import PASSES
from pyharness.spec.tables import TABLES
from pyharness.spec.tensors import WRITTEN
from pyharness.store.case_journal import NAME as JOURNAL
from tests.api import test_accuracy
from tests.api.test_accuracy import named
from tests.api.test_staging import Made

emulate = test_accuracy.emulate  # the fixture
BACKWARD = "cudnnRNNBackwardData_v8"
Row = dict[str, Any]


def rows(run: DriftRun) -> list[Row]:
    table = pq.read_table(run.folder / "drift.parquet")
    assert table.column_names == [c.name for c in TABLES["drift"]]
    found: list[Row] = table.to_pylist()
    return found


def test_a_copy_is_the_same_in_every_tensor(emulate: Made, tmp_path: Path) -> None:
    padded = "aux_flags=padded_io_enabled layout=batch_major_unpacked seq_lengths=[6,2,1]"
    half = f"cell_mode=gru data_type=half math_type=tensor_op_math {padded}"
    dropped = "cell_mode=gru dropout=present dropout_rate=0.5 num_layers=2"
    problems = named("cell_mode=lstm", half, dropped)
    run = drift_between(emulate(), emulate(), problems, tmp_path / "out")
    found = rows(run)
    lstm = [(p, b) for p in PASSES for b in WRITTEN[p]]
    assert [(r["pass"], r["buffer"]) for r in found if r["name"] == "0"] == lstm
    assert len(found) == len(lstm) + 2 * len([b for _, b in lstm if "c" not in b])
    assert {r["verdict"] for r in found} == {"same"}
    nothing = ("differing", "share", "first_element", "most_ulps", "most_abs", "reason")
    assert {tuple(r[c] for c in nothing) for r in found} == {(0, 0, None, 0, 0, None)}
    assert {(r["status_a"], r["status_b"]) for r in found} == {("SUCCESS", "SUCCESS")}
    assert {r["provenance"] for r in found} == {"emulated"}
    sizes = {r["buffer"]: r["elements"] for r in found if r["name"] == "0"}
    assert (sizes["y"], sizes["dx"], sizes["hy"]) == (6 * 3 * 8, 6 * 3 * 5, 3 * 8)
    assert not (run.folder / JOURNAL).exists()


def test_a_flipped_bit_is_found_where_it_is_and_nowhere_else(
    emulate: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bytes] = []
    read = Workbench.read

    def kept(bench: Workbench, name: str) -> bytes:
        data = read(bench, name)
        if name == "dx":
            seen.append(data)
        return data

    monkeypatch.setattr(Workbench, "read", kept)
    clean, flipped = emulate(), emulate(fault=f"flip:dx@{BACKWARD}:*")
    found = rows(drift_between(clean, flipped, named("cell_mode=gru"), tmp_path / "out"))
    (row,) = [r for r in found if r["verdict"] != "same"]
    assert (row["buffer"], row["pass"], row["verdict"]) == ("dx", "backward_data", "drifted")
    before, now = (np.frombuffer(data, np.float32) for data in seen[:2])
    (where,) = np.flatnonzero(before.view(np.uint32) != now.view(np.uint32))
    assert (row["first_element"], row["differing"], row["elements"]) == (where, 1, 90)
    assert row["share"] == pytest.approx(1 / 90)
    apart = abs(float(before[where]) - float(now[where]))
    assert row["most_abs"] == pytest.approx(apart)
    assert row["most_ulps"] >= 1


def test_what_one_refuses_is_a_row_with_both_statuses(emulate: Made, tmp_path: Path) -> None:
    clean = emulate()
    refuses = emulate(fault="status:NOT_SUPPORTED@cudnnRNNForward:*")
    forth = rows(drift_between(clean, refuses, named(""), tmp_path / "forth"))
    back = rows(drift_between(refuses, clean, named(""), tmp_path / "back"))
    for found in (forth, back):
        assert [r["pass"] for r in found] == list(PASSES)
        assert {(r["buffer"], r["verdict"]) for r in found} == {(None, "not_compared")}
        assert {r["outcome_a"] for r in found[2:]} == {"skipped"}
    assert {(r["status_a"], r["status_b"]) for r in forth[:2]} == {("SUCCESS", "NOT_SUPPORTED")}
    assert {(r["status_a"], r["status_b"]) for r in back[:2]} == {("NOT_SUPPORTED", "SUCCESS")}
    assert {(r["outcome_a"], r["outcome_b"]) for r in back[:2]} == {("unsupported", "passed")}


def test_a_crash_of_one_is_a_row_and_the_next_problem_is_compared(
    emulate: Made, tmp_path: Path
) -> None:
    clean, crashes = emulate(), emulate(fault=f"crash@{BACKWARD}:2")
    run = drift_between(clean, crashes, named("", "seed=1", "seed=2"), tmp_path / "out")
    ended = [r for r in rows(run) if r["verdict"] != "same"]
    assert [(r["name"], r["pass"], r["outcome_b"]) for r in ended] == [
        ("1", "backward_data", "failed"),
        ("1", "backward_weights", "skipped"),
    ]
    assert [r["name"] for r in rows(run) if r["buffer"] == "dw"] == ["0", "2"]
    assert run.manifest.results["failures"][0]["cause"].startswith("newer: ")


def test_other_bits_of_input_are_replaced_and_told(
    emulate: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, benches = Workbench.open, 0

    def other(bench: Workbench, *args: Any, **more: Any) -> Any:
        nonlocal benches
        case = opened(bench, *args, **more)
        benches += 1
        if benches == 2:
            bench.write("x", bytes(len(bench.read("x"))))
        return case

    monkeypatch.setattr(Workbench, "open", other)
    found = rows(drift_between(emulate(), emulate(), named(""), tmp_path / "out"))
    assert {r["verdict"] for r in found} == {"same"}
    assert {r["reason"] for r in found} == {"x of the older side written into the newer"}


def test_an_interrupted_run_goes_on(emulate: Made, tmp_path: Path) -> None:
    a, b, problems, done = emulate(), emulate(), named("", "seed=1"), []

    def interrupt(what: str, count: int, total: int) -> None:
        done.append((count, total))
        if len(done) == 2:
            raise KeyboardInterrupt

    run = drift_between(a, b, problems, tmp_path / "out", progress=interrupt)
    assert (run.manifest.state, run.manifest.results["cases_left"]) == ("interrupted", 1)
    again = drift_between(a, b, problems, tmp_path / "out", progress=interrupt)
    assert (again.manifest.state, done[2:]) == ("complete", [(1, 2), (2, 2)])
    assert {r["name"] for r in rows(again)} == {"0", "1"}
    with pytest.raises(UsageError, match="holds another run"):
        drift_between(a, a, problems, tmp_path / "out")


def test_weights_that_lie_elsewhere_are_written_and_compared_by_name(
    emulate: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems = named("cell_mode=gru num_layers=2", "cell_mode=lstm data_type=half")
    elsewhere(monkeypatch, gap=32)
    found = rows(drift_between(emulate(), emulate(), problems, tmp_path / "out"))
    assert {r["verdict"] for r in found} == {"same"}
    assert len(found) == 10 + 7
    assert {r["reason"] for r in found} == {
        "the newer side lays the weights out otherwise: each was written there by its name, and dw "
        "is compared by name"
    }
    flipped = emulate(fault="flip:dw@cudnnRNNBackwardWeights_v8:*")
    flat = rows(drift_between(emulate(), flipped, problems, tmp_path / "flipped"))
    drifted = [r for r in flat if r["verdict"] == "drifted"]
    assert [(r["buffer"], r["differing"]) for r in drifted] == [("dw", 1), ("dw", 1)]
    # The emulator flips the first number of dw, which is that of the older side's first weight.
    assert {r["first_element"] for r in drifted} == {0}
    assert {r["elements"] for r in drifted} == {r["elements"] for r in found if r["buffer"] == "dw"}


def elsewhere(monkeypatch: pytest.MonkeyPatch, gap: int) -> None:
    """Makes the second side a library with the weights in reverse order, bytes between them.

    It is given the same bytes as the first one, which mean other weights there.
    """
    weights, read, write, opened = (
        Workbench.weights,
        Workbench.read,
        Workbench.write,
        Workbench.open,
    )
    benches: list[Workbench] = []

    def second(bench: Workbench) -> bool:
        return bench in benches[1::2]

    def moved(bench: Workbench) -> list[WeightPart]:
        parts, at = weights(bench), 0
        if not second(bench):
            return parts
        size = len(read(bench, "w")) // sum(p.rows * p.cols for p in parts)
        places = []
        for part in reversed(parts):
            places.append(WeightPart(part.name, part.rows, part.cols, at + gap))
            at += part.rows * part.cols * size + gap
        return places

    def pairs(bench: Workbench) -> list[tuple[slice, slice]]:
        """Of each weight the bytes in the emulator, and in the library that is played."""
        own, places = weights(bench), {p.name: p for p in moved(bench)}
        size = len(read(bench, "w")) // sum(p.rows * p.cols for p in own)
        return [
            (
                slice(p.offset, p.offset + p.rows * p.cols * size),
                slice(places[p.name].offset, places[p.name].offset + p.rows * p.cols * size),
            )
            for p in own
        ]

    def read_moved(bench: Workbench, name: str) -> bytes:
        data = read(bench, name)
        if name not in ("w", "dw") or not second(bench):
            return data
        there = bytearray(b"\x7f" * (len(data) + gap * (len(weights(bench)) + 1)))
        for inside, outside in pairs(bench):
            there[outside] = data[inside]
        return bytes(there)

    def write_moved(bench: Workbench, name: str, data: bytes) -> None:
        if name == "w" and second(bench):
            there = bytearray(len(read(bench, "w")))
            for inside, outside in pairs(bench):
                there[inside] = data[outside]
            data = bytes(there)
        write(bench, name, data)

    def open_other(bench: Workbench, *args: Any, **more: Any) -> Any:
        case = opened(bench, *args, **more)
        benches.append(bench)
        if second(bench):
            given = read(bench, "w")
            write(bench, "w", given[64:] + given[:64])
        return case

    monkeypatch.setattr(Workbench, "weights", moved)
    monkeypatch.setattr(Workbench, "read", read_moved)
    monkeypatch.setattr(Workbench, "write", write_moved)
    monkeypatch.setattr(Workbench, "open", open_other)


def test_other_weights_are_not_compared(
    emulate: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights, asked = Workbench.weights, 0

    def fewer(bench: Workbench) -> list[WeightPart]:
        nonlocal asked
        asked += 1
        return weights(bench)[: -1 if asked == 2 else None]

    monkeypatch.setattr(Workbench, "weights", fewer)
    run = drift_between(emulate(), emulate(), named(""), tmp_path / "out")
    (row,) = rows(run)
    assert (row["verdict"], row["buffer"]) == ("not_compared", None)
    assert row["reason"] == "the releases do not have the same weights: l0.forward.output.h.bias"
    assert changes(run) == []


def changes(run: DriftRun) -> list[Row]:
    table = pq.read_table(run.folder / "changes.parquet")
    assert table.column_names == [c.name for c in TABLES["changes"]]
    found: list[Row] = table.to_pylist()
    return found


def test_what_drifted_and_what_runs_on_one_side_are_changes(emulate: Made, tmp_path: Path) -> None:
    flipped = emulate(fault=f"flip:dx@{BACKWARD}:*")
    words = "cell_mode=gru seed=3"
    (row,) = changes(drift_between(emulate(), flipped, named(words), tmp_path / "a"))
    (drifted,) = [r for r in rows_of(tmp_path / "a") if r["verdict"] == "drifted"]
    assert (row["change"], row["call"], row["stage"]) == ("drifted", BACKWARD, "backward_data")
    assert (row["pass"], row["buffer"], row["problem"]) == (
        "backward_data",
        "dx",
        drifted["problem"],
    )
    assert words in row["problem"]
    assert (row["status_a"], row["status_b"], row["device"]) == (
        "SUCCESS",
        "SUCCESS",
        "Emulated GPU",
    )
    same = ("share", "most_ulps", "most_abs", "cell_mode", "hidden_size", "provenance", "release_a")
    assert [row[c] for c in same] == [drifted[c] for c in same]

    clean = emulate()
    refuses = emulate(fault="status:NOT_SUPPORTED@cudnnRNNForward:*")
    forth = changes(drift_between(clean, refuses, named(""), tmp_path / "forth"))
    back = changes(drift_between(refuses, clean, named(""), tmp_path / "back"))
    for found, change in ((forth, "newly_refused"), (back, "newly_accepted")):
        told = [(r["pass"], r["change"], r["buffer"], r["most_ulps"]) for r in found]
        assert told == [(p, change, None, None) for p in PASSES[:2]]
    assert {(r["status_a"], r["status_b"], r["reason_a"]) for r in forth} == {
        ("SUCCESS", "NOT_SUPPORTED", None)
    }
    assert {r["reason_b"] for r in forth} == {r["reason_a"] for r in back} == {"planted fault"}

    crashes = emulate(fault=f"crash@{BACKWARD}:1")
    (row,) = changes(drift_between(clean, crashes, named(""), tmp_path / "crash"))
    assert (row["change"], row["pass"], row["status_b"]) == ("newly_failed", "backward_data", None)
    assert "SIGSEGV" in row["reason_b"]
    short = emulate(fault=f"status:ALLOC_FAILED@{BACKWARD}:*")
    (row,) = changes(drift_between(short, clean, named(""), tmp_path / "memory"))
    assert row["change"] == "no_longer_out_of_memory"


def rows_of(folder: Path) -> list[Row]:
    found: list[Row] = pq.read_table(folder / "drift.parquet").to_pylist()
    return found
