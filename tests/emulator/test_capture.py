"""Captures and graphs of the emulated driver."""

from __future__ import annotations

import pytest

from tests.emulator.play import Answer

ILLEGAL_STATE, UNSUPPORTED, INVALIDATED = 401, 900, 901
IMPLICIT, CAPTURED_EVENT, WRONG_THREAD = 906, 907, 908
GLOBAL, THREAD_LOCAL, RELAXED = range(3)


def test_a_graph_repeats_what_was_captured(answer: Answer) -> None:
    assert answer("capture_scenes:replay", 2, graph_cost=0.5, slower=3) == {
        "capturing": [True, False],
        "captured": [0, True],
        "not run yet": [],
        "launched": [],
        "run": [1, 2, 1, 2],
        "ns": [6000, 6000],  # (1000 + 3000) x 3 / 2
    }


def test_each_replay_has_its_own_noise(answer: Answer) -> None:
    times = answer("capture_scenes:replay", 8, noise=0.2)["ns"]
    assert len(set(times)) == 8


def test_a_memset_is_part_of_a_graph(answer: Answer) -> None:
    # 1000 bytes take 1 ns and flush the cache: 1 + 500 + 70.
    assert answer("capture_scenes:memset_in_graph", l2_bytes=1000) == [1, 571, 571, 9]


UNSAFE = [
    *("cuMemAlloc_v2", "cuMemFree_v2", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2"),
    *("cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize"),
]


@pytest.mark.parametrize("name", UNSAFE)
def test_what_no_graph_can_hold_spoils_the_capture(answer: Answer, name: str) -> None:
    assert answer("capture_scenes:unsafe", THREAD_LOCAL, name, False) == {
        "call": UNSUPPORTED,
        "then a pass": False,
        "end": [INVALIDATED, 0],
        "after": 0,
        "again": 0,
    }


def test_a_relaxed_capture_minds_less(answer: Answer) -> None:
    assert answer("capture_scenes:unsafe", RELAXED, "cuMemAlloc_v2", False)["end"][0] == 0
    assert (
        answer("capture_scenes:unsafe", RELAXED, "cuStreamSynchronize", False)["end"][0]
        == INVALIDATED
    )


def test_a_copy_would_wait_for_a_blocking_stream(answer: Answer) -> None:
    said = answer("capture_scenes:unsafe", RELAXED, "cuMemcpyHtoD_v2", True)
    assert (said["call"], said["end"]) == (IMPLICIT, [INVALIDATED, 0])


def test_what_does_not_concern_the_capture_is_allowed(answer: Answer) -> None:
    assert answer("capture_scenes:safe") == [0, 0]
    assert answer("capture_scenes:other_thread_spoils_global") == [UNSUPPORTED, INVALIDATED]


def test_captures_end_as_they_began(answer: Answer) -> None:
    assert answer("capture_scenes:ends") == {
        "null stream": UNSUPPORTED,
        "mode": 1,
        "none": ILLEGAL_STATE,
        "twice": ILLEGAL_STATE,
        "other thread": WRONG_THREAD,
        "spoiled": INVALIDATED,
        "captured event": 400,
        "good": 0,
        "waited for": CAPTURED_EVENT,
        "spoiled by a pass": INVALIDATED,
    }


def test_a_call_can_be_made_uncapturable(answer: Answer) -> None:
    fault = "uncapturable@cuMemsetD8Async:*"
    assert answer("capture_scenes:uncapturable", fault=fault) == [UNSUPPORTED, INVALIDATED]
    assert answer("capture_scenes:uncapturable") == [0, 0]
