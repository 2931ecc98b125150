"""Rows reach the table in order, whatever order they were found in, while the walk goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from pyharness.api import stream as stream_module
from pyharness.api.stream import RowStream
from pyharness.spec.ledger import Death
from pyharness.store.journal import Journal
from pyharness.store.validity import ValidityWriter
from tests.doubles.walking import descriptors

GROUP = 60
GRID = descriptors(hidden_size="1..10", num_layers="1..60", aux_flags="all")


def status_of(row: int) -> int:
    """The status of a row in these tests: each row group has one of its own beside the common."""
    return row // GROUP if row % 7 == 0 else 1000 + row % 3


@pytest.mark.parametrize("seed", range(4))
def test_tasks_that_come_in_any_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(stream_module, "group_rows", lambda _shape: GROUP)
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(np.arange(1, GRID.size), 25, replace=False))
    tasks = list(zip([0, *cuts], [*cuts, GRID.size], strict=True))
    rng.shuffle(tasks)
    journal = Journal(tmp_path, (GRID,), with_texts=True)
    ledger, (grid,) = journal.ledger, journal.grids
    path = tmp_path / "table.parquet"
    with (
        ValidityWriter(path, "r", (GRID,), ledger) as writer,
        RowStream(writer, grid) as stream,
    ):
        for begin, end in tasks:
            rows = range(int(begin), int(end))
            if len(rows) == 1:
                grid.death(rows[0], Death(0, f"signal {rows[0]}", ""))
            else:
                codes = np.array([ledger.code(status_of(r)) for r in rows], np.uint8)
                texts = np.array([ledger.text_id(f"text {r % 5}") for r in rows], np.uint16)
                grid.rows(rows[0], codes, texts)
                ledger.names.update({s: f"NAME_{s}" for s in ledger.unnamed()})
            stream.write_ready()
    journal.close()
    dead = {int(begin) for begin, end in tasks if end - begin == 1}
    found = pq.read_table(path).to_pylist()
    assert len(found) == GRID.size
    for row, cells in enumerate(found):
        if row in dead:
            assert (cells["status"], cells["reason"]) == (None, f"the worker ended: signal {row}")
        else:
            assert (cells["status_code"], cells["status"], cells["reason"]) == (
                status_of(row),
                f"NAME_{status_of(row)}",
                f"text {row % 5}",
            )
        assert cells["num_layers"] == row // 2 % 60 + 1
        assert cells["hidden_size"] == row // 120 + 1
    with pq.ParquetFile(path) as file:
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    assert sizes == [GROUP] * (GRID.size // GROUP)


def test_what_has_a_gap_before_it_is_not_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path, (GRID,), with_texts=False)
    (grid,) = journal.grids
    code = journal.ledger.code(0)
    journal.ledger.names[0] = "SUCCESS"
    path = tmp_path / "table.parquet"
    with (
        ValidityWriter(path, "r", (GRID,), journal.ledger) as writer,
        RowStream(writer, grid) as stream,
    ):
        grid.rows(0, np.full(100, code, np.uint8), None)
        grid.rows(101, np.full(500, code, np.uint8), None)
        stream.write_ready()
    journal.close()
    assert pq.read_metadata(path).num_rows == 100


def test_an_error_of_the_writing_thread_reaches_the_walk(tmp_path: Path) -> None:
    journal = Journal(tmp_path, (GRID,), with_texts=False)
    (grid,) = journal.grids
    grid.codes[:] = 3  # a code that the ledger has no status for
    grid._done.append((0, GRID.size))
    with ValidityWriter(tmp_path / "table.parquet", "r", (GRID,), journal.ledger) as writer:
        stream = RowStream(writer, grid)
        stream.__enter__()
        with pytest.raises(Exception, match="out of bounds"):
            stream.__exit__(None, None, None)
    journal.close()
