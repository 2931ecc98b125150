"""Progress on stderr: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyharness.api.progress import Progress, silent

Bytes = Callable[[int, int, str], None]  # bytes done, in all, and the file


@contextmanager
def shown(unit: str = "problems") -> Iterator[Progress]:
    """A progress callback that draws bars while the block runs."""
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        ProgressColumn,
        Task,
        TaskID,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars
    from rich.text import Text

    class Rate(ProgressColumn):
        """How many a second, once that is known."""

        def render(self, task: Task) -> Text:
            return Text("" if task.speed is None else f"{task.speed:,.1f}/s")

    bars = Bars(
        TextColumn("{task.description}", markup=False),  # a path may have brackets
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} " + unit, markup=False),
        Rate(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    tasks: dict[str, TaskID] = {}

    def report(step: str, done: int, total: int) -> None:
        if step not in tasks:
            tasks[step] = bars.add_task(step, total=total)
        bars.update(tasks[step], completed=done, total=total)

    with bars:
        yield report


@contextmanager
def shown_bytes(name: str) -> Iterator[Bytes]:
    """The progress callback of a fetch that draws a bar in bytes while the block runs."""
    if not sys.stderr.isatty():
        yield _silent_bytes
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn
    from rich.progress import Progress as Bars

    bars = Bars(
        TextColumn("{task.description}", markup=False),  # a path may have brackets
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bars:
        task = bars.add_task(name, total=None)
        yield lambda done, total, _member: bars.update(task, completed=done, total=total)


def _silent_bytes(done_bytes: int, total_bytes: int, member: str) -> None:
    """Shows nothing."""
    del done_bytes, total_bytes, member
