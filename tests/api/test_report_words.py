"""What a report says of a verdict, and how its tables and commands stand: from made folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pyharness.present.report.memory import memory_section
from pyharness.present.report.model import Source
from pyharness.present.report.others import atlas_section, stages_section
from pyharness.present.report.pictures import pictures
from pyharness.present.report.timing import time_section
from tests.api import report_scene as scene
from tests.api.test_reporting import NEW, OLD, report, section


def judged(path: Path, word: str, **requirement: Any) -> Path:
    """An upgrade whose gate has one line, told as given."""
    folder = scene.upgrade(path, word)
    data = scene.upgrade_json(word)
    data["gate"]["requirements"][0].update(requirement)
    (folder / "upgrade.json").write_text(json.dumps(data), "utf-8")
    return folder


@pytest.mark.parametrize(
    ("requirement", "said"),
    [
        ({"key": "time.slower", "limit": 0.03, "found": 2}, "2 cases slower by more than 3%"),
        ({"key": "memory.grown", "limit": 0.5, "found": 1}, "1 problem grown by more than 50%"),
        ({"key": "accuracy.worse", "found": 1}, "1 problem less accurate"),
        (
            {"key": "validity.newly_failed", "scope": "log", "found": 3},
            "3 problems of the log newly failing",
        ),
        ({"key": "validity.call_removed", "found": 1}, "1 call"),
    ],
)
def test_what_a_gate_found_in_words(tmp_path: Path, requirement: dict[str, Any], said: str) -> None:
    _, markdown, data = report(judged(tmp_path / "u", "failed", **requirement), out=tmp_path)
    assert said.replace(" %", "%") in data["headline"].replace(" %", "%")
    (line,) = data["gate"]
    assert (line["word"], line["found"]) == ("failed", requirement["found"])
    (row,) = [r for r in markdown.splitlines() if r.startswith(f"| {line['what'].split(':')[0]}:")]
    assert "✗ failed" in row
    if "limit" in requirement:
        assert f"{100 * requirement['limit']:g}% at most" in line["what"].replace(" %", "%")


def test_what_is_worse_looks_bad_and_what_is_open_is_said(tmp_path: Path) -> None:
    folder = scene.upgrade(tmp_path / "u")
    data = scene.upgrade_json()
    (evidence,) = data["questions"][0]["evidence"]
    better = {**evidence["findings"][0], "change": "newly_accepted", "for_worse": False}
    other = {**better, "change": "other_status"}
    evidence["findings"] += [better, other]
    evidence["counts"] |= {"newly_accepted": 12, "other_status": 12}
    evidence |= {"unanswered": 7, "left": 5, "part": "stages", "source": "device"}
    (folder / "upgrade.json").write_text(json.dumps(data), "utf-8")
    told = report(folder, out=tmp_path)[2]
    tones = [step["tone"] for step in section(told, "changes")["steps"]]
    assert tones == ["bad", "good", "plain"]
    (said,) = told["questions"][0]["told"]
    assert ": 1,007 problems tried; 12 newly refused" in said  # of the 7, some may have changed
    assert ", 7 cannot be told" in said
    assert "5 not tried" in said


def test_what_cannot_be_told_names_its_question_once(tmp_path: Path) -> None:
    why = {"key": "time.slower", "why": "8 of 9 cases cannot be told"}
    told = report(judged(tmp_path / "a", "inconclusive", **why), out=tmp_path / "out")[2]
    assert told["headline"] == "time: 8 of 9 cases cannot be told."
    why["why"] = "time is not measured: no GPU here"
    told = report(judged(tmp_path / "b", "inconclusive", **why), out=tmp_path / "out")[2]
    assert told["headline"] == "time is not measured: no GPU here."


@pytest.mark.parametrize(("several", "shown"), [(5, 5), (7, 4)])
def test_much_that_is_said_of_one_problem_is_folded(
    tmp_path: Path, several: int, shown: int
) -> None:
    data = scene.upgrade_json()
    (evidence,) = data["questions"][0]["evidence"]
    (one,) = evidence["findings"]
    evidence["findings"] = [
        {**one, "call": "", "problem": "seed=1", "before": f"part {n}", "conditions": []}
        for n in range(several)
    ]
    folder = scene.upgrade(tmp_path / "u")
    (folder / "upgrade.json").write_text(json.dumps(data), "utf-8")
    page = report(folder, out=tmp_path / "out")[0]
    at_once, folds, folded = page.partition(f"<summary>and {several - shown} more of it")
    assert bool(folds) == (several > shown)
    assert [f"part {n} " in at_once for n in range(several)] == [n < shown for n in range(several)]
    assert all(f"part {n} " in folded for n in range(shown, several))


def source(kind: str, **tables: list[dict[str, Any]]) -> Source:
    return Source(kind, Path(kind), kind, {}, tables)


def test_a_paired_time_is_old_then_new() -> None:
    row = {**scene.shared(NEW, "x"), "release_a": OLD, "release_b": NEW, "ratio": 2.0}
    row |= {"median_a_s": 1e-3, "median_b_s": 2e-3, "verdict": "slower"}
    made = time_section([source("time", time_changes=[row])], [])
    assert made is not None
    (table,) = made.tables
    keys = {column.title: column.key for column in table.columns}
    assert (table.rows[0][keys["old"]], table.rows[0][keys["new"]]) == (1e-3, 2e-3)


def test_as_many_bytes_in_other_parts_are_said() -> None:
    (row,) = scene.memory(OLD, {"x": 100})
    moved = {**scene.memory(NEW, {"x": 100})[0], "workspace_bytes": 60, "tensor_bytes": 40}
    made = memory_section([source("memory", memory=[row]), source("memory", memory=[moved])], [])
    assert made is not None
    assert made.lead[0] == f"{OLD} → {NEW}: of 1 row 1 shifted."
    parts = {"weights", "workspace", "reserve", "tensors", "dropout", "total"}
    assert parts <= {column.title for column in made.tables[1].columns}


def test_a_machine_that_is_none_says_so(tmp_path: Path) -> None:
    device = {**scene.GPU, "driver_version": 12080, "emulated": True}
    folder = scene.folder(tmp_path / "a", "accuracy", NEW, {}, device=device)
    told = section(report(folder, out=tmp_path)[2], "machine")
    assert told["emulated"]
    (machine,) = told["tables"][1]["rows"]
    assert machine["gpu"] == "A card (EMULATED)"


def test_two_libraries_of_one_name_are_told_apart_at_the_top(tmp_path: Path) -> None:
    sides = {"asked": "/a/libcudnn.so", "name": "9.28.0"}
    folder = scene.upgrade(tmp_path / "u")
    run = json.loads((folder / "run.json").read_text("utf-8"))
    run["release"] = {**sides, "against": {**sides, "asked": "/b/libcudnn.so"}}
    (folder / "run.json").write_text(json.dumps(run), "utf-8")
    data = {**scene.upgrade_json(), "release_a": "9.28.0", "release_b": "9.28.0"}
    (folder / "upgrade.json").write_text(json.dumps(data), "utf-8")
    notes = report(folder, out=tmp_path)[2]["notes"]
    assert "(a) is /a/libcudnn.so, (b) is /b/libcudnn.so." in notes


def test_what_fails_stands_first_and_a_bench_has_no_stages_of_its_own() -> None:
    ends = ("passed", "unsupported", "failed")
    rows = [scene.shared(NEW, end, stage="build", outcome=end) for end in ends]
    made = stages_section([source("stages", stages=rows)], [])
    assert made is not None
    assert [r["outcome"] for r in made.tables[0].rows] == [*reversed(ends)]
    assert "stages" in pictures([source("stages", stages=rows)])
    bench = source("bench", timings=scene.timings(NEW, {"x": 1e-3}), stages=rows)
    assert stages_section([bench], []) is None
    assert pictures([bench]).keys() == {"time"}


def test_a_step_of_the_history_is_repeated_from_old_to_new() -> None:
    step = {"release_a": OLD, "release_b": NEW, "call": "c", "change": "newly_accepted", "rows": 1}
    made = atlas_section([source("atlas", atlas_steps=[step])], [])
    assert made is not None
    (row,) = made.tables[0].rows
    assert row["repeat"] == f"pyharness diff {OLD} {NEW}"
