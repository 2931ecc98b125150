"""The problems that a command runs: a set's, those of words, or those of a program's log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyharness.api.replaying import read_recording, require_problems
from pyharness.errors import UsageError
from pyharness.space.problems import NamedProblem, ProblemSet, problems_from
from pyharness.spec.stages import PASSES


def chosen_problems(
    preset: str | None, axes: Sequence[str], words: Sequence[str], logs: Sequence[str] = ()
) -> ProblemSet:
    """The problems of a preset or of key=value words, multiplied by axes; or those of logs.

    A log's problems are named by their words, each is there once, and all passes are run of it.

    Raises  UsageError for anything unknown, for logs beside another source, and for logs without
            a problem.
    """
    if not logs:
        return problems_from(preset, axes, words)
    if preset is not None or axes or words:
        raise UsageError("--log brings its own problems", "leave the others out")
    recording = read_recording(logs)
    require_problems(recording)
    names = " ".join(Path(name).name for name in logs)
    found = {r.problem.command: r.problem for r in recording.problems}
    return ProblemSet(
        f"log {names}",
        "what a program ran",
        tuple(NamedProblem(text, "log", one, PASSES) for text, one in found.items()),
    )
