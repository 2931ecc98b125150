"""Which readings of the card make samples that do not count."""

from __future__ import annotations

import pytest

from pyharness.measure.throttling import Chunk, Sieved, reason_names, sieve, slows


@pytest.mark.parametrize(
    ("bits", "names", "counts"),
    [
        (0x000, (), False),
        (0x001, ("gpu_idle",), False),
        (0x002, ("applications_clocks_setting",), False),
        (0x004, ("sw_power_cap",), True),
        (0x008, ("hw_slowdown",), True),
        (0x010, ("sync_boost",), False),
        (0x020, ("sw_thermal_slowdown",), True),
        (0x040, ("hw_thermal_slowdown",), True),
        (0x080, ("hw_power_brake_slowdown",), True),
        (0x100, ("display_clock_setting",), False),
        (0x103, ("gpu_idle", "applications_clocks_setting", "display_clock_setting"), False),
        (0x048, ("hw_slowdown", "hw_thermal_slowdown"), True),
        (0x005, ("gpu_idle", "sw_power_cap"), True),
        (0x400, ("0x400",), False),  # not known here
    ],
)
def test_reasons(bits: int, names: tuple[str, ...], counts: bool) -> None:
    assert reason_names(bits) == names
    assert slows(bits) is counts


def test_throttled_samples_are_marked_and_counted() -> None:
    found = sieve(
        [
            Chunk((1.0, 1.1), before=0x1, after=0x0),
            Chunk((1.2,), before=0x0, after=0x20),  # it began within
            Chunk((2.0, 2.1, 2.2), before=0x20, after=0x60),
            Chunk((2.3,), before=0x60, after=0x2),  # it ended within
            Chunk((1.3, 1.4), before=0x2, after=0x0),
        ]
    )
    assert found == Sieved(
        kept=(1.0, 1.1, 1.3, 1.4),
        throttled=(False, False, True, True, True, True, True, False, False),
        unread=0,
        # sw_thermal beside 1.2, 2.0 … 2.2 and 2.3; hw_thermal (0x40) beside all of these but 1.2
        reasons={"sw_thermal_slowdown": 5, "hw_thermal_slowdown": 4},
    )
    assert found.left_out == 5
    assert len(found.kept) + found.left_out == 9, "no sample is lost"


def test_samples_without_a_reading_are_kept_and_counted() -> None:
    found = sieve(
        [
            Chunk((1.0, 1.1), before=None, after=None),
            Chunk((1.2,), before=0x1, after=None),
            Chunk((1.3,), before=None, after=0x4),  # what was read is enough
        ]
    )
    assert found.kept == (1.0, 1.1, 1.2)
    assert found.unread == 3
    assert found.left_out == 1
    assert found.reasons == {"sw_power_cap": 1}


def test_a_card_that_is_held_down_all_the_time_leaves_nothing() -> None:
    found = sieve([Chunk((1.0, 2.0), 0x4, 0x4)])
    assert found.kept == ()
    assert found.left_out == 2


def test_nothing_in_nothing_out() -> None:
    assert sieve([]) == Sieved((), (), 0, {})
