"""Reports that only a run could show: the documented rule that is predicted, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reports.cases import GPU, Ask, Case, check_predictions, check_told, every_ask

CASES = [pytest.param(c, id=c.source) for c in GPU]


@pytest.mark.parametrize(("ask", "release"), every_ask(GPU))
def test_what_is_predicted(ask: Ask, release: str, tmp_path: Path) -> None:
    check_predictions(ask, release, tmp_path)
    notes = ask.read(tmp_path).notes
    assert all(any(wanted in note for note in notes) for wanted in ask.notes)
    assert not any(unwanted in note for note in notes for unwanted in ask.without_notes)


@pytest.mark.parametrize(("ask", "release"), every_ask(GPU, lambda ask: ask.claims))
def test_a_predicted_refusal_is_told(ask: Ask, release: str, tmp_path: Path) -> None:
    check_told(ask, release, tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_a_rule_is_named_where_the_cause_is_documented_and_no_refusal_elsewhere(case: Case) -> None:
    named = {n for a in case.asks for n in (*a.claims, *a.depends, *a.effects, *a.notes)}
    refusing = {n for a in case.asks for n in (*a.claims, *a.depends)}
    match case.cause:
        case "documented":
            assert named
        case "no rule" | "unknown":
            assert not refusing
        case _:
            pytest.fail(f"{case.cause} is no cause")
