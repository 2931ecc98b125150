"""How long work tells where it is. It never prints: what is shown is the caller's to decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Progress(Protocol):
    """Called with the step's name, what is done and what there is in all."""

    def __call__(self, step: str, done: int, total: int) -> None:
        """Takes one report."""
        ...


def silent(step: str, done: int, total: int) -> None:
    """Shows nothing."""
    del step, done, total


def fetching(text: str, progress: Progress) -> Callable[[int, int, str], None]:
    """The progress of a fetch as one step of ours."""
    return lambda done, total, _member: progress(f"fetching {text}, bytes", done, total)
