"""The median of samples and how far it may be off, without a law of how they spread."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Samples = Sequence[float] | NDArray[np.float64]
# Values nearer than this, relative to the median, are one reading: what a division leaves over.
_SAME = 1e-9
_Z = 1.96  # the ranks that the error is read from: wide enough to hold samples even where few are


def timer_step(samples: Samples) -> float:
    """The step that the samples come in, if the timer has one: the least gap between two readings.

    Returns  0 where no two samples are equal: their spread is no timer's; 0 for one reading alone.
    """
    values = np.sort(np.asarray(samples, np.float64))
    gaps = np.diff(values)
    if gaps.size == 0:
        return 0.0
    same = gaps <= _SAME * abs(float(np.median(values)))
    if not same.any() or same.all():
        return 0.0
    return float(gaps[~same].min())


def median_error(samples: Samples, resolution: float = 0.0) -> float:
    """The standard error of the median.

    Two sources, as if independent:
      order  half the distance of the ranks n/2 -+ 1.96*sqrt(n)/2, between which the median of all
             lies in 95 % of cases (the count of samples below it is binomial), over 1.96. For a
             normal law that is 1.2533*sd/sqrt(n); one odd sample among many moves it by nothing.
      step   a timer that steps by q shows the median as a multiple of q: it is off by up to q/2,
             evenly, which has the standard deviation q/sqrt(12). Many samples do not mend it.

    ``resolution``  the timer's step, used where the samples show one reading alone.
    Returns         0 or more; infinity for fewer than two samples.
    Source          McKean and Schrader's estimator, with ranks between samples interpolated.
    """
    values = np.asarray(samples, np.float64)
    if values.size < 2:
        return float("inf")
    half = _Z / (2 * values.size**0.5)
    low, high = np.quantile(values, (max(0.5 - half, 0.0), min(0.5 + half, 1.0)))
    order = float(high - low) / (2 * _Z)
    step = timer_step(values) or (resolution if low == high else 0.0)
    return float(np.hypot(order, step / 12**0.5))


def median_interval(samples: Samples) -> tuple[float, float] | None:
    """An interval that holds the true median with 95 % or more, whatever the law.

    Between the k-th smallest and the k-th largest sample, k the greatest with
    2 * P(Binomial(n, 1/2) < k) <= 5 %; half a timer's step wider on both sides, since rounding
    moves no sample further.

    Returns  None below 6 samples: even their ends hold it with less than 95 %.
    """
    from scipy.stats import binom  # noqa: PLC0415 - slow to import

    values = np.sort(np.asarray(samples, np.float64))
    k = int(binom.ppf(0.025, values.size, 0.5))
    if 2 * binom.cdf(k - 1, values.size, 0.5) > 0.05:
        k -= 1
    if values.size < 6 or k < 1:
        return None
    slack = timer_step(values) / 2
    return float(values[k - 1]) - slack, float(values[-k]) + slack
