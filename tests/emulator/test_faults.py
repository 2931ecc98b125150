"""Faults that are planted in the emulated libcuda, settings, and what is left behind."""

from __future__ import annotations

import os
import signal

import pytest

from tests.emulator.driver import SIGNATURES
from tests.emulator.play import Answer, Scene

ILLEGAL_ADDRESS = 700


def test_a_status_can_be_planted_in_every_function(scene: Scene) -> None:
    without = answer_of_calls(scene, [])
    faults = [f"status:999@{name}:2" for name in without]
    with_faults = answer_of_calls(scene, faults)
    names = set(SIGNATURES) - {"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2"}
    assert set(without) == names
    setup = {"cuInit", "cuCtxSetCurrent"}  # the scene calls these before
    for name in names:
        assert 999 not in without[name], name
        first, second = with_faults[name]
        assert (first if name in setup else second) == 999, name
        assert (second if name in setup else first) == without[name][0], name


def answer_of_calls(scene: Scene, faults: list[str]) -> dict[str, list[int]]:
    played = scene("fault_scenes:every_call", fault=faults)
    assert played.returncode == 0, played.stderr
    return played.answer


@pytest.mark.parametrize("name", ["cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2"])
def test_a_status_can_be_planted_in_the_contexts_functions(scene: Scene, name: str) -> None:
    played = scene("fault_scenes:leave", [], fault=f"status:46@{name}")
    if name.endswith("Retain"):
        assert "DriverError: (46, 'cuDevicePrimaryCtxRetain')" in played.stderr
    else:
        assert (played.answer, played.violations) == (46, [])


@pytest.mark.parametrize(
    ("calls", "refused"),
    [("", [2, 0, 0, 0]), (":3", [0, 0, 2, 0]), (":3+", [0, 0, 2, 2]), (":*", [2, 2, 2, 2])],
)
def test_the_nth_call_or_all_from_it_on(answer: Answer, calls: str, refused: list[int]) -> None:
    assert answer("fault_scenes:allocations", 4, fault=f"oom@cuMemAlloc_v2{calls}") == refused


@pytest.mark.parametrize(
    ("fault", "returncode"),
    [("crash", -signal.SIGSEGV), ("abort", -signal.SIGABRT), ("exit:37", 37)],
)
def test_the_process_can_be_made_to_die(scene: Scene, fault: str, returncode: int) -> None:
    played = scene("fault_scenes:allocations", 4, fault=f"{fault}@cuMemAlloc_v2:2")
    assert played.returncode == returncode
    assert played.answer is None
    assert scene("fault_scenes:allocations", 1, fault=f"{fault}@cuMemAlloc_v2:2").answer == [0]


def test_it_can_be_slow_or_hang(answer: Answer, scene: Scene) -> None:
    start = os.times().elapsed
    assert answer("fault_scenes:allocations", 2, fault="slow:0.5@cuMemAlloc_v2:*") == [0, 0]
    assert os.times().elapsed - start > 1.0
    played = scene("fault_scenes:hang_for", 0.3, fault="hang@cuInit")
    assert played.returncode == -signal.SIGALRM


@pytest.mark.parametrize("how", ["pass", "memset"])
def test_an_error_of_the_work_sticks(answer: Answer, how: str) -> None:
    fault = ["sticky@cuMemsetD8Async"] if how == "memset" else []
    said = answer("fault_scenes:sticky", how, fault=fault)
    bad = ILLEGAL_ADDRESS
    assert said == {
        "queued": 0,
        "sync": bad,
        "done": [1],
        "usable": False,
        "free": bad,
        "event": bad,
        "pass": False,
        "release": bad,
        "retain": bad,
    }


