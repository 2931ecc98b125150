"""Runs of checks on an emulated card: what is violated is shrunk, what breaks is a row."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pyharness.api import checking_case
from pyharness.api.checking import CheckOptions, CheckRun, check_release, checks_of
from pyharness.engine import cases
from pyharness.engine.equivalences import Found
from pyharness.engine.repeats import Refused
from pyharness.engine.runner import StageFailed
from pyharness.engine.workbench import Workbench
from pyharness.errors import HarnessError, UsageError
from pyharness.spec.geometry import Geometry, geometry
from pyharness.spec.problem import Problem
from pyharness.spec.stage_results import CaseResult, StageResult
from pyharness.spec.tables import TABLES
from pyharness.store.case_journal import NAME as JOURNAL
from pyharness.store.manifest import read_manifest
from tests.api import test_accuracy
from tests.api.test_accuracy import named
from tests.api.test_staging import Made

emulate = test_accuracy.emulate  # the fixture
LARGE = "hidden_size=12 input_size=9 num_layers=3 batch_size=5 max_seq_length=7"
Row = dict[str, Any]
Shows = Callable[[Geometry], bool]


def found(buffer: str, verdict: str, error: float | None = 0.0, **more: Any) -> Found:
    return Found(buffer, verdict, False, 10, 3 if error else 0, error, 1e-6, **more)


class StandIn:
    """Checks in the place of the real ones, that violate what the test says.

    ``violates``  name of a check to its buffers, each with what shows it.
    ``runs``      checks that run a forward pass on the device, where a fault may wait.
    ``asked``     name of a check and problem, as they came.
    """

    def __init__(self) -> None:
        self.violates: dict[str, dict[str, Shows]] = {}
        self.runs: dict[str, Shows] = {}
        self.asked: list[tuple[str, str]] = []

    def __call__(
        self, bench: Workbench, problem: Problem, passes: Sequence[str], name: str
    ) -> list[Found]:
        self.asked.append((name, problem.command))
        of = geometry(problem)
        if name == "projection_off":
            raise Refused("there is no projection")
        if name == "padding_filled":
            endless = float("inf")
            return [Found("y", "not_told", False, 10, 3, endless, endless, reason="anything goes")]
        if name in self.runs and self.runs[name](of):
            assert bench.open(problem).complete
            bench.run(passes[0])
        buffers = self.violates.get(name, {})
        return [found("hy", "holds")] + [
            found(
                buffer,
                "violated" if shows(of) else "holds",
                float(of.hidden_size),
                first=4,
                variant="in parts",
            )
            for buffer, shows in buffers.items()
        ]


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The checks that are put in."""
    stand_in = StandIn()
    monkeypatch.setattr(checking_case, "check", stand_in)
    return stand_in


def rows(run: CheckRun) -> list[Row]:
    table = pq.read_table(run.folder / "equivalences.parquet")
    assert table.column_names == [c.name for c in TABLES["equivalences"]]
    found: list[Row] = table.to_pylist()
    return found


def one(found: Sequence[Row], check: str, buffer: str | None) -> Row:
    (row,) = [r for r in found if (r["check"], r["buffer"]) == (check, buffer)]
    return row


