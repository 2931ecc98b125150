"""Explanations where a device is: on the emulator, whose rules are known (tests/emulator)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import pyharness
from pyharness.analyze.explanation import Explanation, OnDevice
from pyharness.api import explaining
from pyharness.api.device import open_runner
from pyharness.api.explaining import explain, predictions_of
from pyharness.api.stage_search import Limits
from pyharness.errors import UsageError
from pyharness.releases import Release
from pyharness.spec.problem import Problem, parse_problem
from pyharness.spec.stages import STAGES
from tests.emulator.build import EmulatedRelease

Made = Callable[..., Release]
SMALL = "input_size=4 batch_size=2 max_seq_length=3"


@pytest.fixture
def emulate(
    emulator: Callable[..., EmulatedRelease],
    cudnn: Callable[[str], Release],
    monkeypatch: pytest.MonkeyPatch,
) -> Made:
    """An emulated release that calculates nothing, with these settings."""

    def set_up(**settings: object) -> Release:
        made = emulator(cudnn("9.28.0.42").path, **{"compute": "off", **settings})
        for name, value in made.env.items():
            monkeypatch.setenv(name, value)
        return Release(None, None, made.cudnn, "path")

    return set_up


def words(text: str) -> Problem:
    return parse_problem(text.split())


def on(found: Explanation) -> OnDevice:
    assert found.device is not None
    return found.device


def refused_at(release: Release, problems: list[Problem]) -> Iterator[str | None]:
    """The first stage that refuses each problem, asked without any of the code under test."""
    with open_runner(release) as runner:
        for problem in problems:
            outcomes = {s.stage: s.outcome for s in runner.stages(problem).stages}
            assert list(outcomes) == list(STAGES)
            yield next((s for s, o in outcomes.items() if o not in ("passed", "skipped")), None)
            assert outcomes["backward_weights"] != "failed"


def test_what_goes_all_the_way_needs_no_search(emulate: Made) -> None:
    found = explain(emulate(name="Card X"), words(f"hidden_size=8 {SMALL}"))
    assert (on(found).facts.name, on(found).facts.provenance) == ("Card X", "emulated")
    assert (on(found).case.complete, on(found).case.stopped, on(found).version) == (
        True,
        None,
        (9, 28, 0),
    )
    assert (on(found).searched, on(found).blames, found.suggestions) == (0, (), ())
    assert {r.provenance for r in found.results} == {"emulated"}


# Of each rule of the emulator: a problem that breaks it, the stage, the reason, the arguments that
# alone mend that stage, what is allowed in place of one of them, and the nearest changes.
RULES = [
    (
        "algo=persist_static hidden_size=8 input_size=4 seq_lengths=[3,1,2]",
        ("forward_inference", "NOT_SUPPORTED", "this algo needs sequences of equal length"),
        ["algo", "seqLengthArray"],
        ("algo", "standard, persist_dynamic"),
        [{"algo": "standard"}, {"seq_lengths": "equal"}],
    ),
    (
        f"algo=persist_static cell_mode=rnn_tanh hidden_size=1100 {SMALL}",
        ("forward_inference", "NOT_SUPPORTED", "hiddenSize > 1024 with this algo"),
        ["algo", "hiddenSize"],
        ("hiddenSize", "1 to 1,024"),
        [{"algo": "standard"}, {"hidden_size": "1024"}],
    ),
    (
        f"algo=persist_static_small_h hidden_size=200 {SMALL}",
        ("forward_inference", "NOT_SUPPORTED", "hiddenSize > 192 with this algo"),
        ["algo", "cellMode", "hiddenSize"],
        ("hiddenSize", "1 to 192"),
        # 192 would pass forward alone.
        [{"algo": "standard"}, {"hidden_size": "128"}, {"cell_mode": "rnn_tanh"}],
    ),
    (
        f"algo=persist_static_small_h cell_mode=gru hidden_size=150 {SMALL}",
        ("backward_data", "NOT_SUPPORTED", "hiddenSize > 128 with this algo"),
        ["algo", "cellMode", "hiddenSize"],
        ("cellMode", "rnn_relu, rnn_tanh"),
        [{"algo": "standard"}, {"hidden_size": "128"}, {"cell_mode": "rnn_tanh"}],
    ),
    (
        "hidden_size=8 input_size=4 seq_lengths=[3,0,2]",
        ("backward_data", "BAD_PARAM", "a sequence is empty"),
        ["seqLengthArray"],
        (
            "seqLengthArray",
            "leave the empty rows out of the batch; give the empty rows length 1; make every row "
            "full",
        ),
        [
            {"seq_lengths": "[3,2]", "batch_size": "2"},
            {"seq_lengths": "[3,1,2]"},
            {"seq_lengths": "equal"},
        ],
    ),
    (
        "input_mode=skip_input input_size=10 hidden_size=8 batch_size=2 max_seq_length=3",
        ("sizes", "BAD_PARAM", "skip_input && inputSize != hiddenSize"),
        ["inputMode", "inputSize", "hiddenSize"],
        ("inputSize", "8"),
        [{"input_size": "8"}, {"hidden_size": "10"}, {"input_mode": "linear_input"}],
    ),
    (
        "aux_flags=padded_io_disabled hidden_size=8 input_size=4 seq_lengths=[3,2]",
        (
            "forward_inference",
            "BAD_PARAM",
            "an unpacked layout with unequal lengths needs CUDNN_RNN_PADDED_IO_ENABLED",
        ),
        ["auxFlags", "seqLengthArray", "layout"],
        ("layout", "seq_major_packed"),
        [{"aux_flags": "padded_io_enabled"}, {"layout": "seq_major_packed"}],
    ),
]


@pytest.mark.parametrize(
    ("text", "refusal", "blamed", "allowed", "nearest"), RULES, ids=[r[1][2] for r in RULES]
)
def test_the_argument_to_blame_and_the_nearest_that_is_accepted(
    emulate: Made,
    text: str,
    refusal: tuple[str, str, str],
    blamed: list[str],
    allowed: tuple[str, str],
    nearest: list[dict[str, str]],
) -> None:
    release, problem = emulate(), words(text)
    found = explain(release, problem)
    assert found.accepted
    stopped = on(found).case.stopped
    assert stopped is not None
    assert (stopped.stage, stopped.status, stopped.reason) == refusal
    assert sorted(b.argument for b in on(found).blames if b.alone) == sorted(blamed)
    assert dict([allowed]).items() <= {b.argument: b.allowed for b in on(found).blames}.items()
    changed = [{n: t for c in s.changes for n, t in c.changes.items()} for s in found.suggestions]
    assert changed[: len(nearest)] == nearest
    assert 0 < on(found).searched <= Limits().cases
    # Asked anew, the problem is refused there, and every suggestion goes all the way.
    asked = list(refused_at(release, [problem, *(s.problem for s in found.suggestions)]))
    assert asked == [refusal[0], *([None] * len(found.suggestions))]
    assert all(s.case is not None and s.case.complete for s in found.suggestions)


def test_the_edge_of_a_size_is_the_real_one(emulate: Made) -> None:
    release = emulate()
    text = f"algo=persist_static_small_h cell_mode=rnn_relu hidden_size={{}} {SMALL}"
    found = explain(release, words(text.format(399)))
    sizes = [s.problem.given["hidden_size"] for s in found.suggestions]
    assert "256" in sizes
    (blame,) = (b for b in on(found).blames if b.axis == "hidden_size")
    assert blame.allowed == "1 to 384"
    edges = [words(text.format(n)) for n in (256, 257, 384, 385)]
    assert list(refused_at(release, edges)) == [
        None,
        "backward_data",
        "backward_data",
        "forward_inference",
    ]


def test_where_one_change_is_not_enough(emulate: Made) -> None:
    release = emulate()
    two_stages = "input_mode=skip_input input_size=10 hidden_size=8 seq_lengths=[3,0,2]"
    found = explain(release, words(two_stages))
    # One change mends the first stage, and another stage refuses then.
    assert {b.argument for b in on(found).blames if b.alone} == {
        *("inputMode", "inputSize", "hiddenSize")
    }
    assert {n for c in found.suggestions[0].changes for n in c.changes} == {
        *("input_size", "seq_lengths", "batch_size")
    }
    one_stage = "vector_size=5 input_size=4 aux_flags=padded_io_disabled seq_lengths=[3,1,2]"
    also = explain(release, words(one_stage))
    assert not any(b.alone for b in on(also).blames)
    assert ("auxFlags", "vectorSize") in on(also).together
    problems = [s.problem for f in (found, also) for s in f.suggestions]
    assert len(problems) >= 4
    assert set(refused_at(release, problems)) == {None}


def test_what_is_suggested_for_a_host_refusal_is_tried_and_ranked(emulate: Made) -> None:
    release = emulate()
    problem = words("seq_lengths=[5,7,0,3] max_seq_length=7 layout=seq_major_packed")
    found, without = explain(release, problem), explain(release, problem, device="none")
    assert (found.accepted, found.device, without.device) == (False, None, None)
    assert all(s.case is None for s in without.suggestions)
    complete = [s.case is not None and s.case.complete for s in found.suggestions]
    assert complete == sorted(complete, reverse=True)
    assert len(set(complete)) == 2
    asked = refused_at(release, [s.problem for s in found.suggestions])
    assert [stage is None for stage in asked] == complete
    # The layout alone leaves the empty row, which backward refuses.
    stops = {
        s.problem.given["layout"]: s.case.stopped.stage
        for s in found.suggestions
        if s.case is not None and s.case.stopped is not None
    }
    assert stops["seq_major_unpacked"] == "backward_data"


@pytest.mark.parametrize(
    ("fault", "what"),
    [
        ("crash@cudnnRNNForward:*", "SIGSEGV"),
        ("sticky@cudnnRNNForward:*", "CUDA_ERROR_ILLEGAL_ADDRESS"),
    ],
)
def test_of_a_failed_stage_nothing_else_is_tried(emulate: Made, fault: str, what: str) -> None:
    found = explain(emulate(fault=fault), words(f"hidden_size=8 {SMALL}"))
    stopped = on(found).case.stopped
    assert stopped is not None
    assert (stopped.stage, stopped.outcome) == ("forward_inference", "failed")
    assert what in (stopped.reason or "")
    assert (on(found).searched, on(found).blames, found.suggestions) == (0, (), ())


def test_of_too_little_memory_the_bytes_are_told(emulate: Made) -> None:
    found = explain(emulate(memory_bytes=1 << 20), words(f"hidden_size=512 {SMALL}"))
    case = on(found).case
    assert case.stopped is not None
    assert case.stopped.outcome == "out_of_memory"
    assert case.asked_bytes is not None
    assert case.free_bytes is not None
    assert case.asked_bytes > 4 * 512 * 512 * 4 > 1 << 20 >= case.free_bytes
    assert on(found).searched == 0


def test_a_neighbour_that_breaks_the_process_is_not_accepted(emulate: Made) -> None:
    release = emulate(fault="crash@cudnnBuildRNNDynamic:*")
    found = explain(release, words("algo=persist_static seq_lengths=[3,1] input_size=4"))
    assert on(found).case.stopped is not None
    allowed = {b.argument: b.allowed for b in on(found).blames}
    assert allowed["algo"] == "standard"  # persist_dynamic dies where it is built


def test_a_search_is_bounded_and_says_so(emulate: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "Limits", lambda: Limits(cases=7))
    found = explain(emulate(), words("algo=persist_static seq_lengths=[3,1] input_size=4"))
    assert on(found).searched == 7
    assert [n for n in found.notes if "ended after 7 cases" in n]


def test_what_documents_say_is_compared_with_what_was_seen(emulate: Made) -> None:
    release = emulate()

    def seen(text: str) -> dict[str, str | None]:
        found = explain(release, words(text))
        return {p.rule.id: what for p, what in predictions_of(found, release)}

    varying = "seq_lengths=[3,1] input_size=4 hidden_size=8"
    static = seen(f"algo=persist_static {varying}")
    assert static["RUN-VARLEN-STATIC"] == "confirmed"
    assert static["TC-STATIC-NOT"] == "not_decided"  # it would be accepted and have an effect
    assert "RUN-CC-PERSIST" not in static  # the device is told, and it is new enough
    dynamic = seen(f"algo=persist_dynamic {varying}")
    assert dynamic["RUN-VARLEN-DYNAMIC"] == "contradicted"
    standard = seen(f"algo=standard {varying}")
    assert (standard["RUN-VARLEN-STD"], standard["DD-PADFILL-NULL"]) == ("confirmed", "not_shown")
    flag = seen("aux_flags=padded_io_disabled seq_lengths=[3,1] input_size=4")
    assert flag["IO-FLAG"] == "confirmed"
    equal = seen("aux_flags=padded_io_disabled seq_lengths=[3,3] input_size=4")
    assert (equal["IO-FLAG"], equal["IO-FLAG-EQUAL"]) == ("contradicted", "confirmed")
    small = seen(f"algo=persist_static_small_h hidden_size=200 {SMALL}")
    assert small["RUN-SMALLH-FWD-MG"] == "confirmed"
    assert small["RUN-SMALLH-BWD-MG"] == "not_reached"


def test_where_there_is_no_device(
    emulate: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    release, problem = emulate(), words(f"hidden_size=8 {SMALL}")
    assert explain(release, problem, device=0).device is not None
    with pytest.raises(UsageError, match="there is no device 3"):
        explain(release, problem, device=3)
    for libcuda in (tmp_path / "no-such-file", tmp_path / "text"):
        monkeypatch.setenv("PYHARNESS_LIBCUDA", str(libcuda))
        (tmp_path / "text").write_text("no library")
        found = explain(release, problem)
        assert (found.device, found.notes) == (None, ())
        with pytest.raises(UsageError, match="there is no CUDA driver"):
            explain(release, problem, device=0)


def test_a_device_that_the_release_does_not_support_is_a_note(emulate: Made) -> None:
    release = emulate(fault="status:NOT_SUPPORTED_ARCH_MISMATCH@cudnnCreate:*")
    found = explain(release, words(f"hidden_size=8 {SMALL}"))
    assert (found.accepted, found.device) == (True, None)
    assert [n for n in found.notes if "does not support this GPU" in n]


def test_a_driver_is_looked_for_as_the_loader_does(
    emulate: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, problem = emulate(), words(f"hidden_size=8 {SMALL}")
    monkeypatch.delenv("PYHARNESS_LIBCUDA")  # LD_LIBRARY_PATH has the emulator's folder
    assert on(explain(release, problem)).case.complete
    monkeypatch.delenv("LD_LIBRARY_PATH")
    monkeypatch.setenv("PYHARNESS_LIBCUDA", "libcuda.so.no-such-version")
    assert explain(release, problem).device is None


def test_from_python(emulate: Made) -> None:
    path = str(emulate().path)
    problem = {"hidden_size": 8, "input_size": 4, "seq_lengths": [3, 0]}
    found = pyharness.explain(path, problem)
    assert found.device is not None
    assert found.device.case.stopped is not None
    assert found.device.case.stopped.stage == "backward_data"
    assert pyharness.explain(path, problem, device="none").device is None
