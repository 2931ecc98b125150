"""Two ways to a tensor beside each other, number by number, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.spec.equivalences import HOLDS, NOT_TOLD, VIOLATED
from pyharness.spec.number_bits import Bits, is_nan, values

_LARGEST = {
    "double": float(np.finfo(np.float64).max),
    "float": float(np.finfo(np.float32).max),
    "half": float(np.finfo(np.float16).max),
    "bfloat16": 2.0**128 - 2.0**120,
}
_ANYTHING = "these types hold nothing of such a network: rounding explains anything"
_NO_NUMBER = "there is no number to compare"


@dataclass(frozen=True, slots=True)
class Found:
    """One tensor, made in two ways.

    ``verdict``    of spec.equivalences.VERDICTS.
    ``exact``      the same bits were asked for; or else the same but for rounding.
    ``elements``   that were compared.
    ``differing``  whose bits differ.
    ``error``      the largest difference as a share of the scale; None where one is no number.
    ``threshold``  the largest error that rounding explains; 0 where bits were asked for.
    ``first``      of those that are beyond it the first, as stored by the problem itself.
    ``variant``    how the second was made, where a check has several ways.
    ``reason``     why nothing is told, or what else is to be said.
    """

    buffer: str
    verdict: str
    exact: bool
    elements: int
    differing: int
    error: float | None
    threshold: float
    first: int | None = None
    variant: str | None = None
    reason: str | None = None


def compared(
    tensor: str,
    before: Bits,
    now: Bits,
    places: Callable[[], NDArray[np.int64]],
    scale: float,
    data_type: str,
    limit: float | None,
    doubt: Callable[[], str | None] | None = None,
) -> Found:
    """A tensor beside what it must be.

    ``places``  where each number is stored; asked for if a number is beyond the limit.
    ``limit``   of a difference, as a share of the scale; None: the same bits are asked for.
    ``doubt``   says why a larger one says nothing, if so; a NaN on one side alone always does.
    """
    apart = np.flatnonzero(before != now)
    missing = is_nan(before[apart], data_type) != is_nan(now[apart], data_type)
    neither = int((is_nan(before, data_type) & is_nan(now, data_type)).sum())
    # An infinity beside the largest number is a rounding away.
    most = _LARGEST[data_type]
    a, b = (np.clip(values(side[apart], data_type), -most, most) for side in (before, now))
    with np.errstate(over="ignore", invalid="ignore"):
        far = np.nan_to_num(np.abs(a / scale - b / scale), nan=0.0)
    beyond = missing | (far > limit) if limit is not None else np.ones(apart.size, np.bool_)
    verdict, reason = HOLDS, None
    if missing.any():
        verdict, reason = VIOLATED, f"{int(missing.sum()):,} NaN on one side alone"
    elif beyond.any():
        reason = None if doubt is None else doubt()
        verdict = VIOLATED if reason is None else NOT_TOLD
    elif neither:  # an output is NaN before it is written
        verdict, reason = NOT_TOLD, _NO_NUMBER
        if neither < before.size:
            reason = f"{neither:,} are NaN, or not written, both ways"
    elif apart.size and limit is not None and limit >= 1:
        verdict, reason = NOT_TOLD, _ANYTHING
    return Found(
        tensor,
        verdict,
        limit is None,
        before.size,
        apart.size,
        None if missing.any() else float(far.max(initial=0.0)),
        limit or 0.0,
        int(places()[apart[beyond]].min()) if beyond.any() else None,
        None,
        reason,
    )
