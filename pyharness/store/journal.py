"""The journal of a run: what was found, as it was found, so that a killed run loses nothing.

A folder beside the tables: for each grid one byte a row (the ledger's code) and, where every reason
is taken, two more (its id), and a log that says which runs of rows are there. A log line is written
after its rows. The folder goes when the tables stand.
"""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.errors import HarnessError
from pyharness.space.grid import Grid
from pyharness.spec.ledger import FAILED, NOT_RUN, Death, Ledger
from pyharness.store.files import full_disk_told, replacing

_NAME = ".journal"


class GridJournal:
    """One grid's rows.

    ``codes``     uint8 [rows], on disk; NOT_RUN where nothing is known yet.
    ``text_ids``  uint16 [rows], on disk, or None where reasons are not kept by row.
    ``deaths``    row to what happened.
    """

    def __init__(self, journal: Journal, index: int, grid: Grid, with_texts: bool) -> None:
        self._journal = journal
        self._index = index
        self.grid = grid
        self.deaths: dict[int, Death] = {}
        self._done: list[tuple[int, int]] = []
        self.codes: NDArray[np.uint8] = journal.map_file(f"{index}.codes", np.uint8, grid.size)
        self.text_ids: NDArray[np.uint16] | None = None
        if with_texts:
            self.text_ids = journal.map_file(f"{index}.texts", np.uint16, grid.size)

    def replay(self, entry: dict[str, Any]) -> None:
        """Takes a log line of an earlier run back in."""
        if "row" in entry:
            death = Death(entry["row"], entry["cause"], entry["output"])
            self.deaths[entry["row"]] = death
            self.codes[entry["row"]] = FAILED
            self._done.append((entry["row"], 1))
        else:
            self._done.append((entry["begin"], entry["count"]))

    @property
    def pending(self) -> list[tuple[int, int]]:
        """Runs of rows (begin, count) that nobody has tried."""
        at, runs = 0, []
        for begin, count in sorted(self._done):
            if begin > at:
                runs.append((at, begin - at))
            at = max(at, begin + count)
        if at < self.grid.size:
            runs.append((at, self.grid.size - at))
        return runs

    @property
    def answered(self) -> int:
        """Rows that were tried."""
        return self.grid.size - sum(count for _, count in self.pending)

    @property
    def ready(self) -> int:
        """Rows from the first on that were tried without a gap."""
        pending = self.pending
        return pending[0][0] if pending else self.grid.size

    def rows(
        self, begin: int, codes: NDArray[np.uint8], text_ids: NDArray[np.uint16] | None
    ) -> None:
        """Keeps a run of answers (engine.crew.Sink)."""
        self.codes[begin : begin + len(codes)] = codes
        if self.text_ids is not None and text_ids is not None:
            self.text_ids[begin : begin + len(codes)] = text_ids
        self._done.append((begin, len(codes)))
        self._journal.log({"grid": self._index, "begin": begin, "count": len(codes)})

    def death(self, position: int, death: Death) -> None:
        """Keeps a death (engine.crew.Sink)."""
        self.codes[position] = FAILED
        self.deaths[position] = death
        self._done.append((position, 1))
        self._journal.log(
            {
                "grid": self._index,
                "row": position,
                "cause": death.cause,
                "output": death.output,
            }
        )


