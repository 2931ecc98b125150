"""How much of a grid is accepted, by the values of a few of its axes: what a heat map shows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

_Classes = Sequence[NDArray[np.intp]]


def accepted_counts(
    accepted: NDArray[np.bool_],
    classes: _Classes,
    places: Sequence[Sequence[int]],
    kept: Sequence[int],
) -> NDArray[np.int64]:
    """Problems that are accepted, for each combination of values of the kept axes.

    Shapes   accepted: of the classes of every axis; classes[axis]: the class of each value;
             result: a value each of kept, in their order.
    ``places``  of each axis the values that count, by their place on it.
    """
    counts: NDArray[np.int64] = accepted.astype(np.int64)
    for axis in range(len(classes)):
        chosen = classes[axis][list(places[axis])]
        if axis in kept:
            counts = np.take(counts, chosen, axis=axis)
        else:
            weights = np.bincount(chosen, minlength=counts.shape[axis])
            counts = np.expand_dims(np.tensordot(counts, weights, axes=(axis, 0)), axis)
    left = np.squeeze(counts, tuple(a for a in range(len(classes)) if a not in kept))
    ordered: NDArray[np.int64] = left.transpose(np.argsort(np.argsort(kept)))
    return ordered


def accepted_cells(
    sides: Sequence[tuple[NDArray[np.bool_], _Classes]],
    names: Sequence[str],
    labels: Sequence[Sequence[str]],
    places: Sequence[Sequence[int]],
    keep: Sequence[str],
) -> list[dict[str, str | int]]:
    """The same as rows: the labels of the kept axes, ``problems``, ``accepted_a``, ``accepted_b``.

    ``sides``   one or two: what each accepts, and its classes, see accepted_counts.
    ``names``, ``labels``  of every axis, and of its values.
    """
    kept = [names.index(name) for name in keep]
    problems = int(np.prod([len(p) for a, p in enumerate(places) if a not in kept]))
    counts = [accepted_counts(accepted, classes, places, kept) for accepted, classes in sides]
    rows: list[dict[str, str | int]] = []
    for place in product(*(range(len(places[a])) for a in kept)):
        row: dict[str, str | int] = {
            name: labels[axis][places[axis][at]]
            for name, axis, at in zip(keep, kept, place, strict=True)
        }
        row["problems"] = problems
        for side, of_side in zip("ab", counts, strict=False):
            row[f"accepted_{side}"] = int(of_side[place])
        rows.append(row)
    return rows
