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
    from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    bars = Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} " + unit),
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
def shown_bytes() -> Iterator[Callable[[str], Bytes]]:
    """Progress callbacks of fetches, one for each name, that draw bars while the block runs."""
    if not sys.stderr.isatty():
        yield lambda _name: _silent_bytes
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn
    from rich.progress import Progress as Bars

    bars = Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=Console(stderr=True),
        transient=True,
    )

    def start(name: str) -> Bytes:
        task = bars.add_task(name, total=None)

        def report(done_bytes: int, total_bytes: int, _member: str) -> None:
            finished = done_bytes >= total_bytes
            bars.update(task, completed=done_bytes, total=total_bytes, visible=not finished)

        return report

    with bars:
        yield start


def _silent_bytes(_done_bytes: int, _total_bytes: int, _member: str) -> None:
    """Shows nothing."""
