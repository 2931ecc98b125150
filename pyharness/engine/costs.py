"""What one call costs: the same few thousand problems, walked again and again, alone."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.engine.crew import Crew
from pyharness.engine.sampling import evenly
from pyharness.space.grid import Grid
from pyharness.spec.ledger import Death

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


def pick(
    codes: NDArray[np.uint8], accepted: Iterable[int], refused: Iterable[int]
) -> dict[str, NDArray[np.int64]]:
    """The rows to time: up to ROWS accepted and as many refused ones, evenly spaced."""
    picked = {"accepted": evenly(codes, accepted, ROWS), "refused": evenly(codes, refused, ROWS)}
    return {answer: rows for answer, rows in picked.items() if len(rows)}


def time_calls(
    crew: Crew, grid: Grid, picked: Mapping[str, NDArray[np.int64]]
) -> list[Cost] | Death:
    """Times the picked rows of a grid, in one process of the crew.

    Returns  one cost for each answer; a Death if the worker ended in it.
    """
    worker = crew.at_rest(grid)
    costs = []
    for answer, rows in picked.items():
        # A small grid's rows are walked over and over, so that a sample is never shorter; the first
        # sample warms up what the library and the processor keep.
        samples = worker.time_rows(np.resize(rows, max(len(rows), ROWS)), SAMPLES + 1)
        if isinstance(samples, Death):
            return samples
        del samples[0]
        lower, median, upper = statistics.quantiles(samples, n=4)
        costs.append(
            Cost(
                grid.call.name, answer, len(rows), len(samples), median, min(samples), lower, upper
            )
        )
    return costs
