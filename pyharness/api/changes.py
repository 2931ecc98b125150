"""changes.parquet: one row for each problem that changed between two maps, or in a drift run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pyharness.analyze.comparison import Group
from pyharness.analyze.map_diff import CallDiff, MapDiff
from pyharness.errors import UsageError
from pyharness.space.grid import from_labels
from pyharness.spec.columns import AXIS_COLUMNS
from pyharness.spec.tables import TABLES
from pyharness.store.atlas import FoldedGrid
from pyharness.store.files import replacing, write_json
from pyharness.store.folds import write_folds
from pyharness.store.grid_columns import GridColumns
from pyharness.store.schema import table_schema

_BLOCK = 1 << 20
_AXES = {c.name for c in AXIS_COLUMNS}


def write_diff(diff: MapDiff, text: str, data: dict[str, Any], folder: Path) -> None:
    """Writes all that a diff leaves: changes.parquet, both maps folded, diff.txt and diff.json.

    ``text``, ``data``  the diff in words and as plain data, see present.diff.
    Raises  UsageError if the folder holds a map or a diff of something else; HarnessError if the
            disk is full. Each file is there whole or not at all.
    """
    refuse_other(folder, data)
    write_changes(diff, folder)
    write_folds(_folds(diff), folder)
    with replacing(folder / "diff.txt") as scratch:
        scratch.write_text(text + "\n", "utf-8")
    write_json(folder / "diff.json", data)


def _folds(diff: MapDiff) -> list[tuple[str, FoldedGrid]]:
    """The answers of both sides, over the problems compared."""
    return [
        (release, FoldedGrid(from_labels(c.call, c.axes), part.classes, part.quotient, names))
        for side, release in enumerate((diff.release_a, diff.release_b))
        for c in diff.calls
        for part, names in c.folds[side : side + 1]
    ]


def refuse_other(folder: Path, data: Mapping[str, Any] | None) -> None:
    """Sees that a folder is free for a diff.

    ``data``  the diff that is to go there; None: not made yet, so that only a map is in the way.
    Raises    UsageError if it holds a map, or a diff of other releases or problems.
    """
    if (folder / "run.json").exists():
        raise UsageError(f"{folder} holds a map", "give another --out")
    earlier = folder / "diff.json"
    if data is None or not earlier.exists():
        return
    try:
        there = json.loads(earlier.read_text("utf-8"))
        same = _identity(there) == _identity(data)
    except (ValueError, KeyError, TypeError):
        same = False
    if not same:
        raise UsageError(f"{folder} holds another diff", "give another --out, or remove the folder")


def _identity(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(side["release"]["name"], side["space"]) for side in data["sides"]]


def write_changes(diff: MapDiff, folder: Path) -> Path:
    """Writes the table into a folder.

    Returns  its path.
    Raises   HarnessError if the disk is full; nothing is left then.
    """
    path = folder / "changes.parquet"
    plain = table_schema("changes")
    # Words as dictionaries: millions of rows repeat a few of them.
    fields = [
        pa.field(f.name, pa.dictionary(pa.int32(), f.type)) if f.type == pa.string() else f
        for f in plain
    ]
    schema = pa.schema(fields, plain.metadata)
    with (
        replacing(path) as scratch,
        pq.ParquetWriter(scratch, schema, compression="zstd") as writer,
    ):
        for call in diff.calls:
            for table in _tables(diff, call, schema):
                writer.write_table(table)
        if diff.drift is not None:
            table = pa.Table.from_pylist([dict(row) for row in diff.drift.rows], plain)
            writer.write_table(table.cast(schema))
    return path


def _tables(diff: MapDiff, call: CallDiff, schema: pa.Schema) -> Iterator[pa.Table]:
    columns = GridColumns(from_labels(call.call, call.axes), schema)
    groups = {g.label: g for g in call.comparison.groups}
    flat = call.comparison.labels.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        places = np.flatnonzero(block)
        if not len(places):
            continue
        arrays = []
        for column, field in zip(TABLES["changes"], schema, strict=True):
            if column.name in _AXES:
                array = columns.of_rows(column.name, places + start)
                array = pa.nulls(len(places), field.type) if array is None else array
            elif column.since > 1:  # of a drift run alone
                array = pa.nulls(len(places), field.type)
            else:
                words = {n: _word(diff, call, g, column.name) for n, g in groups.items()}
                array = _by_label(block[places], words)
            arrays.append(array.cast(field.type))
        yield pa.Table.from_arrays(arrays, schema=schema)


def _word(diff: MapDiff, call: CallDiff, group: Group, column: str) -> str | None:
    words: dict[str, str | None] = {
        "release_a": diff.release_a,
        "release_b": diff.release_b,
        "call": call.call,
        "stage": call.stage,
        "change": group.change,
        "status_a": group.status_a,
        "status_b": group.status_b,
        "reason_a": group.reason_a,
        "reason_b": group.reason_b,
        "conditions": " or ".join(group.words),
        "provenance": "observed",
    }
    return words[column]


def _by_label(labels: NDArray[np.uint16], words: Mapping[int, str | None]) -> pa.Array:
    """A column of words, one for each row's label."""
    distinct = sorted({w for w in words.values() if w is not None})
    places = np.full(max(words) + 1, -1, np.int32)
    for label, word in words.items():
        if word is not None:
            places[label] = distinct.index(word)
    indices = places[labels]
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, mask=indices < 0), pa.array(distinct, pa.string())
    )
