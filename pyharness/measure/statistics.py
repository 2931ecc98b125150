"""What a set of samples says in a few numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyharness.measure.median import Samples, median_error, median_interval


@dataclass(frozen=True, slots=True)
class Summary:
    """Samples in a few numbers, in their unit.

    ``p05`` … ``p95``      percentiles, interpolated between samples.
    ``*_error``            standard error; None for a single sample.
    ``*_low``, ``*_high``  95 % confidence interval: of the median without a law and 95 % or more,
                           None below 6 samples; of the mean by Student's t, None below 2, and less
                           than 95 % where few samples have a long tail.
    """

    n: int
    median: float
    mean: float
    minimum: float
    p05: float
    p25: float
    p75: float
    p95: float
    median_error: float | None
    median_low: float | None
    median_high: float | None
    mean_error: float | None
    mean_low: float | None
    mean_high: float | None

    @property
    def iqr(self) -> float:
        """The middle half's width."""
        return self.p75 - self.p25


def summarize(samples: Samples, resolution: float = 0.0) -> Summary | None:
    """The summary of samples that are independent of each other.

    ``resolution``  the timer's step, if all samples should be one reading.
    Returns         None without a sample: nothing is known.
    """
    values = np.asarray(samples, np.float64)
    n = values.size
    if n == 0:
        return None
    p05, p25, median, p75, p95 = (
        float(q) for q in np.quantile(values, (0.05, 0.25, 0.5, 0.75, 0.95))
    )
    mean = float(values.mean())
    around_median = median_interval(values) or (None, None)
    mean_error = None if n == 1 else float(values.std(ddof=1)) / n**0.5
    around_mean = _around(mean, mean_error, n)
    return Summary(
        n,
        median,
        mean,
        float(values.min()),
        p05,
        p25,
        p75,
        p95,
        None if n == 1 else median_error(values, resolution),
        around_median[0],
        around_median[1],
        mean_error,
        around_mean[0],
        around_mean[1],
    )


def _around(mean: float, error: float | None, n: int) -> tuple[float, float] | tuple[None, None]:
    """The mean's confidence interval by Student's t."""
    if error is None:
        return None, None
    from scipy.stats import t  # noqa: PLC0415 - slow to import

    reach = float(t.ppf(0.975, n - 1)) * error
    return mean - reach, mean + reach
