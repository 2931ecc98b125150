"""How often the verdict on time is right: upgrades made up as numbers, thousands of them.

    python benchmarks/upgrade_simulation.py [--upgrades 1000] [--cases 40] [--jobs 2]

Nothing is timed here. A sample follows the law of the emulator's virtual clock: lognormal around
its mean, times a drift, times a factor while the card is throttled. To that come what a process
does to all of its samples and what neighbours in time share, whatever they belong to. The medians
of all processes go to ``pyharness.analyze.time_change.judge`` as they would after a real run.

Each kind of noise is gone through with four kinds of upgrades:

  nothing    no case changed. ``wrong`` is the share of cases that are called slower or faster,
             ``any`` the share of upgrades that have such a case, ``same`` that of cases rightly
             called the same.
  some       every tenth case is slower by 3 %. ``found`` is the share of these that are called
             slower, ``same`` that of these that are called the same; ``false`` is the share of
             cases that did not change in those that are called changed, a mean over upgrades.
  one        one case is slower by 3 %, the hardest to find: ``found`` is how often it is.
  margin     every other case is slower or faster by exactly the margin, where a wrong ``same`` is
             likeliest. ``same`` is the share of these that are called the same.

``visible`` is the median, where nothing changed, of the least change that a case says it would
have shown.
"""

from __future__ import annotations

import argparse
import os
import platform
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pyharness.analyze.time_change import (
    LEVEL,
    MARGIN,
    PROCESSES,
    TimedCase,
    alternate,
    judge,
)

REGRESSION = 0.03
MOST_WRONG = 0.05
SAMPLES = 31  # of a case in a process
_CLOCK_HZ, _CLOCK_STEP_HZ = 1.7e9, 15e6
_Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Noise:
    """What makes times differ; shares are standard deviations of the logarithm if not told else.

    ``samples``    of samples within a process.
    ``process``    of each case in each process.
    ``common``     of a process, all of its cases alike.
    ``shared``     of what neighbours in time share; it fades over ``reach`` processes.
    ``drift``      from the first process to the last, in all.
    ``throttled``  chance of each process that a phase of up to 1.5 processes begins in it, in which
                   samples take 1.2 times as long. Where the card tells of it they are left out.
    ``untold``     share of the phases that the card does not tell of.
    ``clock``      share of drift and shared noise that is the card's clock; None: it is not told.
    ``b_clock``    factor of B's clock, which its times follow.
    """

    name: str
    samples: float = 0.03
    process: float = 0.005
    common: float = 0.0
    shared: float = 0.0
    reach: float = 1.0
    drift: float = 0.0
    throttled: float = 0.0
    untold: float = 0.0
    clock: float | None = None
    b_clock: float = 1.0


_REAL = {"common": 0.003, "drift": 0.05, "throttled": 0.01}
NOISES = (
    Noise("quiet: processes 0.3 %", process=0.003),
    Noise("processes 0.6 %", process=0.006),
    Noise("processes 1 %", process=0.01),
    Noise("processes 1.5 %", process=0.015),
    Noise("processes 3 %", process=0.03),
    Noise("samples 20 %", samples=0.2, process=0.003),
    Noise("whole processes 0.6 %, all cases alike", common=0.006),
    Noise("whole processes 3 %, all cases alike", common=0.03),
    Noise("drift 10 %", drift=0.1),
    Noise("drift 30 %", drift=0.3),
    Noise("shared 1 % over 0.3 processes", shared=0.01, reach=0.3),
    Noise("shared 1 % over 1 process", shared=0.01),
    Noise("shared 1 % over 4 processes", shared=0.01, reach=4.0),
    Noise("shared 3 % over 1 process", samples=0.01, process=0.001, shared=0.03),
    Noise("throttled", throttled=0.03),
    Noise("throttled, half untold", throttled=0.03, untold=0.5),
    Noise("all of it", shared=0.004, **_REAL),
    Noise("all of it, clocks told", shared=0.004, clock=1.0, **_REAL),
    Noise("B clocked lower by 3 %", clock=1.0, b_clock=0.97),
)


def processes_of(noise: Noise, changes: _Numbers, random: np.random.Generator) -> list[TimedCase]:
    """One run of all processes: the medians and clocks of each case.

    ``changes``  [cases], B over A as it truly is.
    """
    sides = np.array(alternate(PROCESSES)) == "b"
    shape = (sides.size, changes.size)
    wander = _shared(noise, shape, random)
    wander += noise.drift * np.linspace(0, 1, sides.size * changes.size).reshape(shape)
    clock = np.where(sides[:, None], np.log(noise.b_clock), 0.0) - (noise.clock or 0.0) * wander
    logs = wander - np.where(sides[:, None], np.log(noise.b_clock), 0.0)
    logs += noise.process * random.standard_normal(shape)
    logs += noise.common * random.standard_normal((sides.size, 1))
    logs += np.where(sides[:, None], np.log(changes), 0.0)
    logs = logs[:, :, None] + noise.samples * random.standard_normal((*shape, SAMPLES))
    slowed, told = _throttled(noise, logs.shape, random)
    medians = _medians(np.where(told, np.nan, logs + slowed))
    hz = np.round(np.exp(clock) * _CLOCK_HZ / _CLOCK_STEP_HZ) * _CLOCK_STEP_HZ
    return [
        TimedCase(
            [None if np.isnan(m) else float(np.exp(m)) * 1e-3 for m in medians[:, case]],
            () if noise.clock is None else hz[:, case].tolist(),
        )
        for case in range(changes.size)
    ]


