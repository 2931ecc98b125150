"""validity.parquet, written in pieces of any size, is the table of nested loops."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.space.grid import Grid, make_grid
from pyharness.spec.calls import call_named
from pyharness.spec.columns import AXIS_COLUMNS, SCHEMA_VERSION
from pyharness.spec.ledger import FAILED, Death, Ledger
from pyharness.spec.tables import TABLES
from pyharness.store.grid_columns import GridColumns
from pyharness.store.schema import VERSION_KEY, table_schema, write_rows
from pyharness.store.validity import ValidityWriter, group_rows
from tests.doubles import rules

GRIDS = (
    make_grid(
        call_named("cudnnSetRNNDescriptor_v8"),
        {
            "algo": "-1..4",
            "data_type": "float,24",
            "hidden_size": "-7,0,5,2147483647",
            "proj_size": "same,half,over,-3,2147483647",
            "num_layers": "1..3",
            "dropout": "all",
        },
    ),
    make_grid(call_named("cudnnRNNSetClip_v9"), {"cell_mode": "all", "lclip": "-inf,nan,0.1"}),
    make_grid(
        call_named("cudnnSetRNNDataDescriptor"),
        {"seq_lengths": "[3,2],equal,[1,1]", "batch_size": "2"},
    ),
)
STATUSES = [0, 2000, 12345, -5]
NAMES = {0: "SUCCESS", 2000: "BAD_PARAM", 12345: "12345", -5: "-5"}
TEXTS = ["", "reason one", "reason two"]


def ledger() -> Ledger:
    """A ledger that knows the statuses and texts of these tests."""
    made = Ledger()
    for status in STATUSES:
        made.code(status)
    for text in TEXTS:
        made.text_id(text)
    made.names.update(NAMES)
    return made


def axis_cells(grid: Grid) -> list[dict[str, Any]]:
    """The axis columns of every row, by nested loops; None where the call has no such axis."""
    rows = []
    for values in product(*grid.values):
        row: dict[str, Any] = {c.name: None for c in AXIS_COLUMNS}
        for axis, value in zip(grid.call.axes, values, strict=True):
            word = axis.label(value)
            real = axis.name in ("lclip", "rclip")
            row[axis.name] = float(word) if real else int(word) if axis.numeric else word
        if row["proj_size"] is not None:
            word = row["proj_size"]
            row["proj_rule"] = word if word in ("same", "half", "over") else "given"
            row["proj_size"] = rules.proj_size(word, row["hidden_size"])
        rows.append(row)
    return rows


def same(found: Any, expected: Any) -> bool:
    """Equality for which nan is nan."""
    if isinstance(expected, float) and math.isnan(expected):
        return isinstance(found, float) and math.isnan(found)
    return bool(found == expected)


@pytest.mark.parametrize("group", [7, 60, 100, 10_000])
@pytest.mark.parametrize("explained", [False, True])
def test_every_cell_of_every_grid(tmp_path: Path, group: int, explained: bool) -> None:
    rng = np.random.default_rng(group)
    expected: list[dict[str, Any]] = []
    with ValidityWriter(tmp_path / "v.parquet", "9.1.0+cu12", GRIDS, ledger()) as writer:
        for grid in GRIDS:
            codes = rng.integers(0, len(STATUSES), grid.size).astype(np.uint8)
            texts = rng.integers(0, len(TEXTS), grid.size).astype(np.uint16)
            dead = set(rng.choice(grid.size, grid.size // 8, replace=False).tolist())
            deaths = {r: Death(r, f"signal {r % 3}", "") for r in dead}
            codes[list(dead)] = FAILED
            columns = GridColumns(grid, writer.schema)
            for begin in range(0, grid.size, group):
                part = slice(begin, begin + group)
                writer.write(
                    columns, begin, codes[part], texts[part] if explained else None, deaths
                )
            for row, cells in enumerate(axis_cells(grid)):
                text = TEXTS[texts[row]] if explained else ""
                status = None if row in dead else STATUSES[codes[row]]
                good = status == 0 and not text
                known = status in (0, 2000) and not (status == 0 and text)
                expected.append(
                    {
                        "release": "9.1.0+cu12",
                        "call": grid.call.name,
                        "stage": grid.call.stage,
                        **cells,
                        "status": None if status is None else NAMES[status],
                        "status_code": status,
                        "outcome": "passed" if good else "unsupported" if known else "failed",
                        "reason": f"the worker ended: {deaths[row].cause}"
                        if row in dead
                        else text or None,
                        "provenance": "observed",
                    }
                )
    found = pq.read_table(tmp_path / "v.parquet").to_pylist()
    assert len(found) == len(expected)
    for got, due in zip(found, expected, strict=True):
        for name in due:
            if name in got:
                assert same(got[name], due[name]), (name, got, due)
            else:
                assert due[name] is None, f"{name} was left out"


def test_columns_that_no_grid_has_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    with ValidityWriter(path, "r", GRIDS[1:2], ledger()):
        pass
    schema = pq.read_schema(path)
    assert schema.names == [
        *("release", "call", "stage", "cell_mode", "clip_mode", "lclip", "rclip"),
        *("status", "status_code", "outcome", "reason", "provenance"),
    ]
    assert schema.metadata[VERSION_KEY] == str(SCHEMA_VERSION).encode()


def test_what_failed_half_way_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    with pytest.raises(RuntimeError), ValidityWriter(path, "r", GRIDS, ledger()):
        raise RuntimeError
    with pytest.raises(Exception, match="Parquet"):
        pq.read_table(path)


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=6))
def test_row_groups_are_whole_periods(shape: list[int]) -> None:
    rows, size = group_rows(tuple(shape)), math.prod(shape)
    assert 1 <= rows <= 1 << 20
    if size <= 1 << 20:
        assert rows == size
    else:
        assert rows >= 1 << 18


def test_a_small_table_has_every_declared_column(tmp_path: Path) -> None:
    path = tmp_path / "costs.parquet"
    write_rows(path, "costs", [{"call": "f", "rows": 3}, {"median_s": 0.5}])
    table = pq.read_table(path)
    assert table.schema.equals(table_schema("costs"), check_metadata=True)
    assert table.column_names == [c.name for c in TABLES["costs"]]
    assert [r["rows"] for r in table.to_pylist()] == [3, None]
    assert [r["median_s"] for r in table.to_pylist()] == [None, 0.5]
