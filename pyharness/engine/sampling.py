"""Rows picked from a walked grid, for what is too dear to do to every row."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 22


def marked(codes: NDArray[np.uint8], wanted: Iterable[int]) -> NDArray[np.bool_]:
    """Which codes are wanted; a comparison per code beats a table at a hundred million rows."""
    mark = np.zeros(codes.shape, bool)
    for code in wanted:
        mark |= codes == code
    return mark


def histogram(codes: NDArray[np.uint8], known: Iterable[int]) -> dict[int, int]:
    """How many rows have each of the known codes; codes that no row has are left out."""
    counts = dict.fromkeys(known, 0)
    for start in range(0, len(codes), _BLOCK):
        block = codes[start : start + _BLOCK]
        for code in counts:
            counts[code] += int(np.count_nonzero(block == code))
    return {code: n for code, n in counts.items() if n}


def evenly(codes: NDArray[np.uint8], wanted: Iterable[int], most: int) -> NDArray[np.int64]:
    """Up to ``most`` rows whose code is wanted, evenly spaced among all such rows.

    Returns  int64 [n], ascending; all of them if there are no more than ``most``.
    """
    wanted = tuple(wanted)
    starts = range(0, len(codes), _BLOCK)
    counts = [int(np.count_nonzero(marked(codes[s : s + _BLOCK], wanted))) for s in starts]
    total = sum(counts)
    ordinals = np.unique(np.linspace(0, total - 1, min(most, total)).astype(np.int64))
    picked, before = [], 0
    for start, count in zip(starts, counts, strict=True):
        here = ordinals[(ordinals >= before) & (ordinals < before + count)] - before
        if len(here):
            picked.append(
                np.flatnonzero(marked(codes[start : start + _BLOCK], wanted))[here] + start
            )
        before += count
    return np.concatenate(picked) if picked else np.empty(0, np.int64)


def scattered(rows: int, most: int, seed: int) -> NDArray[np.int64]:
    """Up to ``most`` of ``rows`` row numbers, drawn at random; all of them if there are no more."""
    if rows <= most:
        return np.arange(rows, dtype=np.int64)
    return np.unique(np.random.default_rng(seed).integers(0, rows, most))
