"""Folded grids beside a diff: read back as written; tables that do not fit each other are told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from pyharness.errors import UsageError
from pyharness.space.grid import make_grid
from pyharness.spec.calls import call_named
from pyharness.spec.ledger import FAILED
from pyharness.store.atlas import FoldedGrid
from pyharness.store.folds import read_folds, write_folds


def folded(call: str, codes: list[int], **axes: str) -> FoldedGrid:
    """A fold in which the values of the one axis that has several are told apart."""
    grid = make_grid(call_named(call), axes)
    classes = tuple(np.arange(n) if n > 1 else np.zeros(1, np.intp) for n in grid.shape)
    return FoldedGrid(
        grid, classes, np.array(codes, np.uint8).reshape(grid.shape), ["SUCCESS", "X"]
    )


def test_folds_come_back_in_order(tmp_path: Path) -> None:
    """Two sides of one name too, and neighbours with the same call."""
    written = [
        ("9.1", folded("cudnnRNNSetClip_v8", [0, 1, FAILED], rclip="0.0,1.0,nan")),
        ("9.1", folded("cudnnRNNSetClip_v8", [1, 1, 0], rclip="0.0,1.0,nan")),
        ("9.2", folded("cudnnSetRNNDataDescriptor", [0, 1], batch_size="1,2")),
    ]
    write_folds(written, tmp_path)
    back = read_folds(tmp_path)
    assert [name for name, _ in back] == ["9.1", "9.1", "9.2"]
    for (_, a), (_, b) in zip(written, back, strict=True):
        assert a.grid == b.grid
        assert a.answers_as(b)


def test_a_folder_without_them_has_none(tmp_path: Path) -> None:
    assert read_folds(tmp_path) == []


@pytest.mark.parametrize("table", ["atlas", "atlas_axes"])
def test_a_table_that_lost_a_row_is_told(tmp_path: Path, table: str) -> None:
    write_folds([("9.1", folded("cudnnRNNSetClip_v8", [0, 1], rclip="0.0,1.0"))] * 2, tmp_path)
    path = tmp_path / f"{table}.parquet"
    rows = pq.read_table(path)
    pq.write_table(rows.slice(0, rows.num_rows - 1), path)
    with pytest.raises(UsageError, match="cannot be read"):
        read_folds(tmp_path)
