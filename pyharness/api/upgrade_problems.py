"""What an upgrade is tried with on a GPU: where, which problems, and what repeats it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyharness.analyze.upgrade import Part
from pyharness.api.device import device_here
from pyharness.api.driver import driver_findable, require_driver
from pyharness.api.onward import DeviceChoice
from pyharness.errors import UsageError
from pyharness.releases.locate import INSTALLED, is_latest
from pyharness.releases.model import Release, parse_request
from pyharness.space.problems import NamedProblem, ProblemSet, build_problems
from pyharness.spec.recording import Recording
from pyharness.spec.stages import PASSES

DEFAULT_PROBLEMS = "smoke"


@dataclass(frozen=True, slots=True)
class Gpu:
    """The device to use."""

    ordinal: int
    name: str


def gpu_of(device: DeviceChoice) -> Gpu | str:
    """The device that is chosen, or why none is used.

    Raises  UsageError if one is asked for by number that is not there.
    """
    if device == "none":
        return "--no-device is given"
    if device == "first":
        here = device_here() if driver_findable() else None
        return Gpu(0, here.gpus[0].name) if here is not None and here.gpus else "no GPU here"
    require_driver()
    gpus = device_here().gpus
    if device >= len(gpus):
        allowed = ", ".join(str(i) for i in range(len(gpus)))
        raise UsageError(
            f"there is no device {device}: the CUDA driver has {len(gpus)}",
            f"allowed for --device: {allowed}" if gpus else "leave --device out",
        )
    return Gpu(device, gpus[device].name)


def problems_of(recording: Recording) -> tuple[ProblemSet, dict[str, int]]:
    """A log's problems, the most frequent first, and how often it has each, by its words."""
    times: Counter[str] = Counter()
    found: dict[str, NamedProblem] = {}
    for recorded in recording.problems:
        text = recorded.problem.command
        times[text] += recorded.count
        found.setdefault(text, NamedProblem(text, "log", recorded.problem, PASSES))
    names = " ".join(Path(name).name for name in recording.files)
    ordered = tuple(found[text] for text, _ in times.most_common())
    return ProblemSet(f"log {names}", "what a program ran", ordered), dict(times)


def named_problems(text: str) -> ProblemSet:
    """The set that a text names, changed by the name=values words behind its name.

    Raises  what build_problems raises; UsageError for no name.
    """
    name, *axes = text.split() or [text]
    return build_problems(name, axes)


def lasting(side: Release, text: str) -> str:
    """A text for a release that means the same one on another day, in what repeats a line."""
    if text == INSTALLED:
        return str(side.path)
    versions = is_latest(text) or parse_request(text) is not None
    return side.name if versions and text != side.version else text


def commands_of(
    old: str, new: str, logs: Sequence[str], problems: str, ordinal: int, limit: Sequence[str]
) -> dict[Part, list[str]]:
    """What repeats each part.

    ``problems``  the set to run, where there is no log, see named_problems.
    ``limit``     words that give each call its time, if that is not the usual one.
    """
    name, *axes = problems.split()
    what = [word for log in logs for word in ("--log", log)]
    what = what or ["--preset", name, *(word for axis in axes for word in ("--axis", axis))]
    what += [*(["--device", str(ordinal)] if ordinal else []), *limit]

    def written(*words: str) -> str:
        return shlex.join(("pyharness", *words, *what))

    def each(*words: str) -> list[str]:
        return [written(*words, "--cudnn", side) for side in (old, new)]

    return {
        "stages": each("map", "--stages", "all"),
        "time": [written("time", old, new)],
        "memory": each("memory"),
        "determinism": each("determinism"),
        "accuracy": each("accuracy"),
        "drift": [written("drift", old, new)],
    }
