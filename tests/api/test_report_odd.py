"""Rows and folders that are odd: the report is made, and says what it could not show."""

from __future__ import annotations

import json
import math
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from pyharness.api.reporting import write_report
from pyharness.present.charts import accuracy as accuracy_charts
from pyharness.present.charts.parts import problem_labels
from pyharness.present.report.model import Source
from pyharness.present.report.validity import validity_section
from tests.api import report_scene as scene
from tests.present.charts.rows import every, time_change

NEW = "9.13.0.50+cu12"
KINDS = {
    "timings": "bench",
    "time_changes": "time",
    "trade_offs": "repeatability",
    "accuracy": "accuracy",
    "drift": "drift",
}


def made(folder: Path, out: Path) -> dict[str, Any]:
    data = json.loads(write_report([folder], out)[2].read_text("utf-8"))
    return {section["id"]: section for section in data["sections"]} | {"": data}


def test_a_chart_that_cannot_be_drawn_stops_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("planted")

    monkeypatch.setattr(accuracy_charts, "accuracy_chart", broken)
    rows = {"accuracy": scene.accuracy(NEW, [1e-4])}
    found = made(scene.folder(tmp_path / "a", "accuracy", NEW, rows), tmp_path / "out")
    (chart,) = found["accuracy"]["charts"]
    assert chart["about"] == "not drawn: KeyError: 'planted'"
    assert len(found["accuracy"]["tables"][0]["rows"]) == 1
    assert "not drawn: KeyError" in (tmp_path / "out" / "report.html").read_text("utf-8")


@pytest.mark.parametrize("odd", [math.inf, math.nan, None])
@pytest.mark.parametrize("table", KINDS)
def test_numbers_that_are_none(tmp_path: Path, table: str, odd: float | None) -> None:
    rows = [
        {k: odd if isinstance(v, float) else v for k, v in row.items()} for row in every()[table]
    ]
    found = made(scene.folder(tmp_path / "a", KINDS[table], NEW, {table: rows}), tmp_path / "out")
    assert not [
        chart["about"]
        for name, section in found.items()
        if name
        for chart in section["charts"]
        if chart["about"].startswith("not drawn")
    ]


def test_an_infinite_error_is_told(tmp_path: Path) -> None:
    rows = scene.accuracy(NEW, [1e-4, math.inf])
    folder = scene.folder(tmp_path / "a", "accuracy", NEW, {"accuracy": rows})
    found = made(folder, tmp_path / "out")
    assert [r["max_rel"] for r in found["accuracy"]["tables"][0]["rows"]] == ["inf", 1e-4]
    assert "inf" in (tmp_path / "out" / "report.md").read_text("utf-8")


def test_two_libraries_of_one_name(tmp_path: Path) -> None:
    """The commands ask for the paths, not for what both are called."""
    paths = ["/a b/libcudnn.so.9", "/c/libcudnn.so.9"]
    row = {**time_change("hidden_size=1", 1.1, "slower"), "release_a": "9.28.0 (a)"}
    folder = scene.folder(tmp_path / "t", "time", "9.28.0", {"time_changes": [row]})
    run = json.loads((folder / "run.json").read_text("utf-8"))
    old, new = ({"asked": path, "name": "9.28.0"} for path in paths)
    run["release"] = {**old, "against": new}
    (folder / "run.json").write_text(json.dumps(run), "utf-8")
    repeat = made(folder, tmp_path / "out")["time"]["tables"][0]["rows"][0]["repeat"]
    assert shlex.split(repeat) == ["pyharness", "time", *paths, "hidden_size=1"]


def test_a_diff_of_two_libraries_of_one_name_has_two_sides() -> None:
    fold = {
        "release": "9.28.0",
        "call": "c",
        "axes": [("x", ("1", "2"))],
        "classes": [[0, 1]],
        "statuses": ["SUCCESS", "BAD_PARAM"],
    }
    folds = [{**fold, "cells": [0, 0]}, {**fold, "cells": [0, 1]}]
    names = {"release_a": "9.28.0", "release_b": "9.28.0", "space": "clip"}
    section = validity_section([Source("diff", Path("d"), "d", {}, {}, names, folds)])
    assert section is not None
    assert [(r["release"], r["accepted"]) for r in section.tables[0].rows] == [
        ("9.28.0 (a)", 2),
        ("9.28.0 (b)", 1),
    ]
    assert list(section.commands) == []  # one name asks for neither


def test_problems_of_a_log_are_told_apart_by_what_differs() -> None:
    shared = " ".join(f"axis_{n}=value" for n in range(9))
    problems = [f"algo=standard cell_mode={cell} {shared}" for cell in ("gru", "lstm")]
    labels = problem_labels([{"problem": p, "name": p} for p in problems])
    assert list(labels.values()) == ["cell_mode=gru", "cell_mode=lstm"]


def test_no_column_looks_like_another_part_of_the_page(tmp_path: Path) -> None:
    """A cell has its column's key as a class: only ``td.key`` may be a rule for it."""
    rows = {"time_changes": every()["time_changes"]}
    found = made(scene.folder(tmp_path / "a", "time", NEW, rows), tmp_path / "out")
    keys = {column["key"] for column in found["time"]["tables"][0]["columns"]}
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    style = page[page.index("<style>") : page.index("</style>")]
    assert "verdict" in keys
    assert not keys & set(re.findall(r"(?<!td)\.([a-z_]+)", style))
