"""What tests of several packages need: the fake library, and the few real releases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from pyharness.device.launch import worker_command
from pyharness.engine.worker import Launch
from pyharness.releases import Release, resolve
from tests.doubles.build import build_fake
from tests.emulator.build import EmulatedRelease, build_emulator, emulate

# The same examples on every machine, and no example that fails because the machine is busy.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


@pytest.fixture(scope="session")
def shared_tmp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of a test run share."""
    base = tmp_path_factory.getbasetemp()
    # With xdist each process has a folder of its own in one that all share.
    return base.parent if base.name.startswith("popen-") else base


@pytest.fixture(scope="session")
def build(shared_tmp: Path) -> Callable[..., Path]:
    """Builds a variant of the fake library, once for all processes of a test run."""
    return lambda *defines: build_fake(shared_tmp / "fake-cudnn", *defines)


@pytest.fixture(scope="session")
def fake(build: Callable[..., Path]) -> Path:
    """The fake library with everything in it."""
    return build()


@pytest.fixture
def launch(fake: Path) -> Callable[..., Launch]:
    """How to start workers on the fake library, with these settings (FAKE_CUDNN_ left out)."""

    def start(**settings: object) -> Launch:
        env = tuple((f"FAKE_CUDNN_{name}", str(value)) for name, value in settings.items())
        return Launch(worker_command(), str(fake), env)

    return start


@pytest.fixture
def fake_release(fake: Path) -> Release:
    """The fake library as a release that says what it is."""
    return Release("9.13.0.50", 12, fake, "path")


@pytest.fixture(scope="session")
def cudnn() -> Callable[[str], Release]:
    """A real release, fetched when it is not cached; without a network that is a failure."""
    return resolve


@pytest.fixture(scope="session")
def emulated_libraries(shared_tmp: Path) -> Path:
    """The folder of the emulated libcuda, libcudnn and libnvidia-ml, built anew if need be."""
    build = Path(__file__).parents[1] / "build" / "emulator-tests"
    return build_emulator(build, shared_tmp / "emulated-libraries")


@pytest.fixture
def emulator(emulated_libraries: Path, tmp_path: Path) -> Callable[..., EmulatedRelease]:
    """Emulates a real libcudnn with these settings, in a folder of its own."""

    def set_up(real: Path, /, **settings: object) -> EmulatedRelease:
        folder = tmp_path / "emulators"
        folder.mkdir(exist_ok=True)
        return emulate(
            emulated_libraries, folder / str(len(list(folder.iterdir()))), real, **settings
        )

    return set_up
