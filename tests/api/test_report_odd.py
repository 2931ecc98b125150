"""Rows and folders that are odd: the report is made, and says what it could not show."""

from __future__ import annotations

import json
import math
import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pyharness.api.reporting import write_report
from pyharness.present.charts import accuracy as accuracy_charts
from pyharness.present.charts.parts import problem_labels
from pyharness.present.report.model import Source
from pyharness.present.report.validity import validity_section
from pyharness.present.report.verdict import change_section
from pyharness.present.units import visible_text
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


def test_a_chart_that_vega_refuses_stops_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = SimpleNamespace(to_dict=lambda: {"planted": 1})
    monkeypatch.setattr(accuracy_charts, "accuracy_chart", lambda *_, **__: refused)
    rows = {"accuracy": scene.accuracy(NEW, [1e-4])}
    found = made(scene.folder(tmp_path / "a", "accuracy", NEW, rows), tmp_path / "out")
    (chart,) = found["accuracy"]["charts"]
    assert chart["about"].startswith("not drawn: ValueError: ")
    assert "not drawn: ValueError: " in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_a_change_that_next_to_nothing_would_hide_is_below_a_bound(tmp_path: Path) -> None:
    rows = [{**time_change("hidden_size=1", 1.1, "slower"), "visible": 1e-9}]
    folder = scene.folder(tmp_path / "t", "time", NEW, {"time_changes": rows})
    assert made(folder, tmp_path / "out")["time"]["lead"][0].endswith(
        "The smallest change that every case would have shown: below 0.01%."
    )
    assert visible_text(1e-4) == "0.01%"


def of_release(folder: Path, release: dict[str, Any]) -> None:
    told = json.loads((folder / "run.json").read_text("utf-8"))
    (folder / "run.json").write_text(json.dumps({**told, "release": release}), "utf-8")


def test_a_library_is_spelled_in_one_way(tmp_path: Path) -> None:
    """Two of one version are (a) and (b), also where a folder knows the path alone."""
    paths = {"old": "/old/libcudnn.so.9", "new": "/new/libcudnn.so.9"}
    folder = scene.upgrade(tmp_path / "u")
    told = {side: {"asked": path, "path": path, "name": path} for side, path in paths.items()}
    release = {**told["old"], "against": told["new"]}
    of_release(folder, release)
    data = json.loads((folder / "upgrade.json").read_text("utf-8"))
    data |= {"release_a": "9.28.0", "release_b": "9.28.0"}
    (folder / "upgrade.json").write_text(json.dumps(data), "utf-8")
    for side, path in paths.items():
        named = {**told[side], "name": "9.28.0"}
        tables = {"memory": scene.memory(path, {"x": 1024})}
        of_release(scene.folder(folder / "memory" / side, "memory", path, tables), told[side])
        tables = {"accuracy": scene.accuracy("9.28.0", [1e-4])}
        of_release(scene.folder(folder / "accuracy" / side, "accuracy", path, tables), named)
    found = made(folder, tmp_path / "out")
    assert found[""]["title"] == "cuDNN 9.28.0 (a) → 9.28.0 (b)"
    assert found["memory"]["lead"][0].startswith("9.28.0 (a) → 9.28.0 (b): ")
    rows = found["accuracy"]["tables"][0]["rows"]
    assert {(r["side"], r["release"]) for r in rows} == {
        (f"9.28.0 ({letter})", "9.28.0") for letter in "ab"
    }
    assert {r["repeat"].split()[3] for r in rows} == set(paths.values())
    folders = found["machine"]["tables"][0]["rows"]
    assert [r["releases"] for r in folders] == [
        "9.28.0 (a), 9.28.0 (b)",
        *["9.28.0 (a)", "9.28.0 (b)"] * 2,
    ]


def test_a_problem_of_a_log_is_named_once_by_what_is_not_its_default() -> None:
    main, rest = "algo=standard cell_mode=lstm", "hidden_size=64 bias_mode=single_inp_bias"
    words = f"{main} direction_mode=unidirectional {rest}"
    shared = {"for_worse": True, "call": "", "problems": 1, "times": 3, "problem": words}
    findings = [
        {
            **shared,
            "change": "slower",
            "name": words,
            "before": "20 µs",
            "after": "22 µs",
            "conditions": [],
            "values": {"pass": p, "mode": "hot", "ratio": 1.1, "ratio_low": 1.0, "ratio_high": 1.2},
        }
        for p in ("forward_training", "backward_data")
    ]
    evidence = {"counts": {"slower": 2}, "findings": findings, "commands": [], "notes": ["a note"]}
    question = {"question": "time", "evidence": [evidence], "commands": []}
    source = Source("upgrade", Path("u"), "u", {}, {}, {"questions": [question]})
    section = change_section([source], [])
    assert section is not None
    (step,) = section.steps
    assert step.what == f"{main} {rest}, 3 calls of the log"
    assert list(step.parts) == [
        f"{p} hot, 10.00% slower (ratio 1.000 to 1.200): 20 µs → 22 µs"
        for p in ("forward training", "backward data")
    ]
    assert section.lead == ["Time: a note"]


ANSWERS = ("better", "same", "worse", "mixed", "inconclusive", "not_measured")


@pytest.mark.parametrize(
    ("answer", "word"),
    list(zip(ANSWERS, ["passed", "failed", "inconclusive"] * 2, strict=True)),
)
def test_the_three_files_say_the_same(tmp_path: Path, word: str, answer: str) -> None:
    folder = scene.upgrade(tmp_path / "u", word)
    told = json.loads((folder / "upgrade.json").read_text("utf-8"))
    told["questions"][0]["word"] = answer
    told["gate"]["requirements"][0]["why"] = "because"
    (folder / "upgrade.json").write_text(json.dumps(told), "utf-8")
    page, markdown, data = (p.read_text("utf-8") for p in write_report([folder], tmp_path / "out"))
    found = json.loads(data)
    (question, *rest) = found["questions"]
    assert (found["word"], question["word"]) == (word, answer)
    shown = {"failed": "worse"}.get(word, word)
    said = answer.replace("_", " ")
    top = page[: page.index("<main")]
    assert re.search(rf'class="stamp">.*{shown}', top)
    cards = re.findall(r'class="answer">(.*?)</p>', top)
    assert [re.sub("<[^>]+>", "", card)[2:] for card in cards] == [said, *["not measured"] * 4]
    assert f"{shown.upper()}**: " in markdown
    asked = "|".join(q["question"] for q in found["questions"])
    answers = dict(re.findall(rf"^\| ({asked}) \| \S+ ([a-z ]+) \|", markdown, re.MULTILINE))
    assert answers["validity"] == said
    assert {answers[q["question"]] for q in rest} == {"not measured"}
    assert (found["gate"][0]["word"], found["gate"][0]["why"]) == (word, "because")
    assert "because" in top
    assert f"{word} (because)" in markdown


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
