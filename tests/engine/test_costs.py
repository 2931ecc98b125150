"""What is timed, and that a death in it is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pyharness.engine import costs
from pyharness.engine.answers import Answers
from pyharness.engine.costs import SAMPLES, Cost, time_calls
from pyharness.engine.crew import Crew, whole
from pyharness.engine.worker import Launch
from pyharness.space.grid import Grid
from pyharness.spec.ledger import Death, Ledger
from tests.doubles.walking import descriptors

Start = Callable[..., Launch]


def timed(walking: Launch, timing: Launch, grid: Grid) -> list[Cost] | Death:
    """The costs of a grid walked with one setting and timed with another."""
    ledger, answers = Ledger(), Answers(grid.size)
    with Crew(walking, ledger, 1) as crew:
        crew.run(whole(grid), answers)
    with Crew(timing, ledger, 1) as quiet:
        return time_calls(quiet, ledger, grid, answers.codes)


def test_accepted_and_refused_are_timed_apart(
    launch: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "ROWS", 50)
    log = tmp_path / "log"
    grid = descriptors(hidden_size="-19..200,668")
    found = timed(launch(), launch(LOG=log), grid)
    assert isinstance(found, list)
    assert [(c.call, c.answer, c.rows, c.samples) for c in found] == [
        ("cudnnSetRNNDescriptor_v8", "accepted", 50, SAMPLES),
        ("cudnnSetRNNDescriptor_v8", "refused", 20, SAMPLES),
    ]
    for cost in found:
        assert 0 < cost.min_s <= cost.p25_s <= cost.median_s <= cost.p75_s
    # The library itself says what was called: the same rows in each sample, the refused ones last.
    hidden = [int(line.split(",")[9]) for line in log.read_text().splitlines()]
    assert len(hidden) == SAMPLES * 70
    accepted, refused = hidden[: SAMPLES * 50], hidden[SAMPLES * 50 :]
    assert accepted == accepted[:50] * SAMPLES
    assert len(set(accepted)) == 50
    assert min(accepted) == 1
    assert refused == list(range(-19, 1)) * SAMPLES


def test_what_nobody_got_is_not_timed(launch: Start) -> None:
    found = timed(launch(), launch(), descriptors(hidden_size="1..9,668"))
    assert isinstance(found, list)
    assert [c.answer for c in found] == ["accepted"]


def test_a_death_is_told_and_the_next_grid_is_timed(launch: Start) -> None:
    ledger = Ledger()
    first, second = descriptors(hidden_size="1..9,668"), descriptors(hidden_size="1..9")
    answers = Answers(first.size)
    with Crew(launch(TAME=1), ledger, 1) as crew:
        crew.run(whole(first), answers)
    with Crew(launch(), ledger, 1) as quiet:
        death = time_calls(quiet, ledger, first, answers.codes)
        assert isinstance(death, Death)
        assert death.cause == "SIGABRT"
        after = time_calls(quiet, ledger, second, answers.codes[:9])
    assert isinstance(after, list)
    assert after[0].rows == 9
