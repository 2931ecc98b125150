"""One worker process as its parent sees it: jobs go out, answers, silence or a death come back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from pyharness.engine.board import PREPARING, Board
from pyharness.engine.process import START_TIMEOUT_S, Launch, Process, unexpected
from pyharness.errors import HarnessError, UsageError
from pyharness.space.grid import Grid
from pyharness.spec import messages as m
from pyharness.spec.ledger import Death

DEFAULT_CAPACITY = 1 << 20  # rows of a task: 50 ms and more, so that walkers end together
DEFAULT_TIMEOUT_S = 10.0


class Worker:
    """A running worker. Use it in a ``with`` block: leaving it ends the process.

    ``opened``  what the worker said of the library.

    Raises  UsageError if the file cannot be loaded as cuDNN, WorkerStartError if the process ended
            while opening it.
    """

    def __init__(
        self,
        launch: Launch,
        capacity: int = DEFAULT_CAPACITY,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        self.board = Board(capacity)
        self._timeout_s = timeout_s
        self._seen_cursor, self._seen_at = -1, time.monotonic()
        self._process = Process(launch, self.board.fd)
        try:
            self.opened = self._open(launch)
        except BaseException:
            self.close()
            raise

    def _open(self, launch: Launch) -> m.Opened:
        answer = self._receive(START_TIMEOUT_S)
        match answer:
            case m.Opened():
                return answer
            case m.Refused():
                raise UsageError(
                    f"{launch.library} cannot be used as cuDNN: {answer.message}",
                    "give a version, installed, latest or the path of a libcudnn.so; "
                    "`pyharness doctor` shows what is here",
                )
            case Death():
                raise HarnessError(
                    f"the worker ended while it opened {launch.library}: {answer.cause}",
                    answer.output,
                )
            case _:
                raise HarnessError(f"the worker answered {answer.kind} to being started")

    @property
    def waitable(self) -> Connection:
        """What multiprocessing.connection.wait can wait for."""
        return self._process.connection

    @property
    def alive(self) -> bool:
        """Whether the process is still there."""
        return self._process.alive

    def __enter__(self) -> Worker:
        """The worker itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends the process."""
        self.close()

    def close(self) -> None:
        """Ends the process and gives its board back."""
        self._process.close()
        self.board.close()

    def use_grid(self, grid: Grid) -> None:
        """Makes later jobs be about this grid."""
        self._send(m.UseGrid(grid.call.name, *grid.to_send()))
        self._expect_done(self._receive(START_TIMEOUT_S))

    def submit_range(self, begin: int, count: int, explain: bool) -> None:
        """Starts a walk of rows [begin, begin + count)."""
        self.board.rewind()
        self._send(m.WalkRange(begin, count, explain))

    def submit_rows(self, rows: NDArray[np.int64], explain: bool) -> None:
        """Starts a walk of these rows."""
        self.board.rewind()
        self._send(m.WalkRows(explain))
        self._process.send_frame(np.ascontiguousarray(rows, np.int64).tobytes())

    def poll(self, wait_s: float) -> m.Done | Death | None:
        """What became of the job: done, dead, or None if it is still going after ``wait_s``.

        A worker whose cursor has stood still for the time limit is ended, and counts as dead.
        """
        if self._process.connection.poll(wait_s):
            answer = self._receive(self._timeout_s)
            if not isinstance(answer, Death):
                self._expect_done(answer)
                return m.Done()
            return answer
        cursor, now = self.board.cursor, time.monotonic()
        if cursor != self._seen_cursor:
            self._seen_cursor, self._seen_at = cursor, now
        # Before the first row the library loads its parts, hundreds of MB from a disk maybe.
        limit_s = self._timeout_s if cursor != PREPARING else max(self._timeout_s, START_TIMEOUT_S)
        if now - self._seen_at > limit_s:
            return self._placed(self._process.end(f"no answer for {limit_s:g} s"))
        return None

    def time_rows(self, rows: NDArray[np.int64], repeats: int) -> list[float] | Death:
        """Seconds per call over these rows, one sample a repeat."""
        self._send(m.TimeRows(repeats))
        self._process.send_frame(np.ascontiguousarray(rows, np.int64).tobytes())
        answer = self._receive(self._timeout_s + 60)
        if isinstance(answer, m.Timed):
            return answer.samples_s
        if isinstance(answer, Death):
            return answer
        raise unexpected(answer)

    def status_names(self, statuses: Sequence[int]) -> list[str]:
        """The enumerators of these statuses without their prefix; a bare integer where none is."""
        self._send(m.NameStatuses(list(statuses)))
        answer = self._receive(self._timeout_s)
        if not isinstance(answer, m.Named):
            raise unexpected(answer)
        return [
            name.removeprefix("CUDNN_STATUS_") if name.startswith("CUDNN_STATUS_") else str(status)
            for status, name in zip(statuses, answer.names, strict=True)
        ]

    def version(self) -> int | Death:
        """cudnnGetVersion(), for example 91300."""
        self._send(m.AskVersion())
        answer = self._receive(self._timeout_s)
        if isinstance(answer, m.Version):
            return answer.version
        if isinstance(answer, Death):
            return answer
        raise unexpected(answer)

    def _send(self, message: m.Message) -> None:
        self._seen_cursor, self._seen_at = -1, time.monotonic()
        self._process.send(message)

    def _receive(self, timeout_s: float) -> m.Message | Death:
        answer = self._process.receive(timeout_s)
        return self._placed(answer) if isinstance(answer, Death) else answer

    def _placed(self, death: Death) -> Death:
        """A death with the position that the worker was on."""
        return replace(death, position=max(self.board.cursor, 0))

    @staticmethod
    def _expect_done(answer: m.Message | Death) -> None:
        if not isinstance(answer, m.Done):
            raise unexpected(answer)
