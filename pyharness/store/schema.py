"""Arrow schemas of the declared tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pyharness.errors import UsageError
from pyharness.spec.columns import SCHEMA_VERSION, Column
from pyharness.spec.tables import TABLES
from pyharness.store.files import replacing

_TYPES = {
    "string": pa.string(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float64": pa.float64(),
}
VERSION_KEY = b"pyharness.schema"
_BATCH = 50_000  # rows that are held as Python objects


def arrow_type(column: Column) -> pa.DataType:
    """The Arrow type of a column."""
    return _TYPES[column.type]


def table_schema(table: str) -> pa.Schema:
    """The schema of a table with all its columns."""
    return pa.schema(
        [pa.field(c.name, arrow_type(c)) for c in TABLES[table]],
        metadata={VERSION_KEY: str(SCHEMA_VERSION).encode()},
    )


def migrated(read: pa.Table, table: str) -> pa.Table:
    """A table that was read, as this schema has it: what later schemas brought is null.

    Raises  UsageError if it is of a newer schema.
    """
    version = int((read.schema.metadata or {}).get(VERSION_KEY, SCHEMA_VERSION))
    if version > SCHEMA_VERSION:
        raise UsageError(
            f"the table {table} has schema {version}",
            f"this pyharness reads up to schema {SCHEMA_VERSION}: upgrade it",
        )
    for column in TABLES[table]:
        if version < column.since and column.name not in read.column_names:
            nulls = pa.nulls(read.num_rows, arrow_type(column))
            read = read.append_column(column.name, nulls)
    return read


def write_rows(path: Path, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes a table from rows, some at a time; a column that a row lacks is null there.

    Raises  HarnessError if the disk is full.
    """
    schema = table_schema(table)
    left = iter(rows)
    with (
        replacing(path) as scratch,
        pq.ParquetWriter(scratch, schema, compression="zstd") as writer,
    ):
        batch = list(islice(left, _BATCH))
        while True:
            columns = {f.name: pa.array([r.get(f.name) for r in batch], f.type) for f in schema}
            writer.write_table(pa.table(columns, schema=schema))
            batch = list(islice(left, _BATCH))
            if not batch:
                break
