"""Since when, in words: one line for each run of releases."""

from __future__ import annotations

from pyharness.analyze.explanation import Answer, Since, spans
from pyharness.present.history import render_since


def told(*answers: tuple[str, str]) -> list[str]:
    made = [
        Answer(version, tuple(map(int, version.split("."))), outcome, basis=basis)
        for version, outcome in answers
        for basis in ("unknown" if outcome == "unknown" else "asked",)
    ]
    return render_since(Since(spans(made), 5, 1, [], [], [], [])).splitlines()[1:]


def test_a_run_of_one_release_is_one_release() -> None:
    assert told(("9.1.0", "unknown"), ("9.2.0", "accepted"), ("9.3.0", "unknown")) == [
        "  not covered: 9.1.0",
        "  accepted by 9.2.0",
        "  not covered: 9.3.0",
    ]


def test_the_last_run_goes_on() -> None:
    assert told(
        ("9.1.0", "unknown"), ("9.1.1", "unknown"), ("9.2.0", "accepted"), ("9.3.0", "accepted")
    ) == ["  not covered: 9.1.0 to 9.1.1", "  accepted from 9.2.0 on (the newest is 9.3.0)"]
