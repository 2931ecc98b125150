"""Workers for a release: the command, the library, and the environment that keeps it to itself."""

from __future__ import annotations

from collections.abc import Mapping

from pyharness.device.launch import loader_path, runner_command, worker_command
from pyharness.engine.process import Launch
from pyharness.releases.model import Release, sibling_dirs


def launch_of(release: Release) -> Launch:
    """How workers of a release are started."""
    return Launch(worker_command(), str(release.path), _environment(release))


def runner_launch_of(release: Release, env: Mapping[str, str | None] | None = None) -> Launch:
    """How runners of a release are started; ``env``: variables on top of ours, None: without."""
    variables = (*_environment(release), *(env or {}).items())
    return Launch(runner_command(), str(release.path), variables)


def _environment(release: Release) -> tuple[tuple[str, str], ...]:
    folders = release.library_dirs or sibling_dirs(release.path)
    return (("LD_LIBRARY_PATH", loader_path(folders)),)
