"""Choices of a problem timed beside what their repetition showed, on the emulator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pyharness.api.repeatability import RepeatOptions, repeat_release
from pyharness.api.trade_off import weigh_repeatability
from pyharness.releases import Release
from pyharness.space.problems import ProblemSet, problems_from
from pyharness.spec.tables import TABLES
from pyharness.store.manifest import read_manifest
from pyharness.store.reading import read_rows
from tests.api import test_staging

Made = Callable[..., Release]
emulate = test_staging.emulate  # the fixture
WORDS = ("hidden_size=8", "input_size=8", "batch_size=2", "max_seq_length=3")
OPTIONS = RepeatOptions(2, ("same_objects", "graph"), timeout_s=20.0)


def weighed(
    release: Release, folder: Path, problems: ProblemSet, options: RepeatOptions = OPTIONS
) -> list[dict[str, Any]]:
    """The rows of the table."""
    run = repeat_release(release, problems, folder, options)
    timing = weigh_repeatability(release, problems, run, options)
    assert timing.state == "complete"
    table = pq.read_table(folder / "trade_offs.parquet")
    assert table.column_names == [c.name for c in TABLES["trade_offs"]]
    return list(table.to_pylist())


def test_each_choice_has_its_time_and_its_verdict(emulate: Made, tmp_path: Path) -> None:
    # The second forward pass of a process is a run of the first problem, which is standard.
    release = emulate(fault="flip:y@cudnnRNNForward:2", cost_ns=30_000)
    axes = ("algo=standard,persist_static,persist_dynamic", "hidden_size=8,16")
    problems = problems_from(None, axes, WORDS[1:])
    rows = weighed(release, tmp_path / "out", problems)
    assert len(rows) == 6
    small = [r for r in rows if r["hidden_size"] == 8]
    assert {r["without_choice"] for r in small} == {" ".join((*WORDS[1:], "hidden_size=8"))}
    by_algo = {r["algo"]: r for r in small}
    assert by_algo["standard"]["verdict"] == "not_repeatable"
    assert (by_algo["standard"]["tried"], by_algo["standard"]["differs"]) == (
        "same_objects, graph",
        "same_objects",
    )
    assert [r["fastest"] for r in small].count("yes") == 1
    (best,) = [r for r in small if r["fastest_repeatable"] == "yes"]
    assert best["algo"] != "standard"
    for row in rows:
        # Three passes of 30 µs; zeroing dw between them takes no time of this device's.
        assert row["median_s"] == pytest.approx(90e-6, rel=0.01)
        assert row["median_low_s"] <= row["median_s"] <= row["median_high_s"]
        assert (row["pass"], row["provenance"], row["release"]) == (
            "training_step",
            "emulated",
            "9.28.0",
        )
        assert row["n"] >= 30
        assert (row["cost"] is None) == (row["fastest"] == "yes")
    # Raw samples are kept.
    (side,) = [p for p in (tmp_path / "out" / "timing").iterdir() if p.is_dir()]
    assert {r["mode"] for r in read_rows(side, "timings")} == {"hot"}
    assert len(read_rows(side, "samples")) == sum(r["n"] for r in rows)


def test_what_is_refused_has_no_time(emulate: Made, tmp_path: Path) -> None:
    release = emulate(fault="status:NOT_SUPPORTED@cudnnGetRNNTempSpaceSizes:*")
    (row,) = weighed(release, tmp_path / "out", problems_from(None, (), WORDS))
    assert (row["median_s"], row["verdict"], row["fastest"]) == (None, "not_tried", "no")
    assert row["reason"]


def test_inference_is_timed_where_nothing_trains(emulate: Made, tmp_path: Path) -> None:
    axes = ("hidden_size=8", "input_size=8", "max_seq_length=2")
    some = problems_from("deepbench/device-lstm-*", axes, ())
    one = ProblemSet(some.name, "", some.problems[:1])
    (row,) = weighed(emulate(), tmp_path / "out", one)
    assert (row["pass"], row["verdict"], row["fastest_repeatable"]) == (
        "forward_inference",
        "repeatable",
        "yes",
    )


def test_a_timing_that_was_interrupted_goes_on(emulate: Made, tmp_path: Path) -> None:
    release, folder = emulate(), tmp_path / "out"
    problems = problems_from(None, ("algo=standard,persist_static",), WORDS)
    run = repeat_release(release, problems, folder, OPTIONS)
    done: list[int] = []

    def interrupt(step: str, count: int, total: int) -> None:
        assert (step, total) == ("cases", 2)
        done.append(count)
        if done == [0, 1]:
            raise KeyboardInterrupt

    timing = weigh_repeatability(release, problems, run, OPTIONS, interrupt)
    assert timing.state == "interrupted"
    rows = read_rows(folder, "trade_offs")
    assert sorted(r["median_s"] is None for r in rows) == [False, True]
    assert {r["reason"] for r in rows} == {None, "it was not timed"}
    timing = weigh_repeatability(release, problems, run, OPTIONS, interrupt)
    assert timing.state == "complete"
    assert done == [0, 1, 1, 2]
    assert all(r["median_s"] for r in read_rows(folder, "trade_offs"))
    assert read_manifest(folder).state == "complete"  # that of the repetition is left alone
