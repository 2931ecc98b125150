"""What a replay leaves: its tables and run.json, written in one go."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyharness import __version__
from pyharness.api.folder import writable_folder
from pyharness.api.replaying import axis_cells
from pyharness.api.stage_rows import stage_rows
from pyharness.errors import UsageError
from pyharness.releases.model import Release
from pyharness.spec.columns import SCHEMA_VERSION
from pyharness.spec.problem import CallTexts
from pyharness.spec.recording import Recorded, Replay
from pyharness.store.files import write_json
from pyharness.store.manifest import NAME, describe_environment, describe_host, now
from pyharness.store.schema import write_rows

_KIND = "replay"


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
    """Writes recorded.parquet, where releases were tried validity.parquet, and run.json.

    Where problems were taken to a device stages.parquet, too.

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
    manifest["devices"] = [None if d.facts is None else asdict(d.facts) for d in replay.devices]
    tables = {"validity": validity, "stages": _stage_rows(replay), "explanations": explanations}
    for table, rows in tables.items():
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


def _stage_rows(replay: Replay) -> list[dict[str, Any]] | None:
    """The rows of the stages on a device; None where there was none."""
    if all(on.facts is None for on in replay.devices):
        return None
    problems = replay.recording.problems
    return [
        row
        for release, on in zip(replay.releases, replay.devices, strict=True)
        if on.facts is not None
        for row in stage_rows(
            release, on.facts.name, ((problems[o].problem, case) for o, case in on.cases.items())
        )
    ]
