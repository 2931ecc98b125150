"""What documents say of a problem that no host call can show: predictions, not observations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pyharness.errors import unknown_name
from pyharness.spec.documented.facts import facts_of, sources_of
from pyharness.spec.documented.rules import REFUSALS, Rule, load_rules
from pyharness.spec.enums import ReleaseNumber
from pyharness.spec.problem import Problem

VERSION = "cudnn_version"  # the field that decides a rule where the release is not known
_ORDER = (*REFUSALS, "unstated", "accepted", "effect")


@dataclass(frozen=True, slots=True)
class Prediction:
    """A rule that speaks of a problem, or may.

    ``state``       applies, or depends on fields that a problem does not have.
    ``depends_on``  these fields, sorted; empty where it applies.
    """

    rule: Rule
    state: Literal["applies", "depends"]
    depends_on: tuple[str, ...] = ()

    @property
    def refuses(self) -> bool:
        """Whether it says that a call will refuse the problem, or that a requirement is broken."""
        return self.state == "applies" and self.rule.status in (*REFUSALS, "unstated")

    def speaks_of(self, problem: Problem) -> bool:
        """Whether it is about something that was given, rather than about every problem."""
        return any(problem.telling & set(sources_of(name)) for name in self.rule.when.names)


def predictions(
    problem: Problem, version: ReleaseNumber | None, beyond: Mapping[str, Any] | None = None
) -> list[Prediction]:
    """The documented rules that only a GPU can show and that speak of a problem, or may.

    ``version``  of the release, for example (9, 28, 0); None: not known, so that a rule of some
                 releases depends on it.
    ``beyond``   fields that no problem says and that are known all the same, such as the GPU's.
    Returns      what applies first, then what depends; refusals before effects, good sources first.
    """
    facts = {**facts_of(problem), **(beyond or {})}
    found = []
    for rule in load_rules():
        if not rule.later_calls or rule.status in ("absent", "declared"):
            continue
        if version is not None and not rule.covers(version):
            continue
        said = rule.when.truth(facts)
        if said.value is False:
            continue
        open_fields = set(said.unknown)
        if version is None and (rule.since or rule.before):
            open_fields.add(VERSION)
        state: Literal["applies", "depends"] = "depends" if open_fields else "applies"
        found.append(Prediction(rule, state, tuple(sorted(open_fields))))
    return sorted(found, key=_rank)


def check_call(call: str) -> None:
    """Nothing, if some rule speaks of this call that needs a GPU.

    Raises  UsageError if none does, with the nearest names.
    """
    calls = sorted({name for rule in load_rules() for name in rule.later_calls})
    if call not in calls:
        raise unknown_name("call that needs a GPU", call, calls)


def _rank(found: Prediction) -> tuple[bool, int, str]:
    return found.state != "applies", _ORDER.index(found.rule.status), found.rule.grade
