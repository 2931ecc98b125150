"""pyharness: the test bench for cuDNN's RNN API.

``pyharness.map``, ``diff``, ``try_problem``, ``explain`` and ``since`` do from Python what the
commands do; they load only when they are used, and the compiled part only when a library is tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyharness.errors import HarnessError, UsageError

if TYPE_CHECKING:
    from pyharness.api.public import diff, explain, map, since, try_problem  # noqa: A004

__version__ = "0.1.0"
_PUBLIC = ("diff", "explain", "map", "since", "try_problem")
__all__ = [
    "HarnessError",
    "UsageError",
    "__version__",
    "diff",
    "explain",
    "map",
    "since",
    "try_problem",
]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        from pyharness.api import public  # noqa: PLC0415 - import pyharness stays fast

        return getattr(public, name)
    raise AttributeError(f"module 'pyharness' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
