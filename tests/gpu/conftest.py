"""A device for the tests that need one: PYHARNESS_CHECK_CUDNN (a release, default installed) on
the driver that PYHARNESS_LIBCUDA names.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from pyharness.api.device import chosen_libcuda, device_here
from pyharness.api.launching import runner_launch_of
from pyharness.releases import Release, resolve
from pyharness.spec.plan_settings import plan_settings
from pyharness.spec.problem import Problem

ROOT = str(Path(__file__).parents[2])
# The installed pyharness comes before the sources, which have no compiled part.
_PROGRAM = (
    "import sys; sys.path.append(sys.argv.pop(1)); "
    "from tests.gpu.device_process import main; main()"
)
_LIMIT_S = 60.0  # kernels are loaded and compiled


class Gpu:
    """A process that holds the device and the library; a new one after it has ended.

    ``facts``  of the device, whether it is emulated, and cudnn, the number of the version.
    """

    def __init__(self, release: Release) -> None:
        self.release = release
        self._process: subprocess.Popen[bytes] | None = None
        self._start()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        launch = runner_launch_of(self.release)
        env = {
            **os.environ,
            **dict(launch.env),
            "TEST_CUDNN": launch.library,
            "PYHARNESS_LIBCUDA": chosen_libcuda(),
        }
        with theirs:
            command = [sys.executable, "-I", "-c", _PROGRAM, ROOT, str(theirs.fileno())]
            self._process = subprocess.Popen(
                command, env=env, pass_fds=[theirs.fileno()], stdout=sys.stderr
            )
        self._connection = Connection(ours.detach())
        self.facts: dict[str, Any] = self._receive()

    def _receive(self) -> Any:
        try:
            if not self._connection.poll(_LIMIT_S):
                pytest.fail(f"the device gave no answer for {_LIMIT_S:g} s")
            answer = self._connection.recv()
        except (EOFError, ConnectionError):
            self.close()
            pytest.fail("the process that holds the device ended")
        return answer

    def run(self, problem: Problem) -> dict[str, Any]:
        """What device_process.through answers."""
        if self._process is None or self._process.poll() is not None:
            self._start()
        self._connection.send(plan_settings(problem))
        answer: dict[str, Any] = self._receive()
        if "raised" in answer:
            self.close()
            pytest.fail(f"{problem.command}: {answer['raised']}")
        return answer

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._connection.close()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = None


@pytest.fixture(scope="session")
def release_here() -> Release:
    """The release under test; without a GPU that is the end of the tests that want one."""
    here = device_here()
    if not here.gpus:
        pytest.exit(f"these tests need a GPU: {here.why}", returncode=1)
    return resolve(os.environ.get("PYHARNESS_CHECK_CUDNN") or "installed", allow_fetch=False)


@pytest.fixture(scope="session")
def gpu(release_here: Release) -> Iterator[Gpu]:
    """The device."""
    started = Gpu(release_here)
    yield started
    started.close()
