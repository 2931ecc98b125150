"""Folded grids in a folder of their own: what two maps say, small enough to lie beside a diff."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pyharness.errors import UsageError
from pyharness.space.grid import from_labels
from pyharness.spec.calls import call_named
from pyharness.store.atlas import FoldedGrid, axis_rows, fold_of, folded_row
from pyharness.store.reading import read_rows
from pyharness.store.schema import write_rows

Named = tuple[str, FoldedGrid]  # the release, and its answers to one call


def write_folds(folds: Sequence[Named], folder: Path) -> None:
    """Writes atlas.parquet and atlas_axes.parquet, in this order.

    Raises  HarnessError if the disk is full; each file is there whole or not at all.
    """
    write_rows(folder / "atlas.parquet", "atlas", (folded_row(*pair) for pair in folds))
    axes = (row for pair in folds for row in axis_rows(*pair))
    write_rows(folder / "atlas_axes.parquet", "atlas_axes", axes)


def read_folds(folder: Path) -> list[Named]:
    """What write_folds wrote, in its order; none if it wrote nothing there.

    Raises  UsageError if a table cannot be read, or the two do not fit each other.
    """
    found: list[Named] = []
    axes = iter(read_rows(folder, "atlas_axes"))
    waiting = next(axes, None)
    try:
        for row in read_rows(folder, "atlas"):
            labels: dict[str, list[str]] = {}
            classes: dict[str, list[int]] = {}
            for axis in call_named(row["call"]).axes:
                labels[axis.name], classes[axis.name] = [], []
                while waiting and waiting["axis"] == axis.name:
                    if waiting["place"] != len(labels[axis.name]):
                        break  # the same axis of the next release
                    labels[axis.name].append(waiting["value"])
                    classes[axis.name].append(waiting["class"])
                    waiting = next(axes, None)
            grid = from_labels(row["call"], labels)
            of_axes = [np.array(c, np.intp) for c in classes.values()]
            found.append((row["release"], fold_of(grid, of_axes, row)))
        if waiting is not None:
            raise ValueError(f"there are axes of {waiting['release']} without answers")
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise UsageError(
            f"{folder / 'atlas.parquet'} cannot be read: {error}",
            "the folder is damaged: make it again elsewhere",
        ) from error
    return found