def test_the_table(emulate: Made, checks: StandIn, tmp_path: Path) -> None:
    checks.violates["layers_in_turn"] = {
        "y": lambda of: of.num_layers >= 2 and of.hidden_size >= 3,
        "dx": lambda of: of.num_layers >= 2 and of.batch_size >= 2,
        "dw": lambda of: False,
    }
    names = ("layers_in_turn", "projection_off", "padding_filled", "batch_is_parts")
    run = check_release(
        emulate(name="Card X"), named("", rest=LARGE), tmp_path / "out", CheckOptions(names)
    )
    rows_found = rows(run)
    assert [(r["check"], r["buffer"], r["verdict"]) for r in rows_found] == [
        ("layers_in_turn", "hy", "holds"),
        ("layers_in_turn", "y", "violated"),
        ("layers_in_turn", "dx", "violated"),
        ("layers_in_turn", "dw", "holds"),
        ("projection_off", None, None),
        ("padding_filled", "y", "not_told"),
        ("batch_is_parts", "hy", "holds"),
    ]
    for row in rows_found:
        assert (row["release"], row["device"], row["name"]) == ("9.28.0", "Card X", "0")
        assert (row["problem"], row["hidden_size"], row["num_layers"]) == (LARGE, 12, 3)
        assert row["provenance"] == "emulated"
    y = one(rows_found, "layers_in_turn", "y")
    told = ("elements", "differing", "first_element", "error", "threshold", "variant", "outcome")
    assert [y[c] for c in told] == [10, 3, 4, 12.0, 1e-6, "in parts", "passed"]
    small = "num_layers=2 batch_size=1 max_seq_length=1 cell_mode=rnn_tanh bias_mode=no_bias"
    assert y["smallest"] == f"hidden_size=3 input_size=1 {small}"
    assert (y["smallest_error"], y["shrinking"]) == (3.0, "settled")
    dx = one(rows_found, "layers_in_turn", "dx")
    assert dx["smallest"].split() == [
        *("hidden_size=1", "input_size=1", "num_layers=2", "batch_size=2", "max_seq_length=1"),
        *("cell_mode=rnn_tanh", "bias_mode=no_bias"),
    ]
    assert 0 < dx["tries"] <= 300
    for row in rows_found:
        if row["verdict"] != "violated":
            assert {row[c] for c in ("smallest", "shrinking", "tries", "smallest_error")} == {None}
    refused = one(rows_found, "projection_off", None)
    assert (refused["outcome"], refused["reason"]) == ("skipped", "there is no projection")
    untold = one(rows_found, "padding_filled", "y")
    assert untold["reason"] == "anything goes"
    assert (untold["error"], untold["threshold"]) == (None, None)
    results = run.manifest.results
    assert results["verdicts"] == {"holds": 3, "violated": 2, "not_told": 1}
    assert results["statuses"] == {"passed": 6, "skipped": 1}
    assert not (run.folder / JOURNAL).exists()
    # Both tensors are looked at together: no problem is put to a check again.
    violating = [p for name, p in checks.asked if name == "layers_in_turn"]
    assert violating.count(LARGE) == 2  # once more, to see that it repeats
    again = [y["smallest"], dx["smallest"]]  # likewise
    assert len(violating) == len(set(violating)) + 1 + len(again)
    assert [violating.count(p) for p in again] == [2, 2]


def test_what_is_known_of_one_problem_shortens_the_next(
    emulate: Made, checks: StandIn, tmp_path: Path
) -> None:
    checks.violates["batch_is_parts"] = {"y": lambda of: of.batch_size >= 3}
    problems = named("cell_mode=gru", "cell_mode=lstm", "cell_mode=lstm data_type=half", rest=LARGE)
    options = CheckOptions(("batch_is_parts",))
    found_rows = rows(check_release(emulate(), problems, tmp_path / "out", options))
    own = [r for r in found_rows if r["buffer"] == "y"]
    (smallest,) = {r["smallest"] for r in own}
    assert geometry(Problem(dict(w.split("=") for w in smallest.split()))).batch_size == 3
    later = checks.asked[checks.asked.index((checks.asked[0][0], own[1]["problem"])) :]
    # Twice the problem itself; all else was asked for the first one.
    assert [p for _, p in later] == [own[1]["problem"]] * 2 + [own[2]["problem"]] * 2


