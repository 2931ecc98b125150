"""The cells of a heat map, from a map, from two of them, or from what an atlas keeps."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from pyharness.analyze.accepted import accepted_cells
from pyharness.spec.axes import Axis
from pyharness.spec.calls import call_named
from pyharness.store.atlas import FoldedGrid
from pyharness.store.reading import MapFolder

# The axes that tell most of a call, an outer and an inner one each way.
ROWS: dict[str, tuple[str, ...]] = {
    "cudnnSetRNNDescriptor_v8": ("data_type", "math_prec"),
    "cudnnSetRNNDataDescriptor": ("data_type", "layout"),
    "cudnnRNNSetClip_v8": ("clip_mode", "lclip"),
    "cudnnRNNSetClip_v9": ("clip_mode", "lclip"),
    "cudnnSetTensorNdDescriptor": ("data_type",),
}
COLUMNS: dict[str, tuple[str, ...]] = {
    "cudnnSetRNNDescriptor_v8": ("algo", "cell_mode"),
    "cudnnSetRNNDataDescriptor": ("seq_lengths",),
    "cudnnRNNSetClip_v8": ("rclip",),
    "cudnnRNNSetClip_v9": ("rclip",),
    "cudnnSetTensorNdDescriptor": ("tensor", "strides"),
}


def axes_of(call: str) -> tuple[str, ...]:
    """The axes that the picture of a call has: rows and columns."""
    return (*ROWS[call], *COLUMNS[call])


def map_grids(folder: Path) -> list[FoldedGrid]:
    """The answers that a map's folder holds, call by call.

    Raises  UsageError if it holds no finished map, or a table that cannot be read.
    """
    found = MapFolder(folder)
    grids = []
    for grid in found.grids:
        told = found.statuses(grid)
        classes = tuple(np.arange(count) for count in grid.shape)
        grids.append(FoldedGrid(grid, classes, told.codes, told.names))
    return grids


def cells_of(
    sides: Sequence[FoldedGrid], keep: Sequence[str] | None = None
) -> list[dict[str, str | int]]:
    """How many problems one side accepts, or two, for each combination of values of a few axes.

    Values that no enumerator has are left out on every axis: they are refused by right.

    ``keep``  axes of the call; None: those of its picture.
    Returns   rows as present.charts.validity takes them; none if the sides have other problems.
    Raises    UsageError if the call has no such axis.
    """
    grid = sides[0].grid
    if any(side.grid.labels() != grid.labels() for side in sides):
        return []
    names = [axis.name for axis in grid.call.axes]
    kept = axes_of(grid.call.name) if keep is None else keep
    for name in kept:
        call_named(grid.call.name).axis(name)
    labels = list(grid.labels().values())
    places = [
        [place for place, label in enumerate(of) if not _illegal(axis, label)]
        for axis, of in zip(grid.call.axes, labels, strict=True)
    ]
    if not all(places):
        return []
    accepted = [
        (side.cells == side.names.index("SUCCESS"), side.classes)
        if "SUCCESS" in side.names
        else (np.zeros(side.cells.shape, bool), side.classes)
        for side in sides
    ]
    return accepted_cells(accepted, names, labels, places, kept)


def _illegal(axis: Axis, label: str) -> bool:
    """Whether it is a bare number on an axis of words."""
    if axis.numeric or axis.name == "proj_size":
        return False
    with suppress(ValueError):
        int(label)
        return True
    return False
