"""The gate of an upgrade: which changes for the worse are too many, as a TOML file says it."""

from __future__ import annotations

import re
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
DEFAULT_GATE = "the default"
_SHARE = re.compile(r"(\d+(?:\.\d+)?) ?%")
_MOST = 1000.0  # per cent


@dataclass(frozen=True, slots=True)
class Rule:
    """What one line of a gate asks.

    ``limit``  the share that is still allowed, 0.03 for 3 %; None where there is no more or less.
    """

    scope: Scope
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class _Key:
    """What a key may say.

    ``scopes``  beside ``none``.
    ``least``   of keys with a limit: the least per cent that may be asked for; None of others.
    """

    scopes: tuple[Scope, ...] = ("any",)
    least: float | None = None

    @property
    def allowed(self) -> str:
        """In words."""
        words = [f'"{scope}"' for scope in (*self.scopes, "none")]
        if self.least is not None:
            words = [f'a share from "{self.least:g}%" to "{_MOST:g}%"', '"none"']
        return ", ".join(words)

    def read(self, value: object) -> Rule | None:
        """The rule that a value asks for; None if it is no value of this key."""
        if value == "none":
            return Rule("none")
        if self.least is None:
            return next((Rule(scope) for scope in self.scopes if scope == value), None)
        found = _SHARE.fullmatch(value) if isinstance(value, str) else None
        if found is None or not self.least <= float(found[1]) <= _MOST:
            return None
        return Rule("any", float(found[1]) / 100)


_OF_PROBLEMS = _Key(("log", "any"))
_KEYS = {
    "validity.newly_refused": _OF_PROBLEMS,
    "validity.newly_failed": _OF_PROBLEMS,
    "validity.newly_out_of_memory": _OF_PROBLEMS,
    "validity.call_removed": _Key(),  # it is there or not, whoever asks
    "time.slower": _Key(least=2),  # what changed by less counts as the same
    "time.inconclusive": _Key(),
    "memory.grown": _Key(least=0),
    "repeatability.lost": _Key(),
    "accuracy.worse": _Key(),
    "drift.changed": _Key(),
}
GATE_KEYS = tuple(_KEYS)


@dataclass(frozen=True, slots=True)
class Gate:
    """What an upgrade must not bring.

    ``source``   the file that says it, or DEFAULT_GATE.
    ``rules``    by key, of GATE_KEYS.
    ``written``  the keys that the file names: what they ask for must have been measured.
    """

    source: str
    rules: Mapping[str, Rule]
    written: frozenset[str] = frozenset()


def default_gate(with_log: bool) -> Gate:
    """Nothing of the log worse; without a log nothing that was tried.

    Time may grow by 3 %, memory by 5 %, and bits may be others.
    """
    scope: Scope = "log" if with_log else "any"
    of_problems = {key: Rule(scope) for key, kind in _KEYS.items() if kind is _OF_PROBLEMS}
    return Gate(
        DEFAULT_GATE,
        {
            **of_problems,
            "validity.call_removed": Rule("none" if with_log else "any"),
            "time.slower": Rule("any", 0.03),
            "time.inconclusive": Rule("any"),
            "memory.grown": Rule("any", 0.05),
            "repeatability.lost": Rule("any"),
            "accuracy.worse": Rule("any"),
            "drift.changed": Rule("none"),
        },
    )


def parse_gate(text: str, source: str, with_log: bool) -> Gate:
    """The gate that a TOML text describes; what it does not name is as in the default.

    ``source``  the file's name, for messages.
    Raises      UsageError if it is no TOML, or for an unknown key or value, with the known ones.
    """
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # of numbers too long, of lists too deep
        raise UsageError(f"{source} is no TOML: {error}", _example()) from error
    named = _flat(data)
    rules = dict(default_gate(with_log).rules)
    written: set[str] = set()
    for key, value in named:
        if key in written:  # once as a table's, once as a name in quotation marks
            raise UsageError(f"{source}: {key} is given twice", "leave one of them out")
        written.add(key)
        if key not in _KEYS:
            raise UsageError(f"{source}: unknown key {key!r}", f"known: {', '.join(GATE_KEYS)}")
        rule = _KEYS[key].read(value)
        if rule is None:
            raise UsageError(
                f"{source}: {key} cannot be {value!r}", f"allowed: {_KEYS[key].allowed}"
            )
        if rule.scope == "log" and not with_log:
            raise UsageError(
                f'{source}: {key} = "log" is about a log, and none is given',
                'give --log app.log, or write "any"',
            )
        rules[key] = rule
    return Gate(source, rules, frozenset(written))


def _flat(data: Mapping[str, object], lead: str = "") -> list[tuple[str, object]]:
    """Every value with its dotted key, so is an empty table that has no known key."""
    found: list[tuple[str, object]] = []
    for key, value in data.items():
        known = any(name.startswith(f"{lead}{key}.") for name in GATE_KEYS)
        if isinstance(value, dict) and (value or known):
            found += _flat(value, f"{lead}{key}.")
        else:
            found.append((lead + key, value))
    return found


def _example() -> str:
    return 'for example: validity.newly_refused = "log"'
