"""The virtual clock of the emulator: what it shows is what was set, by arithmetic."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.emulator.play import Answer
from tests.emulator.virtual_clock import VirtualClock


def close(value: float) -> Any:
    """Events tell milliseconds as float32: 24 bits."""
    return pytest.approx(value, rel=1e-6)


def test_events_tell_the_time_between_them(answer: Answer) -> None:
    said = answer("stream_scenes:events")
    assert said == {
        "unrecorded": 400,
        "waited for": 0,
        "not ready": 600,
        "half": 600,
        "ready": 0,
        "ns": 500,
        "backwards": -500,
        "recorded anew": 600,
        "recorded twice": 600,
        "untimed": 400,
    }


# Between the events n passes of d ns; each enqueuing call, also that of an event, takes the host
# c ns before the work can begin. The first pass begins c after the first event. If d >= c the
# device is never idle from then on: c + n d. If d < c it waits for the host each time, and the
# last event comes n + 1 calls after the first: (n + 1) c.
@pytest.mark.parametrize(
    ("count", "cost", "call", "expected"),
    [
        (10, 20000, 0, 200000),
        (10, 20000, 5000, 5000 + 10 * 20000),
        (10, 2000, 5000, 11 * 5000),
        (1, 5000, 5000, 10000),
    ],
)
def test_a_device_is_fed_by_its_host(
    answer: Answer, count: int, cost: float, call: float, expected: float
) -> None:
    assert answer("stream_scenes:between_events", count, cost, call_ns=call) == close(expected)


def test_a_copy_takes_as_long_as_it_waits(answer: Answer) -> None:
    assert answer("stream_scenes:copy_waits") == [1000, 0]


def test_a_cold_pass_costs_more_once(answer: Answer) -> None:
    # A byte takes 1e-3 ns to set; only all of the L2 cache flushes it.
    seen = answer("stream_scenes:flushes", [1_000_000, 999_000, 2_000_000], l2_bytes=1_000_000)
    assert seen == [[1000, 1300, 1000], [999, 1000, 1000], [2000, 1300, 1000]]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"slower": 1.5}, [1500] * 5),
        ({"drift": 0.1}, [1000, 1100, 1200, 1300, 1400]),
        ({"throttle": "after:2,for:2,factor:3"}, [1000, 1000, 3000, 3000, 1000]),
        ({"outliers": "1:4"}, [4000] * 5),
        ({"clock": 0.5}, [2000] * 5),
        ({"card_drift": 0.1}, [1000, 1100, 1200, 1300, 1400]),
        ({"card_throttle": "after:2,for:2,factor:3"}, [1000, 1000, 3000, 3000, 1000]),
        ({"slower": 2, "drift": 1, "throttle": "after:0,for:1,factor:5"}, [10000, 4000, 6000]),
    ],
)
def test_passes_vary_as_they_are_told(
    answer: Answer, settings: dict[str, object], expected: list[float]
) -> None:
    assert answer("stream_scenes:costs", len(expected), **settings) == [
        close(each) for each in expected
    ]


def test_what_costs_nothing_is_no_pass(answer: Answer) -> None:
    assert answer("stream_scenes:costs", 3, 0.0, noise=1, outliers="1:5", slower=3) == [0, 0, 0]


def test_noise_is_lognormal_and_leaves_the_mean(answer: Answer) -> None:
    sigma, count = 0.2, 8000
    costs = answer("stream_scenes:costs", count, noise=sigma)
    logs = [math.log(cost / 1000) for cost in costs]
    # Of a lognormal number with mean 1: the variance, and the mean of its logarithm.
    error = math.sqrt((math.exp(sigma**2) - 1) / count)
    assert statistics.fmean(costs) / 1000 == pytest.approx(1, abs=4 * error)
    assert statistics.fmean(logs) == pytest.approx(-(sigma**2) / 2, abs=4 * sigma / count**0.5)
    assert statistics.stdev(logs) == pytest.approx(sigma, rel=4 / math.sqrt(2 * count))
    # Normal: this many within one and two standard deviations.
    for width, share in ((1, 0.6827), (2, 0.9545)):
        inside = sum(abs(log + sigma**2 / 2) < width * sigma for log in logs) / count
        assert inside == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / count))


def test_noise_comes_from_its_seed(answer: Answer) -> None:
    first, again, other = (
        answer("stream_scenes:costs", 50, noise=0.1, noise_seed=seed) for seed in (1, 1, 2)
    )
    assert first == again
    assert not set(first) & set(other)
    assert len(set(first)) == 50


def test_outliers_come_as_often_as_they_are_told(answer: Answer) -> None:
    costs = answer("stream_scenes:costs", 4000, outliers="0.1:7")
    often = sum(cost == close(7000) for cost in costs)
    assert often + sum(cost == close(1000) for cost in costs) == 4000
    assert often == pytest.approx(400, abs=4 * math.sqrt(4000 * 0.1 * 0.9))


CARD: dict[str, object] = {
    "noise": 0.02,
    "outliers": "0.1:3",
    "process_noise": 0.01,
    "common_noise": 0.005,
    "card_noise": "0.02:30",
    "clock_noise": "0.01:20",
    "card_drift": 0.001,
    "card_throttle": "after:70,for:60,factor:1.5",
    "throttle": "after:5,for:5,factor:2",
    "drift": 0.002,
    "slower": 1.1,
    "clock": 0.9,
    "noise_seed": 7,
}


def test_a_simulated_process_is_one_that_ran(answer: Answer, emulated_libraries: Path) -> None:
    """Three processes on one card, and the same from the clock alone."""
    clock = VirtualClock(emulated_libraries / "libcuda.so.1")
    clock.configure(**CARD)
    for process in range(3):
        ran = answer("stream_scenes:costs", 50, **CARD)
        simulated, _ = clock.process(process, 50 * process, [1000], 50)
        assert (simulated[0] * 1e9).tolist() == [close(each) for each in ran]


def test_processes_are_alike_only_where_they_are_told_to_be(emulated_libraries: Path) -> None:
    clock, cases, sigma = VirtualClock(emulated_libraries / "libcuda.so.1"), 200, 0.03

    def logs(**settings: object) -> Any:
        """[processes, cases] of the logarithm of what passes take over what they cost."""
        clock.configure(**settings)
        costs = np.arange(1, cases + 1) * 1000.0
        taken = [clock.process(number, 0, costs, 2)[0] for number in range(50)]
        assert all((passes[:, 0] == passes[:, 1]).all() for passes in taken)
        return np.log(np.stack(taken)[..., 0] * 1e9 / costs)

    own = logs(process_noise=sigma)
    # 10,000 normal numbers; between processes as far apart as within one.
    assert own.std() == pytest.approx(sigma, rel=4 / math.sqrt(2 * own.size))
    assert own.mean(axis=1).std() == pytest.approx(sigma / math.sqrt(cases), rel=4 / 10)
    common = logs(common_noise=sigma)
    assert common.std(axis=1).max() < 1e-9
    assert common[:, 0].std() == pytest.approx(sigma, rel=4 / 10)


def test_what_passes_share_fades_with_their_distance(emulated_libraries: Path) -> None:
    """An Ornstein-Uhlenbeck process: after a reach exp(-1) of it is left, whatever the process."""
    clock, sigma, reach, reaches = VirtualClock(emulated_libraries / "libcuda.so.1"), 0.05, 16, 4000
    for key in ("card_noise", "clock_noise"):
        clock.configure(**{key: f"{sigma}:{reach}"})
        taken, hz = clock.process(0, 0, [1000.0] * (reach * reaches), 1)
        other, _ = clock.process(9, 0, [1000.0] * 100, 1)
        assert (taken[:100] == other).all()
        logs = np.log(taken[:, 0] * 1e9 / 1000)
        assert logs.std() == pytest.approx(sigma, rel=0.06)
        for far in (0.5, 1, 2):
            lag = int(far * reach)
            left = np.corrcoef(logs[:-lag], logs[lag:])[0, 1]
            # 4,000 reaches are some 2,000 independent numbers: 4 errors of 1 / sqrt(2,000).
            assert left == pytest.approx(math.exp(-far), abs=0.09)
        told = 1410e6 / np.exp(logs) if key == "clock_noise" else np.full(hz.size, 1410e6)
        assert np.abs(hz - told).max() <= 1e6  # whole MHz
