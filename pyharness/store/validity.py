"""validity.parquet: one row a problem and call, written grid by grid in the order of the walk.

Words are dictionary-encoded, numbers plain, and columns that cannot be null say so: at a hundred
million rows the writer would otherwise cost more than the walk. Axis columns repeat with the grid's
period, so a row group that is a whole number of periods has them made once.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pyharness.space.grid import Grid
from pyharness.spec.axes import PROJ_RULES, resolve_proj_size
from pyharness.spec.columns import AXIS_COLUMNS, SCHEMA_VERSION, TABLES, Column
from pyharness.spec.ledger import FAILED, Death, Ledger
from pyharness.store.schema import VERSION_KEY, arrow_type

_LEAST_GROUP, _MOST_GROUP = 1 << 18, 1 << 21
_KEPT_COLUMNS = 64
_INDEX_TYPES = {"status": pa.uint8(), "reason": pa.int32()}
_OUTCOMES = ("passed", "unsupported", "failed")


def group_rows(shape: tuple[int, ...]) -> int:
    """Rows of a row group: as many whole periods of the inner axes as fit.

    Returns  between 262,144 and 2,097,152 where the grid allows it; the grid's size if it is less.
    """
    rows = 1
    for count in reversed(shape):
        if rows * count > _MOST_GROUP:
            divisors = (d for d in range(_MOST_GROUP // rows, 0, -1) if count % d == 0)
            rows *= next(divisors)
            break
        rows *= count
    return rows if rows >= min(_LEAST_GROUP, math.prod(shape)) else _MOST_GROUP >> 1


def _index_type(grids: tuple[Grid, ...], axis: str) -> pa.DataType:
    """The narrowest type that numbers the values of an axis in every grid."""
    most = max(
        (len(v) for g in grids for a, v in zip(g.call.axes, g.values, strict=True) if a.name == axis),
        default=0,
    )
    return pa.int8() if most < 128 else pa.int16() if most < 32768 else pa.int32()


class GridColumns:
    """The axis columns of one grid, for any run of rows, in the types of a file's schema."""

    def __init__(self, grid: Grid, schema: pa.Schema) -> None:
        self.grid = grid
        self._schema = schema
        self._names = [a.name for a in grid.call.axes]
        self._strides = [math.prod(grid.shape[i + 1 :]) for i in range(len(grid.shape))]
        self._kept: OrderedDict[tuple[str, int, int], pa.Array] = OrderedDict()
        self._makers = {c.name: self._maker(c) for c in AXIS_COLUMNS if self._has(c.name)}

    def _has(self, column: str) -> bool:
        return column in self._names or (column == "proj_rule" and "proj_size" in self._names)

    def column(self, name: str, begin: int, count: int) -> pa.Array | None:
        """A column over rows [begin, begin + count); None if the call has no such axis."""
        maker = self._makers.get(name)
        if maker is None:
            return None
        axes, make = maker
        # What the column holds depends on where in its period the run begins, and if the slowest
        # axis it depends on stands still over the run, only on the value there.
        outer = min(self._names.index(a) for a in axes)
        stride = self._strides[outer]
        period = stride * self.grid.shape[outer]
        phase = begin % period
        if len(axes) == 1 and phase // stride == (phase + count - 1) // stride:
            phase = phase // stride * stride  # one value throughout
        key = (name, phase, count)
        if key not in self._kept:
            self._kept[key] = make(phase, count)
            if len(self._kept) > _KEPT_COLUMNS:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]

    def places(self, axis: str, begin: int, count: int) -> NDArray[np.int64]:
        """The index of the axis' value in each row: int64 [count]."""
        at = self._names.index(axis)
        stride, size = self._strides[at], self.grid.shape[at]
        if begin // stride == (begin + count - 1) // stride:
            return np.full(count, begin // stride % size, np.int64)
        return np.arange(begin, begin + count, dtype=np.int64) // stride % size

    def _maker(self, column: Column) -> tuple[list[str], Callable[[int, int], pa.Array]]:
        if column.name in ("proj_size", "proj_rule"):
            return self._proj_maker(column)
        at = self._names.index(column.name)
        axis, values = self.grid.call.axes[at], self.grid.values[at]
        if column.type == "string":
            words = pa.array([axis.label(v) for v in values], pa.string())
            index = self._schema.field(column.name).type.index_type
            return [column.name], lambda begin, count: pa.DictionaryArray.from_arrays(
                pa.array(self.places(column.name, begin, count), index), words
            )
        numbers = np.array([axis.number(v) for v in values])
        if column.type == "int32":
            numbers = numbers.astype(np.int32)
        return [column.name], lambda begin, count: pa.array(
            numbers[self.places(column.name, begin, count)]
        )

    def _proj_maker(self, column: Column) -> tuple[list[str], Callable[[int, int], pa.Array]]:
        rules = self.grid.values[self._names.index("proj_size")]
        if column.name == "proj_rule":
            names = {v: n for n, v in PROJ_RULES.items()}
            words = [*PROJ_RULES, "given"]
            of_rule = np.array([words.index(names.get(r, "given")) for r in rules])
            return ["proj_size"], lambda begin, count: pa.DictionaryArray.from_arrays(
                pa.array(of_rule[self.places("proj_size", begin, count)].astype(np.int8)),
                pa.array(words),
            )
        hidden = self.grid.values[self._names.index("hidden_size")]
        sizes = np.array([[resolve_proj_size(r, h) for r in rules] for h in hidden], np.int32)
        return ["hidden_size", "proj_size"], lambda begin, count: pa.array(
            sizes[
                self.places("hidden_size", begin, count), self.places("proj_size", begin, count)
            ]
        )


class ValidityWriter:
    """Writes the rows of several grids into one file, in order.

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
                kind = pa.dictionary(_INDEX_TYPES.get(c.name) or _index_type(grids, c.name), kind)
            fields.append(pa.field(c.name, kind, c.name in nullable or not everywhere))
        self.schema = pa.schema(fields, {VERSION_KEY: str(SCHEMA_VERSION).encode()})
        self._writer = pq.ParquetWriter(
            path,
            self.schema,
            compression="lz4",
            use_dictionary=[c.name for c in self._columns if c.type == "string"],
            write_statistics=False,
        )

    def close(self) -> None:
        """Writes the file's footer."""
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
            array = made[c.name] if c.name in made else columns.column(c.name, begin, count)
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
        names = [ledger.names.get(s, str(s)) for s in ledger.statuses]
        here = {r - begin: d for r, d in deaths.items() if begin <= r < begin + len(codes)}
        died = codes == FAILED if here else None
        numbers = np.zeros(256, np.int32)
        numbers[: len(names)] = ledger.statuses
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
            "outcome": pa.DictionaryArray.from_arrays(
                pa.array(outcomes), pa.array(_OUTCOMES)
            ),
            "reason": self._reasons(len(codes), text_ids, here),
        }

    def _reasons(
        self, count: int, text_ids: NDArray[np.uint16] | None, here: dict[int, Death]
    ) -> pa.Array:
        texts = list(self._ledger.texts)
        if text_ids is None and not here:
            return pa.DictionaryArray.from_arrays(
                pa.nulls(count, pa.int32()), pa.array(texts)
            )
        ids = np.zeros(count, np.int32) if text_ids is None else text_ids.astype(np.int32)
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
