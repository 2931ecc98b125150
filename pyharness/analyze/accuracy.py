"""How far numbers are from the truth: a tensor's differences in a few numbers, and a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, frexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.reference.arrays import Array
from pyharness.reference.layouts import rounded, ulps
from pyharness.reference.tolerances import NORMAL, UNIT
from pyharness.spec.tensors import AccuracyVerdict

# Of a gradient in a narrow type: so many of its numbers may become zero under a loss scale that is
# called usable; none may become infinite, since one that is spoils the whole step.
MOST_UNDERFLOW = 0.001
NARROW = ("half", "bfloat16")
# The exponent of the first power of two that a type has no more.
_ABOVE = {"half": 16, "bfloat16": 128}
# The usual number is a third of the scale: what may be off by as much may be anything.
ANYTHING = 1 / 3
_MOST_ULPS = 2**63 - 1  # what a column holds
_MOST = float(np.finfo(np.float64).max)
_QUARTER = 4


@dataclass(frozen=True, slots=True)
class Errors:
    """The differences of a tensor; None where nothing could be compared.

    ``n``          elements; of those behind a sequence's end nothing is said.
    ``nan, inf``   elements that are so where the truth, in the tensor's type, is not.
    ``max_rel``    and ``rms_rel``: as a share of the scale.
    ``cosine``     of the angle between both, all elements as one vector.
    ``worst``      where the largest difference is, or the first nan or infinity.
    """

    n: int
    nan: int
    inf: int
    max_abs: float | None = None
    rms_abs: float | None = None
    max_rel: float | None = None
    rms_rel: float | None = None
    max_ulps: int | None = None
    cosine: float | None = None
    worst: str | None = None

    @property
    def broken(self) -> bool:
        """Whether there is a nan or an infinity that should not be."""
        return self.nan + self.inf > 0


def errors(
    got: Mapping[str, Array], want: Mapping[str, Array], scale: float, data_type: str
) -> Errors:
    """The differences of a tensor that has parts, such as weights, or one.

    ``got, want``  arrays of equal shapes by the part's name; nan in ``want``: not compared.
    ``data_type``  that the tensor is stored in: an infinity is right where the truth is beyond it.
    """
    given, true = _flat(got, want), _flat(want, want)
    with np.errstate(over="ignore", invalid="ignore"):
        nan = np.isnan(given)
        inf = np.isinf(given) & (given != rounded(true, data_type))
        there = np.isfinite(given) & np.isfinite(true)
        far = np.where(there, np.abs(given - true), 0.0)
    counts = (given.size, int(nan.sum()), int(inf.sum()))
    broken = nan | inf
    if given.size == 0:
        return Errors(*counts)
    worst = _place(want, int(np.argmax(broken if broken.any() else far)))
    if not there.any():
        return Errors(*counts, worst=worst)
    most, usual = min(float(far.max()), _MOST), _rms(far[there])
    return Errors(
        *counts,
        max_abs=most,
        rms_abs=usual,
        max_rel=min(most / scale, _MOST),
        rms_rel=min(usual / scale, _MOST),
        max_ulps=min(int(ulps(given[there], true[there], data_type).max()), _MOST_ULPS),
        cosine=_cosine(given[there], true[there]),
        worst=worst,
    )


def verdict(found: Errors, threshold: float, doubt: str) -> tuple[AccuracyVerdict, str]:
    """Whether rounding explains the differences, and why that is not told.

    ``doubt``  why differences say nothing here; empty where they do. A nan always says something.
    """
    if found.broken:
        return "beyond", ""
    if doubt:
        return "not_told", doubt
    if found.max_rel is None:
        return "not_told", "there is nothing to compare"
    if found.max_rel > threshold:
        return "beyond", ""
    if threshold >= ANYTHING:
        return "not_told", "these types hold nothing of such a network: rounding explains anything"
    return "within", ""


def growth(got: Array, want: Array, scale: float) -> tuple[float, float] | None:
    """The usual difference in the first and in the last quarter of steps, as shares of the scale.

    Shapes   [steps, batch, width]; nan in ``want``: not compared.
    Returns  None for fewer than four steps, or where a quarter has nothing to compare.
    """
    steps = int((~np.isnan(want)).any(axis=(1, 2)).sum())  # that any sequence has
    quarter = steps // _QUARTER
    if quarter == 0:
        return None
    ends = [slice(0, quarter), slice(steps - quarter, steps)]
    return _both([(got[end], want[end]) for end in ends], scale)


def depth(
    first: Sequence[Mapping[str, Array]], last: Sequence[Mapping[str, Array]], scale: float
) -> tuple[float, float] | None:
    """The usual difference in the first and in the last layer, as shares of the scale.

    ``first, last``  each what is there and what is true, by part.
    """
    return _both([(_flat(got, want), _flat(want, want)) for got, want in (first, last)], scale)


def lost(got: Mapping[str, Array], want: Mapping[str, Array], data_type: str) -> dict[str, Any]:
    """What a narrow type loses of a gradient.

    Returns  underflow: the share of the true numbers, zeros left out, that lie below the type's
             normal ones and became zero; overflow: the share of the finite ones that became
             infinite; loss_scale_log2_low, _high: see ``loss_scales``; None where there is none.
    """
    given, true = _flat(got, want), _flat(want, want)
    real = np.isfinite(true) & (true != 0)
    if not real.any():
        return {}
    gone = real & (given == 0) & (np.abs(true) < NORMAL[data_type])
    low, high = loss_scales(true[real], data_type) or (None, None)
    return {
        "underflow": float(gone.sum() / real.sum()),
        "overflow": float((real & np.isinf(given)).sum() / real.sum()),
        "loss_scale_log2_low": low,
        "loss_scale_log2_high": high,
    }


def loss_scales(true: Array, data_type: str) -> tuple[int, int] | None:
    """The powers of two that a gradient may be multiplied with to fit into a narrow type.

    ``true``  its numbers, finite and none of them 0.
    Returns   the exponents of the least one, under which at most MOST_UNDERFLOW of the numbers
              round to zero, and of the largest, under which none rounds to infinity; None if the
              type holds no such range.
    """
    sizes = np.sort(np.abs(true))
    kept, largest = float(sizes[floor(sizes.size * MOST_UNDERFLOW)]), float(sizes[-1])
    # Halfway between zero and the least number is rounded to zero: to the even one.
    fraction, exponent = frexp(kept)
    half_least = frexp(NORMAL[data_type] * UNIT[data_type])[1] - 1
    low = half_least - exponent + (2 if fraction == 0.5 else 1)
    # Halfway between the largest number and the next power of two is rounded to infinity.
    fraction, exponent = frexp(largest)
    high = _ABOVE[data_type] - exponent - (0 if fraction < 1 - UNIT[data_type] / 2 else 1)
    return (low, high) if low <= high else None


def _both(pairs: list[tuple[Array, Array]], scale: float) -> tuple[float, float] | None:
    usual = []
    for given, true in pairs:
        there = np.isfinite(given) & np.isfinite(true)
        if not there.any():
            return None
        with np.errstate(over="ignore"):
            usual.append(min(_rms(np.abs(given[there] - true[there])) / scale, _MOST))
    return usual[0], usual[1]


def _flat(parts: Mapping[str, Array], want: Mapping[str, Array]) -> Array:
    """What is compared of all parts, one after the other."""
    return np.concatenate([parts[name][~np.isnan(true)].reshape(-1) for name, true in want.items()])


def _place(want: Mapping[str, Array], index: int) -> str:
    """An element of ``_flat`` in words: the part's name and the indices in it."""
    for name, true in want.items():
        there = np.argwhere(~np.isnan(true))
        if index < len(there):
            return f"{name}[{','.join(map(str, there[index]))}]"
        index -= len(there)
    raise IndexError(index)


def _rms(far: NDArray[np.float64]) -> float:
    """The root of the mean square, without squares that a double cannot hold."""
    most = float(far.max())
    if most == 0:
        return 0.0
    most = min(most, _MOST)
    return most * float(np.sqrt(np.mean(np.square(np.minimum(far, _MOST) / most))))


def _cosine(given: Array, true: Array) -> float:
    """1 for two vectors that are all zeros, 0 where one of them is."""
    sizes = float(np.abs(given).max()), float(np.abs(true).max())
    if 0 in sizes:
        return 1.0 if sizes[0] == sizes[1] else 0.0
    a, b = given / sizes[0], true / sizes[1]
    return float(np.clip(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)), -1, 1))
