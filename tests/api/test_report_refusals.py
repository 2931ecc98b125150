"""Reports that cannot be made, or not in full: told in words, and nothing is left half written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pyharness.api import reporting
from pyharness.api.reporting import write_report
from pyharness.errors import HarnessError, UsageError
from tests.api import report_scene as scene
from tests.cli import test_main
from tests.cli.test_main import Run

run = test_main.run  # the fixture
NEW = "9.13.0.50+cu12"


def _newer(folder: Path) -> None:
    told = json.loads((folder / "run.json").read_text("utf-8"))
    (folder / "run.json").write_text(json.dumps({**told, "schema_version": 99}), "utf-8")


def _without_verdict(folder: Path) -> None:
    scene.folder(folder, "upgrade")
    told = json.loads((folder / "run.json").read_text("utf-8"))
    (folder / "run.json").write_text(json.dumps({**told, "state": "interrupted"}), "utf-8")


def _emptied(folder: Path) -> Path:
    for path in folder.iterdir():
        path.unlink()
    return folder


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda f: (f / "run.json").unlink(), "holds tables, but no run.json"),
        (_emptied, "holds no result of pyharness"),
        (lambda f: (_emptied(f) / "report.json").write_text("{}", "utf-8"), "holds a report"),
        (lambda f: (f / "run.json").write_text("{", "utf-8"), "run.json cannot be read"),
        (lambda f: (f / "run.json").write_text("[]", "utf-8"), "run.json cannot be read"),
        (lambda f: (f / "run.json").write_text('{"kind": "bench"}', "utf-8"), "has no"),
        (lambda f: (f / "accuracy.parquet").write_bytes(b"PAR1"), "cannot be read"),
        (_newer, "written by a newer pyharness"),
        (lambda f: scene.folder(f, "dance"), "of kind 'dance'"),
        (lambda f: scene.folder(f, "upgrade"), "upgrade.json cannot be read"),
        (_without_verdict, "has no verdict yet (interrupted)"),
    ],
)
def test_a_folder_that_is_no_result(
    tmp_path: Path, run: Run, spoil: Callable[[Path], object], said: str
) -> None:
    folder = scene.folder(
        tmp_path / "a", "accuracy", NEW, {"accuracy": scene.accuracy(NEW, [1e-4])}
    )
    spoil(folder)
    out = tmp_path / "out"
    answer = run("report", folder, "--out", out)
    assert answer.code == 2
    assert said in answer.err
    assert "Traceback" not in answer.err
    assert not out.exists()


def test_no_folder_at_all(tmp_path: Path, run: Run) -> None:
    answer = run("report", tmp_path / "none")
    assert answer.code == 2
    assert "is no folder" in answer.err
    with pytest.raises(UsageError, match="no folder is given"):
        write_report([], tmp_path)


def test_nothing_is_left_where_a_part_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> str:
        raise HarnessError("planted")

    monkeypatch.setattr(reporting, "report_data", broken)
    folder = scene.upgrade(tmp_path / "u")
    with pytest.raises(HarnessError, match="planted"):
        write_report([folder], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_says_where_and_prints_json(tmp_path: Path, run: Run) -> None:
    folder = scene.upgrade(tmp_path / "u")
    answer = run("report", folder)
    assert answer.code == 0
    assert answer.out.split() == [str(folder / f"report.{e}") for e in ("html", "md", "json")]
    answer = run("report", folder, "--json", "--out", tmp_path / "out")
    assert json.loads(answer.out)["word"] == "failed"


def test_without_charts_packages_there_is_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporting, "find_spec", lambda _: None)
    rows = scene.accuracy(NEW, [1e-4])
    folder = scene.folder(tmp_path / "a", "accuracy", NEW, {"accuracy": rows})
    page, _, told = write_report([folder], tmp_path / "out")
    data = json.loads(told.read_text("utf-8"))
    assert "window.vegaEmbed" not in page.read_text("utf-8")
    assert all(section["charts"] == [] for section in data["sections"])
    assert any("charts" in note for note in data["notes"])
