"""The headers of every release on the index, in the cache folder."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock

from pyharness.errors import HarnessError
from pyharness.releases import Offer, cache_dir, fetch_headers, list_offers
from pyharness.spec.enums import ReleaseNumber

THREADS = 8
LISTING_AGE_S = 3600.0  # parallel test workers, and runs close together, see one and the same list


@dataclass(frozen=True, slots=True)
class Headers:
    """The headers of one release: its name, its number, the folders to search."""

    name: str
    release: ReleaseNumber
    include_dirs: tuple[Path, ...]


def headers_dir() -> Path:
    """The folder of all headers, made if it is not there."""
    folder = cache_dir() / "headers"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def release_number(offer: Offer) -> ReleaseNumber:
    """9.28.0.42 as (9, 28, 0, 42)."""
    return tuple(int(part) for part in offer.version.split("."))


def chosen_offers() -> list[Offer]:
    """One wheel for every version on the index, and the newest of every CUDA major.

    Returns  offers, the oldest first; the last list seen when the index does not answer.
    Raises   HarnessError with neither network nor cache.
    """
    offers = _listed()
    # the list is sorted: of a version, and of a CUDA major, the last one stands
    chosen = {o.name: o for o in {o.version: o for o in offers}.values()}
    chosen |= {o.name: o for o in {o.cuda_major: o for o in offers}.values()}
    return sorted(chosen.values(), key=lambda o: (release_number(o), o.cuda_major))


def fetch_all(offers: Iterable[Offer]) -> dict[str, Headers | HarnessError]:
    """The headers of many releases by name, in parallel; only what is not cached is fetched.

    Returns  for a release that cannot be had, the error instead.
    """
    offers = list(offers)
    first_of_major = {o.cuda_major: o for o in offers}
    folder = headers_dir()
    with FileLock(folder / ".lock"), ThreadPoolExecutor(THREADS) as pool:
        # one release of each CUDA major brings the CUDA headers that the others share
        list(pool.map(_fetch, first_of_major.values()))
        return dict(zip((o.name for o in offers), pool.map(_fetch, offers), strict=True))


def _fetch(offer: Offer) -> Headers | HarnessError:
    try:
        folders = fetch_headers(offer, headers_dir())
    except HarnessError as error:
        return error
    return Headers(offer.name, release_number(offer), tuple(folders))


def _listed() -> list[Offer]:
    """The list of the index, asked for at most once an hour."""
    listing = headers_dir() / "offers.json"
    with FileLock(headers_dir() / ".offers.lock"):
        if listing.exists() and time.time() - listing.stat().st_mtime < LISTING_AGE_S:
            return _read(listing)
        try:
            offers = list_offers()
        except HarnessError as error:
            with suppress(FileNotFoundError):
                return _read(listing)
            raise HarnessError(
                f"the proof needs the headers of every release: {error.message}", error.hint
            ) from error
        part = listing.with_suffix(".part")
        part.write_text(json.dumps([asdict(offer) for offer in offers]), encoding="utf-8")
        part.replace(listing)
        return offers


def _read(listing: Path) -> list[Offer]:
    return [Offer(**fields) for fields in json.loads(listing.read_text(encoding="utf-8"))]
