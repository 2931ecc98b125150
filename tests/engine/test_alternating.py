"""What the next process is to time, from what those before it came to: by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

import pytest

from pyharness.engine import alternating
from pyharness.engine.alternating import Plan, ProblemSeen, Seen, Turn, Wanted, take_turn
from pyharness.engine.card import Reading
from pyharness.engine.cases import MOST_BREAKS_AT_FIRST
from pyharness.engine.timed_case import TimedCase
from pyharness.engine.timing import Timing
from pyharness.measure.stopping import StoppingRule
from pyharness.measure.throttling import Chunk
from pyharness.space.problems import NamedProblem
from pyharness.spec.problem import Problem
from pyharness.spec.stage_results import Outcome, StageResult

FORWARD, BACKWARD = "forward_inference", "backward_data"
PASSES = (FORWARD, BACKWARD)
PROBLEMS = tuple((NamedProblem(name, "", Problem({}), PASSES), PASSES) for name in "abcd")
PLAN = Plan(PROBLEMS, processes=16, block=4, least_blocks=3)


def seen(pass_name: str, outcome: Outcome = "passed", mode: str = "hot") -> Seen:
    result = StageResult(pass_name, "call", None, None, outcome, None, "emulated")
    return Seen(pass_name, mode, result)


def turn(
    names: Sequence[str] = "abcd", each_s: float = 1.0, more_s: float = 2.0, **others: ProblemSeen
) -> Turn:
    """A process in which all went well, but for others; what they took, and its start."""
    well = {name: ProblemSeen(each_s, False, tuple(map(seen, PASSES))) for name in names}
    return Turn(more_s + each_s * len(names), {**well, **others})


def asked(plan: Plan, done: Sequence[Turn]) -> dict[str, tuple[str, ...]] | None:
    """The passes of each problem that the next process gets; None: there is none."""
    wanted = plan.after(done)
    return None if wanted is None else {p.name: passes for p, passes in wanted.problems}


def test_all_processes_get_all_that_works() -> None:
    for count in range(16):
        assert asked(PLAN, [turn()] * count) == dict.fromkeys("abcd", PASSES)
    assert asked(PLAN, [turn()] * 16) is None


@pytest.mark.parametrize("outcome", ["unsupported", "out_of_memory", "skipped"])
def test_a_pass_that_a_side_refuses_is_not_asked_again(outcome: Outcome) -> None:
    refused = ProblemSeen(1, False, (seen(FORWARD), seen(BACKWARD, outcome)))
    neither = ProblemSeen(1, False, (seen(FORWARD, outcome), seen(BACKWARD, outcome)))
    done = [turn(b=refused, c=neither)]
    assert asked(PLAN, done) == dict.fromkeys("abcd", PASSES)  # the other side was not asked yet
    got = asked(PLAN, [*done, turn()])
    assert got == {"a": PASSES, "b": (FORWARD,), "d": PASSES}


def test_what_both_sides_took_at_first_is_out_when_it_was_refused_twice() -> None:
    full = ProblemSeen(1, False, (seen(FORWARD), seen(BACKWARD, "out_of_memory")))
    done = [turn(), turn(), turn(b=full)]
    assert asked(PLAN, done) == dict.fromkeys("abcd", PASSES)  # another program may have been there
    assert asked(PLAN, [*done, turn(b=full)]) == {**dict.fromkeys("abcd", PASSES), "b": (FORWARD,)}


def test_a_mode_that_works_keeps_a_pass() -> None:
    one = ProblemSeen(1, False, (seen(FORWARD), seen(FORWARD, "unsupported", "graph")))
    assert asked(PLAN, [turn(b=one)] * 2) == dict.fromkeys("abcd", PASSES)


def test_what_broke_a_process_has_one_more_chance() -> None:
    broken = ProblemSeen(1, True, (seen(FORWARD, "failed"), seen(BACKWARD, "skipped")))
    assert asked(PLAN, [turn(c=broken)]) == dict.fromkeys("abcd", PASSES)
    assert asked(PLAN, [turn(c=broken), turn(), turn(c=broken)]) == dict.fromkeys("abd", PASSES)


def test_nothing_is_left_to_time() -> None:
    refused = ProblemSeen(1, False, tuple(seen(name, "unsupported") for name in PASSES))
    assert asked(PLAN, [turn("", **dict.fromkeys("abcd", refused))] * 2) is None


@pytest.mark.parametrize(("processes", "share"), [(12, 1 / 12), (16, 1 / 16), (48, 1 / 16)])
def test_the_first_process_begins_nothing_behind_its_share(processes: int, share: float) -> None:
    wanted = replace(PLAN, budget_s=80, processes=processes).after([])
    assert wanted is not None
    assert wanted.until_s == pytest.approx(80 * share)


def test_what_the_first_process_did_not_begin_is_out_for_all() -> None:
    assert asked(replace(PLAN, budget_s=80), [turn("ab")]) == dict.fromkeys("ab", PASSES)


# The first block takes 4 * (2 + 4 * 1) = 24 s, each of the three others with n problems
# 4 * (2 + n) s; of the budget 95 % are given away.
@pytest.mark.parametrize(
    ("budget_s", "names"),
    [(97 / 0.95, "abcd"), (95 / 0.95, "abc"), (85 / 0.95, "abc"), (83 / 0.95, "ab"), (50, "a")],
)
def test_the_first_block_tells_what_the_budget_has_room_for(budget_s: float, names: str) -> None:
    assert asked(replace(PLAN, budget_s=budget_s), [turn()] * 4) == dict.fromkeys(names, PASSES)
    assert replace(PLAN, budget_s=budget_s).within([turn()] * 5) == set(names)


def test_what_was_cut_stays_out_if_the_budget_grows() -> None:
    """It has missed a block: it would end with fewer than the others, or too few.

    What is refused, here the first, costs nothing later on: the one that always fits is another.
    """
    refused = ProblemSeen(1, False, tuple(seen(name, "unsupported") for name in PASSES))
    done = [turn("bcd", more_s=3.0, a=refused)] * 2 + [turn("bcd")] * 2
    poor, rich = replace(PLAN, budget_s=50), replace(PLAN, budget_s=1e6)
    # 20 s for a block of b, c and d, 22 s for the first: 82 s in all, of 95 %.
    assert asked(replace(PLAN, budget_s=83 / 0.95), done) == dict.fromkeys("bcd", PASSES)
    assert asked(replace(PLAN, budget_s=81 / 0.95), done) == dict.fromkeys("bc", PASSES)
    assert asked(poor, done) == {"b": PASSES}
    assert asked(rich, done) == dict.fromkeys("bcd", PASSES)  # nothing was missed yet
    assert asked(rich, [*done, turn("b")]) == {"b": PASSES}
    assert rich.within([*done, turn("b")]) == {"a", "b"}  # a was refused, not cut
    assert rich.cut([*done, *[turn("b")] * 12])


def test_there_are_fewer_blocks_where_nothing_else_fits_but_never_too_few() -> None:
    poor = replace(PLAN, budget_s=1)
    for count in range(4, 12):
        assert asked(poor, [turn()] * 4 + [turn("a")] * (count - 4)) == {"a": PASSES}
    assert asked(poor, [turn()] * 4 + [turn("a")] * 8) is None


def test_a_block_is_not_begun_that_would_not_end_in_time() -> None:
    done = [turn()] * 12  # 72 s; a block more takes 24
    assert asked(replace(PLAN, budget_s=96), done) is not None
    assert asked(replace(PLAN, budget_s=95), done) is None
    assert asked(replace(PLAN, budget_s=95), [*done, turn()]) is not None  # it is under way


def test_what_the_budget_cut_is_known_and_what_a_side_refuses_is_not_cut() -> None:
    assert not PLAN.cut([turn()] * 16)
    assert replace(PLAN, budget_s=80).cut([turn("ab")] * 16)  # two were never begun
    assert replace(PLAN, budget_s=95).cut([turn()] * 4 + [turn("abc")] * 12)
    assert PLAN.cut([turn()] * 12)  # a block is missing
    refused = ProblemSeen(1, False, tuple(seen(name, "unsupported") for name in PASSES))
    assert not PLAN.cut([turn("", **dict.fromkeys("abcd", refused))] * 2)


class Glass:
    """A runner that each of its cases breaks."""

    made = 0

    def __init__(self) -> None:
        Glass.made += 1
        self.broken = False

    def close(self) -> None:
        """Ends nothing."""


def broken_case(runner: Any, *_rest: object) -> TimedCase:
    runner.broken = True
    return TimedCase(None, (Timing(FORWARD, "hot", seen(FORWARD, "failed").result),))


def test_a_side_that_always_breaks_ends_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alternating, "time_case", broken_case)
    names = [str(n) for n in range(MOST_BREAKS_AT_FIRST + 3)]
    problems = tuple((NamedProblem(name, "", Problem({}), PASSES), PASSES) for name in names)

    def go(until_s: float) -> Turn:
        Glass.made = 0
        start: Any = Glass
        wanted = Wanted(problems, until_s)
        rule = StoppingRule()
        return take_turn(start, wanted, ("hot",), rule, 0.0, lambda: None, lambda *_: None)

    turn = go(inf)
    assert Glass.made == MOST_BREAKS_AT_FIRST
    broke = [name for name, of_problem in turn.problems.items() if of_problem.broke]
    assert broke == names[:MOST_BREAKS_AT_FIRST]
    assert list(turn.problems) == names
    assert turn.problems[names[-1]].cases == ()
    # They broke once: nothing is left out yet. After another time the rest has its chance.
    plan = replace(PLAN, problems=problems)
    assert asked(plan, [turn]) == dict.fromkeys(names, PASSES)
    assert asked(plan, [turn, turn]) == dict.fromkeys(names[MOST_BREAKS_AT_FIRST:], PASSES)
    assert list(go(0.0).problems) == names[:1]  # the first is always begun


def test_the_clock_is_that_of_samples_that_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the card is held down samples are left out, and so are its clocks."""
    slow, free = 0x04, 0x01  # a power cap; the card has nothing to do
    chunks = [Chunk((1.0, 1.1, 1.2), 0, free), Chunk((3.0, 3.1), slow, 0)]
    told = [(1000, 0), (1400, free), (1410, None), (700, slow), (710, slow)]
    readings = [Reading(0.0, mhz * 10**6, None, None, None, bits) for mhz, bits in told]
    timing = Timing(FORWARD, "hot", seen(FORWARD).result, chunks, readings)
    monkeypatch.setattr(alternating, "time_case", lambda *_: TimedCase(None, (timing,)))
    monkeypatch.setattr(alternating, "close_case", lambda *_, **__: ())
    start: Any = Glass
    rest: Any = (StoppingRule(), 0.0, lambda: None, lambda *_: None)
    found = take_turn(start, Wanted(PROBLEMS[:1]), ("hot",), *rest).problems["a"]
    (case,) = found.cases
    assert (case.median_s, case.samples, case.throttled) == (1.1, 3, 2)
    assert (case.clock_hz, case.throttle_reasons) == (1400e6, ("sw_power_cap",))
