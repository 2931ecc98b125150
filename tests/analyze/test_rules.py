"""Ordered lists of rules: exact by a second reader, as short as brute force, however laid out."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from pyharness.analyze import rules_order
from pyharness.analyze.conditions import AxisValues
from pyharness.analyze.rules import OTHERWISE, Rule, RuleList, find_rules
from pyharness.analyze.rules_diff import compare_rules
from pyharness.analyze.rules_fold import fold_asking, fold_rows
from pyharness.analyze.rules_proof import put_through
from pyharness.analyze.rules_reasons import with_asked_reasons, with_row_reasons
from tests.analyze.test_comparison import holds, labels_at

NAMES = {0: "SUCCESS", 1: "BAD_PARAM", 2: "NOT_SUPPORTED", 254: None}
SHAPES = [(3,), (2, 3), (3, 3), (2, 2, 2), (4, 2), (3, 2, 2)]


def axes_of(shape: Sequence[int]) -> list[AxisValues]:
    """Names and sizes in turn; the numbers of a size are not in order."""
    axes = []
    for place, count in enumerate(shape):
        if place % 2:
            numbers = [5, -1, 64, 0][:count]
            words = tuple(str(n) for n in numbers)
            axes.append(AxisValues(f"size{place}", words, tuple(map(float, numbers)), limits=True))
        else:
            axes.append(AxisValues(f"kind{place}", tuple("dbca"[:count])))
    return axes


def maps(most: int = 3) -> st.SearchStrategy[NDArray[np.uint8]]:
    codes = st.sampled_from([0, 1, 2, 254][:most])
    return st.sampled_from(SHAPES).flatmap(lambda s: hnp.arrays(np.uint8, s, elements=codes))


def rules_of(codes: NDArray[np.uint8], axes: Sequence[AxisValues] | None = None) -> RuleList:
    names = {int(code): NAMES[int(code)] for code in np.unique(codes)}
    return find_rules(axes or axes_of(codes.shape), codes, names, fold_asking(codes, names, None))


def true_of(words: str, at: dict[str, str]) -> bool:
    """Whether a rule's words, as they are printed, match a point."""
    if words == OTHERWISE:
        return True
    for part in words.split(" and "):
        above = re.fullmatch(r"(\w+)>(-?\d+)", part)
        if not (int(at[above[1]]) > int(above[2]) if above else holds(part, at)):
            return False
    return True


def read(rules: Sequence[Rule], axes: Sequence[AxisValues], shape: Sequence[int]) -> list[int]:
    """The place of the rule that a reader stops at, for every point in C order."""
    points = [labels_at(axes, point) for point in itertools.product(*map(range, shape))]
    return [next(i for i, rule in enumerate(rules) if true_of(rule.words, at)) for at in points]


@settings(max_examples=150)
@given(maps(most=4))
def test_the_first_rule_that_matches_gives_every_problem_its_status(
    codes: NDArray[np.uint8],
) -> None:
    found = rules_of(codes)
    stops = read(found.rules, axes_of(codes.shape), codes.shape)
    assert [found.rules[s].status for s in stops] == [NAMES[c] for c in codes.reshape(-1).tolist()]
    assert found.proven
    assert [rule.rows for rule in found.rules] == np.bincount(
        stops, minlength=len(found.rules)
    ).tolist()
    assert [rule.words for rule in found.rules].count(OTHERWISE) == 1
    assert found.rules[-1].words == OTHERWISE
    if 0 in codes:
        assert found.rules[-1].status == "SUCCESS"


def boxes(shape: Sequence[int]) -> list[int]:
    """Every box of a grid as a set of cells, in the bits of a number."""
    sides = [
        [c for n in range(1, k + 1) for c in itertools.combinations(range(k), n)] for k in shape
    ]
    flat = np.arange(int(np.prod(shape))).reshape(shape)
    return [
        sum(1 << int(c) for c in flat[np.ix_(*box)].reshape(-1))
        for box in itertools.product(*sides)
    ]


def shortest(codes: NDArray[np.uint8], last: int) -> int:
    """The fewest conjunctions of any ordered list, by trying them all."""
    every = boxes(codes.shape)
    of = {
        int(code): sum(1 << i for i in np.flatnonzero(codes.reshape(-1) == code).tolist())
        for code in np.unique(codes)
    }
    refused = sum(bits for code, bits in of.items() if code != last)
    pure = {code: bits for code, bits in of.items() if code != last}

    reached, steps = {0}, 0
    while refused not in reached:
        steps += 1
        reached = {
            decided | box
            for decided in reached
            for box in every
            for bits in pure.values()
            if box & ~decided and not box & ~decided & ~bits
        }
    return steps


