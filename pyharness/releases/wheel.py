"""A wheel on the index, read member by member over HTTP byte ranges and checked as it arrives."""

from __future__ import annotations

import base64
import csv
import errno
import hashlib
import io
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol

from pyharness.errors import HarnessError

if TYPE_CHECKING:
    import zipfile

    import requests

    from pyharness.releases.index import Offer

_CHUNK_BYTES = 1 << 20


class Progress(Protocol):
    """Told how far a fetch is: bytes done and in all (unpacked), and the member being fetched."""

    def __call__(self, done_bytes: int, total_bytes: int, member: str, /) -> None:
        """Take one step of the progress."""


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a wheel, as its RECORD describes it; ``sha256`` in hexadecimal."""

    path: str
    size_bytes: int
    sha256: str


class Wheel:
    """An open wheel: its RECORD is read, its members are fetched one by one."""

    def __init__(self, offer: Offer, archive: zipfile.ZipFile) -> None:
        self.offer = offer
        self._archive = archive
        self._sizes = {info.filename: info.file_size for info in archive.infolist()}
        self.record = self._read_record()

    def members(self, wanted: Callable[[str], bool]) -> list[Member]:
        """The members whose path satisfies ``wanted``, in the order of the archive.

        Raises  HarnessError if RECORD does not cover one of them, or its path leaves the wheel.
        """
        found = []
        for path in self._sizes:
            if path.endswith("/") or not wanted(path):
                continue
            pure = PurePosixPath(path)
            if pure.is_absolute() or ".." in pure.parts:
                raise HarnessError(f"{self.offer.filename}: {path} would lie outside its folder")
            if path not in self.record:
                raise HarnessError(f"{self.offer.filename}: RECORD has no checksum for {path}")
            found.append(self.record[path])
        return found

    def extract(self, member: Member, root: Path, advance: Callable[[int], None]) -> Path:
        """Fetch one member into ``root`` at its own path; ``advance`` gets the bytes of each step.

        Returns  the file, complete and equal to what RECORD says of it.
        Raises   HarnessError if the transfer breaks off or the content differs; no file is left.
        """
        target = root / member.path
        part = target.with_name(f"{target.name}.part")
        digest = hashlib.sha256()
        size = 0
        try:
            with _explained(self.offer, member.path):
                target.parent.mkdir(parents=True, exist_ok=True)
                with self._archive.open(member.path) as source, part.open("wb") as sink:
                    while chunk := source.read(_CHUNK_BYTES):
                        sink.write(chunk)
                        digest.update(chunk)
                        size += len(chunk)
                        advance(len(chunk))
            if size != member.size_bytes or digest.hexdigest() != member.sha256:
                raise HarnessError(
                    f"{member.path} of {self.offer.filename} does not match the wheel's RECORD "
                    f"({size} bytes, sha256 {digest.hexdigest()[:16]}…; expected "
                    f"{member.size_bytes} bytes, {member.sha256[:16]}…)",
                    "the file was discarded; run the command again, or ask another index",
                )
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
        return target

    def _read_record(self) -> dict[str, Member]:
        names = [n for n in self._sizes if n.endswith(".dist-info/RECORD") and n.count("/") == 1]
        if len(names) != 1:
            raise HarnessError(f"{self.offer.filename} has no RECORD to check its members against")
        with _explained(self.offer, names[0]):
            text = self._archive.read(names[0]).decode("utf-8")
        record: dict[str, Member] = {}
        for row in csv.reader(io.StringIO(text)):
            if len(row) >= 3 and row[1].startswith("sha256=") and row[2].isdigit():
                encoded = row[1].removeprefix("sha256=")
                raw = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
                record[row[0]] = Member(row[0], int(row[2]), raw.hex())
        return record


@contextmanager
def open_wheel(offer: Offer, session: requests.Session) -> Iterator[Wheel]:
    """Open a wheel on the index for reading in parts.

    Raises  HarnessError if it cannot be reached, or the server does not serve byte ranges.
    """
    from remotezip import RemoteZip  # noqa: PLC0415 - brings requests, slow to import

    with _explained(offer, "the directory"):
        archive = RemoteZip(offer.url, session=session)
    with archive, closing(archive.fp):  # the archive does not close what it was given to read
        yield Wheel(offer, archive)


def file_sha256(path: Path) -> str:
    """The sha256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as source:
        while chunk := source.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def is_file_of(path: Path, member: Member) -> bool:
    """Whether a file on disk is exactly this member."""
    return (
        path.is_file()
        and path.stat().st_size == member.size_bytes
        and file_sha256(path) == member.sha256
    )


@contextmanager
def _explained(offer: Offer, what: str) -> Iterator[None]:
    """Turn what breaks inside a transfer into a HarnessError that names the member."""
    import zipfile  # noqa: PLC0415 - needed only with the network
    import zlib  # noqa: PLC0415

    import requests  # noqa: PLC0415
    import urllib3  # noqa: PLC0415
    from remotezip import RangeNotSupported, RemoteIOError, RemoteZipError  # noqa: PLC0415

    from pyharness.releases.session import short_cause  # noqa: PLC0415

    place = f"{what} of {offer.filename}"
    try:
        yield
    except RangeNotSupported as error:
        raise HarnessError(
            f"the server of {offer.filename} does not serve parts of a file",
            "configure an index that answers HTTP range requests",
        ) from error
    except (zipfile.BadZipFile, zlib.error) as error:
        raise HarnessError(
            f"{place} is damaged: {error}", "the file was discarded; run the command again"
        ) from error
    except (
        requests.RequestException,
        urllib3.exceptions.HTTPError,
        RemoteIOError,
        RemoteZipError,
        ConnectionError,
        TimeoutError,
        EOFError,
    ) as error:
        raise HarnessError(
            f"the transfer of {place} broke off: {short_cause(error)}",
            "run the command again: members that have arrived are kept",
        ) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise HarnessError(
                f"the disk is full: {place} does not fit",
                "free some space, or put the cache elsewhere with PYHARNESS_CACHE",
            ) from error
        raise HarnessError(f"cannot write {place}: {error}") from error
