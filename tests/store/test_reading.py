"""Result folders read back: what is in them, and what is wrong with them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyharness.api.mapping import MapOptions, map_release
from pyharness.errors import UsageError
from pyharness.releases import Release
from pyharness.space.grid import Grid, Space, make_grid
from pyharness.spec.calls import SET_CLIP_V8, SET_CLIP_V9, SET_RNN_DESCRIPTOR
from pyharness.spec.columns import SCHEMA_VERSION
from pyharness.spec.ledger import FAILED
from pyharness.spec.tables import TABLES
from pyharness.store.manifest import Manifest
from pyharness.store.reading import MapFolder, read_frame, read_rows
from pyharness.store.schema import VERSION_KEY, write_rows
from tests.doubles import rules

# Two grids of the same size, so that rows of one can be mistaken for rows of the other.
CLIP = {"cell_mode": "lstm", "clip_mode": "0..2", "lclip": "-1,0,nan", "rclip": "-1,0"}
SIZES = {"hidden_size": "64,666,672", "num_layers": "1,0", "aux_flags": "0..2"}

FORGOTTEN = "hidden_size 672 reads back as 673"


@pytest.fixture(scope="module")
def made(fake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished map of three grids, with the reason of every row."""
    grids = (
        make_grid(SET_RNN_DESCRIPTOR, SIZES),
        make_grid(SET_CLIP_V8, CLIP),
        make_grid(SET_CLIP_V9, CLIP),
    )
    folder = tmp_path_factory.mktemp("made") / "map"
    release = Release("9.13.0.50", 12, fake, "path")
    map_release(release, Space("three", grids), folder, MapOptions(1, reasons="all"))
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(made, tmp_path / "map"))


def answers(grid: Grid) -> list[tuple[Any, Any]]:
    """(status, reason) of each row of a grid, by the rules of the fake library.

    The status is None where a worker died or the library does not keep what it accepts.
    """
    found: list[tuple[Any, Any]] = []
    for row in range(grid.size):
        at = grid.at(row)
        if grid.call is SET_RNN_DESCRIPTOR:
            answer = rules.descriptor({**at, "proj_size": grid.words(row)["proj_size"]})
            if answer == rules.ACCEPTED and at["hidden_size"] == 672:  # it keeps another number
                answer = FORGOTTEN
        else:
            words = grid.words(row)
            answer = rules.clip(at["clip_mode"], float(words["lclip"]), float(words["rclip"]))
        if answer is FORGOTTEN:
            found.append((None, FORGOTTEN))
        elif isinstance(answer, str):
            found.append((None, f"the worker ended: {answer}"))
        else:
            found.append((rules.NAMES[answer[0]], answer[1]))
    return found


def test_every_grid_is_read_as_the_library_answered(made: Path) -> None:
    map_folder = MapFolder(made)
    assert [g.size for g in map_folder.grids] == [18, 18, 18]
    for grid in map_folder.grids:
        read = map_folder.statuses(grid)
        assert read.codes.shape == grid.shape
        assert read.text_ids is not None
        assert read.text_ids.shape == grid.shape
        found = [
            (None if code == FAILED else read.names[code], read.texts[text] or None)
            for code, text in zip(read.codes.reshape(-1), read.text_ids.reshape(-1), strict=True)
        ]
        assert found == answers(grid), grid.call.name


def test_row_groups_of_any_size_are_put_together(folder: Path) -> None:
    whole = MapFolder(folder)
    before = [whole.statuses(g) for g in whole.grids]
    rewrite(folder, [slice(0, 7), slice(7, 18), slice(18, 36), slice(36, 37), slice(37, 54)])
    split = MapFolder(folder)
    for old, grid in zip(before, split.grids, strict=True):
        new = split.statuses(grid)
        assert new.text_ids is not None
        assert old.text_ids is not None
        assert np.array_equal(old.codes, new.codes)
        texts = [old.texts[t] for t in old.text_ids.reshape(-1)]
        assert texts == [new.texts[t] for t in new.text_ids.reshape(-1)]


def test_reasons_that_were_not_kept_are_not_read(fake: Path, tmp_path: Path) -> None:
    space = Space("one", (make_grid(SET_RNN_DESCRIPTOR, SIZES),))
    map_release(Release("9.13.0.50", 12, fake, "path"), space, tmp_path / "m", MapOptions(1))
    read = MapFolder(tmp_path / "m")
    assert read.statuses(read.grids[0]).text_ids is None
    assert read.rows_of("no_such_table") == []
    found = [(r["status"], r["reason"]) for r in read.rows_of("reasons")]
    assert set(found) == {a for a in answers(read.grids[0]) if a[0] not in ("SUCCESS", None)}


def test_a_call_that_the_release_lacks_has_no_grid(folder: Path) -> None:
    change(folder, absent_calls=["cudnnRNNSetClip_v9"])
    assert [g.call for g in MapFolder(folder).grids] == [SET_RNN_DESCRIPTOR, SET_CLIP_V8]


