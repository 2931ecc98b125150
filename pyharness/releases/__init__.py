"""Find, list, fetch and verify cuDNN releases; nothing here loads cuDNN.

A name is imported from its module when it is first used: importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyharness.releases.cache import CachedRelease, cache_dir, list_cached
    from pyharness.releases.check import REQUIRED_SYMBOLS, check_library
    from pyharness.releases.dependencies import MissingLibrary, missing_dependencies
    from pyharness.releases.download import fetch
    from pyharness.releases.headers import fetch_headers
    from pyharness.releases.index import Offer, list_offers
    from pyharness.releases.installed import InstalledLibrary, Sublibrary, list_installed
    from pyharness.releases.locate import resolve
    from pyharness.releases.model import Release
    from pyharness.releases.wheel import Progress

__all__ = [
    "REQUIRED_SYMBOLS",
    "CachedRelease",
    "InstalledLibrary",
    "MissingLibrary",
    "Offer",
    "Progress",
    "Release",
    "Sublibrary",
    "cache_dir",
    "check_library",
    "fetch",
    "fetch_headers",
    "list_cached",
    "list_installed",
    "list_offers",
    "missing_dependencies",
    "resolve",
]

_MODULES = {
    "REQUIRED_SYMBOLS": "check",
    "CachedRelease": "cache",
    "InstalledLibrary": "installed",
    "MissingLibrary": "dependencies",
    "Offer": "index",
    "Progress": "wheel",
    "Release": "model",
    "Sublibrary": "installed",
    "cache_dir": "cache",
    "check_library": "check",
    "fetch": "download",
    "fetch_headers": "headers",
    "list_cached": "cache",
    "list_installed": "installed",
    "list_offers": "index",
    "missing_dependencies": "dependencies",
    "resolve": "locate",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