@settings(max_examples=60)
@given(
    st.sampled_from([(4,), (2, 3), (2, 2, 2)]).flatmap(
        lambda s: hnp.arrays(np.uint8, s, elements=st.integers(0, 2))
    )
)
def test_no_list_is_shorter_where_that_is_said(codes: NDArray[np.uint8]) -> None:
    found = rules_of(codes)
    status = found.rules[-1].status
    last = next(code for code, name in NAMES.items() if name == status)
    fewest = shortest(codes, last)
    assert len(found.rules) - 1 >= fewest
    if found.fewest:
        assert len(found.rules) - 1 == fewest


@settings(max_examples=60)
@given(
    st.sampled_from([(4,), (2, 3), (2, 2, 2)]).flatmap(
        lambda s: hnp.arrays(np.uint8, s, elements=st.integers(0, 3))
    )
)
def test_a_list_that_tells_reasons_apart_claims_no_more_than_that(
    answers: NDArray[np.uint8],
) -> None:
    # 1 and 2 are one status with two reasons, 0 is SUCCESS.
    answers[(0,) * answers.ndim] = 0
    codes = np.array([0, 1, 1, 2], np.uint8)[answers]
    names = {int(code): NAMES[int(code)] for code in np.unique(codes)}
    folded = fold_rows(codes, names, answers.astype(np.uint16), ["", "a", "b", ""])
    found = find_rules(axes_of(codes.shape), codes, names, folded)
    of_statuses = shortest(codes, 0) + 1
    assert found.for_statuses >= of_statuses
    if found.fewest:
        told = answers if found.by_reason else codes
        assert len(found.rules) == shortest(told, 0) + 1
    if not found.by_reason:
        assert found.for_statuses == len(found.rules)


def test_fewer_rules_for_the_statuses_alone_are_counted() -> None:
    # Of x in {a, b}, one status, the reasons make two rules.
    answers = np.array([[1, 1, 1], [2, 2, 2], [0, 3, 0], [0, 0, 3]], np.uint16)
    codes = np.array([0, 1, 1, 2], np.uint8)[answers]
    names = {code: NAMES[code] for code in (0, 1, 2)}
    axes = [AxisValues("x", tuple("abcd")), AxisValues("y", tuple("efg"))]
    texts = ["", "a", "b", "c"]
    found = find_rules(axes, codes, names, fold_rows(codes, names, answers, texts))
    assert (found.by_reason, found.fewest, len(found.rules)) == (True, True, 5)
    assert found.for_statuses == shortest(codes, 0) + 1 == 4


def test_an_order_of_checks_is_found_again() -> None:
    # What a library does that looks at aux first, then at algo with type, then at size.
    algo, kind, size, aux = np.indices((5, 4, 6, 3))
    codes = np.select(
        [aux == 2, (algo % 2 == 1) & (kind == 1), size >= 4, (kind == 3) & (aux == 1)],
        [1, 2, 1, 2],
        0,
    ).astype(np.uint8)
    axes = [
        AxisValues("algo", ("standard", "persist_static", "persist_dynamic", "small_h", "-1")),
        AxisValues("data_type", ("float", "double", "half", "int8")),
        AxisValues("hidden_size", tuple("123456"), tuple(range(1, 7)), limits=True),
        AxisValues("aux_flags", ("0", "1", "2")),
    ]
    found = rules_of(codes, axes)
    assert [(rule.status, rule.words) for rule in found.rules] == [
        ("BAD_PARAM", "aux_flags=2"),
        ("NOT_SUPPORTED", "algo in {persist_static, small_h} and data_type=double"),
        ("BAD_PARAM", "hidden_size>4"),
        ("NOT_SUPPORTED", "data_type=int8 and aux_flags=1"),
        ("SUCCESS", "otherwise"),
    ]
    assert (found.proven, found.fewest, found.by_reason) == (True, True, False)


def test_a_circle_is_broken_and_no_claim_is_made() -> None:
    # Either answer alone would be one square, if only the other were decided before.
    codes = np.array([[1, 2, 0], [2, 1, 0]], np.uint8)
    found = rules_of(codes)
    assert (found.proven, found.fewest) == (True, False)
    assert len(found.rules) - 1 == shortest(codes, 0) == 3


