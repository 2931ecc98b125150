"""The answers that ship with the package: those of the atlas, read back, and refused if damaged."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyharness.api.atlas_files import history_data
from pyharness.api.known import known_history
from pyharness.errors import HarnessError
from pyharness.spec.problem import parse_problem
from pyharness.store.atlas import Atlas, read_atlas
from pyharness.store.known_answers import SHIPPED, read_known, write_known

RESULTS = Path(__file__).parents[2] / "results"
SOURCES = {"full.json": "atlas", "sizes.json": "atlas-sizes"}


def atlas_of(folder: str) -> Atlas:
    found = read_atlas(RESULTS / folder)
    assert found is not None
    return found


@pytest.mark.parametrize("name", SOURCES)
def test_what_ships_is_what_lies_in_results(name: str) -> None:
    assert json.loads((SHIPPED / name).read_text()) == history_data(atlas_of(SOURCES[name])), (
        f"run: pyharness atlas --releases RELEASE_IN_IT --out results/{SOURCES[name]} "
        f"--known {SHIPPED / name}"
    )


def test_every_release_is_in_both_and_all_of_it_is_small() -> None:
    full, sizes = (atlas_of(folder) for folder in SOURCES.values())
    assert full.names == sizes.names
    assert len(full.names) >= 59
    assert sum(f.stat().st_size for f in SHIPPED.iterdir()) < 120_000
    for folder in SOURCES.values():
        files = [f for f in (RESULTS / folder).iterdir() if f.name != ".lock"]
        assert sum(f.stat().st_size for f in files) < 300_000
        assert all(e["failures"] == [] for e in atlas_of(folder).releases)


def test_statuses_are_those_of_the_atlas() -> None:
    atlas = atlas_of("atlas")
    (known,) = [k for k in read_known() if k.space == atlas.space.name]
    for grid in atlas.space.grids:
        call = known.calls[grid.call.name]
        assert call.grid == grid
        rows = range(0, grid.size, max(1, grid.size // 211))
        for at, name in enumerate(atlas.names):
            fold = atlas.folds.get((name, grid.call.name))
            assert (call.of_release[at] is None) == (fold is None)
            if fold is not None:
                for row in rows:
                    places = grid.digits(row)
                    assert call.status(at, places) == fold.status(places)


def test_reading_needs_no_table_library() -> None:
    code = (
        "import sys; from pyharness.api.known import known_history\n"
        "from pyharness.spec.problem import parse_problem\n"
        "assert known_history(parse_problem([])).answers\n"
        "assert not {'pyarrow', 'pandas', 'scipy', 'altair'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def shorter(data: dict[str, Any]) -> None:
    data["calls"][0]["answers"][0]["cells"] = data["calls"][0]["answers"][0]["cells"][1:]


def nameless(data: dict[str, Any]) -> None:
    data["calls"][0]["answers"][0]["statuses"].popitem()


def no_such_answer(data: dict[str, Any]) -> None:
    data["calls"][0]["of_release"][0] = 99


def fewer_releases(data: dict[str, Any]) -> None:
    data["releases"].pop()


def other_axes(data: dict[str, Any]) -> None:
    data["calls"][0]["labels"]["algo"].pop()


def newer(data: dict[str, Any]) -> None:
    data["schema_version"] = 99


@pytest.mark.parametrize(
    "harm", [shorter, nameless, no_such_answer, fewer_releases, other_axes, newer]
)
def test_a_damaged_file_is_refused(tmp_path: Path, harm: Callable[[dict[str, Any]], None]) -> None:
    data = json.loads((SHIPPED / "sizes.json").read_text())
    write_known(tmp_path / "sizes.json", data)
    assert known_history(parse_problem([]), read_known(tmp_path)).answers
    harm(data)
    write_known(tmp_path / "sizes.json", data)
    with pytest.raises(HarnessError, match=r"sizes\.json, which ships with pyharness, is damaged"):
        read_known(tmp_path)


def test_a_torn_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "full.json").write_text((SHIPPED / "full.json").read_text()[:5_000])
    with pytest.raises(HarnessError, match="damaged"):
        read_known(tmp_path)
