"""Every distinct reason of a walked grid, without asking for every row.

Asking for a reason costs as much as fifty calls. A status map folds into classes of values that
make no difference (partition), so one row of each cell is asked; then values put together by status
are told apart where a reason tells them apart, until a random sample of rows finds nothing new.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.analyze.partition import Classes, partition

Oracle = Callable[[NDArray[np.int64]], NDArray[np.uint16]]

_MOST_CELLS = 1_000_000
_SAMPLE = 20_000
_TRIES_PER_VALUE = 16
_TRACED = 64
_MOST_ROUNDS = 12
_UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """One reason under one status.

    ``rows``     rows of the grid that it is given for.
    ``example``  one such row.
    """

    code: int
    text_id: int
    rows: int
    example: int


@dataclass(frozen=True, slots=True)
class DistinctReasons:
    """What was found.

    ``agreed``   the last random sample of rows had no reason other than predicted.
    ``sampled``  rows in that sample.
    ``cells``    cells of the partition that were refused; ``asked`` of them were asked.
    """

    reasons: tuple[ReasonCount, ...]
    agreed: bool
    sampled: int
    cells: int
    asked: int


class _Quotient:
    """Classes of values per axis, the status of each cell, and its reason once asked."""

    def __init__(self, codes: NDArray[np.uint8], refused: Iterable[int]) -> None:
        part = partition(codes)
        self.shape = codes.shape
        self.classes: list[Classes] = list(part.classes)
        self.codes = part.quotient
        mark = np.zeros(256, bool)
        mark[list(refused)] = True
        self.refused = mark[self.codes]
        self.texts = np.full(self.codes.shape, _UNKNOWN, np.int32)
        self.strides = [math.prod(self.shape[i + 1 :]) for i in range(len(self.shape))]

    def representatives(self, axis: int) -> NDArray[np.int64]:
        """The first value of each class of an axis."""
        return np.unique(self.classes[axis], return_index=True)[1].astype(np.int64)

    def rows_of(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """The row that stands for each cell; ``cells`` are flat indices."""
        places = np.unravel_index(cells, self.codes.shape)
        rows = np.zeros(len(cells), np.int64)
        for axis, place in enumerate(places):
            rows += self.representatives(axis)[place] * self.strides[axis]
        return rows

    def cells_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The flat index of the cell of each row."""
        values = np.unravel_index(rows, self.shape)
        places = tuple(of_axis[v] for of_axis, v in zip(self.classes, values, strict=True))
        return np.ravel_multi_index(places, self.codes.shape).astype(np.int64)

    def split(self, axis: int, value: int) -> None:
        """Gives a value that stands for no class a class of its own; its reasons are unknown."""
        of_axis = self.classes[axis]
        old = int(of_axis[value])
        of_axis[value] = self.codes.shape[axis]
        self.codes = np.concatenate([self.codes, self.codes.take([old], axis)], axis)
        self.refused = np.concatenate([self.refused, self.refused.take([old], axis)], axis)
        fresh = np.full_like(self.texts.take([old], axis), _UNKNOWN)
        self.texts = np.concatenate([self.texts, fresh], axis)


def distinct_reasons(
    codes: NDArray[np.uint8], refused: Iterable[int], oracle: Oracle, seed: int
) -> DistinctReasons:
    """Every reason given in a grid, with how often.

    Shapes   codes: uint8 of the grid's shape; refused: the codes that have reasons.
    ``oracle``  text ids of rows: what the library says when it is asked.
    Returns  reasons, the most frequent first; counts are exact as far as the sample can tell if
             ``agreed`` and every cell was asked.
    """
    rng = np.random.default_rng(seed)
    quotient = _Quotient(codes, refused)
    agreed, sampled = False, 0
    for _ in range(_MOST_ROUNDS):
        _ask_cells(quotient, oracle, rng)
        if _split_by_value(quotient, oracle, rng):
            continue
        disagreeing, sampled = _sample(quotient, codes, oracle, rng)
        if not len(disagreeing):
            agreed = True
            break
        _trace(quotient, disagreeing, oracle)
    _ask_cells(quotient, oracle, rng)
    return _count(quotient, agreed, sampled)


