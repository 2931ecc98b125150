"""Map a release: walk a space, keep what was found, and say what can be said of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pyharness.api.diagnosis import explain_collapse
from pyharness.api.folder import check_size, release_data, taken
from pyharness.api.launching import launch_of
from pyharness.api.progress import Progress, silent
from pyharness.api.stream import RowStream
from pyharness.api.study import Study
from pyharness.device import core
from pyharness.engine.crew import Collapse, Crew, Job
from pyharness.engine.sampling import histogram
from pyharness.engine.worker import DEFAULT_TIMEOUT_S
from pyharness.releases.model import Release, loaded_version
from pyharness.space.grid import Space
from pyharness.spec.ledger import FAILED
from pyharness.store.files import replacing
from pyharness.store.journal import GridJournal, Journal
from pyharness.store.manifest import Manifest, describe_environment, now
from pyharness.store.validity import ValidityWriter

Reasons = Literal["none", "distinct", "all"]
REASONS: tuple[Reasons, ...] = ("none", "distinct", "all")


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
    Raises   UsageError for a folder or space that cannot be used; HarnessError if the library
             cannot be used, or the disk is full: what was found so far is kept then.
    """
    options = options or MapOptions()
    core()
    check_size(space, folder, options.reasons == "all", options.yes)
    fresh = Manifest(
        kind="map",
        release=release_data(release),
        space={
            "name": space.name,
            "fingerprint": space.fingerprint,
            "grids": space.describe(),
        },
        reasons=options.reasons,
        timeout_s=options.timeout_s,
    )
    with taken(folder, fresh) as manifest:
        # What failed under other circumstances says nothing about these: it is tried again.
        elsewhere = manifest.circumstances != fresh.circumstances
        if manifest.state == "complete" and elsewhere and "failed" in manifest.results["statuses"]:
            manifest = fresh  # noqa: PLW2901 - the finished map is made anew
        if manifest.state != "complete":
            retry = manifest.state == "stopped" or elsewhere
            _Mapping(release, space, folder, options, progress, manifest, retry).run()
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
        retry_failed: bool,
    ) -> None:
        self._release = release
        self._space = space
        self._folder = folder
        self._options = options
        self._progress = progress
        self._manifest = manifest
        self._launch = launch_of(release)
        manifest.state, manifest.notes, manifest.results = "running", [], {}
        manifest.environment, manifest.timeout_s = describe_environment(), options.timeout_s
        manifest.write(folder)
        with_texts = options.reasons == "all"
        self._journal = Journal(folder, space.grids, with_texts, forget_deaths=retry_failed)
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
            grids = tuple(g.grid for g in here)
            walk_started = time.monotonic()
            with ValidityWriter(scratch, name, grids, self._ledger) as writer:
                for journal in here:
                    with RowStream(writer, journal) as stream:
                        collapse = self._walk(crew, journal, stream)
                    if collapse:
                        break
            self._manifest.results["walk_s"] = round(time.monotonic() - walk_started, 3)
        self._count(here)
        collapse = collapse or _all_failed(here)
        if collapse is None:
            self._study(here)
        return collapse

    def _study(self, grids: list[GridJournal]) -> None:
        with self._crew(explain=True) as asking, self._crew(explain=False) as quiet:
            study = Study(self._manifest, self._ledger, asking, quiet, self._progress)
            try:
                study.run(grids, self._folder)
            except Collapse as error:
                self._manifest.notes.append(
                    "reasons, the spot check and costs are missing, though the walk was answered: "
                    f"{error.message}"
                )

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

    def _walk(self, crew: Crew, journal: GridJournal, stream: RowStream) -> Collapse | None:
        def tick() -> None:
            self._progress(journal.grid.call.name, journal.answered, journal.grid.size)
            stream.write_ready()

        try:
            job = Job(journal.grid, journal.pending, answered=_was_answered(journal))
            crew.run(job, journal, tick)
        except Collapse as error:
            return error
        return None

    def _count(self, grids: list[GridJournal]) -> None:
        outcomes: dict[str, int] = {}
        failures: list[dict[str, Any]] = []
        for journal in grids:
            known = (*range(len(self._ledger.statuses)), FAILED)
            for code, n in histogram(journal.codes, known).items():
                key = self._ledger.name_of(code) or "failed"
                outcomes[key] = outcomes.get(key, 0) + n
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


def _was_answered(journal: GridJournal) -> bool:
    return journal.answered > len(journal.deaths)


def _all_failed(grids: list[GridJournal]) -> Collapse | None:
    """The collapse of a library that answered nothing, in a space too small to collapse in."""
    deaths = [death for journal in grids for death in journal.deaths.values()]
    if not deaths or any(_was_answered(journal) for journal in grids):
        return None
    return Collapse(len(deaths), False, deaths[-1])
