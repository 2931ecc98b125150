"""Drift is found where it was planted, and clean runs report none."""

from __future__ import annotations

import numpy as np
import pytest

from pyharness.measure import trend
from pyharness.measure.trend import find_trend


def test_clean_runs_raise_no_more_alarms_than_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 clean runs, and the size of the change left out of the rule: the chance alone.

    At most 0.001 each: 10 expected, and more than 25 have a chance of 2e-5 or less.
    """
    monkeypatch.setattr(trend, "LEAST_CHANGE", 0.0)
    random = np.random.default_rng(31)
    alarms = 0
    for run in range(10_000):
        n = (12, 30, 60)[run % 3]
        samples = random.lognormal(0.0, 0.03, n)
        if run % 2:
            samples = np.round(samples, 2)  # a timer of steps as wide as a third of the noise
        alarms += find_trend(samples).verdict != "steady"
    assert alarms <= 25


@pytest.mark.parametrize("n", [1000, 4321])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_planted_drift_is_found(n: int, sign: int) -> None:
    """1e-4 a sample under noise of 1 %, with a sample in twenty far off."""
    random = np.random.default_rng(n)
    samples = (1 + sign * 1e-4 * np.arange(n)) * random.normal(1.0, 0.01, n)
    samples[random.random(n) < 0.05] *= 3
    found = find_trend(samples)
    assert found.verdict == "drifting"
    assert found.slope == pytest.approx(sign * 1e-4, rel=0.05)
    # From first to last it is 1e-4 * (n - 1), of a median of 1 and half of that.
    whole = sign * 1e-4 * (n - 1)
    assert found.change == pytest.approx(whole / (1 + whole / 2), rel=0.07)
    assert found.p < 1e-9


def test_every_planted_drift_of_100_is_found() -> None:
    random = np.random.default_rng(8)
    for _ in range(100):
        samples = (1 + 1e-4 * np.arange(1000)) * random.normal(1.0, 0.01, 1000)
        assert find_trend(samples[::4]).verdict == "drifting"


def test_a_drift_that_is_sure_but_small_is_steady() -> None:
    """0.5 % in all under noise of 0.1 %: certain, and less than counts."""
    samples = (1 + 5e-6 * np.arange(1000)) * np.random.default_rng(4).normal(1.0, 0.001, 1000)
    found = find_trend(samples)
    assert found.p < 1e-9
    assert found.change == pytest.approx(0.005, rel=0.1)
    assert found.verdict == "steady"


def test_a_change_that_is_large_but_by_chance_is_steady() -> None:
    found = find_trend([1.0, 5, 2, 7, 1, 6, 3, 9, 2, 6])
    assert abs(found.change) >= trend.LEAST_CHANGE
    assert found.verdict == "steady"


def test_a_line_by_hand() -> None:
    found = find_trend([10.0 + 2 * i for i in range(11)])
    assert found.slope == pytest.approx(2)
    assert found.change == pytest.approx(2 * 10 / 20)  # the median is 20
    # Of 11! orders two are as clear as this one, up or down: p = 2 / 11!.
    assert found.p == pytest.approx(2 / 39_916_800)
    assert found.verdict == "drifting"


def test_equal_and_few_samples() -> None:
    assert find_trend([2.0] * 600) == trend.Trend(0.0, 0.0, 1.0, "steady")
    assert find_trend([1.0, 2, 3, 4, 5, 6, 7, 8, 9]).verdict == "too few"
    assert find_trend([]).verdict == "too few"
