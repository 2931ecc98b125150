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

READ_EVERY_S = 0.1  # of host time: what holds a card down for longer is seen

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
    end = time.monotonic() + seconds
    count, each = 1, 0.0
    while (before := time.monotonic()) < end or not each:
        sampler.sample(pass_name, mode, count, count * each)
        now = time.monotonic()
        each = max(now - before, 1e-9) / count
        count = max(1, min(2 * count, int((end - now) / each)))
    return each


def time_pass(
    sampler: Sampler,
    timing: Timing,
    rule: StoppingRule,
    each_s: float,
    read: Reader,
) -> None:
    """Takes samples into ``timing`` until the rule says enough.

    ``each_s``  host seconds that an execution is expected to take.
    Raises      what the sampler raises; what was taken before is in ``timing`` then.
    """
    started = time.monotonic()
    kept: list[float] = []
    left_out = 0
    before = read()
    timing.readings += [before] if before else []
    while True:
        decision = rule.decide(kept, timing.elapsed_s, left_out)
        if decision.reason is not None:
            timing.stop = decision.reason
            return
        for count in _parts(decision.chunk, each_s):
            samples = sampler.sample(timing.pass_name, timing.mode, count, count * each_s)
            after = read()
            chunk = Chunk(tuple(samples), _bits(before), _bits(after))
            timing.chunks.append(chunk)
            timing.readings += [after] if after else []
            if chunk.throttled:
                left_out += len(samples)
            else:
                kept += samples
            timing.elapsed_s = time.monotonic() - started
            before = after


def _parts(count: int, each_s: float) -> list[int]:
    """What the rule asks for in parts of READ_EVERY_S: the card is looked at in between."""
    most = max(1, int(READ_EVERY_S / max(each_s, 1e-9)))
    return [min(most, count - done) for done in range(0, count, most)]


def _bits(reading: Reading | None) -> int | None:
    return None if reading is None else reading.throttle_reasons
