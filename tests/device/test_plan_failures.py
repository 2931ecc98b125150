"""What plans say when something fails, or is asked for at the wrong time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pyharness.releases import Release
from tests.device import planning
from tests.device.planning import ROAD, Ask, settings
from tests.emulator.build import EmulatedRelease


@pytest.mark.parametrize(
    ("fault", "error", "arguments"),
    [
        ("status:NOT_SUPPORTED@cudnnGetRNNWeightParams:3", "CudnnError",
         ("cudnnGetRNNWeightParams", 3000)),
        ("status:ARCH_MISMATCH@cudnnCreate", "CudnnError", ("cudnnCreate", 3007)),
        ("status:BAD_PARAM@cudnnSetStream", "CudnnError", ("cudnnSetStream", 2000)),
        ("status:INTERNAL_ERROR@cudnnDestroyTensorDescriptor:2", "CudnnError",
         ("cudnnDestroyTensorDescriptor", 4000)),
        ("sticky@cudnnRNNBackwardData_v8", "CudaError",
         ("cuCtxSynchronize", 700, "CUDA_ERROR_ILLEGAL_ADDRESS")),
        ("status:999@cuMemcpyHtoD_v2:5", "CudaError", ("cuMemcpyHtoD_v2", 999)),
        ("status:2@cuStreamCreate", "CudaError", ("cuStreamCreate", 2)),
        ("status:101@cuDevicePrimaryCtxRetain", "CudaError", ("cuDevicePrimaryCtxRetain", 101)),
    ],
)  # fmt: skip
def test_what_fails_outside_a_stage_is_raised(
    ask: Ask, fault: str, error: str, arguments: tuple[object, ...]
) -> None:
    # An object that could not be destroyed is left behind, and the emulator says so.
    kept = ["cuDevicePrimaryCtxRelease_v2: 1 tensor descriptor not destroyed"]
    said = ask(planning.raised, settings(), ROAD, fault=fault,
               broken=kept if "Destroy" in fault else [])  # fmt: skip
    assert said["error"] == error
    assert said["args"][: len(arguments)] == arguments
    assert said["kept"] in (0, None)


def test_a_device_that_fails_later_is_blamed_on_the_call_that_it_was_on(ask: Ask) -> None:
    said = ask(planning.raised, settings(), ROAD, fault="sticky@cudnnRNNBackwardWeights_v8")
    assert said["trace"] == ("backward_weights", "cudnnRNNBackwardWeights_v8")


def test_what_comes_out_of_order_is_refused(ask: Ask) -> None:
    assert ask(planning.out_of_order, settings()) == [
        "RuntimeError: sizes must have been asked for first",
        "RuntimeError: sizes must have been asked for first",
        "RuntimeError: the stage sizes is out of order",
        "RuntimeError: the plan has no memory yet",
        "ValueError: no pass is called forwards",
        "RuntimeError: the plan has no memory yet",
        "RuntimeError: the plan has its memory already",
        "RuntimeError: the stage build is out of order",
        "ValueError: no buffer is called z",
        "ValueError: x has 240 bytes, not 9",
        "ValueError: no buffer is called z",
        "ValueError: no way of sampling is called lukewarm",
        "RuntimeError: the pass has not been captured",
        "RuntimeError: another plan is still open in the arena",
        "RuntimeError: another plan is still open in the arena",
        "RuntimeError: the plan has the memory of inference alone",
        "RuntimeError: the plan has the memory of inference alone",
        "RuntimeError: the plan has its memory already",
        "RuntimeError: the plan is closed",
        "RuntimeError: the plan is closed",
        "ValueError: no setting is called hidden",
        "ValueError: a list of lengths is shorter than its batch",
        "ValueError: dev_seq_lengths is 0, 1 or 2",
        "ValueError: alignment is a multiple of 16 below 256",
        "ValueError: alignment is a multiple of 16 below 256",
        "KeyError: seed",
        "RuntimeError: the device is closed",
        "RuntimeError: the device is closed",
    ]


def test_a_device_says_what_it_is(ask: Ask) -> None:
    said = ask(planning.facts, name="Emulated H1", compute_capability="9.0", multiprocessors=132,
               memory_bytes=1 << 30, l2_bytes=50 << 20, driver_version=13000)  # fmt: skip
    assert said.pop("pci_bus_id")
    assert said == {
        "name": "Emulated H1", "compute_capability": "9.0", "memory_bytes": 1 << 30,
        "multiprocessors": 132, "l2_bytes": 50 << 20, "driver_version": 13000,
        "emulated": True, "version": 13000, "count": 1,
    }  # fmt: skip


def test_a_library_without_the_device_path_is_named(
    emulated_libraries: Path, emulator: Callable[..., EmulatedRelease],
    cudnn: Callable[[str], Release], build: Callable[..., Path],
) -> None:  # fmt: skip
    release = emulator(cudnn("9.28.0.42+cu12").path)
    said = planning.ask(str(build()), release.env, "raised", settings(), ROAD)
    assert said["error"] == "LoadError"
    assert "has no cudnnCreate, cudnnDestroy, cudnnSetStream, " in said["args"][0]
    assert release.violations == []
