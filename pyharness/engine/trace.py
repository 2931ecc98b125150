"""What a runner is doing, told through memory that it shares with its parent."""

from __future__ import annotations

import mmap
import os

_BYTES = 256  # as csrc has them


class Trace:
    """The stage and the call that a runner is in: two texts, each ended by a NUL.

    ``fd``  the memory's descriptor, to hand to the runner.
    """

    def __init__(self) -> None:
        self.fd = os.memfd_create("pyharness-trace")
        os.ftruncate(self.fd, _BYTES)
        self._memory = mmap.mmap(self.fd, _BYTES)

    def close(self) -> None:
        """Gives the memory back."""
        self._memory.close()
        os.close(self.fd)

    def clear(self) -> None:
        """Forgets what was done, before something is asked for."""
        self._memory[:] = bytes(_BYTES)

    def read(self) -> tuple[str, str]:
        """Stage and call; both empty where nothing was begun."""
        stage, call, *_ = (*self._memory[:].split(b"\0"), b"", b"")
        return stage.decode("utf-8", "replace"), call.decode("utf-8", "replace")
