"""A misbehaving library costs the rows that it misbehaved on, and no others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pyharness.engine.answers import Answers
from pyharness.engine.crew import MOST_DEATHS_UNANSWERED, Collapse, Crew, Job, some, whole
from pyharness.engine.worker import Launch
from pyharness.spec.ledger import FAILED, Ledger
from tests.doubles.walking import descriptors, differences, walk

Start = Callable[..., Launch]
MIXED = {
    "algo": "all",
    "cell_mode": "lstm,gru",
    "data_type": "float,double,half",
    "hidden_size": "-2..9",
    "proj_size": "same,half,over,4",
    "num_layers": "0..3",
    "aux_flags": "0..2",
}


@pytest.mark.parametrize("walkers", [1, 2, 3])
@pytest.mark.parametrize("explain", [False, True])
def test_every_row_of_a_mixed_grid(launch: Start, walkers: int, explain: bool) -> None:
    grid = descriptors(**MIXED)
    assert grid.size > 3 * 4096, "several tasks for each walker"
    answers, ledger = walk(launch(), grid, walkers=walkers, explain=explain)
    assert differences(grid, answers, ledger, explained=explain) == []
    assert answers.deaths == {}
    assert ledger.names == {0: "SUCCESS", 2000: "BAD_PARAM", 3000: "NOT_SUPPORTED"}


def test_old_status_numbers_have_the_same_names(launch: Start) -> None:
    grid = descriptors(hidden_size="0,8", proj_size="same,over")
    answers, ledger = walk(launch(VERSION=8907), grid)
    numbers = [ledger.statuses[c] for c in answers.codes]
    assert numbers == [3, 3, 0, 9]
    assert [ledger.name_of(c) for c in answers.codes] == [
        "BAD_PARAM",
        "BAD_PARAM",
        "SUCCESS",
        "NOT_SUPPORTED",
    ]


@pytest.mark.parametrize(("walkers", "explain"), [(1, False), (2, True)])
def test_every_harm_costs_its_row(launch: Start, walkers: int, explain: bool) -> None:
    # 666 to 669 lie side by side: a fault, a hang, an abort and an exit one after the other.
    grid = descriptors(hidden_size="-3..669,680..9100")
    answers, ledger = walk(launch(), grid, walkers=walkers, explain=explain, timeout_s=2)
    assert differences(grid, answers, ledger, explained=explain) == []
    first = 666 + 3
    assert {p: d.cause for p, d in answers.deaths.items()} == {
        first: "SIGSEGV",
        first + 1: "no answer for 2 s",
        first + 2: "SIGABRT",
        first + 3: "exit status 7",
    }
    assert answers.deaths[first + 2].output == "Could not load library libfake_part.so.8"
    assert answers.deaths[first].position < 4096, "the position within its task"


@pytest.mark.parametrize(
    ("hidden", "dead"),
    [
        ("666,1..20", [0]),
        ("1..20,666", [20]),
        ("666,1..20,668", [0, 21]),
        ("1,666,668,2", [1, 2]),
        ("668", [0]),
    ],
    ids=["first", "last", "both ends", "neighbours", "only"],
)
@pytest.mark.parametrize("explain", [False, True])
def test_where_the_dead_row_lies(
    launch: Start, hidden: str, dead: list[int], explain: bool
) -> None:
    grid = descriptors(hidden_size=hidden)
    answers, ledger = walk(launch(), grid, explain=explain)
    assert differences(grid, answers, ledger) == []
    assert sorted(answers.deaths) == dead
    assert [int(p) for p in np.flatnonzero(answers.codes == FAILED)] == dead


def test_chosen_rows_come_back_in_the_order_asked(launch: Start) -> None:
    grid = descriptors(**{**MIXED, "hidden_size": "-2..9,668"})
    rng = np.random.default_rng(7)
    harmful = [r for r in range(grid.size) if grid.at(r)["hidden_size"] == 668]
    sound = sorted(set(range(grid.size)) - set(harmful))
    rows = np.concatenate([rng.choice(sound, 6000), harmful[5:7], rng.choice(sound, 6000)])
    rows = np.array([harmful[0], *rows, harmful[-1]])
    answers, ledger = walk(launch(), grid, rows=rows, walkers=2)
    assert differences(grid, answers, ledger, rows=rows) == []
    assert sorted(answers.deaths) == [0, 6001, 6002, 12003]


@pytest.mark.parametrize("explain", [False, True])
def test_order_makes_no_difference(launch: Start, explain: bool) -> None:
    grid = descriptors(**MIXED)
    rng = np.random.default_rng(3)
    rows = rng.permutation(grid.size)
    straight, first = walk(launch(), grid, explain=explain)
    shuffled, second = walk(launch(), grid, explain=explain, rows=rows)
    for place, row in enumerate(rows):
        a, b = straight.codes[row], shuffled.codes[place]
        assert first.statuses[a] == second.statuses[b]
        texts = straight.text_ids[row], shuffled.text_ids[place]
        assert first.texts[texts[0]] == second.texts[texts[1]]


@pytest.mark.parametrize("count", [1, MOST_DEATHS_UNANSWERED - 1, MOST_DEATHS_UNANSWERED])
def test_a_small_space_of_harm_is_walked_to_its_end(launch: Start, count: int) -> None:
    grid = descriptors(hidden_size="668", num_layers=f"1..{count}")
    answers, _ = walk(launch(), grid)
    assert [answers.deaths[i].cause for i in range(count)] == ["SIGABRT"] * count


def test_a_library_that_nothing_survives_stops_the_walk(launch: Start) -> None:
    grid = descriptors(hidden_size="668", num_layers="1..100")
    with pytest.raises(Collapse, match=r"8 workers ended before they answered .*SIGABRT") as caught:
        walk(launch(), grid, walkers=2)
    assert "libfake_part.so.8" in caught.value.hint
    assert caught.value.exit_code == 1


def test_a_region_of_harm_costs_its_cases_and_no_more(launch: Start) -> None:
    """More deaths one after the other than an unusable library is given, but it had answered."""
    layers = 2 * MOST_DEATHS_UNANSWERED
    grid = descriptors(hidden_size="5,668,6", num_layers=f"1..{layers}", proj_size="4")
    answers, ledger = walk(launch(), grid)
    assert sorted(answers.deaths) == list(range(layers, 2 * layers))
    assert differences(grid, answers, ledger) == []


def test_an_earlier_run_that_was_answered_counts(launch: Start) -> None:
    grid = descriptors(hidden_size="668", num_layers=f"1..{MOST_DEATHS_UNANSWERED + 2}")
    answers = Answers(grid.size)
    with Crew(launch(), Ledger(), 1) as crew:
        crew.run(Job(grid, [(0, grid.size)], answered=True), answers)
    assert len(answers.deaths) == grid.size


def test_even_an_answering_library_may_not_end_workers_for_ever(launch: Start) -> None:
    grid = descriptors(hidden_size="5,668", num_layers="1..20", proj_size="4")
    with (
        pytest.raises(Collapse, match=r"5 workers ended .*SIGABRT.* the rest is not tried"),
        Crew(launch(), Ledger(), 1, most_deaths=5) as crew,
    ):
        crew.run(whole(grid), Answers(grid.size))


def test_answers_between_deaths(launch: Start) -> None:
    grid = descriptors(hidden_size="5,668", num_layers="1..12", proj_size="4")
    good, bad = range(12), range(12, 24)
    rows = [r for pair in zip(bad, good, strict=True) for r in pair]
    answers, ledger = walk(launch(), grid, rows=rows)
    assert len(answers.deaths) == 12
    assert differences(grid, answers, ledger, rows=rows) == []


def test_pending_runs_are_walked_and_nothing_else(launch: Start) -> None:
    grid = descriptors(hidden_size="-3..4000")
    answers, ledger = Answers(grid.size), Ledger()
    pending = [(0, 2), (100, 50), (3999, 5)]
    with Crew(launch(TAME=1), ledger, 2) as crew:
        crew.run(Job(grid, pending), answers)
    walked = {r for begin, count in pending for r in range(begin, begin + count)}
    assert {int(r) for r in np.flatnonzero(answers.codes != 255)} == walked
    for row in walked:
        assert ledger.statuses[answers.codes[row]] == (2000 if row < 4 else 0)


def test_one_crew_does_several_grids(launch: Start) -> None:
    ledger = Ledger()
    grids = [descriptors(hidden_size=h) for h in ("1..5,668,6", "-5..5", "666,7")]
    with Crew(launch(), ledger, 2) as crew:
        for grid in grids:
            answers = Answers(grid.size)
            crew.run(some(grid, np.arange(grid.size)), answers)
            assert differences(grid, answers, ledger) == []


def test_a_version_that_cannot_be_asked_is_none_and_the_crew_goes_on(launch: Start) -> None:
    grid = descriptors(hidden_size="-1..5")
    answers, ledger = Answers(grid.size), Ledger()
    with Crew(launch(ABORT_IN="cudnnGetVersion"), ledger, 1) as crew:
        assert crew.version() is None
        crew.run(some(grid, np.arange(grid.size)), answers)
    assert differences(grid, answers, ledger) == []
