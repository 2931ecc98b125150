"""A predicate over a grid: one answer for each combination of the axes that it speaks of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.spec.calls import Call
from pyharness.spec.documented.facts import axes_of, field_value
from pyharness.spec.documented.language import Predicate


def places_of(names: frozenset[str], call: Call) -> tuple[int, ...]:
    """The places, among a call's axes, of those that these fields follow from; ascending."""
    needed = {axis for name in names for axis in axes_of(name)}
    return tuple(i for i, axis in enumerate(call.axes) if axis.name in needed)


def truth_table(
    predicate: Predicate, call: Call, values: Sequence[Sequence[int]]
) -> NDArray[np.bool_]:
    """Where a predicate is true.

    Shapes   values[axis] are the values of each axis of the call; the answer has the grid's number
             of axes, and length 1 on those that make no difference.
    Raises   ValueError if it speaks of what the call does not have.
    """
    places = places_of(predicate.names, call)
    shape = [len(v) if i in places else 1 for i, v in enumerate(values)]
    known: dict[tuple[Any, ...], Any] = {}

    def fields(at: dict[str, int]) -> dict[str, Any]:
        found = {}
        for name in predicate.names:
            key = (name, *(at.get(axis) for axis in axes_of(name)))
            if key not in known:
                known[key] = field_value(name, at)
            found[name] = known[key]
        return found

    answers = []
    names = [call.axes[i].name for i in places]
    for combination in product(*(values[i] for i in places)):
        said = predicate.truth(fields(dict(zip(names, combination, strict=True))))
        if said.value is None:
            raise ValueError(f"{call.name} does not say {', '.join(sorted(said.unknown))}")
        answers.append(said.value)
    return np.array(answers, bool).reshape(shape)
