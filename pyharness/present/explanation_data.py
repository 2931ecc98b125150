"""An explanation as plain data, and the commands that show it again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pyharness.analyze.explanation import Explanation, Since
from pyharness.analyze.observed import Seen
from pyharness.present.on_device import case_data, device_data
from pyharness.spec.documented import Prediction
from pyharness.spec.problem import Problem


def explanation_data(
    found: Explanation,
    past: Since | None,
    predicted: Sequence[tuple[Prediction, Seen | None]],
    *,
    unmaskable: bool = False,
) -> dict[str, Any]:
    """All of it as plain data, for JSON.

    ``unmaskable``  the problem stands for a mask that has no lengths, and no release takes.
    """
    return {
        "release": found.release,
        "problem": dict(found.problem.given),
        "defaults": found.problem.defaults,
        "accepted": found.accepted and not unmaskable,
        "calls": [asdict(r) for r in found.results],
        "refusals": [
            {
                "call": r.result.call,
                "role": r.result.role,
                "status": r.result.status,
                "reason": r.result.reason,
                "blames": [asdict(b) for b in r.blames],
            }
            for r in found.refusals
        ],
        "tried": found.searched,
        "suggestions": [
            {
                "problem": dict(s.problem.given),
                "command": try_command(found.release, s.problem)
                if s.case is None
                else explain_command(found.release, s.problem),
                "levels": list(s.levels),
                "changes": [asdict(c) for c in s.changes],
                "predicted": [] if s.case else [p.rule.id for p in s.predicted],
                "device": s.case and case_data(s.case),
            }
            for s in found.suggestions
        ],
        "since": [asdict(s) for s in past.spans] if past else [],
        "since_from": past
        and {
            "atlas": past.known,
            "asked": past.asked,
            "derived": past.derived,
            "missing": past.missing,
            "wrong": past.wrong,
        },
        "predicted": [
            {
                "rule": p.rule.id,
                "calls": list(p.rule.later_calls),
                "outcome": p.rule.outcome,
                "says": p.rule.says,
                "state": p.state,
                "depends_on": list(p.depends_on),
                "source": p.rule.source,
                "grade": p.rule.grade,
                "seen": seen,
                "provenance": found.device.facts.provenance
                if found.device is not None and seen in ("confirmed", "contradicted")
                else "predicted",
            }
            for p, seen in predicted
        ],
        "device": found.device and device_data(found.device),
        "advice": [asdict(a) for a in found.advice],
        "notes": [*found.notes, *(past.notes if past else [])],
    }


def try_command(release: str, problem: Problem) -> str:
    """The command that tries a problem again."""
    words = shlex.join(f"{n}={t}" for n, t in problem.given.items())
    return f"pyharness try --cudnn {release} {words}".rstrip()


def explain_command(release: str, problem: Problem) -> str:
    """The command that takes a problem to the device again."""
    words = shlex.join(f"{n}={t}" for n, t in problem.given.items())
    return f"pyharness explain --no-since --cudnn {shlex.quote(release)} {words}".rstrip()
