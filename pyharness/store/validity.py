"""validity.parquet: one row a problem and call, written grid by grid in the order of the walk.

Words are dictionary-encoded, numbers plain, and columns that cannot be null say so: at a hundred
million rows the writer would otherwise cost more than the walk. Axis columns repeat with the grid's
period, so a row group that is a whole number of periods has them made once.
"""

from __future__ import annotations

import math
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pyharness.space.grid import Grid
from pyharness.spec.columns import AXIS_COLUMNS, SCHEMA_VERSION
from pyharness.spec.ledger import FAILED, Death, Ledger
from pyharness.spec.tables import TABLES
from pyharness.store.grid_columns import GridColumns, index_type
from pyharness.store.schema import VERSION_KEY, arrow_type

_LEAST_GROUP, _MOST_GROUP = 1 << 18, 1 << 20
_INDEX_TYPES = {"status": pa.uint8(), "reason": pa.int32()}
_OUTCOMES = ("passed", "unsupported", "failed")
_TOO_MANY_STATUSES = "(a status beyond the most that are kept)"


def group_rows(shape: tuple[int, ...]) -> int:
    """Rows of a row group: as many whole periods of the inner axes as fit.

    Returns  between 262,144 and 1,048,576 where the grid allows it; the grid's size if it is less.
    """
    rows = 1
    for count in reversed(shape):
        if rows * count > _MOST_GROUP:
            divisors = (d for d in range(_MOST_GROUP // rows, 0, -1) if count % d == 0)
            rows *= next(divisors)
            break
        rows *= count
    return rows if rows >= min(_LEAST_GROUP, math.prod(shape)) else _MOST_GROUP >> 1


class ValidityWriter:
    """Writes the rows of several grids into one file, in order; leaving the block ends the file.

    ``schema``  the file's: the columns of every table, and the axes of any grid in it.
    """

    def __init__(self, path: Path, release: str, grids: tuple[Grid, ...], ledger: Ledger) -> None:
        self._release = release
        self._ledger = ledger
        axes = [{a.name for a in g.call.axes} for g in grids]
        self._columns = [
            c
            for c in TABLES["validity"]
            if c not in AXIS_COLUMNS
            or any(c.name in own or (c.name == "proj_rule" and "proj_size" in own) for own in axes)
        ]
        nullable = {"status", "status_code", "reason"}
        fields = []
        for c in self._columns:
            everywhere = c not in AXIS_COLUMNS or all(
                c.name in own or (c.name == "proj_rule" and "proj_size" in own) for own in axes
            )
            kind = arrow_type(c)
            if c.type == "string":
                kind = pa.dictionary(_INDEX_TYPES.get(c.name) or index_type(grids, c.name), kind)
            fields.append(pa.field(c.name, kind, c.name in nullable or not everywhere))
        self.schema = pa.schema(fields, {VERSION_KEY: str(SCHEMA_VERSION).encode()})
        self._writer = pq.ParquetWriter(
            path,
            self.schema,
            compression="lz4",
            use_dictionary=[c.name for c in self._columns if c.type == "string"],
            write_statistics=False,
        )

    def __enter__(self) -> ValidityWriter:
        """The writer itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Writes the file's footer, unless the rows in it are not all that there should be."""
        if kind is not None:
            self._writer.is_open = False  # a footer for a full disk would fail once more
        self._writer.close()

    def write(
        self,
        columns: GridColumns,
        begin: int,
        codes: NDArray[np.uint8],
        text_ids: NDArray[np.uint16] | None,
        deaths: dict[int, Death],
    ) -> None:
        """Writes rows [begin, begin + len(codes)) of a grid as one row group."""
        count, call = len(codes), columns.grid.call
        made: dict[str, pa.Array] = {
            "release": _constant(self._release, count),
            "call": _constant(call.name, count),
            "stage": _constant(call.stage, count),
            "provenance": _constant("observed", count),
            **self._answers(begin, codes, text_ids, deaths),
        }
        arrays = []
        for c, field in zip(self._columns, self.schema, strict=True):
            array = made[c.name] if c.name in made else columns.of_run(c.name, begin, count)
            if array is None:
                array = pa.nulls(count, field.type)
            arrays.append(array)
        self._writer.write_table(
            pa.Table.from_arrays(arrays, schema=self.schema), row_group_size=count
        )

    def _answers(
        self,
        begin: int,
        codes: NDArray[np.uint8],
        text_ids: NDArray[np.uint16] | None,
        deaths: dict[int, Death],
    ) -> dict[str, pa.Array]:
        ledger = self._ledger
        statuses = list(ledger.statuses)  # the walk goes on meanwhile, and may learn more
        names = [ledger.names.get(s, str(s)) for s in statuses]
        here = {r - begin: d for r, d in deaths.items() if begin <= r < begin + len(codes)}
        failed = codes == FAILED
        died = failed if failed.any() else None
        numbers = np.zeros(256, np.int32)
        numbers[: len(names)] = statuses
        outcome = np.full(256, 2, np.int8)
        for code, name in enumerate(names):
            outcome[code] = outcome_of(name)
        outcomes = outcome[codes]
        if text_ids is not None:
            # An accepted row has a text only where it reads back otherwise than it was set.
            outcomes[(outcomes == 0) & (text_ids != 0)] = 2
        return {
            "status": pa.DictionaryArray.from_arrays(pa.array(codes, mask=died), pa.array(names)),
            "status_code": pa.array(numbers[codes], mask=died),
            "outcome": pa.DictionaryArray.from_arrays(pa.array(outcomes), pa.array(_OUTCOMES)),
            "reason": self._reasons(failed, text_ids, here),
        }

    def _reasons(
        self,
        failed: NDArray[np.bool_],
        text_ids: NDArray[np.uint16] | None,
        here: dict[int, Death],
    ) -> pa.Array:
        count, texts = len(failed), list(self._ledger.texts)
        if text_ids is None and not failed.any():
            return pa.DictionaryArray.from_arrays(pa.nulls(count, pa.int32()), pa.array(texts))
        ids = np.zeros(count, np.int32) if text_ids is None else text_ids.astype(np.int32)
        ids[failed] = len(texts)
        texts.append(_TOO_MANY_STATUSES)
        for place, death in here.items():
            ids[place] = len(texts)
            texts.append(f"the worker ended: {death.cause}")
        return pa.DictionaryArray.from_arrays(pa.array(ids, mask=ids == 0), pa.array(texts))


def outcome_of(name: str) -> int:
    """The index into passed, unsupported, failed for a status' name.

    A status that the library itself has no name for is a defect, not an answer.
    """
    if name == "SUCCESS":
        return 0
    return 2 if name.lstrip("-").isdigit() else 1


def _constant(word: str, count: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int8)), pa.array([word]))
