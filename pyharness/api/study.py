"""What is asked of a walked map: the reasons, whether the answers hold, and what a call costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.analyze.reason_classes import ReasonCount, distinct_reasons
from pyharness.api.progress import Progress
from pyharness.engine.answers import ask
from pyharness.engine.checks import spot_check
from pyharness.engine.costs import pick, time_calls
from pyharness.engine.crew import Crew
from pyharness.engine.sampling import marked
from pyharness.space.grid import Grid
from pyharness.spec.ledger import FAILED, Death, Ledger
from pyharness.store.journal import GridJournal
from pyharness.store.manifest import Manifest
from pyharness.store.schema import write_rows

_SEED = 0x5EED
_BLOCK = 1 << 22


class Study:
    """Fills reasons.parquet, costs.parquet and the manifest's results.

    ``asking``  a crew that explains; ``quiet``: one that does not, for timing.
    """

    def __init__(
        self,
        manifest: Manifest,
        ledger: Ledger,
        asking: Crew,
        quiet: Crew,
        progress: Progress,
    ) -> None:
        self._manifest = manifest
        self._ledger = ledger
        self._asking = asking
        self._quiet = quiet
        self._progress = progress

    def run(self, grids: list[GridJournal], folder: Path) -> None:
        """Studies every grid and writes what comes of it.

        Raises  Collapse if no worker survives; HarnessError if the disk is full.
        """
        reasons: list[dict[str, Any]] = []
        costs: list[dict[str, Any]] = []
        checks: list[dict[str, Any]] = []
        for i, journal in enumerate(grids):
            self._progress("reasons and checks", i, len(grids))
            if not np.any(journal.codes != FAILED):
                continue
            if self._manifest.reasons != "none":
                reasons += self._reasons(journal)
            checks.append(self._check(journal))
            costs += self._costs(journal)
        self._manifest.results["spot_check"] = checks
        write_rows(folder / "costs.parquet", "costs", costs)
        if self._manifest.reasons != "none":
            write_rows(folder / "reasons.parquet", "reasons", reasons)

    def _check(self, journal: GridJournal) -> dict[str, Any]:
        check = spot_check(self._asking, self._ledger, journal.grid, journal.codes, _SEED)
        call = journal.grid.call.name
        if check.changed or check.unkept:
            self._manifest.notes.append(
                f"{call}: of {check.rows:,} problems asked again {check.changed:,} got another "
                f"answer and {check.unkept:,} were accepted but read back otherwise: "
                "this library's answers cannot be relied on"
            )
        examples = [
            {"problem": journal.grid.command(row), "what": what} for row, what in check.examples
        ]
        return {"call": call, **asdict(check), "examples": examples}

    def _costs(self, journal: GridJournal) -> list[dict[str, Any]]:
        statuses = self._ledger.statuses
        accepted = [code for code, status in enumerate(statuses) if status == 0]
        refused = [code for code, status in enumerate(statuses) if status != 0]
        picked = pick(journal.codes, accepted, refused)
        timed = time_calls(self._quiet, journal.grid, picked)
        if isinstance(timed, Death):
            self._manifest.notes.append(
                f"{journal.grid.call.name} could not be timed: {timed.cause}"
            )
            return []
        release = self._manifest.release["name"]
        return [{"release": release, "provenance": "observed", **asdict(c)} for c in timed]

    def _reasons(self, journal: GridJournal) -> list[dict[str, Any]]:
        refused = [c for c, s in enumerate(self._ledger.statuses) if s != 0]
        if self._manifest.reasons == "all":
            found: Sequence[ReasonCount] = _count(journal, refused)
            how = "counted"
        else:
            found, how = self._find(journal, refused)
        return [
            {
                "release": self._manifest.release["name"],
                "call": journal.grid.call.name,
                "status": self._ledger.name_of(r.code),
                "status_code": self._ledger.statuses[r.code],
                "reason": self._ledger.texts[r.text_id] or None,
                "rows": r.rows,
                "rows_from": how,
                "example": journal.grid.command(r.example),
                "provenance": "observed",
            }
            for r in found
        ]

    def _find(self, journal: GridJournal, refused: list[int]) -> tuple[Sequence[ReasonCount], str]:
        """Distinct reasons of a grid, and how far their counts can be trusted."""
        result = distinct_reasons(
            np.asarray(journal.codes).reshape(journal.grid.shape),
            refused,
            lambda rows: self._texts(journal.grid, rows),
            _SEED,
        )
        self._manifest.results.setdefault("reasons", []).append(
            {
                "call": journal.grid.call.name,
                "agreed": result.agreed,
                "sampled": result.sampled,
                "cells": result.cells,
                "asked": result.asked,
            }
        )
        sure = result.agreed and result.asked == result.cells
        return result.reasons, "partition" if sure else "unconfirmed"

    def _texts(self, grid: Grid, rows: NDArray[np.int64]) -> NDArray[np.uint16]:
        """What the library says to these rows; a row whose worker ended says that."""
        answers = ask(self._asking, grid, rows)
        for position, death in answers.deaths.items():
            text = f"(the worker ended when it was asked why: {death.cause})"
            answers.text_ids[position] = self._ledger.text_id(text)
        return answers.text_ids


def _count(journal: GridJournal, refused: list[int]) -> list[ReasonCount]:
    """Every reason with its rows, from the reasons of every row."""
    assert journal.text_ids is not None
    counts: dict[int, tuple[int, int]] = {}
    for start in range(0, journal.grid.size, _BLOCK):
        codes = journal.codes[start : start + _BLOCK]
        places = np.flatnonzero(marked(codes, refused))
        texts = journal.text_ids[start : start + _BLOCK][places]
        keys = codes[places].astype(np.int64) << 16 | texts
        values, where, numbers = np.unique(keys, return_index=True, return_counts=True)
        for key, place, number in zip(values, where, numbers, strict=True):
            rows, example = counts.get(int(key), (0, int(places[place]) + start))
            counts[int(key)] = rows + int(number), example
    found = [
        ReasonCount(key >> 16, key & 0xFFFF, rows, example)
        for key, (rows, example) in counts.items()
    ]
    return sorted(found, key=lambda r: (-r.rows, r.example))
