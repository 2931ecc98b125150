"""A stored map as arrays that can grow, and the library that it was made with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.api.launching import launch_of
from pyharness.api.mapping import MapOptions
from pyharness.engine.answers import Answers, ask
from pyharness.engine.crew import Crew, whole
from pyharness.engine.sampling import histogram
from pyharness.releases.model import Release
from pyharness.space.grid import Grid
from pyharness.spec.ledger import FAILED, Ledger
from pyharness.store.reading import GridStatuses

_BLOCK = 1 << 22


class Library:
    """Workers on the release of a map. Use it in a ``with`` block: leaving it ends them."""

    def __init__(self, release: Release, options: MapOptions) -> None:
        self.ledger = Ledger()
        self._stack = ExitStack()
        self._crews = {
            explain: Crew(
                launch_of(release),
                self.ledger,
                options.walkers,
                explain=explain,
                timeout_s=options.timeout_s,
            )
            for explain in (False, True)
        }

    def __enter__(self) -> Library:
        """Itself; workers start when they are first needed."""
        for crew in self._crews.values():
            self._stack.enter_context(crew)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends every worker."""
        self._stack.close()

    def walk(self, grid: Grid, explain: bool) -> Answers:
        """The answer to every problem of a grid.

        Raises  Collapse if no worker survives.
        """
        answers = Answers(grid.size)
        self._crews[explain].run(whole(grid), answers)
        return answers

    def ask(self, grid: Grid, rows: NDArray[np.int64]) -> Answers:
        """The answers to these rows of a grid.

        Raises  Collapse if no worker survives.
        """
        return ask(self._crews[False], grid, rows)

    def say(self, grid: Grid, rows: NDArray[np.int64]) -> list[str]:
        """What cuDNN says of rows; what became of the worker where it ended; "" for no word.

        Raises  Collapse if no worker survives.
        """
        answers = ask(self._crews[True], grid, rows)
        said = [self.ledger.texts[i] for i in answers.text_ids]
        for position, death in answers.deaths.items():
            said[position] = f"(the worker ended when it was asked why: {death.cause})"
        return said


@dataclass(slots=True)
class Mapped:
    """A map of one call as arrays, which may grow.

    Shapes   codes: uint8 of the grid's shape; text_ids: uint16 of the same, or None.
    ``names``  the status of each code that occurs; None for a defect.
    ``texts``  the reason of each text id.
    """

    grid: Grid
    codes: NDArray[np.uint8]
    names: dict[int, str | None]
    text_ids: NDArray[np.uint16] | None
    texts: list[str]

    def grow(self, at: int, values: Sequence[int], library: Library) -> None:
        """Maps more values of one axis, which are put among the others in ascending order.

        Raises  Collapse if no worker survives.
        """
        grid = self.grid
        added = Grid(grid.call, (*grid.values[:at], tuple(values), *grid.values[at + 1 :]))
        answers = library.walk(added, explain=self.text_ids is not None)
        codes = self._own_codes(answers.codes, library.ledger)
        every = (*grid.values[at], *values)
        order = np.argsort(every, kind="stable")
        self.codes = _put_among(self.codes, codes.reshape(added.shape), at, order)
        if self.text_ids is not None:
            ids = self._own_texts(answers, library.ledger)
            self.text_ids = _put_among(self.text_ids, ids.reshape(added.shape), at, order)
        ascending = tuple(every[i] for i in order)
        self.grid = Grid(grid.call, (*grid.values[:at], ascending, *grid.values[at + 1 :]))

    def _own_codes(self, codes: NDArray[np.uint8], ledger: Ledger) -> NDArray[np.uint8]:
        table = np.full(256, FAILED, np.uint8)
        known = {name: code for code, name in self.names.items()}
        for theirs in np.unique(codes).tolist():
            name = ledger.name_of(theirs)
            if name is None:
                self.names[FAILED] = None
                continue
            if name not in known:
                known[name] = next(c for c in range(256) if c not in self.names)
                self.names[known[name]] = name
            table[theirs] = known[name]
        return table[codes]

    def _own_texts(self, answers: Answers, ledger: Ledger) -> NDArray[np.uint16]:
        table = np.zeros(len(ledger.texts), np.uint16)
        for theirs in np.unique(answers.text_ids).tolist():
            if ledger.texts[theirs] not in self.texts:
                self.texts.append(ledger.texts[theirs])
            table[theirs] = self.texts.index(ledger.texts[theirs])
        return table[answers.text_ids]


def mapped(statuses: GridStatuses) -> Mapped:
    """A stored map, its values in the order of their numbers so that words do not depend on it."""
    grid, codes, ids = statuses.grid, statuses.codes, statuses.text_ids
    for at, values in enumerate(grid.values):
        order = np.argsort(values, kind="stable")
        if (np.diff(order) != 1).any():
            codes = codes.take(order, at)
            ids = None if ids is None else ids.take(order, at)
    ascending = Grid(grid.call, tuple(tuple(sorted(values)) for values in grid.values))
    met = histogram(codes.reshape(-1), (*range(len(statuses.names)), FAILED))
    names = {code: None if code == FAILED else statuses.names[code] for code in met}
    return Mapped(ascending, codes, names, ids, list(statuses.texts))


def changed_status(a: Mapped, b: Mapped) -> tuple[int, int]:
    """The problems that two maps of one call answer with different statuses.

    Returns  so many; and how many problems both have.
    """
    kept_a, kept_b = [], []
    for of_a, of_b in zip(a.grid.values, b.grid.values, strict=True):
        _, at_a, at_b = np.intersect1d(of_a, of_b, assume_unique=True, return_indices=True)
        kept_a.append(at_a)
        kept_b.append(at_b)
    names = list(dict.fromkeys([*a.names.values(), *b.names.values()]))
    codes_a, codes_b = a.codes[np.ix_(*kept_a)].reshape(-1), b.codes[np.ix_(*kept_b)].reshape(-1)
    table_a, table_b = _numbers(a.names, names), _numbers(b.names, names)
    rows = 0
    for start in range(0, codes_a.size, _BLOCK):
        where = slice(start, start + _BLOCK)
        rows += int(np.count_nonzero(table_a[codes_a[where]] != table_b[codes_b[where]]))
    return rows, codes_a.size


def _numbers(names: Mapping[int, str | None], among: Sequence[str | None]) -> NDArray[np.uint8]:
    """The place among statuses of each code's, by code."""
    table = np.zeros(256, np.uint8)
    for code, name in names.items():
        table[code] = among.index(name)
    return table


def _put_among(
    old: NDArray[Any], new: NDArray[Any], at: int, order: NDArray[np.intp]
) -> NDArray[Any]:
    return np.ascontiguousarray(np.concatenate([old, new], at).take(order, at))
