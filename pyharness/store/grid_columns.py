"""The axis columns of a grid as Arrow arrays, made once for each period of the grid."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pyharness.space.grid import Grid
from pyharness.spec.axes import PROJ_RULES, resolve_proj_size
from pyharness.spec.columns import AXIS_COLUMNS, Column

_KEPT_COLUMNS = 32


def index_type(grids: tuple[Grid, ...], axis: str) -> pa.DataType:
    """The narrowest type that numbers the values of an axis in every grid."""
    most = max(
        (
            len(v)
            for g in grids
            for a, v in zip(g.call.axes, g.values, strict=True)
            if a.name == axis
        ),
        default=0,
    )
    return pa.int8() if most < 128 else pa.int16() if most < 32768 else pa.int32()


Places = Callable[[str], NDArray[np.int64]]  # an axis' name -> the index of its value in each row


class GridColumns:
    """The axis columns of one grid, for any rows, in the types of a file's schema."""

    def __init__(self, grid: Grid, schema: pa.Schema) -> None:
        self.grid = grid
        self._schema = schema
        self._names = [a.name for a in grid.call.axes]
        self._strides = [math.prod(grid.shape[i + 1 :]) for i in range(len(grid.shape))]
        self._kept: OrderedDict[tuple[str, int, int], pa.Array] = OrderedDict()
        self._makers = {c.name: self._maker(c) for c in AXIS_COLUMNS if self._has(c.name)}

    def _has(self, column: str) -> bool:
        return column in self._names or (column == "proj_rule" and "proj_size" in self._names)

    def of_rows(self, name: str, rows: NDArray[np.int64]) -> pa.Array | None:
        """A column for these rows; None if the call has no such axis."""
        if name not in self._makers:
            return None

        def places(axis: str) -> NDArray[np.int64]:
            at = self._names.index(axis)
            return rows // self._strides[at] % self.grid.shape[at]

        return self._makers[name][1](places)

    def of_run(self, name: str, begin: int, count: int) -> pa.Array | None:
        """A column for rows [begin, begin + count); None if the call has no such axis."""
        if name not in self._makers:
            return None
        axes, make = self._makers[name]
        # What the column holds depends on where in its period the run begins, and if the axis it
        # depends on stands still over the run, only on the value there.
        outer = min(self._names.index(a) for a in axes)
        stride = self._strides[outer]
        phase = begin % (stride * self.grid.shape[outer])
        if len(axes) == 1 and phase // stride == (phase + count - 1) // stride:
            phase = phase // stride * stride
        key = (name, phase, count)
        if key not in self._kept:
            self._kept[key] = make(lambda axis: self._run_places(axis, phase, count))
            if len(self._kept) > _KEPT_COLUMNS:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]

    def _run_places(self, axis: str, begin: int, count: int) -> NDArray[np.int64]:
        at = self._names.index(axis)
        stride, size = self._strides[at], self.grid.shape[at]
        if begin // stride == (begin + count - 1) // stride:
            return np.full(count, begin // stride % size, np.int64)
        return np.arange(begin, begin + count, dtype=np.int64) // stride % size

    def _maker(self, column: Column) -> tuple[list[str], Callable[[Places], pa.Array]]:
        if column.name in ("proj_size", "proj_rule"):
            return self._proj_maker(column)
        at = self._names.index(column.name)
        axis, values = self.grid.call.axes[at], self.grid.values[at]
        if column.type == "string":
            words = pa.array([axis.label(v) for v in values], pa.string())
            index = self._schema.field(column.name).type.index_type
            return [column.name], lambda places: pa.DictionaryArray.from_arrays(
                pa.array(places(column.name), index), words
            )
        numbers = np.array([axis.number(v) for v in values])
        if column.type == "int32":
            numbers = numbers.astype(np.int32)
        return [column.name], lambda places: pa.array(numbers[places(column.name)])

    def _proj_maker(self, column: Column) -> tuple[list[str], Callable[[Places], pa.Array]]:
        rules = self.grid.values[self._names.index("proj_size")]
        if column.name == "proj_rule":
            names = {v: n for n, v in PROJ_RULES.items()}
            words = [*PROJ_RULES, "given"]
            of_rule = np.array([words.index(names.get(r, "given")) for r in rules])
            return ["proj_size"], lambda places: pa.DictionaryArray.from_arrays(
                pa.array(of_rule[places("proj_size")].astype(np.int8)), pa.array(words)
            )
        hidden = self.grid.values[self._names.index("hidden_size")]
        sizes = np.array([[resolve_proj_size(r, h) for r in rules] for h in hidden], np.int32)
        return ["hidden_size", "proj_size"], lambda places: pa.array(
            sizes[places("hidden_size"), places("proj_size")]
        )
