"""What fits, against trying every value of sizes that rise and fall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.analyze.memory_fit import largest_fit

PLENTY = 10**9


@dataclass
class Sizes:
    """A steady floor, bumps on top of it, and values that are refused; counts who is asked."""

    slope: int
    bumps: dict[int, int] = field(default_factory=dict)
    refused: frozenset[int] = frozenset()
    asked: list[int] = field(default_factory=list)

    def floor(self, value: int) -> int:
        return self.slope * value

    def size(self, value: int) -> int | None:
        if value in self.refused:
            return None
        return self.slope * value + self.bumps.get(value, 0)

    def ask(self, values: Sequence[int]) -> list[int | None]:
        self.asked += values
        return [self.size(v) for v in values]

    def fits(self, value: int, limit: int) -> bool:
        size = self.size(value)
        return size is not None and size <= limit


@st.composite
def cases(draw: st.DrawFn) -> tuple[Sizes, int, int, int]:
    """Sizes, a limit, and the least and greatest value."""
    most = draw(st.integers(1, 60))
    least = draw(st.integers(1, most))
    values = st.integers(1, most)
    sizes = Sizes(
        draw(st.integers(1, 9)),
        draw(st.dictionaries(values, st.integers(0, 900), max_size=60)),
        draw(st.frozensets(values, max_size=20)),
    )
    return sizes, draw(st.integers(0, 700)), least, most


@given(cases())
def test_the_largest_that_fits_of_all(case: tuple[Sizes, int, int, int]) -> None:
    sizes, limit, least, most = case
    found = largest_fit(sizes.ask, sizes.floor, limit, least, most, PLENTY)
    fitting = [v for v in range(least, most + 1) if sizes.fits(v, limit)]
    assert found.value == max(fitting, default=None)
    assert found.proven
    assert len(sizes.asked) == len(set(sizes.asked)) == found.asked
    assert set(sizes.asked) <= set(range(least, most + 1))
    _check_the_neighbour(sizes, found.value, found.neighbour, limit, least, most)
    if found.value is not None:
        assert found.size == sizes.size(found.value)
    if found.neighbour is not None:
        assert found.beyond == sizes.size(found.neighbour)
        assert found.limited_by == ("refused" if found.neighbour in sizes.refused else "bytes")
    else:
        assert found.limited_by == "range"


@given(cases(), st.integers(1, 8))
def test_with_few_asked_it_fits_and_its_neighbour_does_not(
    case: tuple[Sizes, int, int, int], budget: int
) -> None:
    sizes, limit, least, most = case
    found = largest_fit(sizes.ask, sizes.floor, limit, least, most, budget)
    best = max((v for v in range(least, most + 1) if sizes.fits(v, limit)), default=None)
    assert found.value is None or sizes.fits(found.value, limit)
    assert not found.proven or found.value == best
    _check_the_neighbour(sizes, found.value, found.neighbour, limit, least, most)


def _check_the_neighbour(
    sizes: Sizes, value: int | None, neighbour: int | None, limit: int, least: int, most: int
) -> None:
    if value is None:
        assert neighbour == least
    else:
        assert neighbour == (None if value == most else value + 1)
    assert neighbour is None or not sizes.fits(neighbour, limit)


def test_a_bisection_would_be_wrong_here() -> None:
    # 4 to 19 ask for too much, 20 does not, and 50 is the last whose floor fits.
    sizes = Sizes(2, dict.fromkeys([*range(4, 20), *range(21, 51)], 1000))
    found = largest_fit(sizes.ask, sizes.floor, 100, 1, 1000, PLENTY)
    assert (found.value, found.size, found.neighbour, found.beyond) == (20, 40, 21, 1042)
    assert found.proven
    one = largest_fit(sizes.ask, sizes.floor, 100, 1, 1000, 1)
    assert not one.proven
    assert one.value == 3


def test_steady_sizes_take_few_questions() -> None:
    sizes = Sizes(3)
    found = largest_fit(sizes.ask, sizes.floor, 3_000_000, 1, 1 << 20, 2_000)
    assert (found.value, found.limited_by, found.asked) == (1_000_000, "bytes", 2)


@pytest.mark.parametrize("budget", [10, PLENTY])
def test_the_end_of_the_range_and_nothing_at_all(budget: int) -> None:
    sizes = Sizes(1)
    everything = largest_fit(sizes.ask, sizes.floor, 10**6, 1, 500, budget)
    assert (everything.value, everything.neighbour, everything.limited_by) == (500, None, "range")
    nothing = largest_fit(sizes.ask, sizes.floor, 4, 5, 500, budget)
    assert (nothing.value, nothing.neighbour, nothing.beyond) == (None, 5, 5)
    assert nothing.proven
