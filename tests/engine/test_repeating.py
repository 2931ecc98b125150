"""Conditions: each sees what it changes, and takes nothing of another's for its own."""

from __future__ import annotations

import tracemalloc
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from pyharness.device.launch import runner_command
from pyharness.engine import repeating
from pyharness.engine.process import Launch
from pyharness.engine.repeating import repeat
from pyharness.engine.repeating_apart import cublas_workspace, fresh_process
from pyharness.engine.repeats import STEADY_BYTE, Event, NotTried, Repeats, Seen, Start, sha
from pyharness.engine.runner import Runner
from pyharness.engine.workbench import Workbench
from pyharness.releases import Release
from pyharness.spec.differences import Difference
from pyharness.spec.problem import parse_problem
from pyharness.spec.repeatability import (
    BETWEEN_PROCESSES,
    CONDITIONS,
    CUBLAS_VARIABLE,
    OF_PARTS,
)
from pyharness.spec.stages import PASSES
from tests.emulator.build import EmulatedRelease

RELEASE = "9.28.0.42"
SMALL = (
    "hidden_size=8 input_size=4 batch_size=3 max_seq_length=4 cell_mode=lstm seq_lengths=[4,3,2]"
)
DROPPING = f"{SMALL} num_layers=2 dropout_rate=0.5"
FORWARD = {"y", "hy", "cy"}
ALL = {*FORWARD, "dx", "dhx", "dcx", "dw"}
Ask = Callable[..., list[Event]]


@pytest.fixture
def starter(
    emulator: Callable[..., EmulatedRelease], cudnn: Callable[[str], Release]
) -> Iterator[Callable[..., Start]]:
    """Starts processes on an emulator with these settings; none may break its rules."""
    releases: list[EmulatedRelease] = []

    def made(**settings: object) -> Start:
        release = emulator(cudnn(RELEASE).path, **settings)
        releases.append(release)

        def start(env: Mapping[str, str | None]) -> Runner:
            variables = (*release.env.items(), *env.items())
            launch = Launch(runner_command(), str(release.cudnn), variables)
            return Runner(launch, str(release.libcuda), 0, 20)

        return start

    yield made
    assert [v for release in releases for v in release.violations] == []


@pytest.fixture
def ask(starter: Callable[..., Start]) -> Ask:
    """What the conditions say of problems that one process has in turn."""

    def asked(
        words: str | Sequence[str],
        conditions: Sequence[str],
        runs: int = 2,
        passes: Sequence[str] = PASSES[1:],
        **settings: object,
    ) -> list[Event]:
        start = starter(**settings)
        events: list[Event] = []
        with start({}) as runner:
            for one in [words] if isinstance(words, str) else words:
                problem = parse_problem(one.split())
                events += repeat(Workbench(runner), problem, passes, conditions, runs, start)
        return events

    return asked


def counted(events: Sequence[Event]) -> list[Seen]:
    """What was seen and counts."""
    found: list[Seen] = []
    for event in events:
        if isinstance(event, Seen):
            found.append(event)
        elif event.void:
            void = (event.condition, event.tensor)
            found = [seen for seen in found if (seen.condition, seen.tensor) != void]
    return found


def differing(events: Sequence[Event]) -> dict[str, set[str]]:
    """The tensors that differ, by condition."""
    found: dict[str, set[str]] = {}
    for event in counted(events):
        if event.difference is not None:
            found.setdefault(event.condition, set()).add(event.tensor)
    return found


def refused(events: Sequence[Event]) -> dict[tuple[str, str | None], str]:
    """Why something was not tried, by condition and tensor."""
    return {(e.condition, e.tensor): e.why for e in events if isinstance(e, NotTried)}


