"""Arrow schemas of the declared tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pyharness.spec.columns import SCHEMA_VERSION, TABLES, Column
from pyharness.store.files import replacing

_TYPES = {
    "string": pa.string(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float64": pa.float64(),
}
VERSION_KEY = b"pyharness.schema"


def arrow_type(column: Column) -> pa.DataType:
    """The Arrow type of a column."""
    return _TYPES[column.type]


def table_schema(table: str) -> pa.Schema:
    """The schema of a table with all its columns."""
    return pa.schema(
        [pa.field(c.name, arrow_type(c)) for c in TABLES[table]],
        metadata={VERSION_KEY: str(SCHEMA_VERSION).encode()},
    )


def write_rows(path: Path, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes a small table from rows; a column that a row lacks is null there.

    Raises  HarnessError if the disk is full.
    """
    schema = table_schema(table)
    data = pa.table(
        {f.name: pa.array([r.get(f.name) for r in rows], f.type) for f in schema}, schema=schema
    )
    with replacing(path) as scratch:
        pq.write_table(data, scratch, compression="zstd")
