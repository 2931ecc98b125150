"""What is a leak: over thousands of clean and leaking series made up as numbers, and by hand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.stats import t

from pyharness.analyze.soak import LEAST_GROWTH, RULED_OUT, breaking_up, growth, judge
from pyharness.spec.soak import DEVICE_USED, HOST_USED, LARGEST

KIB, MIB = 1 << 10, 1 << 20
PAGE, SMALL, STEP = 4 * KIB, 64 * KIB, 2 * MIB
CYCLES = np.arange(1001)
Numbers = NDArray[np.float64]
Draw = np.random.Generator


def caches(cycles: Numbers, draw: Draw) -> Numbers:
    """Caches of up to 60 MiB that fill, by a twelfth of the run or faster."""
    until = draw.uniform(5, cycles[-1] / 12)
    return draw.uniform(0, 60 * MIB) * (1 - np.exp(-cycles / until))


def white(cycles: Numbers, draw: Draw) -> Numbers:
    return draw.normal(0, draw.choice([0, PAGE, SMALL, MIB / 4]), cycles.size)


def correlated(cycles: Numbers, draw: Draw) -> Numbers:
    """Noise that remembers, for up to a hundred cycles."""
    keeps = draw.uniform(0.5, 0.99)
    size = draw.choice([PAGE, SMALL, MIB / 4]) * np.sqrt(1 - keeps**2)
    return np.asarray(lfilter([1], [1, -keeps], draw.normal(0, size, cycles.size)))


def wandering(cycles: Numbers, draw: Draw) -> Numbers:
    return np.cumsum(draw.normal(0, draw.choice([256, 2 * KIB, 8 * KIB]), cycles.size))


def blocks(cycles: Numbers, draw: Draw) -> Numbers:
    """An allocator that takes a few blocks, at any time."""
    out = np.zeros(cycles.size)
    for _ in range(draw.poisson(draw.uniform(0, 4))):
        out[cycles >= draw.uniform(0, cycles[-1])] += draw.choice([132 * KIB, MIB, 2 * MIB])
    return out


def seldom(cycles: Numbers, draw: Draw) -> Numbers:
    """An allocator that takes blocks ever more seldom, and never quite ends."""
    size = draw.choice([PAGE, 132 * KIB, MIB])
    grown = draw.uniform(0.1, 1) * MIB * np.log1p(cycles / draw.uniform(1, 20))
    return np.floor(grown / size) * size


def others(cycles: Numbers, draw: Draw) -> Numbers:
    """Other processes, which take up to 200 MiB of the device and give them back."""
    out = np.zeros(cycles.size)
    for _ in range(draw.poisson(3)):
        begin, end = np.sort(draw.uniform(0, cycles[-1], 2))
        out[(cycles >= begin) & (cycles < end)] += draw.uniform(2, 200) * MIB
    return out


# What is added up, and what the sum is rounded to; the least share of leaks of 4 kB a cycle that
# must be found within 1,000 cycles, and of clean series that must be called steady.
WORLDS: dict[str, tuple[list[Callable[[Numbers, Draw], Numbers]], int, float, float]] = {
    "host": ([caches, seldom, white], PAGE, 0.97, 0.97),
    "host, correlated": ([caches, correlated], PAGE, 0.87, 0.95),
    "host, wandering": ([wandering], PAGE, 0.97, 0.99),
    "host, blocks": ([caches, blocks], PAGE, 0.88, 0.65),
    "device, read finely": ([caches, white], SMALL, 0.97, 0.98),
    "device with others": ([caches, others], SMALL, 0.4, 0.02),
    "device in steps": ([caches, white], STEP, 0.0, 0.9),
}


def told(world: str, leak: float, count: int = 200, cycles: NDArray[np.int64] = CYCLES) -> Counter:
    """How often each verdict comes of so many series."""
    parts, unit, *_ = WORLDS[world]
    draw = np.random.default_rng(list(world.encode()))
    found: Counter[str] = Counter()
    where = cycles.astype(np.float64)
    for _ in range(count):
        seen = 100 * MIB + leak * where + sum(part(where, draw) for part in parts)
        found[growth(cycles, np.floor(seen / unit) * unit, unit).verdict] += 1
    return found


@pytest.mark.parametrize("world", WORLDS)
def test_clean_series_are_not_called_leaks(world: str) -> None:
    found = told(world, 0)
    assert found["leak"] <= 0.01 * found.total()
    assert found["steady"] >= WORLDS[world][3] * found.total()


@pytest.mark.parametrize("world", WORLDS)
def test_4_kb_a_cycle_are_found_within_1000_cycles(world: str) -> None:
    found = told(world, 4096)
    assert found["leak"] >= WORLDS[world][2] * found.total()
    assert found["steady"] <= 0.01 * found.total()


def test_where_only_steps_of_2_mib_are_seen_it_takes_more_cycles() -> None:
    assert told("device in steps", 4096, 20, np.arange(10_001))["leak"] == 20


def test_the_interval_is_that_of_the_trimmed_steps() -> None:
    # 12 parts of 100 samples; the medians grow by 400,000 bytes and by one 50,000 less or more
    # from part to part, but for one that somebody else takes.
    steps = np.array([4, 4.5, 3.5, 4, 4.5, 3.5, 4, 4.5, 3.5, 4, 90]) * 100_000
    values = np.repeat(np.concatenate([[0], np.cumsum(steps)]), 100)
    cycles = np.arange(601, 601 + 1200)
    trend = growth(cycles, values)
    kept = np.sort(steps)[2:-2] / 100
    winsorized = np.clip(np.sort(steps)[::-1] / 100, kept[0], kept[-1])
    error = winsorized.std(ddof=1) / (7 / 11 * 11**0.5)
    reach = t.ppf(0.975, 6) * error + 350_000 / 1199  # the values move by 350,000 at least
    assert trend.verdict == "leak"
    assert trend.slope == pytest.approx(kept.mean())
    assert (trend.low, trend.high) == pytest.approx((kept.mean() - reach, kept.mean() + reach))
    assert trend.p == pytest.approx(t.sf(kept.mean() / error, 6))
    assert (trend.first, trend.last, trend.at_first) == (601, 1800, 0.0)


def test_a_third_is_warm_up_and_a_whole_round() -> None:
    jump = np.where(CYCLES <= 333, 0, 500 * MIB)
    assert growth(CYCLES, jump).verdict == "steady"
    assert growth(CYCLES, jump).first == 334
    assert growth(CYCLES, jump, least_warm_up=600).first == 601
    short = growth(CYCLES, jump, least_warm_up=950)
    assert (short.verdict, short.slope) == ("not_told", None)
    assert short.reason == ("50 samples behind a warm-up of 950 cycles: at least 96 are needed")
    assert growth([], []).verdict == "not_told"


def test_a_cache_that_is_emptied_when_it_is_full_is_no_leak() -> None:
    draw = np.random.default_rng(1)
    found: Counter[str] = Counter()
    for _ in range(250):
        period, phase, size = draw.uniform(80, 900), draw.uniform(), draw.uniform(2, 64) * MIB
        fill = size * ((CYCLES / period + phase) % 1)
        found[growth(CYCLES, fill + draw.normal(0, PAGE, CYCLES.size), PAGE).verdict] += 1
    assert found["leak"] <= 0.01 * found.total()
    twice = growth(CYCLES, 8 * MIB * ((CYCLES / 400) % 1))
    assert (twice.verdict, twice.p < 0.001) == ("not_told", True)
    assert twice.reason == "what it grows by is given back now and then: a longer run tells"


@pytest.mark.parametrize("block", [16 * MIB, 200 * MIB])
def test_a_block_that_is_given_back_hides_no_leak(block: int) -> None:
    assert growth(CYCLES, 300 * MIB + 4096 * CYCLES - block * (CYCLES > 600)).verdict == "leak"


@pytest.mark.parametrize("leak", [4096, 16384, 65536])
@pytest.mark.parametrize("begins", [700, 800, 850, 900, 950])
def test_what_leaks_at_the_end_alone_is_not_called_steady(begins: int, leak: int) -> None:
    trend = growth(CYCLES, leak * np.maximum(0, CYCLES - begins))
    late = leak * (1000 - begins) < 50 * 4096 + 1  # a leak of 4 kB in the last 50 of 1,000 cycles
    assert (trend.verdict, trend.ruled_out is None) == (
        ("steady", False) if late else ("not_told", True)
    )


def test_of_many_cycles_what_grows_little_a_cycle_is_not_called_steady() -> None:
    cycles = np.array([c for c in range(2_000_001) if c % max(1, c // 1000) == 0])
    jumps = 64 * MIB * (cycles // 330_000)  # of which 4 lie behind the warm-up: 200 B a cycle
    trend = growth(cycles, jumps, SMALL)
    assert (trend.verdict, trend.ruled_out) == ("not_told", None)
    assert trend.reason is not None
    assert re.fullmatch(r"growth by up to \d{3} MiB is not ruled out", trend.reason)
    assert growth(cycles, 64 * cycles, SMALL).verdict == "leak"
    assert growth(cycles, 0 * cycles, SMALL).verdict == "steady"


def test_what_is_ruled_out_counts_a_block_that_is_taken_once() -> None:
    # The trimmed growth is none; a leak that takes all of it at once may have been it.
    trend = growth(CYCLES, 2 * MIB * (CYCLES > 600), PAGE)
    medians_apart = 612  # cycles, from the middle of the first part to that of the last
    blur = 2 * MIB / 666
    assert (trend.verdict, trend.slope, trend.high) == ("not_told", 0, blur)
    trend = growth(CYCLES, 256 * KIB * (CYCLES > 600), PAGE)
    assert (trend.verdict, trend.slope) == ("steady", 0)
    assert trend.ruled_out == pytest.approx(256 * KIB / medians_apart + trend.high, rel=0.01)


def test_growth_that_levels_off_is_not_called_a_leak() -> None:
    slow = 40 * MIB * (1 - np.exp(-CYCLES / 300))
    trend = growth(CYCLES, slow)
    assert trend.verdict == "not_told"
    assert trend.reason is not None
    assert trend.reason.startswith("it grows less and less")


def test_what_is_too_little_is_no_leak_and_what_shrinks_is_none() -> None:
    little = (LEAST_GROWTH - 1) / 666
    assert growth(CYCLES, little * CYCLES).verdict == "steady"
    assert growth(CYCLES, (LEAST_GROWTH + 1) / 666 * CYCLES).verdict == "leak"
    assert growth(CYCLES, 10**9 - RULED_OUT * CYCLES).verdict == "steady"


def test_a_few_steps_are_not_called_steady() -> None:
    # Two steps of 2 MiB within the 667 cycles are what a leak of 4 kB a cycle would make.
    steps = STEP * ((CYCLES > 400) + (CYCLES > 900))
    trend = growth(CYCLES, steps, SMALL)
    assert trend.verdict == "not_told"
    assert trend.reason is not None
    assert trend.reason.endswith("B a cycle is not ruled out")


def test_a_block_that_gets_smaller_and_smaller() -> None:
    cycles = [0, 1, 2, 4, 8, 16, 32, 64, 100, 150, 200]
    halves = [1 / (1 + n) for n in cycles]
    trend = breaking_up(cycles, halves)
    assert trend.verdict == "fragmentation"
    assert (trend.at_first, trend.at_last) == (1 / 2, 1 / 151)
    assert trend.slope is not None
    assert trend.high is not None
    assert trend.slope < trend.high < 0
    assert breaking_up(cycles[:7], halves[:7]).verdict == "not_told"


@pytest.mark.parametrize(
    "shares",
    [
        [1.0] * 12,
        [1.0] + [0.4] * 11,  # cut once, by what stays
        [1.0] * 6 + [0.4] * 6,
        [0.9 - 0.004 * n for n in range(12)],  # falls, by less than a tenth
        [0.9, 0.2] * 6,
        [0.1 * n for n in range(1, 13)],  # grows together
    ],
)
def test_a_block_that_does_not_break_up(shares: list[float]) -> None:
    assert breaking_up(np.arange(12) * 50, shares).verdict == "steady"


def test_noise_of_a_block_is_seldom_called_fragmentation() -> None:
    draw = np.random.default_rng(3)
    found = Counter(
        breaking_up(np.arange(25), draw.uniform(0.3, 1, 25)).verdict for _ in range(200)
    )
    assert found["fragmentation"] <= 0.01 * found.total()


def row(cycle: int, used: int | None, host: int | None, largest: int | None) -> dict[str, Any]:
    names = ("cycle", "device_free_bytes", DEVICE_USED, HOST_USED, LARGEST)
    return dict(zip(names, (cycle, 100 * MIB, used, host, largest), strict=True))


def rows(used: float, host: float, falls: float) -> list[dict[str, Any]]:
    return [
        row(
            c,
            int(used * c),
            int(host * c),
            int(MIB * 90 * (1 - falls * c / 1000)) if c % 50 == 0 else None,
        )
        for c in range(1001)
    ]


@pytest.mark.parametrize(
    ("seen", "verdicts"),
    [
        (rows(0, 0, 0), ("steady", "steady", "steady", "steady")),
        (rows(4096, 0, 0), ("leak", "leak", "steady", "steady")),
        (rows(0, 4096, 0.5), ("leak", "steady", "leak", "fragmentation")),
        (rows(0, 0, 0.5), ("fragmentation", "steady", "steady", "fragmentation")),
        (rows(0, 0, 0)[:90], ("not_told", "not_told", "not_told", "not_told")),
        ([row(0, None, None, None)], ("not_told", "not_told", "not_told", "not_told")),
        ([], ("not_told", "not_told", "not_told", "not_told")),
    ],
)
def test_the_worst_decides(seen: list[dict[str, Any]], verdicts: tuple[str, ...]) -> None:
    judgement = judge(seen, 8)
    told = (judgement.trends[name].verdict for name in (DEVICE_USED, HOST_USED, LARGEST))
    assert (judgement.verdict, *told) == verdicts
