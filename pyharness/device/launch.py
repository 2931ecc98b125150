"""How a worker process is started: the command line that engine.Worker runs."""

from __future__ import annotations

import sys
from pathlib import Path

# Isolated, so that neither the caller's folder nor PYTHONPATH decides which pyharness the worker
# finds; this package's own folder comes last, for a checkout that is used without an install.
_PROGRAM = (
    "import sys; sys.path.append(sys.argv.pop(1)); from pyharness.device.worker import main; main()"
)


def worker_command() -> list[str]:
    """The command that starts a worker; file descriptors and the library's path follow it."""
    root = Path(__file__).resolve().parents[2]
    return [sys.executable, "-I", "-c", _PROGRAM, str(root)]
