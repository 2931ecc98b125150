"""From what a person writes after --cudnn to a release that can be opened."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, TypeVar

from pyharness.errors import HarnessError, UsageError, unknown_name
from pyharness.releases.cache import list_cached
from pyharness.releases.check import REQUIRED_SYMBOLS, check_library
from pyharness.releases.download import fetch
from pyharness.releases.index import SETTINGS_HINT, Offer, list_offers
from pyharness.releases.installed import libraries_in, newest_installed
from pyharness.releases.model import (
    Release,
    parse_request,
    release_key,
    sibling_dirs,
    version_key,
)
from pyharness.releases.provenance import provenance_of
from pyharness.releases.wheel import Progress

INSTALLED = "installed"
LATEST = "latest"
FORMS = (
    "a release is a version (9.28.0.42), a version with its CUDA (9.28.0.42+cu13), the path of a "
    f"libcudnn.so.N, {INSTALLED}, {LATEST} or {LATEST}+cu12"
)
_NEWEST = re.compile(rf"{LATEST}(?:\+cu(?P<cuda>[0-9]+))?")


class _Named(Protocol):
    """What offers and cached releases have in common."""

    @property
    def version(self) -> str: ...

    @property
    def cuda_major(self) -> int: ...

    @property
    def name(self) -> str: ...


_T = TypeVar("_T", bound=_Named)


def resolve(
    text: str,
    *,
    allow_fetch: bool = True,
    full: bool = False,
    progress: Progress | None = None,
    required: Iterable[str] = REQUIRED_SYMBOLS,
) -> Release:
    """The release that a text asks for, fetched if it is not here.

    ``allow_fetch``  False: only what is on this machine, the network is not touched.
    ``full``         fetch all that a GPU run needs.
    ``required``     functions that a library given by path or found installed must export.
    Returns          a release whose file exists; no library was loaded.
    Raises           UsageError for an unknown name or an unusable file; HarnessError without
                     network and not cached, or when a fetch fails.
    """
    text = text.strip()
    if text == INSTALLED:
        release = newest_installed()
        check_library(release.path, required)
        return release
    if is_latest(text) or parse_request(text) is not None:
        planned = plan(text, allow_fetch=allow_fetch, full=full)
        return (
            fetch(planned, full=full, progress=progress) if isinstance(planned, Offer) else planned
        )
    if _looks_like_path(text):
        try:
            return _by_path(Path(text).expanduser(), required)
        except (OSError, RuntimeError) as error:  # no such user, a name too long, no permission
            raise UsageError(f"cannot read the path {text[:200]!r}: {error}", FORMS) from error
    raise unknown_name(
        "release", text, [INSTALLED, LATEST, *(c.name for c in list_cached())], FORMS
    )


def is_latest(text: str) -> bool:
    """Whether the newest release is asked for, of all or for a CUDA: latest, latest+cu12."""
    return _NEWEST.fullmatch(text) is not None


def plan(text: str, *, allow_fetch: bool = True, full: bool = False) -> Release | Offer:
    """What a version, or latest, comes to: a release that is here, or what would be fetched.

    Raises  UsageError for an unknown or ambiguous version, and for what is no version; HarnessError
            if the index is needed and cannot be asked.
    """
    if newest := _NEWEST.fullmatch(text):
        cuda = newest["cuda"]
        return _newest(None if cuda is None else int(cuda), allow_fetch, full)
    request = parse_request(text)
    if request is None:
        raise UsageError(f"{text!r} is not a version", "write 9.28.0.42, 9.28.0.42+cu13 or latest")
    return _by_version(text, *request, allow_fetch=allow_fetch, full=full)


def _newest(cuda_major: int | None, allow_fetch: bool, full: bool) -> Release | Offer:
    usable = [
        e for e in list_cached() if (e.full or not full) and cuda_major in (None, e.cuda_major)
    ]
    try:
        offers = _offers(allow_fetch)
    except HarnessError:
        if usable:
            return usable[-1].release()
        raise
    fitting = [offer for offer in offers if cuda_major in (None, offer.cuda_major)]
    if not fitting:
        known = ", ".join(f"{LATEST}+cu{major}" for major in sorted({o.cuda_major for o in offers}))
        raise UsageError(f"the index offers no cuDNN for CUDA {cuda_major}", f"allowed: {known}")
    newest = [offer for offer in fitting if not offer.yanked][-1:] or fitting[-1:]
    return newest[0]


def _offers(allow_fetch: bool) -> list[Offer]:
    """What the index offers, the oldest first; never empty.

    Raises  HarnessError if it offers nothing, cannot be reached or may not be asked.
    """
    if not allow_fetch:
        raise HarnessError("fetching is not allowed", "fetch a release first")
    offers = list_offers()
    if not offers:
        raise HarnessError("the index offers no cuDNN for this machine", SETTINGS_HINT)
    return offers


def _by_version(
    text: str,
    version: str,
    cuda_major: int | None,
    *,
    allow_fetch: bool,
    full: bool,
) -> Release | Offer:
    """A release by its version, or by the beginning of one that fits only one version."""
    cached = list_cached()
    usable = [c for c in cached if c.full or not full]
    exact = _pick(usable, version, cuda_major)
    if exact is not None:
        return exact.release()
    try:
        offers = _offers(allow_fetch)
    except HarnessError as error:
        near = _pick(usable, _only_version(text, version, cached), cuda_major)
        if near is not None:
            return near.release()
        names = ", ".join(c.name for c in cached) or "none"
        raise HarnessError(
            f"release {text} is not cached{' in full' if full else ''}: {error.message}",
            f"cached: {names}{f'; {error.hint}' if error.hint else ''}",
        ) from error
    everything: list[_Named] = [*cached, *offers]
    chosen = _only_version(text, version, everything)
    here = _pick(usable, chosen, cuda_major)
    if here is not None:
        return here.release()
    # an upgrade to full keeps the CUDA major that is here
    light = _pick(cached, chosen, cuda_major)
    offer = _pick(offers, chosen, light.cuda_major if light else cuda_major)
    if offer is None:
        known = {item.version if cuda_major is None else item.name for item in everything}
        raise unknown_name("release", text, known, FORMS)
    return offer


def _pick(items: Iterable[_T], version: str, cuda_major: int | None) -> _T | None:
    """The release of this version; without a CUDA major, the one that is preferred."""
    fitting = [
        item for item in items if item.version == version and cuda_major in (None, item.cuda_major)
    ]
    return max(fitting, key=lambda i: release_key(i.version, i.cuda_major), default=None)


def _only_version(text: str, version: str, items: Iterable[_Named]) -> str:
    """The one version that begins so; the text's own version when none does.

    Raises  UsageError if several do.
    """
    versions = {item.version for item in items}
    fitting = sorted({v for v in versions if v.startswith(f"{version}.")}, key=version_key)
    if version in versions or not fitting:
        return version
    if len(fitting) > 1:
        raise UsageError(f"release {text} is ambiguous", f"it may be {', '.join(fitting)}")
    return fitting[0]


def _by_path(path: Path, required: Iterable[str]) -> Release:
    """The libcudnn at a path, or the one in a folder."""
    path = Path(os.path.abspath(path))  # noqa: PTH100 - symlinks stay, as for $ORIGIN
    if path.is_dir():
        path = _in_folder(path)
    elif not path.exists():
        beside = libraries_in(path.parent)
        hint = f"beside it: {', '.join(p.name for p in beside)}" if beside else FORMS
        raise UsageError(f"{path} does not exist", hint)
    check_library(path, required)
    known = provenance_of(path)
    return Release(known.version, known.cuda_major, path, "path", sibling_dirs(path))


def _in_folder(folder: Path) -> Path:
    """The one libcudnn of a folder, or of the lib folders below it."""
    for place in ("", "lib", "lib64", "nvidia/cudnn/lib"):
        found = libraries_in(folder / place)
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(str(p) for p in found)
            raise UsageError(f"{folder} holds several cuDNN libraries", f"name one of {names}")
    raise UsageError(f"{folder} holds no libcudnn.so", FORMS)


def _looks_like_path(text: str) -> bool:
    return os.sep in text or text.startswith(("~", ".")) or ".so" in text or os.path.lexists(text)
