"""What became of a problem on a device, in words and as data."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import Any

from pyharness.analyze.explanation import OnDevice
from pyharness.present.units import wrapped
from pyharness.spec.device_facts import DeviceFacts
from pyharness.spec.problem import Problem
from pyharness.spec.stage_results import CaseResult, StageResult


def device_name(facts: DeviceFacts) -> str:
    """The device, and whether it is none."""
    return f"{facts.name} (emulated)" if facts.emulated else facts.name


def verdict(found: OnDevice) -> str:
    """How far a problem goes, in half a sentence."""
    where, case, stopped = f"on {device_name(found.facts)}", found.case, found.case.stopped
    if stopped is not None:
        how = {"failed": "fails", "out_of_memory": "finds no memory"}
        return f"{where} {stopped.stage} {how.get(stopped.outcome, 'refuses it')}"
    if not case.complete:
        return f"{where} it cannot be run: {case.stages[0].reason}"
    return f"{where} it goes all the way to {case.stages[-1].stage}"


def stopped_lines(found: OnDevice, release: str, problem: Problem) -> list[str]:
    """The stage that did not pass, and why; nothing where every stage did."""
    stopped = found.case.stopped
    if stopped is None:
        return []
    lines = wrapped(f"{stopped.stage}, {stopped.call}: {_status(stopped)}", 0, 2)
    if stopped.outcome == "unsupported":
        said = f"cuDNN's condition: {stopped.reason}" if stopped.reason else "cuDNN gives no reason"
        lines += wrapped(said, 2)
    elif stopped.reason:
        lines += wrapped(stopped.reason, 2)
    if stopped.outcome == "failed":
        lines += wrapped("a defect, not a refusal: no other problems are tried", 2)
    if stopped.outcome == "out_of_memory":
        words = shlex.join(f"{n}={t}" for n, t in problem.given.items())
        command = f"pyharness memory --advice --cudnn {shlex.quote(release)} {words}".rstrip()
        lines += wrapped(f"what to change, and what it saves: {command}", 2, 4)
    return lines


def stages_line(case: CaseResult) -> list[str]:
    """The other stages: what passed, and what else did not."""
    stopped = case.stopped
    passed = [s.stage for s in case.stages if s.outcome == "passed"]
    lines = wrapped(f"passed: {', '.join(passed)}", 0, 2) if passed else []
    for one in case.stages:
        if one.outcome not in ("passed", "skipped") and one is not stopped:
            lines += wrapped(f"{one.stage}: {_status(one)}{_said(one)}", 0, 2)
    left = [s.stage for s in case.stages if s.outcome == "skipped" and not case.passes(s.stage)]
    return lines + (wrapped(f"not reached: {', '.join(left)}", 0, 2) if left else [])


def case_words(case: CaseResult, facts: DeviceFacts | None = None) -> str:
    """What a case came to, in a clause."""
    where = "" if facts is None else f" on {device_name(facts)}"
    stopped = case.stopped
    if stopped is not None:
        return f"but{where} {stopped.stage}: {_status(stopped)}{_said(stopped)}"
    if not case.complete:
        return f"not run{where}: {case.stages[0].reason}"
    return f"goes all the way{where}"


def device_data(found: OnDevice) -> dict[str, Any]:
    """The same as plain data, for JSON."""
    case = found.case
    return {
        "name": found.facts.name,
        "compute_capability": found.facts.compute_capability,
        "provenance": found.facts.provenance,
        **case_data(case),
        "stages": [asdict(s) for s in case.stages],
        "sizes": case.sizes,
        "asked_bytes": case.asked_bytes,
        "free_bytes": case.free_bytes,
        "blames": [asdict(b) for b in found.blames],
        "together": [list(names) for names in found.together],
        "tried": found.searched,
    }


def case_data(case: CaseResult) -> dict[str, Any]:
    """How far a case went, for JSON."""
    return {
        "complete": case.complete,
        "stopped": None if case.stopped is None else asdict(case.stopped),
    }


def _status(result: StageResult) -> str:
    if result.outcome == "unsupported":
        return result.status or "REFUSED"
    return result.outcome.replace("_", " ").upper()


def _said(result: StageResult) -> str:
    return f": {result.reason}" if result.reason else ""
