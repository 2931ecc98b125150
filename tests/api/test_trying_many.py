"""Many problems at once: the same answers as one by one, in a fraction of the time."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pyharness.api.trying import try_calls, try_many
from pyharness.engine.answers import Answers, ask
from pyharness.engine.crew import Crew
from pyharness.releases import Release
from pyharness.space.grid import Grid
from pyharness.spec.problem import Problem, parse_problem

CHOICES = {
    "algo": ["standard", "persist_static", "7", "-1"],
    "cell_mode": ["lstm", "gru", "4"],
    "data_type": ["float", "half", "double", "bfloat16", "int8"],
    "math_prec": ["float", "double"],
    "direction_mode": ["unidirectional", "bidirectional", "2"],
    "proj_size": ["same", "half", "over", "0", "5"],
    "layout": ["seq_major_packed", "seq_major_unpacked", "3"],
    "clip_mode": ["minmax", "none"],
    "lclip": ["nan", "-1.0", "2.0"],
    "tensor": ["h", "c"],
    "strides": ["packed", "zero"],
    "hidden_size": ["0", "1", "64", "2147483647"],
    "vector_size": ["0", "3"],
    "max_seq_length": ["1", "5", "70000"],
    "seq_lengths": ["equal", "descending", "[5,3,2]", "[3,5]", "[1]", "over_max"],
    "num_layers": ["1", "-2"],
}


def random_problem(rng: random.Random) -> Problem:
    names = rng.sample(sorted(CHOICES), rng.randint(0, 7))
    return parse_problem([f"{name}={rng.choice(CHOICES[name])}" for name in names])


@pytest.mark.parametrize("release", ["8.9.7.29", "9.28.0.42"])
def test_the_same_as_one_by_one(cudnn: Callable[[str], Release], release: str) -> None:
    rng = random.Random(release)
    problems = [random_problem(rng) for _ in range(16)]
    problems += problems[:3]
    library = cudnn(release)
    found = try_many(library, problems)
    assert found == [try_calls(library, problem) for problem in problems]
    assert {"passed", "unsupported"} <= {r.outcome for results in found for r in results}


def test_defects_are_told_of_the_problem_that_has_them(fake: Path) -> None:
    library = Release("9.13.0.50", 12, fake, "path")
    sizes = ["64", "666", "0", "668", "672", "666", "65"]
    problems = [
        parse_problem([f"hidden_size={size}", f"num_layers={i + 1}"])
        for i, size in enumerate(sizes)
    ]
    found = try_many(library, problems)
    assert found == [try_calls(library, problem) for problem in problems]
    assert [results[0].outcome for results in found] == [
        *("passed", "failed", "unsupported", "failed", "failed", "failed", "passed"),
    ]


def test_what_cannot_be_handed_over_is_skipped(cudnn: Callable[[str], Release]) -> None:
    problems = [Problem({"batch_size": "2000000"}), Problem({"hidden_size": "32"})]
    large, good = try_many(cudnn("9.28.0.42"), problems)
    skipped = {r.role: str(r.reason) for r in large if r.outcome == "skipped"}
    assert set(skipped) == {"x", "y"}
    assert skipped["x"].startswith("batch_size: 2000000 cannot be tried")
    assert {r.outcome for r in good} == {"passed"}
    assert try_many(cudnn("9.28.0.42"), []) == []


def test_values_whose_combinations_have_no_number(cudnn: Callable[[str], Release]) -> None:
    rng = random.Random(2)
    names = ("input_size", "hidden_size", "proj_size", "num_layers", "algo", "bias_mode")
    problems = [
        Problem({name: str(rng.randrange(1, 1 << 30)) for name in names}) for _ in range(3000)
    ]
    found = try_many(cudnn("9.28.0.42"), problems)
    assert len(found) == 3000
    for i in rng.sample(range(3000), 5):
        assert found[i] == try_calls(cudnn("9.28.0.42"), problems[i])


def test_thousands_are_asked_together(
    cudnn: Callable[[str], Release], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(4)
    problems = [
        Problem(
            {
                "hidden_size": str(rng.randint(0, 2000)),
                "seq_lengths": str([rng.randint(0, 99) for _ in range(16)]).replace(" ", ""),
                "max_seq_length": "99",
            }
        )
        for _ in range(2000)
    ]
    asked: list[int] = []

    def counted(crew: Crew, grid: Grid, rows: NDArray[np.int64]) -> Answers:
        asked.append(len(rows))
        return ask(crew, grid, rows)

    monkeypatch.setattr("pyharness.api.trying.ask", counted)
    library = cudnn("9.28.0.42")
    found = try_many(library, problems)
    assert len(asked) == len({result.call for result in found[0] if result.status is not None})
    assert sum(asked) > 2 * len(problems)  # nearly all differ
    one_by_one = [try_calls(library, problem) for problem in problems[:3]]
    assert found[:3] == one_by_one
