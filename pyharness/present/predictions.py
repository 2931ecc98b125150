"""What documents say of calls that need a GPU, in words."""

from __future__ import annotations

from collections.abc import Sequence

from pyharness.analyze.observed import Seen
from pyharness.present.units import wrapped
from pyharness.spec.documented import GRADES, Prediction
from pyharness.spec.problem import Problem

_MOST_PREDICTIONS = 8
_SEEN: dict[Seen | None, str] = {
    None: "predicted",
    "confirmed": "confirmed",
    "contradicted": "contradicted",
    "not_reached": "not reached",
    "not_decided": "not decided, since another rule refuses it",
    "not_shown": "accepted, what comes of it is not looked at",
}
# What a prediction may hang on and still be worth telling: nothing that the program passes later.
_OF_THE_MACHINE = {"compute_capability", "cuda_version", "os", "fwd_mode"}


def render_predictions(
    found: Sequence[tuple[Prediction, Seen | None]], problem: Problem, device: str = ""
) -> str:
    """What documents say of the calls that need a GPU; ends without a newline.

    Of what is true of any problem, such as the demand for a workspace, nothing is said.

    ``found``   each with what came of it on the device, if anything did.
    ``device``  where the problem was run; empty: nowhere.
    """
    telling = [(p, s) for p, s in found if p.speaks_of(problem) and _worth_telling(p)]
    lines = ["on a GPU (predicted from documents, not run here):"]
    if device:
        lines = wrapped(f"on a GPU (documents, and what {device} did):", 0, 2)
    if not telling:
        unknown = "" if device else ": unknown"
        lines.append(f"  nothing documented speaks of this problem in particular{unknown}")
    for one, seen in telling[:_MOST_PREDICTIONS]:
        rule = one.rule
        depends = f" (depends on {', '.join(one.depends_on)})" if one.depends_on else ""
        lines += wrapped(f"- {_SEEN[seen]}: {rule.says}{depends}", 2, 4)
        calls = ", ".join(name.removeprefix("cudnnRNN") for name in rule.later_calls)
        source = rule.source.partition(";")[0]
        note = f"; {rule.note}" if rule.note else ""
        lines += wrapped(
            f"{rule.outcome} ({calls}); {rule.id}, grade {rule.grade}: {source}{note}", 4
        )
    rest = len(telling) - _MOST_PREDICTIONS
    if rest > 0:
        lines.append(f"  and {rest} more (--json has all)")
    used = sorted({one.rule.grade for one, _ in telling[:_MOST_PREDICTIONS]})
    if used:
        meanings = "; ".join(f"{grade} {GRADES[grade]}" for grade in used)
        lines += wrapped(f"grades: {meanings}", 2, 4)
    return "\n".join(lines)


def render_checklist(found: Sequence[Prediction], call: str) -> str:
    """What documents ask of a program at one call, to be checked in it; ends without a newline."""
    here = [p for p in found if call in p.rule.calls and p.rule.status != "accepted"]
    lines = [f"what to check where {call} failed (from documents):"]
    if not here:
        lines.append("  no documented rule speaks of this call and this problem: unknown")
    for one in here:
        hangs = f" (look at {', '.join(one.depends_on)})" if one.depends_on else " (applies here)"
        lines += wrapped(f"- {one.rule.says}{hangs}", 2, 4)
        lines += wrapped(f"{one.rule.outcome}; {one.rule.id}, grade {one.rule.grade}", 6)
    return "\n".join(lines)


def _worth_telling(one: Prediction) -> bool:
    """Nothing that hangs on what the program passes later, and no mere guess that all is well."""
    guess = one.rule.grade == "M" and one.rule.status == "accepted"
    return set(one.depends_on) <= _OF_THE_MACHINE and not guess
