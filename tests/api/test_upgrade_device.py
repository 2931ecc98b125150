"""What a GPU says of an upgrade: changes planted in emulated releases, found by the right word."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pyharness.analyze.upgrade import Evidence, Part, PartRun, Verdict, verdict_of
from pyharness.analyze.upgrade_gate import judge
from pyharness.api import upgrade_parts
from pyharness.api.repeatability import RepeatOptions
from pyharness.api.time_change import TimeOptions
from pyharness.api.upgrade_budget import WEIGHTS, Budget
from pyharness.api.upgrade_device import run_parts, take_part
from pyharness.api.upgrade_parts import GpuRequest
from pyharness.engine import cases
from pyharness.engine.runner import Runner
from pyharness.measure.stopping import StoppingRule
from pyharness.releases import Release
from pyharness.space.problems import ProblemSet
from pyharness.spec.gate import Gate, parse_gate
from pyharness.store.case_journal import NAME as JOURNAL
from pyharness.store.manifest import read_manifest
from tests.api import test_staging
from tests.api.planted import chosen
from tests.api.test_staging import Made

emulate = test_staging.emulate  # the fixture
QUESTION: dict[Part, str] = {
    "stages": "validity",
    "time": "time",
    "memory": "memory",
    "determinism": "repeatability",
    "accuracy": "accuracy",
    "drift": "accuracy",
}
BACKWARD = "cudnnRNNBackwardData_v8"
QUICK = StoppingRule(least_samples=3, least_s=0, relative_error=0.5, most_s=0.02)
TIMING = TimeOptions(processes=6, passes=("forward_inference",), rule=QUICK, warm_s=0)
Settings = dict[str, Any]
Take = Callable[..., tuple[PartRun, Evidence | None]]


def asked(
    sides: tuple[Release, Release],
    folder: Path,
    problems: ProblemSet | None = None,
    **more: Any,
) -> GpuRequest:
    chosen_ones = problems or chosen("padded")
    commands: dict[Part, list[str]] = {part: [f"again {part}"] for part in WEIGHTS}
    given: dict[str, Any] = {
        "scope": "problems",
        "times": {},
        "known": frozenset(),
        "timing": TIMING,
        "repeating": RepeatOptions(2, ("same_objects", "other_stream")),
        **more,
    }
    return GpuRequest(
        sides, chosen_ones, folder=folder, device="Emulated GPU", commands=commands, **given
    )


@pytest.fixture
def take(emulate: Made, tmp_path: Path) -> Take:
    """A part on two emulated releases with these settings, in a folder of its own."""
    folders = (tmp_path / f"out{i}" for i in count())

    def run(
        part: Part, old: Settings, new: Settings, **more: Any
    ) -> tuple[PartRun, Evidence | None]:
        request = asked((emulate(**old), emulate(**new)), next(folders), **more)
        return take_part(part, request, 600)[:2]

    return run


def word_of(gate: Gate, part: Part, found: Evidence | None) -> str:
    """The gate's word where nothing but this was found."""
    known = [verdict_of(QUESTION[part], [found])] if found is not None else []
    others = set(QUESTION.values()) - {v.question for v in known}
    verdicts = [*known, *(Verdict(q, "not_measured") for q in others)]
    return {r.key: r.word for r in judge(gate, verdicts, None)}.get(gate.source, "not asked")


def only(key: str, value: str) -> Gate:
    """A gate that is called like the key that it asks."""
    return parse_gate(f'{key} = "{value}"', key, with_log=False)


