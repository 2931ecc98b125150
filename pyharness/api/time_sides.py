"""Two releases that are timed in turn, and the card that both run on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

from pyharness.api.bench_sides import NO_CARD
from pyharness.api.case_run import running_release
from pyharness.api.device import open_runner
from pyharness.engine.card import Reading, open_card
from pyharness.engine.runner import Runner
from pyharness.releases.model import Release


class Sides:
    """The older and the newer release on a device.

    ``told``    what a manifest says of each.
    ``device``  the same of the device.
    ``notes``   what a reader should know.

    Raises  what api.device.open_runner raises.
    """

    def __init__(self, releases: tuple[Release, Release], ordinal: int, timeout_s: float) -> None:
        self._open = [partial(open_runner, r, ordinal, timeout_s) for r in releases]
        self.told: list[dict[str, Any]] = []
        for release, start in zip(releases, self._open, strict=True):
            with start() as runner:
                self.told.append(running_release(release, runner))
                facts = runner.facts
        self.device: dict[str, Any] = {**asdict(facts), "ordinal": ordinal}
        self._card = open_card(facts.pci_bus_id)
        self.notes = [] if self._card is not None else [NO_CARD]

    def starter(self, side: str) -> Callable[[], Runner]:
        """What starts a process of a side, a or b.

        No process takes over what another one has done once: each loads its kernels anew.
        """
        return self._open["ab".index(side)]

    def read(self) -> Reading | None:
        """What the card says now."""
        return None if self._card is None else self._card.read()

    def close(self) -> None:
        """Gives NVML back."""
        if self._card is not None:
            self._card.close()
