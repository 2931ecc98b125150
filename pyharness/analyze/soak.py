"""Does memory leak or break up while plans come and go? Numbers in, verdicts with intervals out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyharness.errors import UsageError
from pyharness.spec.soak import (
    DEVICE_USED,
    FAILED,
    FRAGMENTATION,
    HOST_USED,
    LARGEST,
    LEAK,
    LOOKED_AT,
    NOT_TOLD,
    STEADY,
)

CONFIDENCE = 0.95
FALSE_ALARMS = 0.005  # chance of growth as steady as this where there is none, at most
LEAST_GROWTH = 2 << 20  # bytes over the cycles that count: allocators and drivers take this at once
RULED_OUT = 4096  # bytes a cycle: what is called steady leaks less …
MOST_GROWTH = 64 << 20  # … and in all: of many cycles each may leak little
_WARM_UP = 1 / 3  # of the cycles is left out
_PARTS = 12
_LEAST_SAMPLES = 8 * _PARTS
_TRIMMED = 2  # of the steps between parts, at either end
_SUSTAINED = 2 / 3  # of the growth at first there must be at last, or else it levels off
_KEPT = 1 / 2  # of the growth there must be from the first part to the last
_AS_MUCH = 0.9  # of something is called as much
_LAST, _LAST_STEPS = 8, 3  # samples and steps at the end
_COARSEST = 2 << 20  # bytes: what drivers deal in
_RESOLUTION = {DEVICE_USED: 64 << 10, HOST_USED: 4096}
_Numbers = NDArray[np.float64]
_LEAST_LOOKS, _ENDS, _LEAST_LOSS = 8, 3, 0.1


@dataclass(frozen=True, slots=True)
class Trend:
    """How something changes from cycle to cycle.

    ``slope``        per cycle: of memory in bytes; of the largest block as a share of what is free.
    ``low``, ``high``  its interval at 95 % confidence.
    ``p``            chance of such a trend, in this direction, where there is none.
    ``first``, ``last``  the cycles that count; None where none do.
    ``at_first``, ``at_last``  what there was, in bytes or as a share: medians.
    ``ruled_out``    bytes a cycle of which a leak would show; None of anything but steady memory.
    ``reason``       why it is not told.
    """

    verdict: str
    first: int | None = None
    last: int | None = None
    at_first: float | None = None
    at_last: float | None = None
    slope: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    ruled_out: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a soak says: the worst of its trends, by the column that each is of."""

    verdict: str
    trends: dict[str, Trend]


def judge(rows: Sequence[Mapping[str, Any]], problems: int) -> Judgement:
    """The rows of a soak so far.

    ``problems``  that its cycles go round: the first round is warm-up.
    """
    trends = {}
    for name, resolution in _RESOLUTION.items():
        seen = [(r["cycle"], r[name]) for r in rows if r[name] is not None]
        trends[name] = growth(*_columns(seen), resolution, problems)
    looks = [
        (r["cycle"], r[LARGEST] / r["device_free_bytes"])
        for r in rows
        if r[LARGEST] is not None and r["device_free_bytes"]
    ]
    trends[LARGEST] = breaking_up(*_columns(looks))
    found = {trend.verdict for trend in trends.values()}
    worst = (LEAK, FRAGMENTATION, NOT_TOLD, STEADY)
    return Judgement(next(v for v in worst if v in found), trends)


def occurring(results: Mapping[str, Any], state: str, gates: Sequence[str]) -> list[str]:
    """The gates that are met, of spec.soak.GATES.

    ``results``  as a manifest has them.
    ``state``    of the run: what failed has stopped it.
    Raises       UsageError if none is met and one cannot be told.
    """
    trends: Mapping[str, Mapping[str, Any]] = results["trends"]
    verdicts = {name: trend["verdict"] for name, trend in trends.items()}
    found = {*verdicts.values(), *([FAILED] if state == "stopped" else [])}
    if met := [gate for gate in gates if gate in found]:
        return met
    if gates and results["statuses"].get("passed", 0) <= 1:  # before the first cycle
        raise UsageError(
            "it cannot be told what a soak does: no cycle went well",
            "give problems that this device can run",
        )
    needed = {LEAK: (DEVICE_USED, HOST_USED), FRAGMENTATION: (LARGEST,), FAILED: ()}
    for gate in gates:
        for name in needed[gate]:
            if verdicts[name] == NOT_TOLD:
                raise UsageError(
                    f"it cannot be told whether there is a {gate}: {LOOKED_AT[name]}: "
                    f"{trends[name]['reason']}",
                    "let it run longer, with more --cycles or --minutes",
                )
    return []


