"""Map a release: walk a space, keep what was found, and say what can be said of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pyharness.analyze.reason_classes import distinct_reasons
from pyharness.api.diagnosis import explain_collapse
from pyharness.api.folder import check_size, taken
from pyharness.api.progress import Progress, silent
from pyharness.device import core
from pyharness.device.launch import worker_command
from pyharness.engine.answers import ask
from pyharness.engine.checks import spot_check
from pyharness.engine.costs import time_calls
from pyharness.engine.crew import Collapse, Crew, Job
from pyharness.engine.worker import DEFAULT_TIMEOUT_S, Launch
from pyharness.releases.model import Release
from pyharness.space.grid import Grid, Space
from pyharness.spec.ledger import FAILED, NOT_RUN, Death
from pyharness.store.files import replacing
from pyharness.store.journal import GridJournal, Journal
from pyharness.store.manifest import Manifest, now
from pyharness.store.schema import write_rows
from pyharness.store.validity import GridColumns, ValidityWriter, group_rows

Reasons = Literal["none", "distinct", "all"]
_SEED = 0x5EED


@dataclass(frozen=True, slots=True)
class MapOptions:
    """How a map is made.

    ``walkers``    workers at once.
    ``timeout_s``  a call that takes longer counts as hung.
    ``reasons``    none; distinct: a table of every distinct reason; all: on every refused row.
    ``yes``        do not ask back about the size of the space.
    """

    walkers: int = 2
    timeout_s: float = DEFAULT_TIMEOUT_S
    reasons: Reasons = "distinct"
    yes: bool = False


def loaded_version(number: int) -> str:
    """``9.13.0`` for cudnnGetVersion() 91300, ``8.9.7`` for 8907: the scheme changed in 9.0."""
    if number >= 90000:
        return f"{number // 10000}.{number // 100 % 100}.{number % 100}"
    return f"{number // 1000}.{number // 100 % 10}.{number % 100}"


def map_release(
    release: Release,
    space: Space,
    folder: Path,
    options: MapOptions | None = None,
    progress: Progress = silent,
) -> Manifest:
    """Walks a space on a release and writes the tables into a folder.

    Resumes what an interrupted run left there; a folder that already holds the finished map is left
    as it is.

    Returns  the finished manifest.
    Raises   UsageError for a folder or space that cannot be used; HarnessError if the library cannot
             be used, or the disk is full: what was found so far is kept then.
    """
    options = options or MapOptions()
    core()
    check_size(space, folder, options.reasons == "all", options.yes)
    fresh = Manifest(
        kind="map",
        release={
            "name": release.name,
            "version": release.version,
            "cuda_major": release.cuda_major,
            "path": str(release.path),
            "origin": release.origin,
        },
        space={
            "name": space.name,
            "fingerprint": space.fingerprint,
            "grids": space.describe(),
        },
        reasons=options.reasons,
    )
    with taken(folder, fresh) as manifest:
        if manifest.state != "complete":
            _Mapping(release, space, folder, options, progress, manifest).run()
        return manifest


class _Mapping:
    """One run of map_release, from the walk to the tables."""

    def __init__(
        self,
        release: Release,
        space: Space,
        folder: Path,
        options: MapOptions,
        progress: Progress,
        manifest: Manifest,
    ) -> None:
        self._release = release
        self._space = space
        self._folder = folder
        self._options = options
        self._progress = progress
        self._manifest = manifest
        self._launch = Launch(worker_command(), str(release.path))
        manifest.state, manifest.notes = "running", []
        manifest.write(folder)
        self._journal = Journal(folder, space.grids, options.reasons == "all")
        self._ledger = self._journal.ledger
        self._absent: set[str] = set()

    def run(self) -> None:
        """Walks, checks, writes; leaves a manifest that says how it ended."""
        started = time.monotonic()
        try:
            collapse = self._walk_and_write()
            self._manifest.results["wall_s"] = round(time.monotonic() - started, 3)
            if collapse is not None:
                self._stop(collapse)
            self._manifest.state = "complete"
            self._manifest.ended = now()
            self._manifest.write(self._folder)
        finally:
            self._journal.close()
        self._journal.remove()

    def _stop(self, collapse: Collapse) -> None:
        error = explain_collapse(self._release, collapse)
        self._manifest.state = "stopped"
        self._manifest.ended = now()
        self._manifest.notes.append(str(error))
        self._manifest.write(self._folder)
        raise error

    def _crew(self, explain: bool) -> Crew:
        return Crew(
            self._launch,
            self._ledger,
            self._options.walkers,
            explain=explain,
            timeout_s=self._options.timeout_s,
        )

    def _walk_and_write(self) -> Collapse | None:
        """The walk, with rows written as they come; returns why it stopped, if it did."""
        collapse = None
        explain = self._options.reasons == "all"
        with replacing(self._folder / "validity.parquet") as scratch, self._crew(explain) as crew:
            self._meet(crew)
            name = self._manifest.release["name"]
            here = [g for g in self._journal.grids if g.grid.call.name not in self._absent]
            writer = ValidityWriter(
                scratch, name, tuple(g.grid for g in here), self._ledger
            )
            walk_started = time.monotonic()
            for journal in here:
                stream = _Stream(writer, journal)
                try:
                    crew.run(
                        Job(journal.grid, journal.pending), journal, self._ticker(stream, journal)
                    )
                except Collapse as error:
                    collapse = error
                stream.flush()
                if collapse:
                    break
            self._manifest.results["walk_s"] = round(time.monotonic() - walk_started, 3)
            writer.close()
        done = [j for j in here if not j.pending]
        self._count(here)
        if collapse is None:
            self._study(done)
        return collapse

    def _meet(self, crew: Crew) -> None:
        """Asks the library who it is, and which calls it has."""
        worker = crew.first()
        self._absent = {g.call.name for g in self._space.grids} - set(worker.opened.calls)
        self._manifest.absent_calls = sorted(self._absent)
        number = crew.version()
        release, manifest = self._release, self._manifest
        if number is None:
            manifest.notes.append("the library ended its process when it was asked its version")
            return
        said = loaded_version(number)
        manifest.release["loaded"] = number
        if release.version is None:
            manifest.release["name"], manifest.release["version"] = said, said
        elif not f"{release.version}.".startswith(f"{said}."):
            manifest.notes.append(
                f"the library says that it is {said}, its package says {release.version}"
            )

    def _ticker(self, stream: _Stream, journal: GridJournal) -> Callable[[], None]:
        def tick() -> None:
            self._progress(journal.grid.call.name, journal.answered, journal.grid.size)
            stream.write_ready()

        return tick

    def _count(self, grids: list[GridJournal]) -> None:
        outcomes: dict[str, int] = {}
        failures: list[dict[str, Any]] = []
        for journal in grids:
            counts = np.bincount(journal.codes, minlength=256)
            for code, n in enumerate(counts):
                if n and code != NOT_RUN:
                    key = self._ledger.name_of(code) or "failed"
                    outcomes[key] = outcomes.get(key, 0) + int(n)
            failures += [
                {
                    "call": journal.grid.call.name,
                    "problem": journal.grid.command(row),
                    "cause": death.cause,
                    "output": death.output[-300:],
                }
                for row, death in sorted(journal.deaths.items())[:20]
            ]
        self._manifest.results["rows"] = sum(outcomes.values())
        self._manifest.results["statuses"] = outcomes
        self._manifest.results["failures"] = failures

    def _study(self, grids: list[GridJournal]) -> None:
        """Reasons, the spot check and the cost of the calls."""
        reasons: list[dict[str, Any]] = []
        checks: list[dict[str, Any]] = []
        costs: list[dict[str, Any]] = []
        release = self._manifest.release["name"]
        with self._crew(explain=True) as crew, self._crew(explain=False) as quiet:
            for i, journal in enumerate(grids):
                self._progress("reasons and checks", i, len(grids))
                if not np.any(journal.codes != FAILED):
                    continue
                if self._options.reasons != "none":
                    reasons += self._reasons(crew, journal)
                check = spot_check(crew, self._ledger, journal.grid, journal.codes, _SEED)
                checks.append(
                    {
                        "call": journal.grid.call.name,
                        **asdict(check),
                        "examples": [
                            {"problem": journal.grid.command(row), "what": what}
                            for row, what in check.examples
                        ],
                    }
                )
                timed = time_calls(quiet.first(), self._ledger, journal.grid, journal.codes)
                if isinstance(timed, Death):
                    self._manifest.notes.append(
                        f"{journal.grid.call.name} could not be timed: {timed.cause}"
                    )
                    break
                costs += [{"release": release, "provenance": "observed", **asdict(c)} for c in timed]
        self._manifest.results["spot_check"] = checks
        for check_row in checks:
            if check_row["changed"] or check_row["unkept"]:
                self._manifest.notes.append(
                    f"{check_row['call']}: of {check_row['rows']:,} problems asked again "
                    f"{check_row['changed']:,} got another answer, {check_row['unkept']:,} were "
                    "accepted but read back otherwise: this library's answers cannot be relied on"
                )
        write_rows(self._folder / "costs.parquet", "costs", costs)
        if self._options.reasons != "none":
            write_rows(self._folder / "reasons.parquet", "reasons", reasons)

    def _reasons(self, crew: Crew, journal: GridJournal) -> list[dict[str, Any]]:
        """Rows of the reasons table for one grid."""
        refused = [c for c, s in enumerate(self._ledger.statuses) if s != 0]
        if self._options.reasons == "all":
            assert journal.text_ids is not None
            found, how = _count_reasons(journal, refused), "counted"
        else:
            result = distinct_reasons(
                np.asarray(journal.codes).reshape(journal.grid.shape),
                refused,
                lambda rows: ask(crew, journal.grid, rows).text_ids,
                _SEED,
            )
            found = [(r.code, r.text_id, r.rows, r.example) for r in result.reasons]
            how = "partition"
            self._manifest.results.setdefault("reasons", []).append(
                {
                    "call": journal.grid.call.name,
                    "agreed": result.agreed,
                    "sampled": result.sampled,
                    "cells": result.cells,
                    "asked": result.asked,
                }
            )
        return [
            {
                "release": self._manifest.release["name"],
                "call": journal.grid.call.name,
                "status": self._ledger.name_of(code),
                "status_code": self._ledger.statuses[code],
                "reason": self._ledger.texts[text_id] or None,
                "rows": rows,
                "rows_from": how,
                "example": journal.grid.command(example),
                "provenance": "observed",
            }
            for code, text_id, rows, example in found
        ]


def _count_reasons(journal: GridJournal, refused: list[int]) -> list[tuple[int, int, int, int]]:
    """(code, text id, rows, first row) of every reason, from the reasons of every row."""
    assert journal.text_ids is not None
    counts: dict[int, list[int]] = {}
    block = 1 << 22
    for start in range(0, journal.grid.size, block):
        codes = journal.codes[start : start + block]
        keys = codes.astype(np.int64) << 16 | journal.text_ids[start : start + block]
        mask = np.isin(codes, refused)
        places = np.flatnonzero(mask)
        values, where, numbers = np.unique(keys[mask], return_index=True, return_counts=True)
        for key, place, number in zip(values, where, numbers, strict=True):
            entry = counts.setdefault(int(key), [0, int(places[place]) + start])
            entry[0] += int(number)
    rows = [(key >> 16, key & 0xFFFF, n, example) for key, (n, example) in counts.items()]
    return sorted(rows, key=lambda r: (-r[2], r[3]))


class _Stream:
    """Writes a grid's rows in order, as soon as a whole row group of them is there."""

    def __init__(self, writer: ValidityWriter, journal: GridJournal) -> None:
        self._writer = writer
        self._journal = journal
        self._columns = GridColumns(journal.grid, writer.schema)
        self._group = group_rows(journal.grid.shape)
        self._written = 0

    def write_ready(self) -> None:
        """Writes one whole row group, if there is one."""
        if self._journal.ready - self._written >= self._group:
            self._write(self._group)

    def flush(self) -> None:
        """Writes all that is ready."""
        while (rest := self._journal.ready - self._written) > 0:
            self._write(min(self._group, rest))

    def _write(self, count: int) -> None:
        begin, end, journal = self._written, self._written + count, self._journal
        texts = None if journal.text_ids is None else journal.text_ids[begin:end]
        self._writer.write(
            self._columns, begin, np.asarray(journal.codes[begin:end]), texts, journal.deaths
        )
        self._written = end
