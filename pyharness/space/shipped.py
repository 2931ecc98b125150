"""What ships as TOML: spaces of the calls that the host validates, and sets of problems to run."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import resources
from typing import Any

from pyharness.errors import UsageError, unknown_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_HOME = resources.files("pyharness.space")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of preset: where its files are, what it is, and which commands take it."""

    folder: str
    what: str
    commands: str


SPACES = Kind("presets", "a space of host calls", "map, diff, rules and upgrade")
PROBLEM_SETS = Kind(
    "problem_sets",
    "a set of problems to run",
    "bench, time, memory, determinism, accuracy, drift, check, soak, map --stages all and "
    "upgrade --problems",
)


def names(kind: Kind) -> list[str]:
    """The names of all presets of a kind, sorted."""
    files = (_HOME / kind.folder).iterdir()
    return sorted(f.name[:-5] for f in files if f.name.endswith(".toml"))


def read(kind: Kind, name: str) -> dict[str, Any]:
    """What a preset's file says.

    Raises  UsageError if there is none, with the nearest names; for one of the other kind, with the
            commands that take it.
    """
    own = names(kind)
    if name not in own:
        other = PROBLEM_SETS if kind is SPACES else SPACES
        if name in names(other):
            raise UsageError(
                f"the preset {name} is {other.what}, not {kind.what}",
                f"{name} is for {other.commands}; here: {', '.join(own)}",
            )
        raise unknown_name("preset", name, own)
    data: dict[str, Any] = tomllib.loads((_HOME / kind.folder / f"{name}.toml").read_text("utf-8"))
    return data
