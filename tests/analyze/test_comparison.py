"""Two maps compared: every point against a comparison that the test writes out itself."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyharness.analyze import comparison
from pyharness.analyze.comparison import CHANGES, Comparison, Group, Side, change_of, compare
from pyharness.analyze.conditions import AxisValues, Condition

Point = tuple[int, ...]
# Every pair of answers and what the step is called; None is a worker that died.
NAMED = {
    ("SUCCESS", "SUCCESS"): None,
    ("SUCCESS", "BAD_PARAM"): "newly_refused",
    ("SUCCESS", "NOT_SUPPORTED"): "newly_refused",
    ("SUCCESS", None): "newly_failed",
    ("BAD_PARAM", "SUCCESS"): "newly_accepted",
    ("BAD_PARAM", "BAD_PARAM"): None,
    ("BAD_PARAM", "NOT_SUPPORTED"): "other_status",
    ("BAD_PARAM", None): "newly_failed",
    ("NOT_SUPPORTED", "SUCCESS"): "newly_accepted",
    ("NOT_SUPPORTED", "BAD_PARAM"): "other_status",
    ("NOT_SUPPORTED", "NOT_SUPPORTED"): None,
    ("NOT_SUPPORTED", None): "newly_failed",
    (None, "SUCCESS"): "no_longer_failed",
    (None, "BAD_PARAM"): "no_longer_failed",
    (None, "NOT_SUPPORTED"): "no_longer_failed",
    (None, None): None,
}
STATUSES: list[str | None] = ["SUCCESS", "BAD_PARAM", "NOT_SUPPORTED", None]
TEXTS = ["", "size < 1", "no such mode"]


def holds(words: str, at: dict[str, str]) -> bool:
    """Whether a conjunction, as it is printed, is true of a point given by its labels."""
    return words == "every problem" or all(_true(part, at) for part in words.split(" and "))


def _true(part: str, at: dict[str, str]) -> bool:
    if match := re.fullmatch(r"(\w+) (not )?in \{(.+)\}", part):
        return (at[match[1]] in match[3].split(", ")) != bool(match[2])
    if match := re.fullmatch(r"(-?\d+)<=(\w+)<=(-?\d+)", part):
        return int(match[1]) <= int(at[match[2]]) <= int(match[3])
    match = re.fullmatch(r"(\w+)(<=|>=|!=|=)(.+)", part)
    assert match, part
    axis, op, value = match.groups()
    if op in ("=", "!="):
        return (at[axis] == value) == (op == "=")
    return int(at[axis]) <= int(value) if op == "<=" else int(at[axis]) >= int(value)


def labels_at(axes: Sequence[AxisValues], point: Point) -> dict[str, str]:
    """A point's values by axis name."""
    return {axis.name: axis.labels[place] for axis, place in zip(axes, point, strict=True)}


@st.composite
def axis_lists(draw: st.DrawFn) -> list[AxisValues]:
    """One to four axes of one to four values, some of them with numbers in any order."""
    axes = []
    for name in ("algo", "hidden_size", "cell_mode", "num_layers")[: draw(st.integers(1, 4))]:
        count = draw(st.integers(1, 4))
        if name in ("hidden_size", "num_layers"):
            numbers = draw(st.permutations([-1, 0, 2, 64]))[:count]
            words = tuple(str(n) for n in numbers)
            axes.append(AxisValues(name, words, tuple(float(n) for n in numbers)))
        else:
            axes.append(AxisValues(name, tuple(f"{name}{i}" for i in range(count))))
    return axes


@st.composite
def sides(draw: st.DrawFn, shape: tuple[int, ...]) -> Side:
    """A map with its own numbering of statuses and of texts."""
    size = int(np.prod(shape))
    codes = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    texts = draw(st.permutations(TEXTS))
    ids = None
    if draw(st.booleans()):
        picked = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
        ids = np.array(picked, np.uint16).reshape(shape)
    return Side(
        np.array(codes, np.uint8).reshape(shape), draw(st.permutations(STATUSES)), ids, texts
    )


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[AxisValues], Side, Side]:
    """The axes and both sides of a comparison."""
    axes = draw(axis_lists())
    shape = tuple(len(a.labels) for a in axes)
    return axes, draw(sides(shape)), draw(sides(shape))


def expected_groups(a: Side, b: Side) -> dict[tuple[str | None, ...], set[Point]]:
    """(change, status before, after, reason before, after) to its points, one point at a time."""
    found: dict[tuple[str | None, ...], set[Point]] = defaultdict(set)
    for point in np.ndindex(a.codes.shape):
        old, new = a.names[a.codes[point]], b.names[b.codes[point]]
        change = NAMED[old, new]
        if change:
            found[change, old, new, None, None].add(point)
        elif old not in ("SUCCESS", None) and a.text_ids is not None and b.text_ids is not None:
            was, now = a.texts[a.text_ids[point]], b.texts[b.text_ids[point]]
            if was != now:
                found["other_reason", old, new, was, now].add(point)
    return dict(found)


def points_of(result: Comparison, group: Group) -> set[Point]:
    """The points that carry a group's label."""
    return {tuple(p) for p in np.argwhere(result.labels == group.label).tolist()}


