"""Boxes of a grid in words, and the proof that the words are right.

A box becomes a conjunction: a list of conditions, one for each axis that it restricts, written with
the labels of the values that were tested. A description is a list of conjunctions and means their
union. The proof reads the conditions back, as a reader would, and compares every point; it shares
no code with what found the boxes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

Op = Literal["=", "!=", "in", "not in", "<=", ">", ">=", "between"]

EVERYTHING = "every problem"
_MANY = 4  # so many names less make a list clearly shorter
_BLOCK = 1 << 18  # points looked at together: bounds the memory
_BLOCKS_KEPT = 64  # most blocks of a grid are one of a few


class Condition(TypedDict):
    """One axis restricted, ready for JSON.

    ``values``  labels: one, the ends of a range (between), or a set (in, not in).
    """

    axis: str
    op: Op
    values: list[str]


@dataclass(frozen=True, slots=True)
class AxisValues:
    """The tested values of an axis, in the order of the grid.

    ``labels``   as printed; no two are the same.
    ``numbers``  what the labels stand for on a numeric axis, in any order; None on others.
    ``limits``   where neighbours are one apart, the lower one is a limit: ``>65535``, not
                 ``>=65536``, which says no more than that 65536 was the least value tried.
    """

    name: str
    labels: tuple[str, ...]
    numbers: tuple[float, ...] | None = None
    limits: bool = False

    def __post_init__(self) -> None:
        if len(set(self.labels)) != len(self.labels):
            raise ValueError(f"axis {self.name}: a label stands twice in {self.labels}")
        if self.numbers is not None and len(self.numbers) != len(self.labels):
            raise ValueError(
                f"axis {self.name}: {len(self.numbers)} numbers for {len(self.labels)} labels"
            )


def describe(
    box: Sequence[Sequence[int]], classes: Sequence[NDArray[np.intp]], axes: Sequence[AxisValues]
) -> list[Condition]:
    """The conjunction that a box means.

    Shapes   box[axis] lists classes; classes[axis] gives the class of each value of axes[axis].
    Returns  conditions in the order of the axes; none for an axis that the box does not restrict.
    """
    conditions = []
    for side, of_axis, axis in zip(box, classes, axes, strict=True):
        inside = np.isin(of_axis, side)
        if not inside.all():
            conditions.append(_condition(axis, inside))
    return conditions


def plainest(
    axis: AxisValues, of_axis: NDArray[np.intp], needed: Sequence[int], allowed: Sequence[int]
) -> Condition | None:
    """The condition with the fewest values to name that takes what it must and only what it may.

    Shapes   of_axis gives the class of each value; needed and allowed list classes, allowed all of
             needed, too.
    Returns  a condition that takes whole classes; None if all are allowed. Among equally short ones
             an exact limit comes first, then other comparisons, then the one that takes less.
    """
    choices = [np.isin(of_axis, needed), np.isin(of_axis, allowed)]
    if choices[1].all():
        return None
    if axis.numbers is not None:
        numbers = np.array(axis.numbers)
        low, high = numbers[choices[0]].min(), numbers[choices[0]].max()
        for run in (numbers >= low, numbers <= high, (numbers >= low) & (numbers <= high)):
            whole = np.array_equal(run, np.isin(of_axis, of_axis[run]))
            if whole and (choices[0] <= run).all() and (run <= choices[1]).all():
                choices.append(run)
    said = [_condition(axis, inside) for inside in choices]
    order = sorted(range(len(said)), key=lambda at: np.count_nonzero(choices[at]))
    return min((said[at] for at in order), key=lambda c: (len(c["values"]), _firmness(axis, c)))


def _firmness(axis: AxisValues, condition: Condition) -> int:
    """0 for an exact limit, 1 for a comparison with a value tried, 2 for a range, 3 for a set."""
    op, values = condition["op"], condition["values"]
    if op == "<=" and axis.limits and axis.numbers is not None:
        return int(axis.numbers[axis.labels.index(values[0])] + 1 not in axis.numbers)
    return {">": 0, ">=": 1, "<=": 1, "between": 2}.get(op, 3)


def text(conditions: Sequence[Condition]) -> str:
    """A conjunction as a person reads it: ``data_type=bfloat16 and hidden_size>=1024``."""
    return " and ".join(_words(condition) for condition in conditions) or EVERYTHING


def evaluate(
    description: Sequence[Sequence[Condition]], axes: Sequence[AxisValues]
) -> Iterator[tuple[slice, NDArray[np.bool_]]]:
    """Which points of the grid a description covers, block by block.

    Shapes   a block is flat, of consecutive points in C order; together they make the grid.
    Returns  where the block lies in the flat grid, and the read-only mask.
    Raises   ValueError for an axis, a label or a comparison that the grid does not have.
    """
    tables = [_tables(conditions, axes) for conditions in description]
    lengths = [len(axis.labels) for axis in axes]
    split = max(len(axes) - 1, 0)
    while split > 0 and math.prod(lengths[split - 1 :]) <= _BLOCK:
        split -= 1
    leading = [_product(table[:split]) for table in tables]
    points = math.prod(lengths[split:])

    @lru_cache(_BLOCKS_KEPT)
    def union(active: tuple[int, ...]) -> NDArray[np.bool_]:
        block = np.zeros(points, bool)
        for index in active:
            block |= _product(tables[index][split:])
        block.flags.writeable = False
        return block

    for row in range(math.prod(lengths[:split])):
        active = tuple(index for index, allowed in enumerate(leading) if allowed[row])
        yield slice(row * points, (row + 1) * points), union(active)


def proves(
    description: Sequence[Sequence[Condition]],
    axes: Sequence[AxisValues],
    labels: NDArray[Any],
    k: int,
) -> bool:
    """Whether a description covers exactly the points with one label: all of them, no others.

    Shapes   labels has one axis for each of axes; only C order avoids a copy.
    Raises   ValueError where labels is no grid of these axes, or a condition does not fit them.
    """
    expected = tuple(len(axis.labels) for axis in axes)
    if labels.shape != expected:
        raise ValueError(f"labels of shape {labels.shape} for axes of {expected} values")
    flat = np.asarray(labels, order="C").reshape(-1)
    return all(
        np.array_equal(flat[where] == k, covered) for where, covered in evaluate(description, axes)
    )


def _condition(axis: AxisValues, inside: NDArray[np.bool_]) -> Condition:
    """The shortest true condition for a proper subset of the values of an axis."""
    taken = np.flatnonzero(inside).tolist()
    spared = np.flatnonzero(~inside).tolist()
    numbers = axis.numbers
    if numbers is not None:
        for indices in (taken, spared):  # NaN has no place among numbers: last
            indices.sort(key=lambda i: (math.isnan(numbers[i]), numbers[i]))

    def say(op: Op, indices: Sequence[int]) -> Condition:
        return Condition(axis=axis.name, op=op, values=[axis.labels[index] for index in indices])

    run = None if numbers is None else _run(numbers, taken, spared)
    if run is not None and axis.limits and (limit := _limit(axis, *run)):
        return say(*limit)
    if len(taken) == 1:
        return say("=", taken)
    if run is not None:
        return say(*run)
    # Naming what is left out asks the reader to know the rest: only where it is clearly shorter.
    if 2 * len(spared) <= len(taken) or len(spared) + _MANY <= len(taken):
        return say("!=" if len(spared) == 1 else "not in", spared)
    return say("in", taken)


def _run(
    numbers: Sequence[float], taken: list[int], spared: list[int]
) -> tuple[Op, list[int]] | None:
    """The comparison that takes these tested numbers and spares those; None if they are mixed.

    Shapes   taken and spared are indices in the order of their numbers, NaN last.

    A comparison never takes a NaN, so one among the taken cannot be said so, and one among the
    spared makes no difference.
    """
    spared = [index for index in spared if not math.isnan(numbers[index])]
    if not spared or any(math.isnan(numbers[index]) for index in taken):
        return None
    low, high = numbers[taken[0]], numbers[taken[-1]]
    if low > numbers[spared[-1]]:
        return ">=", taken[:1]
    if high < numbers[spared[0]]:
        return "<=", taken[-1:]
    if not any(low <= numbers[index] <= high for index in spared):
        return "between", [taken[0], taken[-1]]
    return None


def _limit(axis: AxisValues, op: Op, ends: list[int]) -> tuple[Op, list[int]] | None:
    """A one-sided comparison by the last value below the limit; None if that was not tried."""
    assert axis.numbers is not None
    beyond = axis.numbers[ends[0]] + {"<=": 1, ">=": -1}.get(op, math.nan)
    if beyond not in axis.numbers or math.isinf(beyond):
        return None
    return ("<=", ends) if op == "<=" else (">", [axis.numbers.index(beyond)])


def _words(condition: Condition) -> str:
    axis, op, values = condition["axis"], condition["op"], condition["values"]
    if op == "between":
        return f"{values[0]}<={axis}<={values[1]}"
    if op in ("in", "not in"):
        return f"{axis} {op} {{{', '.join(values)}}}"
    return f"{axis}{op}{values[0]}"


def _tables(conditions: Sequence[Condition], axes: Sequence[AxisValues]) -> list[NDArray[np.bool_]]:
    """Which values of each axis a conjunction allows."""
    tables = {axis.name: np.ones(len(axis.labels), bool) for axis in axes}
    by_name = {axis.name: axis for axis in axes}
    for condition in conditions:
        axis = by_name.get(condition["axis"])
        if axis is None:
            raise ValueError(f"no axis {condition['axis']!r} in this grid")
        tables[axis.name] &= allows(condition, axis)
    return [tables[axis.name] for axis in axes]


def allows(condition: Condition, axis: AxisValues) -> NDArray[np.bool_]:
    """Which values of its axis a condition allows.

    Raises  ValueError for a label or a comparison that the axis does not have.
    """
    op, named = condition["op"], condition["values"]
    unknown = [label for label in named if label not in axis.labels]
    if unknown:
        raise ValueError(f"axis {axis.name} has no value {unknown[0]!r}")
    if op in ("=", "in"):
        return np.array([label in named for label in axis.labels])
    if op in ("!=", "not in"):
        return np.array([label not in named for label in axis.labels])
    if axis.numbers is None:
        raise ValueError(f"axis {axis.name} is not numeric: {op!r} says nothing")
    numbers = np.array(axis.numbers)
    ends = [axis.numbers[axis.labels.index(label)] for label in named]
    if op == ">=":
        return numbers >= ends[0]
    if op == ">":
        return numbers > ends[0]
    if op == "<=":
        return numbers <= ends[0]
    return (numbers >= ends[0]) & (numbers <= ends[1])


def _product(tables: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """All combinations of values, flat in C order: whether each table allows its value."""
    return reduce(lambda a, b: np.logical_and.outer(a, b).reshape(-1), tables, np.ones(1, bool))
