"""What is timed, and that a death in it is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pyharness.engine import costs
from pyharness.engine.costs import SAMPLES, Cost, pick, time_calls
from pyharness.engine.crew import Crew
from pyharness.engine.worker import Launch
from pyharness.space.grid import Grid
from pyharness.spec.ledger import FAILED, Death, Ledger
from tests.doubles.walking import descriptors

Start = Callable[..., Launch]


def timed(launch: Launch, grid: Grid, **rows: list[int]) -> list[Cost] | Death:
    """The costs of some rows of a grid, by the answer that they are said to get."""
    picked = {answer: np.array(of_answer, np.int64) for answer, of_answer in rows.items()}
    with Crew(launch, Ledger(), 1) as quiet:
        return time_calls(quiet, grid, picked)


def test_rows_are_timed_apart_and_again_and_again(
    launch: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "ROWS", 7)
    log = tmp_path / "log"
    grid = descriptors(hidden_size="-9..90")
    accepted, refused = [20, 95, 31, 40], [0, 9, 4]
    found = timed(launch(LOG=log), grid, accepted=accepted, refused=refused)
    assert isinstance(found, list)
    assert [(c.call, c.answer, c.rows, c.samples) for c in found] == [
        ("cudnnSetRNNDescriptor_v8", "accepted", 4, SAMPLES),
        ("cudnnSetRNNDescriptor_v8", "refused", 3, SAMPLES),
    ]
    for cost in found:
        assert 0 < cost.min_s <= cost.p25_s <= cost.median_s <= cost.p75_s
    # The library itself says what it was called with: a few rows make a whole sample, by turns, and
    # one sample more than is kept.
    hidden = [int(line.split(",")[9]) for line in log.read_text().splitlines()]
    assert hidden == [
        rows[i % len(rows)] - 9
        for rows in (accepted, refused)
        for _ in range(SAMPLES + 1)
        for i in range(7)
    ]


def test_picked_rows_have_their_answer_and_are_no_more_than_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(costs, "ROWS", 10)
    codes = np.array([0, 1, 2, FAILED, 0] * 40, np.uint8)
    picked = pick(codes, accepted=[0], refused=[1, 2])
    assert set(picked) == {"accepted", "refused"}
    assert [len(rows) for rows in picked.values()] == [10, 10]
    assert set(codes[picked["accepted"]]) == {0}
    assert set(codes[picked["refused"]]) <= {1, 2}
    assert set(pick(codes[:1], [0], [1])) == {"accepted"}
    assert pick(codes[3:4], [0], [1]) == {}


def test_a_death_is_told_and_the_next_grid_is_timed(launch: Start) -> None:
    first, second = descriptors(hidden_size="1..9,668"), descriptors(hidden_size="1..9")
    every = np.arange(9)
    with Crew(launch(), Ledger(), 1) as quiet:
        death = time_calls(quiet, first, {"accepted": np.arange(10)})
        assert isinstance(death, Death)
        assert death.cause == "SIGABRT"
        after = time_calls(quiet, second, {"accepted": every})
    assert isinstance(after, list)
    assert after[0].rows == 9
