"""Result folders read back: a map as arrays in grid order, and as a data frame."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pyharness.errors import UsageError
from pyharness.space.grid import Grid, from_labels
from pyharness.spec.ledger import FAILED
from pyharness.store.manifest import Manifest, read_manifest
from pyharness.store.schema import migrated

if TYPE_CHECKING:
    import pandas as pd

_DAMAGED = "the folder is damaged: map it again elsewhere"


@dataclass(frozen=True, slots=True)
class GridStatuses:
    """One grid of a map.

    Shapes   codes: uint8 of the grid's shape, an index into names, FAILED for a defect;
             text_ids: uint16 of the same, an index into texts, or None if reasons were not kept.
    """

    grid: Grid
    codes: NDArray[np.uint8]
    names: list[str]
    text_ids: NDArray[np.uint16] | None
    texts: list[str]


class MapFolder:
    """A finished map.

    Raises  UsageError if the folder holds none, or one that was interrupted.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest: Manifest = read_manifest(folder)
        if self.manifest.kind != "map":
            raise UsageError(f"{folder} holds a {self.manifest.kind}, not a map")
        if self.manifest.state != "complete":
            raise UsageError(
                f"the map in {folder} is not finished ({self.manifest.state})",
                "run the command that made it once more: it goes on where it stopped",
            )
        self.grids: list[Grid] = [
            from_labels(g["call"], g["axes"])
            for g in self.manifest.space["grids"]
            if g["call"] not in self.manifest.absent_calls
        ]

    def rows_of(self, table: str) -> list[dict[str, Any]]:
        """A small table as plain rows; none if the run did not write it."""
        return read_rows(self.folder, table)

    def statuses(self, grid: Grid) -> GridStatuses:
        """The statuses of one of its grids, and the reasons if they were kept for every row.

        Raises  UsageError if the table cannot be read, or has other rows than the manifest says.
        """
        with_reasons = self.manifest.reasons == "all"
        codes = np.empty(grid.size, np.uint8)
        ids = np.empty(grid.size, np.uint16) if with_reasons else None
        names: list[str] = []
        texts = [""]
        at = 0
        for batch in self._batches(grid, with_reasons):
            count = batch.num_rows
            if at + count > grid.size:
                raise self._damaged(at + count, f"of {grid.call.name}", grid.size)
            status = _indices(batch.column("status"), names, FAILED)
            outcome = batch.column("outcome")
            failed = outcome.dictionary.index("failed").as_py()
            status[np.asarray(outcome.indices) == failed] = FAILED
            codes[at : at + count] = status
            if ids is not None:
                ids[at : at + count] = _indices(batch.column("reason"), texts, 0)
            at += count
        if at != grid.size:
            raise self._damaged(at, f"of {grid.call.name}", grid.size)
        shape = grid.shape
        return GridStatuses(
            grid, codes.reshape(shape), names, None if ids is None else ids.reshape(shape), texts
        )

    def _batches(self, grid: Grid, with_reasons: bool) -> Iterator[pa.RecordBatch]:
        """The rows of a grid: those of its row groups, which hold one grid each."""
        columns = ["status", "outcome", *(["reason"] if with_reasons else [])]
        before = 0
        for own in self.grids:
            if own is grid:
                break
            before += own.size
        path, every = self.folder / "validity.parquet", sum(g.size for g in self.grids)
        with _readable(path), pq.ParquetFile(path) as file:
            if file.metadata.num_rows != every:
                raise self._damaged(file.metadata.num_rows, "in all", every)
            at = 0
            for group in range(file.metadata.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                if before <= at < before + grid.size:
                    table = file.read_row_group(group, columns=columns, use_threads=False)
                    yield table.combine_chunks().to_batches()[0]
                at += rows

    def _damaged(self, rows: int, which: str, expected: int) -> UsageError:
        return UsageError(
            f"{self.folder / 'validity.parquet'} has {rows:,} rows {which}, "
            f"its manifest says {expected:,}",
            _DAMAGED,
        )


def read_rows(folder: Path, table: str) -> list[dict[str, Any]]:
    """A small table of a result folder as plain rows; none if the run did not write it.

    Raises  UsageError if it cannot be read.
    """
    path = folder / f"{table}.parquet"
    if not path.exists():
        return []
    with _readable(path):
        return list(migrated(pq.read_table(path), table).to_pylist())


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turns what Arrow says of a file into an error of ours.

    Raises  UsageError if the file is not there or is no whole table.
    """
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise UsageError(f"{path} cannot be read: {error}", _DAMAGED) from error


def _indices(column: pa.DictionaryArray, known: list[str], null: int) -> NDArray[np.int64]:
    """A dictionary column as indices into ``known``, which grows; ``null`` where it is null."""
    words = column.dictionary.to_pylist()
    known.extend(w for w in words if w not in known)
    table = np.array([*(known.index(w) for w in words), null], np.int64)
    indices = column.indices.fill_null(len(words)) if column.null_count else column.indices
    found: NDArray[np.int64] = table[np.asarray(indices)]
    return found


def read_frame(folder: Path, table: str = "validity") -> pd.DataFrame:
    """A table of a map as a data frame, see ``table_frame``.

    Raises  UsageError if the folder holds no finished map, or its table cannot be read.
    """
    MapFolder(folder)
    return table_frame(folder, table)


def table_frame(folder: Path, table: str) -> pd.DataFrame:
    """A table as a data frame: words are categories where many repeat, whole numbers stay whole
    where some are null.

    Raises  UsageError if it cannot be read.
    """
    import pandas as pd  # noqa: PLC0415 - slow, and only for frames

    kinds = {pa.int32(): pd.Int32Dtype(), pa.int64(): pd.Int64Dtype()}
    path = folder / f"{table}.parquet"
    with _readable(path):
        read = migrated(pq.read_table(path), table)
        frame: pd.DataFrame = read.to_pandas(types_mapper=kinds.get)
    return frame
