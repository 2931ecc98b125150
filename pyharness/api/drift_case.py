"""One problem on two releases, and each tensor that both wrote compared bit by bit."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from pyharness.api.accuracy_case import closed
from pyharness.engine.poisoning import run_poisoned, settle_padding
from pyharness.engine.runner import Runner, StageFailed
from pyharness.engine.workbench import WeightPart, Workbench
from pyharness.spec.differences import difference
from pyharness.spec.enums import DATA_TYPE
from pyharness.spec.geometry import ELEMENT_BYTES
from pyharness.spec.plan_settings import drops
from pyharness.spec.problem import Problem
from pyharness.spec.stage_results import CaseResult, StageResult
from pyharness.spec.stages import CALLS, blocked_by, needed_passes

_STATES = "dropout_states"
_Digests = Mapping[str, bytes]
_GIVEN = ("x", "hx", "cx", "dy", "dhy", "dcy", "w")
_OWN = "the {} side has other bits each time, too"
_BY_NAME = (
    "the newer side lays the weights out otherwise: each was written there by its name, and dw is "
    "compared by name"
)


@dataclass(frozen=True, slots=True)
class Pair:
    """A runner of each release; broken as soon as one of them is."""

    a: Runner
    b: Runner

    @property
    def broken(self) -> bool:
        """Whether one of them is no more use."""
        return self.a.broken or self.b.broken

    def close(self) -> None:
        """Ends both."""
        try:
            self.a.close()
        finally:
            self.b.close()


def drift_cells(pair: Pair, problem: Problem, passes: Sequence[str]) -> list[dict[str, Any]]:
    """Runs passes of a problem on both releases; cells of the table, one a pass and tensor.

    A pass that does not end well on both sides is one row without a tensor.

    ``passes``  of spec.stages.PASSES; those that they need are run and compared, too.
    """
    a, b = Workbench(pair.a), Workbench(pair.b)
    try:
        first, second = _opened(a.open(problem)), _opened(b.open(problem))
        if first.outcome == second.outcome == "passed":
            data_type = DATA_TYPE.label(problem.value("data_type"))
            apart, note = _given_alike(a, b, data_type)
            states = [_states(bench, problem) for bench in (a, b)]
            if apart:
                found = [_apart(first, second, apart)]
            else:
                found = _passes(a, b, data_type, passes, states)
            for cells in found if note else ():
                cells["reason"] = "; ".join(word for word in (cells["reason"], note) if word)
        else:
            found = [_apart(first, second)]
    except StageFailed as error:  # while what was given was looked at
        result, fine = error.result, _well(error.result.stage, error.result.call, a)
        return [_apart(*((result, fine) if pair.a.broken else (fine, result)))]
    for bench, other in ((a, b), (b, a)):
        for result in closed(bench) if bench.tensors() else ():
            fine = _well("close", result.call, other)
            found.append(_apart(*((result, fine) if bench is a else (fine, result))))
    return found


def _opened(case: CaseResult) -> StageResult:
    """What decided whether a problem could be opened."""
    return case.stopped or next(
        (s for s in case.stages[::-1] if s.outcome == "passed"), case.stages[0]
    )


def _given_alike(a: Workbench, b: Workbench, data_type: str) -> tuple[str, str]:
    """Sees to it that both have the same numbers as input and weights, bit by bit.

    Returns  why that cannot be, and what had to be done for it; empty where there is nothing.
    Raises   StageFailed.
    """
    shapes = [{p.name: (p.rows, p.cols) for p in bench.weights()} for bench in (a, b)]
    if shapes[0] != shapes[1]:
        names = sorted({name for name, _ in shapes[0].items() ^ shapes[1].items()})
        return f"the releases do not have the same weights: {', '.join(names)}", ""
    moved = a.weights() != b.weights()
    names = [name for name in _GIVEN if name in a.buffers() and not (moved and name == "w")]
    before, now = a.digest(names), b.digest(names)
    other = [name for name in names if before[name] != now[name]]
    for name in other:
        b.write(name, a.read(name))
    said = [f"{', '.join(other)} of the older side written into the newer"] if other else []
    if moved:
        b.write("w", _placed(a.read("w"), a.weights(), b.read("w"), b.weights(), data_type))
        said.append(_BY_NAME)
    return "", "; ".join(said)


def _placed(
    data: bytes,
    parts: Sequence[WeightPart],
    into: bytes,
    places: Sequence[WeightPart],
    data_type: str,
) -> bytes:
    """A weight space with the numbers of another one, each weight where it lies by its name.

    ``into``  what stands between the weights.
    """
    begins = {part.name: part.offset for part in places}
    filled = bytearray(into)
    for part in parts:
        size, at = part.rows * part.cols * ELEMENT_BYTES[data_type], begins[part.name]
        filled[at : at + size] = data[part.offset : part.offset + size]
    return bytes(filled)


def _states(bench: Workbench, problem: Problem) -> bytes | None:
    """What dropout begins with; None if nothing is dropped."""
    return bench.read(_STATES) if drops(problem) and _STATES in bench.buffers() else None


def _passes(
    a: Workbench,
    b: Workbench,
    data_type: str,
    passes: Sequence[str],
    states: Sequence[bytes | None],
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    ended: list[str] = []
    digests: dict[str, tuple[_Digests, _Digests]] = {}
    for name in needed_passes(passes):
        broken = a.runner.broken or b.runner.broken
        cause = next(iter(ended), None) if broken else blocked_by(name, ended)
        if cause is not None:
            skipped = replace(_well(name, CALLS[name], a), status=None, outcome="skipped")
            found.append(_apart(skipped, skipped, f"{cause} did not end well"))
            continue
        (first, before), (second, now) = _run(a, name, data_type), _run(b, name, data_type)
        if first.outcome == second.outcome == "passed":
            digests[name] = _digests(before), _digests(now)
            if "dw" in now and a.weights() != b.weights():
                now["dw"] = _placed(now["dw"], b.weights(), before["dw"], a.weights(), data_type)
            found += [_compared(first, t, before[t], now[t], data_type) for t in before]
        else:
            ended.append(name)
            found.append(_apart(first, second))
    if not ended and any(cells["verdict"] == "drifted" for cells in found):
        for bench, begun in zip((a, b), states, strict=True):
            if begun is not None:
                bench.write(_STATES, begun)
        _see_again(a, b, data_type, digests, found)
    return found


def _see_again(
    a: Workbench,
    b: Workbench,
    data_type: str,
    before: Mapping[str, tuple[_Digests, _Digests]],
    found: list[dict[str, Any]],
) -> None:
    """Runs all passes once more: where a side has other bits than it had, drift is not told.

    ``before``  digests of what each pass wrote, on both sides.
    ``found``   cells of all tensors; a pass that does not end well this time is added.
    """
    for name, digests in before.items():
        for side, bench, own in zip(("older", "newer"), (a, b), digests, strict=True):
            result, wrote = _run(bench, name, data_type)
            if result.outcome != "passed":
                fine = _well(name, CALLS[name], b if bench is a else a)
                ends = (result, fine) if bench is a else (fine, result)
                found.append(_apart(*ends, f"{side}, once more: {result.call}: {result.reason}"))
                return
            again = _digests(wrote)
            for cells in found:
                if cells["pass"] != name or cells["verdict"] not in ("drifted", "not_told"):
                    continue
                if again[cells["buffer"]] != own[cells["buffer"]]:
                    cells["verdict"] = "not_told"
                    said = (cells["reason"], _OWN.format(side))
                    cells["reason"] = "; ".join(word for word in said if word)


def _digests(wrote: Mapping[str, bytes]) -> _Digests:
    return {tensor: hashlib.sha256(data).digest() for tensor, data in wrote.items()}


def _run(bench: Workbench, name: str, data_type: str) -> tuple[StageResult, dict[str, bytes]]:
    """How a pass ended, and what it wrote."""
    try:
        wrote = {tensor: bench.read(tensor) for tensor in run_poisoned(bench, name)}
        if name == "forward_training":
            settle_padding(bench, data_type)
        return _well(name, CALLS[name], bench), wrote
    except StageFailed as error:
        return replace(error.result, stage=name), {}


def _well(stage: str, call: str, bench: Workbench) -> StageResult:
    return StageResult(stage, call, "SUCCESS", 0, "passed", None, bench.runner.facts.provenance)


def _compared(
    result: StageResult, tensor: str, before: bytes, now: bytes, data_type: str
) -> dict[str, Any]:
    """The cells of a tensor that both wrote."""
    found = difference(before, now, data_type)
    return {
        **_ended(result, result),
        "buffer": tensor,
        "verdict": "same" if found.same else "drifted",
        "elements": found.elements,
        "differing": found.differing,
        "share": found.differing / found.elements if found.elements else 0.0,
        "first_element": found.first,
        "most_ulps": found.most_ulps,
        "most_abs": found.most_abs if isfinite(found.most_abs) else None,
        "reason": f"{found.nan:,} NaN on one side alone" if found.nan else None,
    }


def _apart(first: StageResult, second: StageResult, why: str = "") -> dict[str, Any]:
    """The cells of a stage that says nothing of any tensor."""
    sides = (("older", first), ("newer", second))
    said = [
        f"{side}: {r.call}: {r.reason or r.status}" for side, r in sides if r.outcome != "passed"
    ]
    cells = _ended(first if first.outcome != "passed" else second, first, second)
    return {
        **cells,
        "verdict": "not_compared",
        "reason": why or "; ".join(said) or None,
        "reason_a": None if first.outcome == "passed" else first.reason,
        "reason_b": None if second.outcome == "passed" else second.reason,
    }


def _ended(
    told: StageResult, first: StageResult, second: StageResult | None = None
) -> dict[str, Any]:
    second = second or first
    return {
        "pass": told.stage,
        "call": told.call,
        "status_a": first.status,
        "status_b": second.status,
        "outcome_a": first.outcome,
        "outcome_b": second.outcome,
        "provenance": told.provenance,
    }
