"""Summaries against values worked out by hand, and against laws that are known."""

from __future__ import annotations

import numpy as np
import pytest

from pyharness.measure.statistics import summarize


def test_eleven_numbers_by_hand() -> None:
    """0, 1, …, 10: everything has a short closed form."""
    s = summarize([float(n) for n in (3, 1, 10, 0, 2, 9, 8, 4, 7, 5, 6)])
    assert s is not None
    assert (s.n, s.median, s.mean, s.minimum) == (11, 5.0, 5.0, 0.0)
    assert (s.p05, s.p25, s.p75, s.p95) == (0.5, 2.5, 7.5, 9.5)
    assert s.iqr == 5.0
    # The variance of 0 … 10 is 110 / 10 = 11, the mean's error sqrt(11 / 11) = 1; t at 0.975 with
    # 10 degrees of freedom is 2.2281.
    assert s.mean_error == pytest.approx(1.0)
    assert s.mean_low == pytest.approx(5 - 2.2281, abs=1e-4)
    assert s.mean_high == pytest.approx(5 + 2.2281, abs=1e-4)
    # 2 * P(X <= 1) = 24 / 2048 = 0.012 and 2 * P(X <= 2) = 134 / 2048 = 0.065: so k = 2.
    assert (s.median_low, s.median_high) == (1.0, 9.0)
    # Quantiles 0.5 -+ 1.96 / (2 * sqrt(11)) are 10 * 0.20452 and 10 * 0.79548.
    assert s.median_error == pytest.approx(10 * 0.59096 / 3.92, abs=1e-3)


def test_no_sample_and_one() -> None:
    assert summarize([]) is None
    s = summarize([3.0])
    assert s is not None
    assert (s.n, s.median, s.mean, s.p05, s.p95, s.iqr) == (1, 3.0, 3.0, 3.0, 3.0, 0.0)
    unknown = (s.median_error, s.median_low, s.median_high, s.mean_error, s.mean_low, s.mean_high)
    assert unknown == (None,) * 6


@pytest.mark.parametrize("sigma", [0.02, 0.1])
def test_the_interval_of_the_mean_covers(sigma: float) -> None:
    """Lognormal of mean 1: median exp(-sigma^2/2). 2,000 runs: standard deviation 0.005."""
    random, hit = np.random.default_rng(21), 0
    for _ in range(2000):
        s = summarize(random.lognormal(-(sigma**2) / 2, sigma, 40))
        assert s is not None
        assert s.mean_low is not None
        assert s.mean_high is not None
        hit += s.mean_low <= 1 <= s.mean_high
    assert hit / 2000 == pytest.approx(0.95, abs=0.02)
