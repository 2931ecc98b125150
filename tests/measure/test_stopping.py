"""The stopping rule: what it decides, and that what it stops at is as precise as it says."""

from __future__ import annotations

import numpy as np
import pytest

from pyharness.errors import UsageError
from pyharness.measure.stopping import Decision, StoppingRule

RULE = StoppingRule(
    least_samples=20, least_s=1.0, relative_error=0.01, most_s=10.0, most_samples=100
)
EQUAL = [2.0] * 200  # nothing to doubt
# 1, 2, 1, 2, …: the ranks are 1 and 2, so that the error is near 0.5 / 1.96 / 2 or more.
WIDE = [1.0, 2.0] * 100


@pytest.mark.parametrize(
    ("samples", "elapsed_s", "decision"),
    [
        ([], 0.0, Decision(1)),  # nobody knows how long one takes
        ([], 9.9, Decision(1)),
        ([], 10.0, Decision(0, "time limit")),  # all were left out
        (EQUAL[:1], 0.001, Decision(1)),  # doubles: 1 more
        (EQUAL[:2], 0.002, Decision(2)),
        (EQUAL[:16], 0.016, Decision(16)),
        (EQUAL[:19], 1.0, Decision(19)),  # one sample short
        (EQUAL[:20], 0.99, Decision(20)),  # a hundredth of a second short
        (EQUAL[:20], 1.0, Decision(0, "precise")),
        (EQUAL[:20], 10.0, Decision(0, "precise")),  # precise comes before late
        (EQUAL[:19], 10.0, Decision(0, "time limit")),  # late comes before too few
        (EQUAL[:1], 30.0, Decision(0, "time limit")),
        (WIDE[:64], 1.0, Decision(36)),  # no more than 100 in all
        (WIDE[:100], 1.0, Decision(0, "sample limit")),
        (WIDE[:100], 10.0, Decision(0, "time limit")),
        (EQUAL[:100], 0.5, Decision(0, "sample limit")),
        (WIDE[:4], 8.0, Decision(1)),  # 2 s each: one more can be had in 2 s
        (WIDE[:4], 4.0, Decision(4)),  # 1 s each, 6 s left
        (WIDE[:8], 6.0, Decision(5)),  # 0.75 s each, 4 s left: 5.33
        (WIDE[:4], 9.9, Decision(1)),  # less than one can be had: one at least
        (WIDE[:4], 0.0, Decision(4)),  # a clock that has not moved
    ],
)
def test_decisions(samples: list[float], elapsed_s: float, decision: Decision) -> None:
    assert RULE.decide(samples, elapsed_s) == decision


def test_the_bound_is_relative() -> None:
    # A normal law of 1 % needs (1.2533 / e)^2 samples for a relative error of e per cent: 157 for
    # 0.1 %, so 40 are not enough and 1,000 are.
    samples = 1e-5 * np.random.default_rng(2).normal(1.0, 0.01, 1000)
    rule = StoppingRule(least_s=0.0, relative_error=0.001, most_samples=2000)
    assert rule.decide(samples[:40], 1.0).reason is None
    assert rule.decide(samples, 1.0).reason == "precise"


def test_a_coarse_timer_is_never_called_precise() -> None:
    rule = StoppingRule(least_s=0.0, relative_error=0.01)
    readings = [10.0] * 900 + [11.0] * 100  # a step of 10 %: 0.029 of the median
    assert rule.decide(readings, 0.1).reason is None
    assert StoppingRule(least_s=0.0, relative_error=0.03).decide(readings, 0.1).reason == "precise"
    told = StoppingRule(least_s=0.0, relative_error=0.01, resolution_s=1.0)
    assert told.decide([10.0] * 1000, 0.1).reason is None


def run(rule: StoppingRule, random: np.random.Generator, mean_s: float) -> tuple[list[float], str]:
    """Samples of a lognormal law of 3 % until the rule stops; the clock is their sum."""
    samples: list[float] = []
    for _ in range(100):
        decision = rule.decide(samples, sum(samples))
        if decision.reason is not None:
            return samples, decision.reason
        samples += (mean_s * random.lognormal(0.0, 0.03, decision.chunk)).tolist()
    raise AssertionError("the rule does not stop")


def test_what_it_stops_at_is_as_precise_as_it_says() -> None:
    """Stopping at an estimate that is itself noisy costs some: half as much again is allowed."""
    random = np.random.default_rng(11)
    rule = StoppingRule(least_s=0.0, relative_error=0.005)
    off = []
    for _ in range(400):
        samples, reason = run(rule, random, 1e-4)
        assert reason == "precise"
        # (1.2533 * 0.03 / 0.005)^2 = 57 samples are needed; it looks at 32, 64, 128 …
        assert len(samples) in (32, 64, 128, 256)
        off.append(float(np.median(samples)) / 1e-4 - 1)
    assert float(np.sqrt(np.mean(np.square(off)))) < 1.5 * 0.005
    assert abs(float(np.mean(off))) < 4 * 0.005 / 20, "no bias beyond 4 standard errors"


def test_it_keeps_to_its_time() -> None:
    random = np.random.default_rng(12)
    rule = StoppingRule(relative_error=1e-6, most_s=3.0)
    for mean_s in (0.01, 0.4, 2.0):
        samples, reason = run(rule, random, mean_s)
        assert reason == "time limit"
        assert 3.0 <= sum(samples) <= 3.0 + 1.2 * mean_s, "one sample over, no chunk"


def test_a_rule_says_what_it_is() -> None:
    assert RULE.name == "median within 1.00%, 20 to 100 samples, 1 to 10 s"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"least_samples": 1}, "at least 1 samples"),
        ({"least_samples": 20_000}, "at least 20000 samples and at most 10000"),
        ({"least_s": 5.0}, "at least 5.0 s and at most 3.0 s"),
        ({"least_s": -1.0}, "at least -1.0 s"),
        ({"most_s": float("nan")}, "at most nan s"),
        ({"relative_error": 0.0}, "a relative error of 0.0"),
        ({"relative_error": float("nan")}, "a relative error of nan"),
    ],
)
def test_a_rule_that_cannot_be_kept(settings: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        StoppingRule(**settings)  # type: ignore[arg-type]
