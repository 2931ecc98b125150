"""Reports that the host calls answer: who refuses what, which argument, which row, what instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pyharness.analyze.explanation import Explanation
from pyharness.api.explaining import explain
from pyharness.api.history import history
from pyharness.releases import Release
from pyharness.spec.length_advice import CUT, DROP_EMPTY, FEED_ONE, SHORTEN, SORT
from tests.reports.cases import HOST, Ask, Case, check_predictions, check_told, every_ask

Cudnn = Callable[[str], Release]

SINCE = ("8.5.0.96", "8.9.7.29", "9.12.0.46", "9.28.0.42")
# The code of each way around, the nearest first; "" where a setting does it.
RECIPES = {
    "nothing": [""],
    "empty": [DROP_EMPTY, FEED_ONE],
    "unsorted": [SORT, ""],
    "under_max": [SHORTEN, ""],
    "too_many_steps": [f"longest = 65535\n{CUT}"],
}


@pytest.fixture(scope="module")
def explained(
    cudnn: Cudnn, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Ask, str], Explanation]:
    """The explanation of an ask on a release; asked for twice it is made once."""
    made: dict[str, Explanation] = {}

    def explained(ask: Ask, release: str) -> Explanation:
        problem = ask.read(tmp_path_factory.mktemp("mask")).problem
        key = f"{release} {problem.command}"
        if key not in made:
            made[key] = explain(cudnn(release), problem)
        return made[key]

    return explained


@pytest.mark.parametrize(("ask", "release"), every_ask(HOST))
def test_who_refuses_it_and_which_argument_is_to_blame(
    ask: Ask, release: str, explained: Callable[[Ask, str], Explanation]
) -> None:
    found = explained(ask, release)
    assert {r.role: r.status for r in found.results if r.outcome != "passed"} == ask.refused
    assert {r.result.role for r in found.refusals} == set(ask.refused)
    blames = [b for r in found.refusals for b in r.blames]
    assert {(b.argument, b.value, b.allowed) for b in blames} == {tuple(b) for b in ask.blames}
    assert all(b.alone for b in blames)  # in each of these reports one change is enough
    if ask.reason:
        assert {r.result.reason for r in found.refusals} == {ask.reason}


@pytest.mark.parametrize(("ask", "release"), every_ask(HOST))
def test_which_rows_and_what_to_do_instead(
    ask: Ask, release: str, explained: Callable[[Ask, str], Explanation]
) -> None:
    found = explained(ask, release)
    assert {a.kind: list(a.rows) for a in found.advice} == ask.rows
    for advice in found.advice:
        assert [r.code for r in advice.recipes] == RECIPES[advice.kind]
        assert ask.says in advice.words
    assert bool(found.suggestions) == bool(ask.refused)
    if ask.first:
        changed: dict[str, str] = {}
        for change in found.suggestions[0].changes:
            changed |= change.changes
        assert changed == dict(word.split("=", 1) for word in ask.first.split())


@pytest.mark.parametrize("case", [pytest.param(c, id=c.source) for c in HOST if c.since])
def test_since_when(case: Case, cudnn: Cudnn, tmp_path: Path) -> None:
    problem = case.asks[0].read(tmp_path).problem
    found = history(problem, [cudnn(version) for version in SINCE])
    said = [f"{s.status or s.outcome} {s.first} {s.last}" for s in found.spans]
    assert (said, found.notes) == (list(case.since), [])


MASKS = [pytest.param(a, id=c.source) for c in HOST for a in c.asks if a.mask]


@pytest.mark.parametrize("ask", MASKS)
def test_which_row_of_a_mask_and_which_step(ask: Ask, tmp_path: Path) -> None:
    mask = ask.read(tmp_path).mask
    assert mask is not None
    assert [f"{f.kind} {f.row} {f.step}" for f in mask.faults] == ask.faults
    lengths = None if ask.unmaskable else tuple(row.count("1") for row in ask.mask)
    assert mask.lengths == lengths
    assert any("no release takes this mask" in n for n in mask.notes) == ask.unmaskable


@pytest.mark.parametrize(("ask", "release"), every_ask(HOST))
def test_what_is_predicted_of_the_run(ask: Ask, release: str, tmp_path: Path) -> None:
    check_predictions(ask, release, tmp_path)
    assert all(any(n in note for note in ask.read(tmp_path).notes) for n in ask.notes)


@pytest.mark.parametrize(("ask", "release"), every_ask(HOST, lambda ask: ask.claims))
def test_a_predicted_refusal_is_told(ask: Ask, release: str, tmp_path: Path) -> None:
    check_told(ask, release, tmp_path)
