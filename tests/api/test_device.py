"""Why there is no device to run on: each message, by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pyharness.api import device
from pyharness.api.device import device_here, open_runner
from pyharness.api.driver import chosen_libcuda, is_emulated
from pyharness.errors import HarnessError
from pyharness.releases import Release
from pyharness.releases.dependencies import missing_on_device, missing_toolkit
from pyharness.spec.device_facts import DeviceFacts
from pyharness.spec.problem import parse_problem
from tests.emulator.build import EmulatedRelease

Cudnn = Callable[[str], Release]
Emulator = Callable[..., EmulatedRelease]
RELEASE = "9.28.0.42"
FACTS = DeviceFacts("Card", "9.0", 1 << 36, 132, 50 << 20, "0000:01:00.0", 13000, emulated=True)


@pytest.fixture
def emulate(
    emulator: Emulator, cudnn: Cudnn, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Release]:
    """An emulated release with these settings, and the variables that choose its libcuda."""

    def set_up(**settings: object) -> Release:
        made = emulator(cudnn(RELEASE).path, **settings)
        for name, value in made.env.items():
            monkeypatch.setenv(name, value)
        return Release(None, None, made.cudnn, "path")

    return set_up


def refused(release: Release, ordinal: int = 0) -> HarnessError:
    with pytest.raises(HarnessError) as caught:
        open_runner(release, ordinal)
    return caught.value


def test_a_device_that_is_there(emulate: Callable[..., Release]) -> None:
    release = emulate(name="Card", devices=2, memory_bytes=1 << 30, compute_capability="7.5")
    assert is_emulated(release)
    assert chosen_libcuda() == str(release.path.with_name("libcuda.so.1"))
    here = device_here()
    assert here.why == ""
    assert [(g.name, g.memory_bytes, g.compute_capability) for g in here.gpus] == [
        ("Card", 1 << 30, "7.5")
    ] * 2
    with open_runner(release, 1) as runner:
        assert runner.facts.compute_capability == "7.5"
        assert runner.sizes(parse_problem([])).failure is None


def test_a_runner_with_variables_of_its_own(
    emulate: Callable[..., Release], monkeypatch: pytest.MonkeyPatch
) -> None:
    release = emulate(name="Card")  # libcuda reads its name from this variable
    with open_runner(release, env={"PYHARNESS_EMULATOR": "name=Other"}) as runner:
        assert runner.facts.name == "Other"
    with open_runner(release, env={"PYHARNESS_EMULATOR": None}) as runner:
        assert runner.facts.name not in ("Card", "Other")
    with open_runner(release) as runner:
        assert runner.facts.name == "Card"


def test_the_systems_driver_where_no_other_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYHARNESS_LIBCUDA", raising=False)
    assert chosen_libcuda() == "libcuda.so.1"
    monkeypatch.setenv("PYHARNESS_LIBCUDA", "")
    assert chosen_libcuda() == "libcuda.so.1"


DOCTOR = "`pyharness doctor` shows what is here, and what mends it"
BAD: list[tuple[dict[str, object], int, str, str]] = [
    (
        {"devices": 0},
        0,
        "there is no GPU: cuInit: CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected",
        DOCTOR,
    ),
    ({"devices": 1}, 1, "there is no device 1: the CUDA driver has 1", "allowed for --device: 0"),
    (
        {"devices": 3},
        7,
        "there is no device 7: the CUDA driver has 3",
        "allowed for --device: 0 to 2",
    ),
    (
        {
            "name": "Old Card",
            "compute_capability": "3.5",
            "fault": "status:NOT_SUPPORTED_ARCH_MISMATCH@cudnnCreate",
        },
        0,
        "cuDNN {path} does not support this GPU: Old Card, compute capability 3.5 "
        "(cudnnCreate: NOT_SUPPORTED_ARCH_MISMATCH)",
        "choose another release: older GPUs need an older one, newer GPUs a newer one; "
        "`pyharness releases` lists them",
    ),
]


@pytest.mark.parametrize(("settings", "ordinal", "message", "hint"), BAD)
def test_bad_input(
    emulate: Callable[..., Release],
    settings: dict[str, object],
    ordinal: int,
    message: str,
    hint: str,
) -> None:
    release = emulate(**settings)
    error = refused(release, ordinal)
    assert (error.message, error.hint) == (message.format(path=release.path), hint)
    assert error.exit_code == 2


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            "status:NOT_INITIALIZED@cudnnCreate",
            "cuDNN {path} cannot be used on the device: cudnnCreate answers NOT_INITIALIZED: "
            "planted fault",
        ),
        (
            "abort@cudnnCreate",
            "the worker ended while it opened cuDNN {path} on the device: SIGABRT",
        ),
        (
            "status:46@cuDevicePrimaryCtxRetain",
            "device 0 cannot be used: cuDevicePrimaryCtxRetain: CUDA_ERROR_DEVICE_UNAVAILABLE "
            "(46): CUDA-capable device(s) is/are busy or unavailable",
        ),
    ],
)
def test_what_no_other_command_would_mend(
    emulate: Callable[..., Release], fault: str, message: str
) -> None:
    release = emulate(fault=fault)
    error = refused(release)
    assert error.message.startswith(message.format(path=release.path).partition(" CUDA_ERROR")[0])
    assert error.exit_code == 1


def test_no_driver(cudnn: Cudnn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_LIBCUDA", "/nowhere/libcuda.so.1")
    error = refused(cudnn(RELEASE))
    assert error.message.startswith("there is no CUDA driver: ")
    assert "/nowhere/libcuda.so.1" in error.message
    assert "cannot open shared object file" in error.message
    assert (error.hint, error.exit_code) == (DOCTOR, 2)
    here = device_here()
    assert here.gpus == ()
    assert "/nowhere/libcuda.so.1: cannot open shared object file" in here.why


def test_a_driver_that_lacks_a_function(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_LIBCUDA", str(fake))
    error = refused(Release("9.13.0.50", 12, fake, "path"))
    assert error.message.startswith("there is no CUDA driver: ")
    assert "cuInit" in error.message
    assert error.exit_code == 2
    assert device_here().gpus == ()


def test_a_library_without_the_calls_of_a_gpu(emulate: Callable[..., Release], fake: Path) -> None:
    emulate()
    error = refused(Release("9.13.0.50", 12, fake, "path"))
    assert error.message.startswith(f"{fake} cannot be used as cuDNN: ")
    assert "cudnnCreate" in error.message
    assert error.exit_code == 2


def test_a_file_that_is_no_library(emulate: Callable[..., Release], tmp_path: Path) -> None:
    emulate()
    text = tmp_path / "libcudnn.so.9"
    text.write_text("no library")
    error = refused(Release(None, None, text, "path"))
    assert error.message.startswith(f"{text} cannot be used as cuDNN: ")
    assert error.exit_code == 2


def test_a_probe_that_dies_or_hangs_is_no_gpu(
    emulate: Callable[..., Release], monkeypatch: pytest.MonkeyPatch
) -> None:
    emulate(fault="crash@cuInit")
    here = device_here()
    assert here.gpus == ()
    assert "SIGSEGV" in here.why
    monkeypatch.setattr("pyharness.doctor.driver._TIMEOUT_S", 0.5)
    emulate(fault="hang@cuInit")
    assert "did not answer" in device_here().why


@pytest.fixture
def light(cudnn: Cudnn, tmp_path: Path) -> Release:
    """A release as it is fetched for the host alone, whatever the cache has of it by now."""
    whole = cudnn(RELEASE)
    folder = tmp_path / "nvidia" / "cudnn" / "lib"
    folder.mkdir(parents=True)
    for file in whole.path.parent.iterdir():
        if file.name.startswith(
            ("libcudnn.so", *(f"libcudnn_{p}" for p in ("adv", "graph", "ops")))
        ):
            (folder / file.name).symlink_to(file)
    return replace(whole, path=folder / whole.path.name, library_dirs=(folder,))


def test_a_light_release_on_a_gpu_needs_more(
    emulate: Callable[..., Release], light: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """cuBLAS and NVRTC are asked for before the first case; the double needs none."""
    missing = ["libcublas.so.12", "libcublasLt.so.12", "libnvrtc.so.12"]
    monkeypatch.setenv("LD_LIBRARY_PATH", "")
    assert missing_toolkit(light.path, 12, light.library_dirs) == missing
    assert missing_on_device(light.path) == [
        f"libcudnn_{part}.so.9"
        for part in ("cnn", "heuristic", "engines_precompiled", "engines_runtime_compiled")
    ]
    with open_runner(emulate()):
        pass  # a double needs none

    class OnRealCard:
        def __init__(self, *_: object) -> None:
            self.facts = replace(FACTS, emulated=False)

        def close(self) -> None:
            closed.append(True)

    closed: list[bool] = []
    monkeypatch.setattr(device, "Runner", OnRealCard)
    error = refused(light)
    assert closed == [True]
    assert error.message == (
        "cuDNN 9.28.0.42+cu12 runs on a GPU only with libcublas.so.12, libcublasLt.so.12, "
        "libnvrtc.so.12, which are not found"
    )
    assert error.hint == ("`pyharness fetch 9.28.0.42+cu12 --full` brings all that a GPU run needs")
    assert error.exit_code == 2


def test_a_toolkit_beside_the_release_is_found(cudnn: Cudnn, tmp_path: Path) -> None:
    light = cudnn(RELEASE)
    folder = tmp_path / "nvidia/cudnn/lib"
    folder.mkdir(parents=True)
    for library in light.path.parent.glob("libcudnn*.so.9"):
        (folder / library.name).symlink_to(library)
    path = folder / light.path.name
    beside = tmp_path / "nvidia/cublas/lib"
    beside.mkdir(parents=True)
    (beside / "libcublas.so.12").touch()
    assert missing_toolkit(path, 12, ()) == ["libcublasLt.so.12", "libnvrtc.so.12"]
    (beside / "libcublasLt.so.12").touch()
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "libnvrtc.so.12").touch()
    assert missing_toolkit(path, 12, ()) == ["libnvrtc.so.12"]
    assert missing_toolkit(path, 12, (other,)) == []
    assert missing_toolkit(path, None, ()) == []


def test_what_brings_the_libraries_of_a_release_that_was_not_fetched(light: Release) -> None:
    release = replace(light, origin="installed")
    error: Any = device._toolkit_missing(release)
    assert "install nvidia-cublas-cu12, nvidia-cuda-nvrtc-cu12" in error.hint
    assert "`pyharness fetch VERSION --full`" in error.hint
