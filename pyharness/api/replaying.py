"""Replay: what production recorded in API logs, tried on other releases."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyharness import __version__
from pyharness.api.capturing import HOW_TO_LOG
from pyharness.api.folder import writable_folder
from pyharness.api.progress import Progress, silent
from pyharness.api.trying import try_many
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.errors import UsageError
from pyharness.logs.reading import read_logs
from pyharness.releases.model import Release
from pyharness.spec.axes import RealAxis, parse_values, resolve_proj_size
from pyharness.spec.columns import SCHEMA_VERSION
from pyharness.spec.problem import CallTexts
from pyharness.spec.recording import Recorded, Recording, Replay
from pyharness.spec.run_axes import problem_axes
from pyharness.store.files import write_json
from pyharness.store.manifest import NAME, describe_environment, describe_host, now
from pyharness.store.schema import write_rows

_KIND = "replay"
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
) -> Replay:
    """Tries every recorded problem on every release.

    Of a problem only the calls count that describe what was recorded of it. A tensor descriptor is
    tried as h or c of a problem that has it, not where it was set: cudnnSetTensorNdDescriptor is
    not of RNNs alone, and what a log has refused of it is in no problem.

    Raises  UsageError if nothing was recorded; HarnessError if a library cannot be used.
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
    return Replay(recording, [release.name for release in releases], results)


@contextmanager
def replay_folder(folder: Path, kind: str = _KIND) -> Iterator[None]:
    """A folder that is free for a replay, or holds one; made for the block if it is not there.

    Where the block ends with an error, what was made and is empty is removed again.

    ``kind``  of another run that is written in one go, too.
    Raises    UsageError if it holds something else, or nothing can be written there.
    """
    _refuse_other_run(folder, kind)
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    writable_folder(folder)
    try:
        yield
    except BaseException:
        for place in made:
            with suppress(OSError):  # it holds what was written
                place.rmdir()
        raise


def _refuse_other_run(folder: Path, own_kind: str) -> None:
    manifest = folder / NAME
    if manifest.exists():
        try:
            kind = json.loads(manifest.read_text("utf-8")).get("kind")
        except (ValueError, AttributeError):
            kind = None
        if kind != own_kind:
            raise UsageError(f"{folder} holds another run", "give another --out")
    elif folder.is_dir() and any(not p.name.startswith(".") for p in folder.iterdir()):
        raise UsageError(
            f"{folder} is not empty and holds no run of pyharness", "give another --out"
        )


def write_replay(
    replay: Replay,
    releases: Sequence[Release],
    folder: Path,
    started: str,
    explanations: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Writes recorded.parquet, validity.parquet where releases were tried, and run.json.

    What an earlier replay left of tables that this one does not have is removed.

    ``explanations``  rows of explanations.parquet, which is written too.
    Raises            HarnessError if the disk is full; each file is there whole or not at all.
    """
    recording = replay.recording
    manifest: dict[str, Any] = {
        "kind": _KIND,
        "schema_version": SCHEMA_VERSION,
        "tool_version": __version__,
        "logs": [os.path.abspath(f) if f != "-" else f for f in recording.files],  # noqa: PTH100
        "releases": [
            {
                "name": r.name,
                "version": r.version,
                "cuda_major": r.cuda_major,
                "path": str(r.path),
                "origin": r.origin,
                "stamp": r.stamp,
            }
            for r in releases
        ],
        "host": describe_host(),
        "environment": describe_environment(),
        "started": started,
    }
    write_json(folder / NAME, {**manifest, "state": "running", "ended": None})
    write_rows(
        folder / "recorded.parquet", "recorded", [_recorded_row(p) for p in recording.problems]
    )
    validity = list(_validity_rows(replay)) if releases else None
    for table, rows in (("validity", validity), ("explanations", explanations)):
        if rows is None:
            (folder / f"{table}.parquet").unlink(missing_ok=True)
        else:
            write_rows(folder / f"{table}.parquet", table, rows)
    write_json(folder / NAME, {**manifest, "state": "complete", "ended": now()})


def _counts(counts: Mapping[str, int]) -> str | None:
    return "; ".join(f"{name} {n}" for name, n in counts.items()) or None


def _recorded_row(p: Recorded) -> dict[str, Any]:
    said = {f"{s.call} {s.status}: {s.reason}": n for s, n in p.said.items()}
    return {
        **axis_cells(p.problem.given),
        "order": p.order,
        "count": p.count,
        "calls": _counts(p.calls),
        "stages": _counts(p.stages),
        "roles": ", ".join(p.roles),
        "processes": len({process for process, _ in p.origins}),
        "threads": len(p.origins),
        "disagreements": "; ".join(p.disagreements) or None,
        "said": _counts(said),
        "place": p.place,
        "problem": p.problem.command,
    }


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


def _validity_rows(replay: Replay) -> Iterator[dict[str, Any]]:
    kept: dict[tuple[int, str, str], dict[str, Any]] = {}
    for release, results in zip(replay.releases, replay.results, strict=True):
        for recorded, said in zip(replay.recording.problems, results, strict=True):
            made = {m.role: m for m in recorded.problem.calls([r.call for r in said])}
            for result in said:
                key = (recorded.order, result.role, result.call)
                if key not in kept:
                    kept[key] = axis_cells(_all_texts(made[result.role]))
                row = asdict(result)
                del row["role"]
                yield {"release": release, **kept[key], **row}


def _all_texts(made: CallTexts) -> dict[str, str]:
    """A call's axis texts, defaults and all; a width that fits no column is left out."""
    texts = {**made.call.defaults, **made.texts}
    if made.unfit:
        del texts["vector_size"]
    return texts
