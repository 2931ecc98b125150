"""The worker process: holds one cuDNN release and does what its parent asks.

cuDNN keeps state for the whole process, may print, and may end the process; so it lives here and
nowhere else. The parent sees answers on the connection, results on the board, and the exit.
"""

from __future__ import annotations

import mmap
import os
import sys
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from pyharness.device import core
from pyharness.device.child import prepare
from pyharness.spec import messages as m

if TYPE_CHECKING:
    from pyharness.device import _core


class _Session:
    """One opened library, its board, and the grid in use."""

    def __init__(self, connection: Connection, library: _core.Library, board: _core.Board) -> None:
        self._connection = connection
        self._library = library
        self._board = board
        self._grid = m.UseGrid("", [], [])

    def answer(self, request: m.Message) -> m.Message:
        _core, grid = core(), self._grid
        match request:
            case m.UseGrid():
                self._grid = request
                return m.Done()
            case m.WalkRange(begin, count, explain):
                _core.walk_range(
                    self._library, self._board, grid.call, grid.axes, grid.literal_lengths,
                    begin, count, explain,
                )  # fmt: skip
                return m.Done()
            case m.WalkRows(explain):
                rows = memoryview(self._connection.recv_bytes()).cast("q")
                _core.walk_rows(
                    self._library, self._board, grid.call, grid.axes, grid.literal_lengths,
                    rows, explain,
                )  # fmt: skip
                return m.Done()
            case m.TimeRows(repeats):
                rows = memoryview(self._connection.recv_bytes()).cast("q")
                samples = _core.time_rows(
                    self._library, grid.call, grid.axes, grid.literal_lengths, rows, repeats
                )
                return m.Timed(samples)
            case m.NameStatuses(statuses):
                return m.Named([self._library.status_name(s) for s in statuses])
            case m.AskVersion():
                return m.Version(self._library.version)
            case _:
                return m.Refused("request", f"a worker is not asked {request.kind}")


def serve(connection: Connection, library_path: str, board_fd: int) -> None:
    """Opens the library, then answers requests until the connection closes."""
    _core = core()
    memory = mmap.mmap(board_fd, 0)
    try:
        library = _core.Library(library_path)
    except OSError as error:
        connection.send_bytes(m.encode(m.Refused("load", str(error))))
        return
    calls = [name for name in _core.call_names() if library.has(name)]
    connection.send_bytes(m.encode(m.Opened(calls)))
    session = _Session(connection, library, _core.Board(memory))
    while True:
        try:
            request = m.decode(connection.recv_bytes())
        except EOFError:
            return
        try:
            answer = session.answer(request)
        except (ValueError, IndexError, RuntimeError) as error:
            answer = m.Refused("call", str(error))
        connection.send_bytes(m.encode(answer))


def main() -> None:
    """Entry point: ``worker CONNECTION_FD BOARD_FD LIBRARY``."""
    prepare()
    connection_fd, board_fd, library_path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    serve(Connection(connection_fd), library_path, board_fd)
    # Past the library's own exit handlers: some releases crash in them when no driver is there.
    os._exit(0)