REFUSES = {"fault": f"status:NOT_SUPPORTED@{BACKWARD}:*"}
CRASHES = {"fault": f"crash@{BACKWARD}:*"}
SHORT = {"fault": "status:ALLOC_FAILED@cudnnRNNForward:*"}
PLANTED: list[tuple[Part, Settings, Settings, str, dict[str, int], str]] = [
    ("stages", {}, {}, "same", {}, "validity.newly_refused any passed"),
    ("stages", {}, REFUSES, "worse", {"newly_refused": 1}, "validity.newly_refused any failed"),
    ("stages", {}, CRASHES, "worse", {"newly_failed": 1}, "validity.newly_failed any failed"),
    (
        "stages",
        {},
        SHORT,
        "worse",
        {"newly_out_of_memory": 1},
        "validity.newly_out_of_memory any failed",
    ),
    ("stages", REFUSES, {}, "better", {"newly_accepted": 1}, "validity.newly_refused any passed"),
    ("stages", CRASHES, {}, "better", {"no_longer_failed": 1}, "validity.newly_failed any passed"),
    (
        "stages",
        {"fault": "status:NOT_SUPPORTED@cudnnGetRNNTempSpaceSizes:*"},
        {"fault": "crash@cudnnRNNForward:*"},
        "worse",
        {"newly_failed": 1},
        "validity.newly_failed any failed",
    ),
    ("time", {}, {}, "same", {}, "time.slower 2% passed"),
    ("time", {}, {"slower": 1.1}, "worse", {"slower": 1}, "time.slower 9% failed"),
    ("time", {"slower": 1.1}, {}, "better", {"faster": 1}, "time.slower 2% passed"),
    ("memory", {}, {}, "same", {}, "memory.grown 0% passed"),
    ("determinism", {}, {}, "same", {}, "repeatability.lost any passed"),
    (
        "determinism",
        {},
        {"wrong": "order_stream"},
        "worse",
        {"lost": 1},
        "repeatability.lost any failed",
    ),
    (
        "determinism",
        {"wrong": "order_stream"},
        {},
        "better",
        {"gained": 1},
        "repeatability.lost any passed",
    ),
    ("accuracy", {}, {}, "same", {}, "accuracy.worse any passed"),
    (
        "accuracy",
        {},
        {"wrong": "second_layer"},
        "worse",
        {"newly_beyond": 1},
        "accuracy.worse any failed",
    ),
    (
        "accuracy",
        {},
        {"wrong": "one_ulp"},
        "worse",
        {"less_accurate": 1},
        "accuracy.worse any failed",
    ),
    (
        "accuracy",
        {"wrong": "second_layer"},
        {},
        "better",
        {"no_longer_beyond": 1},
        "accuracy.worse any passed",
    ),
    ("drift", {}, {}, "same", {}, "drift.changed any passed"),
    ("drift", {}, {"wrong": "one_ulp"}, "other_bits", {"drifted": 1}, "drift.changed any failed"),
]


@pytest.mark.parametrize(("part", "old", "new", "word", "counts", "gate"), PLANTED)
def test_what_is_planted_is_found_by_its_own_word(
    take: Take,
    part: Part,
    old: Settings,
    new: Settings,
    word: str,
    counts: dict[str, int],
    gate: str,
) -> None:
    run, found = take(part, old, new)
    assert found is not None
    assert (found.word, dict(found.counts)) == (word, counts)
    assert (found.compared, found.unanswered, found.left) == (1, 0, 0)
    assert (run.state, run.why, run.done) == ("complete", "", 1)
    assert {f.change for f in found.findings} == counts.keys()
    assert {f.name for f in found.findings} <= {"padded"}
    assert found.commands == [f"again {part}"]
    key, value, expected = gate.split()
    assert word_of(only(key, value), part, found) == expected
    if part == "time":  # 10 % more is within a limit of 11 %
        assert word_of(only(key, "11%"), part, found) == "passed"
    if part != "drift":
        assert verdict_of(QUESTION[part], [found]).word == word


def test_too_noisy_to_tell_is_not_the_same(take: Take) -> None:
    noisy = {"process_noise": 0.1}
    run, found = take("time", noisy, noisy)
    assert found is not None
    assert (found.word, found.compared, found.unanswered) == ("inconclusive", 0, 1)
    (finding,) = found.findings
    assert (finding.change, finding.values["reason"]) == ("inconclusive", "noise")
    assert run.state == "complete"
    assert word_of(only("time.inconclusive", "any"), "time", found) == "inconclusive"
    assert word_of(only("time.slower", "3%"), "time", found) == "passed"


