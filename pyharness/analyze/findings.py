"""What an audit found: one finding a rule and release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyharness.analyze.verdicts import Agreement, Verdict
from pyharness.spec.documented.rules import Framework, Rule


@dataclass(frozen=True, slots=True)
class Witness:
    """One problem that shows it.

    ``problem``  as `pyharness try` takes it; empty: every axis at its default.
    ``reason``   cuDNN's condition; None without a word.
    """

    problem: str
    status: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Finding:
    """What one rule came to on one release.

    ``rule``         a documented rule, or a framework's.
    ``call``         the call that it was judged at; None: at none.
    ``seen``         what was seen, or why nothing could be, in words.
    ``as_said``      problems that answered as the rule says; ``otherwise``: otherwise.
    ``not_counted``  problems that another rule may have refused.
    ``conditions``   what tells the problems that answered otherwise from the others, where there
                     are both; for a framework the problems that it allows and the library refuses.
    ``spared``       of a framework: the problems that the library accepts as well.
    ``provenance``   observed, or emulated on a double; ``device``: the GPU that it was judged on.
    """

    rule: Rule | Framework
    verdict: Verdict | Agreement
    call: str | None
    seen: str
    as_said: int = 0
    otherwise: int = 0
    not_counted: int = 0
    witness: Witness | None = None
    conditions: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()
    provenance: str = "observed"
    device: str | None = None


@dataclass(slots=True)
class Audit:
    """Everything found on one release: rules first, then frameworks.

    ``no_device``  why a GPU that is here was not used; empty where it was, or there is none.
    """

    release: str
    findings: list[Finding] = field(default_factory=list)
    no_device: str = ""

    def of(self, rule: str) -> Finding | None:
        """The finding of a rule by its id; None if it was not tried."""
        return next((f for f in self.findings if f.rule.id == rule), None)

    def count(self, verdict: str) -> int:
        """How many rules came to a verdict."""
        return sum(f.verdict == verdict for f in self.findings)


def spans(audits: Sequence[Audit], rule: str) -> list[tuple[list[str], Finding]]:
    """The findings of a rule, with the neighbouring releases that have the same one.

    ``audits``  the oldest release first.
    Returns     (releases, their finding: that of the newest), in the same order.
    """
    found: list[tuple[list[str], Finding]] = []
    for audit in audits:
        finding = audit.of(rule)
        if finding is None:
            continue
        if found and _alike(found[-1][1], finding):
            found[-1] = ([*found[-1][0], audit.release], finding)
        else:
            found.append(([audit.release], finding))
    return found


def _alike(a: Finding, b: Finding) -> bool:
    status = [f.witness.status if f.witness else None for f in (a, b)]
    return (a.verdict, a.conditions, a.spared, status[0]) == (
        b.verdict,
        b.conditions,
        b.spared,
        status[1],
    )
