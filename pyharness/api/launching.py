"""Workers for a release: the command, the library, and the environment that keeps it to itself."""

from __future__ import annotations

from pyharness.device.launch import loader_path, worker_command
from pyharness.engine.worker import Launch
from pyharness.releases.model import Release, sibling_dirs


def launch_of(release: Release) -> Launch:
    """How workers of a release are started."""
    folders = release.library_dirs or sibling_dirs(release.path)
    return Launch(worker_command(), str(release.path), (("LD_LIBRARY_PATH", loader_path(folders)),))
