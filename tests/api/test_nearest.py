"""The search for accepted problems against brute force over every combination of a small space."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, product

import numpy as np
import pytest

from pyharness.analyze.moves import Move, Rank, rank, single
from pyharness.api.launching import launch_of
from pyharness.api.nearest import Search
from pyharness.engine.answers import ask
from pyharness.engine.crew import Crew
from pyharness.engine.neighbours import Neighbourhood
from pyharness.releases import Release
from pyharness.space.grid import Grid
from pyharness.spec.axes import parse_values
from pyharness.spec.calls import SET_RNN_DESCRIPTOR, all_axes
from pyharness.spec.ledger import Ledger
from pyharness.spec.problem import Problem

# What the descriptor alone decides: the other calls take all of these data types on this release.
SPACE = {
    "algo": "all",
    "cell_mode": "all",
    "bias_mode": "0..4",
    "input_mode": "0..2",
    "data_type": "float,double,half,bfloat16",
    "math_prec": "float,double,half,bfloat16,int8",
    "math_type": "0..4",
    "proj_size": "same,half,over",
    "aux_flags": "0..2",
}
RELEASE = "9.28.0.42"


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture(scope="module")
def crew(cudnn: Callable[[str], Release], ledger: Ledger) -> Iterator[Crew]:
    with Crew(launch_of(cudnn(RELEASE)), ledger, 1) as crew:
        yield crew


def search(crew: Crew, ledger: Ledger, given: Mapping[str, str]) -> Search:
    problem = Problem(dict(given))
    return Search(Neighbourhood(crew, ledger, problem, problem.calls(crew.first().opened.calls)))


def values_of(name: str) -> list[int]:
    return parse_values(all_axes()[name], SPACE[name])


@pytest.fixture(scope="module")
def accepted(crew: Crew, ledger: Ledger) -> dict[tuple[int, ...], bool]:
    """Every problem of the space, in the order of its axes, by a walk of the whole grid."""
    defaults = SET_RNN_DESCRIPTOR.defaults
    values = [parse_values(a, SPACE.get(a.name, defaults[a.name])) for a in SET_RNN_DESCRIPTOR.axes]
    grid = Grid(SET_RNN_DESCRIPTOR, tuple(map(tuple, values)))
    codes = ask(crew, grid, np.arange(grid.size)).codes
    success = ledger.statuses.index(0)
    assert ledger.names[0] == "SUCCESS"
    names = [a.name for a in SET_RNN_DESCRIPTOR.axes]
    chosen = list(SPACE)
    order = [names.index(n) for n in chosen]
    return {
        tuple(values[i][0] if len(values[i]) == 1 else row[i] for i in order): bool(ok)
        for row, ok in zip(product(*values), (codes == success).tolist(), strict=True)
    }


def brute_force(base: Mapping[str, int], accepted: Mapping[tuple[int, ...], bool]) -> Rank | None:
    """The nearest accepted problem by up to two changes, by three if there is none."""
    axes, best = all_axes(), None
    names = list(SPACE)
    for count in (1, 2, 3):
        if count == 3 and best is not None:
            break
        for changing in combinations(names, count):
            others = [[v for v in values_of(n) if v != base[n]] for n in changing]
            for values in product(*others):
                new = {**base, **dict(zip(changing, values, strict=True))}
                if not accepted[tuple(new[n] for n in names)]:
                    continue
                found = rank(
                    [single(axes[n], new[n], {**base, "hidden_size": 64}) for n in changing]
                )
                best = found if best is None or found < best else best
    return best


def test_no_accepted_problem_is_nearer_than_the_first(
    crew: Crew, ledger: Ledger, accepted: Mapping[tuple[int, ...], bool]
) -> None:
    axes, rng, names = all_axes(), np.random.default_rng(11), list(SPACE)
    depths = []
    while len(depths) < 20:
        base = {n: int(rng.choice(values_of(n))) for n in names}
        if accepted[tuple(base[n] for n in names)]:
            continue
        given = {n: axes[n].label(v) for n, v in base.items()}
        first = next(iter(search(crew, ledger, given).nearest()), None)
        best = brute_force(base, accepted)
        assert (first is None) == (best is None), given
        if first is None or best is None:
            depths.append(4)
            continue
        assert rank(first).levels == best.levels, given
        assert rank(first).distance == best.distance, given
        depths.append(len(first))
    assert {1, 2, 3} <= set(depths)  # all of them were met


@pytest.mark.parametrize(
    "words",
    [
        "proj_size=300 hidden_size=100",
        "proj_size=300 hidden_size=100 cell_mode=gru",
        "hidden_size=-7 input_size=-1",
        "max_seq_length=70001 seq_lengths=[70001,3,0]",
        "seq_lengths=[2,5,0,-1] max_seq_length=4 layout=seq_major_packed",
        "batch_size=0 max_seq_length=0",
        "data_type=int8 math_prec=int8 algo=9",
        "direction_mode=bidirectional hidden_size=2147483647",
        "cell_mode=rnn_relu num_layers=16777216",
        "seq_lengths=[3,0,5] layout=seq_major_packed",
        "seq_lengths=[70000,-1]",
        "seq_lengths=[70000,1,0,66000] layout=seq_major_packed",
        "seq_lengths=[100,90] max_seq_length=70000 direction_mode=bidirectional",
        "hidden_size=-5 aux_flags=7 max_seq_length=0 batch_size=0",
    ],
)
def test_what_is_suggested_is_accepted_and_no_part_of_it(
    crew: Crew, ledger: Ledger, words: str
) -> None:
    given = dict(w.split("=", 1) for w in words.split())
    around = search(crew, ledger, given)
    found, base = around.nearest(), around.base
    assert found
    axes = all_axes()
    for moves in found:
        for leave in [None, *range(len(moves))] if len(moves) > 1 else [None]:
            kept = [m for i, m in enumerate(moves) if i != leave]
            texts = {n: axes[n].label(v) for m in kept for n, v in m.changes.items()}
            # What followed from the old lengths stays, unless it is changed.
            sizes = {n: str(base[n]) for n in ("batch_size", "max_seq_length")}
            problem = Problem({**given, **sizes, **texts})
            made = problem.calls(crew.first().opened.calls)
            near = Neighbourhood(crew, ledger, problem, made)
            same = {"input_size": np.array([near.base["input_size"]], np.int64)}
            assert bool(near.accepted(same)[0]) == (leave is None), (texts, leave)


def test_sizes_go_no_further_than_they_must(crew: Crew, ledger: Ledger) -> None:
    def sizes(words: str) -> list[dict[str, int]]:
        given = dict(w.split("=", 1) for w in words.split())
        found = search(crew, ledger, given).nearest()
        return [{n: v for m in moves for n, v in m.changes.items()} for moves in found]

    assert {"hidden_size": 1} in sizes("hidden_size=-7")
    assert {"proj_size": 100} in sizes("proj_size=300 hidden_size=100")
    assert {"hidden_size": 300} in sizes("proj_size=300 hidden_size=100")


def test_the_step_limit_is_found_where_there_is_one(crew: Crew, ledger: Ledger) -> None:
    assert search(crew, ledger, {"max_seq_length": "70000"}).step_limit == 65_535
    assert search(crew, ledger, {"hidden_size": "-1"}).step_limit is None


def test_moves_that_change_the_same_axis_do_not_meet(crew: Crew, ledger: Ledger) -> None:
    given = {"seq_lengths": "[2,5]", "max_seq_length": "5", "layout": "seq_major_packed"}
    for moves in search(crew, ledger, given).nearest():
        met: set[str] = set()
        for move in moves:
            assert isinstance(move, Move)
            assert not met & move.axes
            met |= move.axes