@pytest.mark.parametrize(
    ("bytes_more", "change", "word", "limits"),
    [
        (512, "grown", "worse", {"0%": "failed", "400%": "passed"}),
        (-512, "shrunk", "better", {"0%": "passed"}),
    ],
)
def test_a_byte_more_is_worse_and_the_gate_says_how_many_are_too_many(
    take: Take,
    monkeypatch: pytest.MonkeyPatch,
    bytes_more: int,
    change: str,
    word: str,
    limits: dict[str, str],
) -> None:
    opened, asks = upgrade_parts.open_runner, Runner.sizes

    def other(release: Release, *args: Any) -> Runner:
        runner = opened(release, *args)
        runner.newer = release.path.parent.name == "1"  # type: ignore[attr-defined]
        return runner

    def sizes(runner: Runner, problem: Any) -> Any:
        case = asks(runner, problem)
        if runner.newer:  # type: ignore[attr-defined]
            case.sizes["workspace_bytes.forward_training"] += bytes_more  # type: ignore[index]
        return case

    monkeypatch.setattr(upgrade_parts, "open_runner", other)
    monkeypatch.setattr(Runner, "sizes", sizes)
    _, found = take("memory", {}, {})
    assert found is not None
    assert (found.word, dict(found.counts)) == (word, {change: 1})
    (finding,) = found.findings
    assert finding.values["forward_mode"] == "training"
    for size in ("workspace_bytes", "total_bytes"):
        assert finding.values[f"{size}_b"] - finding.values[f"{size}_a"] == bytes_more
    assert finding.after.endswith(f"(workspace {bytes_more:+,} B)")
    for limit, expected in limits.items():
        assert word_of(only("memory.grown", limit), "memory", found) == expected


@pytest.mark.parametrize("part", ["memory", "determinism", "accuracy"])
def test_what_one_side_does_not_tell_is_inconclusive(take: Take, part: Part) -> None:
    fault = {"fault": "status:INTERNAL_ERROR@cudnnGetRNNTempSpaceSizes:*"}
    _, found = take(part, {}, fault)
    assert found is not None
    assert (found.word, found.compared, found.unanswered) == ("inconclusive", 0, 1)
    assert "1 of 1 problems of planted cannot be told" in found.untold


