"""Reads logs: block by block, entry by entry; what was met before is counted, what is new parsed.

An entry begins at a line of its own (``I! CuDNN (v92800 42) function cudnnRNNForward() called:``)
and ends with the line that names process and thread. Within one process cuDNN writes whole
entries. Where several write to one place without appending, entries get torn; what might have been
put together from two of them is counted as incomplete, and not believed.
"""

from __future__ import annotations

import codecs
import gc
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyharness.errors import UsageError
from pyharness.logs.collecting import Collector, Kind, Origin
from pyharness.logs.sources import blocks, each_once, opened, size_on_disk
from pyharness.spec.recording import Recording

Progress = Callable[[str, int, int], None]  # what, bytes done, bytes in all

BLOCK = 1 << 18  # what a processor keeps near
# Other text may be gigabytes; the longest entry that is known has two lists of a million lengths.
MOST_ENTRY = 64 << 20
# After a torn entry the rest of its writer's text comes soon; until then nothing is sure to be one
# writer's.
SUSPECT = 32

_MARK = b"! CuDNN (v"
_HEAD = re.compile(rb"(\d+)(?: \d+)?\) function (\w+)\(\)")
_HEAD_LENGTH = 160
_END = b" called:\n"  # of a head
_CARRIAGE_END = b" called:\r\n"
_WIDE = ("utf-16-le", "utf-16-be")
_TAIL = re.compile(rb"Process=(\d+); Thread=(\d+); GPU=[^;]*; Handle=[^;]*; StreamId=[^;=]*\.")
_LONGEST_TIME = 100  # of its whole line
_MOST_TAILS = 1 << 16
_BEGINS = (b"\nI", b"\nE", b"\nW")


def read_logs(
    paths: Sequence[Path | str],
    progress: Progress = lambda _step, _done, _total: None,
    *,
    block: int = BLOCK,
) -> Recording:
    """What cuDNN's API logs hold of RNN calls.

    ``paths``  files, packed by gzip or not, in any order; ``-`` is standard input.
    ``block``  bytes read at a time; the result does not depend on it.
    Returns    every distinct problem, in the order of the files.
    Raises     UsageError if a file cannot be read, or is not as cuDNN wrote it: UTF-16, or with
               carriage returns.
    """
    names, notes = each_once([str(p) for p in paths])
    total = size_on_disk(names)
    collector = Collector()
    collector.notes += notes
    with _no_garbage():
        for name in names:
            _Reader(name, collector).read(lambda done: progress("reading", done, total), block)
        return collector.recording(names)


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Keeps the collector of cycles from going through all problems again and again; none arise."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():
            # What was read is old at once, and not gone through when collecting starts again.
            gc.freeze()
            gc.unfreeze()
        if on:
            gc.enable()


