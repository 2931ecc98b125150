"""The compiled part: a loaded library, and the worker process that holds it.

Only this package imports ``_core``. Use :func:`core` to get at it: its ImportError says the remedy.
"""

from __future__ import annotations

from types import ModuleType

from pyharness.errors import HarnessError


def core() -> ModuleType:
    """The compiled extension.

    Raises  HarnessError if it has not been built, with the command that builds it.
    """
    try:
        from pyharness.device import _core  # noqa: PLC0415 - the rest works without it
    except ImportError as error:
        raise HarnessError(
            f"the compiled part of pyharness cannot be loaded: {error}",
            "build it: run `pip install .` in the project's folder, and do not import pyharness "
            "from a source folder that was not installed",
        ) from error
    return _core
