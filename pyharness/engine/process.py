"""A process that answers messages, as its parent sees it: frames, time limits, its death."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

from pyharness.errors import HarnessError
from pyharness.spec import messages as m
from pyharness.spec.ledger import Death

START_TIMEOUT_S = 120.0  # a cold library is read from disk first
_END_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Launch:
    """How processes are started.

    ``command``  the command line, see device.launch.
    ``library``  the path of the libcudnn that the process opens.
    ``env``      variables set on top of ours; None: one of ours that is left out.
    """

    command: Sequence[str]
    library: str
    env: tuple[tuple[str, str | None], ...] = ()


class Process:
    """A running process with a connection to it, and a file that takes what it prints.

    It is started with the descriptor of the connection, that of the memory that it shares with us,
    if it does, and the library's path.
    """

    def __init__(self, launch: Launch, *shared_fds: int) -> None:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        ours, theirs = socket.socketpair()
        with theirs, _handed(theirs.fileno(), *shared_fds) as fds:
            self._process = subprocess.Popen(
                [*launch.command, *(str(fd) for fd in fds), launch.library],
                pass_fds=fds,
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                env=_environment(launch),
                start_new_session=True,  # Ctrl-C is ours to handle, not the process's
            )
        self.connection = Connection(ours.detach())

    @property
    def alive(self) -> bool:
        """Whether it is still there."""
        return self._process.poll() is None

    def send(self, message: m.Message) -> None:
        """Sends a message."""
        self.send_frame(m.encode(message))

    def send_frame(self, frame: bytes) -> None:
        """Sends a frame."""
        try:
            self.connection.send_bytes(frame)
        except (BrokenPipeError, ConnectionResetError):
            # It died before it was asked: receive() will say how.
            return

    def receive(self, timeout_s: float) -> m.Message | Death:
        """The next message, or how the process ended; it is ended if none comes in time."""
        frame = self.receive_frame(timeout_s)
        return frame if isinstance(frame, Death) else m.decode(frame)

    def receive_frame(self, timeout_s: float) -> bytes | Death:
        """The next frame, whatever is in it; else as receive()."""
        try:
            if not self.connection.poll(timeout_s):
                return self.end(f"no answer for {timeout_s:g} s")
            return self.connection.recv_bytes()
        except (EOFError, OSError):  # between two frames, or within one
            return self._death("")

    def end(self, cause: str) -> Death:
        """Ends the process, which counts as its death for this cause."""
        self._process.kill()
        return self._death(cause)

    def close(self, patience_s: float = 0.0) -> None:
        """Closes the connection and ends the process, which gets so many seconds to end itself."""
        self.connection.close()
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._process.wait()
        self._output.close()

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
        return Death(0, cause, output)


@contextmanager
def _handed(*fds: int) -> Iterator[list[int]]:
    """Copies of descriptors for a new process, above those of its standard streams.

    Where a standard stream of ours is closed, what we open takes its number, and the process would
    find its own stream there instead.
    """
    with ExitStack() as opened:
        copies = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3) for fd in fds]
        for fd in copies:
            opened.callback(os.close, fd)
        yield copies


def unexpected(answer: m.Message | Death) -> HarnessError:
    """The error for an answer that was not due."""
    if isinstance(answer, Death):
        return HarnessError(f"the worker ended: {answer.cause}", answer.output)
    if isinstance(answer, m.Refused):
        return HarnessError(f"the worker could not do it: {answer.message}")
    return HarnessError(f"the worker answered {answer.kind} where something else was due")


def _environment(launch: Launch) -> dict[str, str]:
    """Ours, without cuDNN's logging: a log of a million refusals is neither wanted nor small."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith("CUDNN_LOG")}
    merged = {**ours, **dict(launch.env)}
    return {k: v for k, v in merged.items() if v is not None}