def _shared(noise: Noise, shape: tuple[int, int], random: np.random.Generator) -> _Numbers:
    """What neighbours in time share [processes, cases]: an Ornstein-Uhlenbeck process."""
    from scipy.signal import lfilter  # noqa: PLC0415

    if not noise.shared:
        return np.zeros(shape)
    kept = np.exp(-1 / (noise.reach * shape[1]))
    steps = random.standard_normal(shape[0] * shape[1]) * np.sqrt(1 - kept**2)
    steps[0] /= np.sqrt(1 - kept**2)
    return noise.shared * np.asarray(lfilter([1.0], [1.0, -kept], steps)).reshape(shape)


def _throttled(
    noise: Noise, shape: tuple[int, int, int], random: np.random.Generator
) -> tuple[_Numbers, NDArray[np.bool_]]:
    """The logarithm of what throttling does to each sample, and whether the card told of it."""
    slowed, told = np.zeros(shape).ravel(), np.zeros(shape, np.bool_).ravel()
    of_process = shape[1] * shape[2]
    for process in np.flatnonzero(random.random(shape[0]) < noise.throttled):
        begin = int((process + random.random()) * of_process)
        end = begin + int(random.uniform(0, 1.5) * of_process)
        slowed[begin:end] = np.log(1.2)
        told[begin:end] = random.random() >= noise.untold
    return slowed.reshape(shape), told.reshape(shape)


def _medians(logs: _Numbers) -> _Numbers:
    """Medians over the last axis of what is not NaN; NaN where nothing else is."""
    ordered = np.sort(logs, axis=-1)  # NaN last
    count = np.isfinite(ordered).sum(axis=-1, keepdims=True)
    low, high = (
        np.take_along_axis(ordered, at, axis=-1)
        for at in (np.maximum(count - 1, 0) // 2, count // 2)
    )
    return np.asarray((low + high) / 2)[..., 0]


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a kind of noise: shares, see the head of this file."""

    wrong: float
    any: float
    nothing_same: float
    visible: float
    found: float
    false: float
    slower_same: float
    one_found: float
    margin_same: float


def figures(noise: Noise, upgrades: int, cases: int, seed: int = 0) -> Figures:
    """Goes through ``upgrades`` upgrades of each kind, of a number of cases that 20 divides."""
    random = np.random.default_rng(seed)
    at = np.arange(cases)
    nothing = np.ones(cases)
    some = np.where(at % 10, 1.0, 1 + REGRESSION)
    one = np.where(at, 1.0, 1 + REGRESSION)
    margin = np.where(at % 2, 1.0, np.where(at % 4, 1 + MARGIN, 1 / (1 + MARGIN)))

    def verdicts(changes: _Numbers) -> tuple[NDArray[np.str_], list[float]]:
        """The verdicts [upgrades, cases], and what was visible wherever that is known."""
        found = [judge(processes_of(noise, changes, random)) for _ in range(upgrades)]
        visible = [each.visible for case in found for each in case if each.visible is not None]
        return np.array([[each.verdict for each in case] for case in found]), visible

    said, visible = verdicts(nothing)
    wrong = np.isin(said, ("slower", "faster"))
    said_some, _ = verdicts(some)
    claimed = np.isin(said_some, ("slower", "faster"))
    false = claimed[:, some == 1].sum(axis=1) / np.maximum(claimed.sum(axis=1), 1)
    said_one, _ = verdicts(one)
    said_margin, _ = verdicts(margin)
    return Figures(
        wrong=float(wrong.mean()),
        any=float(wrong.any(axis=1).mean()),
        nothing_same=float((said == "same").mean()),
        visible=float(np.median(visible)),
        found=float((said_some[:, some > 1] == "slower").mean()),
        false=float(false.mean()),
        slower_same=float((said_some[:, some > 1] == "same").mean()),
        one_found=float((said_one[:, 0] == "slower").mean()),
        margin_same=float((said_margin[:, margin != 1] == "same").mean()),
    )


def main() -> None:
    """Prints a row a kind of noise, as Markdown; fails if more is wrong than may be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--upgrades", type=int, default=1000)
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if options.upgrades < 1 or options.cases < 20 or options.cases % 20:
        parser.error("--upgrades from 1 on, --cases a multiple of 20")
    print(
        f"{4 * options.upgrades * len(NOISES):,} simulated upgrades of {options.cases} cases, "
        f"{PROCESSES} processes a side, margin {MARGIN:.0%}, level {LEVEL:.0%}, "
        f"{os.cpu_count()} cores, {platform.system()}\n"
    )
    print("| noise | nothing: wrong | any | same | visible ", end="")
    print("| some: found | false | same | one: found | margin: same |")
    print("|---|" + 9 * "---:|")
    worst = 0.0
    play = partial(figures, upgrades=options.upgrades, cases=options.cases)
    with ProcessPoolExecutor(options.jobs) as pool:
        for noise, seen in zip(NOISES, pool.map(play, NOISES), strict=True):
            shares = " | ".join(f"{share:.1%}" for share in astuple(seen))
            print(f"| {noise.name} | {shares} |", flush=True)
            worst = max(worst, seen.wrong, seen.false, seen.slower_same, seen.margin_same)
    if worst > MOST_WRONG:
        raise SystemExit(f"{worst:.1%} are wrong where {MOST_WRONG:.0%} may be")


if __name__ == "__main__":
    main()
