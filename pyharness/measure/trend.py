"""Did a case become slower or faster while it was timed?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pyharness.measure.median import Samples

Verdict = Literal["steady", "drifting", "too few"]

FALSE_ALARMS = 0.001  # share of steady cases that are called drifting, at most
LEAST_CHANGE = 0.01  # from first to last sample, relative to the median: less is called steady
LEAST_SAMPLES = 10
_MOST_POINTS = 500  # every pair of points has a slope


@dataclass(frozen=True, slots=True)
class Trend:
    """How samples change with their number.

    ``slope``    per sample, in their unit: the median of the slopes of all pairs (Theil-Sen).
    ``change``   what it makes from first to last, relative to the median.
    ``p``        chance of an order as clear as this if there were no trend (Kendall's tau); 1 where
                 all samples are equal.
    ``verdict``  drifting if p is at most FALSE_ALARMS and the change LEAST_CHANGE or more; steady;
                 too few below LEAST_SAMPLES. Holds for samples that are independent of each other;
                 a clock that wanders is rightly called drifting.
    """

    slope: float
    change: float
    p: float
    verdict: Verdict


def find_trend(samples: Samples) -> Trend:
    """The trend of samples in the order in which they were taken.

    Of more than 500 samples, the medians of blocks of equal size are looked at.
    """
    from scipy.stats import kendalltau, theilslopes  # noqa: PLC0415 - slow to import

    values = np.asarray(samples, np.float64)
    if values.size < LEAST_SAMPLES:
        return Trend(0.0, 0.0, 1.0, "too few")
    size = -(-values.size // _MOST_POINTS)
    count = values.size // size  # what does not fill a block is left out at the front
    points = np.median(values[values.size - count * size :].reshape(count, size), axis=1)
    if points.min() == points.max():
        return Trend(0.0, 0.0, 1.0, "steady")
    p = float(kendalltau(np.arange(count), points).pvalue)
    slope = float(theilslopes(points).slope) / size
    change = slope * (values.size - 1) / float(np.median(values))
    drifts = p <= FALSE_ALARMS and abs(change) >= LEAST_CHANGE
    return Trend(slope, change, p, "drifting" if drifts else "steady")