def growth(
    cycles: ArrayLike, values: ArrayLike, resolution: float = 0.0, least_warm_up: int = 0
) -> Trend:
    """Whether memory grows as a leak does: steadily, and on to the end.

    The first third of the cycles is left out, and the first ``least_warm_up``: there caches fill.
    The rest is cut into 12 parts of as many samples. A leak adds as much a cycle from each part to
    the next, so what the medians of the parts grow by is a sample of 11, its mean the slope. The
    two largest and two smallest are trimmed away, with Student's interval for what is left: a block
    that somebody takes or gives back once is no leak and hides none. The samples themselves need
    not be independent: memory that wanders makes the 11 unequal and so the interval wide, where a
    line fitted to all samples would be sure of itself.

    ``resolution``  what the values are rounded to; where they only ever move by more, that, but no
                    more than 2 MiB. It widens the interval by what it makes over the cycles that
                    count.
    Returns         leak if they grow (Student's t, p at most FALSE_ALARMS), by LEAST_GROWTH or more
                    over the cycles that count, at last by two thirds of what they did at first, and
                    if not half of it and more is given back, as by a cache that is emptied when it
                    is full; steady if a leak of RULED_OUT a cycle is ruled out, and growth by
                    MOST_GROWTH in all, by the interval, by what it is from the first part to the
                    last samples, and at the end alone; or else not_told.
    """
    where, what = _numbers(cycles), _numbers(values)
    begin = max(where.max(initial=0.0) * _WARM_UP, least_warm_up)
    moved = np.abs(np.diff(what))
    if moved.any():
        resolution = max(resolution, min(float(moved[moved > 0].min()), _COARSEST))
    counts = where > begin
    before = what[~counts]
    where, what = where[counts], what[counts]
    if where.size < _LEAST_SAMPLES:
        few = f"{where.size} samples behind a warm-up of {begin:,.0f} cycles"
        return Trend(NOT_TOLD, reason=f"{few}: at least {_LEAST_SAMPLES} are needed")
    middles, medians = _in_parts(where, what)
    steps = np.diff(medians) / np.diff(middles)
    slope, low, high, p = _trimmed(steps)
    span = float(where[-1] - where[0])
    whole = float(medians[-1] - medians[0]) / float(middles[-1] - middles[0])
    at_last = float(np.median(what[-_LAST:]) - medians[0]) / float(where[-1] - middles[0])
    blur = resolution / span
    low, high = low - blur, high + blur
    may_be = max(high, max(whole, at_last) + blur)
    fallen = float(before.max(initial=medians[0]) - medians[0])
    verdict, ruled_out, reason = STEADY, None, None
    if p <= FALSE_ALARMS and low > 0 and slope * span >= LEAST_GROWTH:
        verdict = LEAK
        if not _lasts(steps):
            verdict = NOT_TOLD
            reason = "it grows less and less, as a cache does that fills: a longer run tells"
        elif _given_back(slope, min(whole, at_last), fallen / span):
            verdict = NOT_TOLD
            reason = "what it grows by is given back now and then: a longer run tells"
    elif may_be >= RULED_OUT:
        verdict = NOT_TOLD
        reason = f"a leak of up to {may_be:,.0f} B a cycle is not ruled out"
    elif may_be * span >= MOST_GROWTH:
        verdict = NOT_TOLD
        reason = f"growth by up to {may_be * span / 2**20:,.0f} MiB is not ruled out"
    elif _begins(where, what):
        verdict = NOT_TOLD
        reason = "it grows at the end: a longer run tells"
    else:
        ruled_out = may_be
    ends = int(where[0]), int(where[-1]), float(medians[0]), float(medians[-1])
    return Trend(verdict, *ends, slope, low, high, p, ruled_out, reason)


def _in_parts(where: _Numbers, what: _Numbers) -> tuple[_Numbers, _Numbers]:
    """The middles of the parts, and the medians in them."""
    parts = np.array_split(np.arange(where.size), _PARTS)
    middles = np.array([where[part].mean() for part in parts])
    return middles, np.array([np.median(what[part]) for part in parts])


