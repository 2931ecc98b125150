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

# The same examples on every machine, and no example that fails because the machine is busy.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Builds a variant of the fake library, once for all processes of a test run."""
    base = tmp_path_factory.getbasetemp()
    # With xdist each process has a folder of its own in one that all share.
    shared = base.parent if base.name.startswith("popen-") else base
    return lambda *defines: build_fake(shared / "fake-cudnn", *defines)


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
