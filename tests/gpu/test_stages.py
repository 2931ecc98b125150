"""Every stage of every algo through the harness's own runner, graphs and samples, on a device."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyharness.api.device import open_runner
from pyharness.engine.runner import Runner
from pyharness.releases import Release
from pyharness.spec.problem import Problem
from pyharness.spec.stages import PASSES, STAGES
from tests.gpu.test_numbers import ALGOS, CELLS, TYPES, lacks, words

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def runner(release_here: Release) -> Iterator[Runner]:
    with open_runner(release_here, timeout_s=60) as opened:
        yield opened
        assert not opened.broken


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("algo", ALGOS)
def test_every_stage_passes_or_says_why_not(runner: Runner, algo: str, types: str) -> None:
    for cell in CELLS:
        problem = Problem(words(types, algo=algo, cell_mode=cell))
        case = runner.stages(problem)
        assert [s.stage for s in case.stages] == list(STAGES)
        outcomes = {s.stage: s.outcome for s in case.stages}
        assert set(outcomes.values()) <= {"passed", "unsupported", "skipped"}, problem.command
        for stage in case.stages:
            if stage.outcome == "unsupported":
                assert stage.status not in (None, "SUCCESS")
        if algo == "standard" and not lacks(runner.version() or 0, types):
            passed = {stage for stage, outcome in outcomes.items() if outcome == "passed"}
            assert passed == set(STAGES) - {"build"}


@pytest.mark.parametrize("cell", CELLS)
def test_passes_are_timed_in_every_way(runner: Runner, cell: str) -> None:
    problem = Problem(words("float", cell_mode=cell))
    assert all(s.outcome in ("passed", "skipped") for s in runner.stages(problem).stages)
    for name in PASSES:
        # Recorded first: a pass that cannot be is a status, and times without one are had too.
        captured = runner.capture(name)
        assert captured.outcome == "passed" or captured.reason
        modes = ["hot", "cold", "enqueue", *(["graph"] if captured.outcome == "passed" else [])]
        for mode in modes:
            samples = runner.sample(name, mode, 5)
            assert len(samples) == 5
            assert all(0 < one < 1 for one in samples), (name, mode, samples)


def test_sizes_are_no_smaller_than_what_is_kept(runner: Runner) -> None:
    problem = Problem(words("float", cell_mode="lstm"))
    sizes = runner.sizes(problem).sizes
    assert sizes is not None
    # Two layers, four gates, a matrix of 64 x 64 on x and one on h each, two biases.
    assert sizes["weight_space_bytes"] >= 2 * 4 * (2 * 64 * 64 + 2 * 64) * 4
    assert sizes["reserve_space_bytes"] > 0
