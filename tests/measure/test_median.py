"""How far a median is off: against laws whose median is known."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from pyharness.measure.median import median_error, median_interval, timer_step

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]


def lognormal(random: np.random.Generator, n: int) -> NDArray[np.float64]:
    return random.lognormal(0.0, 0.05, n)  # median exp(0) = 1


def shifted(random: np.random.Generator, n: int) -> NDArray[np.float64]:
    # 1 - 0.1*ln(2) and an exponential of mean 0.1, whose median is 0.1*ln(2)
    return 1 - 0.1 * math.log(2) + random.exponential(0.1, n)


def outliers(random: np.random.Generator, n: int) -> NDArray[np.float64]:
    # A tenth of the samples is thrown far off, to both sides alike: the median stays 1.
    samples = random.normal(1.0, 0.01, n)
    thrown = random.random(n) < 0.1
    return np.where(thrown, 1 + random.standard_cauchy(n), samples)


LAWS: list[Draw] = [lognormal, shifted, outliers]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("n", [6, 50])
def test_the_interval_covers_as_often_as_it_says(law: Draw, n: int) -> None:
    """Whatever the law, the chance that fewer than k of n samples lie on one side is binomial.

    n = 6: k = 1 leaves out 2 * 0.5^6 = 0.03125. n = 50: k = 18, since 2 * P(X <= 17) = 0.0328 and
    2 * P(X <= 18) = 0.0649 > 0.05. Over 2,000 runs the share has a standard deviation of 0.004.
    """
    exact = 1 - {6: 0.03125, 50: 0.0328}[n]
    random, hit = np.random.default_rng(n), 0
    for _ in range(2000):
        interval = median_interval(law(random, n))
        assert interval is not None
        hit += interval[0] <= 1 <= interval[1]
    assert hit / 2000 == pytest.approx(exact, abs=4 * 0.004)


@pytest.mark.parametrize("n", range(6))
def test_few_samples_have_no_interval(n: int) -> None:
    assert median_interval([1.0, 2.0, 3.0, 4.0, 5.0][:n]) is None


@pytest.mark.parametrize("law", LAWS)
def test_the_error_is_the_spread_of_medians(law: Draw) -> None:
    """The mean of the estimates against the standard deviation of 4,000 medians."""
    random = np.random.default_rng(7)
    runs = [law(random, 101) for _ in range(4000)]
    spread = float(np.std([np.median(run) for run in runs]))
    errors = [median_error(run) for run in runs[:1000]]
    assert float(np.mean(errors)) == pytest.approx(spread, rel=0.12)


def test_the_error_of_a_normal_law_is_known() -> None:
    # 1.2533 * sd / sqrt(n), and the estimate's own noise at n = 40,000 is a few per cent.
    samples = np.random.default_rng(3).normal(5.0, 0.2, 40_000)
    assert median_error(samples) == pytest.approx(1.2533 * 0.2 / 200, rel=0.1)


def test_one_odd_sample_moves_nothing() -> None:
    samples = np.random.default_rng(5).normal(1.0, 0.01, 100)
    odd = samples.copy()
    odd[int(samples.argmax())] = 1e6
    assert median_error(odd) == median_error(samples)


def test_the_error_of_eight_samples_by_hand() -> None:
    # Half a width of 1.96 / (2 * sqrt(8)) = 0.34648: quantiles 0.15352 and 0.84648 of 0 … 7 in
    # steps of one are 7 * 0.15352 = 1.07462 and 5.92538; their distance over 2 * 1.96 is 1.23744.
    assert median_error([0.0, 1, 2, 3, 4, 5, 6, 7]) == pytest.approx(1.23744, abs=1e-5)


@pytest.mark.parametrize(
    ("samples", "step"),
    [
        ([], 0),
        ([5.0], 0),
        ([1.0, 2.0, 3.5], 0),  # no two are equal
        ([2.0, 2.0, 2.0], 0),  # nothing to tell the step from
        ([2.0, 2.0, 2.5, 4.0], 0.5),
        ([0.1 * 3, 0.3, 0.4, 0.4], 0.1),  # 0.1 * 3 is 0.30000000000000004
    ],
)
def test_the_step_of_a_timer(samples: list[float], step: float) -> None:
    assert timer_step(samples) == pytest.approx(step)


def test_a_coarse_timer_is_no_certainty() -> None:
    """True times around 10.3 in a timer of whole units: most readings 10, some 11."""
    true = np.random.default_rng(1).normal(10.3, 0.15, 1000)
    readings = np.round(true)
    assert set(readings) == {10.0, 11.0}
    assert abs(float(np.median(readings)) - 10.3) > 0.25, "many samples do not mend it"
    # Both ranks are 10, so all that is left is the step: 1 / sqrt(12).
    assert median_error(readings) == pytest.approx(12**-0.5)
    interval = median_interval(readings)
    assert interval == (9.5, 10.5)
    assert interval[0] <= 10.3 <= interval[1]


def test_the_interval_of_readings_covers_the_time_before_rounding() -> None:
    random, hit = np.random.default_rng(9), 0
    for _ in range(500):
        center = random.uniform(10, 11)
        interval = median_interval(np.round(random.normal(center, 0.4, 30)))
        assert interval is not None
        hit += interval[0] <= center <= interval[1]
    assert hit / 500 >= 0.95


def test_a_single_reading_has_the_step_that_is_told() -> None:
    assert median_error([3.0] * 50) == 0
    assert median_error([3.0] * 50, resolution=0.1) == pytest.approx(0.1 / 12**0.5)
    varied = [1.0, 1.5, 2.25, 3.0]
    assert median_error(varied, resolution=0.1) == median_error(varied)


@pytest.mark.parametrize("samples", [[], [1.0]])
def test_too_few_to_tell(samples: list[float]) -> None:
    assert median_error(samples) == math.inf
