"""A second plan on a stream of its own: it keeps the device busy while the first one runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyharness.device import core
from pyharness.spec.stages import PASSES, stages_until

if TYPE_CHECKING:
    from pyharness.device import _core

Records = list[tuple[str, int, str]]


class Load:
    """A plan with a handle and memory of its own, beside whatever else is on the device.

    ``count``  how often its training pass is put into its stream for each pass of the other plan.
    """

    def __init__(
        self, library: _core.Library, device: _core.Device, trace: _core.Trace, count: int
    ) -> None:
        self._count = count
        self._arena = core().Arena(device)
        self._handle = core().Handle(library, device, trace)
        self._plan: _core.Plan | None = None

    def build(self, settings: dict[str, Any]) -> tuple[str, Records] | None:
        """Takes a problem through the stages before its memory.

        Returns  the stage that was refused, and its calls: the load is of no use then.
        """
        self._plan = core().Plan(self._handle, self._arena, settings)
        for stage in stages_until("build"):
            records = self._plan.run(stage)
            if any(status for _, status, _ in records):
                return stage, records
        return None

    @property
    def bytes(self) -> int:
        """What it will take of memory."""
        return sum(self._open_plan.sizes().values())

    def fill(self) -> None:
        """Takes its memory, and fills it; raises OutOfMemory."""
        self._open_plan.allocate()

    def enqueue(self) -> None:
        """Puts its passes into its stream, and waits for none."""
        self._open_plan.enqueue(PASSES[1], self._count)

    @property
    def _open_plan(self) -> _core.Plan:
        assert self._plan is not None
        return self._plan

    def close(self) -> None:
        """Waits for what is under way, and gives everything back."""
        if self._plan is not None:
            self._plan.close()
        self._arena.release()
        self._handle.close()
