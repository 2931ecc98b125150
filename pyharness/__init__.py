"""pyharness: the test bench for cuDNN's RNN API.

``pyharness.map`` and ``pyharness.diff`` do from Python what the commands do; they load only when
they are used, and the compiled part only when a library is tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyharness.errors import HarnessError, UsageError

if TYPE_CHECKING:
    from pyharness.api.public import diff, map, try_problem  # noqa: A004 - the verb of the domain

__version__ = "0.1.0"
__all__ = ["HarnessError", "UsageError", "__version__", "diff", "map", "try_problem"]


def __getattr__(name: str) -> Any:
    if name in ("diff", "map", "try_problem"):
        from pyharness.api import public  # noqa: PLC0415 - import pyharness stays fast

        return getattr(public, name)
    raise AttributeError(f"module 'pyharness' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