@pytest.mark.parametrize(
    ("fault", "own", "others", "tensors"),
    [
        ("order_alignment", "alignment", ("same_objects", "batch", "load"), ALL),
        ("order_batch", "batch", ("same_objects", "longer_padding", "alignment"), ALL - {"dw"}),
        ("order_padding", "padding_garbage", ("longer_padding", "batch"), ALL),
        ("padding_read", "padding_garbage", ("longer_padding", "batch"), ALL),
        ("order_load", "load", ("same_objects", "graph"), ALL),
        ("order_stream", "other_stream", ("fresh_handle", "load", "poisoned"), ALL),
        ("order_workspace", "poisoned", ("same_objects", "alignment", "batch"), ALL),
        ("order_graph", "graph", ("same_objects", "other_stream"), ALL),
    ],
)
def test_what_a_result_depends_on_is_found_under_its_condition_alone(
    ask: Ask, fault: str, own: str, others: tuple[str, ...], tensors: set[str]
) -> None:
    assert differing(ask(SMALL, (own, *others), wrong=fault)) == {own: tensors}


def test_a_fresh_handle_is_told_from_the_stream_that_comes_with_it(ask: Ask) -> None:
    events = ask(SMALL, ("fresh_handle", "other_stream"), wrong="order_stream")
    why = "the fresh stream that a fresh handle brings is enough: see other_stream"
    assert refused(events) == {("fresh_handle", tensor): why for tensor in ALL}
    unasked = ask(SMALL, ("fresh_handle",), wrong="order_stream")
    assert differing(unasked) == {"fresh_handle": ALL}
    # Handles that a problem before has made are none of the next one's business.
    chosen = ("fresh_handle", "fresh_process", "other_stream", "load")
    again = ask([SMALL, f"{SMALL} num_layers=2"], chosen, wrong="order_handle")
    assert differing(again) == {"fresh_handle": ALL}
    assert refused(again) == {}


def test_processes_that_differ_are_not_laid_to_a_setting(ask: Ask) -> None:
    chosen = ("same_objects", "fresh_process", "cublas_workspace", "batch")
    events = ask(SMALL, chosen, wrong="order_process")
    assert set(differing(events)) == {"fresh_process"}
    assert differing(events)["fresh_process"] >= {"y", "dw"}
    why = refused(events)["cublas_workspace", "dw"]
    assert why.startswith("runs of one setting differ")
    assert "see fresh_process" in why


def test_a_setting_that_matters_is_found_by_six_processes_of_each(ask: Ask) -> None:
    events = ask(SMALL, ("same_objects", "cublas_workspace"), runs=3, wrong="order_cublas")
    assert differing(events) == {"cublas_workspace": ALL}
    own = [e for e in events if isinstance(e, Seen) and e.condition == "cublas_workspace"]
    of_y = [e for e in own if e.tensor == "y"]
    assert len({e.process for e in of_y}) == 3 * (2 + 4)
    assert len(of_y) == 3 * (3 + 4)
    assert {e.difference is None for e in of_y if e.variant == f"{CUBLAS_VARIABLE} unset"} == {True}


def test_dropout_that_is_not_seeded_anew_shows_where_it_is_asked_to(ask: Ask) -> None:
    chosen = ("same_objects", "fresh_handle", "poisoned", "dropout_reseeded", "dropout_continued")
    by_design = {"dropout_continued": ALL}
    assert differing(ask(DROPPING, chosen)) == by_design
    # A capture moves the states on, too: they are remembered before.
    assert differing(ask(DROPPING, ("graph", "dropout_reseeded"))) == {}
    stale = differing(ask(DROPPING, chosen, wrong="stale_dropout"))
    assert stale == {"dropout_reseeded": ALL, **by_design}


def test_before_a_run_all_that_is_no_input_is_as_before_every_other(
    starter: Callable[..., Start],
) -> None:
    start, problem = starter(), parse_problem(DROPPING.split())
    with start({}) as runner:
        bench = Workbench(runner)
        assert bench.open(problem).complete
        repeats = Repeats(bench, problem, PASSES[1:], 1, start)
        repeats.begun()
        spaces, outputs = ("workspace", "reserve_space"), sorted(ALL - {"dw"})
        states = bench.read("dropout_states")
        for byte in (STEADY_BYTE, 0x5A):
            repeats.once()
            assert bench.read("dropout_states") != states
            left = [bench.read(name) for name in spaces]
            repeats.settle(None)
            assert [bench.read(name) for name in spaces] == left
            repeats.settle(byte)
            assert {bench.read(name).strip(bytes([byte])) for name in spaces} == {b""}
            assert {bench.read(n).strip(bytes([STEADY_BYTE])) for n in outputs} == {b""}
        repeats.once()
        first = repeats.held(("y", "dw"))
        repeats.once(states=False)
        assert repeats.held(("y",))["y"] != first["y"]
        repeats.once()
        assert repeats.held(("y", "dw")) == first


