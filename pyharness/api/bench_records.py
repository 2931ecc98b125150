"""Timed cases as what the journal keeps, and as rows of the tables ``samples`` and ``timings``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from pyharness.api.stage_rows import case_data, case_of, problem_cells
from pyharness.engine.card import Reading
from pyharness.engine.timed_case import TimedCase
from pyharness.engine.timing import Timing
from pyharness.errors import UsageError
from pyharness.measure.statistics import Summary, summarize
from pyharness.measure.throttling import Chunk, sieve
from pyharness.measure.trend import find_trend
from pyharness.space.problems import NamedProblem
from pyharness.spec.flops import Work, work
from pyharness.spec.messages import Peak
from pyharness.spec.stage_results import StageResult

_SECONDS = ("median", "mean", "p05", "p25", "p75", "p95")


@dataclass(frozen=True, slots=True)
class Side:
    """What was timed: ``release`` as rows name it, ``device`` by its name."""

    release: str
    device: str


def record(case: TimedCase) -> dict[str, Any]:
    """A case as plain data, floats in full."""
    return {
        "stages": None if case.stages is None else case_data(case.stages),
        "timings": [asdict(timing) for timing in case.timings],
        "peak": None if case.peak is None else asdict(case.peak),
        "algo": [list(pair) for pair in case.algo],
        "notes": list(case.notes),
    }


def case_from(data: Mapping[str, Any]) -> TimedCase:
    """The case that record was made of."""
    return TimedCase(
        None if data["stages"] is None else case_of(data["stages"]),
        tuple(_timing(t) for t in data["timings"]),
        None if data["peak"] is None else Peak(**data["peak"]),
        tuple((name, algo) for name, algo in data["algo"]),
        tuple(data["notes"]),
    )


def _timing(data: Mapping[str, Any]) -> Timing:
    chunks = [Chunk(tuple(c["samples"]), c["before"], c["after"]) for c in data["chunks"]]
    return Timing(
        **{
            **data,
            "result": StageResult(**data["result"]),
            "chunks": chunks,
            "readings": [Reading(**r) for r in data["readings"]],
        }
    )


def timing_rows(side: Side, named: NamedProblem, case: TimedCase) -> Iterator[dict[str, Any]]:
    """The rows of the table ``timings``, one a pass and mode."""
    shared = {**_named(side, named), **problem_cells(named.problem)}
    algo = dict(case.algo)
    for timing in case.timings:
        r = timing.result
        row = {
            **shared,
            "pass": timing.pass_name,
            "mode": timing.mode or None,
            "status": r.status,
            "status_code": r.status_code,
            "outcome": r.outcome,
            "call": r.call,
            "reason": r.reason,
            "provenance": r.provenance,
            "algo_chosen": algo.get(timing.pass_name),
            "notes": "; ".join(case.notes) or None,
        }
        yield {**row, **_numbers(named, timing, case.peak)}


def sample_rows(side: Side, named: NamedProblem, case: TimedCase) -> Iterator[dict[str, Any]]:
    """The rows of the table ``samples``, one a timed execution, throttled ones too."""
    shared = _named(side, named)
    for timing in case.timings:
        order = 0
        for place, chunk in enumerate(timing.chunks):
            for seconds in chunk.samples:
                yield {
                    **shared,
                    "pass": timing.pass_name,
                    "mode": timing.mode,
                    "order": order,
                    "chunk": place,
                    "time_s": seconds,
                    "throttled": "yes" if chunk.throttled else "no",
                    "provenance": timing.result.provenance,
                }
                order += 1


def timing_failures(
    cases: Iterable[tuple[NamedProblem, TimedCase]],
) -> Iterator[dict[str, Any]]:
    """What failed while it was timed, as a manifest lists failures; those of the stages apart."""
    for named, case in cases:
        staged = () if case.stages is None else case.stages.stages
        for timing in case.timings:
            r = timing.result
            if r.outcome == "failed" and r not in staged:
                yield {
                    "stage": " ".join(filter(None, (timing.pass_name, timing.mode))),
                    "call": r.call,
                    "problem": named.problem.command,
                    "cause": ": ".join(w for w in (r.status, r.reason) if w) or "no word",
                    "output": "",
                }


def _named(side: Side, named: NamedProblem) -> dict[str, Any]:
    return {
        "release": side.release,
        "device": side.device,
        "name": named.name,
        "group": named.group,
        "problem": named.problem.command,
    }


def _numbers(named: NamedProblem, timing: Timing, peak: Peak | None) -> dict[str, Any]:
    """What the samples say; of a row that did not pass only how many there are."""
    if not timing.chunks:
        return {}
    sieved = sieve(timing.chunks)
    summary = summarize(sieved.kept)
    found: dict[str, Any] = {
        "n": len(sieved.kept),
        "throttled": sieved.left_out,
        "throttle_reasons": ", ".join(sieved.reasons) or None,
        "stop": timing.stop or None,
        "elapsed_s": timing.elapsed_s,
        **_card(timing.readings),
    }
    if summary is None or timing.result.outcome != "passed":
        return found
    trend = find_trend(sieved.kept)
    found |= {
        **{f"{name}_s": getattr(summary, name) for name in _SECONDS},
        "min_s": summary.minimum,
        "median_low_s": summary.median_low,
        "median_high_s": summary.median_high,
        "mean_low_s": summary.mean_low,
        "mean_high_s": summary.mean_high,
        "median_relative_error": _relative(summary),
        "trend": trend.verdict,
        "trend_change": trend.change,
    }
    return found if timing.mode == "enqueue" else {**found, **_rates(named, timing, summary, peak)}


def _relative(summary: Summary) -> float | None:
    return None if summary.median_error is None else summary.median_error / summary.median


def work_of_pass(named: NamedProblem, pass_name: str) -> Work | None:
    """The work of a pass by the stated model; None of a problem that it does not cover."""
    try:
        return work(named.problem, pass_name)
    except UsageError:
        return None


def _rates(
    named: NamedProblem, timing: Timing, summary: Summary, peak: Peak | None
) -> dict[str, Any]:
    todo = work_of_pass(named, timing.pass_name)
    if todo is None or summary.median <= 0:
        return {}
    flops, traffic = todo.flops / summary.median, todo.traffic_bytes / summary.median
    found: dict[str, Any] = {
        "flops": todo.flops,
        "traffic_bytes": todo.traffic_bytes,
        "flop_per_s": flops,
        "bytes_per_s": traffic,
    }
    if peak is not None and peak.flop_per_s:
        found |= {"peak_flop_per_s": peak.flop_per_s, "of_peak_flop": flops / peak.flop_per_s}
    if peak is not None and peak.bytes_per_s:
        found |= {"peak_bytes_per_s": peak.bytes_per_s, "of_peak_bytes": traffic / peak.bytes_per_s}
    return found


def _card(readings: Sequence[Reading]) -> dict[str, Any]:
    """The card while the samples were taken: medians of what it told."""
    told: dict[str, Any] = {}
    for name in ("sm_clock_hz", "memory_clock_hz", "temperature_c", "power_w"):
        values = [v for r in readings if (v := getattr(r, name)) is not None]
        told[name] = median(values) if values else None
    clocks = [r.sm_clock_hz for r in readings if r.sm_clock_hz is not None]
    told["sm_clock_min_hz"] = min(clocks, default=None)
    return told