def change(folder: Path, **values: Any) -> None:
    """Writes other values into run.json."""
    path = folder / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def rewrite(folder: Path, groups: list[slice]) -> None:
    """Writes validity.parquet anew with these rows as its row groups."""
    path = folder / "validity.parquet"
    table = pq.read_table(path)
    with pq.ParquetWriter(path, table.schema) as writer:
        for rows in groups:
            writer.write_table(table.slice(rows.start, rows.stop - rows.start).combine_chunks())


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is no result folder: it has no run\.json"):
        MapFolder(tmp_path)
    with pytest.raises(UsageError, match="is no result folder"):
        MapFolder(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("values", "message", "hint"),
    [
        ({"state": "running"}, r"is not finished \(running\)", "goes on where it stopped"),
        ({"state": "stopped"}, r"is not finished \(stopped\)", "goes on where it stopped"),
        ({"kind": "sweep"}, "holds a sweep, not a map", ""),
        (
            {"schema_version": 999, "tool_version": "7.0"},
            r"was written by a newer pyharness \(7\.0\)",
            "upgrade it",
        ),
        ({"no_such_field": 1}, "cannot be read", "damaged"),
    ],
)
def test_a_run_that_cannot_be_used(
    folder: Path, values: dict[str, Any], message: str, hint: str
) -> None:
    change(folder, **values)
    for read in (MapFolder, read_frame):
        with pytest.raises(UsageError, match=message) as caught:
            read(folder)
        assert hint in caught.value.hint


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"schema_version": 1}', "\x80"])
def test_a_run_that_is_no_run(folder: Path, text: str) -> None:
    (folder / "run.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match="cannot be read"):
        MapFolder(folder)


@pytest.mark.parametrize(
    "groups",
    [
        [slice(18, 36), slice(36, 54)],  # the first is missing, the next is of the same size
        [slice(0, 18), slice(36, 54)],
        [slice(0, 18), slice(18, 36)],
        [slice(0, 18), slice(18, 36), slice(36, 53)],
        [slice(0, 18), slice(18, 36), slice(36, 54), slice(36, 54)],
        [slice(0, 54)],  # one row group over all grids
        [slice(0, 20), slice(20, 54)],
        [],
    ],
    ids=str,
)
def test_a_table_with_other_rows_than_the_manifest_says(folder: Path, groups: list[slice]) -> None:
    rewrite(folder, groups)
    damaged = MapFolder(folder)
    for grid in damaged.grids:
        with pytest.raises(UsageError, match=r"has \d+ rows .* its manifest says") as caught:
            damaged.statuses(grid)
        assert "damaged" in caught.value.hint


@pytest.mark.parametrize("harm", ["gone", "cut", "text"])
def test_a_table_that_cannot_be_read(folder: Path, harm: str) -> None:
    path = folder / "validity.parquet"
    content = path.read_bytes()
    path.unlink()
    if harm != "gone":
        path.write_bytes(content[: len(content) // 2] if harm == "cut" else b"not a table")
    damaged = MapFolder(folder)
    with pytest.raises(UsageError, match=r"validity\.parquet"):
        damaged.statuses(damaged.grids[0])
    with pytest.raises(UsageError, match=r"validity\.parquet"):
        read_frame(folder)


def test_a_frame_has_the_table_as_it_is(made: Path) -> None:
    frame = read_frame(made)
    table = pq.read_table(made / "validity.parquet")
    assert list(frame.columns) == table.column_names
    rows = [r for grid in MapFolder(made).grids for r in answers(grid)]
    statuses = frame.status.astype(object).where(frame.status.notna(), None).tolist()
    assert statuses == ["SUCCESS" if why == FORGOTTEN else status for status, why in rows]
    assert (frame.outcome == "failed").tolist() == [status is None for status, _ in rows]
    whole = [f.name for f in table.schema if f.type == pa.int32()]
    assert {str(frame[n].dtype) for n in whole} == {"Int32"}
    assert frame.hidden_size.isna().sum() == 36
    assert frame.hidden_size.dropna().unique().tolist() == [64, 666, 672]
    assert read_frame(made, "costs").call.nunique() == 3


def test_a_manifest_is_read_as_it_was_written(made: Path) -> None:
    manifest = MapFolder(made).manifest
    assert isinstance(manifest, Manifest)
    assert (manifest.kind, manifest.state, manifest.reasons) == ("map", "complete", "all")
    assert manifest.results["rows"] == 54
    assert manifest.as_data() == json.loads((made / "run.json").read_text())


def test_an_older_table_is_read_as_this_schema_has_it(tmp_path: Path) -> None:
    kept = Path(__file__).parents[2] / "results" / "upgrades"
    folder = kept / "9.0.0.312-cu12..9.1.0.70-cu12" / "host-ede88be6a1f9"  # written by schema 1
    there = pq.read_table(folder / "changes.parquet").slice(0, 100)
    pq.write_table(there, tmp_path / "changes.parquet")
    found = read_rows(tmp_path, "changes")
    names = [c.name for c in TABLES["changes"]]
    new = [c.name for c in TABLES["changes"] if c.since > 1]
    assert set(new) == set(names) - set(there.column_names) != set()
    assert list(found[0]) == names
    assert {row[name] for row in found for name in new} == {None}
    assert [{n: row[n] for n in there.column_names} for row in found] == there.to_pylist()


def test_a_table_of_a_newer_schema_is_refused(tmp_path: Path) -> None:
    write_rows(tmp_path / "drift.parquet", "drift", [{"name": "a"}])
    assert read_rows(tmp_path, "drift")[0]["name"] == "a"
    table = pq.read_table(tmp_path / "drift.parquet")
    newer = {VERSION_KEY: str(SCHEMA_VERSION + 1).encode()}
    pq.write_table(table.replace_schema_metadata(newer), tmp_path / "drift.parquet")
    with pytest.raises(UsageError, match=f"table drift has schema {SCHEMA_VERSION + 1}"):
        read_rows(tmp_path, "drift")
