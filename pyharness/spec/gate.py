"""The gate of an upgrade: which changes for the worse are too many, as a TOML file says it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pyharness.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Of which problems none may change so: the log's, any that were tried; none: they all may.
Scope = Literal["log", "any", "none"]
_SCOPES: tuple[Scope, ...] = ("log", "any", "none")
# A call is there or not, whoever asks.
_ALLOWED: dict[str, tuple[Scope, ...]] = {
    "newly_refused": _SCOPES,
    "newly_failed": _SCOPES,
    "call_removed": ("any", "none"),
}
GATE_KEYS = tuple(f"validity.{key}" for key in _ALLOWED)
DEFAULT_GATE = "the default"


@dataclass(frozen=True, slots=True)
class Gate:
    """What an upgrade must not bring.

    ``source``    the file that says it, or DEFAULT_GATE.
    ``validity``  change to the problems of which none may change so.
    """

    source: str
    validity: Mapping[str, Scope]


def default_gate(with_log: bool) -> Gate:
    """Nothing of the log newly refused or failing; without a log nothing at all that was tried."""
    scope: Scope = "log" if with_log else "any"
    return Gate(
        DEFAULT_GATE,
        {
            "newly_refused": scope,
            "newly_failed": scope,
            "call_removed": "none" if with_log else "any",
        },
    )


def parse_gate(text: str, source: str, with_log: bool) -> Gate:
    """The gate that a TOML text describes; what it does not name is as in the default.

    ``source``  the file's name, for messages.
    Raises      UsageError if it is no TOML, or for an unknown key or value, with the known ones.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source} is no TOML: {error}", _example()) from error
    validity = dict(default_gate(with_log).validity)
    for key, value in _flat(data).items():
        if key not in GATE_KEYS:
            raise UsageError(f"{source}: unknown key {key!r}", f"known: {', '.join(GATE_KEYS)}")
        name = key.partition(".")[2]
        chosen = next((s for s in _ALLOWED[name] if s == value), None)
        if chosen is None:
            allowed = ", ".join(f'"{s}"' for s in _ALLOWED[name])
            raise UsageError(f"{source}: {key} cannot be {value!r}", f"allowed: {allowed}")
        if chosen == "log" and not with_log:
            raise UsageError(
                f'{source}: {key} = "log" is about a log, and none is given',
                'give --log app.log, or write "any"',
            )
        validity[name] = chosen
    return Gate(source, validity)


def _flat(data: Mapping[str, object], lead: str = "") -> dict[str, object]:
    """Every value by its dotted key, so is an empty table that has no known key."""
    found: dict[str, object] = {}
    for key, value in data.items():
        known = any(name.startswith(f"{lead}{key}.") for name in GATE_KEYS)
        if isinstance(value, dict) and (value or known):
            found.update(_flat(value, f"{lead}{key}."))
        else:
            found[lead + key] = value
    return found


def _example() -> str:
    return 'for example: validity.newly_refused = "log"'