def test_a_smaller_problem_of_another_type_is_not_taken_for_it(
    emulate: Made, checks: StandIn, tmp_path: Path
) -> None:
    checks.violates["batch_is_parts"] = {"y": lambda of: of.element_bytes > 4 or of.batch_size > 3}
    double = "data_type=double math_prec=double"
    problems = named(double, "", rest="hidden_size=4 input_size=4 batch_size=5 max_seq_length=2")
    options = CheckOptions(("batch_is_parts",))
    found_rows = rows(check_release(emulate(), problems, tmp_path / "out", options))
    first, second = (r["smallest"].split() for r in found_rows if r["buffer"] == "y")
    assert {"data_type=double", "batch_size=1"} <= set(first)
    assert "batch_size=4" in second
    assert "data_type=double" not in second


def test_a_runner_that_breaks_while_shrinking_is_made_anew(
    emulate: Made, checks: StandIn, tmp_path: Path
) -> None:
    checks.violates["layers_in_turn"] = {"y": lambda of: of.num_layers >= 2}
    checks.violates["batch_is_parts"] = {"hy": lambda of: False}
    # What has one sequence crashes: two is the smallest that can be told.
    checks.runs["layers_in_turn"] = lambda of: of.batch_size == 1 and of.max_seq_length == 7
    release = emulate(fault="crash@cudnnRNNForward:1")
    options = CheckOptions(("layers_in_turn", "batch_is_parts"))
    run = check_release(release, named("", "seed=1", rest=LARGE), tmp_path / "out", options)
    found_rows = rows(run)
    ys = [r for r in found_rows if r["buffer"] == "y"]
    assert {r["outcome"] for r in found_rows} == {"passed"}
    assert [r["shrinking"] for r in ys] == ["settled", "settled"]
    assert "num_layers=2" in ys[0]["smallest"]
    assert len(found_rows) == 2 * 4
    crashing = [p for _, p in checks.asked if "batch_size=1 max_seq_length=7" in p]
    assert crashing


def test_it_gives_up_where_all_that_is_smaller_breaks(
    emulate: Made, checks: StandIn, tmp_path: Path
) -> None:
    checks.violates["layers_in_turn"] = {"y": lambda of: True}
    checks.runs["layers_in_turn"] = lambda of: of.hidden_size < 12
    release = emulate(fault="crash@cudnnRNNForward:*")
    options = CheckOptions(("layers_in_turn", "batch_is_parts"))
    run = check_release(release, named("", rest=LARGE), tmp_path / "out", options)
    row = one(rows(run), "layers_in_turn", "y")
    assert row["shrinking"] == "stopped"
    assert "hidden_size=12" in row["smallest"]
    assert "batch_size=1" in row["smallest"]
    assert one(rows(run), "batch_is_parts", "hy")["verdict"] == "holds"


def test_what_is_not_seen_twice_is_not_shrunk(
    emulate: Made, checks: StandIn, tmp_path: Path
) -> None:
    seen: list[int] = []

    def once(of: Geometry) -> bool:
        seen.append(1)
        return len(seen) == 1

    checks.violates["batch_is_parts"] = {"y": once}
    options = CheckOptions(("batch_is_parts",))
    row = one(
        rows(check_release(emulate(), named("", rest=LARGE), tmp_path / "out", options)),
        "batch_is_parts",
        "y",
    )
    assert (row["verdict"], row["shrinking"]) == ("violated", "not_repeated")
    assert (row["smallest"], row["tries"], len(seen)) == (None, None, 2)


def test_no_tries_no_shrinking(emulate: Made, checks: StandIn, tmp_path: Path) -> None:
    checks.violates["batch_is_parts"] = {"y": lambda of: True}
    options = CheckOptions(("batch_is_parts",), most_tries=0)
    run = check_release(emulate(), named("", rest=LARGE), tmp_path / "out", options)
    row = one(rows(run), "batch_is_parts", "y")
    assert (row["verdict"], row["smallest"], row["shrinking"]) == ("violated", None, None)
    assert len(checks.asked) == 1


