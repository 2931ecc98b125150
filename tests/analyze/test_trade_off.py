"""The fastest choice that repeats, and its cost, from rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.analyze.trade_off import Interval, repeating, trade_offs
from pyharness.spec.problem import Problem, parse_problem

Row = dict[str, Any]
CONDITIONS = ("same_objects", "graph", "batch")
STEP = "training_step"


def problem(words: str) -> Problem:
    return parse_problem(words.split())


def asked(words: Sequence[str]) -> list[tuple[str, Problem, str | None]]:
    return [(problem(w).command, problem(w), STEP) for w in words]


def shown(
    words: str, differs: Sequence[str] = (), untold: Sequence[str] = (), outcome: str = "skipped"
) -> list[Row]:
    """Rows of two tensors under three conditions; y differs under some, some were not tried."""
    rows: list[Row] = []
    for condition in CONDITIONS:
        for tensor in ("y", "dw"):
            verdict = "not_repeatable" if condition in differs and tensor == "y" else "repeatable"
            if condition in untold:
                verdict = "not_tried"
            rows.append(
                {
                    "name": problem(words).command,
                    "condition": condition,
                    "buffer": tensor,
                    "verdict": verdict,
                    "outcome": outcome if verdict == "not_tried" else "passed",
                }
            )
    return rows


def unsaid(condition: str, buffer: str | None, words: str = "hidden_size=8") -> list[Row]:
    """Rows of which one was not tried; None: one in place of those of all tensors."""
    rows = shown(words)
    own = [r for r in rows if r["condition"] == condition]
    left_out = {"verdict": "not_tried", "outcome": "skipped"}
    if buffer is None:
        rest = [r for r in rows if r["condition"] != condition]
        return [*rest, {**own[0], "buffer": None, **left_out}]
    return [{**r, **left_out} if r in own and r["buffer"] == buffer else r for r in rows]


def timed(words: str, median: float | None, spread: float = 0.01) -> Row:
    row: Row = {"name": problem(words).command, "pass": "training_step", "n": 30}
    if median is None:
        return {**row, "median_s": None, "reason": "not for this card", "status": "NOT_SUPPORTED"}
    low, high = median * (1 - spread), median * (1 + spread)
    return {**row, "median_s": median, "median_low_s": low, "median_high_s": high}


def test_the_fastest_that_repeats_and_what_it_costs() -> None:
    words = [f"hidden_size=8 algo={algo}" for algo in ("standard", "persist_static")]
    words += ["hidden_size=8 algo=standard math_type=fma_math", "hidden_size=16"]
    rows = [*shown(words[0]), *shown(words[1], ["graph"]), *shown(words[2]), *shown(words[3])]
    times = [timed(w, t) for w, t in zip(words, (3.0, 1.0, 2.0, 5.0), strict=True)]
    found = trade_offs(asked(words), rows, times)
    assert [rest for rest, _ in found] == ["hidden_size=8", "hidden_size=16"]
    first, second, third = found["hidden_size=8", STEP]
    assert [c.name for c in (first, second, third)] == [words[1], words[2], words[0]]
    assert (first.fastest, first.fastest_repeatable, first.cost) == (True, False, None)
    assert first.repeating.differs == ("graph",)
    assert (second.fastest, second.fastest_repeatable) == (False, True)
    assert second.cost is not None
    # 2 to 1, each known to 1 %: from 1.98/1.01 to 2.02/0.99.
    expected = (2.0, 1.98 / 1.01, 2.02 / 0.99)
    assert (second.cost.value, second.cost.low, second.cost.high) == pytest.approx(expected)
    assert (third.fastest, third.fastest_repeatable) == (False, False)
    assert third.cost is not None
    assert third.cost.value == 3
    (alone,) = found["hidden_size=16", STEP]
    assert (alone.fastest, alone.fastest_repeatable, alone.cost) == (True, True, None)


def test_what_was_not_tried_makes_nothing_repeatable() -> None:
    words = [f"hidden_size=8 algo={algo}" for algo in ("standard", "persist_static")]
    rows = [*shown(words[0], untold=CONDITIONS), *shown(words[1], ["batch"])]
    (choices,) = trade_offs(
        asked(words), rows, [timed(words[0], 1.0), timed(words[1], None)]
    ).values()
    assert [c.repeating.verdict for c in choices] == ["not_tried", "not_repeatable"]
    assert not any(c.fastest_repeatable for c in choices)
    assert (choices[0].fastest, choices[1].fastest) == (True, False)
    assert choices[1].reason == "not for this card"
    (unknown,) = trade_offs(asked(words[:1]), [], []).values()
    assert (unknown[0].repeating.verdict, unknown[0].reason) == ("not_tried", "it was not timed")
    assert not unknown[0].fastest


def test_of_two_as_fast_the_one_that_repeats_is_the_fastest() -> None:
    words = [f"hidden_size=8 algo={algo}" for algo in ("standard", "persist_static")]
    rows = [*shown(words[0], ["graph"]), *shown(words[1])]
    times = [timed(w, 1.0) for w in words]
    (choices,) = trade_offs(asked(words), rows, times).values()
    assert (choices[0].name, choices[0].fastest_repeatable) == (words[1], True)


@pytest.mark.parametrize(
    ("rows", "tried", "differs", "left"),
    [
        (shown("hidden_size=8"), CONDITIONS, (), ()),
        (
            shown("hidden_size=8", ["graph"], ["batch"]),
            ("same_objects", "graph"),
            ("graph",),
            ("batch",),
        ),
        # A condition that a defect cut short was not tried to the end.
        (
            shown("hidden_size=8", (), ["graph"], "failed"),
            ("same_objects", "batch"),
            (),
            ("graph",),
        ),
        # Neither was one of which a tensor is not told; dw is never told of a batch.
        (unsaid("graph", "y"), ("same_objects", "batch"), (), ("graph",)),
        (unsaid("batch", "dw"), CONDITIONS, (), ()),
        # What is not for the problem at all leaves nothing open.
        (unsaid("graph", None), ("same_objects", "batch"), (), ()),
    ],
)
def test_conditions_of_a_problem_together(
    rows: list[Row], tried: tuple[str, ...], differs: tuple[str, ...], left: tuple[str, ...]
) -> None:
    found = repeating(rows)["hidden_size=8"]
    assert (found.tried, found.differs, found.open) == (tried, differs, left)


def test_choices_are_compared_where_both_were_tried() -> None:
    words = [f"hidden_size=8 algo={algo}" for algo in ("standard", "persist_static")]
    for rows in (unsaid("graph", None, words[0]), unsaid("graph", "dw", words[0])):
        times = [timed(words[0], 1.0), timed(words[1], 2.0)]
        (choices,) = trade_offs(asked(words), [*rows, *shown(words[1])], times).values()
        fast, slow = choices
        assert (fast.name, fast.repeating.verdict, fast.untried) == (
            words[0],
            "repeatable",
            ("graph",),
        )
        assert (fast.fastest, fast.fastest_repeatable, slow.fastest_repeatable) == (
            True,
            False,
            True,
        )
    # Where no choice was tried, none is ahead.
    rows = [*unsaid("graph", None, words[0]), *unsaid("graph", None, words[1])]
    (choices,) = trade_offs(asked(words), rows, times).values()
    assert (choices[0].untried, choices[0].fastest_repeatable) == ((), True)


def test_inference_is_no_choice_of_training() -> None:
    one = problem("hidden_size=8")
    names = [("a", one, STEP), ("b", one, "forward_inference")]
    rows = [{**r, "name": n} for n in ("a", "b") for r in shown("hidden_size=8")]
    times = [{**timed("hidden_size=8", t), "name": n} for n, t in (("a", 2.0), ("b", 1.0))]
    found = trade_offs(names, rows, times)
    assert [[(c.name, c.time and c.time.value) for c in of] for of in found.values()] == [
        [("a", 2.0)],
        [("b", 1.0)],
    ]
    assert all(c.fastest for of in found.values() for c in of)


def test_what_differs_by_design_costs_no_verdict() -> None:
    row = {
        "name": "p",
        "buffer": "y",
        "condition": "dropout_continued",
        "verdict": "not_repeatable",
    }
    found = repeating([{**row, "outcome": "passed"}])["p"]
    assert (found.verdict, found.tried) == ("not_tried", ())


@given(
    a=st.tuples(*[st.floats(0.5, 2)] * 3).map(sorted),
    b=st.tuples(*[st.floats(0.5, 2)] * 3).map(sorted),
    share=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_a_ratio_holds_every_ratio_of_times_within_their_bounds(
    a: list[float], b: list[float], share: tuple[float, float]
) -> None:
    cost = Interval(a[1], a[0], a[2]).over(Interval(b[1], b[0], b[2]))
    assert cost.low is not None
    assert cost.high is not None
    some = (a[0] + share[0] * (a[2] - a[0])) / (b[0] + share[1] * (b[2] - b[0]))
    assert cost.low * (1 - 1e-12) <= some <= cost.high * (1 + 1e-12)
    unknown = Interval(1.0, None, None).over(Interval(2.0, 1.0, 3.0))
    assert (unknown.value, unknown.low, unknown.high) == (0.5, None, None)
