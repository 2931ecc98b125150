"""What processes said becomes the verdicts that were asked for: no process runs here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pyharness.api import time_change
from pyharness.api.progress import silent
from pyharness.api.time_change import TimeOptions, TimeRun, compare_time
from pyharness.api.time_records import EVENT_STEP_S
from pyharness.engine.alternating import ProblemSeen, Seen, Turn, Wanted
from pyharness.releases import Release
from pyharness.spec.stage_results import Outcome, StageResult
from pyharness.store.reading import read_rows
from tests.api.bench_scene import named

# What a process of a side says of a pass: the place of the process in, a median and a clock out.
Says = Callable[[str, int], tuple[Outcome, float | None, float | None]]
Go = Callable[..., TimeRun]
OPTIONS = TimeOptions(processes=6, passes=("forward_inference",))


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_release: Release) -> Go:
    """Compares two releases whose processes say what is given."""

    class Sides:
        device: dict[str, Any] = {"name": "A card", "ordinal": 0, "emulated": False}  # noqa: RUF012

        def __init__(self, *_: object) -> None:
            shared = {"version": "9", "cuda_major": 12, "path": "", "stamp": ""}
            self.told = [{**shared, "name": name, "asked": name} for name in ("old", "new")]
            self.notes: list[str] = []

        def starter(self, side: str) -> str:
            return side

        def read(self) -> None: ...
        def close(self) -> None: ...

    def compare(
        says: Says,
        options: TimeOptions = OPTIONS,
        step_s: float | None = 0.0,
        problems: Sequence[str] = ("seed=0",),
    ) -> TimeRun:
        """Each problem wobbles three times as much as the one before."""
        place = iter(range(options.processes * 2))

        def turn(side: str, wanted: Wanted, modes: Sequence[str], *_: object) -> Turn:
            next_place = next(place)
            outcome, median, clock = says(side, next_place)
            words = (
                ("newer", None, outcome) if outcome != "passed" else ("call", "SUCCESS", outcome)
            )
            call, status, ends = words
            result = StageResult(
                "forward_inference",
                call,
                status,
                None,
                ends,
                None,
                "observed",  # type: ignore[arg-type]
            )
            found = {}
            for at, (problem, _) in enumerate(wanted.problems):
                wobble = 1 + 0.002 * at * (next_place % 3)
                own = None if median is None else median * wobble
                seen = Seen("forward_inference", modes[0], result, own, 30, clock_hz=clock,
                            step_s=step_s)  # fmt: skip
                found[problem.name] = ProblemSeen(0.5, False, (seen,))
            return Turn(1.0, found)

        monkeypatch.setattr(time_change, "Sides", Sides)
        monkeypatch.setattr(time_change, "take_turn", turn)
        out = tmp_path / str(len(list(tmp_path.iterdir())))
        sides = (fake_release, fake_release)
        return compare_time(sides, named(*problems), out, options, progress=silent)

    return compare


def wobbling(ratio: float, clock: float | None = None) -> Says:
    """B takes so many times as long; all within half a per cent, which is no noise of ours."""

    def says(side: str, place: int) -> tuple[Outcome, float | None, float | None]:
        median = 1e-3 * (1 + 0.001 * (place % 5)) * (ratio if side == "b" else 1)
        return "passed", median, clock and clock / (ratio if side == "b" else 1)

    return says


@pytest.mark.parametrize(
    ("ratio", "options", "verdict"),
    [
        (1.03, OPTIONS, "slower"),
        (1.03, TimeOptions(processes=6, passes=OPTIONS.passes, margin=0.05), "same"),
        (1.03, TimeOptions(processes=6, passes=OPTIONS.passes, level=1e-13), "inconclusive"),
        (1 / 1.03, OPTIONS, "faster"),
        (1.0, OPTIONS, "same"),
    ],
)
def test_margin_and_level_are_those_asked_for(
    go: Go, ratio: float, options: TimeOptions, verdict: str
) -> None:
    run = go(wobbling(ratio), options)
    (row,) = run.rows
    assert (row["verdict"], row["release_a"], row["release_b"]) == (verdict, "old", "new")
    assert (row["margin"], row["level"]) == (options.margin, options.level)
    assert row["ratio"] == pytest.approx(ratio, rel=0.002)
    assert row["median_b_s"] / row["median_a_s"] == pytest.approx(ratio, rel=0.003)
    assert run.manifest.state == "complete"


def test_cycles_are_judged_by_the_clocks_that_were_told(go: Go) -> None:
    (row,) = go(wobbling(1.05, 1.4e9)).rows
    assert (row["verdict"], row["reason"]) == ("inconclusive", "clock")
    assert (row["ratio"], row["cycles_ratio"]) == pytest.approx((1.05, 1.0), rel=0.002)
    (row,) = go(wobbling(1.05)).rows
    assert (row["verdict"], row["cycles_ratio"]) == ("slower", None)


def test_a_reading_is_of_the_release_of_its_side(go: Go) -> None:
    rows = read_rows(go(wobbling(1.5)).folder, "time_readings")
    assert [r["side"] for r in rows] == list("abba" * 3)
    assert {(r["side"], r["release"], r["median_s"] > 1.2e-3) for r in rows} == {
        ("a", "old", False),
        ("b", "new", True),
    }


def test_a_process_that_fails_later_on_is_the_sides_outcome(go: Go) -> None:
    def says(side: str, place: int) -> tuple[Outcome, float | None, float | None]:
        fails = place == 6
        return ("failed", None, None) if fails else wobbling(1.0)(side, place)

    run = go(says)
    (row,) = run.rows
    assert (row["outcome_a"], row["outcome_b"]) == ("passed", "failed")
    assert (row["processes_a"], row["processes_b"]) == (6, 5)
    assert (run.manifest.results["failed"], len(run.manifest.results["failures"])) == (1, 1)


def test_all_failures_are_counted_and_the_first_are_told(
    go: Go, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_change, "_MOST_FAILURES", 1)
    results = go(lambda side, place: ("failed", None, None)).manifest.results
    assert (results["failed"] > 1, len(results["failures"])) == (True, 1)


def test_where_a_card_hides_its_timers_step_it_is_that_of_events(go: Go) -> None:
    (row,) = go(wobbling(1.0), step_s=None).rows
    assert row["step_s"] == EVENT_STEP_S
    (row,) = go(wobbling(1.0), step_s=0.0).rows
    assert row["step_s"] == 0


def test_what_all_would_have_shown_is_the_largest_of_what_each_would(go: Go) -> None:
    run = go(wobbling(1.0), problems=("seed=0", "seed=1", "seed=2"))
    first, second, third = (row["visible"] for row in run.rows)
    assert first < second < third
    results = run.manifest.results
    assert (results["visible_median"], results["visible_most"]) == (second, third)
