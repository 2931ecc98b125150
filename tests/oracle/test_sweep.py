"""Thousands of random problems through the compiled plan on the emulator, against PyTorch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyharness.releases import Release
from tests.emulator.build import EmulatedRelease

ROOT = Path(__file__).parents[2]


def sweep(emulated: EmulatedRelease, count: int, seed: int, *types: str) -> dict[str, Any]:
    """What the program prints."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.oracle.sweep", str(emulated.cudnn)),
            *(str(emulated.libcuda), str(count), str(seed), *types),
        ],
        cwd=ROOT,
        env={**os.environ, **emulated.env},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("release", "count", "types"),
    [
        ("9.28.0.42", 2000, ("float", "double", "half", "bfloat16")),
        ("9.12.0.46", 500, ("float", "double", "half")),
        ("8.9.7.29", 500, ("float", "double", "half")),
        ("8.5.0.96", 500, ("float", "double", "half")),  # wants the lengths on the device
    ],
)
def test_every_tensor_is_pytorchs(
    release: str,
    count: int,
    types: tuple[str, ...],
    cudnn: Callable[[str], Release],
    emulator: Callable[..., EmulatedRelease],
) -> None:
    emulated = emulator(cudnn(release).path)
    found = sweep(emulated, count, 2, *types)
    assert found["differences"] == []
    assert found["problems"] == count
    assert found["tensors"] > 20 * count
    assert emulated.violations == []


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("flip:y@cudnnRNNForward:*", ": y["),
        ("flip:hy@cudnnRNNForward:*", ": hy["),
        ("flip:dx@cudnnRNNBackwardData_v8:*", ": dx["),
        ("flip:dhx@cudnnRNNBackwardData_v8:*", ": dhx["),
        ("flip:dw@cudnnRNNBackwardWeights_v8:*", ": dw."),
        ("overrun:y@cudnnRNNForward:1", "y: byte 1 behind the end"),
        ("underrun:dx@cudnnRNNBackwardData_v8:1", "dx: byte 1 before the start"),
    ],
)
def test_a_planted_fault_is_found(
    fault: str,
    says: str,
    cudnn: Callable[[str], Release],
    emulator: Callable[..., EmulatedRelease],
) -> None:
    emulated = emulator(cudnn("9.28.0.42").path, fault=fault)
    found = sweep(emulated, 12, 3, "double")
    assert any(says in line for line in found["differences"]), found["differences"]