def test_few_tries_are_kept_to_and_said(emulate: Made, checks: StandIn, tmp_path: Path) -> None:
    checks.violates["batch_is_parts"] = {"y": lambda of: of.hidden_size > 5}
    options = CheckOptions(("batch_is_parts",), most_tries=6)
    run = check_release(emulate(), named("", rest=LARGE), tmp_path / "out", options)
    row = one(rows(run), "batch_is_parts", "y")
    assert (row["shrinking"], row["tries"]) == ("stopped", 6)
    assert len(checks.asked) == 2 + 6 + 1
    assert checks.asked[-1] == ("batch_is_parts", row["smallest"])


def test_a_crash_is_a_row_and_the_next_check_has_another_runner(
    emulate: Made, checks: StandIn, tmp_path: Path
) -> None:
    checks.runs["layers_in_turn"] = lambda of: True
    checks.violates["batch_is_parts"] = {"y": lambda of: of.batch_size > 1}
    names = ("layers_in_turn", "batch_is_parts")
    release, out = emulate(fault="crash@cudnnRNNForward:1"), tmp_path / "out"
    problems = named("", "seed=1", rest=LARGE)
    run = check_release(release, problems, out, CheckOptions(names))
    found_rows = rows(run)
    crashes = [r for r in found_rows if r["outcome"] == "failed"]
    assert [(r["check"], r["call"], r["verdict"]) for r in crashes] == [
        ("layers_in_turn", "cudnnRNNForward", None)
    ] * 2
    assert all("SIGSEGV" in r["reason"] for r in crashes)
    assert [r["verdict"] for r in found_rows if r["buffer"] == "y"] == ["violated"] * 2
    assert [f["call"] for f in run.manifest.results["failures"]] == ["cudnnRNNForward"] * 2
    # A failure under other circumstances says nothing of these: it is tried again.
    asked = len(checks.asked)
    check_release(release, problems, out, CheckOptions(names))
    assert len(checks.asked) == asked
    checks.runs.clear()
    again = check_release(release, problems, out, CheckOptions(names, timeout_s=20))
    assert {r["outcome"] for r in rows(again)} == {"passed"}


def test_a_problem_that_is_refused_is_one_row(
    emulate: Made, checks: StandIn, tmp_path: Path
) -> None:
    problems = named("layout=seq_major_packed seq_lengths=[2,5]", "", rest="hidden_size=4")
    run = check_release(emulate(), problems, tmp_path / "out", CheckOptions(("batch_is_parts",)))
    first, second = rows(run)
    assert (first["check"], first["call"]) == (None, "cudnnSetRNNDataDescriptor")
    assert (first["status"], first["outcome"]) == ("BAD_PARAM", "unsupported")
    assert second["verdict"] == "holds"
    assert [p for _, p in checks.asked] == ["hidden_size=4"]


def test_an_interrupted_run_goes_on_and_does_nothing_twice(
    emulate: Made, checks: StandIn, tmp_path: Path
) -> None:
    checks.violates["batch_is_parts"] = {"y": lambda of: of.batch_size > 1}
    problems = named("seed=0", "seed=1", "seed=2", rest="hidden_size=4 input_size=3")
    options, out = CheckOptions(("batch_is_parts",)), tmp_path / "out"
    release = emulate()
    steps: list[tuple[str, int, int]] = []

    def interrupt(step: str, done: int, total: int) -> None:
        steps.append((step, done, total))
        if (step, done) == ("cases", 1):
            raise KeyboardInterrupt

    run = check_release(release, problems, out, options, interrupt)
    assert run.manifest.state == "interrupted"
    assert {r["name"] for r in rows(run)} == {"0"}
    shrinking = [(done, total) for step, done, total in steps if step == "shrinking batch_is_parts"]
    assert shrinking[0] == (1, 300)
    assert shrinking[-1] == (len(shrinking) - 1,) * 2  # in the end all that there was
    done = len(checks.asked)
    run = check_release(release, problems, out, options)
    assert read_manifest(out).state == run.manifest.state == "complete"
    assert {r["name"] for r in rows(run)} == {"0", "1", "2"}
    assert not any(p.endswith("seed=0") and "hidden_size=4" in p for _, p in checks.asked[done:])