def test_the_shortest_that_fits_comes_first() -> None:
    x, y = np.indices((3, 3))
    codes = np.select([(x == 1) & (y == 2), x == 0], [1, 2], 0).astype(np.uint8)
    axes = [AxisValues("x", tuple("abc")), AxisValues("y", tuple("abc"))]
    assert [rule.words for rule in rules_of(codes, axes).rules] == [
        "x=a",
        "x=b and y=c",
        "otherwise",
    ]


def test_conjunctions_leave_to_others_what_those_cover_too() -> None:
    # low > high, or one of them no number: what takes a NaN needs no other condition.
    words = ("-inf", "-1.0", "1.0", "nan")
    axes = [AxisValues(name, words, tuple(map(float, words))) for name in ("low", "high")]
    low, high = np.meshgrid(*(axis.numbers or () for axis in axes), indexing="ij")
    codes = (~(low <= high)).astype(np.uint8)
    assert {rule.words for rule in rules_of(codes, axes).rules} == {
        "low=nan",
        "high=nan",
        "low>=-1.0 and high=-inf",
        "low=1.0 and high<=-1.0",
        "otherwise",
    }


def test_many_answers_in_a_circle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules_order, "_AHEAD", 0)

    @settings(max_examples=40)
    @given(maps())
    def check(codes: NDArray[np.uint8]) -> None:
        found = rules_of(codes)
        assert found.proven
        if found.fewest and codes.size <= 8:
            last = next(c for c, name in NAMES.items() if name == found.rules[-1].status)
            assert len(found.rules) - 1 == shortest(codes, last)

    check()


def as_sets(found: RuleList) -> list[tuple[str | None, frozenset[tuple[str, str, frozenset[str]]]]]:
    return [
        (r.status, frozenset((c["axis"], c["op"], frozenset(c["values"])) for c in r.conditions))
        for r in found.rules
    ]


@settings(max_examples=100)
@given(maps(), st.data())
def test_permuted_axes_and_values_give_the_same_rules(
    codes: NDArray[np.uint8], data: st.DataObject
) -> None:
    axes = axes_of(codes.shape)
    order = data.draw(st.permutations(range(codes.ndim)))
    permuted, moved = codes.transpose(order), [axes[at] for at in order]
    for at, axis in enumerate(moved):
        values = data.draw(st.permutations(range(len(axis.labels))))
        numbers = axis.numbers and tuple(axis.numbers[v] for v in values)
        labels = tuple(axis.labels[v] for v in values)
        moved[at] = AxisValues(axis.name, labels, numbers, axis.limits)
        permuted = permuted.take(values, at)
    assert as_sets(rules_of(np.ascontiguousarray(permuted), moved)) == as_sets(rules_of(codes))


def test_rules_of_one_length_come_in_an_order_of_their_own() -> None:
    # Read as they stand, {a, e} comes before {b, c}, and {e, a} after {c, b}.
    codes, labels = np.array([1, 2, 2, 0, 1], np.uint8), "abcde"
    there = rules_of(codes, [AxisValues("x", tuple(labels))])
    back = rules_of(codes[::-1].copy(), [AxisValues("x", tuple(labels[::-1]))])
    assert as_sets(there) == as_sets(back)


def test_the_proof_sees_a_wrong_list() -> None:
    axes = axes_of((3, 3))
    codes = np.zeros((3, 3), np.uint8)
    codes[0, :] = 1
    codes[:, 1] = 2
    codes[0, 1] = 1
    d, low = (
        {"axis": "kind0", "op": "=", "values": ["d"]},
        {"axis": "size1", "op": "<=", "values": ["-1"]},
    )
    right = [[d], [low]]  # type: ignore[list-item]
    assert put_through(right, [1, 2, 0], axes, codes) == (True, [3, 2, 4])
    assert put_through(right[::-1], [2, 1, 0], axes, codes)[0] is False
    assert put_through(right[:1], [1, 0], axes, codes)[0] is False
    assert put_through([*right, []], [1, 2, 0, 2], axes, codes) == (True, [3, 2, 4, 0])


