"""The statistics of a tensor's differences, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.analyze.accuracy import (
    MOST_UNDERFLOW,
    Errors,
    depth,
    errors,
    growth,
    loss_scales,
    lost,
    verdict,
)
from pyharness.reference.layouts import rounded

INF, NAN = np.inf, np.nan


def one(got: list[float], want: list[float], scale: float = 1.0, kind: str = "double") -> Errors:
    return errors({"y": np.array(got)}, {"y": np.array(want)}, scale, kind)


def test_closed_forms() -> None:
    found = one([3.0, 4.0, 0.0, 1.0], [3.0, 1.0, 4.0, 1.0], scale=8)
    assert (found.n, found.nan, found.inf) == (4, 0, 0)
    assert (found.max_abs, found.max_rel) == (4.0, 0.5)
    assert found.rms_abs == pytest.approx(2.5, rel=1e-15)  # sqrt((9 + 16) / 4)
    assert found.rms_rel == pytest.approx(2.5 / 8, rel=1e-15)
    assert found.cosine == pytest.approx(14 / np.sqrt(26 * 27), rel=1e-15)
    assert found.worst == "y[2]"


def test_what_is_the_same_has_no_difference() -> None:
    found = one([1.0, -2.0, 0.0], [1.0, -2.0, -0.0])
    assert (found.max_abs, found.rms_abs, found.max_ulps) == (0.0, 0.0, 0)
    assert found.cosine == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    ("kind", "step"), [("double", 2**-52), ("float", 2**-23), ("half", 2**-10), ("bfloat16", 2**-7)]
)
def test_units_in_the_last_place_are_those_of_the_type(kind: str, step: float) -> None:
    assert one([1 + 3 * step, 1], [1.0, 1.0], kind=kind).max_ulps == 3


def test_nan_and_infinity_count_where_the_truth_is_none() -> None:
    found = one([NAN, INF, 1.0, -INF], [1.0, 2.0, 1.5, 0.0])
    assert (found.n, found.nan, found.inf) == (4, 1, 2)
    assert (found.max_abs, found.worst) == (0.5, "y[0]")
    assert verdict(found, 1e9, "") == ("beyond", "")


def test_an_infinity_is_right_where_the_type_has_no_such_number() -> None:
    assert one([INF, -INF], [1e5, -7e4], kind="half").inf == 0
    assert one([-INF, INF], [1e5, -7e4], kind="half").inf == 2
    assert one([INF], [1e5], kind="bfloat16").inf == 1


def test_what_is_behind_a_sequences_end_is_not_looked_at() -> None:
    found = one([1.0, NAN, 9.0], [1.0, NAN, NAN])
    assert (found.n, found.nan, found.max_abs, found.worst) == (1, 0, 0.0, "y[0]")
    assert one([NAN], [NAN]) == Errors(0, 0, 0)


def test_parts_are_one_tensor() -> None:
    got = {"a": np.array([[1.0, 2.0]]), "b": np.array([[1.0], [5.0]])}
    want = {"a": np.array([[1.0, 1.0]]), "b": np.array([[1.0], [1.0]])}
    found = errors(got, want, 1.0, "float")
    assert (found.n, found.max_abs, found.worst) == (4, 4.0, "b[1,0]")


def test_the_largest_doubles_do_not_overflow() -> None:
    found = one([1.5e308, 1.0], [-1.5e308, 1.0], scale=1e-300)
    assert found.max_abs is not None and np.isfinite(found.max_abs)  # noqa: PT018
    assert found.rms_abs is not None and np.isfinite(found.rms_abs)  # noqa: PT018
    assert found.max_rel is not None and np.isfinite(found.max_rel)  # noqa: PT018
    assert found.cosine == pytest.approx(-1, abs=1e-12)
    assert found.max_ulps == 2**63 - 1


def test_the_verdict_turns_at_the_threshold() -> None:
    found = one([1.5], [1.0], scale=1.0)
    assert verdict(found, 0.5, "") == (
        "not_told",
        "these types hold nothing of such a network: rounding explains anything",
    )
    assert verdict(found, np.nextafter(0.5, 0), "") == ("beyond", "")
    little = one([1.25], [1.0])
    assert verdict(little, 0.25, "") == ("within", "")
    assert verdict(little, np.nextafter(0.25, 0), "") == ("beyond", "")
    assert verdict(little, np.nextafter(1 / 3, 0), "") == ("within", "")
    assert verdict(little, 1 / 3, "")[0] == "not_told"
    assert verdict(found, 0.1, "why") == ("not_told", "why")
    assert verdict(found, 1.0, "")[0] == "not_told"
    assert verdict(one([3.0], [1.0]), 1.0, "")[0] == "beyond"
    assert verdict(Errors(0, 0, 0), 0.5, "")[0] == "not_told"


def test_a_doubt_does_not_excuse_a_nan() -> None:
    assert verdict(one([NAN], [1.0]), 0.5, "why") == ("beyond", "")


def test_growth_is_of_the_first_and_the_last_quarter_of_the_steps_that_are() -> None:
    want = np.zeros((10, 2, 3))
    want[8:] = NAN  # no sequence has them
    want[6:, 1] = NAN
    got = np.zeros((10, 2, 3)) + np.arange(10.0)[:, None, None]
    found = growth(got, want, scale=2.0)
    assert found is not None
    assert found == pytest.approx((np.sqrt(0.5) / 2, np.sqrt((36 + 49) / 2) / 2), rel=1e-15)
    assert growth(got[:3], want[:3], 1.0) is None


def test_depth_is_of_the_first_and_the_last_layer() -> None:
    def layer(far: float) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        return {"a": np.full(3, 1 + far)}, {"a": np.ones(3)}

    assert depth(layer(0.25), layer(0.5), 2.0) == pytest.approx((0.125, 0.25), rel=1e-15)


def test_what_half_loses() -> None:
    want = np.array([1.0, 2.0**-26, 2.0**-20, 1e5, 0.0, 2.0**-2])
    got = rounded(want, "half")
    got[-1] = 0  # of a sum, and no underflow
    found = lost({"dx": got}, {"dx": want}, "half")
    assert (found["underflow"], found["overflow"]) == (0.2, 0.2)
    assert lost({"dx": np.zeros(2)}, {"dx": np.zeros(2)}, "half") == {}


def test_a_number_that_is_flushed_to_zero_is_lost_too() -> None:
    want = np.array([1.0, 2.0**-15])  # the second has a place below the normal numbers
    assert lost({"dx": np.array([1.0, 0.0])}, {"dx": want}, "half")["underflow"] == 0.5


def by_hand(true: np.ndarray, kind: str) -> tuple[int, int] | None:
    """The same range by trying every scale."""
    well = []
    for exponent in range(-400, 401):
        stored = rounded(np.ldexp(true, exponent), kind)
        if (stored == 0).mean() <= MOST_UNDERFLOW and np.isfinite(stored).all():
            well.append(exponent)
    return (well[0], well[-1]) if well else None


@given(
    st.lists(
        st.tuples(st.floats(0.5, 1, exclude_max=True), st.integers(-60, 60), st.booleans()),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from(["half", "bfloat16"]),
)
def test_the_loss_scales_are_those_that_trying_finds(
    numbers: list[tuple[float, int, bool]], kind: str
) -> None:
    true = np.array([(-f if minus else f) * 2.0**e for f, e, minus in numbers])
    assert loss_scales(true, kind) == by_hand(true, kind)


@pytest.mark.parametrize("fraction", [0.5, 0.5 + 2**-40, 1 - 2**-12, 1 - 2**-9, 1 - 2**-13])
@pytest.mark.parametrize("kind", ["half", "bfloat16"])
def test_the_loss_scales_at_ties(fraction: float, kind: str) -> None:
    true = np.array([fraction, 1.0])
    assert loss_scales(true, kind) == by_hand(true, kind)


def test_one_in_a_thousand_may_be_lost() -> None:
    true = np.ones(2000)
    true[:2] = 2.0**-80
    assert loss_scales(true, "half") == (-24, 15)
    true[2] = 2.0**-80
    assert loss_scales(true, "half") is None