def test_faults_of_cudnn_are_counted_from_when_they_were_set(answer: Answer) -> None:
    faults = ["overrun:y@cudnnRNNForward:2", "status:BAD_PARAM@cudnnRNNForward:2+"]
    said = answer("fault_scenes:entered", "cudnnRNNForward", 3, fault=faults)
    assert said == ["", "overrun:y status:BAD_PARAM", "status:BAD_PARAM"]
    assert answer("fault_scenes:entered", "cudnnCreate", 3, fault=faults) == ["", "", ""]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("colour=red", "there is no setting 'colour'"),
        ("slower", "'slower' is not key=value"),
        ("slower=much", "'much' is no value of the setting slower"),
        ("cost_ns=-1", "'-1' is no value of the setting cost_ns"),
        ("devices=17", "'17' is no value of the setting devices"),
        ("compute=maybe", "'maybe' is no value of the setting compute"),
        ("throttle=after:1", "'after:1' is no value of the setting throttle"),
        ("outliers=2:10", "'2:10' is no value of the setting outliers"),
        ("compute_capability=9", "'9' is no value of the setting compute_capability"),
        ("wrong=order_graph,rain", "'order_graph,rain' is no value of the setting wrong"),
        ("wrong=inference,", "'inference,' is no value of the setting wrong"),
        ("fault=oom", "there is no @FUNCTION"),
        ("fault=oom@cuMalloc", "nothing calls cuMalloc"),
        ("fault=rain@cuInit", "there is no kind rain"),
        ("fault=status:BAD_PARAM@cuInit", "'BAD_PARAM' cannot be done there"),
        ("fault=nan:z@cudnnRNNForward", "'z' cannot be done there"),
        ("fault=leak_device@cuInit", "'' cannot be done there"),
        ("fault=leak_host:0@cuInit", "'0' cannot be done there"),
        ("fault=fragment:x@cuInit", "'x' cannot be done there"),
        ("memory_step_bytes=2M", "'2M' is no value of the setting memory_step_bytes"),
        ("fault=nan:y@cuInit", "'y' cannot be done there"),
        ("fault=oom@cuInit:0", "after the function may stand N, N+ or *"),
    ],
)
def test_a_setting_that_cannot_be_read_ends_the_process(
    scene: Scene, text: str, words: str
) -> None:
    key, _, value = text.partition("=")
    played = scene("fault_scenes:initialise", **({key: value} if value else {"name": f"x;{key}"}))
    assert played.returncode == 2
    assert words in played.stderr


def test_later_settings_win(answer: Answer) -> None:
    assert answer("fault_scenes:configured", "slower=2; slower=3\n\n", "slower", slower=4) == 3
    assert answer("fault_scenes:configured", "", "slower", slower=4) == 4
    assert answer("fault_scenes:configured", "", "slower") == -1


# What is left behind

KINDS = ["allocation", "event", "graph", "executable graph", "stream"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_left_behind_is_reported(scene: Scene, kind: str) -> None:
    played = scene("fault_scenes:leave", [kind])
    assert played.answer == 0
    assert played.violations == [f"cuDevicePrimaryCtxRelease_v2: 1 {kind} left behind"]


def test_objects_of_cudnn_are_reported_too(scene: Scene) -> None:
    played = scene("fault_scenes:leave", ["handle"])
    assert played.violations == ["cuDevicePrimaryCtxRelease_v2: 1 handle not destroyed"]
    played = scene("fault_scenes:destroyed_twice")
    assert played.answer == [True, False]
    assert played.violations == ["probe: there is no such handle"]


def test_who_tidies_up_is_not_reported(answer: Answer) -> None:
    assert answer("fault_scenes:leave", []) == 0


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        ("cuMemFree_v2", "allocation"),
        ("cuEventDestroy_v2", "event"),
        ("cuStreamDestroy_v2", "stream"),
        ("cuGraphDestroy", "graph"),
        ("cuGraphExecDestroy", "executable graph"),
    ],
)
def test_a_leak_can_be_planted(scene: Scene, function: str, kind: str) -> None:
    played = scene("fault_scenes:leave", [], fault=f"leak@{function}")
    assert played.violations == [f"cuDevicePrimaryCtxRelease_v2: 1 {kind} left behind"]


def test_memory_of_the_card_leaks(scene: Scene) -> None:
    fault = "leak_device:4096@cudnnRNNForward:2+"
    played = scene("card_scenes:spoiled", "cudnnRNNForward", 3, memory_bytes=64 << 20, fault=fault)
    assert [used for used, _ in played.answer] == [0, 0, 4096, 8192]
    assert played.violations == ["cuDevicePrimaryCtxRelease_v2: 2 allocation left behind"]


def test_memory_of_the_card_breaks_up(scene: Scene) -> None:
    fault = "fragment:1048576@cudnnRNNForward:*"
    played = scene("card_scenes:spoiled", "cudnnRNNForward", 4, memory_bytes=65 << 20, fault=fault)
    mib = 1 << 20
    # A MiB is taken at first; what is in use stays the same, and the other 64 are cut in halves.
    assert [used for used, _ in played.answer] == [0, mib, mib, mib, mib]
    assert [block for _, block in played.answer] == [64, 64, 32, 32, 16]


def test_memory_of_the_host_leaks(answer: Answer) -> None:
    fault = "leak_host:4096@cudnnRNNForward:*"
    grown = answer("card_scenes:host_growth", "cudnnRNNForward", 1000, fault=fault)
    assert 4000 * 1000 <= grown < 4200 * 1000
    assert answer("card_scenes:host_growth", "cudnnRNNForward", 1000) < 100_000
