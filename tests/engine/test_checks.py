"""A library that lies is caught; one that does not is not accused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pyharness.engine import checks
from pyharness.engine.answers import Answers
from pyharness.engine.checks import SpotCheck, spot_check
from pyharness.engine.crew import Crew, whole
from pyharness.engine.worker import Launch
from pyharness.space.grid import Grid
from pyharness.spec.ledger import Ledger
from tests.doubles.walking import descriptors

Start = Callable[..., Launch]


def check(launch: Launch, grid: Grid) -> SpotCheck:
    """The spot check of a grid just walked."""
    ledger, answers = Ledger(), Answers(grid.size)
    with Crew(launch, ledger, 1) as walking:
        walking.run(whole(grid), answers)
    with Crew(launch, ledger, 1, explain=True) as asking:
        return spot_check(asking, ledger, grid, answers.codes, seed=1)


def test_an_honest_library_has_nothing_against_it(launch: Start) -> None:
    grid = descriptors(algo="all", data_type="all", hidden_size="-5..60", proj_size="all")
    found = check(launch(), grid)
    assert found == SpotCheck(rows=grid.size, changed=0, unkept=0, examples=[])


def test_what_is_read_back_otherwise_is_counted_row_by_row(launch: Start) -> None:
    found = check(launch(), descriptors(hidden_size="1..9,672", num_layers="0..6"))
    assert (found.rows, found.changed, found.unkept) == (70, 0, 6)  # 0 layers are not accepted
    assert len(found.examples) == 5
    assert {what for _, what in found.examples} == {
        "accepted, but hidden_size 672 reads back as 673"
    }
    assert all(63 < row < 70 for row, _ in found.examples)


def test_an_answer_that_changes_is_counted(launch: Start) -> None:
    # The answer is the parity of the calls so far; asked in another order, about half changes.
    found = check(launch(), descriptors(hidden_size="671", num_layers="1..400"))
    assert found.unkept == 0
    assert 100 < found.changed < 300
    assert {what for _, what in found.examples} <= {
        "SUCCESS, then BAD_PARAM",
        "BAD_PARAM, then SUCCESS",
    }


def test_rows_that_died_in_the_walk_are_not_asked_again(launch: Start) -> None:
    found = check(launch(), descriptors(hidden_size="1..9,668,669"))
    assert (found.rows, found.changed) == (9, 0)


def test_a_row_that_dies_only_when_asked_again_has_changed(launch: Start) -> None:
    ledger, grid = Ledger(), descriptors(hidden_size="1..9,668")
    answers = Answers(grid.size)
    with Crew(launch(TAME=1), ledger, 1) as walking:
        walking.run(whole(grid), answers)
    with Crew(launch(), ledger, 1, explain=True) as asking:
        found = spot_check(asking, ledger, grid, answers.codes, seed=1)
    assert (found.rows, found.changed) == (10, 1)
    assert found.examples == [(9, "SUCCESS, then the worker ended")]


def test_a_large_grid_is_sampled(launch: Start) -> None:
    grid = descriptors(hidden_size="1..300", num_layers="1..300")
    found = check(launch(), grid)
    assert 0.8 * checks.SAMPLE < found.rows <= checks.SAMPLE < grid.size
    assert found.changed == 0


def test_the_sample_is_the_same_for_the_same_seed(launch: Start) -> None:
    grid = descriptors(hidden_size="671", num_layers="1..300")
    again = [check(launch(), grid) for _ in range(2)]
    assert again[0] == again[1]
    assert np.diff([row for row, _ in again[0].examples]).tolist() != [1, 1, 1, 1]