def test_what_a_run_leaves_unwritten_differs(ask: Ask) -> None:
    # The third forward pass is the second run that is compared.
    events = ask(SMALL, ("same_objects",), fault="unwritten:hy@cudnnRNNForward:3")
    assert differing(events) == {"same_objects": {"hy"}}


def test_what_is_random_is_told_under_same_objects_alone(ask: Ask) -> None:
    # Every run of each process has the flip but for the first one, which all are compared with.
    events = ask(SMALL, ("same_objects", "load", "graph"), fault="flip:hy@cudnnRNNForward:2+")
    assert differing(events) == {"same_objects": {"hy"}}
    unasked = ask(SMALL, ("other_stream",), fault="flip:hy@cudnnRNNForward:2+")
    assert differing(unasked) == {"other_stream": {"hy"}}


# Passes 1 to 3 are of same_objects. Of other_stream 4 and 5 are the run to compare with, 6 and 7
# those that are compared; 8 and 9 are to be compared with those with nothing changed, 10 and 11.
@pytest.mark.parametrize(
    ("flips", "found", "runs"),
    [
        ((7,), {"other_stream": {"hy"}}, (4, 2)),
        ((7, 10), {"same_objects": {"hy"}}, (4, 0)),
        ((7, 8), {"same_objects": {"hy"}}, (5, 0)),  # what 9 says, too
        ((4,), {"same_objects": {"hy"}}, (3, 0)),  # by chance all that follow differ from it
        ((5,), {"same_objects": {"hy"}}, (3, 2)),
        ((2, 7), {"same_objects": {"hy"}}, (2, 0)),  # it was known before
    ],
)
def test_by_chance_is_not_by_condition(
    ask: Ask, flips: Sequence[int], found: dict[str, set[str]], runs: tuple[int, int]
) -> None:
    conditions = ("same_objects", "other_stream")
    events = ask(SMALL, conditions, fault=[f"flip:hy@cudnnRNNForward:{n}" for n in flips])
    assert differing(events) == found
    seen = [(e.condition, e.tensor) for e in counted(events)]
    assert tuple(seen.count((condition, "hy")) for condition in conditions) == runs
    assert [seen.count((condition, "y")) for condition in conditions] == [2, 2]
    why = "runs with nothing changed differ, too: see same_objects"
    assert refused(events) == ({} if runs[1] else {("other_stream", "hy"): why})


def test_garbage_lies_in_the_padding_of_inputs_and_outputs(ask: Ask) -> None:
    filled = ask(f"{SMALL} padding_fill=given", ("padding_garbage",))
    assert differing(filled) == {}
    assert {e.tensor for e in filled} == ALL
    inference = ask(SMALL, ("padding_garbage",), passes=PASSES[:1], wrong="padding_read")
    assert differing(inference) == {"padding_garbage": FORWARD}
    backward = ask(
        f"{SMALL} direction_mode=bidirectional",
        ("padding_garbage", "longer_padding", "same_objects"),
        wrong="reverse_from_padding",
    )
    assert set(differing(backward)) == {"padding_garbage", "longer_padding"}


def test_all_alignments_and_poisons_are_tried_with_few_runs(ask: Ask) -> None:
    events = ask(SMALL, ("alignment", "poisoned"), runs=1)
    variants = {c: [e.variant for e in events if e.condition == c and isinstance(e, Seen)
                    and e.tensor == "y"] for c in ("alignment", "poisoned")}  # fmt: skip
    expected = [f"buffers {16 * i} bytes behind a multiple of 256" for i in range(1, 16)]
    assert variants["alignment"] == expected
    filled = [f"filled with 0x{byte}" for byte in ("FF", "00", "7F", "5A")]
    assert variants["poisoned"] == ["as the run before left it", *filled]


