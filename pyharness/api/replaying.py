"""Replay: what production recorded in API logs, tried on other releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyharness.api.capturing import HOW_TO_LOG
from pyharness.api.onward import DeviceChoice, open_onward
from pyharness.api.progress import Progress, silent
from pyharness.api.trying import try_many
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import HarnessError, UsageError
from pyharness.logs.reading import read_logs
from pyharness.releases.model import Release
from pyharness.spec.axes import RealAxis, parse_values, resolve_proj_size
from pyharness.spec.calls import HOST_STAGES
from pyharness.spec.recording import OnDevice, Recorded, Recording, Replay
from pyharness.spec.run_axes import problem_axes
from pyharness.spec.stage_results import CaseResult
from pyharness.spec.stages import NEEDS, STAGES

_AXES = problem_axes()


def read_recording(logs: Sequence[Path | str], progress: Progress = silent) -> Recording:
    """What API logs hold.

    A log that is named twice is read once, with a note.

    Raises  UsageError if one cannot be read, or they hold no entry of cuDNN at all.
    """
    recording = read_logs(logs, progress)
    if not recording.entries and not recording.statuses:
        raise UsageError(
            f"no entry of a cuDNN API log in {', '.join(map(str, logs))}",
            f"an entry begins with `I! CuDNN (v…` on a line of its own; {HOW_TO_LOG}",
        )
    return recording


def require_problems(recording: Recording) -> None:
    """Sees that there is something to try.

    Raises  UsageError if no problem was recorded, with why.
    """
    if not recording.problems:
        why = "; ".join(f"{n:,} x {what}" for what, n in recording.not_held.items())
        raise UsageError(
            f"no RNN problem in {', '.join(recording.files)}",
            f"its RNN calls cannot be read: {why}" if why else "it has no RNN call; " + HOW_TO_LOG,
        )


def replay(
    recording: Recording,
    releases: Sequence[Release],
    timeout_s: float = DEFAULT_TIMEOUT_S,
    progress: Progress = silent,
    device: DeviceChoice = "none",
) -> Replay:
    """Tries every recorded problem on every release.

    Where there is a device, those that the host accepts go on through the stages that were
    recorded of them.

    Of a problem only the calls count that describe what was recorded of it. A tensor descriptor is
    tried as h or c of a problem that has it, not where it was set: cudnnSetTensorNdDescriptor is
    not of RNNs alone, and what a log has refused of it is in no problem.

    Raises  UsageError if nothing was recorded, or a device given by number cannot be used;
            HarnessError if a library cannot be used.
    """
    if releases:
        require_problems(recording)
    problems = [recorded.problem for recorded in recording.problems]
    results = []
    for i, release in enumerate(releases):
        progress("trying releases", i, len(releases))
        tried = try_many(release, problems, timeout_s)
        results.append(
            [
                [r for r in said if r.role in recorded.roles]
                for recorded, said in zip(recording.problems, tried, strict=True)
            ]
        )
    found = Replay(recording, [release.name for release in releases], results)
    if device != "none":
        for i, release in enumerate(releases):
            found.devices.append(_on_device(found, i, release, device, timeout_s, progress))
    return found


def _on_device(
    tried: Replay,
    place: int,
    release: Release,
    device: DeviceChoice,
    timeout_s: float,
    progress: Progress,
) -> OnDevice:
    """The recorded problems that the host accepts on a device, where there is one."""
    stages = {p.order: _stages_of(p) for p in tried.recording.problems}
    left = [o for o, s in stages.items() if s and tried.host_outcome(place, o) == "passed"]
    onward = open_onward(release, device, timeout_s) if left else ""
    if isinstance(onward, str):
        return OnDevice(why=onward)
    cases: dict[int, CaseResult] = {}
    with onward:
        for done, order in enumerate(left):
            progress("cases", done, len(left))
            try:
                case = onward.take(tried.recording.problems[order].problem, stages[order][-1])
            except HarnessError as error:
                return OnDevice(onward.facts, cases, error.message)
            kept = tuple(s for s in case.stages if s.stage in stages[order])
            cases[order] = replace(case, stages=kept)
    return OnDevice(onward.facts, cases)


def _stages_of(recorded: Recorded) -> list[str]:
    """The device stages that were recorded of a problem, and those that come before them."""
    wanted = [s for s in recorded.stages if s in NEEDS and s not in HOST_STAGES]
    for stage in wanted:
        wanted += [need for need in NEEDS[stage] if need not in wanted]
    return [s for s in STAGES if s in wanted]


def axis_cells(texts: Mapping[str, str]) -> dict[str, Any]:
    """The axis columns of a row."""
    cells: dict[str, Any] = {}
    for name, text in texts.items():
        axis = _AXES[name]
        if name == "proj_size":
            (size,) = parse_values(axis, text)
            cells["proj_rule"] = text if text in axis.names else "given"
            cells[name] = resolve_proj_size(size, int(texts["hidden_size"]))
        elif isinstance(axis, RealAxis):
            cells[name] = float(text)
        else:
            cells[name] = int(text) if axis.numeric else text
    return cells
