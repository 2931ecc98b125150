"""The emulated libcuda: cards, memory, streams, faults, and what is left behind."""

from __future__ import annotations

import re
import signal

import pytest

from tests.doubles.build import CSRC
from tests.emulator.driver import SIGNATURES
from tests.emulator.play import Answer, Scene

INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED = 1, 2, 3
NO_DEVICE, INVALID_DEVICE, INVALID_CONTEXT = 100, 101, 201
INVALID_HANDLE = 400


def test_it_has_every_function_that_the_harness_calls(answer: Answer) -> None:
    header = (CSRC / "abi" / "driver.hpp").read_text()
    names = re.findall(r"REQUIRED\((cu\w+)\)", header)
    assert sorted(names) == sorted(SIGNATURES)
    assert answer("card_scenes:lacking", [*names, "pyharness_emulator"]) == []


def test_a_card_is_what_was_set(answer: Answer) -> None:
    said = answer(
        "card_scenes:card",
        devices=3,
        memory_bytes=1000,
        name="A card",
        compute_capability="9.0",
        multiprocessors=132,
        l2_bytes=52428800,
        driver_version=13000,
    )
    assert said == {
        "count": 3,
        "version": 13000,
        "bytes": 1000,
        "attributes": [132, 52428800, 9, 0],
        "texts": ["A card", "0000:12:00.0"],
        "no such card": INVALID_DEVICE,
        "no such attribute": INVALID_VALUE,
        "flags": INVALID_VALUE,
    }


def test_nothing_works_before_init(answer: Answer) -> None:
    assert answer("card_scenes:before_init") == [NOT_INITIALIZED, 0, INVALID_CONTEXT]
    assert answer("card_scenes:before_init", devices=0) == [
        NOT_INITIALIZED,
        NO_DEVICE,
        NOT_INITIALIZED,
    ]


def test_a_child_process_cannot_use_what_it_inherits(answer: Answer) -> None:
    assert answer("card_scenes:after_fork") == NOT_INITIALIZED + 10 * NOT_INITIALIZED


def test_errors_have_names(answer: Answer) -> None:
    header = (CSRC / "abi" / "driver.hpp").read_text()
    constants = re.findall(r"CuResult kCuda(\w+) = (\d+);", header)
    said = answer("card_scenes:words", [int(number) for _, number in constants])
    for (name, _), (word, text) in zip(constants, said, strict=True):
        upper = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()
        assert word == ("CUDA_SUCCESS" if name == "Success" else f"CUDA_ERROR_{upper}")
        assert text
    assert answer("card_scenes:words", [12345]) == [[None, None]]


def test_a_context_lives_until_its_last_release(scene: Scene) -> None:
    played = scene("card_scenes:contexts", devices=2)
    assert played.answer == {
        "same": True,
        "other card": True,
        "unusable": False,
        "usable": True,
        "other thread": [INVALID_CONTEXT],
        "after one release": 0,
        "after the last": INVALID_CONTEXT,
        "set again": INVALID_CONTEXT,
        "once too often": INVALID_CONTEXT,
    }
    assert played.violations == [
        "cuCtxSetCurrent: there is no such context",
        "cuDevicePrimaryCtxRelease_v2: the primary context is not retained",
    ]


def test_memory_is_guarded(scene: Scene) -> None:
    played = scene("card_scenes:memory")
    assert played.answer == {
        "aligned": 0,
        "used": 1024,  # 1000 in whole granules of 512
        "fresh": [255],
        "room": [1000, 999, 1, 0, 0],
        "read": [*range(200, 250), *range(50)],
        "too much": INVALID_VALUE,
        "set too much": INVALID_VALUE,
        "not its start": INVALID_VALUE,
        "nothing": INVALID_VALUE,
        "freed": INVALID_VALUE,
        "freed again": INVALID_VALUE,
        "restored": True,
        "not given out again": True,
    }
    assert played.violations == [
        "cuMemcpyDtoH_v2: no allocation holds these device bytes",
        "cuMemsetD8Async: no allocation holds these bytes",
        "cuMemFree_v2: no allocation begins there",
        "cuMemcpyDtoH_v2: no allocation holds these device bytes",
        "cuMemFree_v2: no allocation begins there",
    ]


def test_memory_ends(answer: Answer) -> None:
    full = answer("card_scenes:fill_up", memory_bytes=1 << 20)
    assert full == [OUT_OF_MEMORY, OUT_OF_MEMORY, OUT_OF_MEMORY, 0, OUT_OF_MEMORY]


def test_memory_is_given_out_first_fit_and_breaks_up(answer: Answer) -> None:
    # Of 64 MiB in blocks of 10, 10, 20 and 10 the last 14 are free; then the first 10, and the 20;
    # 5 of the first 10 are taken again.
    said = answer("card_scenes:gaps", memory_bytes=64 << 20)
    assert said == [14, 14, 14, 24, 20, 44, 20, 39, 64]


def test_free_memory_is_told_in_steps(answer: Answer) -> None:
    step, card = 2 << 20, 64 << 20
    sizes = [4096, step - 8192, 4096, 512]
    said = answer("card_scenes:told_free", sizes, memory_bytes=card, memory_step_bytes=step)
    assert said == [card, card - step, card - step, card - step, card - 2 * step]


def test_untouched_memory_costs_nothing(answer: Answer) -> None:
    said = answer("card_scenes:untouched", memory_bytes=16 << 30)
    assert said["end"] == [255]
    assert said["kib"] < 50_000


@pytest.mark.parametrize("where", ["behind", "before", "freed", "inside"])
def test_the_host_dies_where_there_is_no_memory(scene: Scene, where: str) -> None:
    played = scene("card_scenes:touch", where)
    assert played.returncode == (0 if where == "inside" else -signal.SIGSEGV)


@pytest.mark.parametrize(("flags", "read"), [(1, [1, 7]), (0, [7, 7])])
def test_only_blocking_streams_are_waited_for(answer: Answer, flags: int, read: list[int]) -> None:
    assert answer("stream_scenes:laziness", flags) == read


def test_who_waits_gets_what_he_waits_for(answer: Answer) -> None:
    assert answer("stream_scenes:waiting") == {
        "nothing": [],
        "event": [1],
        "other": [1, 3],
        "context": [1, 2, 3, 4],
        "destroyed": [1, 2, 3, 4, 5],
    }


def test_a_queue_does_not_grow_without_end(answer: Answer) -> None:
    assert 0 < answer("stream_scenes:long_queue") <= 4096


def test_handles_die_with_their_objects(scene: Scene) -> None:
    played = scene("stream_scenes:wrong_handles")
    handle, value = INVALID_HANDLE, INVALID_VALUE
    assert played.answer == [handle, handle, handle, handle, value, value, 0]
    assert [line.partition(":")[0] for line in played.violations] == [
        "cuStreamSynchronize",
        "cuStreamDestroy_v2",
        "cuEventRecord",
        "cuEventDestroy_v2",
        "cuGraphDestroy",
        "cuGraphLaunch",
    ]
