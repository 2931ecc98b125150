"""Documented predictions against what a problem came to on a device."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

from pyharness.analyze.explanation import OnDevice
from pyharness.spec.device_facts import DeviceFacts
from pyharness.spec.documented import Prediction
from pyharness.spec.documented.facts import sources_of
from pyharness.spec.documented.rules import REFUSALS
from pyharness.spec.stage_results import CaseResult, StageResult
from pyharness.spec.stages import CALLS
from pyharness.spec.statuses import family

# What came of a prediction. not_reached: no stage of its calls was tried, or not each of them;
# not_decided: refused by another rule; not_shown: accepted, and its effect was not looked at.
Seen = Literal["confirmed", "contradicted", "not_reached", "not_decided", "not_shown"]


def told_by(facts: DeviceFacts) -> dict[str, Any]:
    """What documented rules ask of the machine, by their fields."""
    major, _, minor = facts.compute_capability.partition(".")
    return {
        "compute_capability": 10 * int(major) + int(minor),
        "multiprocessors": facts.multiprocessors,
        "os": "linux",
    }


def stages_of(calls: Collection[str]) -> frozenset[str]:
    """The stages that are decided by one of these calls."""
    return frozenset(stage for stage, call in CALLS.items() if call in calls)


def seen_of(one: Prediction, found: OnDevice | None) -> Seen | None:
    """What came of a prediction; None where it stays one: nothing was tried, or not just this."""
    if found is None or one.state != "applies" or not any(_tried(s) for s in found.case.stages):
        return None
    stages = stages_of(one.rule.later_calls)
    if not stages:
        return None
    blamed = {blame.axis for blame in found.blames}
    own = {axis for name in one.rule.when.names for axis in sources_of(name)}
    return _seen(one, found.case, stages, not blamed or bool(blamed & own))


def _seen(one: Prediction, case: CaseResult, stages: frozenset[str], its_own: bool) -> Seen:
    results = [s for s in case.stages if s.stage in stages]
    refused = [s for s in results if s.outcome == "unsupported"]
    if refused and (not its_own or one.rule.status == "effect"):
        return "not_decided"
    if one.rule.status in (*REFUSALS, "unstated"):
        if refused:
            return "confirmed" if _as_said(one, refused[0]) else "contradicted"
        return "contradicted" if all(case.passes(s.stage) for s in results) else "not_reached"
    if refused:
        return "contradicted"
    if not all(case.passes(s.stage) for s in results):
        return "not_reached"
    return "confirmed" if one.rule.status == "accepted" else "not_shown"


def _as_said(one: Prediction, result: StageResult) -> bool:
    """Whether a refusal has the status that a rule names, if it names one."""
    named = one.rule.status
    return named == "unstated" or family(result.status or "") == family(named)


def _tried(result: StageResult) -> bool:
    return result.outcome != "skipped"
