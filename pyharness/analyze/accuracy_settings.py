"""Accuracy by what a device may choose: the worst of each setting, and what errors grow with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Any

from pyharness.reference.tolerances import kind_of
from pyharness.spec.columns import AXIS_COLUMNS, RUN_COLUMNS

Row = Mapping[str, Any]

SETTINGS = ("algo", "data_type", "math_prec", "math_type", "layout")
# Axes that errors may grow with, and what else changes with them.
_FOLLOWS = {"max_seq_length": ("seq_lengths",), "num_layers": ()}


@dataclass(frozen=True, slots=True)
class Growth:
    """The usual error at the last value over that at the first, a mean over tensors.

    ``first, last``  values of an axis; None where the steps or layers of one problem are meant.
    """

    ratio: float
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """All tensors under one combination of SETTINGS.

    ``worst``   kind of tensor (outputs, inputs, states, weights) to its largest error; missing
                where there is no number.
    ``share``   the largest error over its threshold; None where there is no number.
    ``growth``  steps and layers, within a problem; max_seq_length and num_layers, over problems
                that are else alike; missing where nothing can be said.
    """

    values: Mapping[str, str]
    tensors: int
    beyond: int
    worst: Mapping[str, float]
    share: float | None
    growth: Mapping[str, Growth]


def by_settings(rows: Iterable[Row]) -> list[Setting]:
    """Each combination of SETTINGS that rows of ``accuracy`` have, in order of appearance.

    Rows that are of no tensor are left out.
    """
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row["buffer"] is not None:
            groups.setdefault(tuple(row[name] for name in SETTINGS), []).append(row)
    return [_setting(dict(zip(SETTINGS, key, strict=True)), group) for key, group in groups.items()]


def _setting(values: Mapping[str, str], rows: Sequence[Row]) -> Setting:
    worst: dict[str, float] = {}
    told = [row for row in rows if row["max_rel"] is not None]
    for row in told:
        kind = kind_of(row["buffer"])
        worst[kind] = max(worst.get(kind, 0.0), row["max_rel"])
    growth = {name: _within(told, name) for name in ("steps", "layer")}
    growth |= {axis: _over(told, axis) for axis in _FOLLOWS}
    return Setting(
        values,
        len(rows),
        sum(row["verdict"] == "beyond" for row in rows),
        worst,
        max((row["max_rel"] / row["threshold"] for row in told), default=None),
        {name: found for name, found in growth.items() if found is not None},
    )


def _within(rows: Sequence[Row], what: str) -> Growth | None:
    """From the first steps or layer of each problem to the last."""
    ends = [(row[f"first_{what}_rel"], row[f"last_{what}_rel"]) for row in rows]
    ratio = _mean_ratio(ends)
    return None if ratio is None else Growth(ratio)


def _over(rows: Sequence[Row], axis: str) -> Growth | None:
    """From the least value of an axis to the largest, of problems that differ in nothing else."""
    values = {row[axis] for row in rows}
    if len(values) < 2:
        return None
    first, last = min(values), max(values)
    names = [c.name for c in (*AXIS_COLUMNS, *RUN_COLUMNS)]
    same = [n for n in (*names, "pass", "buffer") if n not in (axis, *_FOLLOWS[axis])]
    found: dict[tuple[Any, ...], dict[int, float]] = {}
    for row in rows:
        found.setdefault(tuple(row[n] for n in same), {})[row[axis]] = row["rms_rel"]
    ends = [(group[first], group[last]) for group in found.values() if {first, last} <= set(group)]
    ratio = _mean_ratio(ends)
    return None if ratio is None else Growth(ratio, first, last)


def _mean_ratio(ends: Iterable[tuple[float | None, float | None]]) -> float | None:
    """The geometric mean of last over first, where both are more than 0."""
    logs = [log(last / first) for first, last in ends if first and last]
    return exp(sum(logs) / len(logs)) if logs else None
