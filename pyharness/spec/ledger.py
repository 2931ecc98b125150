"""What statuses and texts are called in one run, whichever worker met them first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Codes that stand for no status, here and on a board (csrc/walk/board.hpp).
NOT_RUN = 255
FAILED = 254  # the row's worker died; on a board: more statuses than any cuDNN has
TOO_MANY_TEXTS = 0xFFFF
_MOST_TEXTS = TOO_MANY_TEXTS - 1
OVERFLOW_TEXT = "(more distinct texts than are kept)"


@dataclass(frozen=True, slots=True)
class Death:
    """A worker ended, or was ended because it stood still.

    ``position``  what it was on; 0 if it had not begun.
    ``cause``     the signal's name, "exit status N", or "no answer for N s".
    ``output``    the last of what the process printed, for a person to read.
    """

    position: int
    cause: str
    output: str


class Ledger:
    """Codes of statuses and ids of texts, the same for every worker of a run.

    ``statuses``  the integer of each code.
    ``names``     the enumerator of a status, once a library has been asked.
    ``texts``     the text of each id; id 0 is none.
    """

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.names: dict[int, str] = {}
        self.texts: list[str] = [""]
        self._text_ids: dict[str, int] = {"": 0}

    def unnamed(self) -> list[int]:
        """Statuses that no library has been asked about."""
        return [s for s in self.statuses if s not in self.names]

    def code(self, status: int) -> int:
        """The code of a status, made when it is new; FAILED when all codes are taken."""
        if status not in self.statuses:
            if len(self.statuses) == FAILED:
                return FAILED
            self.statuses.append(status)
        return self.statuses.index(status)

    def text_id(self, text: str) -> int:
        """The id of a text, made when it is new; that of a last resort when all ids are taken."""
        if len(self.texts) >= _MOST_TEXTS and text not in self._text_ids:
            text = OVERFLOW_TEXT
        known = self._text_ids.get(text)
        if known is None:
            known = self._text_ids[text] = len(self.texts)
            self.texts.append(text)
        return known

    def name_of(self, code: int) -> str | None:
        """The enumerator of a code; None for a row whose worker died."""
        return None if code == FAILED else self.names[self.statuses[code]]

    def translate_codes(
        self, codes: NDArray[np.uint8], statuses: Sequence[int]
    ) -> NDArray[np.uint8]:
        """A worker's codes in this ledger's terms."""
        table = np.full(256, NOT_RUN, np.uint8)
        for theirs, status in enumerate(statuses):
            table[theirs] = self.code(status)
        table[FAILED] = FAILED
        return table[codes]

    def translate_texts(self, ids: NDArray[np.uint16], texts: Sequence[str]) -> NDArray[np.uint16]:
        """A worker's text ids in this ledger's terms."""
        table = np.zeros(TOO_MANY_TEXTS + 1, np.uint16)
        for theirs, text in enumerate(texts):
            table[theirs] = self.text_id(text)
        if np.any(ids == TOO_MANY_TEXTS):
            table[TOO_MANY_TEXTS] = self.text_id(OVERFLOW_TEXT)
        return table[ids]