def test_parts_of_a_batch_are_compared_with_themselves(ask: Ask) -> None:
    events = ask(SMALL, ("batch",), runs=2)
    assert differing(events) == {}
    parts = [e.part for e in events if isinstance(e, Seen) and e.tensor == "y"]
    assert parts == [None, None, "sequence 0 alone", "sequence 1 alone"]


@dataclass
class FakeProcess:
    """A process whose result is a byte; that of its first run may be another."""

    result: int
    first: int | None = None
    ran: int = 0
    tensors: tuple[str, ...] = ("y",)
    data_type: str = "float"
    bench: Any = field(init=False)

    def __post_init__(self) -> None:
        self.bench = self

    def once(self) -> None:
        """A run."""
        self.ran += 1

    def read(self, name: str) -> bytes:
        """Four bytes: a float."""
        odd = self.ran == 1 and self.first is not None
        return bytes([self.first if odd and self.first is not None else self.result]) * 4

    def held(self, names: Sequence[str]) -> dict[str, bytes]:
        """The same by name."""
        return {name: self.read(name) for name in names}

    def digest(self, names: Sequence[str]) -> dict[str, str]:
        """Its digests."""
        return {name: sha(self.read(name)) for name in names}


@dataclass
class FakeRepeats:
    """Processes of these results, by setting, in turn."""

    results: Mapping[str | None, Sequence[int]]
    runs: int = 2
    tensors: tuple[str, ...] = ("y",)
    started: dict[str | None, int] = field(default_factory=dict)
    twice: bool = False
    first: int | None = None
    unsteady: set[str] = field(default_factory=set)
    by_chance: list[Seen] = field(default_factory=list)

    def leave(self) -> None:
        """There is no memory to give back."""

    def another(self, env: Mapping[str, str | None]) -> Any:
        """A process of the next result of a setting."""
        setting = env.get(CUBLAS_VARIABLE)
        number = self.started.get(setting, 0)
        self.started[setting] = number + 1
        first = self.first if number == 0 else None

        @contextmanager
        def running() -> Iterator[FakeProcess]:
            yield FakeProcess(self.results[setting][number], first)

        return running()

    def beside(self, process: FakeProcess) -> FakeProcess:
        """The problem in it."""
        return process


def settings(*results: Sequence[int]) -> list[Event]:
    """What is said of processes of these results: unset, :16:8, :4096:2."""
    fake = FakeRepeats(dict(zip((None, ":16:8", ":4096:2"), results, strict=True)))
    return list(cublas_workspace(cast("Repeats", fake), "cublas_workspace"))


def test_a_difference_between_settings_is_asked_about_again() -> None:
    same = settings([1] * 6, [1] * 6, [1] * 6)
    assert len(same) == 6
    assert differing(same) == {}
    of_setting = settings([1] * 6, [2] * 6, [1] * 6)
    assert differing(of_setting) == {"cublas_workspace": {"y"}}
    assert len(of_setting) == 3 * 6
    # The first two of each are as if the setting drew the result; more of them show that none does.
    drawn = settings([1, 1, 1, 2, 1, 1], [2, 2, 2, 2, 2, 2], [1, 1, 1, 1, 1, 1])
    told = drawn[-1]
    assert isinstance(told, NotTried)
    assert (told.tensor, told.failed, told.void) == ("y", False, True)
    assert all(isinstance(e, Seen) for e in drawn[:-1])
    assert "(unset; not :16:8, :4096:2)" in told.why


def test_a_process_is_not_compared_with_a_run_that_came_out_by_chance() -> None:
    for first in (None, 2):
        fake = FakeRepeats({None: [1] * 4}, runs=3, twice=True, first=first)
        seen = list(fresh_process(cast("Repeats", fake), "fresh_process"))
        assert len(seen) == 3
        assert set(differing(seen)) == ({"fresh_process"} if first else set())
        assert fake.unsteady == ({"y"} if first else set())
        chance = [(e.condition, e.tensor, e.difference is None) for e in fake.by_chance]
        assert chance == ([("same_objects", "y", False)] if first else [])
    assert {e.compared_on for e in seen if isinstance(e, Seen)} == {BETWEEN_PROCESSES}