def _ask_cells(q: _Quotient, oracle: Oracle, rng: np.random.Generator) -> None:
    cells = np.flatnonzero(q.refused & (q.texts == _UNKNOWN)).astype(np.int64)
    if len(cells) > _MOST_CELLS:
        cells = np.sort(rng.choice(cells, _MOST_CELLS, replace=False))
    if len(cells):
        q.texts.flat[cells] = oracle(q.rows_of(cells))


def _split_by_value(q: _Quotient, oracle: Oracle, rng: np.random.Generator) -> bool:
    """Tries every value beside its class' first one, in a few cells; splits those that differ."""
    tries: list[tuple[int, int, NDArray[np.int64], NDArray[np.int64]]] = []
    for axis, of_axis in enumerate(q.classes):
        first = q.representatives(axis)
        for value in range(len(of_axis)):
            if value == first[of_axis[value]]:
                continue
            slab = np.moveaxis(q.refused & (q.texts != _UNKNOWN), axis, 0)[of_axis[value]]
            inside = np.flatnonzero(slab)
            if not len(inside):
                continue
            inside = rng.choice(inside, min(_TRIES_PER_VALUE, len(inside)), replace=False)
            places = list(np.unravel_index(inside, slab.shape)) if slab.ndim else []
            places.insert(axis, np.full(len(inside), of_axis[value]))
            cells = np.ravel_multi_index(tuple(places), q.codes.shape).astype(np.int64)
            rows = q.rows_of(cells) + (value - first[of_axis[value]]) * q.strides[axis]
            tries.append((axis, value, cells, rows))
    if not tries:
        return False
    texts = oracle(np.concatenate([rows for *_, rows in tries]))
    at, different = 0, []
    for axis, value, cells, rows in tries:
        if np.any(texts[at : at + len(rows)] != q.texts.flat[cells]):
            different.append((axis, value))
        at += len(rows)
    for axis, value in different:
        q.split(axis, value)
    return bool(different)


def _sample(
    q: _Quotient, codes: NDArray[np.uint8], oracle: Oracle, rng: np.random.Generator
) -> tuple[NDArray[np.int64], int]:
    """Random refused rows whose reason is not the one of their cell, and how many were asked."""
    rows = np.unique(rng.integers(0, codes.size, _SAMPLE))
    cells = q.cells_of(rows)
    known = q.refused.flat[cells] & (q.texts.flat[cells] != _UNKNOWN)
    rows, cells = rows[known], cells[known]
    if not len(rows):
        return rows, 0
    return rows[oracle(rows) != q.texts.flat[cells]], len(rows)


def _trace(q: _Quotient, rows: NDArray[np.int64], oracle: Oracle) -> None:
    """Finds the value that sets a disagreeing row apart from its cell, and splits it off."""
    splits = set()
    for row in rows[:_TRACED]:
        cell = q.cells_of(np.array([row]))
        at = int(q.rows_of(cell)[0])
        said = int(q.texts.flat[cell[0]])
        for axis, value in enumerate(map(int, np.unravel_index(int(row), q.shape))):
            here = np.unravel_index(at, q.shape)[axis]
            if value == here:
                continue
            at += (value - int(here)) * q.strides[axis]
            if int(oracle(np.array([at], np.int64))[0]) != said:
                splits.add((axis, value))
                break
    for axis, value in sorted(splits):
        q.split(axis, value)


def _count(q: _Quotient, agreed: bool, sampled: int) -> DistinctReasons:
    sizes = [np.bincount(c, minlength=n) for c, n in zip(q.classes, q.codes.shape, strict=True)]
    counts = np.ones((), np.int64)
    for of_axis in sizes:
        counts = np.multiply.outer(counts, of_axis)
    refused = np.flatnonzero(q.refused & (counts > 0))
    asked = refused[q.texts.flat[refused] != _UNKNOWN]
    keys = q.codes.flat[asked].astype(np.int64) << 32 | q.texts.flat[asked]
    distinct, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    rows = np.bincount(inverse, weights=counts.flat[asked].astype(np.float64))
    reasons = [
        ReasonCount(int(key >> 32), int(key & 0xFFFFFFFF), int(n), int(q.rows_of(asked[[f]])[0]))
        for key, n, f in zip(distinct, rows, first, strict=True)
    ]
    reasons.sort(key=lambda r: (-r.rows, r.example))
    return DistinctReasons(tuple(reasons), agreed, sampled, len(refused), len(asked))
