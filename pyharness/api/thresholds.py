"""Limits of sizes: every integer between tested values is tried, and what changes is mapped too."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pyharness.analyze.partition import partition
from pyharness.analyze.rules_walk import (
    MOST_LIMITS,
    MOST_SETTINGS,
    Price,
    WalkedAxis,
    changes,
    halve,
    integers,
    joined,
    plan_walk,
)
from pyharness.api.mapped import Library, Mapped
from pyharness.api.progress import Progress
from pyharness.space.grid import Grid
from pyharness.spec.axes import SizeAxis
from pyharness.spec.ledger import NOT_RUN

DEFAULT_WALK = 1 << 20
_SEED = 0x5EED
_TOGETHER = 1 << 20  # integers of one grid: they travel as text
_LENGTHS_A_CALL = 64  # an array of so many lengths costs about as much as a call


def walk_axes(one: Mapped, library: Library, most: int, progress: Progress) -> list[WalkedAxis]:
    """Tries the integers between the tested values of every size that has several.

    ``most``  integers tried in one setting of the other axes.
    Raises    Collapse if no worker survives.
    """
    part = partition(one.codes)
    accepted = next((code for code, name in one.names.items() if name == "SUCCESS"), NOT_RUN)
    found = []
    for at, axis in enumerate(one.grid.call.axes):
        values = one.grid.values[at]
        if not isinstance(axis, SizeAxis) or len(values) < 2:
            continue
        profiles = np.moveaxis(part.quotient, at, -1).reshape(-1, part.quotient.shape[at])
        favoured = (profiles == accepted).any(axis=1)
        price = _price(one.grid, at)
        plan = plan_walk(values, part.classes[at], profiles.astype(np.int64), favoured, most, price)
        settings = _settings(part.classes, at, plan.kinds)
        tick = partial(progress, f"{one.grid.call.name} {axis.name}, limits")
        tried = integers(values, plan.spans)
        limits = _limits_in(np.array(values), profiles[:, part.classes[at]])
        cut = False
        if plan.spans or plan.skipped:
            for start in range(0, len(tried) - 1, _TOGETHER):
                piece = tried[start : start + _TOGETHER + 1]  # one of the next, for a limit there
                met, more = _limits(one.grid, at, piece, settings, library, tick)
                limits |= met
                cut = cut or more
        else:
            settings = []
        found.append(
            WalkedAxis(
                axis.name,
                joined([*plan.spans, *((v, v) for v in values)]),
                plan.skipped,
                len(settings),
                one.grid.size // len(values),
                len(set(plan.kinds)),
                len(profiles),
                sorted(limits),
                cut,
            )
        )
    return found


def _limits_in(values: NDArray[np.int64], profiles: NDArray[np.uint8]) -> set[int]:
    """Limits that the map has already: values with another answer than the one just before.

    Shapes   values: ascending; profiles[kind] is the answer of each value.
    """
    changed = (profiles[:, 1:] != profiles[:, :-1]).any(axis=0) & (np.diff(values) == 1)
    return set(values[1:][changed].tolist())


def _settings(
    classes: Sequence[NDArray[np.intp]], at: int, kinds: Sequence[int]
) -> list[tuple[int, ...]]:
    """A setting of each kind: the places of its values, 0 on the walked axis; each setting once.

    The first of a kind has the first value of each class, later ones have any. All settings, where
    they are no more than the kinds to try.
    """
    counts = [1 if axis == at else len(of_axis) for axis, of_axis in enumerate(classes)]
    if math.prod(counts) <= len(kinds):
        return list(np.ndindex(*counts))
    rng = np.random.default_rng(_SEED)
    others = [int(of_axis.max()) + 1 for axis, of_axis in enumerate(classes) if axis != at]
    met: set[int] = set()
    found: dict[tuple[int, ...], None] = {}
    for kind in kinds:
        digits = list(np.unravel_index(kind, others)) if others else []
        digits.insert(at, np.intp(0))
        members = [np.flatnonzero(c == d) for c, d in zip(classes, digits, strict=True)]
        picks = [m[0] if kind not in met else rng.choice(m) for m in members]
        picks[at] = 0
        found[tuple(int(p) for p in picks)] = None
        met.add(kind)
    return list(found)


def _price(grid: Grid, at: int) -> Price:
    """What trying one value of an axis costs: an array of many lengths is more than one call."""
    names = [axis.name for axis in grid.call.axes]
    if "seq_lengths" not in names:
        return Price()
    batch = names.index("batch_size")
    if at == batch:
        return Price(each=1 / _LENGTHS_A_CALL)
    return Price(1 + max(0, *grid.values[batch]) / _LENGTHS_A_CALL)


def _limits(
    grid: Grid,
    at: int,
    tried: NDArray[np.int64],
    settings: Sequence[tuple[int, ...]],
    library: Library,
    tick: Callable[[int, int], None],
) -> tuple[set[int], bool]:
    """Where the answers change along an axis, in any of some settings of the others.

    Shapes   tried: ascending integers; settings: places of values on every axis of the grid.
    Returns  the limits; and whether between two tried integers there are more than were looked for.
    """
    # One grid for all settings: a million values take longer to hand over than to try.
    every = Grid(grid.call, (*grid.values[:at], tuple(tried.tolist()), *grid.values[at + 1 :]))
    stride = math.prod(every.shape[at + 1 :])
    limits: set[int] = set()
    cut = False
    for done, places in enumerate(settings):
        tick(done, len(settings))
        rows = every.row(places) + np.arange(len(tried)) * stride
        found, pairs = changes(tried, library.ask(every, rows).codes)
        limits |= found
        for pair in pairs:
            halved, more = halve(pair, _answers(grid, at, places, library))
            limits.update(halved)
            cut = cut or more
    return limits, cut


def _answers(grid: Grid, at: int, places: Sequence[int], library: Library) -> Callable[[int], int]:
    """What the library answers to any value of an axis, the others as these places say."""
    fixed = [(0,) if i == at else (grid.values[i][p],) for i, p in enumerate(places)]

    def answer(value: int) -> int:
        one = Grid(grid.call, (*fixed[:at], (value,), *fixed[at + 1 :]))
        return int(library.ask(one, np.zeros(1, np.int64)).codes[0])

    return answer


def close_gaps(one: Mapped, walked: Sequence[WalkedAxis], library: Library) -> list[WalkedAxis]:
    """Looks for the changes that a map shows between values with others between them.

    A kind of setting that no walk tried may have limits of its own: two of one profile are told
    apart only by the limits of one of them.

    Returns  what was tried, with the limits found now; the same if there is no such change.
    Raises   Collapse if no worker survives.
    """
    part = partition(one.codes)
    names = [axis.name for axis in one.grid.call.axes]
    closed = []
    for axis in walked:
        at = names.index(axis.axis)
        values = np.array(one.grid.values[at])
        profiles = np.moveaxis(part.quotient, at, -1).reshape(-1, part.quotient.shape[at])
        _, kinds = np.unique(profiles, axis=0, return_index=True)
        limits, cut = set(axis.limits), axis.cut
        for kind in kinds[:MOST_SETTINGS].tolist():
            _, pairs = changes(values, profiles[kind, part.classes[at]])
            (places, *_) = _settings(part.classes, at, [kind])
            for pair in pairs:
                if len(limits) <= MOST_LIMITS:  # with more, none of them becomes a value
                    found, more = halve(pair, _answers(one.grid, at, places, library))
                    limits.update(found)
                    cut = cut or more
        closed.append(replace(axis, limits=sorted(limits), cut=cut))
    return closed


def limits_to_add(walked: Sequence[WalkedAxis], grid: Grid) -> dict[int, list[int]]:
    """The values that a map lacks on both sides of every limit found: axis to values.

    An axis whose answers change more than some dozens of times gets none.
    """
    names = [axis.name for axis in grid.call.axes]
    wanted: dict[int, list[int]] = {}
    for one in walked:
        at = names.index(one.axis)
        both = {side for limit in one.limits for side in (limit - 1, limit)}
        lacking = sorted(both - set(grid.values[at]))
        if lacking and len(one.limits) <= MOST_LIMITS:
            wanted[at] = lacking
    return wanted
