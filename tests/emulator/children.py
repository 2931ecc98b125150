"""Runs functions in processes of their own: what an emulated library was told holds for the whole
process.
"""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
from pathlib import Path

from tests.emulator.build import ROOT, EmulatedRelease


def run_child(
    emulated: EmulatedRelease, result: Path, name: str, *arguments: object
) -> subprocess.CompletedProcess[bytes]:
    """Calls ``module:function`` of this folder; what it returns is pickled into ``result``."""
    return subprocess.run(
        [sys.executable, "-m", "tests.emulator.children", str(result)],
        input=pickle.dumps((name, arguments)),
        env={**os.environ, **emulated.env},
        cwd=ROOT,
        check=False,
        capture_output=True,
        timeout=120,
    )


def main() -> None:
    """The process of its own."""
    name, arguments = pickle.load(sys.stdin.buffer)
    module, _, function = name.partition(":")
    scenario = getattr(importlib.import_module(f"tests.emulator.{module}"), function)
    Path(sys.argv[1]).write_bytes(pickle.dumps(scenario(*arguments)))
    sys.stderr.flush()
    os._exit(0)  # past the exit handlers of libraries whose context is gone


if __name__ == "__main__":
    main()
