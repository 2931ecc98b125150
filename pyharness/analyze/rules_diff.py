"""Rules of two releases: which went, which came, which stayed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pyharness.analyze.rules import Rule

Fate = Literal["went", "came", "stayed"]
FATES: tuple[Fate, ...] = ("went", "came", "stayed")


@dataclass(frozen=True, slots=True)
class RuleStep:
    """What became of a rule: the same conditions for the same status are the same rule.

    ``before``, ``after``  the rule on either side; None where it is not.
    """

    before: Rule | None
    after: Rule | None

    @property
    def fate(self) -> Fate:
        """In one word."""
        return "came" if self.before is None else "went" if self.after is None else "stayed"

    @property
    def rule(self) -> Rule:
        """The rule as it is now, or as it was."""
        rule = self.after or self.before
        assert rule is not None
        return rule


def compare_rules(a: Sequence[Rule], b: Sequence[Rule]) -> list[RuleStep]:
    """Every rule of two lists once: those that went, those that came, those that stayed."""
    before = {(r.status, r.words): r for r in a}
    after = {(r.status, r.words): r for r in b}
    steps = [RuleStep(before.get(key), after.get(key)) for key in {**before, **after}]
    return sorted(steps, key=lambda step: FATES.index(step.fate))
