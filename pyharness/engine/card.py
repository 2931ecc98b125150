"""The card's clocks, temperature, power and what holds it down, as the driver tells them (NVML)."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from pyharness.measure.throttling import reason_names


@dataclass(frozen=True, slots=True)
class Reading:
    """The card at one moment; None for what it does not tell.

    ``time_s``            seconds since the epoch.
    ``throttle_reasons``  bits, see measure.throttling.
    """

    time_s: float
    sm_clock_hz: int | None
    memory_clock_hz: int | None
    temperature_c: int | None
    power_w: float | None
    throttle_reasons: int | None

    @property
    def reasons(self) -> tuple[str, ...] | None:
        """The names of the throttle reasons; None where the card does not tell."""
        return None if self.throttle_reasons is None else reason_names(self.throttle_reasons)


class Card:
    """One card through NVML. Use it in a ``with`` block, or close it.

    Source  the documentation of nvml.h: clocks come in MHz, power in mW.
    """

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml, self._handle = nvml, handle

    def __enter__(self) -> Card:
        """The card itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Gives NVML back."""
        self.close()

    def read(self) -> Reading:
        """What the card says now; about a millisecond."""
        nvml = self._nvml
        reasons = self._ask(nvml.nvmlDeviceGetCurrentClocksEventReasons)
        if reasons is None:  # the same by its name before driver 535
            reasons = self._ask(nvml.nvmlDeviceGetCurrentClocksThrottleReasons)
        sm_mhz = self._ask(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_SM)
        memory_mhz = self._ask(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_MEM)
        power_mw = self._ask(nvml.nvmlDeviceGetPowerUsage)
        return Reading(
            time_s=time.time(),
            sm_clock_hz=None if sm_mhz is None else sm_mhz * 1_000_000,
            memory_clock_hz=None if memory_mhz is None else memory_mhz * 1_000_000,
            temperature_c=self._ask(nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU),
            power_w=None if power_mw is None else power_mw / 1e3,
            throttle_reasons=reasons,
        )

    def close(self) -> None:
        """Gives NVML back."""
        with suppress(self._nvml.NVMLError):
            self._nvml.nvmlShutdown()

    def _ask(self, function: Callable[..., int], *arguments: int) -> int | None:
        try:
            return function(self._handle, *arguments)
        except self._nvml.NVMLError:  # not supported, or the card is lost: others say so louder
            return None


def open_card(pci_bus_id: str) -> Card | None:
    """The card at an address such as 0000:65:00.0.

    Returns  None without nvidia-ml-py or the driver's library, or if it has no such card: a run
             does without.
    """
    try:
        import pynvml  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    try:
        return Card(pynvml, pynvml.nvmlDeviceGetHandleByPciBusId(pci_bus_id))
    except pynvml.NVMLError:
        pynvml.nvmlShutdown()
        return None
