"""What a mask may be made of: its type, its axes and its values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.errors import UsageError

ALLOWED = "allowed: bool, integers, or floats that are all 0 or 1, as batch x time or time x batch"


def as_bool(mask: NDArray[Any]) -> tuple[NDArray[np.bool_], list[str]]:
    """The mask as [rows, columns] of bool, and what is worth saying about its values.

    Raises  UsageError for what is no mask, naming the first place and value.
    """
    notes: list[str] = []
    if mask.ndim == 1 and mask.dtype.kind in "iu":
        raise UsageError(
            f"a mask of one axis ({len(mask)} integers)",
            "these look like lengths: give them as lengths (--lengths), or a mask of two axes",
        )
    if mask.ndim not in (2, 3):
        raise UsageError(
            f"a mask of {mask.ndim} axes ({shape_text(mask)})", f"two are allowed; {ALLOWED}"
        )
    if mask.dtype.kind not in "biuf":
        raise UsageError(f"a mask of type {mask.dtype}", ALLOWED)
    if not mask.size:
        raise UsageError(
            f"the mask is empty ({shape_text(mask)})",
            "a batch has a sequence and a step at least: where it has none, make no call",
        )
    if mask.dtype.kind == "f":
        _refuse_fractions(mask)
    elif mask.dtype.kind in "iu":
        other = (mask != 0) & (mask != 1)
        if other.any():
            place = _first(other)
            notes.append(
                "integers other than 0 and 1 count as 1, the first at "
                f"{_place(place)}: {mask[place]}"
            )
    counts = mask.astype(np.bool_)
    return (counts if mask.ndim == 2 else _without_features(counts)), notes


def _refuse_fractions(mask: NDArray[Any]) -> None:
    other = (mask != 0) & (mask != 1)  # NaN is neither
    if other.any():
        place = _first(other)
        hint = ALLOWED
        if np.isneginf(mask[place]):
            hint = "a mask that is added to scores (0 and -inf) becomes one with mask == 0"
        raise UsageError(f"the mask is {mask[place]} at {_place(place)}", hint)


def _without_features(counts: NDArray[np.bool_]) -> NDArray[np.bool_]:
    differ = counts != counts[:, :, :1]
    if differ.any():
        row, column, feature = _first(differ)
        raise UsageError(
            f"the mask differs between the features of one step: at {_place((row, column, 0))} and "
            f"{_place((row, column, feature))}",
            "cuDNN masks whole steps; " + ALLOWED,
        )
    return np.ascontiguousarray(counts[:, :, 0])


def _first(marked: NDArray[np.bool_]) -> tuple[int, ...]:
    place = np.unravel_index(int(np.argmax(marked)), marked.shape)
    return tuple(int(i) for i in place)


def _place(place: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, place))}]"


def shape_text(mask: NDArray[Any]) -> str:
    return "x".join(map(str, mask.shape)) or "a single value"
