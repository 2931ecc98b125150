"""Weighing: by formula with a real release's refusals, and by a device whose sizes are known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pyharness.analyze.memory import Memory
from pyharness.api.scales import Scales, Wanted, footprint_of
from pyharness.api.weighing import Wishes, weigh
from pyharness.errors import HarnessError, UsageError
from pyharness.releases import Release
from pyharness.spec.device_facts import DeviceFacts
from pyharness.spec.footprint import MODES, Footprint, predict
from pyharness.spec.problem import Problem, parse_problem
from pyharness.spec.stage_results import CaseResult, StageResult

Cudnn = Callable[[str], Release]
FACTS = DeviceFacts("card", "9.0", 1 << 30, 108, 1 << 25, "0000:01:00.0", 12080, emulated=False)
FREE = 900 << 20  # of it; the rest is in use


def problem(words: str) -> Problem:
    return parse_problem(words.split())


def stage(outcome: str, status: str | None, reason: str | None) -> StageResult:
    call = "cudnnGetRNNTempSpaceSizes"
    return StageResult("sizes", call, status, 0, outcome, reason, "observed")  # type: ignore[arg-type]


class Card:
    """A device that asks for twice the formula's reserve space, and more at odd batch sizes."""

    def __init__(self, log: list[str], reserve: int = 2) -> None:
        self.facts = FACTS
        self._reserve = reserve
        self.broken = False
        self._log = log
        log.append("opened")

    def sizes(self, problem: Problem) -> CaseResult:
        self._log.append(problem.command)
        if problem.value("hidden_size") == 13:
            self.broken = True
            return CaseResult((stage("failed", None, "the worker ended: signal 11"),))
        if problem.value("algo"):
            return CaseResult((stage("unsupported", "NOT_SUPPORTED", "algo"),))
        passed = (stage("passed", "SUCCESS", None),)
        return CaseResult(passed, told(problem, self._reserve), free_bytes=FREE)

    def close(self) -> None:
        self._log.append("closed")


