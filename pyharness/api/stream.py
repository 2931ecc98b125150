"""A grid's rows on their way to the table: in order, in whole row groups, beside the walk."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

import numpy as np

from pyharness.store.grid_columns import GridColumns
from pyharness.store.journal import GridJournal
from pyharness.store.validity import ValidityWriter, group_rows


class RowStream:
    """Writes rows as soon as a whole row group of them is in the journal, on a thread of its own.

    Encoding takes as long as walking and runs outside the interpreter's lock; on this thread it
    does not keep the parent from giving workers their next task. Leaving the ``with`` block writes
    what is left.
    """

    def __init__(self, writer: ValidityWriter, journal: GridJournal) -> None:
        self._writer = writer
        self._journal = journal
        self._columns = GridColumns(journal.grid, writer.schema)
        self._group = group_rows(journal.grid.shape)
        self._given = 0
        self._thread = ThreadPoolExecutor(1, "pyharness-rows")
        self._jobs: deque[Future[None]] = deque()

    def __enter__(self) -> RowStream:
        """The stream itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Writes what is ready, unless the walk failed; waits for the thread.

        Raises  what writing raised.
        """
        try:
            if kind is None:
                while (rest := self._journal.ready - self._given) > 0:
                    self._give(min(self._group, rest))
                self._collect(wait=True)
        finally:
            self._thread.shutdown(wait=True, cancel_futures=True)

    def write_ready(self) -> None:
        """Gives every whole row group that is ready to the thread.

        Raises  what writing an earlier one raised.
        """
        while self._journal.ready - self._given >= self._group:
            self._give(self._group)
        self._collect(wait=False)

    def _give(self, count: int) -> None:
        self._jobs.append(self._thread.submit(self._write, self._given, count))
        self._given += count

    def _collect(self, wait: bool) -> None:
        while self._jobs and (wait or self._jobs[0].done()):
            self._jobs.popleft().result()

    def _write(self, begin: int, count: int) -> None:
        journal, end = self._journal, begin + count
        texts = None if journal.text_ids is None else journal.text_ids[begin:end]
        deaths = dict(journal.deaths)  # a copy: the walk goes on meanwhile, and may meet more
        self._writer.write(
            self._columns, begin, np.asarray(journal.codes[begin:end]), texts, deaths
        )
