"""An upgrade of a pin: what the host of both releases says, joined into one verdict."""

from __future__ import annotations

import hashlib
import os
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyharness.analyze.upgrade import (
    QUESTIONS,
    Evidence,
    Upgrade,
    Verdict,
    evidence_of_log,
    evidence_of_map,
    judge,
    validity,
)
from pyharness.api.changes import write_diff
from pyharness.api.device import device_here
from pyharness.api.diffing import DEFAULT_MAPS, diff_maps, folder_name, open_side
from pyharness.api.driver import driver_findable
from pyharness.api.folder import release_data
from pyharness.api.mapping import MapOptions
from pyharness.api.progress import Progress, fetching, silent
from pyharness.api.replay_files import replay_folder, write_replay
from pyharness.api.replaying import read_recording, replay, require_problems
from pyharness.errors import UsageError
from pyharness.present.diff import diff_data, render_diff
from pyharness.present.upgrade import render_upgrade, upgrade_data
from pyharness.releases.locate import resolve
from pyharness.releases.model import Release
from pyharness.space.grid import Space
from pyharness.spec.gate import Gate, default_gate, parse_gate
from pyharness.spec.recording import Replay
from pyharness.store.files import replacing, write_json
from pyharness.store.manifest import NAME, Manifest, now, read_manifest

KIND = "upgrade"
DEFAULT_UPGRADES = Path("results/upgrade")


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked.

    ``old``, ``new``  releases as they were written, for commands that repeat a part.
    ``logs``          of the user's program; without one the space alone is tried.
    """

    old: str
    new: str
    space: Space
    logs: Sequence[str]
    gate: Gate
    options: MapOptions


def read_gate(path: Path | None, with_log: bool) -> Gate:
    """The gate of a file, or the default.

    Raises  UsageError if the file cannot be read, or says what no gate can.
    """
    if path is None:
        return default_gate(with_log)
    try:
        text = path.read_text("utf-8")
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
    """Compares two releases by what their host calls say, and writes what was found.

    Maps that are there are used, those that were interrupted go on.

    ``out``  the folder; None: one that no other upgrade shares.
    Returns  what was found, and the folder: run.json, upgrade.json, upgrade.txt, diff/, and with a
             log replay/.
    Raises   UsageError for a release, log or folder that cannot be used; HarnessError if a library
             cannot be used or the disk is full.
    """
    recording = None
    if request.logs:  # what is wrong with it is said before minutes of mapping
        recording = read_recording(request.logs, progress)
        require_problems(recording)
    sides = [resolve(t, progress=fetching(t, progress)) for t in (request.old, request.new)]
    fresh = _manifest(request, *sides)
    folder = out or folder_name(
        sides[0],
        request.space.name,
        fresh.space["fingerprint"],
        f"to-{sides[1].name}",
        DEFAULT_UPGRADES,
    )
    began = time.monotonic()
    with replay_folder(folder, KIND):
        _refuse_other(folder, fresh)
        a, b = (
            open_side(text, request.space, maps, request.options, progress)
            for text in (request.old, request.new)
        )
        diff = diff_maps(a, b, progress)
        fresh.write(folder)
        write_diff(diff, render_diff(diff), diff_data(diff), folder / "diff")
        evidence = [evidence_of_map(diff, [_diff_command(request)])]
        if recording is not None:
            tried = replay(recording, sides, request.options.timeout_s, progress)
            write_replay(tried, sides, folder / "replay", fresh.started)
            evidence.insert(0, evidence_of_log(tried, _log_commands(request, tried)))
        found = Upgrade(
            diff.release_a,
            diff.release_b,
            request.gate,
            judge(request.gate, evidence),
            [validity(evidence), *_not_measured(request)],
        )
        with replacing(folder / "upgrade.txt") as scratch:
            scratch.write_text(render_upgrade(found) + "\n", "utf-8")
        write_json(folder / "upgrade.json", upgrade_data(found))
        _complete(fresh, evidence, time.monotonic() - began).write(folder)
    return found, folder


def _manifest(request: Request, old: Release, new: Release) -> Manifest:
    logs = [text if text == "-" else os.path.abspath(text) for text in request.logs]  # noqa: PTH100
    told = "\0".join([request.space.fingerprint, new.name, new.stamp or "", *logs])
    return Manifest(
        kind=KIND,
        release={**release_data(old), "against": release_data(new), "logs": logs},
        space={
            "name": request.space.name,
            "fingerprint": hashlib.sha256(told.encode()).hexdigest()[:12],
            "grids": request.space.describe(),
        },
        reasons=request.options.reasons,
        timeout_s=request.options.timeout_s,
    )


def _refuse_other(folder: Path, fresh: Manifest) -> None:
    """Sees that a folder does not hold another upgrade.

    Raises  UsageError.
    """
    if (folder / NAME).exists() and read_manifest(folder).identity != fresh.identity:
        raise UsageError(
            f"{folder} holds the upgrade of other releases, problems or logs",
            "give another --out, or remove the folder",
        )


def _complete(manifest: Manifest, evidence: Sequence[Evidence], wall_s: float) -> Manifest:
    manifest.results = {
        "rows": sum(source.compared for source in evidence),
        "statuses": {
            f"{source.scope}: {change}": n for source in evidence for change, n in
            source.counts.items()
        },
        "walk_s": round(wall_s, 3),
        "failures": [],
    }  # fmt: skip
    manifest.state, manifest.ended = "complete", now()
    return manifest


def _not_measured(request: Request) -> list[Verdict]:
    """The questions that only a GPU answers: why not here, and what answers them on one."""
    here = driver_findable() and bool(device_here().gpus)
    why = "this command asks the host alone, the GPU not yet" if here else "no GPU here"
    old, new, problems = *_sides(request), _problems(request)
    both = [f"--cudnn {old}", f"--cudnn {new}"]
    commands = {
        "time": [f"pyharness bench {' '.join(both)} {problems}"],
        "memory": [f"pyharness memory {side} {problems}" for side in both],
        "repeatability": [f"pyharness determinism {side} {problems}" for side in both],
        "accuracy": [
            *(f"pyharness accuracy {side} {problems}" for side in both),
            f"pyharness drift {old} {new} {problems}",
        ],
    }
    return [Verdict(q, "not_measured", [], why, commands[q]) for q in QUESTIONS if q in commands]


def _sides(request: Request) -> tuple[str, str]:
    return shlex.quote(request.old), shlex.quote(request.new)


def _problems(request: Request) -> str:
    return " ".join(f"--log {shlex.quote(log)}" for log in request.logs) or "--preset smoke"


def _diff_command(request: Request) -> str:
    return " ".join(("pyharness diff", *_sides(request), "--preset", request.space.name))


def _log_commands(request: Request, tried: Replay) -> list[str]:
    """What tries the log again, and what explains the newer release's refusals."""
    old, new = _sides(request)
    logs = " ".join(map(shlex.quote, request.logs))
    again = f"pyharness replay {logs} --cudnn {old} --cudnn {new} --no-device"
    if not tried.with_outcome(1, "unsupported"):
        return [again]
    return [again, f"pyharness explain --cudnn {new} {_problems(request)}"]