def told(problem: Problem, reserve: int = 2) -> dict[str, int]:
    """What the card says; ``reserve``: its reserve space, in those of the formula."""
    trained, inferred = predict(problem, "training"), predict(problem, "inference")
    odd = (problem.value("batch_size") % 2) * (64 << 20)
    sizes = dict.fromkeys(("x", "y", "hx", "cx"), inferred.tensor // 4)
    return {
        "weight_space_bytes": trained.weight_space + 256,
        "workspace_bytes.forward_inference": inferred.workspace,
        "workspace_bytes.forward_training": trained.workspace + odd,
        "reserve_space_bytes": reserve * trained.reserve_space,
        "dropout_states_bytes": 0,
        **sizes,
    }


@pytest.fixture
def log() -> list[str]:
    return []


@pytest.fixture
def card(log: list[str], fake_release: Release) -> Scales:
    return Scales(fake_release, lambda: Card(log))


def weighed(scales: Scales, *words: str, wishes: Wishes | None = None) -> Memory:
    with scales:
        return weigh([Wanted(problem(w)) for w in words], scales, wishes or Wishes())


def test_what_the_card_says_counts_and_the_formula_is_judged(card: Scales, log: list[str]) -> None:
    words = "batch_size=2 max_seq_length=100", "batch_size=4 max_seq_length=100"
    found = weighed(card, *words)
    assert log == ["opened", *words, "closed"]  # once for both forward modes
    assert (found.release, found.device) == ("9.13.0.50+cu12", FACTS)
    inference, training = found.rows[:2]
    assert [r.mode for r in found.rows] == [*MODES, *MODES]
    assert {(r.provenance, r.outcome, r.free_bytes) for r in found.rows} == {
        ("observed", "passed", FREE)
    }
    ours = predict(problem(words[0]), "training")
    assert training.predicted == ours
    assert training.observed is not None
    assert training.observed.reserve_space == 2 * ours.reserve_space
    assert training.errors["reserve_space"] == -0.5
    assert training.errors["weight_space"] == pytest.approx(-256 / (ours.weight_space + 256))
    assert inference.errors["workspace"] == 0
    assert inference.errors["reserve_space"] is None
    assert training.total == training.observed.total


def test_the_parts_of_what_a_plan_is_told() -> None:
    sizes = {
        "weight_space_bytes": 100,
        "workspace_bytes.forward_inference": 20,
        "workspace_bytes.forward_training": 30,
        "reserve_space_bytes": 7,
        "dropout_states_bytes": 5,
        **dict.fromkeys(("x", "y", "hx", "hy", "cx", "cy"), 1),
        **dict.fromkeys(("dx", "dy", "dhx", "dhy", "dcx", "dcy"), 1),
    }
    assert footprint_of(sizes, "inference") == Footprint(100, 20, 0, 6, 5)
    assert footprint_of(sizes, "training") == Footprint(100, 30, 7, 6 + 6 + 100, 5)


def test_what_the_device_cannot_hold_is_a_row_and_the_rest_goes_on(card: Scales) -> None:
    big, small = "batch_size=8 hidden_size=1024 max_seq_length=2400", "batch_size=2"
    rows = weighed(card, big, small).rows
    assert [r.outcome for r in rows] == ["passed", "out_of_memory", "passed", "passed"]
    sizes = footprint_of(told(problem(big)), "training")
    assert FREE < sizes.total < FACTS.memory_bytes
    assert rows[1].asked_bytes == sizes.total
    assert rows[1].free_bytes == FREE
    assert rows[0].asked_bytes is None


def test_a_refusal_and_a_death_are_rows_and_the_next_has_a_new_worker(
    card: Scales, log: list[str]
) -> None:
    rows = weighed(card, "hidden_size=13", "algo=persist_static", "batch_size=2").rows
    assert log.count("opened") == log.count("closed") == 2
    assert [(r.outcome, r.status, r.reason) for r in rows[::2]] == [
        ("failed", None, "the worker ended: signal 11"),
        ("unsupported", "NOT_SUPPORTED", "algo"),
        ("passed", None, None),
    ]
    assert rows[2].call == "cudnnGetRNNTempSpaceSizes"
    assert [r.total is None for r in rows] == [True] * 4 + [False] * 2


def test_each_problem_is_weighed_in_its_own_modes(card: Scales) -> None:
    wanted = [
        Wanted(problem("batch_size=2"), ("inference",), "served"),
        Wanted(problem("batch_size=4"), ("training",), "trained"),
        Wanted(problem("batch_size=6")),
    ]
    with card:
        found = weigh(wanted, card, Wishes(400 << 20, "max_seq_length", advice=True))
    assert [(r.order, r.mode, r.name) for r in found.rows] == [
        (0, "inference", "served"),
        (1, "training", "trained"),
        (2, "inference", None),
        (2, "training", None),
    ]
    assert [(f.order, f.mode) for f in found.fits] == [
        (0, "inference"),
        *((n, "training") for n in (1, 2)),
    ]
    assert {c.mode for c in found.advice[0]} == {"inference"}
    assert {c.mode for c in found.advice[1]} == {"inference", "training"}


BREAKS, WELL = "hidden_size=13", "batch_size=2"


def test_a_release_that_breaks_every_worker_is_given_up(card: Scales, log: list[str]) -> None:
    with pytest.raises(HarnessError, match=r"first 8 problems all broke .*: signal 11"):
        weighed(card, *(f"{BREAKS} batch_size={n}" for n in range(1, 100)))
    assert log.count("opened") == log.count("closed") == 8


def test_after_something_went_well_the_rest_of_a_bad_row_is_not_tried(
    card: Scales, log: list[str]
) -> None:
    rows = weighed(card, WELL, *(f"{BREAKS} batch_size={n}" for n in range(1, 60)), WELL).rows
    assert log.count("opened") == log.count("closed") == 50
    assert [r.outcome for r in rows[::2]] == [
        "passed",
        *["failed"] * 50,
        *["skipped"] * 9,
        "passed",  # known already
    ]
    assert rows[-4].reason == "not tried: 50 problems in a row broke their worker"


@pytest.mark.parametrize("limit", [1 << 20, 70 << 20, 150 << 20])
@pytest.mark.parametrize("reserve", [0, 2])  # less than the formula says, and more
def test_what_fits_a_card_whose_sizes_rise_and_fall(
    log: list[str], fake_release: Release, limit: int, reserve: int
) -> None:
    words = "hidden_size=128 max_seq_length=400"
    scales = Scales(fake_release, lambda: Card(log, reserve))
    (fit,) = weighed(scales, words, wishes=Wishes(limit, "batch_size")).fits

    def total(batch: int) -> int:
        asked = Problem({**problem(words).given, "batch_size": str(batch)})
        return footprint_of(told(asked, reserve), "training").total

    best = max((b for b in range(1, 700) if total(b) <= limit), default=None)
    assert best is None or best < 690
    assert fit.found.value == best
    assert fit.found.proven
    if best is not None:
        assert total(best) == fit.found.size
        assert total(best + 1) == fit.found.beyond
        assert best % 2 == 0  # a neighbour asks for 64 MiB more


def test_growth_of_one_problem_is_looked_for_and_of_several_is_read(
    card: Scales, log: list[str]
) -> None:
    found = weighed(card, "batch_size=2 max_seq_length=40000 seq_lengths=equal")
    of = {(g.axis, g.mode, g.part): g for g in found.growth}
    reserve = of["max_seq_length", "training", "reserve_space"]
    assert reserve.exponent == pytest.approx(1)
    assert (reserve.first, reserve.last) == (10_000, 40_000)  # above are none
    assert of["hidden_size", "training", "reserve_space"].exponent == pytest.approx(1)
    assert {m for _, m, _ in of} == set(MODES)
    assert len(log) == 2 + 1 + 5 * 2


def test_advice_saves_what_it_says_and_none_is_refused(card: Scales) -> None:
    words = "batch_size=64 hidden_size=256 max_seq_length=1000 num_layers=2"
    found = weighed(card, words, wishes=Wishes(300 << 20, None, advice=True))
    before = footprint_of(told(problem(words)), "training").total
    advice = found.advice[0]
    for change in advice:
        after = Problem({**problem(words).given, **change.changes})
        total = footprint_of(told(after), change.mode).total
        assert (change.total, change.saved) == (total, before - total)
        assert change.saved > 0
        assert change.fits == (total <= 300 << 20)
    said = {" ".join(c.changes) or c.mode for c in advice}
    assert said == {
        "batch_size",
        "inference",
        "data_type math_prec",
        "max_seq_length",
        "num_layers",
        "proj_size",
        "hidden_size",
    }  # and no algo: this card refuses the others
    by_axis = {" ".join(c.changes): c for c in advice}
    assert by_axis["batch_size"].fits  # the largest that fits, not half
    assert by_axis["max_seq_length"].fits
    one_more = int(by_axis["batch_size"].changes["batch_size"]) + 1
    above = Problem({**problem(words).given, "batch_size": str(one_more)})
    assert footprint_of(told(above), "training").total > 300 << 20


def test_advice_without_a_limit_goes_by_what_the_card_has(card: Scales) -> None:
    found = weighed(card, "batch_size=64", wishes=Wishes(advice=True))
    assert {"batch_size": "32"} in [c.changes for c in found.advice[0]]
    assert all(c.fits for c in found.advice[0])


# Without a device.


def test_the_formula_alone() -> None:
    found = weighed(Scales(without="none here"), "hidden_size=128", "hidden_size=0")
    assert (found.release, found.device, found.without) == (None, None, "none here")
    assert [r.outcome for r in found.rows] == ["passed", "passed", "skipped", "skipped"]
    assert {r.provenance for r in found.rows} == {"predicted"}
    assert found.rows[1].total == predict(problem("hidden_size=128"), "training").total
    assert found.rows[2].reason == "hidden_size=0 is no size"
    assert set(found.rows[0].errors.values()) == {None}


def test_a_release_refuses_what_its_host_calls_refuse(cudnn: Cudnn) -> None:
    scales = Scales(cudnn("9.28.0.42"))
    rows = weighed(scales, "max_seq_length=65536", "hidden_size=128", "hidden_size=0").rows
    assert [(r.outcome, r.status) for r in rows[::2]] == [
        ("unsupported", "NOT_SUPPORTED"),
        ("passed", None),
        ("unsupported", "BAD_PARAM"),
    ]
    assert rows[0].call == "cudnnSetRNNDataDescriptor"
    assert rows[0].predicted is not None  # it is known all the same
    assert rows[0].total is None


@pytest.mark.parametrize(("release", "taken"), [("9.12.0.46", False), ("9.28.0.42", True)])
def test_only_changes_that_the_release_takes_are_advised(
    cudnn: Cudnn, release: str, taken: bool
) -> None:
    found = weighed(Scales(cudnn(release)), "batch_size=64", wishes=Wishes(advice=True))
    types = [c.changes["data_type"] for c in found.advice[0] if "data_type" in c.changes]
    assert types == (["half", "bfloat16"] if taken else ["half"])
    assert not [c for c in found.advice[0] if "algo" in c.changes]  # the formula knows no algo


def test_a_release_bounds_what_fits(cudnn: Cudnn) -> None:
    words = "hidden_size=8 input_size=8 batch_size=1"
    found = weighed(Scales(cudnn("9.28.0.42")), words, wishes=Wishes(1 << 40, "max_seq_length"))
    assert (found.fits[0].found.value, found.fits[0].found.limited_by) == (65_535, "range")


def test_listed_lengths_fit_at_most_as_many_and_the_longest_first() -> None:
    words = "seq_lengths=[9,5,7,3] hidden_size=64 layout=seq_major_unpacked"
    limit = predict(problem("seq_lengths=[9,7] max_seq_length=9 hidden_size=64"), "training").total
    found = weighed(Scales(), words, wishes=Wishes(limit, "batch_size")).fits[0].found
    assert (found.value, found.size) == (2, limit)
    assert weighed(Scales(), words, wishes=Wishes(1 << 40, "batch_size")).fits[0].found.value == 4


@pytest.mark.parametrize("axis", ["batch_size", "max_seq_length"])
def test_a_long_list_of_lengths_can_be_cut(axis: str) -> None:
    lengths = ",".join(str(n) for n in range(40, 0, -1))
    others = "layout=seq_major_packed hidden_size=64"
    first = ",".join(str(n) for n in range(40, 10, -1))  # 30 rows
    lower = ",".join(str(min(n, 30)) for n in range(40, 0, -1))  # 30 steps
    kept = first if axis == "batch_size" else lower
    limit = predict(problem(f"{others} seq_lengths=[{kept}]"), "training").total
    whole = f"{others} seq_lengths=[{lengths}]"
    fit = weighed(Scales(), whole, wishes=Wishes(limit, axis)).fits[0].found
    assert (fit.value, fit.size, fit.proven) == (30, limit, True)


@pytest.mark.parametrize(
    ("words", "axis", "limit"),
    [
        ("hidden_size=512 max_seq_length=100", "batch_size", 5 << 30),
        ("hidden_size=512 batch_size=64", "max_seq_length", 5 << 30),
        ("batch_size=64 max_seq_length=100", "hidden_size", 5 << 30),
        ("hidden_size=512 batch_size=64", "num_layers", 1 << 30),
        ("hidden_size=512 batch_size=64", "input_size", 1 << 30),
        ("input_mode=skip_input hidden_size=64 batch_size=64", "hidden_size", 1 << 30),
    ],
)
def test_the_formula_fits_this_and_not_one_more(words: str, axis: str, limit: int) -> None:
    with Scales() as scales:
        wanted = [Wanted(problem(words), ("training",))]
        found = weigh(wanted, scales, Wishes(limit, axis)).fits[0].found

    def total(value: int) -> int:
        given = {**problem(words).given, axis: str(value)}
        if "skip_input" in words:
            given["input_size"] = str(value)
        return predict(Problem(given), "training").total

    assert found.value is not None
    assert total(found.value) == found.size
    assert found.size is not None
    assert found.size <= limit < total(found.value + 1)
    assert found.beyond == total(found.value + 1)
    assert found.proven


@pytest.mark.parametrize(
    ("vary", "words", "said"),
    [
        ("algo", ["batch_size=8"], "--vary algo is no axis"),
        ("batchsize", ["batch_size=8"], "--vary batchsize is no axis"),
        ("batch_size", ["batch_size=8", "batch_size=9"], "--vary batch_size looks for its largest"),
    ],
)
def test_wishes_that_cannot_be_met(vary: str, words: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Wishes(1, vary).check([problem(w) for w in words])
    Wishes(1, "batch_size").check([problem("hidden_size=8"), problem("hidden_size=9")])


def test_a_file_that_is_no_cudnn(tmp_path: Path) -> None:
    path = tmp_path / "libcudnn.so"
    path.write_text("no library")
    with pytest.raises(UsageError):
        weighed(Scales(Release("9.13.0.50", 12, path, "path")), "batch_size=8")