def test_a_runner_that_cannot_be_had_again_stops_it_and_keeps_the_rest(
    emulate: Made, checks: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks.violates["layers_in_turn"] = {"y": lambda of: of.batch_size > 2}
    checks.runs["layers_in_turn"] = lambda of: of.batch_size == 2
    release = emulate(fault="crash@cudnnRNNForward:1")
    problems = named("batch_size=1", "batch_size=5", rest="hidden_size=2 input_size=2")
    begun = checking_case.Hand.bench.fget
    assert begun is not None

    def gone(hand: checking_case.Hand) -> Workbench:
        if hand.runner.broken:
            raise HarnessError("the device is gone")
        bench: Workbench = begun(hand)
        return bench

    monkeypatch.setattr(checking_case.Hand, "bench", property(gone))
    out = tmp_path / "out"
    with pytest.raises(HarnessError, match="the device is gone"):
        check_release(release, problems, out, CheckOptions(("layers_in_turn",)))
    manifest = read_manifest(out)
    assert (manifest.state, manifest.notes) == ("stopped", ["the device is gone"])
    assert {r["name"] for r in pq.read_table(out / "equivalences.parquet").to_pylist()} == {"0"}


def test_a_folder_is_of_these_checks_and_tries(
    emulate: Made, checks: StandIn, tmp_path: Path
) -> None:
    release, out = emulate(), tmp_path / "out"
    problems = named("", rest="hidden_size=4 input_size=3")
    check_release(release, problems, out, CheckOptions(("batch_is_parts",)))
    for other in (CheckOptions(("layers_in_turn",)), CheckOptions(("batch_is_parts",), 7)):
        with pytest.raises(UsageError, match="holds another run"):
            check_release(release, problems, out, other)


def test_the_checks_of_a_text() -> None:
    assert checks_of("batch_is_parts, padding_filled") == ("padding_filled", "batch_is_parts")
    with pytest.raises(UsageError, match="unknown check 'batch'") as told:
        checks_of("batch")
    assert "batch_is_parts" in told.value.hint


def test_what_breaks_while_shrinking_does_not_stop_the_sweep(
    emulate: Made, checks: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking_case, "within", lambda small, large: False)
    monkeypatch.setattr(cases, "MOST_BREAKS_AT_FIRST", 2)
    checks.violates["layers_in_turn"] = {"y": lambda of: of.batch_size > 1}
    checks.runs["layers_in_turn"] = lambda of: of.batch_size == 1
    problems = named(*(f"seed={n}" for n in range(4)), rest="hidden_size=2 batch_size=2")
    options = CheckOptions(("layers_in_turn",), most_tries=1)
    run = check_release(emulate(fault="crash@cudnnRNNForward:1"), problems, tmp_path / "o", options)
    own = [r for r in rows(run) if r["buffer"] == "y"]
    assert [(r["verdict"], r["tries"]) for r in own] == [("violated", 1)] * 4
    assert run.manifest.state == "complete"


def test_what_breaks_in_problem_after_problem_stops_it(
    emulate: Made, checks: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cases, "MOST_BREAKS_AT_FIRST", 2)
    checks.runs["layers_in_turn"] = lambda of: True
    problems = named(*(f"seed={n}" for n in range(3)), rest="hidden_size=2")
    options, out = CheckOptions(("layers_in_turn", "batch_is_parts")), tmp_path / "out"
    with pytest.raises(HarnessError, match="2 cases in a row broke their worker"):
        check_release(emulate(fault="crash@cudnnRNNForward:1"), problems, out, options)
    kept = pq.read_table(out / "equivalences.parquet").to_pylist()
    assert [r["outcome"] for r in kept if r["check"] == "layers_in_turn"] == ["failed"] * 2


def test_a_search_ends_with_its_time(
    emulate: Made, checks: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count()
    monkeypatch.setattr(checking_case, "monotonic", lambda: next(clock))
    checks.violates["batch_is_parts"] = {"y": lambda of: True, "dx": lambda of: True}
    options = CheckOptions(("batch_is_parts",), most_s=4)
    run = check_release(emulate(), named("", rest=LARGE), tmp_path / "out", options)
    found_rows = rows(run)
    y, dx = (one(found_rows, "batch_is_parts", name) for name in ("y", "dx"))
    assert [r["shrinking"] for r in (y, dx)] == ["stopped"] * 2
    # The clock is read before it, and before each try: three are within 4.
    assert "batch_size=1 max_seq_length=7" in y["smallest"]  # from 5: 3, 2, 1
    # For the second tensor no time is left; what is known from the first one is.
    assert (dx["smallest"], len(checks.asked)) == (y["smallest"], 2 + 3 + 1)
    other = CheckOptions(("batch_is_parts",), most_s=5)
    with pytest.raises(UsageError, match="holds another run"):
        check_release(emulate(), named("", rest=LARGE), tmp_path / "out", other)


def test_what_shows_it_now_and_then_is_not_the_smallest(
    emulate: Made, checks: StandIn, tmp_path: Path
) -> None:
    seen = Counter[int]()

    def at_first(of: Geometry) -> bool:
        seen[of.hidden_size] += 1
        return of.hidden_size == 12 or seen[of.hidden_size] == 1

    checks.violates["batch_is_parts"] = {"y": at_first}
    options = CheckOptions(("batch_is_parts",))
    problems = named("", rest="hidden_size=12 input_size=1 batch_size=1 max_seq_length=1")
    row = one(
        rows(check_release(emulate(), problems, tmp_path / "out", options)), "batch_is_parts", "y"
    )
    assert (row["smallest"], row["shrinking"]) == (row["problem"], "stopped")
    assert row["tries"] > 0


def test_checks_that_were_made_before_an_interruption_are_not_made_again(
    emulate: Made, checks: StandIn, tmp_path: Path
) -> None:
    for name in ("layers_in_turn", "batch_is_parts"):
        checks.violates[name] = {"y": lambda of: of.batch_size > 1}
    problems = named("", rest="hidden_size=4 input_size=3 batch_size=3")
    options, out = CheckOptions(("layers_in_turn", "batch_is_parts")), tmp_path / "out"
    release = emulate()

    def interrupt(step: str, done: int, total: int) -> None:
        if (step, done) == ("shrinking batch_is_parts", 2):
            raise KeyboardInterrupt

    assert check_release(release, problems, out, options, interrupt).manifest.state == "interrupted"
    checks.asked.clear()
    found_rows = rows(check_release(release, problems, out, options))
    assert {name for name, _ in checks.asked} == {"batch_is_parts"}
    own = [r for r in found_rows if r["buffer"] == "y"]
    assert [(r["check"], r["shrinking"]) for r in own] == [
        ("layers_in_turn", "settled"),
        ("batch_is_parts", "settled"),
    ]


def test_a_problem_that_breaks_while_it_is_opened_is_a_row(
    emulate: Made, checks: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Workbench.open

    def open_it(bench: Workbench, problem: Problem) -> CaseResult:
        if problem.value("seed") == 0:
            result = StageResult("build", "", None, None, "failed", "gone", "emulated")
            bench.runner.broken = True
            raise StageFailed(result)
        return opened(bench, problem)

    monkeypatch.setattr(Workbench, "open", open_it)
    problems = named("seed=0", "seed=1", rest="hidden_size=4")
    options = CheckOptions(("batch_is_parts",))
    first, second = rows(check_release(emulate(), problems, tmp_path / "out", options))
    assert (first["check"], first["outcome"], first["reason"]) == (None, "failed", "gone")
    assert second["verdict"] == "holds"