class _Reader:
    """One file."""

    def __init__(self, name: str, collector: Collector) -> None:
        self._name = name
        self._to = collector
        self._kinds: dict[bytes, dict[bytes, Kind]] = {begin: {} for begin in _BEGINS}
        self._tails: dict[bytes, Origin] = {}
        self._suspect = 0
        self._before = 0  # bytes before the text at hand

    def read(self, progress: Callable[[int], None], block: int) -> None:
        """Reads the file to its end."""
        rest, new, length = b"", list[bytes](), 0
        try:
            with opened(self._name) as read:
                for i, piece in enumerate(blocks(read, block)):
                    if i == 0:
                        self._refuse_wide(piece)
                    self._to.size_bytes += len(piece)
                    new.append(piece)
                    length += len(piece)
                    # A text without an end in sight is searched when it has doubled: as often as
                    # a block comes, a long one would be copied and searched a hundred times.
                    if length >= min(len(rest), MOST_ENTRY - len(rest)):
                        rest, new, length = self._take(b"".join((rest, *new))), [], 0
                    progress(self._to.size_bytes)
        except EOFError as error:
            self._to.notes.append(f"{self._name} ends early: {error}")
        self._entries(b"".join((rest, *new)))

    def _refuse_wide(self, begin: bytes) -> None:
        if begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or any(
            _MARK.decode().encode(wide) in begin for wide in _WIDE
        ):
            raise UsageError(
                f"the log {self._name} is UTF-16",
                "cuDNN writes bytes; turn it back: iconv -f UTF-16 -t UTF-8 FILE | tr -d '\\r' | "
                "pyharness replay -",
            )

    def _take(self, text: bytes) -> bytes:
        """Reads the entries that are there in full; returns what is not."""
        last = text.rfind(_MARK)
        # Before it: its severity, and the line's begin.
        cut = last - 2 if last > 1 else 0
        if last < 0:
            cut = max(0, len(text) - len(_MARK) - 2)
        elif len(text) - cut > MOST_ENTRY:
            cut = len(text)
        if cut:
            self._entries(text[:cut])
            self._before += cut
        return text[cut:]

    def _entries(self, text: bytes) -> None:
        """Reads a text of whole entries; only the last of a file may be cut."""
        pieces = text.split(_MARK)
        before, at = pieces[0], self._before + len(pieces[0])
        for i in range(1, len(pieces)):
            piece = pieces[i]
            known = self._kinds.get(before[-2:])
            if at < 2:  # the file begins here, perhaps inside an entry's head
                known = self._kinds.get(b"\n" + before)
            if at == 0:
                before, at = piece, at + len(_MARK) + len(piece)
                continue
            before = piece
            end = piece.find(_END, 0, _HEAD_LENGTH)
            kind = known.get(piece[:end]) if known is not None else None
            if kind is None and known is not None:
                kind = self._learn(known, piece[:end], end)
            if kind is None:
                self._torn()
            else:
                kind.count += 1
                if not kind.ignored:
                    self._read_one(kind, piece, end + len(_END), at)
            at += len(_MARK) + len(piece)

    def _learn(self, known: dict[bytes, Kind], head: bytes, end: int) -> Kind | None:
        """The kind of a head that is new; None if it is cut or torn.

        Raises  UsageError if its line ends with a carriage return.
        """
        if end < 0 and _CARRIAGE_END in head[:_HEAD_LENGTH]:
            raise UsageError(
                f"the log {self._name} has carriage returns (a terminal's line ends, or Windows')",
                "cuDNN writes none; take them out: tr -d '\\r' < FILE | pyharness replay -",
            )
        match = _HEAD.fullmatch(head) if end > 0 else None
        if match is None:
            return None
        severity = next(chr(s[1]) for s, kinds in self._kinds.items() if kinds is known)
        kind = known[head] = self._to.kind(severity, int(match[1]), match[2].decode())
        return kind

    def _torn(self) -> None:
        """Something is not as it was written: what follows may be of several writers."""
        self._suspect = SUSPECT
        self._to.forget_last()

    def _read_one(self, kind: Kind, piece: bytes, begin: int, at: int) -> None:
        """Reads an entry.

        ``begin``  of its arguments in the piece.
        ``at``     where in the file its head is.
        """
        time = piece.rfind(kind.time_mark)
        process = piece.find(kind.process_mark, time + 1, time + _LONGEST_TIME)
        end = piece.find(b"\n", process + 1)
        if end < 0:
            end = len(piece)
        tail = piece[process + 4 : end]
        origin = self._tails.get(tail) or self._learn_tail(tail)
        whole = origin is not None and begin <= time + 1
        if not kind.info:
            if whole and origin is not None:
                self._to.add_status(kind, piece[begin : time + 1], origin)
        elif not whole or origin is None or self._suspect:
            self._to.incomplete += 1
        elif not self._to.add_call(
            kind,
            piece[begin : time + 1],
            piece[time + 10 : time + 36],
            origin,
            self._name,
            at,
        ):
            self._to.incomplete += 1
            whole = False
        if self._suspect:
            self._suspect -= 1
        if not whole:
            self._torn()

    def _learn_tail(self, tail: bytes) -> Origin | None:
        match = _TAIL.fullmatch(tail)
        if match is None:
            return None
        if len(self._tails) >= _MOST_TAILS:
            self._tails.clear()
        origin = self._tails[tail] = int(match[1]), int(match[2])
        return origin
