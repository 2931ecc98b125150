"""What the functions of the Python API share: problems and releases in, a table out."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyharness.api.chosen_problems import chosen_problems
from pyharness.api.driver import require_driver
from pyharness.api.public import axis_texts, words_of
from pyharness.api.public_values import Names
from pyharness.releases.locate import resolve
from pyharness.releases.model import Release
from pyharness.space.problems import ProblemSet
from pyharness.store.manifest import Manifest
from pyharness.store.reading import table_frame

if TYPE_CHECKING:
    import pandas as pd

Problem = Mapping[str, Any] | Sequence[str]


def problems_of(
    problem: Problem, preset: str | None, axes: Mapping[str, Any] | None, logs: Names
) -> ProblemSet:
    """The problems, as the command chooses them."""
    files = [logs] if isinstance(logs, str) else [str(name) for name in logs]
    return chosen_problems(preset, axis_texts(axes or {}), words_of(problem), files)


def on_device(names: Sequence[str]) -> list[Release]:
    """The releases, with all that they need on a device.

    Raises  UsageError if there is no driver, before anything is fetched.
    """
    require_driver()
    return [resolve(str(name), full=True) for name in names]


@contextmanager
def folder_for(out: str | Path | None) -> Iterator[Path]:
    """The folder for tables; without one, one that is gone with the block."""
    if out is not None:
        yield Path(out)
        return
    with tempfile.TemporaryDirectory(prefix="pyharness-") as scratch:
        yield Path(scratch) / "run"


def require_whole(*manifests: Manifest) -> None:
    """Hands on the Ctrl-C that ended a run: what was found is in its folder, if it has one."""
    if any(manifest.state == "interrupted" for manifest in manifests):
        raise KeyboardInterrupt


def frame_of(table: str, out: str | Path | None, run: Callable[[Path], Any]) -> pd.DataFrame:
    """The table of a run."""
    with folder_for(out) as folder:
        made = run(folder)
        require_whole(made.manifest)
        return table_frame(made.folder, table)
