"""A map folded into cells, each with its answer: the status, and the reason where it is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from pyharness.analyze.partition import Classes, partition

_NUMBER = re.compile(r"-?\d+")
_BLOCK = 1 << 22
_MOST_ASKED = 1_000_000

Answer = tuple[str | None, str]  # a status, None for a defect; and the pattern of its reason
Say = Callable[[NDArray[np.int64]], Sequence[str]]  # what cuDNN says of rows; "": nothing


@dataclass(frozen=True, slots=True)
class Folded:
    """A map without the values that make no difference.

    Shapes   classes[axis] gives the class of each value; cells has one entry for each combination
             of classes: an index into answers.
    """

    classes: tuple[Classes, ...]
    cells: NDArray[np.int64]
    answers: list[Answer]

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many problems each cell stands for."""
        sizes = [
            np.bincount(c, minlength=n) for c, n in zip(self.classes, self.cells.shape, strict=True)
        ]
        return reduce(np.multiply.outer, sizes, np.ones((), np.int64))


def pattern(reason: str) -> str:
    """A reason without its numbers: a check that tells what it met is one check."""
    return _NUMBER.sub("#", reason)


def fold_rows(
    codes: NDArray[np.uint8],
    names: Mapping[int, str | None],
    text_ids: NDArray[np.uint16],
    texts: Sequence[str],
) -> Folded:
    """Folds a map that has the reason of every row.

    Shapes   codes and text_ids are of the grid's shape; texts: the reason of each id.
    ``names``  the status of each code that occurs.
    """
    answers, of_text = _answers(names, texts)
    labels = np.empty(codes.size, np.uint32)
    flat_codes, flat_ids = codes.reshape(-1), text_ids.reshape(-1)
    for start in range(0, labels.size, _BLOCK):
        where = slice(start, start + _BLOCK)
        labels[where] = of_text[flat_codes[where], flat_ids[where]]
    part = partition(labels.reshape(codes.shape))
    return _trimmed(part.classes, part.quotient.astype(np.int64), answers)


def fold_asking(
    codes: NDArray[np.uint8], names: Mapping[int, str | None], say: Say | None
) -> Folded:
    """Folds a map by its statuses, and asks for the reason of one problem of each refused cell.

    ``say``  None: nobody can be asked.
    """
    part = partition(codes)
    refused = [code for code, name in names.items() if name not in ("SUCCESS", None)]
    asked = np.flatnonzero(np.isin(part.quotient, refused))
    ids = np.zeros(part.quotient.shape, np.intp)
    texts = [""]
    if say is not None and 0 < len(asked) <= _MOST_ASKED:
        firsts = [np.unique(of_axis, return_index=True)[1] for of_axis in part.classes]
        places = np.unravel_index(asked, part.quotient.shape)
        values = tuple(first[place] for first, place in zip(firsts, places, strict=True))
        said = say(np.ravel_multi_index(values, codes.shape))
        texts += sorted(set(said) - {""})
        ids.flat[asked] = [texts.index(s) for s in said]
    answers, of_text = _answers(names, texts)
    return _trimmed(part.classes, of_text[part.quotient, ids].astype(np.int64), answers)


def _answers(
    names: Mapping[int, str | None], texts: Sequence[str]
) -> tuple[list[Answer], NDArray[np.uint32]]:
    """Every answer that can be, and its number by code and text id."""
    answers: dict[Answer, int] = {}
    table = np.zeros((256, len(texts)), np.uint32)
    for code, name in names.items():
        for text_id, text in enumerate(texts):
            said = "" if name in ("SUCCESS", None) else pattern(text)
            table[code, text_id] = answers.setdefault((name, said), len(answers))
    return list(answers), table


def _trimmed(
    classes: tuple[Classes, ...], cells: NDArray[np.int64], answers: Sequence[Answer]
) -> Folded:
    """Answers that no cell has left out, the others in an order of their own."""
    met = sorted(np.unique(cells).tolist(), key=lambda a: (answers[a][0] or "", answers[a][1]))
    numbers = np.zeros(len(answers), np.int64)
    numbers[met] = np.arange(len(met))
    return Folded(classes, numbers[cells], [answers[a] for a in met])
