"""The steps of a timing, with a sampler and a card that only play: order, and what is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from pyharness.engine.card import Reading
from pyharness.engine.timing import Timing, time_pass, warm_up
from pyharness.measure.stopping import StoppingRule
from pyharness.measure.throttling import Chunk, sieve
from pyharness.spec.stage_results import StageResult

THERMAL, IDLE = 0x40, 0x01


@dataclass
class Lab:
    """A clock that only executions and readings move, and a log of everything that was done.

    ``each_s``   seconds of an execution; each sample says how many were made before it.
    ``reasons``  throttle reasons of the readings, in order; the last one stays.
    ``breaks``   the execution that fails.
    """

    each_s: float = 0.25
    reasons: list[int | None] = field(default_factory=lambda: [IDLE])
    breaks: int | None = None
    now: float = 100.0
    executed: int = 0
    log: list[str] = field(default_factory=list)

    def sample(self, pass_name: str, mode: str, count: int, expected_s: float = 0.0) -> list[float]:
        self.log.append(f"{pass_name} {mode} x{count} {expected_s:g}")
        if self.breaks is not None and self.executed + count >= self.breaks:
            raise RuntimeError("broken")
        self.now += count * self.each_s
        self.executed += count
        return [self.each_s + 1e-6 * n for n in range(self.executed - count, self.executed)]

    def read(self) -> Reading:
        bits = self.reasons.pop(0) if len(self.reasons) > 1 else self.reasons[0]
        self.log.append(f"read {bits}")
        return Reading(self.now, 1000, None, None, None, bits)


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Lab]:
    """Sets up a lab whose clock is that of the module."""

    def set_up(**settings: object) -> Lab:
        made = Lab(**settings)  # type: ignore[arg-type]
        monkeypatch.setattr("pyharness.engine.timing.time.monotonic", lambda: made.now)
        return made

    return set_up


def fresh() -> Timing:
    return Timing("p", "hot", StageResult("p", "call", "SUCCESS", 0, "passed", None, "observed"))


RULE = StoppingRule(4, 1.0, 0.01, 10.0, 100)


def test_the_order_of_steps(lab: Callable[..., Lab]) -> None:
    here, timing = lab(), fresh()
    time_pass(here, timing, RULE, 0.01, here.read)
    # The card is read before the first chunk and after each; the time limit of a chunk is what its
    # executions should take. 1, then as many as there are: 1, 2. At 4 samples and 1 s it is enough.
    assert here.log == [
        "read 1",
        *("p hot x1 0.01", "read 1"),
        *("p hot x1 0.01", "read 1"),
        *("p hot x2 0.02", "read 1"),
    ]
    assert (timing.stop, timing.elapsed_s) == ("precise", 1.0)
    assert [len(c.samples) for c in timing.chunks] == [1, 1, 2]
    assert [s for c in timing.chunks for s in c.samples] == [0.25, 0.250001, 0.250002, 0.250003]
    assert [(c.before, c.after) for c in timing.chunks] == [(IDLE, IDLE)] * 3
    assert [r.time_s for r in timing.readings] == [100.0, 100.25, 100.5, 101.0]


def test_without_a_card_nothing_is_known_and_all_counts(lab: Callable[..., Lab]) -> None:
    here, timing = lab(), fresh()
    time_pass(here, timing, RULE, 0.01, lambda: None)
    assert timing.readings == []
    assert {(c.before, c.after, c.throttled) for c in timing.chunks} == {(None, None, False)}
    assert sieve(timing.chunks).unread == 4


def test_what_warms_up_is_not_kept(lab: Callable[..., Lab]) -> None:
    here, timing = lab(), fresh()
    each = warm_up(here, "p", "cold", 1.5)
    # 0.25 s each: 1, then twice as many (1.25 s are left), then 3 (0.75 s are left, not 4).
    assert here.log == ["p cold x1 0", "p cold x2 0.5", "p cold x3 0.75"]
    assert each == 0.25
    assert here.now == 101.5
    time_pass(here, timing, RULE, each, lambda: None)
    assert timing.chunks[0] == Chunk((0.250006,), None, None)  # the seventh execution
    assert timing.elapsed_s == 1.0


def test_a_pass_is_warmed_up_once_even_if_no_time_is_given(lab: Callable[..., Lab]) -> None:
    here = lab()
    assert warm_up(here, "p", "hot", 0.0) == 0.25
    assert here.executed == 1


def test_throttled_chunks_are_left_out_and_counted(lab: Callable[..., Lab]) -> None:
    # Readings:          start, after the 1st, 2nd, …
    here, timing = lab(reasons=[IDLE, IDLE, THERMAL, IDLE, IDLE]), fresh()
    time_pass(here, timing, RULE, 0.005, here.read)
    assert [(len(c.samples), c.throttled) for c in timing.chunks] == [
        (1, False),
        (1, True),  # held down at its end
        (2, True),  # held down at its start; as many as were taken, whatever counts
        (4, False),
    ]
    assert timing.stop == "precise"
    sieved = sieve(timing.chunks)
    assert sieved.kept == pytest.approx([0.25, 0.250004, 0.250005, 0.250006, 0.250007], rel=1e-12)
    assert (sieved.left_out, sieved.reasons) == (3, {"hw_thermal_slowdown": 3})


def test_a_card_that_is_held_down_for_good_leaves_nothing(lab: Callable[..., Lab]) -> None:
    here, timing = lab(reasons=[THERMAL]), fresh()
    time_pass(here, timing, RULE, 0.005, here.read)
    # 10 s have room for 40; chunks double all the same, so that there are few readings.
    assert [len(c.samples) for c in timing.chunks] == [1, 1, 2, 4, 8, 16, 8]
    assert (timing.stop, timing.elapsed_s) == ("time limit", 10.0)
    assert sieve(timing.chunks).kept == ()


def test_the_card_is_looked_at_in_the_middle_of_long_chunks(lab: Callable[..., Lab]) -> None:
    # 0.04 s each: 2 in 0.1 s. The rule asks for 1, 1, 2, 4 all the same.
    here, timing = lab(each_s=0.04, reasons=[*[IDLE] * 4, THERMAL]), fresh()
    rule = StoppingRule(5, 0.0, 0.01, 10.0, 8)
    time_pass(here, timing, rule, 0.04, here.read)
    assert [(len(c.samples), c.throttled) for c in timing.chunks] == [
        *((1, False), (1, False), (2, False)),
        *((2, True), (2, True)),  # the second of these began held down, too
    ]
    assert timing.stop == "sample limit"


def test_the_time_limit_is_kept(lab: Callable[..., Lab]) -> None:
    here, timing = lab(each_s=3.0), fresh()
    time_pass(here, timing, StoppingRule(30, 1.0, 0.01, 10.0), 3.0, here.read)
    # 3 s, 3 s, and one more in the 4 s that are left.
    assert [len(c.samples) for c in timing.chunks] == [1, 1, 1, 1]
    assert (timing.stop, timing.elapsed_s) == ("time limit", 12.0)


def test_what_was_taken_before_a_failure_is_kept(lab: Callable[..., Lab]) -> None:
    here, timing = lab(breaks=4), fresh()
    with pytest.raises(RuntimeError, match="broken"):
        time_pass(here, timing, RULE, 0.005, here.read)
    assert [s for c in timing.chunks for s in c.samples] == [0.25, 0.250001]
    assert (timing.stop, timing.elapsed_s) == ("", 0.5)
    assert len(timing.readings) == 3
