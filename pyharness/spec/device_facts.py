"""What is known of a device that is open."""

from __future__ import annotations

from dataclasses import dataclass

EMULATOR_SYMBOL = "pyharness_emulator"  # only test doubles export it


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """One GPU, or the emulated one.

    ``compute_capability``  "9.0".
    ``driver_version``      the newest CUDA that the driver serves, 1000 * major + 10 * minor.
    ``emulated``            the driver or the library is a test double.
    """

    name: str
    compute_capability: str
    memory_bytes: int
    multiprocessors: int
    l2_bytes: int
    pci_bus_id: str
    driver_version: int
    emulated: bool

    @property
    def provenance(self) -> str:
        """What a row is that was seen on it: observed or emulated."""
        return "emulated" if self.emulated else "observed"
