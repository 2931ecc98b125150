"""The parent's view of the memory shared with a worker, laid out as in csrc/walk/board.hpp."""

from __future__ import annotations

import mmap
import os
import struct

import numpy as np
from numpy.typing import NDArray

PREPARING = -1  # kPreparing of csrc/walk/board.hpp
_MOST_STATUSES = 254
_TEXT_BYTES = 1 << 20
_COUNTS = struct.Struct("<qIIII")  # cursor, statuses, texts, bytes of texts, reserved
_TEXTS_AT = _COUNTS.size + 4 * _MOST_STATUSES
_ROWS_AT = _TEXTS_AT + _TEXT_BYTES


class Board:
    """Statuses and reasons of one job, position by position.

    ``fd``        the memory's descriptor, to hand to the worker.
    ``capacity``  rows that fit.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._bytes = _ROWS_AT + 3 * capacity
        self.fd = os.memfd_create("pyharness-board")
        os.ftruncate(self.fd, self._bytes)
        self._memory = mmap.mmap(self.fd, self._bytes)

    def close(self) -> None:
        """Gives the memory back."""
        self._memory.close()
        os.close(self.fd)

    def rewind(self) -> None:
        """Puts the cursor before the first position, when a job is given out."""
        self._memory[:8] = struct.pack("<q", PREPARING)

    @property
    def cursor(self) -> int:
        """The position that is being tried; PREPARING before the first."""
        return int(_COUNTS.unpack_from(self._memory)[0])

    @property
    def statuses(self) -> list[int]:
        """The status of each code."""
        count = _COUNTS.unpack_from(self._memory)[1]
        return list(struct.unpack_from(f"<{count}i", self._memory, _COUNTS.size))

    @property
    def texts(self) -> list[str]:
        """The text of each id; id 0 is the empty text."""
        count = _COUNTS.unpack_from(self._memory)[2]
        texts, at = [""], _TEXTS_AT
        for _ in range(count):
            (length,) = struct.unpack_from("<I", self._memory, at)
            at += 4
            texts.append(self._memory[at : at + length].decode("utf-8", "replace"))
            at += length
        return texts

    def codes(self, count: int) -> NDArray[np.uint8]:
        """A copy of the first ``count`` codes: uint8 [count]."""
        at = _ROWS_AT + 2 * self.capacity
        codes: NDArray[np.uint8] = np.frombuffer(self._memory, np.uint8, count, at).copy()
        return codes

    def text_ids(self, count: int) -> NDArray[np.uint16]:
        """A copy of the first ``count`` text ids: uint16 [count]."""
        ids: NDArray[np.uint16] = np.frombuffer(self._memory, np.uint16, count, _ROWS_AT).copy()
        return ids
