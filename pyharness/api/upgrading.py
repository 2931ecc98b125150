"""An upgrade of a pin: what this machine can tell of both releases, joined into one verdict."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyharness.analyze.upgrade import (
    Evidence,
    OnGpu,
    Part,
    Upgrade,
    Verdict,
    verdict_of,
)
from pyharness.analyze.upgrade_gate import judge
from pyharness.analyze.upgrade_host import evidence_of_log, evidence_of_map
from pyharness.api.case_run import fingerprint
from pyharness.api.changes import write_diff
from pyharness.api.diffing import DEFAULT_MAPS, diff_maps, folder_name, map_side
from pyharness.api.mapping import MapOptions
from pyharness.api.onward import DeviceChoice
from pyharness.api.progress import Progress, fetching, silent
from pyharness.api.repeatability import RepeatOptions
from pyharness.api.replay_files import write_replay
from pyharness.api.replaying import read_recording, replay, require_problems
from pyharness.api.reporting import DATA, MARKDOWN, PAGE, write_report
from pyharness.api.time_change import TimeOptions
from pyharness.api.upgrade_budget import DEFAULT_BUDGET, Budget, parse_budget
from pyharness.api.upgrade_device import run_parts
from pyharness.api.upgrade_folder import manifest_of, own_folder
from pyharness.api.upgrade_parts import GpuRequest
from pyharness.api.upgrade_problems import (
    DEFAULT_PROBLEMS,
    Gpu,
    commands_of,
    gpu_of,
    lasting,
    named_problems,
    problems_of,
)
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import UsageError
from pyharness.present.diff import diff_data, render_diff
from pyharness.present.upgrade import render_upgrade
from pyharness.present.upgrade_data import upgrade_data
from pyharness.releases.locate import resolve
from pyharness.releases.model import Release
from pyharness.space.grid import Space
from pyharness.space.problems import ProblemSet
from pyharness.spec.gate import Gate, default_gate, parse_gate
from pyharness.spec.recording import Recording, Replay
from pyharness.store.files import replacing, write_json
from pyharness.store.manifest import Manifest, now

DEFAULT_UPGRADES = Path("results/upgrade")
# The parts that answer a question on a device; of validity that is beside what the host says.
_PARTS: dict[str, tuple[Part, ...]] = {
    "time": ("time",),
    "memory": ("memory",),
    "repeatability": ("determinism",),
    "accuracy": ("accuracy", "drift"),
}


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked.

    ``old``, ``new``  releases as they were written, for commands that repeat a part.
    ``logs``          of the user's program; without one space and problems alone are tried.
    ``problems``      the set that is run on a GPU where there is no log, and axes that change it;
                      None: DEFAULT_PROBLEMS.
    ``budget_s``      seconds for all of it, without what is fetched.
    ``timing``        how time is compared, ``repeating``: how problems are repeated; the device and
                      the times in them are not looked at.

    Raises  UsageError for problems beside a log.
    """

    old: str
    new: str
    space: Space
    logs: Sequence[str]
    gate: Gate
    options: MapOptions
    problems: str | None = None
    device: DeviceChoice = "first"
    budget_s: float = parse_budget(DEFAULT_BUDGET)
    timing: TimeOptions = field(default_factory=TimeOptions)
    repeating: RepeatOptions = field(default_factory=RepeatOptions)

    def __post_init__(self) -> None:
        if self.logs and self.problems is not None:
            raise UsageError("--log brings its own problems", "leave --problems out")


def read_gate(path: Path | None, with_log: bool) -> Gate:
    """The gate of a file, or the default.

    Raises  UsageError if the file cannot be read, or says what no gate can.
    """
    if path is None:
        return default_gate(with_log)
    try:
        text = path.read_text("utf-8-sig")  # some editors put a mark in front
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise UsageError(f"{path} cannot be read: {why}", "give --gate a TOML file") from error
    return parse_gate(text, str(path), with_log)


def upgrade(
    request: Request,
    maps: Path = DEFAULT_MAPS,
    out: Path | None = None,
    progress: Progress = silent,
) -> tuple[Upgrade, Path]:
    """Compares two releases by all that can be asked here, and writes what was found.

    Maps that are there are used, those that were interrupted go on. So does what the same upgrade
    has left in the folder of an earlier call: an interrupted part, one that found no time.

    ``out``  the folder; None: one that no other upgrade shares.
    Returns  what was found, and the folder: run.json, upgrade.json, upgrade.txt, the report as
             html, md and json, diff/, with a log replay/, and with a GPU a folder for each part.
    Raises   UsageError for a release, log or folder that cannot be used; HarnessError if a library
             cannot be used or the disk is full; KeyboardInterrupt for a Ctrl-C.
    """
    recording, times = None, dict[str, int]()
    problems = named_problems(request.problems or DEFAULT_PROBLEMS)
    if request.logs:  # what is wrong with it is said before minutes of mapping
        recording = read_recording(request.logs, progress)
        require_problems(recording)
        problems, times = problems_of(recording)
    gpu = gpu_of(request.device)
    old, new = (
        resolve(text, full=isinstance(gpu, Gpu), progress=fetching(text, progress))
        for text in (request.old, request.new)
    )
    run = _Run(request, (old, new), gpu, problems, times, progress)
    folder = out or folder_name(
        old,
        request.space.name,
        run.manifest.space["fingerprint"],
        f"to-{new.name}",
        DEFAULT_UPGRADES,
    )
    with own_folder(folder, run.manifest, maps):
        found = run.go(recording, maps, folder)
        write_report([folder], folder, progress)
    return found, folder