@settings(max_examples=150, deadline=None)
@given(pairs(), st.sampled_from([1, 3, 1 << 22]))
def test_groups_are_those_of_a_comparison_point_by_point(
    pair: tuple[list[AxisValues], Side, Side], block: int
) -> None:
    axes, a, b = pair
    with patch.object(comparison, "_BLOCK", block):
        result = compare(axes, a, b)
    found = {
        (g.change, g.status_a, g.status_b, g.reason_a, g.reason_b): points_of(result, g)
        for g in result.groups
    }
    assert found == expected_groups(a, b)
    assert len(found) == len(result.groups)
    changed = set().union(*found.values()) if found else set()
    assert set(zip(*np.nonzero(result.labels), strict=True)) == changed
    order = [(CHANGES.index(g.change), -g.rows) for g in result.groups]
    assert order == sorted(order)


@settings(max_examples=150, deadline=None)
@given(pairs())
def test_the_printed_words_cover_exactly_the_points(
    pair: tuple[list[AxisValues], Side, Side],
) -> None:
    axes, a, b = pair
    result = compare(axes, a, b)
    for group in result.groups:
        members = points_of(result, group)
        said = {
            point
            for point in np.ndindex(result.labels.shape)
            if any(holds(words, labels_at(axes, point)) for words in group.words)
        }
        assert said == members, group.words
        assert group.rows == len(members)
        assert group.proven
        met = {
            axis.name: [
                word for i, word in enumerate(axis.labels) if any(p[at] == i for p in members)
            ]
            for at, axis in enumerate(axes)
            if len(axis.labels) > 1
        }
        assert group.values == met


@pytest.mark.parametrize("pair", NAMED, ids=str)
def test_every_step_has_its_name(pair: tuple[str | None, str | None]) -> None:
    assert change_of(*pair) == NAMED[pair]


def two_axes() -> tuple[list[AxisValues], Side, Side]:
    """algo x hidden_size, where b refuses algo=one with hidden_size of 1 or more."""
    axes = [
        AxisValues("algo", ("zero", "one", "two")),
        AxisValues("hidden_size", ("-1", "0", "1", "2"), (-1.0, 0.0, 1.0, 2.0)),
    ]
    old = np.zeros((3, 4), np.uint8)
    new = old.copy()
    new[1, 2:] = 1
    names = ["SUCCESS", "BAD_PARAM"]
    return axes, Side(old, names), Side(new, names)


def test_a_plain_change_reads_as_a_person_would_write_it() -> None:
    (group,) = compare(*two_axes()).groups
    assert group.words == ["algo=one and hidden_size>=1"]
    assert (group.change, group.rows, group.fewest) == ("newly_refused", 2, True)
    assert group.values == {"algo": ["one"], "hidden_size": ["1", "2"]}


def drop_last(conditions: list[Condition]) -> list[Condition]:
    return conditions[:-1]


def add_one(conditions: list[Condition]) -> list[Condition]:
    return [*conditions, Condition(axis="hidden_size", op="=", values=["2"])]


def wrong_value(conditions: list[Condition]) -> list[Condition]:
    return [Condition(axis="algo", op="=", values=["two"]), *conditions[1:]]


@pytest.mark.parametrize("spoil", [drop_last, add_one, wrong_value])
def test_a_wrong_description_is_not_proven(spoil: object) -> None:
    true = comparison.describe
    with patch.object(comparison, "describe", lambda *args: spoil(true(*args))):  # type: ignore[operator]
        (group,) = compare(*two_axes()).groups
    assert not group.proven
    assert compare(*two_axes()).groups[0].proven


def test_reasons_count_only_where_both_sides_kept_them() -> None:
    axes = [AxisValues("algo", ("zero", "one"))]
    codes, names = np.ones(2, np.uint8), ["SUCCESS", "BAD_PARAM"]
    first = Side(codes, names, np.array([1, 2], np.uint16), ["", "short", "long"])
    second = Side(codes, names, np.array([2, 2], np.uint16), ["", "short", "long"])
    without = Side(codes, names)
    (group,) = compare(axes, first, second).groups
    assert (group.change, group.reason_a, group.reason_b) == ("other_reason", "short", "long")
    assert group.words == ["algo=zero"]
    for a, b in ((first, without), (without, second), (without, without)):
        assert compare(axes, a, b).groups == []


def test_other_numbers_for_the_same_names_are_no_change() -> None:
    axes = [AxisValues("algo", ("a", "b", "c", "d"))]
    old = Side(np.arange(4, dtype=np.uint8), STATUSES)
    new = Side(np.arange(4, dtype=np.uint8)[::-1].copy(), STATUSES[::-1])
    assert compare(axes, old, new).groups == []


def test_every_pair_of_the_table_is_found_in_one_comparison() -> None:
    grid = list(product(range(4), range(4)))
    axes = [AxisValues("old", tuple("abcd")), AxisValues("new", tuple("efgh"))]
    old = np.array([i for i, _ in grid], np.uint8).reshape(4, 4)
    new = np.array([j for _, j in grid], np.uint8).reshape(4, 4)
    result = compare(axes, Side(old, STATUSES), Side(new, STATUSES))
    steps = {(g.status_a, g.status_b): g.change for g in result.groups}
    assert steps == {pair: change for pair, change in NAMED.items() if change}
    assert {g.change for g in result.groups} == set(CHANGES) - {"other_reason"}
