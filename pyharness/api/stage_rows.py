"""What cases came to: rows of the table ``stages``, a summary, and what the journal keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pyharness.api.replaying import axis_cells
from pyharness.spec.calls import HOST_STAGES
from pyharness.spec.problem import CallResult, Problem
from pyharness.spec.run_axes import RUN_DEFAULTS
from pyharness.spec.stage_results import CaseResult, StageResult, named_outcome
from pyharness.spec.stages import STAGES
from pyharness.spec.timed import CLOSE

_MODES = {
    "forward_inference": "forward_inference",
    **dict.fromkeys(("forward_training", "backward_data", "backward_weights"), "forward_training"),
}
_MOST_FAILURES = 20


def case_data(case: CaseResult) -> dict[str, Any]:
    """A case as plain data."""
    return asdict(case)


def case_of(data: Mapping[str, Any]) -> CaseResult:
    """The case that case_data was made of."""
    return CaseResult(**{**data, "stages": tuple(StageResult(**s) for s in data["stages"])})


def host_case(results: Sequence[CallResult], provenance: str) -> CaseResult:
    """The host stages of a problem, from what its calls said; a stage that made none is left out.

    The first call that was not accepted decides its stage, or else the last.
    """
    stages = []
    for stage in HOST_STAGES:
        own = [r for r in results if r.stage == stage]
        if own:
            r = next((r for r in own if r.outcome != "passed"), own[-1])
            stages.append(
                StageResult(
                    stage,
                    r.call,
                    r.status,
                    r.status_code,
                    named_outcome(r.outcome),
                    r.reason,
                    provenance,
                )
            )
    return CaseResult(tuple(stages))


def problem_cells(problem: Problem) -> dict[str, Any]:
    """The axis columns of a problem; what only a host call is asked is null if not given."""
    cells = axis_cells({**problem.defaults, **RUN_DEFAULTS, **problem.given})
    cells.setdefault("vector_size", problem.widths[0])
    return cells


def stage_rows(
    release: str, device: str | None, cases: Iterable[tuple[Problem, CaseResult]]
) -> Iterator[dict[str, Any]]:
    """The rows of the table, one a problem and stage."""
    for problem, case in cases:
        cells = {
            "release": release,
            "device": device,
            "problem": problem.command,
            **problem_cells(problem),
        }
        for result in case.stages:
            yield {**cells, **asdict(result), **_bytes(case, result)}


def _bytes(case: CaseResult, result: StageResult) -> dict[str, int | None]:
    known: dict[str, int | None] = {}
    if case.sizes is not None and result.stage in STAGES[STAGES.index("sizes") :]:
        known["weight_space_bytes"] = case.sizes.get("weight_space_bytes")
        mode = _MODES.get(result.stage)
        known["workspace_bytes"] = case.sizes.get(f"workspace_bytes.{mode}")
        if mode == "forward_training":
            known["reserve_space_bytes"] = case.sizes.get("reserve_space_bytes")
    if result.outcome == "out_of_memory":
        known["asked_bytes"], known["free_bytes"] = case.asked_bytes, case.free_bytes
    return known


def summary(cases: Iterable[tuple[Problem, CaseResult]]) -> dict[str, Any]:
    """What the cases came to, as plain data.

    Returns  rows, statuses (rows by outcome), stages (of each its rows by outcome), refusals (each
             distinct one with the cases and the first as an example) and the first failures.
    """
    outcomes: dict[str, int] = {}
    stages: dict[str, dict[str, int]] = {}
    refusals: dict[tuple[Any, ...], dict[str, Any]] = {}
    failures: list[dict[str, Any]] = []
    rows = 0
    for problem, case in cases:
        for r in case.stages:
            rows += 1
            outcomes[r.outcome] = outcomes.get(r.outcome, 0) + 1
            of_stage = stages.setdefault(r.stage, {})
            of_stage[r.outcome] = of_stage.get(r.outcome, 0) + 1
            if r.outcome == "unsupported":
                key = (STAGES.index(r.stage), r.call, r.status, r.reason)
                found = refusals.setdefault(key, _refusal(r, problem))
                found["cases"] += 1
            elif r.outcome == "failed" and len(failures) < _MOST_FAILURES:
                failures.append(_failure(r, problem))
    return {
        "rows": rows,
        "statuses": outcomes,
        "stages": {stage: stages[stage] for stage in (*STAGES, CLOSE) if stage in stages},
        "refusals": [found for _, found in sorted(refusals.items(), key=_most_first)],
        "failures": failures,
    }


def _refusal(result: StageResult, problem: Problem) -> dict[str, Any]:
    return {
        "stage": result.stage,
        "call": result.call,
        "status": result.status,
        "reason": result.reason,
        "cases": 0,
        "example": _short(problem),
    }


def _failure(result: StageResult, problem: Problem) -> dict[str, Any]:
    status = None if result.status == "SUCCESS" else result.status
    return {
        "stage": result.stage,
        "call": result.call,
        "problem": _short(problem),
        "cause": ": ".join(w for w in (status, result.reason) if w) or "no word",
        "output": "",
    }


def _short(problem: Problem) -> str:
    """A problem as words, without those that say what is so anyway."""
    return Problem({n: t for n, t in problem.given.items() if n in problem.telling}).command


def _most_first(item: tuple[tuple[Any, ...], dict[str, Any]]) -> tuple[int, int]:
    key, found = item
    return key[0], -found["cases"]