class _Run:
    """One call of upgrade()."""

    def __init__(
        self,
        request: Request,
        sides: tuple[Release, Release],
        gpu: Gpu | str,
        problems: ProblemSet,
        times: Mapping[str, int],
        progress: Progress,
    ) -> None:
        self._request, self._sides, self._progress = request, sides, progress
        self._gpu, self._problems, self._times = gpu, problems, times
        self._budget = Budget(request.budget_s)
        self.manifest = manifest_of(request.space, request.logs, request.options, *sides)
        if isinstance(gpu, Gpu):
            self.manifest.device = {"name": gpu.name, "ordinal": gpu.ordinal}
            own = fingerprint(problems, gpu.name, gpu.ordinal)
            self.manifest.space["fingerprint"] += f"-{own[:6]}"
        ordinal = gpu.ordinal if isinstance(gpu, Gpu) else 0
        what = request.problems or DEFAULT_PROBLEMS
        texts = zip(sides, (request.old, request.new), strict=True)
        old, new = (lasting(side, text.strip()) for side, text in texts)
        self._texts = (old, new)
        limit_s = request.options.timeout_s
        self._limit = [] if limit_s == DEFAULT_TIMEOUT_S else ["--timeout", f"{limit_s:g}"]
        self._commands = commands_of(old, new, request.logs, what, ordinal, self._limit)

    def go(self, recording: Recording | None, maps: Path, folder: Path) -> Upgrade:
        """All of it, the host first; what is found is written when all is."""
        request, progress = self._request, self._progress
        a, b = (
            map_side(side, request.space, maps, request.options, progress) for side in self._sides
        )
        diff = diff_maps(a, b, progress)
        self.manifest.write(folder)
        write_diff(diff, render_diff(diff), diff_data(diff), folder / "diff")
        host = [evidence_of_map(diff, [self._diff_command()])]
        if recording is not None:
            tried = replay(recording, self._sides, request.options.timeout_s, progress)
            write_replay(tried, self._sides, folder / "replay", self.manifest.started)
            host.insert(0, evidence_of_log(tried, self._log_commands(tried)))
        gpu, device = self._on_device(host, folder)
        verdicts = self._verdicts(host, device, gpu)
        found = Upgrade(
            diff.release_a,
            diff.release_b,
            request.gate,
            judge(request.gate, verdicts, gpu),
            verdicts,
            gpu,
            request.budget_s,
            round(self._budget.spent_s, 3),
        )
        for name in (PAGE, MARKDOWN, DATA):  # of an earlier call, which may have another verdict
            (folder / name).unlink(missing_ok=True)
        with replacing(folder / "upgrade.txt") as scratch:
            scratch.write_text(render_upgrade(found) + "\n", "utf-8")
        write_json(folder / "upgrade.json", upgrade_data(found))
        self._complete([*host, *device.values()], found).write(folder)
        return found

    def _on_device(
        self, host: Sequence[Evidence], folder: Path
    ) -> tuple[OnGpu | None, dict[Part, Evidence]]:
        if not isinstance(self._gpu, Gpu):
            return None, {}
        log = bool(self._request.logs)
        where: dict[str, Any] = {
            "ordinal": self._gpu.ordinal,
            "timeout_s": self._request.options.timeout_s,
        }
        known = {
            (finding.problem.command, finding.change)
            for source in host
            for finding in source.findings
            if finding.problem is not None
        }
        request = GpuRequest(
            self._sides,
            self._problems,
            "log" if log else "problems",
            self._times,
            folder,
            self._gpu.name,
            self._commands,
            frozenset(known),
            replace(self._request.timing, **where),
            replace(self._request.repeating, **where),
        )
        return run_parts(request, self._budget, self._progress)

    def _verdicts(
        self, host: Sequence[Evidence], device: Mapping[Part, Evidence], gpu: OnGpu | None
    ) -> list[Verdict]:
        on_device = [device["stages"]] if "stages" in device else []
        found = [verdict_of("validity", [*host, *on_device])]
        for question, parts in _PARTS.items():
            own = [device[part] for part in parts if part in device]
            if parts[0] in device:
                found.append(verdict_of(question, own))
                continue
            runs = [] if gpu is None else [run.why for run in gpu.parts if run.part == parts[0]]
            why = self._gpu if isinstance(self._gpu, str) else "".join(runs)
            commands = [command for part in parts for command in self._commands[part]]
            found.append(Verdict(question, "not_measured", own, why, commands))
        return found

    def _diff_command(self) -> str:
        words = ("pyharness", "diff", *self._texts, "--preset", self._request.space.name)
        return shlex.join((*words, *self._limit))

    def _log_commands(self, tried: Replay) -> list[str]:
        """What tries the log again, and what explains the newer release's refusals."""
        (old, new), logs = self._texts, self._request.logs
        words = ["pyharness", "replay", *logs, "--cudnn", old, "--cudnn", new, "--no-device"]
        found = [shlex.join([*words, *self._limit])]
        if tried.with_outcome(1, "unsupported"):
            of_logs = [word for log in logs for word in ("--log", log)]
            found.append(
                shlex.join(["pyharness", "explain", "--cudnn", new, *of_logs, *self._limit])
            )
        return found

    def _complete(self, evidence: Sequence[Evidence], found: Upgrade) -> Manifest:
        manifest = self.manifest
        manifest.results = {
            "rows": sum(source.compared for source in evidence),
            "statuses": {
                f"{source.part}: {change}": n
                for source in evidence
                for change, n in source.counts.items()
            },
            "gate": found.word,
            "verdicts": {v.question: v.word for v in found.verdicts},
            "walk_s": found.spent_s,
            "failures": [],
        }
        if found.gpu is not None:  # what the run is known by stays
            manifest.device = {**found.gpu.device, **manifest.device}
        manifest.state, manifest.ended = "complete", now()
        return manifest
