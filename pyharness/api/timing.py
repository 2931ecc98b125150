"""The cost of calls on two releases, timed in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.api.launching import launch_of
from pyharness.api.progress import Progress
from pyharness.engine.costs import time_calls
from pyharness.engine.crew import Crew
from pyharness.releases.model import Release
from pyharness.space.grid import Grid
from pyharness.spec.ledger import Death, Ledger
from pyharness.store.manifest import Manifest

_TURNS = "ABBAAB"  # three processes a side; a machine that slows down meets both sides alike

Picked = Sequence[tuple[Grid, Mapping[str, NDArray[np.int64]]]]


def library_of(manifest: Manifest) -> Release | None:
    """The release that a map was made with, if it is still there and still the same file."""
    release = manifest.release
    path = Path(release["path"])
    if not path.is_file():
        return None
    here = Release(release["version"], release["cuda_major"], path, release["origin"])
    return here if here.stamp == release["stamp"] else None


def time_in_turn(
    a: Release, b: Release, picked: Picked, progress: Progress
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]] | None:
    """Times the same problems on two libraries, in fresh processes that alternate.

    ``picked``  grids with the rows to time, see engine.costs.pick.
    Returns     rows of the costs table of each side, one for each process, call and answer; None if
                a worker ended, in which case nothing can be compared.
    """
    sides: dict[str, list[dict[str, Any]]] = {"A": [], "B": []}
    for i, side in enumerate(_TURNS):
        progress("timing calls in turn", i, len(_TURNS))
        with Crew(launch_of(a if side == "A" else b), Ledger(), 1) as crew:
            for grid, rows in picked:
                timed = time_calls(crew, grid, rows)
                if isinstance(timed, Death):
                    return None
                sides[side] += [asdict(cost) for cost in timed]
    return sides["A"], sides["B"]
