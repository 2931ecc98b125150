"""One worker process as its parent sees it: jobs go out, answers, silence or a death come back."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from pyharness.engine.board import PREPARING, Board
from pyharness.errors import HarnessError, UsageError
from pyharness.space.grid import Grid
from pyharness.spec import messages as m
from pyharness.spec.ledger import Death

DEFAULT_CAPACITY = 1 << 20  # rows of a task: 50 ms and more, so that walkers end together
DEFAULT_TIMEOUT_S = 10.0
_END_TIMEOUT_S = 5.0
_START_TIMEOUT_S = 120.0  # a cold library is read from disk first


@dataclass(frozen=True, slots=True)
class Launch:
    """How workers are started.

    ``command``  the command line, see device.launch.worker_command.
    ``library``  the path of the libcudnn that the worker opens.
    ``env``      variables set on top of ours.
    """

    command: Sequence[str]
    library: str
    env: tuple[tuple[str, str], ...] = ()


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
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [*launch.command, str(theirs.fileno()), str(self.board.fd), launch.library],
                pass_fds=(theirs.fileno(), self.board.fd),
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                env=_environment(launch),
                start_new_session=True,  # Ctrl-C is ours to handle, not the worker's
            )
        self._connection = Connection(ours.detach())
        try:
            self.opened = self._open(launch)
        except BaseException:
            self.close()
            raise

    def _open(self, launch: Launch) -> m.Opened:
        answer = self._receive(_START_TIMEOUT_S)
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
        return self._connection

    @property
    def alive(self) -> bool:
        """Whether the process is still there."""
        return self._process.poll() is None

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
        self._connection.close()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._output.close()
        self.board.close()

    def use_grid(self, grid: Grid) -> None:
        """Makes later jobs be about this grid."""
        self._send(m.UseGrid(grid.call.name, *grid.to_send()))
        self._expect_done(self._receive(_START_TIMEOUT_S))

    def submit_range(self, begin: int, count: int, explain: bool) -> None:
        """Starts a walk of rows [begin, begin + count)."""
        self.board.rewind()
        self._send(m.WalkRange(begin, count, explain))

    def submit_rows(self, rows: NDArray[np.int64], explain: bool) -> None:
        """Starts a walk of these rows."""
        self.board.rewind()
        self._send(m.WalkRows(explain))
        self._send_frame(np.ascontiguousarray(rows, np.int64).tobytes())

    def poll(self, wait_s: float) -> m.Done | Death | None:
        """What became of the job: done, dead, or None if it is still going after ``wait_s``.

        A worker whose cursor has stood still for the time limit is ended, and counts as dead.
        """
        if self._connection.poll(wait_s):
            answer = self._receive(self._timeout_s)
            if not isinstance(answer, Death):
                self._expect_done(answer)
                return m.Done()
            return answer
        cursor, now = self.board.cursor, time.monotonic()
        if cursor != self._seen_cursor:
            self._seen_cursor, self._seen_at = cursor, now
        # Before the first row the library loads its parts, hundreds of MB from a disk maybe.
        limit_s = self._timeout_s if cursor != PREPARING else max(self._timeout_s, _START_TIMEOUT_S)
        if now - self._seen_at > limit_s:
            self._process.kill()
            return self._death(f"no answer for {limit_s:g} s")
        return None

    def time_rows(self, rows: NDArray[np.int64], repeats: int) -> list[float] | Death:
        """Seconds per call over these rows, one sample a repeat."""
        self._send(m.TimeRows(repeats))
        self._send_frame(np.ascontiguousarray(rows, np.int64).tobytes())
        answer = self._receive(self._timeout_s + 60)
        if isinstance(answer, m.Timed):
            return answer.samples_s
        if isinstance(answer, Death):
            return answer
        raise _unexpected(answer)

    def status_names(self, statuses: Sequence[int]) -> list[str]:
        """The enumerators of these statuses without their prefix; a bare integer where none is."""
        self._send(m.NameStatuses(list(statuses)))
        answer = self._receive(self._timeout_s)
        if not isinstance(answer, m.Named):
            raise _unexpected(answer)
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
        raise _unexpected(answer)

    def _send(self, message: m.Message) -> None:
        self._seen_cursor, self._seen_at = -1, time.monotonic()
        self._send_frame(m.encode(message))

    def _send_frame(self, frame: bytes) -> None:
        try:
            self._connection.send_bytes(frame)
        except BrokenPipeError:
            # It died before it was asked: poll() will say how.
            return

    def _receive(self, timeout_s: float) -> m.Message | Death:
        try:
            if not self._connection.poll(timeout_s):
                self._process.kill()
                return self._death(f"no answer for {timeout_s:g} s")
            return m.decode(self._connection.recv_bytes())
        except (EOFError, ConnectionResetError):
            return self._death("")

    def _death(self, cause: str) -> Death:
        try:
            code = self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:  # it closed its end of the connection and lives on
            self._process.kill()
            code = self._process.wait()
        if not cause:
            cause = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        self._output.seek(max(0, self._output.seek(0, os.SEEK_END) - 2000))
        output = self._output.read().decode("utf-8", "replace").strip()
        return Death(max(self.board.cursor, 0), cause, output)

    @staticmethod
    def _expect_done(answer: m.Message | Death) -> None:
        if not isinstance(answer, m.Done):
            raise _unexpected(answer)


def _environment(launch: Launch) -> dict[str, str]:
    """Ours, without cuDNN's logging: a log of a million refusals is neither wanted nor small."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith("CUDNN_LOG")}
    return {**ours, **dict(launch.env)}


def _unexpected(answer: m.Message | Death) -> HarnessError:
    if isinstance(answer, Death):
        return HarnessError(f"the worker ended: {answer.cause}", answer.output)
    if isinstance(answer, m.Refused):
        return HarnessError(f"the worker could not do it: {answer.message}")
    return HarnessError(f"the worker answered {answer.kind} where something else was due")
