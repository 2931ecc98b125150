"""Rows picked from a walked grid, for what is too dear to do to every row."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 22


def evenly(codes: NDArray[np.uint8], wanted: Iterable[int], most: int) -> NDArray[np.int64]:
    """Up to ``most`` rows whose code is wanted, evenly spaced among all such rows.

    Returns  int64 [n], ascending; all of them if there are no more than ``most``.
    """
    mark = np.zeros(256, bool)
    mark[list(wanted)] = True
    starts = range(0, len(codes), _BLOCK)
    counts = [int(mark[codes[s : s + _BLOCK]].sum()) for s in starts]
    total = sum(counts)
    ordinals = np.unique(np.linspace(0, total - 1, min(most, total)).astype(np.int64))
    picked, before = [], 0
    for start, count in zip(starts, counts, strict=True):
        here = ordinals[(ordinals >= before) & (ordinals < before + count)] - before
        if len(here):
            picked.append(np.flatnonzero(mark[codes[start : start + _BLOCK]])[here] + start)
        before += count
    return np.concatenate(picked) if picked else np.empty(0, np.int64)


def scattered(rows: int, most: int, seed: int) -> NDArray[np.int64]:
    """Up to ``most`` of ``rows`` row numbers, drawn at random; all of them if there are no more."""
    if rows <= most:
        return np.arange(rows, dtype=np.int64)
    return np.unique(np.random.default_rng(seed).integers(0, rows, most))
