"""What stands for a value that was not tried: itself, its neighbours, or nothing."""

from __future__ import annotations

import pytest

from pyharness.analyze.between import stands
from pyharness.spec.calls import all_axes
from pyharness.spec.seq_lengths import LENGTH_PATTERNS

AXES = all_axes()


def tried(name: str, text: str) -> list[int]:
    return [v for word in text.split() for v in AXES[name].parse(word)]


def stand(
    name: str, values: str, exact: bool = True, **wanted: str
) -> tuple[tuple[int, ...], bool]:
    given = {n: AXES[n].parse(text)[0] for n, text in wanted.items()}
    found = stands(AXES[name], tried(name, values), given, sizes_exact=exact)
    assert bool(found.words) or found.exact or not exact
    return found.places, found.exact


@pytest.mark.parametrize(
    ("size", "places", "exact"),
    [("64", (2,), True), ("65", (2, 3), False), ("1", (1,), True), ("0", (0, 1), False)],
)
def test_a_size_is_itself_or_lies_between(size: str, places: tuple[int, ...], exact: bool) -> None:
    assert stand("hidden_size", "-1 1 64 1024", hidden_size=size) == (places, exact)


def test_nothing_stands_for_what_is_beyond_or_is_a_word() -> None:
    assert stand("hidden_size", "-1 1 64", hidden_size="65") == ((), False)
    assert stand("hidden_size", "-1 1 64", hidden_size="-2") == ((), False)
    assert stand("data_type", "float double", data_type="half") == ((), False)
    assert stand("lclip", "-inf 0.0 inf", lclip="nan") == ((), False)


def test_a_bound_lies_between_whatever_order_they_were_tried_in() -> None:
    assert stand("lclip", "0.0 inf -inf nan", lclip="2.5") == ((0, 1), False)


def test_projections_go_by_the_size_that_comes_of_them() -> None:
    rules = "0 1 same half over"
    assert stand("proj_size", rules, proj_size="32", hidden_size="64") == ((3,), True)
    assert stand("proj_size", rules, proj_size="64", hidden_size="64") == ((2,), True)
    assert stand("proj_size", rules, proj_size="65", hidden_size="64") == ((4,), True)
    assert stand("proj_size", rules, proj_size="20", hidden_size="64") == ((1, 3), False)
    assert stand("proj_size", rules, proj_size="66", hidden_size="64") == ((), False)
    # half of 2 and 1 are one size here, but not of the sizes that stand for hidden_size
    assert stand("proj_size", rules, False, proj_size="1", hidden_size="2") == ((1, 3), False)


def lengths(text: str, steps: int, batch: int, patterns: str = "all") -> tuple[list[str], bool]:
    places, exact = stand(
        "seq_lengths",
        patterns,
        seq_lengths=text,
        max_seq_length=str(steps),
        batch_size=str(batch),
    )
    return [LENGTH_PATTERNS[p] for p in places], exact


def test_lists_are_a_pattern_where_they_are_the_same_array() -> None:
    assert lengths("[7,7,7]", 7, 3) == (["equal"], True)
    assert lengths("[7,7,0]", 7, 3) == (["one_zero"], True)
    assert lengths("[0,0,0]", 7, 3) == (["all_zero"], True)


def test_lists_are_like_a_pattern_by_what_a_call_may_look_at() -> None:
    assert lengths("[7,6,2]", 7, 3) == (["descending"], False)
    assert lengths("[2,7,6]", 7, 3) == (["unsorted"], False)
    assert lengths("[7,2,0]", 7, 3) == (["one_zero", "trailing_zeros"], False)
    assert lengths("[7,2,-3]", 7, 3) == (["negative"], False)
    assert lengths("[9,7,1]", 7, 3) == (["over_max"], False)


def test_nothing_stands_for_lists_of_another_kind() -> None:
    assert lengths("[5,3,2]", 7, 3) == ([], False)  # none of max_seq_length
    assert lengths("[0,7,3]", 7, 3) == ([], False)  # not sorted, and one of 0
