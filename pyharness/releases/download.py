"""Fetch a release from the index into the cache."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyharness.errors import HarnessError
from pyharness.releases import cache, parts
from pyharness.releases.index import Offer, newest_wheel
from pyharness.releases.manifest import MANIFEST_NAME, Manifest, is_main_library, write_manifest
from pyharness.releases.pip_config import read_settings
from pyharness.releases.wheel import Member, Progress, Wheel, is_file_of, open_wheel

if TYPE_CHECKING:
    import requests

    from pyharness.releases.model import Release

_SPARE_BYTES = 32 << 20  # what must stay free beside the release itself


@dataclass(frozen=True, slots=True)
class _Item:
    """One member to bring, and the wheel that it comes from."""

    wheel: Wheel
    member: Member


def fetch(offer: Offer, full: bool = False, progress: Progress | None = None) -> Release:
    """Bring a release into the cache, or find it there.

    What has arrived is kept for the next try; no half of a release is ever seen.

    ``full``  every library of the wheel with cuBLAS and NVRTC, instead of those of the host calls.
    Returns   the release; one that another process is fetching is waited for.
    Raises    HarnessError without network, with a member that fails its checksum, without space.
    """
    from pyharness.releases.session import open_session  # noqa: PLC0415 - only with the network

    with cache.locked(offer.name):
        present = cache.find_cached(offer.name)
        if present is not None and (present.full or not full):
            return present.release()
        with ExitStack() as stack:
            session = stack.enter_context(open_session(read_settings()))
            items = _collect(offer, full, present, session, stack)
            final = cache.releases_dir() / offer.name
            staging = final.with_name(f".{offer.name}.staging")
            try:
                _bring(items, final, staging, progress)
                _publish(_describe(offer, full, present, items), final, staging)
            except OSError as error:
                raise HarnessError(f"cannot write {final}: {error}") from error
    entry = cache.find_cached(offer.name)
    if entry is None:
        raise HarnessError(f"{final} was changed while it was being fetched", "run it again")
    return entry.release()


def _collect(
    offer: Offer,
    full: bool,
    present: cache.CachedRelease | None,
    session: requests.Session,
    stack: ExitStack,
) -> list[_Item]:
    """The members of all wheels that the release consists of, less those of wheels it has."""
    main = stack.enter_context(open_wheel(offer, session))
    items = [_Item(main, m) for m in main.members(parts.wanted_of_cudnn(full))]
    if not any(is_main_library(item.member.path) for item in items):
        raise HarnessError(f"{offer.filename} holds no libcudnn.so")
    if full or parts.needs_toolkit(offer.version):
        for library, wanted in (
            (parts.CUBLAS, parts.wanted_of_cublas),
            (parts.NVRTC, parts.wanted_of_nvrtc),
        ):
            package = parts.toolkit_package(library, offer.cuda_major)
            if present is None or package not in present.manifest.wheels:
                source = newest_wheel(package, offer.cuda_major)
                wheel = stack.enter_context(open_wheel(source, session))
                items += [_Item(wheel, m) for m in wheel.members(wanted)]
    return items


def _bring(items: list[_Item], final: Path, staging: Path, progress: Progress | None) -> None:
    """Put every member that the release lacks into the staging folder, verified."""
    for part in staging.rglob("*.part"):  # of a process that was killed
        part.unlink()
    shared = cache.files_by_sha256()
    missing = []
    total = sum(item.member.size_bytes for item in items)
    done = 0

    def advance(member: Member, size: int) -> None:
        nonlocal done
        done += size
        if progress is not None:
            progress(done, total, member.path)

    for item in items:
        member = item.member
        if any(is_file_of(root / member.path, member) for root in (final, staging)) or _share(
            shared.get(member.sha256), staging / member.path, member
        ):
            advance(member, member.size_bytes)
        else:
            missing.append(item)
    _check_space(missing, staging.parent)
    for item in missing:
        item.wheel.extract(item.member, staging, functools.partial(advance, item.member))


def _share(source: Path | None, target: Path, member: Member) -> bool:
    """Link the same file of another cached release instead of fetching it again."""
    if source is None or not is_file_of(source, member):
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        target.hardlink_to(source)
    except OSError:  # a file system without hard links: fetch it
        return False
    return True


def _check_space(items: Iterable[_Item], folder: Path) -> None:
    needed = sum(item.member.size_bytes for item in items)
    free = shutil.disk_usage(folder).free
    if needed and needed + _SPARE_BYTES > free:
        raise HarnessError(
            f"not enough space in {folder}: {needed / 1e6:.0f} MB needed, {free / 1e6:.0f} MB free",
            f"free some space, or put the cache elsewhere with {cache.VARIABLE}",
        )


def _describe(
    offer: Offer, full: bool, present: cache.CachedRelease | None, items: list[_Item]
) -> Manifest:
    members = {m.path: m for m in present.manifest.members} if present else {}
    wheels = dict(present.manifest.wheels) if present else {}
    members |= {item.member.path: item.member for item in items}
    wheels |= {item.wheel.offer.package: item.wheel.offer.filename for item in items}
    return Manifest(
        version=offer.version,
        cuda_major=offer.cuda_major,
        full=full,
        wheels=wheels,
        members=tuple(members[path] for path in sorted(members)),
        links=parts.links(offer.version, offer.cuda_major, members),
    )


def _publish(manifest: Manifest, final: Path, staging: Path) -> None:
    """Make the staged members a release: the folder, or its manifest, appears in one step."""
    if not final.exists():
        _make_links(manifest, staging)
        write_manifest(manifest, staging / MANIFEST_NAME)
        staging.rename(final)
        return
    # an upgrade, or a damaged folder: whole files move in, and the manifest that names them last
    for member in manifest.members:
        staged = staging / member.path
        if staged.exists():
            target = final / member.path
            target.parent.mkdir(parents=True, exist_ok=True)
            staged.replace(target)
    _make_links(manifest, final)
    write_manifest(manifest, final / MANIFEST_NAME)
    shutil.rmtree(staging, ignore_errors=True)


def _make_links(manifest: Manifest, root: Path) -> None:
    for path, target in manifest.links.items():
        link = root / path
        link.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(link):
            link.symlink_to(target)
