"""The values of a grid's axes that make no difference, put together.

A label array has one label for each point of a grid. Two values of an axis are equivalent when the
array is the same on both: the tens of millions of points of a map then fold into a few hundred
cells, which is what makes an exact description of its regions affordable.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[Any]  # one integer or bool for each point
Classes = NDArray[np.intp]  # value index -> class index, classes numbered as they first appear

_MOST_ROWS = 1 << 17  # each row costs about a microsecond of interpreter time
_BLOCK = 1 << 21  # elements handled at a time: bounds the extra memory
_DIGEST_BYTES = 16  # 128 bits: rows that differ never meet in practice


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """Equivalent values of each axis, and the grid of their classes.

    Shapes   classes[axis] has an axis' length; quotient has as many cells as there are
             combinations of classes, in the order of the grid's axes.
    """

    classes: tuple[Classes, ...]
    quotient: Labels

    @property
    def sizes(self) -> tuple[NDArray[np.int64], ...]:
        """How many values each class of each axis has."""
        return tuple(np.bincount(of_axis).astype(np.int64) for of_axis in self.classes)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many points of the grid each cell stands for; the shape is the quotient's."""
        return reduce(np.multiply.outer, self.sizes, np.ones((), np.int64))


def partition(labels: Labels) -> Partition:
    """Fold a label array as far as it goes without mixing labels.

    Shapes   labels is N-dimensional and not empty; only C order avoids a copy.
    Returns  the coarsest Partition of every axis.
    Raises   ValueError if the array has no points.

    The trailing axes make rows. Rows repeat a lot, so one pass over the memory that numbers them
    leaves two small arrays, the numbers over the leading axes and the distinct rows, and neither
    folding needs the other: values are equal over all points if and only if they are in these.
    """
    if labels.size == 0:
        raise ValueError(f"no points to partition: shape {labels.shape}")
    grid = np.asarray(labels, order="C")
    split = _row_axis(grid.shape)
    rows = grid.reshape(math.prod(grid.shape[:split]), -1)
    numbers, firsts = _number(rows)
    distinct = rows if len(firsts) == len(rows) else rows[firsts]

    leading, numbers = _fold(numbers.reshape(1, *grid.shape[:split]))
    trailing, distinct = _fold(distinct.reshape(-1, *grid.shape[split:]))
    return Partition(leading + trailing, np.asarray(distinct[numbers[0]]))


def _row_axis(shape: tuple[int, ...]) -> int:
    """The axis at which rows begin: the last with few enough rows, since short rows repeat more."""
    split = len(shape) - 1
    while split > 0 and math.prod(shape[:split]) > _MOST_ROWS:
        split -= 1
    return max(split, 0)


def _number(rows: NDArray[Any]) -> tuple[Classes, Classes]:
    """Number the distinct rows of a C-order matrix as they first appear.

    Returns  the number of each row, and the first row of each number.
    """
    width = rows.shape[1] * rows.itemsize
    memory = rows.reshape(-1).view(np.uint8).data
    seen: dict[bytes, int] = {}
    numbers = [
        seen.setdefault(
            blake2b(memory[start : start + width], digest_size=_DIGEST_BYTES).digest(), len(seen)
        )
        for start in range(0, len(memory), width)
    ]
    return _as_classes(numbers)


def _as_classes(numbers: list[int]) -> tuple[Classes, Classes]:
    classes = np.array(numbers, dtype=np.intp)
    return classes, np.unique(classes, return_index=True)[1]


def _fold(stack: NDArray[Any]) -> tuple[tuple[Classes, ...], NDArray[Any]]:
    """Drop the repeated values of every axis but the first.

    Returns  the classes of these axes, and the stack with one value for each class.
    """
    found = []
    for axis in range(1, stack.ndim):
        classes, firsts = _number_values(stack, axis)
        found.append(classes)
        if len(firsts) < stack.shape[axis]:
            stack = stack.take(firsts, axis)
    return tuple(found), stack


def _number_values(stack: NDArray[Any], axis: int) -> tuple[Classes, Classes]:
    """Number the distinct values of one axis of a stack, reading the stack in blocks."""
    length = stack.shape[axis]
    hashes = [blake2b(digest_size=_DIGEST_BYTES) for _ in range(length)]
    step = max(1, _BLOCK * len(stack) // stack.size)
    for start in range(0, len(stack), step):
        block = np.ascontiguousarray(np.moveaxis(stack[start : start + step], axis, 0))
        for value, slab in enumerate(block.reshape(length, -1)):
            hashes[value].update(slab.data)
    seen: dict[bytes, int] = {}
    return _as_classes([seen.setdefault(each.digest(), len(seen)) for each in hashes])
