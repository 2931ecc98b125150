"""Plays scenes with the emulated driver, each in a process of its own: its state is global."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.emulator.driver import Driver

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Played:
    """What came of a scene: its answer, how the process ended, and the rules that it broke."""

    answer: Any
    returncode: int
    stderr: str
    violations: list[str]


# Play ``module:function`` with these arguments and settings; the second tells only what it
# answered, and only if it ended well and broke no rule.
Scene = Callable[..., Played]
Answer = Callable[..., Any]


def play(scene: str, folder: Path, env: dict[str, str], *arguments: object) -> Played:
    """Runs ``module:function`` of this folder with a new driver, and returns what it returns."""
    answer, report = folder / "answer.json", folder / "report"
    for left in (answer, report):
        left.unlink(missing_ok=True)
    own = {"SCENE_ANSWER": str(answer), "PYHARNESS_EMULATOR_REPORT": str(report)}
    done = subprocess.run(
        [sys.executable, "-m", "tests.emulator.play", scene, json.dumps(arguments)],
        env={**os.environ, **own, **env},
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return Played(
        json.loads(answer.read_text()) if answer.exists() else None,
        done.returncode,
        done.stderr,
        report.read_text().splitlines() if report.exists() else [],
    )


def main() -> None:
    """The process that plays."""
    module, _, function = sys.argv[1].partition(":")
    scene = getattr(importlib.import_module(f"tests.emulator.{module}"), function)
    answer = scene(Driver(), *json.loads(sys.argv[2]))
    Path(os.environ["SCENE_ANSWER"]).write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
