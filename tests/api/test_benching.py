"""A bench with sides that only play: whose turn it is, what goes on after an end, and folders."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pyharness.api.bench_records import Side, case_from, record
from pyharness.api.bench_sides import BenchOptions, tell_apart
from pyharness.api.benching import BenchRun, bench, new_folder
from pyharness.engine.card import Reading
from pyharness.engine.timed_case import TimedCase
from pyharness.engine.timing import Timing
from pyharness.errors import HarnessError, UsageError
from pyharness.measure.stopping import StoppingRule
from pyharness.measure.throttling import Chunk
from pyharness.space.problems import NamedProblem, ProblemSet, problems_from
from pyharness.spec.columns import SCHEMA_VERSION
from pyharness.spec.messages import Peak
from pyharness.spec.stage_results import CaseResult, StageResult
from pyharness.spec.stages import PASSES, STAGES
from pyharness.spec.tables import TABLES
from pyharness.store.case_journal import NAME as JOURNAL
from pyharness.store.manifest import read_manifest

OPTIONS = BenchOptions(passes=("forward_inference",), modes=("hot",))
PASSED = StageResult("x", "call", "SUCCESS", 0, "passed", None, "observed")


def timed(pass_name: str, *samples: float, outcome: Any = "passed", mode: str = "hot") -> Timing:
    result = StageResult(pass_name, "call", "SUCCESS", 0, outcome, None, "observed")
    chunks = [Chunk(samples, None, None)] if samples else []
    return Timing(pass_name, mode, result, chunks, [], "precise", 0.5)


def case_of(*samples: float) -> TimedCase:
    stages = CaseResult(tuple(StageResult(s, *_rest(PASSED)) for s in STAGES))
    return TimedCase(stages, (timed("forward_inference", *samples),))


def _rest(result: StageResult) -> tuple[Any, ...]:
    return (*(getattr(result, name) for name in StageResult.__slots__[1:]),)


@dataclass
class Player:
    """A side that takes each problem for 1, 2, 3 … seconds, and writes into a log that all share.

    ``ends``  what is raised instead of the case of this number, from 1.
    """

    name: str
    log: list[str]
    path: str = "/x/libcudnn.so.9"
    ends: dict[int, BaseException] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    device_name: str = "Card"

    def __post_init__(self) -> None:
        self.side = Side(self.name, self.device_name)
        self.release: dict[str, Any] = {
            "asked": self.path, "name": self.name, "version": None, "cuda_major": None,
            "path": self.path, "stamp": None, "origin": "path",
        }  # fmt: skip
        self.device: dict[str, Any] = {"name": self.device_name}

    def cases(self, problems: Sequence[NamedProblem]) -> Generator[TimedCase]:
        for number, named in enumerate(problems, 1):
            if number in self.ends:
                raise self.ends[number]
            self.log.append(f"{self.name} {named.name}")
            yield case_of(float(number))

    def close(self) -> None:
        self.log.append(f"{self.name} closed")


def problems(*hidden: int) -> ProblemSet:
    return problems_from(None, [f"hidden_size={','.join(map(str, hidden))}"], ["batch_size=2"])


def names(*hidden: int) -> list[str]:
    return [f"batch_size=2 hidden_size={n}" for n in hidden]


def rows(run: BenchRun, table: str) -> list[dict[str, Any]]:
    found = pq.read_table(run.folder / f"{table}.parquet")
    assert found.column_names == [c.name for c in TABLES[table]]
    listed: list[dict[str, Any]] = found.to_pylist()
    return listed


def journal(folder: Path) -> list[str]:
    lines = (folder / JOURNAL).read_bytes().split(b"\n")[1:-1]
    return [json.loads(line)["case"] for line in lines]


def test_each_problem_on_all_sides_before_the_next(tmp_path: Path) -> None:
    log: list[str] = []
    sides = [Player("A", log), Player("B", log)]
    ticks: list[tuple[int, int]] = []
    runs = bench(sides, problems(4, 5), tmp_path, OPTIONS, progress=lambda _, *at: ticks.append(at))
    four, five = names(4, 5)
    assert log == [f"A {four}", f"B {four}", f"A {five}", f"B {five}"]
    assert ticks == [(n, 4) for n in range(5)]
    assert [r.folder for r in runs] == [tmp_path / "A", tmp_path / "B"]
    for run in runs:
        assert run.manifest.state == "complete"
        assert (run.manifest.results["cases"], run.manifest.results["cases_left"]) == (2, 0)
        assert run.manifest.results["statuses"] == {"passed": 2}
        assert [r["median_s"] for r in rows(run, "timings")] == [1.0, 2.0]
        assert [(r["name"], r["time_s"]) for r in rows(run, "samples")] == [(four, 1), (five, 2)]
        assert [r["stage"] for r in rows(run, "stages")] == [*STAGES, *STAGES]
        assert not (run.folder / JOURNAL).exists()


def test_an_end_in_the_middle_is_gone_on_with(tmp_path: Path) -> None:
    log: list[str] = []
    sides = [Player("A", log), Player("B", log, ends={2: KeyboardInterrupt()})]
    runs = bench(sides, problems(4, 5, 6), tmp_path, OPTIONS)
    assert [r.manifest.state for r in runs] == ["interrupted"] * 2
    assert [r.manifest.results["cases"] for r in runs] == [2, 1]
    assert [r.manifest.results["cases_left"] for r in runs] == [1, 2]
    assert [len(rows(r, "timings")) for r in runs] == [2, 1]
    assert [journal(r.folder) for r in runs] == [names(4, 5), names(4)]
    with pytest.raises(UsageError, match="holds a run that is not finished") as caught:
        bench([Player("A", log), Player("B", log)], problems(4, 5, 6), tmp_path, OPTIONS)
    assert "--resume" in caught.value.hint
    log.clear()
    ticks: list[tuple[int, int]] = []
    again = [Player("A", log), Player("B", log)]
    runs = bench(
        again, problems(4, 5, 6), tmp_path, OPTIONS, resume=True,
        progress=lambda _, *at: ticks.append(at),
    )  # fmt: skip
    # Nothing twice, nothing left out; the order of turns is as before.
    assert log == [f"{side} {names(n)[0]}" for side, n in (("B", 5), ("A", 6), ("B", 6))]
    assert ticks == [(n, 6) for n in (3, 4, 5, 6)]
    assert [r.manifest.state for r in runs] == ["complete"] * 2
    assert [[r["name"] for r in rows(run, "timings")] for run in runs] == [names(4, 5, 6)] * 2
    # B's first case of this run is the problem 5.
    assert [r["median_s"] for r in rows(runs[1], "timings")] == [1.0, 1.0, 2.0]


def test_a_journal_with_a_torn_tail(tmp_path: Path) -> None:
    log: list[str] = []
    with pytest.raises(RuntimeError):  # a defect of ours ends it as a kill does: no tables
        bench([Player("A", log, ends={3: RuntimeError()})], problems(4, 5, 6), tmp_path, OPTIONS)
    folder = tmp_path / "A"
    assert read_manifest(folder).state == "running"
    assert not (folder / "timings.parquet").exists()
    data = (folder / JOURNAL).read_bytes()
    (folder / JOURNAL).write_bytes(data[: data.rindex(b'{"case"') + 40])
    log.clear()
    (run,) = bench([Player("A", log)], problems(4, 5, 6), tmp_path, OPTIONS, resume=True)
    assert log == [f"A {n}" for n in names(5, 6)]
    assert [r["name"] for r in rows(run, "timings")] == names(4, 5, 6)


def test_a_side_that_cannot_go_on_ends_the_bench_and_keeps_what_there_is(tmp_path: Path) -> None:
    log: list[str] = []
    sides = [Player("A", log), Player("B", log, ends={2: HarnessError("B is broken")})]
    with pytest.raises(HarnessError, match="B is broken"):
        bench(sides, problems(4, 5, 6), tmp_path, OPTIONS)
    for name, done in (("A", 2), ("B", 1)):
        manifest = read_manifest(tmp_path / name)
        assert (manifest.state, manifest.results["cases"]) == ("stopped", done)
        assert "B is broken" in manifest.notes
    runs = bench(
        [Player("A", log), Player("B", log)], problems(4, 5, 6), tmp_path, OPTIONS, resume=True
    )
    assert [(r.manifest.state, r.manifest.notes) for r in runs] == [("complete", [])] * 2


def test_a_complete_folder_is_left_as_it_is(tmp_path: Path) -> None:
    log: list[str] = []
    (first,) = bench([Player("A", log)], problems(4), tmp_path, OPTIONS)
    log.clear()
    (again,) = bench([Player("A", log)], problems(4), tmp_path, OPTIONS)
    assert (first.old, again.old, log) == (False, True, [])
    assert again.manifest == first.manifest


def test_a_side_that_is_added_is_timed_beside_what_is_there(tmp_path: Path) -> None:
    log: list[str] = []
    bench([Player("A", log)], problems(4), tmp_path, OPTIONS)
    log.clear()
    runs = bench([Player("A", log), Player("B", log)], problems(4), tmp_path, OPTIONS)
    assert log == [f"B {names(4)[0]}"]
    assert [r.old for r in runs] == [True, False]


def refused(call: Callable[[], Any]) -> UsageError:
    with pytest.raises(UsageError) as caught:
        call()
    return caught.value


def test_folders_that_are_of_something_else(tmp_path: Path) -> None:
    def go(folder: Path, *hidden: int, options: BenchOptions = OPTIONS, **side: Any) -> Any:
        return bench([Player("A", [], **side)], problems(*hidden), folder, options, resume=True)

    go(tmp_path, 4)
    path = tmp_path / "A/run.json"
    manifest = json.loads(path.read_text())
    other = BenchOptions(OPTIONS.passes, OPTIONS.modes, StoppingRule(3))
    for changed in (
        lambda: go(tmp_path, 4, 5),
        lambda: go(tmp_path, 4, options=other),
        lambda: go(tmp_path, 4, path="/y/libcudnn.so.9"),
        lambda: go(tmp_path, 4, device_name="Other"),
    ):
        error = refused(changed)
        assert "holds another run" in error.message
        assert "give another --out" in error.hint
    path.write_text(json.dumps({**manifest, "kind": "stages"}))
    assert "holds another run" in refused(lambda: go(tmp_path, 4)).message
    path.write_text(json.dumps({**manifest, "schema_version": SCHEMA_VERSION + 1}))
    assert "written by a newer pyharness" in refused(lambda: go(tmp_path, 4)).message
    path.write_text("{")
    assert "cannot be read" in refused(lambda: go(tmp_path, 4)).message
    # a folder that is one run's, of whatever kind; one with other files; a file
    assert "is the folder of a single run" in refused(lambda: go(tmp_path / "A", 4)).message
    (tmp_path / "mine/A").mkdir(parents=True)
    (tmp_path / "mine/A/thesis.txt").touch()
    assert "is not empty" in refused(lambda: go(tmp_path / "mine", 4)).message
    (tmp_path / "file").touch()
    assert "cannot be used as a folder" in refused(lambda: go(tmp_path / "file", 4)).message


def test_a_run_that_did_not_come_to_a_first_case_needs_no_resume(tmp_path: Path) -> None:
    (tmp_path / "B").mkdir()
    (tmp_path / "B/thesis.txt").touch()
    sides = [Player("A", []), Player("B", [])]
    assert "is not empty" in refused(lambda: bench(sides, problems(4), tmp_path, OPTIONS)).message
    assert read_manifest(tmp_path / "A").state == "running"
    (run,) = bench([Player("A", [])], problems(4), tmp_path, OPTIONS)
    assert run.manifest.state == "complete"


def test_a_newer_journal(tmp_path: Path) -> None:
    bench([Player("A", [], ends={1: KeyboardInterrupt()})], problems(4), tmp_path, OPTIONS)
    path = tmp_path / "A" / JOURNAL
    header = json.loads(path.read_bytes().splitlines()[0])
    path.write_text(json.dumps({**header, "schema_version": SCHEMA_VERSION + 1}) + "\n")
    error = refused(lambda: bench([Player("A", [])], problems(4), tmp_path, OPTIONS, resume=True))
    assert "written by a newer pyharness" in error.message


def test_passes_that_no_problem_has(tmp_path: Path) -> None:
    chosen = problems(4)
    only = tuple(
        NamedProblem(p.name, p.group, p.problem, ("forward_inference",)) for p in chosen.problems
    )
    options = BenchOptions(passes=("training_step",))
    error = refused(
        lambda: bench([Player("A", [])], ProblemSet("server", "", only), tmp_path / "o", options)
    )
    assert error.message == "no problem of server is timed with --passes training_step"
    assert error.hint == "they have forward_inference"
    assert not (tmp_path / "o").exists()


def test_sides_of_one_name_are_told_apart(tmp_path: Path) -> None:
    log: list[str] = []
    # What would be one folder's name is told apart too.
    sides = [Player("9.1.0", log, path=path) for path in ("/a/b/l.so", "/a-b/l.so", "/ab/l.so")]
    runs = bench([*sides, Player("9.2.0", log)], problems(4), tmp_path, OPTIONS)
    assert [s.side.release for s in sides] == [
        f"9.1.0 {path}" for path in ("/a/b/l.so", "/a-b/l.so", "/ab/l.so")
    ]
    assert len({r.folder for r in runs}) == 4
    assert runs[3].folder.name == "9.2.0"
    for run, side in zip(runs, sides, strict=False):
        assert {r["release"] for r in rows(run, "timings")} == {side.side.release}
        assert run.manifest.release["name"] == side.side.release
    error = refused(lambda: tell_apart([Player("A", log), Player("A", log)]))
    assert "A /x/libcudnn.so.9 is given twice" in error.message


def test_a_folder_for_each_name_and_time() -> None:
    folder = new_folder("seq_lengths=[3,1] /x/ü")
    assert folder.parts[:2] == ("results", "bench")
    assert folder.name.endswith("-seq-lengths=-3-1-x")


# Records


def whole() -> TimedCase:
    reading = Reading(1.5e9 + 1 / 3, 1_980_000_000, None, 35, 70.125, 0x41)
    refused = StageResult("backward_data", "c", "BAD_PARAM", 2000, "unsupported", "why", "emulated")
    timing = timed("forward_training", 1 / 3e5, 1e-17, mode="graph")
    timing.chunks.append(Chunk((2 / 3,), 0x40, None))
    timing.readings += [reading]
    stages = CaseResult((PASSED, refused), {"x": 2**40}, 5, 4)
    return TimedCase(
        stages,
        (timing, Timing("backward_data", "cold", refused)),
        Peak(1e15 / 3, None, "no copy"),
        (("forward_training", "standard"),),
        ("biases are added", "ü"),
    )


def test_a_case_comes_back_from_its_record_bit_for_bit() -> None:
    for case in (whole(), TimedCase(None, ())):
        assert case_from(json.loads(json.dumps(record(case), allow_nan=False))) == case


class One(Player):
    """A side with one case that is given."""

    case: TimedCase

    def cases(self, problems: Sequence[NamedProblem]) -> Generator[TimedCase]:
        yield from [self.case] * len(problems)


def timings(tmp_path: Path, case: TimedCase) -> list[dict[str, Any]]:
    side = One("A", [])
    side.case = case
    (run,) = bench([side], problems(4), tmp_path / "out", BenchOptions())
    return rows(run, "timings")


def test_what_is_not_known_is_null(tmp_path: Path) -> None:
    one, two = timings(tmp_path, whole())
    # A chunk of two samples counts, one of one sample was throttled: too few for an interval.
    assert (one["n"], one["throttled"], one["throttle_reasons"]) == (2, 1, "hw_thermal_slowdown")
    assert one["median_s"] == pytest.approx((1 / 3e5 + 1e-17) / 2)
    assert (one["median_low_s"], one["memory_clock_hz"], one["peak_bytes_per_s"]) == (None,) * 3
    assert (one["sm_clock_hz"], one["temperature_c"], one["power_w"]) == (1.98e9, 35, 70.125)
    assert one["of_peak_flop"] == pytest.approx(one["flop_per_s"] / (1e15 / 3))
    assert (one["algo_chosen"], one["notes"]) == ("standard", "biases are added; ü")
    assert (two["status"], two["status_code"], two["reason"]) == ("BAD_PARAM", 2000, "why")
    measured = ("n", "throttled", "stop", "median_s", "mean_s", "elapsed_s", "flops", "trend")
    assert {two[name] for name in measured} == {None}


def test_a_row_that_failed_has_its_samples_and_no_statistics(tmp_path: Path) -> None:
    failed = timed("forward_inference", *[1e-5] * 20, outcome="failed")
    (row,) = timings(tmp_path, TimedCase(None, (failed,)))
    assert (row["outcome"], row["n"], row["median_s"]) == ("failed", 20, None)
    manifest = read_manifest(tmp_path / "out/A")
    assert manifest.results["failures"] == [
        {"stage": "forward_inference hot", "call": "call", "problem": names(4)[0],
         "cause": "SUCCESS", "output": ""}
    ]  # fmt: skip
    samples = pq.read_table(tmp_path / "out/A/samples.parquet").to_pylist()
    assert [(s["order"], s["time_s"]) for s in samples] == [(n, 1e-5) for n in range(20)]


def test_rates_are_work_over_the_median(tmp_path: Path) -> None:
    case = TimedCase(None, (timed("forward_inference", *[1e-3] * 9),), Peak(1e12, 1e11, ""))
    (row,) = timings(tmp_path, case)
    assert row["flop_per_s"] == pytest.approx(row["flops"] / 1e-3)
    assert row["of_peak_flop"] == pytest.approx(row["flops"] / 1e-3 / 1e12)
    assert row["of_peak_bytes"] == pytest.approx(row["traffic_bytes"] / 1e-3 / 1e11)
    (enqueue,) = timings(
        tmp_path / "e", TimedCase(None, (timed("forward_inference", 1e-6, mode="enqueue"),))
    )
    assert enqueue["flop_per_s"] is None  # the host calculates nothing
    assert enqueue["median_s"] == 1e-6


def test_the_rule_and_why_there_is_no_peak_are_on_record(tmp_path: Path) -> None:
    side = One("A", [], notes=["a note"])
    side.case = TimedCase(None, (timed("forward_inference", 1.0),), Peak(None, None, "no CuPy"))
    (run,) = bench([side], problems(4, 5), tmp_path, OPTIONS)
    manifest = read_manifest(run.folder)
    assert manifest.notes == ["a note", "the share of the card's peak is not known: no CuPy"]
    assert manifest.space["timing"]["rule"]["relative_error"] == 0.005
    assert manifest.space["timing"]["rule_name"] == StoppingRule().name
    assert manifest.space["timing"]["modes"] == ["hot"]


def test_the_passes_of_a_problem_are_those_of_its_set() -> None:
    (one,) = problems(4).problems
    assert BenchOptions().passes_of(one) == (*PASSES, "training_step")
    server = NamedProblem("x", "server", one.problem, ("forward_inference",))
    assert BenchOptions().passes_of(server) == ("forward_inference",)
    no_weights = NamedProblem("x", "g", one.problem, PASSES[:3])
    assert BenchOptions().passes_of(no_weights) == PASSES[:3]
