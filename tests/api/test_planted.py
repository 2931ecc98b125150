"""Each planted fault is found by what should find it, and by nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pyharness.api.accuracy import measure_release
from pyharness.api.checking import CheckOptions, check_release
from pyharness.api.drift import drift_between
from pyharness.api.repeatability import RepeatOptions, repeat_release
from pyharness.api.soaking import SoakOptions, soak_release
from pyharness.engine.soaking import Limits
from pyharness.releases import Release
from pyharness.space.problems import ProblemSet
from pyharness.spec.equivalences import CHECKS
from pyharness.spec.repeatability import CONDITIONS
from pyharness.spec.soak import DEVICE_USED, HOST_USED, LARGEST
from pyharness.spec.stages import PASSES
from tests.api import test_staging
from tests.api.planted import (
    ALL,
    BEYOND,
    DRIFTED,
    FAULTS,
    FORWARD,
    IN_A_PROCESS_OF_THEIR_OWN,
    LEAKS,
    NO_CONDITIONS,
    PROBLEMS,
    REPEATS,
    TRAINS,
    TRIED,
    UNTOLD,
    VIOLATED,
    WITHOUT_DW,
    Found,
    Y,
    at,
    chosen,
    everywhere,
    meant,
    planted,
)
from tests.api.test_staging import Made

emulate = test_staging.emulate  # the fixture


OF_DW = "dw sums over the batch: it is another sum there"


def table(folder: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(folder / f"{name}.parquet").to_pylist()
    assert "failed" not in {row.get("outcome") for row in found}
    return found


def found_in(rows: Iterable[Mapping[str, Any]], by: str, *verdicts: str) -> Found:
    """What has one of the verdicts, by problem and the column that says who found it."""
    found: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        if row["verdict"] in verdicts:
            found.setdefault((row["name"], row[by]), set()).add(row["buffer"])
    return {key: frozenset(tensors) for key, tensors in found.items()}


each_fault = pytest.mark.parametrize("fault", [None, *FAULTS])


@pytest.mark.parametrize("fault", [None, *sorted(REPEATS), NO_CONDITIONS, "leaks"])
def test_determinism(fault: str | None, emulate: Made, tmp_path: Path) -> None:
    release, rows = emulate(**planted(fault)), []
    inside = tuple(c for c in CONDITIONS if c not in IN_A_PROCESS_OF_THEIR_OWN)
    for names, conditions in ((["padded"], tuple(CONDITIONS)), (["packed", "dropped"], inside)):
        folder = tmp_path / names[0]
        repeat_release(release, chosen(*names), folder, RepeatOptions(2, conditions))
        rows += table(folder, "repeatability")
    apart = {(p, c) for p in ("packed", "dropped") for c in IN_A_PROCESS_OF_THEIR_OWN}
    planned = REPEATS.get(fault or "", {})
    expected = {key: tensors for key, tensors in planned.items() if key not in apart}
    expected["dropped", "dropout_continued"] = ALL  # by design
    assert found_in(rows, "condition", "not_repeatable") == expected
    pointers = UNTOLD.get(fault or "", {})
    untold = everywhere(*pointers) - apart
    tried = {(p, c) for p in PROBLEMS for c in TRIED[p]} - apart - untold
    clean = found_in(rows, "condition", "repeatable")
    assert clean.keys() | expected.keys() == tried
    # Where two say that something differs, one that is not the cause points to the one that is.
    for row in rows:
        if (row["name"], row["condition"]) in untold and row["reason"] != OF_DW:
            assert pointers[row["condition"]] in row["reason"].partition(": see ")[2]
    for key in tried - expected.keys():
        assert clean[key] == (WITHOUT_DW if key[1] == "batch" else ALL), key


@each_fault
def test_accuracy(fault: str | None, emulate: Made, tmp_path: Path) -> None:
    run = measure_release(emulate(**planted(fault)), chosen(*PROBLEMS), tmp_path / "out")
    rows = table(run.folder, "accuracy")
    beyond = meant(BEYOND.get(fault or "", {}), PASSES)
    assert found_in(rows, "pass", "beyond") == beyond
    told = {(p, t) for p in TRAINS for t in PASSES} | {("dropped", PASSES[0])}
    within = found_in(rows, "pass", "within")
    assert within.keys() | beyond.keys() == told


@each_fault
def test_drift(fault: str | None, emulate: Made, tmp_path: Path) -> None:
    copies = [emulate(**planted(fault)) for _ in range(2)]
    for other, expected in (
        # A process that adds up in an order of its own is unlike another of the same release.
        (copies[1], DRIFTED[fault] if fault in ("order_process", "every_order") else {}),
        (emulate(), DRIFTED.get(fault or "", {})),
    ):
        folder = tmp_path / str(len(expected)) / other.path.parent.name
        run = drift_between(copies[0], other, chosen(*PROBLEMS), folder)
        rows = table(run.folder, "drift")
        # What has other bits each time says nothing of a release.
        verdict = "not_told" if fault == "order_run" else "drifted"
        assert found_in(rows, "pass", verdict, "not_compared") == meant(expected, PASSES)
        same = found_in(rows, "pass", "same")
        assert same.keys() | expected.keys() == {(p, t) for p in PROBLEMS for t in PASSES}


@each_fault
def test_checks(fault: str | None, emulate: Made, tmp_path: Path) -> None:
    options = CheckOptions(most_tries=0)
    run = check_release(emulate(**planted(fault)), chosen(*PROBLEMS), tmp_path / "out", options)
    rows = table(run.folder, "equivalences")
    assert found_in(rows, "check", "violated", "not_told") == VIOLATED.get(fault or "", {})
    held = {check for _, check in found_in(rows, "check", "holds")}
    assert held | {check for _, check in VIOLATED.get(fault or "", {})} == set(CHECKS)


@pytest.mark.parametrize(
    ("fault", "column", "verdict"),
    [
        (None, None, "steady"),
        ("leak_device", DEVICE_USED, "leak"),
        ("leak_host", HOST_USED, "leak"),
        ("fragment", LARGEST, "fragmentation"),
        (",".join(f for f in FAULTS if f not in ("leaks", "every_order")), None, "steady"),
    ],
)
def test_soak(
    fault: str | None, column: str | None, verdict: str, emulate: Made, tmp_path: Path
) -> None:
    release = emulate(**({"fault": LEAKS[fault]} if fault in LEAKS else planted(fault)))
    options = SoakOptions(Limits(cycles=1000))
    run = soak_release(release, chosen("dropped"), tmp_path / "out", options)
    results = run.manifest.results
    assert (results["verdict"], results["cycles"]) == (verdict, 1000)
    assert results["statuses"] == {"passed": 1001}
    trends = results["trends"]
    assert {name for name, trend in trends.items() if trend["verdict"] != "steady"} == (
        {column} - {None}
    )
    for name in (DEVICE_USED, HOST_USED):
        grown = 4096 if name == column else 0
        assert trends[name]["slope"] == pytest.approx(grown, abs=1000), name


def repeated(
    release: Release, folder: Path, runs: int, conditions: Iterable[str], problems: ProblemSet
) -> list[dict[str, Any]]:
    options = RepeatOptions(runs, tuple(c for c in CONDITIONS if c in conditions))
    repeat_release(release, problems, folder, options)
    return table(folder, "repeatability")


def test_a_bit_that_is_flipped_in_one_run_of_a_thousand(emulate: Made, tmp_path: Path) -> None:
    release = emulate(fault="flip:y@cudnnRNNForward:701")
    inside = ("same_objects", "fresh_handle", "other_stream", "poisoned", "graph")
    (problem,) = chosen("padded").problems
    problems = ProblemSet("inference", "", (replace(problem, passes=PASSES[:1]),))
    rows = repeated(release, tmp_path / "out", 1000, inside, problems)
    assert found_in(rows, "condition", "not_repeatable") == at(["padded"], ["same_objects"], Y)
    (row,) = [row for row in rows if row["verdict"] == "not_repeatable"]
    assert (row["first_run"], row["runs"], row["distinct"]) == (700, 1000, 2)
    assert row["share"] == pytest.approx(1 / (5 * 3 * 16))
    assert found_in(rows, "condition", "repeatable") == {
        **at(["padded"], ["same_objects"], FORWARD - Y),
        **at(["padded"], inside[1:], FORWARD),
    }


def test_ten_thousand_clean_comparisons_raise_nothing(emulate: Made, tmp_path: Path) -> None:
    conditions = TRIED["padded"] - {"fresh_process"}
    rows = repeated(emulate(), tmp_path / "out", 110, conditions, chosen("padded"))
    tried = {("padded", c): WITHOUT_DW if c == "batch" else ALL for c in conditions}
    assert found_in(rows, "condition", "repeatable") == tried
    assert found_in(rows, "condition", "not_repeatable") == {}
    assert sum(row["runs"] for row in rows) >= 10_000
    assert {row["distinct"] for row in rows if row["runs"]} == {1}