@cache
def checks() -> tuple[NDArray[np.uint8], NDArray[np.uint16], list[str]]:
    """A library with three checks, two of them with one status; it tells the value it met."""
    algo, size, flag = np.indices((4, 5, 3))
    which = np.select([flag == 2, algo == 3, size < 2], [1, 2, 3], 0)
    texts = ["", "flag is 2", "algo 3 is none", "size 0 < 2", "size 1 < 2"]
    ids = which + ((which == 3) & (size == 1))
    return np.array([0, 1, 2, 1], np.uint8)[which], ids.astype(np.uint16), texts


CHECK_AXES = [
    AxisValues("algo", tuple("abcd")),
    AxisValues("size", tuple("01234"), tuple(range(5)), limits=True),
    AxisValues("flag", tuple("012")),
]


def test_rules_tell_reasons_apart_and_count_them() -> None:
    codes, ids, texts = checks()
    names = {code: NAMES[code] for code in (0, 1, 2)}
    found = find_rules(CHECK_AXES, codes, names, fold_rows(codes, names, ids, texts))
    assert found.by_reason
    told = with_row_reasons(found.rules, CHECK_AXES, ids, texts)
    said = {r.words: (r.status, {w.text: w.rows for w in r.reasons}) for r in told}
    assert said == {
        "flag=2": ("BAD_PARAM", {"flag is 2": 20}),
        "algo=d": ("NOT_SUPPORTED", {"algo 3 is none": 10}),
        "size<=1": ("BAD_PARAM", {"size 0 < 2": 6, "size 1 < 2": 6}),
        "otherwise": ("SUCCESS", {}),
    }
    assert sum(r.asked for r in told) == np.count_nonzero(codes)
    plain = find_rules(CHECK_AXES, codes, names, fold_rows(codes, names, ids, texts), split=False)
    assert not plain.by_reason


def test_reasons_are_asked_for_where_they_were_not_kept() -> None:
    codes, ids, texts = checks()
    names = {code: NAMES[code] for code in (0, 1, 2)}
    asked: list[int] = []

    def say(rows: NDArray[np.int64]) -> list[str]:
        assert (codes.reshape(-1)[rows] != 0).all()
        asked.extend(rows.tolist())
        return [texts[i] for i in ids.reshape(-1)[rows]]

    folded = fold_asking(codes, names, say)
    found = find_rules(CHECK_AXES, codes, names, folded)
    told = with_asked_reasons(found.rules, CHECK_AXES, folded, say, 1)
    assert found.by_reason
    # So few problems are all asked: the counts are those of every row.
    exact = with_row_reasons(found.rules, CHECK_AXES, ids, texts)
    assert [r.reasons for r in told] == [r.reasons for r in exact]
    assert [r.asked for r in told[:-1]] == [r.rows for r in told[:-1]]
    assert set(asked) == set(np.flatnonzero(codes).tolist())


def test_reasons_that_would_double_the_list_are_left_together() -> None:
    # One refusal for three quarters of the plane, with a reason for each of its 48 cells.
    i, j = np.indices((8, 8))
    codes = ((i < 6) | (j < 6)).astype(np.uint8)
    ids = np.where(codes, 1 + (i * 3 + j * 5) % 7, 0).astype(np.uint16)
    texts = ["", *"abcdefg"]
    axes = [AxisValues("x", tuple("01234567")), AxisValues("y", tuple("01234567"))]
    names = {0: "SUCCESS", 1: "BAD_PARAM"}
    found = find_rules(axes, codes, names, fold_rows(codes, names, ids, texts))
    assert (found.by_reason, found.proven, len(found.rules)) == (False, True, 3)


def test_what_went_came_and_stayed() -> None:
    def one(status: str, value: str, rows: int) -> Rule:
        return Rule(status, [{"axis": "x", "op": "=", "values": [value]}], rows)

    a = [one("BAD_PARAM", "0", 5), one("NOT_SUPPORTED", "1", 4), Rule("SUCCESS", [], 9)]
    b = [one("NOT_SUPPORTED", "0", 5), one("NOT_SUPPORTED", "1", 3), Rule("SUCCESS", [], 10)]
    steps = compare_rules(a, b)
    assert [(s.fate, s.rule.status, s.rule.words, s.rule.rows) for s in steps] == [
        ("went", "BAD_PARAM", "x=0", 5),
        ("came", "NOT_SUPPORTED", "x=0", 5),
        ("stayed", "NOT_SUPPORTED", "x=1", 3),
        ("stayed", "SUCCESS", "otherwise", 10),
    ]
    assert [s.before.rows if s.before else None for s in steps] == [5, None, 4, 9]
