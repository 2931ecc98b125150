"""What is here: the facts behind ``pyharness doctor``. Nothing is printed, nothing changed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyharness.doctor.driver import Driver, Gpu, look_at_driver
from pyharness.doctor.findings import Finding, find
from pyharness.doctor.libraries import Library, examine_cached, examine_installed
from pyharness.doctor.machine import (
    Compiled,
    Machine,
    look_at_compiled,
    look_at_machine,
    look_at_packages,
)
from pyharness.doctor.opening import Opening
from pyharness.doctor.supply import (
    INDEX_LIMIT_S,
    CacheState,
    IndexQuestion,
    IndexState,
    look_at_cache,
)
from pyharness.releases.cache import CachedRelease, list_cached
from pyharness.releases.installed import InstalledLibrary, list_installed

__all__ = [
    "CacheState",
    "Compiled",
    "Diagnosis",
    "Driver",
    "Finding",
    "Gpu",
    "IndexState",
    "Library",
    "Machine",
    "Opening",
    "diagnose",
]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything that was looked at, and what follows from it.

    ``libraries``  installed ones first, then the cache, each newest first.
    ``packages``   version by name; None for one that is not installed.
    ``findings``   what is missing or broken, the gravest first.
    """

    machine: Machine
    compiled: Compiled
    driver: Driver
    libraries: tuple[Library, ...]
    index: IndexState
    cache: CacheState
    packages: dict[str, str | None]
    findings: tuple[Finding, ...]

    @property
    def works(self) -> bool:
        """Whether a release can be mapped here.

        Returns  True if the compiled part loads and a library works, or, where none was tried, if
                 one can be fetched.
        """
        if self.compiled.problem:
            return False
        tried = [library for library in self.libraries if library.opening is not None]
        return any(library.works for library in tried) if tried else not self.index.problem

    def as_data(self) -> dict[str, Any]:
        """Everything as plain data: what JSON can hold."""
        return {"works": self.works, **asdict(self, dict_factory=_plain)}


def diagnose(every: bool = False) -> Diagnosis:
    """Look at everything; a few seconds.

    ``every``  open each cached release, instead of the newest only.
    """
    question = IndexQuestion()
    compiled = look_at_compiled()
    driver = look_at_driver()
    cached = _cached()
    usable = not compiled.problem
    libraries = [examine_installed(found, usable) for found in _installed()]
    libraries += [
        examine_cached(entry, usable and (every or place == 0))
        for place, entry in enumerate(reversed(cached))
    ]
    index = question.answer(INDEX_LIMIT_S)
    cache = look_at_cache(cached)
    packages = look_at_packages()
    return Diagnosis(
        machine=look_at_machine(),
        compiled=compiled,
        driver=driver,
        libraries=tuple(libraries),
        index=index,
        cache=cache,
        packages=packages,
        findings=tuple(find(compiled, driver, libraries, index, cache, packages)),
    )


def _cached() -> list[CachedRelease]:
    try:
        return list_cached()
    except OSError:  # the cache's own line says what is wrong with the folder
        return []


def _installed() -> list[InstalledLibrary]:
    try:
        return list_installed()
    except OSError:  # a folder that went away while it was read
        return []


def _plain(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of a dataclass with their paths as text."""
    return {name: _path_as_text(value) for name, value in fields}


def _path_as_text(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_path_as_text(item) for item in value]
    return str(value) if isinstance(value, Path) else value
