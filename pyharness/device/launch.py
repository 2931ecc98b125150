"""How worker processes are started: the command lines that engine.process runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

# Isolated, so that neither the caller's folder nor PYTHONPATH decides which pyharness the worker
# finds; this package's own folder comes last, for a checkout that is used without an install.
_PROGRAM = (
    "import sys; sys.path.append(sys.argv.pop(1)); from pyharness.device.{} import main; main()"
)


def worker_command() -> list[str]:
    """The command that starts a worker; file descriptors and the library's path follow it."""
    return _command("worker")


def runner_command() -> list[str]:
    """The command that starts a runner, a worker for device work; what follows is the same."""
    return _command("runner")


def _command(module: str) -> list[str]:
    root = Path(__file__).resolve().parents[2]
    return [sys.executable, "-I", "-c", _PROGRAM.format(module), str(root)]


def loader_path(folders: Sequence[Path]) -> str:
    """LD_LIBRARY_PATH for a worker: the library's own folders, then what was set.

    The loader looks there before it looks where a library says (RUNPATH), so another cuDNN of the
    same major in the caller's path would lend its sublibraries to this one, and answer for it.
    """
    given = os.environ.get("LD_LIBRARY_PATH", "")
    return os.pathsep.join([*(str(f) for f in folders), *([given] if given else [])])