class Journal:
    """All grids of a run, and the ledger that their codes refer to.

    ``ledger``         statuses and texts met so far, an earlier run's included.
    ``forget_deaths``  rows whose worker died in an earlier run are to be tried again.
    Raises             HarnessError if the disk has no room; no array that was made is left then.
    """

    def __init__(
        self,
        folder: Path,
        grids: tuple[Grid, ...],
        with_texts: bool,
        forget_deaths: bool = False,
    ) -> None:
        self._folder = folder / _NAME
        self._folder.mkdir(parents=True, exist_ok=True)
        self.ledger = Ledger()
        self._logged_statuses = 0
        self._logged_texts = 1
        self._logged_names: set[int] = set()
        log = self._folder / "log.jsonl"
        earlier = self._read(log)
        if forget_deaths and any("row" in entry for entry in earlier):
            earlier = [_without_death(entry) for entry in earlier]
            with replacing(log) as scratch:
                scratch.write_text("".join(json.dumps(e) + "\n" for e in earlier), "utf-8")
        self._made: list[Path] = []
        self._check_room(grids, with_texts)
        self._log = log.open("a", encoding="utf-8")
        try:
            self.grids = [GridJournal(self, i, g, with_texts) for i, g in enumerate(grids)]
        except BaseException:
            self.close()
            for path in self._made:  # they hold nothing yet, and someone needs the room
                path.unlink(missing_ok=True)
            raise
        for entry in earlier:
            if "grid" in entry:
                self.grids[entry["grid"]].replay(entry)
        self._logged_statuses = len(self.ledger.statuses)
        self._logged_texts = len(self.ledger.texts)
        self._logged_names = set(self.ledger.names)

    def _check_room(self, grids: tuple[Grid, ...], with_texts: bool) -> None:
        """Says that the disk is too small before it is full.

        Raises  HarnessError with what is needed and what is free.
        """
        row = np.dtype(np.uint8).itemsize + with_texts * np.dtype(np.uint16).itemsize
        files = (*self._folder.glob("*.codes"), *self._folder.glob("*.texts"))
        need = row * sum(g.size for g in grids) - sum(p.stat().st_size for p in files)
        disk = shutil.disk_usage(self._folder)
        if disk.total and need > disk.free:  # some mounts do not say: all zero
            raise HarnessError(
                f"{self._folder.parent} has no room for the run's journal: it needs "
                f"{need / 1e6:,.1f} MB, {disk.free / 1e6:,.1f} MB are free",
                "free some space and run the same command again, or give another --out",
            )

    def _read(self, log: Path) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = []
        if not log.exists():
            return entries
        good = 0
        with log.open("rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    break  # cut off by a kill; the rows that it stands for are walked again
                entry = json.loads(line)
                for status in entry.get("statuses", ()):
                    self.ledger.code(status)
                for text in entry.get("texts", ()):
                    self.ledger.text_id(text)
                for status, name in entry.get("names", ()):
                    self.ledger.names[status] = name
                entries.append(entry)
                good += len(line)
        with log.open("r+b") as lines:
            lines.truncate(good)
        return entries

    def map_file(self, name: str, kind: type[np.generic], rows: int) -> NDArray[Any]:
        """An array on disk, made if it is not there: ``rows`` entries, NOT_RUN or 0.

        Raises  HarnessError if the disk is full; a file that was begun is gone then.
        """
        path = self._folder / name
        size = rows * np.dtype(kind).itemsize
        if not path.exists() or path.stat().st_size != size:
            fill = np.full(min(rows, 1 << 22), NOT_RUN if kind is np.uint8 else 0, kind)
            self._made.append(path)
            try:
                with full_disk_told(self._folder), path.open("wb") as out:
                    # Written in full: a hole could not be filled later.
                    for at in range(0, rows, len(fill)):
                        out.write(fill[: rows - at].tobytes())
            except BaseException:
                path.unlink(missing_ok=True)
                raise
        return np.memmap(path, kind, "r+", shape=(rows,))

    def log(self, entry: dict[str, Any]) -> None:
        """Appends a line, with whatever the ledger has learnt since the last."""
        ledger = self.ledger
        if len(ledger.statuses) > self._logged_statuses:
            entry["statuses"] = ledger.statuses[self._logged_statuses :]
            self._logged_statuses = len(ledger.statuses)
        if len(ledger.texts) > self._logged_texts:
            entry["texts"] = ledger.texts[self._logged_texts :]
            self._logged_texts = len(ledger.texts)
        fresh = [(s, n) for s, n in ledger.names.items() if s not in self._logged_names]
        if fresh:
            entry["names"] = fresh
            self._logged_names |= {s for s, _ in fresh}
        with full_disk_told(self._folder):
            self._log.write(json.dumps(entry) + "\n")
            self._log.flush()

    def close(self) -> None:
        """Closes the log; the files stay for the next run."""
        with suppress(OSError):  # a line that found no place was told when it was written
            self._log.close()

    def remove(self) -> None:
        """Ends the journal: the tables stand."""
        self.close()
        shutil.rmtree(self._folder)


def _without_death(entry: dict[str, Any]) -> dict[str, Any]:
    """A log line less the death in it; what the ledger learnt with it stays."""
    if "row" not in entry:
        return entry
    return {k: v for k, v in entry.items() if k in ("statuses", "texts", "names")}
