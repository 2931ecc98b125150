"""Plays scenes with the emulated driver."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyharness.releases import Release
from tests.doubles.build import CSRC, build_shared
from tests.emulator.build import EmulatedRelease
from tests.emulator.children import run_child
from tests.emulator.driver import PROBE
from tests.emulator.play import Answer, Played, Scene, play

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def emulated_driver(emulated_libraries: Path, shared_tmp: Path) -> dict[str, str]:
    """The variables by which a scene finds the driver and its probe."""
    libcuda = emulated_libraries / "libcuda.so.1"
    include = (f"-I{CSRC}", f"-I{HERE}")
    probe = build_shared(
        shared_tmp / "device-probe" / "libprobe.so", *include, str(PROBE), str(libcuda)
    )
    return {
        "PYHARNESS_LIBCUDA": str(libcuda),
        "EMULATOR_PROBE": str(probe),
        "LD_LIBRARY_PATH": str(emulated_libraries),
    }


@pytest.fixture
def scene(emulated_driver: dict[str, str], tmp_path: Path) -> Scene:
    """Plays ``module:function`` in a new process, with these arguments and settings."""

    def start(name: str, /, *arguments: object, **settings: object) -> Played:
        lines = [
            f"{key}={text}"
            for key, value in settings.items()
            for text in (value if isinstance(value, list) else [value])
        ]
        env = {
            "PYHARNESS_EMULATOR": "\n".join(lines),
            "PYHARNESS_EMULATOR_STATE": str(tmp_path / "state"),
        }
        return play(name, tmp_path, {**emulated_driver, **env}, *arguments)

    return start


@pytest.fixture
def answer(scene: Scene) -> Answer:
    """What a scene answers that ends well and breaks no rule."""

    def play_well(name: str, /, *arguments: object, **settings: object) -> Any:
        played = scene(name, *arguments, **settings)
        assert played.returncode == 0, played.stderr
        assert played.violations == []
        return played.answer

    return play_well


@pytest.fixture
def child(
    emulator: Callable[..., EmulatedRelease], cudnn: Callable[[str], Release], tmp_path: Path
) -> Callable[..., Any]:
    """Calls ``module:function`` in a process of its own, on an emulated release with these
    settings; gives what it returns.
    """

    def run(name: str, *arguments: object, release: str = "9.28.0.42", **settings: object) -> Any:
        result = tmp_path / "result"
        done = run_child(emulator(cudnn(release).path, **settings), result, name, *arguments)
        assert done.returncode == 0, done.stderr.decode()[-3000:]
        return pickle.loads(result.read_bytes())

    return run