def test_what_the_host_told_of_a_log_is_not_told_twice(take: Take) -> None:
    problems = chosen("padded")
    words = problems.problems[0].problem.command
    known = frozenset({(words, "newly_refused")})
    _, found = take("stages", {}, REFUSES, scope="log", times={words: 7}, known=known)
    assert found is not None
    assert (found.word, found.scope, dict(found.counts)) == ("same", "log", {})
    assert found.notes == ["1 changed as on the host, which is told there"]
    _, told = take("stages", {}, REFUSES, scope="log", times={words: 7})
    assert told is not None
    assert [(f.times, f.name) for f in told.findings] == [(7, None)]


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Time that is over for the sweeps while ``now`` is set."""
    state = SimpleNamespace(now=False)
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + (1e9 if state.now else 0))
    monkeypatch.setattr(cases, "time", clock)
    return state


@pytest.mark.parametrize("part", ["stages", "accuracy"])
def test_what_finds_no_time_is_said_is_no_pass_and_is_gone_on_with(
    emulate: Made, tmp_path: Path, late: SimpleNamespace, part: Part
) -> None:
    request = asked((emulate(), emulate()), tmp_path / "out", chosen("padded", "packed"))
    began = []

    def ends_after_one(step: str, done: int, total: int) -> None:
        del step, total
        began.append(done)
        late.now = done == 1

    run, found, _ = take_part(part, request, 600, ends_after_one)
    assert (run.done, run.problems, run.state) == (1, 2, "out_of_time")
    assert run.why == "1 of 2 problems, the budget ended"
    assert found is not None
    assert (found.word, found.compared, found.left) == ("inconclusive", 1, 1)
    key = {"stages": "validity.newly_refused", "accuracy": "accuracy.worse"}[part]
    assert word_of(only(key, "any"), part, found) == "inconclusive"
    folders = [tmp_path / "out" / part / side for side in ("old", "new")]
    assert [read_manifest(f).state for f in folders] == ["out_of_time"] * 2
    late.now = False
    began.clear()
    run, found, _ = take_part(part, request, 600, lambda s, done, t: began.append(done))
    assert began == [1, 2, 1, 2]
    assert found is not None
    assert (run.state, found.word, found.left) == ("complete", "same", 0)
    assert not any((f / JOURNAL).exists() for f in folders)


def test_a_part_without_time_does_not_begin_and_keeps_what_is_there(
    emulate: Made, tmp_path: Path
) -> None:
    request = asked((emulate(), emulate()), tmp_path / "out")
    run, found, _ = take_part("accuracy", request, 0)
    assert (run.state, run.why, found) == ("not_begun", "the budget ended before it began", None)
    assert not (tmp_path / "out").exists()
    take_part("accuracy", request, 600)
    run, found, _ = take_part("accuracy", request, 0)
    assert found is not None
    assert (run.state, run.why, found.word) == ("complete", "", "same")


def test_sizes_that_are_there_stay_where_the_time_is_shorter(
    emulate: Made, tmp_path: Path, late: SimpleNamespace
) -> None:
    problems = chosen("padded", "packed")
    request = asked((emulate(), emulate()), tmp_path / "out", problems)
    tables = [tmp_path / "out" / "memory" / side / "memory.parquet" for side in ("old", "new")]

    def weighed(share_s: float) -> tuple[int, str, list[int]]:
        run, found, _ = take_part("memory", request, share_s)
        assert found is not None
        return run.done, found.word, [table.stat().st_mtime_ns for table in tables]

    assert weighed(1e-9)[:2] == (1, "inconclusive")
    assert weighed(600)[:2] == (2, "same")
    before = weighed(600)
    assert weighed(1e-9) == before
    # Of more problems what there is time for is less than what is there.
    more = replace(request, problems=chosen("padded", "packed", "dropped"))
    run, _, _ = take_part("memory", more, 1e-9)
    assert (run.done, run.state) == (2, "out_of_time")


def test_what_another_run_left_in_a_folder_says_nothing(emulate: Made, tmp_path: Path) -> None:
    request = asked((emulate(), emulate()), tmp_path / "out")
    take_part("determinism", request, 600)
    other = replace(request, repeating=RepeatOptions(3, ("same_objects",)))
    run, found, _ = take_part("determinism", other, 600)
    assert (run.state, run.done, found) == ("stopped", 0, None)
    assert "holds another run" in run.why


def test_a_budget_is_handed_on_from_part_to_part() -> None:
    now = [0.0]
    budget = Budget(100.0, lambda: now[0])
    assert [budget.share(part) for part in WEIGHTS][-1] == 100  # the last gets all that is left
    given = []
    for part, weight in WEIGHTS.items():
        given.append(budget.share(part))
        now[0] += weight  # all of what it is given, as the weights make 100
    assert given == pytest.approx(list(WEIGHTS.values()))
    assert budget.share("stages") == 0
    now[0] = 10
    assert budget.share("memory") == pytest.approx(90 * 5 / (5 + 25 + 10 + 10))


def test_all_parts_on_one_card(emulate: Made, tmp_path: Path) -> None:
    new = emulate(wrong="order_stream")
    request = asked((emulate(), new), tmp_path / "out")
    gpu, found = run_parts(request, Budget(600), lambda *_: None)
    assert list(found) == [run.part for run in gpu.parts] == list(WEIGHTS)
    assert {part: e.word for part, e in found.items()} == {
        "stages": "same",
        "time": "same",
        "memory": "same",
        "determinism": "worse",
        "accuracy": "worse",
        "drift": "other_bits",
    }
    assert gpu.device["emulated"] is True
    assert {run.state for run in gpu.parts} == {"complete"}
    for run in gpu.parts:
        assert all((tmp_path / "out" / f / "run.json").exists() for f in run.folders)
    # Other bits alone are no judgement.
    same = replace(found["accuracy"], counts={})
    assert verdict_of("accuracy", [same, found["drift"]]).word == "same"
