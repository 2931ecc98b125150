"""Does the library answer the same twice, and keep what it accepted?

Some rows of a walk are asked again by another process, in another order, and what was accepted is
read back through the library's getters. A library that passes this may still lie; one that fails it
has lied.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pyharness.engine.answers import ask
from pyharness.engine.crew import Crew
from pyharness.engine.sampling import scattered
from pyharness.space.grid import Grid
from pyharness.spec.ledger import FAILED, Ledger

SAMPLE = 20_000
_EXAMPLES = 5


@dataclass(slots=True)
class SpotCheck:
    """What came of it, in one grid.

    ``rows``      rows asked again.
    ``changed``   rows that got another answer than in the walk.
    ``unkept``    accepted rows whose values read back otherwise.
    ``examples``  (row, what happened) of a few of them.
    """

    rows: int = 0
    changed: int = 0
    unkept: int = 0
    examples: list[tuple[int, str]] = field(default_factory=list)


def spot_check(
    crew: Crew, ledger: Ledger, grid: Grid, codes: NDArray[np.uint8], seed: int
) -> SpotCheck:
    """Asks a sample of a walked grid again; ``crew`` must explain, so that it reads back.

    Raises  Collapse if no worker survives.
    """
    rows = scattered(grid.size, SAMPLE, seed)
    rows = rows[codes[rows] != FAILED]
    np.random.default_rng(seed).shuffle(rows)
    answers = ask(crew, grid, rows)
    before = codes[rows]
    changed = answers.codes != before
    accepted = np.isin(answers.codes, [ledger.code(s) for s in ledger.statuses if s == 0])
    unkept = accepted & (answers.text_ids != 0)
    check = SpotCheck(len(rows), int(changed.sum()), int(unkept.sum()))
    for place in np.flatnonzero(changed | unkept)[:_EXAMPLES]:
        if changed[place]:
            what = f"{_name(ledger, before[place])}, then {_name(ledger, answers.codes[place])}"
        else:
            what = f"accepted, but {ledger.texts[answers.text_ids[place]]}"
        check.examples.append((int(rows[place]), what))
    return check


def _name(ledger: Ledger, code: int) -> str:
    return ledger.name_of(int(code)) or "the worker ended"
