"""What is said of two tensors, and of how far rounding may take them apart."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan, sqrt
from typing import Any

import numpy as np
import pytest

from pyharness.engine.beside import Whole
from pyharness.engine.told import Found, compared
from pyharness.reference.layouts import to_bytes
from pyharness.reference.tolerances import threshold
from pyharness.spec.equivalences import CHECKS, HOLDS, NOT_TOLD, VERDICTS, VIOLATED
from pyharness.spec.number_bits import Bits, bits_of
from pyharness.spec.problem import parse_problem

TYPES = ("half", "float", "default_math")


def bits(numbers: Sequence[float], data_type: str = "half") -> Bits:
    return np.frombuffer(to_bytes(np.array(numbers), data_type), bits_of(data_type))


def beside(
    before: Sequence[float],
    now: Sequence[float],
    limit: float | None,
    doubt: str | None = None,
    scale: float = 2.0,
) -> Found:
    at = 10 + np.arange(len(before))[::-1]
    return compared("y", bits(before), bits(now), lambda: at, scale, "half", limit, lambda: doubt)


@pytest.mark.parametrize(
    ("before", "now", "limit", "expected"),
    [
        # verdict, differing, error, first; the last element is stored at 10, the one before at 11.
        ([1, 2], [1, 2], None, (HOLDS, 0, 0.0, None)),
        ([1, 2], [1, 1.5], None, (VIOLATED, 1, 0.25, 10)),
        ([0.0, 2], [-0.0, 2], None, (VIOLATED, 1, 0.0, 11)),
        ([0.0, 2], [-0.0, 2], 0.1, (HOLDS, 1, 0.0, None)),
        ([1, 2], [1.125, 1.75], 0.125, (HOLDS, 2, 0.125, None)),
        ([1, 2], [1.25, 1.5], 0.125, (VIOLATED, 2, 0.25, 10)),
        ([1, 2, 2], [1.5, 1.5, 2], 0.125, (VIOLATED, 2, 0.25, 11)),
        ([1, nan], [1, nan], 0.1, (NOT_TOLD, 0, 0.0, None)),
        ([1, nan, 1], [1, nan, 2], 0.1, (VIOLATED, 1, 0.5, 10)),
        ([1, nan], [1, 2], 0.1, (VIOLATED, 1, None, 10)),
        ([1, 2], [nan, 2], None, (VIOLATED, 1, None, 11)),
        ([nan, nan], [nan, nan], None, (NOT_TOLD, 0, 0.0, None)),
        ([inf, 1], [65504, 1], 0.1, (HOLDS, 1, 0.0, None)),
        ([inf, 1], [1, 1], 0.1, (VIOLATED, 1, 65503 / 2, 11)),
        ([1, 2], [1, 2], 1.5, (HOLDS, 0, 0.0, None)),
        ([1, 2], [1, 1.5], 1.5, (NOT_TOLD, 1, 0.25, None)),
        ([1, 2], [1, -2], 1.5, (VIOLATED, 1, 2.0, 10)),
    ],
)
def test_verdicts(
    before: list[float], now: list[float], limit: float | None, expected: tuple[Any, ...]
) -> None:
    found = beside(before, now, limit)
    assert (found.verdict, found.differing, found.error, found.first) == expected
    assert (found.elements, found.exact, found.threshold) == (len(now), limit is None, limit or 0)


def test_what_is_written_neither_way_is_said() -> None:
    assert beside([1, nan, nan], [1, nan, nan], 0.1).reason == (
        "2 are NaN, or not written, both ways"
    )
    assert beside([nan, nan], [nan, nan], None).reason == "there is no number to compare"


def test_a_doubt_says_nothing_of_a_nan() -> None:
    assert beside([1, 2], [1, 1], 0.1, "why not").reason == "why not"
    assert beside([1, 2], [1, 1], 0.1, "why not").verdict == NOT_TOLD
    assert beside([1, 2], [1, 2], 0.1, "why not").verdict == HOLDS
    one_nan = beside([1, 2], [1, nan], 0.1, "why not")
    assert (one_nan.verdict, one_nan.reason) == (VIOLATED, "1 NaN on one side alone")


def test_thresholds_add_up_as_squares() -> None:
    words = ["data_type=half", "hidden_size=8", "max_seq_length=6", "batch_size=4"]
    problem = parse_problem([*words, "cell_mode=lstm"])
    short = parse_problem([*words[:2], "max_seq_length=2", words[3], "cell_mode=lstm"])
    whole = Whole(None, problem, [])  # type: ignore[arg-type]  # nothing is run
    # What float64 adds is nothing in half. A threshold is larger by 10^(4/n) where there are but n
    # numbers: of the two ways that are compared both have those of the whole, 8 x 6 x 4.
    many, few = (10 ** (4 / (8 * steps * 4)) for steps in (6, 2))
    for tensor, count in (("y", 1), ("dw", 2)):
        own, theirs = (threshold(p, tensor, *TYPES) for p in (problem, short))
        assert whole.rounding(problem)(tensor) == pytest.approx(sqrt(2) * own)
        side = many * sqrt((own / many) ** 2 + count * (theirs / few) ** 2)
        assert whole.rounding(short, short)(tensor) == pytest.approx(side)
        chained = many * sqrt((own / many) ** 2 + 2 * (theirs / few) ** 2)
        assert whole.rounding(short, short, chained=True)(tensor) == pytest.approx(chained)


def test_the_words() -> None:
    assert VERDICTS == (HOLDS, VIOLATED, NOT_TOLD)
    assert len(CHECKS) == 9