def test_what_is_held_back_does_not_grow_with_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run differs from the first, under a condition and with nothing changed."""

    class Unsteady:
        """Runs that are never alike, of which the events alone take memory."""

        tensors = ("y", "hy")
        asked = tuple(CONDITIONS)
        runs = 0
        twice = False
        by_chance: tuple[Seen, ...] = ()
        unsteady: frozenset[str] = frozenset()

        def begin(self) -> None:
            """Nothing is kept."""

        def once(self) -> None:
            """Nothing is run."""

        def compare_only(
            self, tensors: Sequence[str], condition: str, variant: str | None = None
        ) -> Iterator[Seen]:
            """All differ."""
            for name in tensors:
                yield Seen(condition, name, "0" * 64, Difference(1, 1, 0, 1, 1.0), variant)

    def made(s: Any, condition: str) -> Iterator[Event]:
        for _ in range(s.runs):
            yield from s.compare_only(s.tensors, condition)

    monkeypatch.setitem(repeating._MADE, "graph", made)
    peaks = []
    for runs in (10, 10_000):
        unsteady = Unsteady()
        unsteady.runs = runs
        tracemalloc.start()
        count = sum(1 for _ in repeating._attributed(cast("Repeats", unsteady), "graph"))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert count == 4 * runs
    assert peaks[1] < peaks[0] + 50_000


def test_settings_of_many_runs_are_bounded_too() -> None:
    class Drawn(FakeProcess):
        """A result of its own for each run."""

        def read(self, name: str) -> bytes:
            """Four bytes."""
            return self.ran.to_bytes(4, "little")

    class Drawing(FakeRepeats):
        """Such processes."""

        def another(self, env: Mapping[str, str | None]) -> Any:
            """One."""

            @contextmanager
            def running() -> Iterator[FakeProcess]:
                yield Drawn(0)

            return running()

    peaks = []
    for runs in (10, 4_000):
        tracemalloc.start()
        events = cublas_workspace(cast("Repeats", Drawing({}, runs=runs)), "cublas_workspace")
        last = deque(events, maxlen=1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert isinstance(last[0], NotTried)
        assert last[0].void
    assert peaks[1] < peaks[0] + 50_000


@pytest.mark.parametrize(
    ("layout", "words", "runs", "expected"),
    [
        ("seq_major_packed", "seq_lengths=[4,3,2]", 7, 9),  # 3 times each, as no order is another
        ("seq_major_packed", "seq_lengths=[4,3,3]", 7, 7 + 3),
        ("seq_major_unpacked", "seq_lengths=[4,3,2]", 2, 2 + 2),
    ],
)
def test_a_batch_is_run_as_often_as_it_is_asked_to(
    ask: Ask, layout: str, words: str, runs: int, expected: int
) -> None:
    words = f"{SMALL.rpartition(' ')[0]} {words} layout={layout}"
    events = ask(words, ("batch",), runs)
    assert differing(events) == {}
    own = [e for e in events if isinstance(e, Seen) and e.tensor == "y"]
    assert len(own) == expected
    assert {e.compared_on for e in own} == {OF_PARTS}


def test_a_problem_goes_on_in_another_process(ask: Ask) -> None:
    # The third forward pass of a process, which is the second run under the first condition.
    events = ask(SMALL, ("same_objects", "load"), fault="crash@cudnnRNNForward:3", runs=2)
    failed = {e.condition for e in events if isinstance(e, NotTried) and e.failed}
    assert failed == {"same_objects", "load"}
    assert {e.tensor for e in events if isinstance(e, Seen)} == ALL


@pytest.mark.parametrize("condition", ["graph", "load", "batch", "padding_garbage"])
def test_any_condition_may_follow_one_that_leaves_the_device(ask: Ask, condition: str) -> None:
    events = ask(SMALL, ("fresh_process", condition), runs=1)
    tensors = {e.tensor for e in events if isinstance(e, Seen) and e.condition == condition}
    assert tensors == (ALL - {"dw"} if condition == "batch" else ALL)


def test_problem_that_is_refused_says_so_for_every_condition(ask: Ask) -> None:
    words = f"{SMALL} algo=persist_static proj_size=3"
    events = ask(words, ("same_objects", "batch"))
    assert {e.condition for e in events} == {"same_objects", "batch"}
    assert all(isinstance(e, NotTried) and not e.failed for e in events)
