"""pyharness: the test bench for cuDNN's RNN API.

``pyharness.map``, ``diff``, ``try_problem``, ``explain`` and ``since``, and on a GPU ``bench``,
``memory``, ``determinism``, ``accuracy``, ``drift``, ``check``, ``soak`` and ``time_change``, and
``upgrade`` with or without one do from Python what the commands do; they load only when they are
used, and the compiled part only when a library is tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyharness.errors import HarnessError, UsageError

if TYPE_CHECKING:
    from pyharness.api.public import diff, explain, map, since, try_problem  # noqa: A004
    from pyharness.api.public_device import (
        accuracy,
        bench,
        check,
        determinism,
        drift,
        memory,
        soak,
    )
    from pyharness.api.public_upgrade import time_change, upgrade

__version__ = "0.1.0"
_HOST = ("diff", "explain", "map", "since", "try_problem")
_DEVICE = ("accuracy", "bench", "check", "determinism", "drift", "memory", "soak")
_UPGRADE = ("time_change", "upgrade")
__all__ = [
    "HarnessError",
    "UsageError",
    "__version__",
    "accuracy",
    "bench",
    "check",
    "determinism",
    "diff",
    "drift",
    "explain",
    "map",
    "memory",
    "since",
    "soak",
    "time_change",
    "try_problem",
    "upgrade",
]


def __getattr__(name: str) -> Any:
    if name in _HOST:
        from pyharness.api import public  # noqa: PLC0415 - import pyharness stays fast

        return getattr(public, name)
    if name in _DEVICE:
        from pyharness.api import public_device  # noqa: PLC0415

        return getattr(public_device, name)
    if name in _UPGRADE:
        from pyharness.api import public_upgrade  # noqa: PLC0415

        return getattr(public_upgrade, name)
    raise AttributeError(f"module 'pyharness' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
