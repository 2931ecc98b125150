"""What one call costs: the same few thousand problems, walked again and again, alone."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.engine.crew import Crew
from pyharness.engine.sampling import evenly
from pyharness.space.grid import Grid
from pyharness.spec.ledger import FAILED, Death, Ledger

ROWS = 4096  # at 0.05 µs a call: 0.2 ms a sample, four orders above the clock's step
SAMPLES = 31


@dataclass(frozen=True, slots=True)
class Cost:
    """Time of one call over accepted, or over refused, problems: seconds.

    ``rows``     distinct problems in one sample; ``samples``: times that they were walked.
    """

    call: str
    answer: str
    rows: int
    samples: int
    median_s: float
    min_s: float
    p25_s: float
    p75_s: float


def time_calls(
    crew: Crew, ledger: Ledger, grid: Grid, codes: NDArray[np.uint8]
) -> list[Cost] | Death:
    """Times the accepted and the refused problems of a walked grid.

    Returns  one cost for each of the two that the grid has; a Death if a worker ended in it.
    """
    accepted = [c for c, s in enumerate(ledger.statuses) if s == 0]
    refused = [c for c, s in enumerate(ledger.statuses) if s != 0 and c != FAILED]
    worker = crew.at_rest(grid)
    costs = []
    for answer, wanted in (("accepted", accepted), ("refused", refused)):
        rows = evenly(codes, wanted, ROWS)
        if not len(rows):
            continue
        samples = worker.time_rows(rows, SAMPLES)
        if isinstance(samples, Death):
            return samples
        lower, median, upper = statistics.quantiles(samples, n=4)
        costs.append(
            Cost(
                grid.call.name,
                answer,
                len(rows),
                len(samples),
                median,
                min(samples),
                lower,
                upper,
            )
        )
    return costs
