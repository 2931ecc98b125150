"""Verdicts on planted libraries: what each must be, and which problem shows it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from pyharness.analyze.conditions import AxisValues, Condition
from pyharness.analyze.verdicts import (
    Answers,
    Judged,
    compare_allowed,
    judge_acceptance,
    judge_refusal,
    shown_by,
    tell_apart,
)

# Two axes that the rule speaks of, one that another rule does, and one that matters to nobody.
TYPES = ("float", "half", "double")
ALGOS = ("standard", "static", "dynamic")
SIZES = (0, 1, 64)
LAYERS = (1, 2)
AXES = [
    AxisValues("type", TYPES),
    AxisValues("algo", ALGOS),
    AxisValues("size", tuple(map(str, SIZES)), tuple(map(float, SIZES))),
    AxisValues("layers", tuple(map(str, LAYERS)), tuple(map(float, LAYERS))),
]
SHAPE = tuple(len(a.labels) for a in AXES)
DEFAULTS = ("float", "standard", "64", "1")
FIELDS = (0, 1)
Row = tuple[str, str, int, int]
Library = Callable[[Row], str]


def grid(test: Callable[[Row], bool]) -> NDArray[np.bool_]:
    return np.array(
        [[[[test((t, a, s, n)) for n in LAYERS] for s in SIZES] for a in ALGOS] for t in TYPES]
    )


CHANGES = sum(
    np.array([label != default for label in axis.labels], np.int64).reshape(
        [-1 if i == at else 1 for i in range(4)]
    )
    for at, (axis, default) in enumerate(zip(AXES, DEFAULTS, strict=True))
) * np.ones(SHAPE, np.int64)
RULE = grid(lambda row: row[0] == "double" and row[1] != "standard")


def answers(library: Library) -> Answers:
    return Answers(
        grid(lambda row: library(row) == "SUCCESS"),
        grid(lambda row: library(row) not in ("SUCCESS", "died")),
    )


def refusal(library: Library, status: str | None = None, *, later: bool = False) -> Judged:
    named = grid(lambda row: status is None or library(row) == status)
    return judge_refusal(RULE, answers(library), named, FIELDS, CHANGES, AXES, later=later)


def acceptance(library: Library, *, later: bool = False) -> Judged:
    return judge_acceptance(RULE, answers(library), FIELDS, CHANGES, AXES, later=later)


def problem(row: int | None) -> tuple[str, ...]:
    assert row is not None
    places = np.unravel_index(row, SHAPE)
    return tuple(axis.labels[p] for axis, p in zip(AXES, places, strict=True))


def words(judged: Judged) -> list[list[Condition]]:
    assert judged.where is not None
    return judged.where.conditions


def as_documented(row: Row) -> str:
    if row[2] == 0:
        return "BAD_PARAM"  # another rule, which comes first
    return "NOT_SUPPORTED" if row[0] == "double" and row[1] != "standard" else "SUCCESS"


def all_accepted(row: Row) -> str:
    return "BAD_PARAM" if row[2] == 0 else "SUCCESS"


def dynamic_accepted(row: Row) -> str:
    return "SUCCESS" if row[1] == "dynamic" and row[2] else as_documented(row)


def test_a_rule_that_holds() -> None:
    judged = refusal(as_documented, "NOT_SUPPORTED")
    # 2 algos, 2 sizes above 0, 2 numbers of layers; the rest of the rule's 12 is masked.
    assert (judged.verdict, judged.kept.sum(), judged.broken.sum()) == ("holds", 8, 0)
    assert judged.not_counted == 4
    assert judged.where is None
    assert problem(judged.witness) == ("double", "static", "64", "1")


def test_a_masked_region_is_no_contradiction() -> None:
    # Every problem of size 0 has BAD_PARAM, not the status that the document names.
    assert refusal(as_documented, "NOT_SUPPORTED").verdict == "holds"
    assert refusal(as_documented, "NOT_SUPPORTED").broken.sum() == 0


def test_everything_masked_cannot_be_told() -> None:
    judged = refusal(lambda row: "BAD_PARAM")
    assert (judged.verdict, judged.not_counted, judged.witness) == ("cannot_be_told", 12, None)
    assert acceptance(lambda row: "BAD_PARAM").verdict == "cannot_be_told"


def test_a_refusal_that_is_not_there_contradicts_with_the_smallest_witness() -> None:
    judged = refusal(all_accepted, "NOT_SUPPORTED")
    assert (judged.verdict, judged.kept.sum(), judged.broken.sum()) == ("contradicted", 0, 8)
    assert problem(judged.witness) == ("double", "static", "64", "1")


def test_a_refusal_that_a_later_call_may_make_needs_a_gpu() -> None:
    assert refusal(all_accepted, "NOT_SUPPORTED", later=True).verdict == "needs_a_gpu"
    assert refusal(all_accepted, later=True).verdict == "needs_a_gpu"
    # but one that the host makes with another status contradicts, whoever comes later
    other = refusal(as_documented, "BAD_PARAM", later=True)
    assert (other.verdict, other.broken.sum()) == ("contradicted", 8)


def test_a_requirement_without_a_status_takes_any() -> None:
    assert refusal(as_documented).verdict == "holds"
    assert refusal(all_accepted).verdict == "contradicted"


def test_a_rule_that_holds_in_part_says_where_it_does_not() -> None:
    judged = refusal(dynamic_accepted, "NOT_SUPPORTED", later=True)
    assert (judged.verdict, judged.kept.sum(), judged.broken.sum()) == ("partly", 4, 4)
    assert words(judged) == [[{"axis": "algo", "op": "=", "values": ["dynamic"]}]]
    assert problem(judged.witness) == ("double", "dynamic", "64", "1")


def test_a_refusal_by_another_status_in_part() -> None:
    def library(row: Row) -> str:
        said = as_documented(row)
        return "BAD_PARAM" if said != "SUCCESS" and row[3] == 2 else said

    judged = refusal(library, "NOT_SUPPORTED")
    assert judged.verdict == "partly"
    assert words(judged) == [[{"axis": "layers", "op": "=", "values": ["2"]}]]


def test_a_rule_to_which_only_one_axis_leads_is_still_judged() -> None:
    # Double is refused with standard too, so that no change of the algo alone is accepted.
    def library(row: Row) -> str:
        return "NOT_SUPPORTED" if row[0] == "double" else "SUCCESS"

    judged = refusal(library, "NOT_SUPPORTED")
    assert (judged.verdict, judged.kept.sum()) == ("holds", 12)


@pytest.mark.parametrize("fields", [FIELDS, (0, 1, 3)])
def test_where_every_axis_leads_out_only_such_problems_count(fields: tuple[int, ...]) -> None:
    # Another rule refuses double of size 1, whatever the algo. Its type leads such a problem out
    # of both, its algo does not: so it says nothing, and its status breaks nothing. An axis that
    # cannot lead out of the rule, as the layers, asks for nothing.
    def library(row: Row) -> str:
        return "BAD_PARAM" if row[0] == "double" and row[2] == 1 else as_documented(row)

    named = grid(lambda row: library(row) == "NOT_SUPPORTED")
    judged = judge_refusal(RULE, answers(library), named, fields, CHANGES, AXES, later=False)
    assert (judged.verdict, judged.kept.sum(), judged.not_counted) == ("holds", 4, 8)


def test_a_problem_that_only_leads_to_others_of_the_rule_does_not_count() -> None:
    # Static is refused for every type, double with standard too: another rule may be to blame.
    def library(row: Row) -> str:
        double = row[0] == "double" and row[1] != "dynamic"
        return "NOT_SUPPORTED" if double or row[1] == "static" else "SUCCESS"

    judged = refusal(library)
    assert (judged.verdict, judged.kept.sum(), judged.not_counted) == ("contradicted", 0, 6)


def test_types_that_must_be_equal_can_only_change_together() -> None:
    # Data and math must be one type, which takes the place of the sizes here; static is not for
    # double. Of 2 layers static takes no type at all, which another rule says: so double static of
    # 2 layers is not this rule's to refuse, though a change of the algo would have it accepted.
    axes = [
        AxisValues("data", TYPES),
        AxisValues("algo", ALGOS),
        AxisValues("math", TYPES),
        AXES[3],
    ]
    shape = (3, 3, 3, 2)
    data, algo, maths, layers = np.indices(shape)
    of_rule = (data == 2) & (maths == 2) & (algo == 1)
    refused = (data != maths) | of_rule | ((algo == 1) & (layers == 1))
    said = Answers(~refused, refused)
    everywhere, changes = np.ones(shape, bool), np.zeros(shape, np.int64)
    judged = judge_refusal(of_rule, said, everywhere, (0, 1, 2), changes, axes, later=False)
    assert (judged.verdict, judged.not_counted) == ("holds", 1)
    assert np.argwhere(judged.kept).tolist() == [[2, 1, 2, 0]]


def test_an_acceptance() -> None:
    assert acceptance(all_accepted).verdict == "holds"
    assert acceptance(all_accepted, later=True).verdict == "needs_a_gpu"
    judged = acceptance(as_documented)
    assert (judged.verdict, judged.kept.sum(), judged.broken.sum()) == ("contradicted", 0, 8)
    assert acceptance(as_documented, later=True).verdict == "contradicted"
    partly = acceptance(dynamic_accepted, later=True)
    assert partly.verdict == "partly"
    assert words(partly) == [[{"axis": "algo", "op": "=", "values": ["static"]}]]
    assert problem(partly.witness) == ("double", "static", "64", "1")


def test_rows_whose_worker_ended_do_not_count() -> None:
    def library(row: Row) -> str:
        return "died" if row[0] == "double" and row[3] == 2 else as_documented(row)

    judged = refusal(library, "NOT_SUPPORTED")
    assert (judged.verdict, judged.kept.sum()) == ("holds", 4)
    assert refusal(lambda row: "died").verdict == "cannot_be_told"


def test_a_sign_is_what_is_accepted_with_it_and_never_without() -> None:
    sign = grid(lambda row: row[0] == "double" and row[2] > 0)
    said = answers(dynamic_accepted)
    dynamic = grid(lambda row: row[1] == "dynamic")
    assert not shown_by(sign, dynamic, said)  # standard is accepted too
    assert shown_by(sign & (RULE | dynamic), dynamic, said)
    assert not shown_by(sign & dynamic, dynamic, said)  # nothing without it to compare with
    assert not shown_by(sign & RULE, grid(lambda row: row[1] == "static"), said)


def fulfils(condition: Condition, labels: dict[str, str]) -> bool:
    """One condition read as a person would."""
    label, named = labels[condition["axis"]], condition["values"]
    match condition["op"]:
        case "=" | "in":
            return label in named
        case "!=" | "not in":
            return label not in named
        case "<=":
            return float(label) <= float(named[0])
        case ">=":
            return float(label) >= float(named[0])
        case _:
            return float(named[0]) <= float(label) <= float(named[1])


@settings(max_examples=40)
@given(hnp.arrays(np.int8, SHAPE, elements=st.integers(0, 2)))
def test_what_tells_rows_apart_is_true_of_these_and_not_of_the_others(
    kinds: NDArray[np.int8],
) -> None:
    rows, others = kinds == 1, kinds == 2
    if not rows.any():
        return
    found = tell_apart(rows, others, AXES)
    assert found.rows == rows.sum()
    for place in np.argwhere(rows | others):
        labels = {a.name: a.labels[p] for a, p in zip(AXES, place, strict=True)}
        said = any(all(fulfils(c, labels) for c in each) for each in found.conditions)
        assert said == rows[tuple(place)]


def test_no_axis_is_named_that_is_not_needed() -> None:
    rows = grid(lambda row: row[1] == "static" and row[3] == 1)
    others = grid(lambda row: row[1] == "dynamic")
    assert tell_apart(rows, others, AXES).conditions == [
        [{"axis": "algo", "op": "=", "values": ["static"]}]
    ]
    assert tell_apart(rows, np.zeros(SHAPE, bool), AXES).conditions == [[]]  # every problem


@pytest.mark.parametrize(
    ("allows", "verdict"),
    [
        (lambda row: as_documented(row) == "SUCCESS", "agrees"),
        (lambda row: as_documented(row) == "SUCCESS" and row[0] == "half", "narrower"),
        (lambda row: row[2] > 0, "wider"),
    ],
)
def test_a_framework(allows: Callable[[Row], bool], verdict: str) -> None:
    allowed = grid(allows)
    found = compare_allowed(allowed, answers(as_documented), CHANGES, AXES)
    assert (found.verdict, found.allowed) == (verdict, allowed.sum())
    assert (found.wider is None) == (found.witness is None) == (verdict != "wider")
    assert (found.narrower is None) == (verdict != "narrower")
    if verdict == "wider":
        assert problem(found.witness) == ("double", "static", "64", "1")
        assert found.wider is not None
        assert found.wider.rows == 8
        assert found.wider.conditions == [
            [
                {"axis": "type", "op": "=", "values": ["double"]},
                {"axis": "algo", "op": "!=", "values": ["standard"]},
            ]
        ]
    if verdict == "narrower":
        assert found.narrower is not None
        assert found.narrower.rows == 2 * 7 * 2 - allowed.sum()  # 7 pairs of type and algo
