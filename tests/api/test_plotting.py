"""The pictures of a folder: which there are, and that each is whole or not there at all."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pyharness.api import plotting
from pyharness.api.accepted import COLUMNS, ROWS, axes_of, cells_of, map_grids
from pyharness.api.plotting import charts_of, write_chart, write_plots
from pyharness.errors import HarnessError, UsageError
from pyharness.present.charts.outcomes import stages_chart
from pyharness.spec.calls import CALLS
from pyharness.store.files import write_json
from pyharness.store.reading import read_frame
from pyharness.store.schema import write_rows
from tests.cli import test_main
from tests.cli.test_main import Run
from tests.present.charts.rows import every, timing
from tests.present.charts.test_charts import points

run = test_main.run  # the fixture
CALL = "cudnnSetRNNDescriptor_v8"


def folder_of(tmp_path: Path, kind: str, **tables: list[dict[str, Any]]) -> Path:
    """A result folder of this kind with these tables."""
    tmp_path.mkdir(exist_ok=True)
    write_json(tmp_path / "run.json", {"kind": kind})
    for table, rows in tables.items():
        write_rows(tmp_path / f"{table}.parquet", table, rows)
    return tmp_path


def test_each_table_has_its_pictures(tmp_path: Path) -> None:
    rows = every()
    tables = {t: rows[t] for t in ("repeatability", "trade_offs", "stages", "timings")}
    there = charts_of(folder_of(tmp_path, "repeatability", **tables))
    assert set(there) == {"repeatability", "trade-off", "stages", "time"}


def test_the_sides_of_a_bench_are_drawn_together(tmp_path: Path) -> None:
    for release, seconds in (("9.12", 1e-4), ("9.13", 2e-4)):
        rows = [timing("standard", 64, seconds, release)]
        folder_of(tmp_path / release, "bench", timings=rows)
    assert set(charts_of(tmp_path)) == {"time", "time-ratio"}
    assert set(charts_of(tmp_path / "9.12")) == {"time"}


def test_the_parts_of_an_upgrade_are_drawn_together(tmp_path: Path) -> None:
    folder_of(tmp_path, "upgrade")
    for side, release in (("old", "9.12"), ("new", "9.13")):
        for part, table in (("memory", "memory"), ("accuracy", "accuracy")):
            rows = [{**row, "release": release} for row in every(1)[table]]
            (tmp_path / part).mkdir(exist_ok=True)
            folder_of(tmp_path / part / side, part, **{table: rows})
    folder_of(tmp_path / "drift", "drift", drift=every(1)["drift"])
    (tmp_path / "plots").mkdir()
    charts = charts_of(tmp_path)
    assert set(charts) == {"memory", "accuracy", "accuracy-growth", "drift"}
    assert {p["group"] for p in points(charts["memory"])} == {"training, 9.12", "training, 9.13"}


def test_two_libraries_of_one_name_are_two_sides_the_old_one_first(tmp_path: Path) -> None:
    sides = {side: {"name": "9.28.0", "path": f"/{side}/libcudnn.so.9"} for side in ("old", "new")}
    write_json(
        tmp_path / "run.json",
        {"kind": "upgrade", "release": {**sides["old"], "against": sides["new"]}},
    )
    for side, own in sides.items():
        # Who weighs asks no library for its name.
        called = {"memory": own["path"], "stages": own["name"]}
        for part, table in (("memory", "memory"), ("stages", "stages")):
            rows = [{**row, "release": called[part]} for row in every(1)[table]]
            (tmp_path / part).mkdir(exist_ok=True)
            folder = folder_of(tmp_path / part / side, part, **{table: rows})
            release = {**own, "name": called[part]}
            write_json(folder / "run.json", {"kind": part, "release": release})
    charts = charts_of(tmp_path)
    groups = list(dict.fromkeys(p["group"] for p in points(charts["memory"])))
    assert groups == ["training, 9.28.0 (a)", "training, 9.28.0 (b)"]
    assert {p["panel"] for p in points(charts["stages"])} == {"9.28.0 (a)", "9.28.0 (b)"}


def _raises(_: object) -> None:
    raise KeyError("planted")


def _is_refused(_: object) -> SimpleNamespace:
    """A chart that is built, but that cannot be drawn."""
    return SimpleNamespace(to_dict=lambda: {"planted": 1})


@pytest.mark.parametrize(
    ("broken", "said"), [(_raises, "KeyError: 'planted'"), (_is_refused, "ValueError: ")]
)
def test_one_chart_that_cannot_be_drawn_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: Any, said: str
) -> None:
    monkeypatch.setitem(plotting._TABLES, "stages", {"stages": broken})
    rows = every(1)
    folder = folder_of(tmp_path / "a", "bench", **{t: rows[t] for t in ("stages", "memory")})
    plots = write_plots(folder)
    assert {path.stem for path in plots.paths} == {"memory"}
    assert all(path.is_file() for path in plots.paths)
    assert plots.failed.keys() == {"stages"}
    assert plots.failed["stages"].startswith(said)


@pytest.mark.parametrize("text", ["{", "[]", "{}"])
def test_a_folder_that_is_none(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="no result folder"):
        charts_of(tmp_path)
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(UsageError, match="cannot be read"):
        charts_of(tmp_path)


def test_a_kind_without_a_picture_has_none(tmp_path: Path) -> None:
    assert write_plots(folder_of(tmp_path, "replay")).paths == []
    assert not (tmp_path / "plots").exists()


def test_a_full_disk_leaves_no_half_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chart = stages_chart(every()["stages"])
    assert [p.name for p in write_chart(chart, tmp_path, "stages")] == ["stages.png", "stages.svg"]
    whole = (tmp_path / "stages.png").read_bytes()

    def full(path: Path, data: bytes) -> int:
        path.open("wb").close()
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(HarnessError, match="cannot take more data"):
        write_chart(chart, tmp_path, "stages")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["stages.png", "stages.svg"]
    assert (tmp_path / "stages.png").read_bytes() == whole


def test_cells_of_a_map_are_what_its_table_says(run: Run, fake: Path, tmp_path: Path) -> None:
    axes = ["algo=all", "cell_mode=lstm,7", "hidden_size=-1,64", "data_type=float,half"]
    words = [word for axis in axes for word in ("--axis", axis)]
    said = run("map", "--cudnn", fake, "--call", CALL, *words, "--out", tmp_path / "m")
    assert said.code == 0
    frame = read_frame(tmp_path / "m")
    frame = frame[frame["cell_mode"] != "7"]  # no enumerator
    counts = frame.groupby(["algo", "data_type"], observed=True)["outcome"]
    expected = {key: ((of == "passed").sum(), len(of)) for key, of in counts}
    (grid,) = map_grids(tmp_path / "m")
    cells = {
        (c["algo"], c["data_type"]): (c["accepted_a"], c["problems"])
        for c in cells_of([grid], ["algo", "data_type"])
    }
    assert cells == expected
    assert sum(accepted for accepted, _ in cells.values()) > 0
    with pytest.raises(UsageError, match="batch_size"):
        cells_of([grid], ["batch_size"])


def test_every_call_has_axes_of_its_own_picture() -> None:
    assert set(ROWS) == set(COLUMNS) == {call.name for call in CALLS}
    for call in CALLS:
        for axis in axes_of(call.name):
            call.axis(axis)
