"""What the emulated libcudnn is told to do wrong or at what cost, it does."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyharness.releases import Release
from pyharness.spec.documented.rules import parse_version
from pyharness.spec.functions import FUNCTIONS
from pyharness.spec.statuses import known_statuses
from tests.emulator.build import EmulatedRelease
from tests.emulator.children import run_child
from tests.emulator.direct import UNTOUCHED
from tests.emulator.scenarios import NO_STATUS


@pytest.mark.parametrize(
    ("release", "status"), [("8.9.7.29", "ALLOC_FAILED"), ("9.28.0.42", "NOT_SUPPORTED_SHAPE")]
)
def test_every_call_can_be_told_to_fail(
    release: str, status: str, child: Callable[..., Any], cudnn: Callable[[str], Release]
) -> None:
    functions = [f.name for f in FUNCTIONS if f.since is None or release >= "9"]
    functions = [name for name in functions if name not in NO_STATUS]
    found = child("scenarios:each_function", release=release,
                  fault=[f"status:{status}@{name}" for name in functions])  # fmt: skip
    assert found == dict.fromkeys(functions, status)
    honest = child("scenarios:each_function", release=release)
    assert status not in honest.values()


@pytest.mark.parametrize("release", ["8.9.7.29", "9.28.0.42"])
def test_every_status_has_the_number_that_the_release_gives_it(
    release: str, child: Callable[..., Any]
) -> None:
    statuses = [s for s in known_statuses(parse_version(release)) if s.value]
    found = child(
        "scenarios:create_statuses",
        len(statuses),
        release=release,
        fault=[f"status:{s.name}@cudnnCreateRNNDescriptor:{n}" for n, s in enumerate(statuses, 1)],
    )
    assert found == [s.alias_of or s.name for s in statuses]


def test_running_out_of_memory(child: Callable[..., Any]) -> None:
    found = child("scenarios:each_function", release="8.9.7.29", fault="oom@cudnnRNNForward")
    assert found["cudnnRNNForward"] == "ALLOC_FAILED"


FORWARD, DATA, WEIGHTS = "cudnnRNNForward", "cudnnRNNBackwardData_v8", "cudnnRNNBackwardWeights_v8"
WRITTEN = {
    FORWARD: ("y", "hy", "cy", "workspace", "reserve_space"),
    DATA: ("dx", "dhx", "dcx", "workspace", "reserve_space"),
    WEIGHTS: ("dw", "workspace", "reserve_space"),
}
NAMES = {"dw": "dweights", "reserve_space": "reserve"}


def test_each_buffer_can_be_damaged(child: Callable[..., Any]) -> None:
    plans = [
        (kind, buffer, function)
        for function, buffers in WRITTEN.items()
        for buffer in buffers
        for kind in ("overrun", "underrun", "nan", "flip", "unwritten")
        # These show in the passes that come after it.
        if not (buffer == "reserve_space" and kind in ("nan", "flip", "unwritten"))
        if not (buffer == "workspace" and kind == "unwritten")
    ]
    faults = [f"{kind}:{b}@{f}:{n + 2}" for n, (kind, b, f) in enumerate(plans)]
    clean, *damaged = child("scenarios:damaged", ["", *faults], fault=faults)
    assert all(set(before + behind) == {UNTOUCHED} for before, _, behind in clean.values())
    for (kind, buffer, _), step in zip(plans, damaged, strict=True):
        name = NAMES.get(buffer, buffer)
        changed = [n for n in clean if n != "workspace" and step[n] != clean[n]]
        before, own, behind = step[name]
        if buffer != "workspace" or kind in ("overrun", "underrun"):
            assert name in changed or buffer == "workspace", (kind, buffer)
        if kind == "overrun":
            assert behind[0] != UNTOUCHED, buffer
            assert set(behind[1:] + before) == {UNTOUCHED}
        elif kind == "underrun":
            assert before[-1] != UNTOUCHED, buffer
            assert set(before[:-1] + behind) == {UNTOUCHED}
        else:
            assert set(before + behind) == {UNTOUCHED}
        if buffer == "workspace":
            continue
        values = np.frombuffer(own, np.float64)
        good = np.frombuffer(clean[name][1], np.float64)
        if kind == "nan":
            assert np.isnan(values[0])
            np.testing.assert_array_equal(values[1:], good[1:])
        elif kind == "flip":
            flips = np.unpackbits(
                np.frombuffer(own, np.uint8) ^ np.frombuffer(clean[name][1], np.uint8)
            )
            assert flips.sum() == 1
        elif kind == "unwritten":
            assert set(own) == ({0} if buffer == "dw" else {UNTOUCHED})


def test_a_damaged_tape_shows_in_the_gradients(child: Callable[..., Any]) -> None:
    clean, damaged = child("scenarios:damaged", ["", "nan"], fault=f"nan:reserve_space@{DATA}:2")
    assert clean["dx"] == damaged["dx"]
    assert np.isnan(np.frombuffer(damaged["dweights"][1], np.float64)).any()


def test_a_fault_that_the_call_cannot_have_is_refused(
    emulator: Callable[..., EmulatedRelease], cudnn: Callable[[str], Release], tmp_path: Path
) -> None:
    emulated = emulator(cudnn("9.28.0.42").path, fault=f"nan:dx@{FORWARD}")
    done = run_child(emulated, tmp_path / "result", "scenarios:untouched")
    assert done.returncode == 2
    assert b"this call of cudnnRNNForward writes no dx" in done.stderr


def test_an_error_sticks(child: Callable[..., Any]) -> None:
    first, waited, after, reason = child("scenarios:sticky", fault="sticky@cudnnRNNForward")
    assert (first, waited, after) == ("SUCCESS", 700, "EXECUTION_FAILED")
    assert "sticks" in reason


def test_a_crash_ends_the_process(
    emulator: Callable[..., EmulatedRelease], cudnn: Callable[[str], Release], tmp_path: Path
) -> None:
    emulated = emulator(cudnn("9.28.0.42").path, fault="crash@cudnnRNNForward")
    done = run_child(emulated, tmp_path / "result", "scenarios:untouched")
    assert done.returncode == -signal.SIGSEGV


def test_graphs_of_passes(child: Callable[..., Any]) -> None:
    assert child("scenarios:captured", False) == (0, [])
    # Launched twice, a backward data pass finds its reserve space used up.
    error, found = child("scenarios:captured", True)
    assert (error, len(found)) == (0, 1)
    assert "was used up" in found[0]
    assert child("scenarios:captured_between") == ("SUCCESS", [])
    error, found = child("scenarios:captured", False, fault=f"uncapturable@{DATA}")
    assert (error, found) == (901, [])


def test_passes_cost_what_they_are_told_to(child: Callable[..., Any]) -> None:
    times, host = child(
        "scenarios:costs", **{"cost_ns": 4000, "cost_ns.backward_data": 9000, "enqueue_us": 3000}
    )
    assert times == pytest.approx([4000, 4000, 9000, 4000], rel=1e-3)
    assert all(0.003 <= seconds < 3 for seconds in host)  # not milliseconds
    # 2 layers of 4 gates: 4 x (4 x 3 + 3 x 4 x 4) multiplications for each of 12 steps
    times, _ = child("scenarios:costs", flops_per_s=1e9)
    assert times == pytest.approx([2 * 240 * 12] * 4, rel=1e-3)


def test_nothing_is_calculated_without_compute(child: Callable[..., Any]) -> None:
    assert child("scenarios:untouched", compute="off") is True
    assert child("scenarios:untouched") is False
