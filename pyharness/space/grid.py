"""A grid: one call and the values of each of its axes; a space: several grids under a name."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pyharness.errors import UsageError
from pyharness.spec import axes as axis_module
from pyharness.spec.calls import Call, call_named
from pyharness.spec.seq_lengths import LITERAL, literal_lengths


@dataclass(frozen=True)
class Grid:
    """Every combination of the axis values of one call; row-major, last axis fastest.

    ``values``  one tuple of axis values (int64) per axis of the call, in the call's order.
    """

    call: Call
    values: tuple[tuple[int, ...], ...]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each axis."""
        return tuple(len(v) for v in self.values)

    @cached_property
    def size(self) -> int:
        """The number of problems."""
        return math.prod(self.shape)

    def digits(self, row: int) -> tuple[int, ...]:
        """The place of a row's value on each axis."""
        places = []
        for count in reversed(self.shape):
            row, place = divmod(row, count)
            places.append(place)
        return tuple(reversed(places))

    def row(self, digits: Sequence[int]) -> int:
        """The row at these places; the inverse of digits."""
        row = 0
        for place, count in zip(digits, self.shape, strict=True):
            row = row * count + place
        return row

    def at(self, row: int) -> dict[str, int]:
        """The axis values of a row, by axis name."""
        return {
            axis.name: values[place]
            for axis, values, place in zip(
                self.call.axes, self.values, self.digits(row), strict=True
            )
        }

    def words(self, row: int) -> dict[str, str]:
        """The labels of a row's values, by axis name."""
        at = self.at(row)
        return {axis.name: axis.label(at[axis.name]) for axis in self.call.axes}

    def command(self, row: int) -> str:
        """A row as `pyharness try` takes it: what differs from the call's defaults."""
        return " ".join(
            f"{name}={word}"
            for name, word in self.words(row).items()
            if word != self.call.defaults[name]
        )

    def labels(self) -> dict[str, list[str]]:
        """The labels of every axis: what the manifest keeps, and from_labels reads back."""
        return {
            axis.name: axis_module.labels(axis, values)
            for axis, values in zip(self.call.axes, self.values, strict=True)
        }

    def to_send(self) -> tuple[list[list[int]], list[list[int]]]:
        """The axis values as a worker takes them, and the literal lists that they refer to.

        A worker knows no lists but these: LITERAL + i is the i-th of them.
        """
        axes: list[list[int]] = []
        lists: list[list[int]] = []
        for axis, values in zip(self.call.axes, self.values, strict=True):
            sent = list(values)
            if axis.name == "seq_lengths":
                for place, value in enumerate(values):
                    lengths = literal_lengths(value)
                    if lengths is not None:
                        sent[place] = LITERAL + len(lists)
                        lists.append(list(lengths))
            axes.append(sent)
        return axes, lists


def make_grid(call: Call, chosen: Mapping[str, str]) -> Grid:
    """A grid from axis texts; axes that are not chosen have their default value.

    Raises  UsageError for an axis that the call does not have, a value that the axis does not, or
            a list of lengths beside another batch size.
    """
    for name in chosen:
        call.axis(name)
    texts = {**call.defaults, **chosen}
    lengths = chosen.get("seq_lengths", "").strip()
    if lengths.startswith("[") and "batch_size" not in chosen:
        texts["batch_size"] = str(lengths.count(",", 0, lengths.find("]")) + 1)
    grid = Grid(call, tuple(tuple(axis_module.parse_values(a, texts[a.name])) for a in call.axes))
    _check_lists(grid)
    return grid


def from_labels(call_name: str, labels: Mapping[str, Sequence[str]]) -> Grid:
    """The grid that labels() described.

    Raises  UsageError if the call or an axis is unknown here.
    """
    call = call_named(call_name)
    grid = Grid(
        call, tuple(tuple(v for t in labels[a.name] for v in a.parse(t)) for a in call.axes)
    )
    _check_lists(grid)
    return grid


def _check_lists(grid: Grid) -> None:
    """Refuses a list of lengths beside a batch size that it does not have the entries for.

    Raises  UsageError with both numbers.
    """
    by_name = dict(zip((a.name for a in grid.call.axes), grid.values, strict=True))
    for value in by_name.get("seq_lengths", ()):
        lengths = literal_lengths(value)
        if lengths is not None and set(by_name["batch_size"]) != {len(lengths)}:
            raise UsageError(
                f"seq_lengths has a list of {len(lengths)} entries, batch_size is "
                f"{', '.join(map(str, by_name['batch_size']))}",
                f"the list needs one entry per sequence: add batch_size={len(lengths)}, "
                "or use a pattern",
            )


@dataclass(frozen=True)
class Space:
    """A named set of grids, at most one for each call.

    ``name``  a preset's name, or the preset's name with what was changed.
    """

    name: str
    grids: tuple[Grid, ...]

    @property
    def size(self) -> int:
        """The number of problems in all grids."""
        return sum(g.size for g in self.grids)

    def describe(self) -> list[dict[str, object]]:
        """The space as plain data: what the manifest keeps."""
        return [{"call": g.call.name, "axes": g.labels()} for g in self.grids]

    @property
    def fingerprint(self) -> str:
        """A short digest of what is in the space, whatever its name."""
        text = json.dumps(self.describe(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]
