"""The rules of every call of a release."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyharness.analyze.rules import RuleList
from pyharness.analyze.rules_walk import WalkedAxis


@dataclass(frozen=True, slots=True)
class Changed:
    """Problems whose status changed from one release to another, and those that both have."""

    rows: int
    of_rows: int


@dataclass(frozen=True, slots=True)
class CallRules:
    """The rules of one call.

    ``rows``     problems, those at limits that were found among them.
    ``of_map``   so many of them the map had before limits were looked for.
    ``axes``     values of each axis, by label.
    ``walked``   what was tried of each size.
    ``changed``  of two releases: on which of the problems that both have the status changed.
    """

    call: str
    stage: str
    rows: int
    of_map: int
    axes: dict[str, list[str]]
    found: RuleList
    walked: list[WalkedAxis]
    changed: Changed | None = None


@dataclass(slots=True)
class ReleaseRules:
    """The rules of every call of one release over one space."""

    release: str
    space: str
    fingerprint: str
    calls: list[CallRules] = field(default_factory=list)
    absent_calls: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
