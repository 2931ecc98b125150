"""Is B slower than A, faster, the same, or can nobody tell? Medians of processes in, verdicts out.

A process is one reading. Two processes of one library differ by more than the samples within them
tell (where buffers come to lie, which clocks the card has settled on), so thousands of samples in
one process are still one reading. A and B alternate as A B B A, two pairs of neighbours that give a
difference each, log B - log A: most of what neighbours in time have in common cancels in each, and
whatever changed steadily through the four cancels in their mean. Student's t takes pairs as
independent; where neighbours share noise they nearly are, and the default level leaves room for
what they are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, expm1, inf, log1p
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pyharness.errors import UsageError

Side = Literal["a", "b"]
Verdict = Literal["slower", "faster", "same", "inconclusive"]
Reason = Literal["noise", "clock", "few"]

BLOCK: tuple[Side, ...] = ("a", "b", "b", "a")
# results/upgrade-simulation.md: what these find, how often they are wrong, and up to what noise.
PROCESSES = 24  # a side
MARGIN = 0.02
LEVEL = 0.02
POWER = 0.95
CONFIDENCE = 0.95
LEAST_BLOCKS = 3
_EXACT = 1e-9  # differences of logarithms nearer than this are one: what rounding leaves over
_Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TimedCase:
    """One case as each process saw it, in the order in which they ran (see ``alternate``).

    ``medians_s``  of each process' samples; None where a process has none that counts.
    ``clocks_hz``  the card's clock while each was timed, or empty; None where it was not told.
    ``step_s``     the timer's step, as far as it can move a median; 0 where it cannot be seen.
    """

    medians_s: Sequence[float | None]
    clocks_hz: Sequence[float | None] = ()
    step_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Ratio:
    """B over A.

    ``low``, ``high``  95 % confidence interval, by Student's t over pairs.
    ``p_change``       chance of a ratio this far from 1 where nothing changed, two-sided.
    ``p_same``         the larger chance of two one-sided tests: that a ratio at the margin, above
                       or below it, looks as near to 1 as this.
    """

    value: float
    low: float
    high: float
    p_change: float
    p_same: float


@dataclass(frozen=True, slots=True)
class TimeChange:
    """What is known of one case.

    ``verdict``   same: the change is within the margin, tested as such, however sure it is that
                  there is one; slower, faster: there is a change, and it is not known to be within
                  the margin; inconclusive: none of these can be said.
    ``reason``    of inconclusive. noise: the readings are too far apart; clock: seconds say
                  something that cycles do not; few: fewer than LEAST_BLOCKS complete blocks.
    ``pairs``     of neighbours, A and B, in blocks A B B A that are complete.
    ``seconds``   the ratio of times; None if the reason is few.
    ``cycles``    the ratio of times multiplied by clocks, over blocks that have all of these; None
                  if they are fewer than LEAST_BLOCKS.
    ``q_change``  p_change and p_same of seconds, adjusted for the number of cases
    ``q_same``    (Benjamini-Hochberg); q_change of what is not the same as if nothing that is the
                  same had changed.
    ``visible``   the least change, up, that this case would have shown in POWER of all runs like
                  this one, as a share: 0.02 is 2 %. None if the reason is few.
    """

    verdict: Verdict
    reason: Reason | None
    pairs: int
    seconds: Ratio | None = None
    cycles: Ratio | None = None
    q_change: float | None = None
    q_same: float | None = None
    visible: float | None = None


def alternate(processes: int) -> tuple[Side, ...]:
    """The sides of all processes in the order in which they run: A B B A, again and again.

    ``processes``  a side.
    Raises         UsageError if blocks of four do not come out even, or are too few.
    """
    if processes % 2 or processes < 2 * LEAST_BLOCKS:
        raise UsageError(
            f"{processes} processes a side",
            f"an even number from {2 * LEAST_BLOCKS} on: they run as A B B A",
        )
    return BLOCK * (processes // 2)


def judge(
    cases: Sequence[TimedCase], margin: float = MARGIN, level: float = LEVEL
) -> list[TimeChange]:
    """The verdict on each case, in their order.

    A block counts if all four of its medians are there. Chances are adjusted over all cases, those
    of a change and those of being the same each on their own. What is the same is not called
    changed, however sure that is, and does not lend that to others: a hundred sure changes within
    the margin would have the few cases that are called changed tested as if each were alone. What
    seconds say must be said by cycles too, adjusted in the same way, where enough clocks are known.

    ``margin``  the least ratio that matters, as a share: 0.02 is a ratio of 1.02 or 1 / 1.02.
    ``level``   share of wrong findings that is allowed.
    Raises      UsageError for a margin or level that is none, or times that are none.
    Source      Student's t, noncentral t and false_discovery_control of SciPy; Benjamini and
                Hochberg, Journal of the Royal Statistical Society B 57 (1995) 289; two one-sided
                tests: Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987) 657.
    """
    _check(margin, level)
    pairs = [_pairs(case) for case in cases]
    enough = [i for i, (seconds, _) in enumerate(pairs) if len(seconds) >= 2 * LEAST_BLOCKS]
    if not enough:
        return [TimeChange("inconclusive", "few", len(seconds)) for seconds, _ in pairs]
    seconds = _ratios([pairs[i][0] for i in enough], [_slack(cases[i]) for i in enough], margin)
    clocked = {i: found for i in enough if (found := pairs[i][1]) is not None}
    slacks = [_slack(cases[i]) for i in clocked]
    cycles = dict(zip(clocked, _ratios(list(clocked.values()), slacks, margin), strict=True))
    q_change, q_same = _adjusted(seconds, level)
    in_cycles = {
        i: _verdict(ratio.value, change, same, level)
        for (i, ratio), change, same in zip(
            cycles.items(), *_adjusted(list(cycles.values()), level), strict=True
        )
    }
    # What a single case had to reach: Benjamini and Hochberg's bound for as many as were found.
    changed = int(np.sum((q_change <= level) & (q_same > level)))
    bound = level * max(1, changed) / len(enough)
    changes = [TimeChange("inconclusive", "few", len(each)) for each, _ in pairs]
    for i, ratio, change, same in zip(enough, seconds, q_change, q_same, strict=True):
        verdict = _verdict(ratio.value, change, same, level)
        reason: Reason | None = "noise" if verdict == "inconclusive" else None
        if reason is None and in_cycles.get(i, verdict) != verdict:
            verdict, reason = "inconclusive", "clock"
        differences = pairs[i][0]
        changes[i] = TimeChange(
            verdict,
            reason,
            len(differences),
            ratio,
            cycles.get(i),
            float(change),
            float(same),
            _visible(differences, _slack(cases[i]), bound),
        )
    return changes


def _check(margin: float, level: float) -> None:
    if not 0 < margin < inf:
        raise UsageError(f"a margin of {margin}", "more than 0: 0.02 is 2 %")
    if not 0 < level < 0.5:
        raise UsageError(f"a level of {level}", "more than 0 and less than 0.5")


def _pairs(case: TimedCase) -> tuple[_Numbers, _Numbers | None]:
    """The differences of pairs in complete blocks: of seconds, and of cycles.

    Shapes   [pairs] each, differences of natural logarithms.
    Returns  None for cycles if fewer than LEAST_BLOCKS of these have all their clocks.
    """
    times, clocks = case.medians_s, case.clocks_hz
    if len(times) % 4 or len(clocks) not in {0, len(times)}:
        raise UsageError(
            f"{len(times)} times and {len(clocks)} clocks of a case",
            "one time a process in blocks of A B B A, and as many clocks or none",
        )
    told = [value for value in (*times, *clocks) if value is not None]
    if not all(0 < value < inf for value in told) or not 0 <= case.step_s < inf:
        raise UsageError("times or clocks that are no positive numbers", "seconds and Hz, or None")
    logs = _columns(times)
    whole = np.isfinite(logs).all(axis=1)
    seconds = _differences(logs[whole])
    if not clocks:
        return seconds, None
    cycles = seconds + _differences(_columns(clocks)[whole])
    cycles = cycles[np.isfinite(cycles.reshape(-1, 2)).all(axis=1).repeat(2)]
    return seconds, cycles if len(cycles) >= 2 * LEAST_BLOCKS else None


def _columns(values: Sequence[float | None]) -> _Numbers:
    """Logarithms, a row a block; NaN for None."""
    return np.log(np.array(values, np.float64)).reshape(-1, 4)


def _differences(logs: _Numbers) -> _Numbers:
    """B less A of both pairs of each block A B B A."""
    return (logs[:, [1, 2]] - logs[:, [0, 3]]).ravel()


def _slack(case: TimedCase) -> float:
    """How far a timer's step may move a ratio of medians, as a logarithm.

    Rounding moves each median by half a step at most, those of A one way and those of B the other.
    """
    told = [value for value in case.medians_s if value is not None]
    return log1p(case.step_s / min(told)) if told else 0.0


def _ratios(differences: Sequence[_Numbers], slacks: Sequence[float], margin: float) -> list[Ratio]:
    """The ratio of each case, all with equally many pairs tested in one go."""
    ratios: dict[int, Ratio] = {}
    for count in {len(found) for found in differences}:
        these = [i for i, found in enumerate(differences) if len(found) == count]
        table = np.stack([differences[i] for i in these])
        slack = np.array([slacks[i] for i in these])
        ratios.update(zip(these, _ratios_of(table, slack, log1p(margin)), strict=True))
    return [ratios[i] for i in range(len(differences))]


def _ratios_of(table: _Numbers, slack: _Numbers, margin: float) -> list[Ratio]:
    """The ratios of a table [cases, pairs] of differences; slack [cases] counts against both."""
    from scipy.stats import t  # noqa: PLC0415 - slow to import

    count = table.shape[1]
    mean = table.mean(axis=1)
    away = np.abs(mean)
    turned = table * np.where(mean < 0, -1, 1)[:, None]
    change = 2 * _above(turned - np.minimum(slack, away)[:, None])
    room = (margin - slack)[:, None]
    same = np.maximum(_above(room - table), _above(room + table))
    error = table.std(axis=1, ddof=1) / count**0.5
    reach = t.ppf((1 + CONFIDENCE) / 2, count - 1) * error + slack
    return [
        Ratio(exp(m), exp(m - r), exp(m + r), min(1.0, float(c)), float(s))
        for m, r, c, s in zip(mean, reach, change, same, strict=True)
    ]


def _above(table: _Numbers) -> _Numbers:
    """The chance that each row [pairs] has a mean so far above 0 where its true mean is 0."""
    from scipy.stats import ttest_1samp  # noqa: PLC0415 - slow to import

    spread = np.ptp(table, axis=1) > _EXACT
    p = np.where(table.mean(axis=1) > _EXACT, 0.0, 1.0)
    if spread.any():
        p[spread] = ttest_1samp(table[spread], 0.0, axis=1, alternative="greater").pvalue
    return p


def _verdict(ratio: float, change: float, same: float, level: float) -> Verdict:
    if same <= level:
        return "same"
    if change <= level:
        return "slower" if ratio > 1 else "faster"
    return "inconclusive"


def _adjusted(ratios: Sequence[Ratio], level: float) -> tuple[_Numbers, _Numbers]:
    """The chances [cases] of a change and of being the same, each adjusted over all cases.

    A change of what is not the same is adjusted as if what is the same had none.
    """
    from scipy.stats import false_discovery_control  # noqa: PLC0415 - slow to import

    if not ratios:
        return np.empty(0), np.empty(0)
    change = np.array([ratio.p_change for ratio in ratios])
    same = np.asarray(false_discovery_control([ratio.p_same for ratio in ratios]))
    is_same = same <= level
    others = false_discovery_control(np.where(is_same, 1.0, change))
    return np.where(is_same, false_discovery_control(change), others), same


def _visible(differences: _Numbers, slack: float, bound: float) -> float:
    """The least change that a test at ``bound`` sees with POWER, as a share."""
    error = float(differences.std(ddof=1)) / len(differences) ** 0.5
    # beyond the timer's step on top: the test takes it off what it sees
    return expm1(error * _errors_away(len(differences) - 1, bound) + slack)


@lru_cache
def _errors_away(freedom: int, bound: float) -> float:
    """How many standard errors a mean must be away from 0 for a two-sided t test to see it.

    With POWER at the level ``bound``; the chance to see it on the wrong side is left out.
    """
    from scipy.optimize import brentq  # noqa: PLC0415 - slow to import
    from scipy.stats import nct, t  # noqa: PLC0415

    needed = float(t.isf(bound / 2, freedom))
    far = 4.0
    while nct.sf(needed, freedom, far) < POWER:
        far *= 2
    return float(brentq(lambda away: nct.sf(needed, freedom, away) - POWER, 0.0, far))
