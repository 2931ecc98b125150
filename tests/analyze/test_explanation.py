"""Releases that answer alike, as ranges."""

from __future__ import annotations

from pyharness.analyze.explanation import Answer, answer_of, spans
from pyharness.spec.problem import CallResult


def answer(version: str, outcome: str, status: str | None = None, cuda: int = 12) -> Answer:
    numbers = tuple(int(n) for n in version.split("."))
    call = None if outcome == "accepted" else "cudnnSetRNNDescriptor_v8"
    return Answer(f"{version}+cu{cuda}", numbers, outcome, call, status)


def test_ranges_go_by_version_and_not_by_text() -> None:
    found = spans(
        [
            answer("9.13.0.50", "accepted"),
            answer("9.2.0.82", "refused", "NOT_SUPPORTED"),
            answer("9.12.0.46", "refused", "NOT_SUPPORTED"),
            answer("9.28.0.42", "accepted"),
            answer("8.5.0.96", "refused", "NOT_SUPPORTED", 11),
        ]
    )
    assert [(s.outcome, s.first, s.last, len(s.releases)) for s in found] == [
        ("refused", "8.5.0", "9.12.0", 3),
        ("accepted", "9.13.0", "9.28.0", 2),
    ]


def test_another_status_or_a_way_back_is_another_range() -> None:
    found = spans(
        [
            answer("9.0.0.1", "accepted"),
            answer("9.1.0.1", "refused", "NOT_SUPPORTED"),
            answer("9.2.0.1", "refused", "BAD_PARAM"),
            answer("9.3.0.1", "accepted"),
        ]
    )
    assert [s.status for s in found] == [None, "NOT_SUPPORTED", "BAD_PARAM", None]


def test_builds_of_one_version_are_one_where_they_agree() -> None:
    (one,) = spans([answer("9.28.0.42", "accepted"), answer("9.28.0.42", "accepted", cuda=13)])
    assert (one.first, one.last) == ("9.28.0", "9.28.0")
    assert one.releases == ("9.28.0.42+cu12", "9.28.0.42+cu13")


def result(outcome: str, status: str | None) -> CallResult:
    return CallResult("x", "cudnnSetRNNDataDescriptor", "data", status, 0, outcome, "why")


def test_the_first_call_that_does_not_pass_speaks_for_a_release() -> None:
    passed, refused = result("passed", "SUCCESS"), result("unsupported", "BAD_PARAM")
    assert answer_of("r", (9,), [passed, passed]) == Answer("r", (9,), "accepted")
    said = answer_of("r", (9,), [passed, refused, result("unsupported", "NOT_SUPPORTED")])
    assert (said.outcome, said.status, said.reason) == ("refused", "BAD_PARAM", "why")
    assert answer_of("r", (9,), [passed, result("failed", None)]).outcome == "failed"
