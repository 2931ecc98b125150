"""The spaces of an audit: the values that separate a rule, and those that could mask it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from pyharness.analyze.conditions import AxisValues
from pyharness.space.grid import Grid, make_grid
from pyharness.spec import calls as c
from pyharness.spec.axes import INT_MAX, INT_MIN, Axis, EnumAxis, ProjSizeAxis, RealAxis, SizeAxis
from pyharness.spec.documented.facts import axes_of
from pyharness.spec.documented.rules import Framework, Rule

_MOST_ROWS = 50_000
_TYPES = ("data_type", "math_prec")
# What is crossed with a rule's own axes, the most important first. All are accepted in some
# company, and together they show what another rule would refuse.
_CLIP = {"cell_mode": "all", "clip_mode": "all"}
_CROSSED: Mapping[str, Mapping[str, str]] = {
    c.SET_RNN_DESCRIPTOR.name: {
        "data_type": "float,double,half,bfloat16",
        "math_prec": "float,double,half",
        "algo": "all",
        "cell_mode": "all",
        "proj_size": "same,half",
        "bias_mode": "double_bias,no_bias",
    },
    c.SET_RNN_DATA_DESCRIPTOR.name: {
        "seq_lengths": "equal,descending,unsorted,one_zero",
        "layout": "all",
        "data_type": "float,double,half,bfloat16",
        "max_seq_length": "16,1",
        "batch_size": "8,1",
    },
    c.SET_CLIP_V8.name: _CLIP,
    c.SET_CLIP_V9.name: _CLIP,
}


def rule_grid(rule: Rule, call_name: str) -> Grid:
    """The grid on which a rule is judged at one of its host calls.

    Returns  at most some tens of thousands of rows: every value of the rule's own axes that its
             predicate tells apart, and as many others as there is room for.
    """
    call = c.call_named(call_name)
    if rule.space is not None:
        return make_grid(call, rule.space)
    names = rule.when.names | (rule.sign.names if rule.sign else frozenset())
    crossed = _CROSSED[call.name]
    texts = {
        axis.name: _values(axis, rule, call.defaults[axis.name])
        for axis in call.axes
        if axis.name in names
    }
    if rule.status in ("accepted", "effect"):  # types that no RNN has tell nothing then
        texts.update((n, crossed[n]) for n in _TYPES if n in texts and n in crossed)
    needed = [axis for name in names for axis in axes_of(name)]
    for axis in [*needed, *crossed]:
        if axis in crossed and axis not in texts:
            wider = make_grid(call, {**texts, axis: crossed[axis]})
            if wider.size <= _MOST_ROWS or axis in needed:
                texts[axis] = crossed[axis]
    return make_grid(call, texts)


def framework_grid(framework: Framework) -> Grid:
    """The grid over which a framework's choice is compared with what the descriptor accepts."""
    return make_grid(c.SET_RNN_DESCRIPTOR, {**framework.sets, **framework.space})


def _values(axis: Axis, rule: Rule, default: str) -> str:
    """The values of an axis on both sides of everything that a rule compares it with."""
    if isinstance(axis, EnumAxis):
        outside = (min(axis.enum.values) - 1, max(axis.enum.values) + 1)
        return "all" if axis.closed else f"all,{outside[0]},{outside[1]}"
    if isinstance(axis, RealAxis):
        return "-1.0,0.0,1.0,inf,nan"
    if isinstance(axis, ProjSizeAxis):
        return "same,half,over,-1,0,1"
    if isinstance(axis, SizeAxis):
        return ",".join(map(str, _sizes(axis, rule, int(default))))
    return "all"


def _sizes(axis: SizeAxis, rule: Rule, default: int) -> Iterator[int]:
    known = rule.when.constants.get(axis.name, frozenset())
    edges = {default, *(v for v in known if isinstance(v, int))}
    around = {edge + step for edge in edges for step in (-1, 0, 1)}
    low, high = max(axis.least, INT_MIN), min(axis.most, INT_MAX)
    yield from sorted(size for size in around if low <= size <= high)


def axis_values(grid: Grid) -> list[AxisValues]:
    """The axes of a grid, for conditions."""
    return [
        AxisValues(
            axis.name,
            tuple(axis.label(v) for v in values),
            tuple(axis.number(v) for v in values) if axis.numeric else None,
        )
        for axis, values in zip(grid.call.axes, grid.values, strict=True)
    ]


def changes(grid: Grid) -> NDArray[np.int64]:
    """How many axes of each row differ from their default.

    Shapes   the grid's.
    """
    differ = [
        np.array([axis.label(v) != grid.call.defaults[axis.name] for v in values], np.int64)
        for axis, values in zip(grid.call.axes, grid.values, strict=True)
    ]
    return reduce(np.add.outer, differ, np.zeros((), np.int64))
