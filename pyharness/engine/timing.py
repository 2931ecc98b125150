"""Time a pass of an open plan: chunks of samples until the rule is content, the card read between.

The rule decides from the samples that count; what the card did while it was held down is marked and
left out, see measure.throttling.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from pyharness.engine.card import Reading
from pyharness.measure.stopping import StoppingRule
from pyharness.measure.throttling import Chunk
from pyharness.spec.stage_results import StageResult

Reader = Callable[[], Reading | None]


class Sampler(Protocol):
    """What can time a pass, such as engine.runner.Runner."""

    def sample(
        self, pass_name: str, mode: str, count: int, expected_s: float = 0.0
    ) -> list[float]: ...


@dataclass(slots=True)
class Timing:
    """What timing a pass in a mode came to.

    ``chunks``    samples in seconds as they were taken, with the card before and after each.
    ``readings``  what the card said, at the start and after each chunk.
    ``stop``      why sampling ended; empty if it did not come to that.
    ``result``    passed, or what kept it from being timed.
    ``elapsed_s`` host time, preparation of the samples included.
    """

    pass_name: str
    mode: str
    result: StageResult
    chunks: list[Chunk] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    stop: str = ""
    elapsed_s: float = 0.0


def warm_up(sampler: Sampler, pass_name: str, mode: str, seconds: float) -> float:
    """Runs a pass until it has run for so many seconds of host time; no sample is kept.

    Returns  seconds of host time that one execution takes, its preparation included.
    """
    started, count, each = time.monotonic(), 1, 0.0
    while (elapsed := time.monotonic() - started) < seconds or not each:
        before = time.monotonic()
        sampler.sample(pass_name, mode, count, count * each)
        each = (time.monotonic() - before) / count
        left = max(seconds - elapsed, 0.0)
        count = max(1, min(2 * count, int(left / each) if each > 0 else count))
    return each


def time_pass(
    sampler: Sampler,
    timing: Timing,
    rule: StoppingRule,
    each_s: float,
    read: Reader,
) -> None:
    """Takes samples into ``timing`` until the rule says enough.

    ``each_s``  host seconds that an execution is expected to take, for the time limits.
    Raises      what the sampler raises; what was taken before is in ``timing`` then.
    """
    started = time.monotonic()
    kept: list[float] = []
    before = read()
    timing.readings += [before] if before else []
    while True:
        decision = rule.decide(kept, timing.elapsed_s)
        if decision.reason is not None:
            timing.stop = decision.reason
            return
        samples = sampler.sample(
            timing.pass_name, timing.mode, decision.chunk, decision.chunk * each_s
        )
        after = read()
        chunk = Chunk(tuple(samples), _bits(before), _bits(after))
        timing.chunks.append(chunk)
        timing.readings += [after] if after else []
        kept += [] if chunk.throttled else samples
        timing.elapsed_s = time.monotonic() - started
        before = after


def _bits(reading: Reading | None) -> int | None:
    return None if reading is None else reading.throttle_reasons
