"""The journal of a sweep: what each case came to, as it came, so that a kill loses nothing.

One JSON object a line: a header that says which run it is of, then a case each. A line is on the
disk before the next case is begun; one that a kill cut off is dropped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from pyharness.errors import UsageError
from pyharness.spec.columns import SCHEMA_VERSION
from pyharness.store.files import full_disk_told, replacing

NAME = "cases.jsonl"
_OTHER = "give another --out, or remove the folder"


class CaseJournal:
    """The cases of one run in a folder that this process has to itself.

    ``identity``  what tells this run from another; plain data.
    ``forget``    whether a case of an earlier run is to be done again; None: no case is.
    ``cases``     key of a case to what it came to, those of earlier runs included.

    Raises  UsageError if the file is of another run or a newer schema, or is damaged; HarnessError
            if the disk is full.
    """

    def __init__(
        self,
        folder: Path,
        identity: Mapping[str, Any],
        forget: Callable[[Any], bool] | None = None,
    ) -> None:
        self._path = folder / NAME
        # As it will be read again: tuples are lists there, keys are texts.
        self._identity = json.loads(json.dumps(identity, allow_nan=False))
        self.cases: dict[str, Any] = {}
        whole = self._read()
        kept = {k: case for k, case in self.cases.items() if forget is None or not forget(case)}
        if not whole or len(kept) < len(self.cases):
            self.cases = kept
            self._write_anew()
        self._file: BinaryIO = self._path.open("ab")

    def add(self, key: str, case: Any) -> None:
        """Keeps what a case came to; it is on the disk when this returns.

        Raises  HarnessError if the disk is full.
        """
        with full_disk_told(self._path.parent):
            self._file.write(_line({"case": key, "result": case}))
            self.cases[key] = case  # from here on close() writes it, also after a Ctrl-C
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Closes the file; it stays for the next run."""
        with suppress(OSError):  # a line that found no place was told when it was written
            self._file.close()

    def remove(self) -> None:
        """Ends the journal: the tables stand."""
        self.close()
        self._path.unlink(missing_ok=True)  # somebody may have removed the folder meanwhile

    def _read(self) -> bool:
        """Takes in what is there; whether the file can be gone on with as it is."""
        if not self._path.exists():
            return False
        data = self._path.read_bytes()
        lines = data.split(b"\n")
        tail = lines.pop()  # empty, unless a kill cut the last line off
        entries = []
        for number, line in enumerate(lines, 1):
            try:
                entries.append(json.loads(line))
            except ValueError:
                if number < len(lines):
                    raise self._damaged(number) from None
                tail = line  # the disk kept the line's end and not its beginning
        if not entries:
            return False
        self._check_header(entries[0])
        for number, entry in enumerate(entries[1:], 2):
            try:
                self.cases[entry["case"]] = entry["result"]
            except (KeyError, TypeError):
                raise self._damaged(number) from None
        return not tail

    def _check_header(self, header: Any) -> None:
        if not isinstance(header, dict) or not isinstance(header.get("schema_version"), int):
            raise self._damaged(1)
        if header["schema_version"] > SCHEMA_VERSION:
            raise UsageError(
                f"{self._path} was written by a newer pyharness",
                f"this one reads up to schema {SCHEMA_VERSION}: upgrade it, or {_OTHER}",
            )
        there = header.get("identity")
        if there != self._identity:
            raise UsageError(
                f"{self._path} is of another run{_difference(there, self._identity)}", _OTHER
            )

    def _damaged(self, line: int) -> UsageError:
        return UsageError(f"{self._path} is damaged in line {line}", _OTHER)

    def _write_anew(self) -> None:
        header = {"schema_version": SCHEMA_VERSION, "identity": self._identity}
        with replacing(self._path) as scratch, scratch.open("wb") as out:
            out.write(_line(header))
            for key, case in self.cases.items():
                out.write(_line({"case": key, "result": case}))
            out.flush()
            os.fsync(out.fileno())


def _difference(there: Any, ours: Mapping[str, Any]) -> str:
    """The first thing in which two runs differ, in words."""
    if isinstance(there, dict):
        for key, value in ours.items():
            if there.get(key) != value:
                return f": {key} is {json.dumps(there.get(key))}, here {json.dumps(value)}"
    return ""


def _line(data: Any) -> bytes:
    return json.dumps(data, allow_nan=False).encode() + b"\n"
