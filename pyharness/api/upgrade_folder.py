"""The folder of an upgrade: whose it is, and that one process alone writes to it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyharness.api.folder import alone, release_data, writable_folder
from pyharness.api.mapping import MapOptions
from pyharness.api.replay_files import replay_folder
from pyharness.errors import UsageError
from pyharness.releases.model import Release
from pyharness.space.grid import Space
from pyharness.store.manifest import NAME, Manifest, now, read_manifest

KIND = "upgrade"


def manifest_of(
    space: Space, logs: Sequence[str], options: MapOptions, old: Release, new: Release
) -> Manifest:
    """What an upgrade on the host is known by."""
    files = [text if text == "-" else os.path.abspath(text) for text in logs]  # noqa: PTH100
    told = "\0".join([space.fingerprint, new.name, new.stamp or "", *files])
    return Manifest(
        kind=KIND,
        release={**release_data(old), "against": release_data(new), "logs": files},
        space={
            "name": space.name,
            "fingerprint": hashlib.sha256(told.encode()).hexdigest()[:12],
            "grids": space.describe(),
        },
        reasons=options.reasons,
        timeout_s=options.timeout_s,
    )


@contextmanager
def own_folder(folder: Path, fresh: Manifest, maps: Path) -> Iterator[None]:
    """The folder for this upgrade alone; its manifest says so if a Ctrl-C ends the block.

    Raises  UsageError if it holds something else, another process writes to it, or nothing can be
            written there.
    """
    with replay_folder(folder, KIND):
        writable_folder(maps, "--maps")
        with alone(folder):
            if (folder / NAME).exists() and read_manifest(folder).identity != fresh.identity:
                raise UsageError(
                    f"{folder} holds the upgrade of other releases, problems or logs, or on "
                    "another device",
                    "give another --out, or remove the folder",
                )
            try:
                yield
            except KeyboardInterrupt:
                fresh.state, fresh.ended = "interrupted", now()
                fresh.write(folder)
                raise
