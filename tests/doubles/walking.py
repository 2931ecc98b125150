"""Walks of the fake library, and the comparison of every row with what it must be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from pyharness.engine.answers import Answers
from pyharness.engine.crew import Crew, some, whole
from pyharness.engine.worker import Launch
from pyharness.space.grid import Grid, make_grid
from pyharness.spec.calls import SET_RNN_DESCRIPTOR
from pyharness.spec.ledger import FAILED, Ledger

from . import rules

Row = dict[str, int | str]


def descriptors(**axes: str) -> Grid:
    """A grid of cudnnSetRNNDescriptor_v8; what is not named has its default."""
    return make_grid(SET_RNN_DESCRIPTOR, axes)


def rows_of(grid: Grid) -> Iterator[Row]:
    """Every row in order, as nested loops give them: numbers, and the word of a proj_size rule."""
    names = [axis.name for axis in grid.call.axes]
    for values in product(*grid.values):
        row: Row = dict(zip(names, values, strict=True))
        if "proj_size" in row:
            row["proj_size"] = grid.call.axis("proj_size").label(int(row["proj_size"]))
        yield row


def walk(
    launch: Launch,
    grid: Grid,
    *,
    walkers: int = 1,
    explain: bool = False,
    rows: Sequence[int] | NDArray[np.int64] | None = None,
    timeout_s: float = 30,
) -> tuple[Answers, Ledger]:
    """What a crew finds out about a grid, or about some rows of it, by position."""
    ledger = Ledger()
    job = whole(grid) if rows is None else some(grid, np.array(rows, np.int64))
    answers = Answers(grid.size if rows is None else len(rows))
    with Crew(launch, ledger, walkers, explain=explain, timeout_s=timeout_s) as crew:
        crew.run(job, answers)
    return answers, ledger


def differences(
    grid: Grid,
    answers: Answers,
    ledger: Ledger,
    *,
    explained: bool = False,
    rows: Sequence[int] | NDArray[np.int64] | None = None,
) -> list[tuple[Row, object, object]]:
    """(row, expected, found) of every row of descriptors that is not what the rules say."""
    every = list(rows_of(grid))
    wrong = []
    for place, row in enumerate(every if rows is None else [every[r] for r in rows]):
        expected = rules.descriptor(row)
        code = int(answers.codes[place])
        found: object
        if code == FAILED:
            death = answers.deaths.get(place)
            found = death.cause if death else "failed, and nobody died"
            good = isinstance(expected, str) and str(found).startswith(expected)
        else:
            text = ledger.texts[answers.text_ids[place]] or None
            found = ledger.statuses[code], text
            good = expected == found if explained else expected[0] == found[0]
        if not good:
            wrong.append((row, expected, found))
    return wrong
