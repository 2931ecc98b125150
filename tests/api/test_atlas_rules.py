"""Rules of an atlas: they give every problem its status, equal answers share them, and they join
an atlas that has none without a library."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyharness.analyze.conditions import evaluate
from pyharness.api import atlas as atlas_module
from pyharness.api import atlas_rules
from pyharness.api.atlas import make_atlas
from pyharness.api.atlas_rules import add_rules, rules_of
from pyharness.api.ruling import rule_axes
from pyharness.releases import Release
from pyharness.space.grid import Space
from pyharness.space.presets import build_space
from pyharness.store.atlas import read_atlas

VERSIONS = ["9.12.0.46+cu12", "9.13.0.50+cu12", "9.28.0.42+cu12"]
DATA = "cudnnSetRNNDataDescriptor"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, cudnn: Callable[[str], Release]) -> Path:
    for version in VERSIONS:
        cudnn(version)
    data = build_space("data-core", None, ["data_type=float,bfloat16"])
    clip = build_space("clip", "cudnnRNNSetClip_v9", [])
    made = tmp_path_factory.mktemp("rules") / "a"
    make_atlas(VERSIONS, made, Space("some", (*data.grids, *clip.grids)))
    return made


def test_every_list_gives_every_problem_its_status(folder: Path) -> None:
    atlas = read_atlas(folder)
    assert atlas is not None
    for (release, call), fold in atlas.folds.items():
        rows = [r for r in atlas.of_release("atlas_rules", release) if r["call"] == call]
        assert [r["place"] for r in rows] == list(range(1, len(rows) + 1))
        assert {r["proven"] for r in rows} == {"yes"}
        assert sum(r["rows"] for r in rows) == fold.grid.size
        assert sum(r["rows"] for r in rows if r["status"] == "SUCCESS") == fold.counts()["SUCCESS"]
        rules = rules_of(fold).rules
        assert [(r["status"], r["conditions"]) for r in rows] == [
            (x.status, x.words) for x in rules
        ]
        decided = np.full(fold.grid.size, -1)
        axes = rule_axes(fold.grid)
        for place, rule in enumerate(rules):
            inside = np.concatenate([i for _, i in evaluate([rule.conditions], axes)])
            decided[(decided < 0) & inside] = place
        for row in range(fold.grid.size):
            assert rules[decided[row]].status == fold.status(fold.grid.digits(row))


def test_equal_answers_are_looked_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    atlas = read_atlas(folder)
    assert atlas is not None
    expected = atlas.rows["atlas_rules"]
    atlas.rows["atlas_rules"] = []
    real, asked = atlas_rules.rules_of, []

    def counted(fold: Any) -> Any:
        asked.append(fold.grid.call.name)
        return real(fold)

    monkeypatch.setattr(atlas_rules, "rules_of", counted)
    assert add_rules(atlas)
    assert atlas.rows["atlas_rules"] == expected
    # bfloat16 of 9.13 makes two kinds of data descriptors; clipping never changed
    assert sorted(asked) == ["cudnnRNNSetClip_v9", DATA, DATA]
    assert not add_rules(atlas)
    told = [
        [(r["status"], r["conditions"]) for r in rows if r["call"] == DATA]
        for _, rows in groupby(expected, lambda r: r["release"])
    ]
    assert told[0] != told[1] == told[2]


def test_an_older_atlas_gets_them_and_its_pages_with_no_library(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in folder.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    expected = (tmp_path / "atlas_rules.parquet").read_bytes()
    for name in ("atlas_rules.parquet", "README.md", "history.html"):
        (tmp_path / name).unlink()

    def never(*given: object) -> None:
        raise AssertionError(given)

    monkeypatch.setattr(atlas_module, "plan", never)
    monkeypatch.setattr(atlas_module, "map_release", never)
    atlas = read_atlas(folder)
    assert atlas is not None
    run = make_atlas(VERSIONS[:1], tmp_path, atlas.space)
    assert (run.added, run.kept, run.failed) == ([], VERSIONS[:1], [])
    for name in ("README.md", "history.html"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    again = read_atlas(tmp_path)
    assert again is not None
    assert again.rows == atlas.rows
    assert len((tmp_path / "atlas_rules.parquet").read_bytes()) == len(expected)
