"""Onward from the host: problems that are taken to a device, one as the answers to others say."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from pyharness.api.driver import driver_findable
from pyharness.errors import HarnessError
from pyharness.releases.model import Release, loaded_version
from pyharness.spec.device_facts import DeviceFacts
from pyharness.spec.documented.rules import parse_version
from pyharness.spec.problem import Problem
from pyharness.spec.stage_results import CaseResult

if TYPE_CHECKING:
    from pyharness.engine.runner import Runner

# The number of a GPU; the first, where there is one; or none, whatever is here.
DeviceChoice = int | Literal["first", "none"]
_MOST_BREAKS = 8  # one after the other: somebody waits for the answer


class Onward:
    """A release on a device: each problem is tried once. Use it in a ``with`` block.

    ``version``  what the library says it is; None where it ends its process instead.
    """

    def __init__(self, first: Runner, start: Callable[[], Runner]) -> None:
        self.facts: DeviceFacts = first.facts
        number = first.version()
        self.version = None if number is None else parse_version(loaded_version(number))
        self._runner, self._start = first, start
        self._known: dict[tuple[str, str | None], CaseResult] = {}
        self._breaks = 0

    def __enter__(self) -> Onward:
        """The device itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends the process."""
        self.close()

    def close(self) -> None:
        """Ends the process."""
        self._runner.close()

    def take(self, problem: Problem, until: str | None = None) -> CaseResult:
        """Takes a problem through the stages up to this one, all of them by default.

        Raises  HarnessError if too many cases broke their process one after the other.
        """
        key = (problem.command, until)
        if key not in self._known:
            if self._breaks >= _MOST_BREAKS:
                raise HarnessError(
                    f"{self._breaks} cases in a row broke their worker: the rest is not tried"
                )
            if self._runner.broken:
                self._runner.close()
                self._runner = self._start()
            self._known[key] = self._runner.stages(problem, until)
            self._breaks = self._breaks + 1 if self._runner.broken else 0
        return self._known[key]


def open_onward(release: Release, device: DeviceChoice, timeout_s: float) -> Onward | str:
    """A release on the device that is chosen.

    Returns  why there is none, where none has to be; empty where this machine has none.
    Raises   UsageError or HarnessError if a device that is given by number cannot be used.
    """
    if device == "none" or (device == "first" and not driver_findable()):
        return ""
    from pyharness.api.device import device_here, open_runner  # noqa: PLC0415 - 40 ms

    if device == "first" and not device_here().gpus:
        return ""
    ordinal = 0 if device == "first" else device
    start = partial(open_runner, release, ordinal, timeout_s, set())
    try:
        return Onward(start(), start)
    except HarnessError as error:
        if device != "first":
            raise
        return error.message
