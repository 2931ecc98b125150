"""A drift run of the two releases that a diff is of, joined into what changed."""

from __future__ import annotations

from pathlib import Path

from pyharness.analyze.drift_changes import DriftChanges, changes_of
from pyharness.analyze.map_diff import MapDiff
from pyharness.errors import UsageError
from pyharness.store.manifest import Manifest, read_manifest
from pyharness.store.reading import read_rows


def drift_manifest(folder: Path) -> Manifest:
    """What a folder says that `pyharness drift` has filled.

    Raises  UsageError if it holds none, or one that was interrupted.
    """
    manifest = read_manifest(folder)
    if manifest.kind != "drift":
        raise UsageError(
            f"{folder} holds no drift: its run.json says {manifest.kind}",
            "give a folder of `pyharness drift`",
        )
    if manifest.state != "complete":
        raise UsageError(
            f"the drift in {folder} is not finished ({manifest.state})",
            "run the command that made it once more: it goes on where it stopped",
        )
    return manifest


def join_drift(diff: MapDiff, folder: Path) -> None:
    """Adds a drift run to a diff.

    Raises  UsageError if the folder holds none that is finished, or one of other releases.
    """
    manifest = drift_manifest(folder)
    sides = (manifest.release["name"], manifest.release["against"]["name"])
    if sides != (diff.release_a, diff.release_b):
        turned = sides == (diff.release_b, diff.release_a)
        raise UsageError(
            f"{folder} holds the drift from {' to '.join(sides)}, "
            f"the diff is from {diff.release_a} to {diff.release_b}",
            "give the releases in the same order"
            if turned
            else f"make one: pyharness drift {diff.release_a} {diff.release_b}",
        )
    diff.drift = DriftChanges(
        manifest.device["name"],
        manifest.results["cases"],
        manifest.results["verdicts"],
        manifest.device["emulated"],
        list(changes_of(read_rows(folder, "drift"))),
    )
