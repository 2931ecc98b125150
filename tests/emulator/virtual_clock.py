"""The emulator's virtual clock without processes: what the passes of a new one would cost."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

_DOUBLES = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
_NONE: dict[str, object] = {
    "noise": 0,
    "noise_seed": 0,
    "outliers": "0:1",
    "slower": 1,
    "drift": 0,
    "throttle": "after:0,for:0,factor:1",
    "clock": 1,
    "process_noise": 0,
    "common_noise": 0,
    "card_noise": "0:1",
    "clock_noise": "0:1",
    "card_drift": 0,
    "card_throttle": "after:0,for:0,factor:1",
}


class VirtualClock:
    """The clock of an emulated libcuda; its settings are those of this whole process.

    ``libcuda``  a library of ``tests.emulator.build``.
    """

    def __init__(self, libcuda: Path) -> None:
        library = ctypes.CDLL(str(libcuda))
        self._configure = library.pyharness_emulator_configure
        self._configure.argtypes, self._configure.restype = [ctypes.c_char_p], None
        self._costs = library.pyharness_emulator_costs
        whole = ctypes.c_uint64
        self._costs.argtypes = [whole, whole, whole, _DOUBLES, whole, _DOUBLES, _DOUBLES]
        self._costs.restype = None

    def configure(self, **settings: object) -> None:
        """Sets the clock; what is not given does nothing."""
        lines = [f"{key}={value}" for key, value in {**_NONE, **settings}.items()]
        self._configure("\n".join(lines).encode())

    def process(
        self, number: int, on_card: int, costs_ns: ArrayLike, count: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Seconds of the passes of a new process, one case after the other, and the card's clock.

        ``number``    of the process on its card.
        ``on_card``   passes on the card before it.
        ``costs_ns``  of each case; count passes of each.
        Returns       seconds [cases, count] and Hz [cases], but for throttling
        """
        costs = np.array(costs_ns, np.float64)
        ns, mhz = np.empty((costs.size, count)), np.empty(costs.size)
        self._costs(number, on_card, costs.size, costs, count, ns, mhz)
        return ns / 1e9, mhz * 1e6