def _given_back(slope: float, whole: float, fallen: float) -> bool:
    """Whether memory falls by as much as it grows, while it is looked at or before: in the warm-up.

    A fall by much more is of something that did not grow so: the growth may go on under it.

    ``whole``   growth from the first to the last.
    ``fallen``  from the most of the warm-up to the first that counts.
    """
    during = -slope < whole < _KEPT * slope
    ahead = max(_KEPT * slope, _AS_MUCH * whole) < fallen < (1 + _KEPT) * slope
    return during or ahead


def _begins(where: _Numbers, what: _Numbers) -> bool:
    """Whether the last steps are each what a leak makes: of all parts, or of the last third's."""
    for begin in (0, where.size - where.size // 3):
        middles, medians = _in_parts(where[begin:], what[begin:])
        steps = np.diff(medians) / np.diff(middles)
        if steps[-_LAST_STEPS:].min() >= _AS_MUCH * RULED_OUT:
            return True
    return False


def _trimmed(steps: _Numbers) -> tuple[float, float, float, float]:
    """The trimmed mean, its interval, and the chance of as much where there is no growth.

    Source  Yuen 1974, Biometrika 61: Student's t with the winsorized standard deviation.
    """
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415 - slow to import

    kept = np.sort(steps)[_TRIMMED:-_TRIMMED]
    mean, size = float(kept.mean()), steps.size
    winsorized = np.clip(steps, kept[0], kept[-1])
    error = float(winsorized.std(ddof=1)) / (kept.size / size * size**0.5)
    if error == 0:
        return mean, mean, mean, 0.0 if mean > 0 else 1.0
    reach = float(stdtrit(kept.size - 1, (1 + CONFIDENCE) / 2)) * error
    return mean, mean - reach, mean + reach, float(stdtr(kept.size - 1, -mean / error))


def _lasts(steps: _Numbers) -> bool:
    """Whether the second half grows nearly as much as the first, one step at either end aside."""
    half = steps.size // 2
    first, second = (np.sort(side)[1:-1].mean() for side in (steps[:half], steps[-half:]))
    return bool(second >= _SUSTAINED * first)


def breaking_up(cycles: ArrayLike, shares: ArrayLike) -> Trend:
    """Whether the largest free block becomes a smaller and smaller share of what is free.

    Returns  fragmentation if the shares fall in their order (Kendall's tau, p at most FALSE_ALARMS)
             and the last three lie a tenth or more below the first three, the deepest fall from one
             look to the next aside: what takes a block once and keeps it breaks nothing up; else
             steady; not_told of fewer than 8. The slope is the median of those of all pairs
             (Theil-Sen).
    """
    from scipy.stats import kendalltau, theilslopes  # noqa: PLC0415 - slow to import

    where, what = _numbers(cycles), _numbers(shares)
    if what.size < _LEAST_LOOKS:
        reason = f"it was looked for {what.size} times: at least {_LEAST_LOOKS} are needed"
        return Trend(NOT_TOLD, reason=reason)
    before, after = float(np.median(what[:_ENDS])), float(np.median(what[-_ENDS:]))
    ends = int(where[0]), int(where[-1])
    if what.min() == what.max():
        return Trend(STEADY, *ends, before, after, 0.0, 0.0, 0.0, 1.0)
    slope, _, low, high = (float(s) for s in theilslopes(what, where, CONFIDENCE))
    p = float(kendalltau(where, what, alternative="less").pvalue)
    lost = after <= (1 - _LEAST_LOSS) * before * _deepest_fall(what)
    verdict = FRAGMENTATION if lost and p <= FALSE_ALARMS else STEADY
    return Trend(verdict, *ends, before, after, slope, low, high, p)


def _deepest_fall(shares: _Numbers) -> float:
    """The least ratio of a share to the one before, each a median with its neighbours."""
    smooth = np.median([shares[:-2], shares[1:-1], shares[2:]], axis=0)
    before, after = smooth[:-1], smooth[1:]
    return float(np.divide(after, before, out=np.ones_like(after), where=before > 0).min())


def _columns(pairs: Sequence[tuple[int, float]]) -> tuple[list[int], list[float]]:
    return [a for a, _ in pairs], [b for _, b in pairs]


def _numbers(values: ArrayLike) -> _Numbers:
    return np.asarray(values, np.float64)
