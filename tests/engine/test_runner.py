"""A runner on the emulated device: stages, refusals, and everything that can go wrong in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psutil
import pytest

from pyharness.device.launch import runner_command
from pyharness.engine import runner as runner_module
from pyharness.engine.process import Launch
from pyharness.engine.runner import NoRunner, Runner, StageFailed
from pyharness.releases import Release
from pyharness.spec import messages as m
from pyharness.spec.ledger import Death
from pyharness.spec.problem import parse_problem
from pyharness.spec.stage_results import CaseResult, StageResult
from pyharness.spec.stages import STAGES
from tests.emulator.build import EmulatedRelease

Cudnn = Callable[[str], Release]
Emulator = Callable[..., EmulatedRelease]
RELEASE = "9.28.0.42"
SMALL = ("hidden_size=8", "input_size=4", "batch_size=2", "max_seq_length=3")


@pytest.fixture
def start(emulator: Emulator, cudnn: Cudnn) -> Iterator[Callable[..., Any]]:
    """Starts runners on an emulator with these settings; none may break the emulator's rules."""
    releases: list[EmulatedRelease] = []

    @contextmanager
    def started(timeout_s: float = 20, /, **settings: object) -> Iterator[Runner]:
        release = emulator(cudnn(RELEASE).path, **settings)
        releases.append(release)
        launch = Launch(runner_command(), str(release.cudnn), tuple(release.env.items()))
        with Runner(launch, str(release.libcuda), 0, timeout_s) as runner:
            yield runner

    yield started
    assert [v for release in releases for v in release.violations] == []


def outcomes(case: CaseResult) -> dict[str, str]:
    return {s.stage: s.outcome for s in case.stages}


def stage(case: CaseResult, name: str) -> StageResult:
    (found,) = [s for s in case.stages if s.stage == name]
    return found


def shown(result: StageResult) -> tuple[str | None, ...]:
    return result.call, result.status, result.outcome, result.reason


PASSED = dict.fromkeys(STAGES, "passed")
STANDARD = {**PASSED, "build": "skipped"}


def test_what_the_device_is(start: Callable[..., Any]) -> None:
    with start(name="Card X", compute_capability="9.0", memory_bytes=2**33) as runner:
        facts = runner.facts
        assert (facts.name, facts.compute_capability) == ("Card X", "9.0")
        assert (facts.memory_bytes, facts.multiprocessors) == (2**33, 108)
        assert (facts.emulated, facts.provenance) == (True, "emulated")
        assert runner.version() == 92800


PROBLEMS: list[tuple[tuple[str, ...], Mapping[str, str]]] = [
    ((), STANDARD),
    (("cell_mode=gru", "direction_mode=bidirectional", "num_layers=2"), STANDARD),
    (("cell_mode=rnn_relu", "bias_mode=no_bias", "layout=batch_major_unpacked"), STANDARD),
    (("proj_size=half", "data_type=half", "seq_lengths=[3,1]"), STANDARD),
    (("layout=seq_major_packed", "seq_lengths=[3,1]"), STANDARD),
    (("dropout_rate=0.5", "num_layers=3", "seed=5", "initial_states=null"), STANDARD),
    (("data_type=double", "math_prec=double", "lclip=-0.5"), STANDARD),
    (("dev_seq_lengths=given",), STANDARD),
    (("algo=persist_static",), STANDARD),
    (("algo=persist_static_small_h",), STANDARD),
    (("algo=persist_dynamic",), PASSED),
]


def test_stages_of_several_problems_in_one_runner(start: Callable[..., Any]) -> None:
    with start() as runner:
        for words, expected in PROBLEMS:
            case = runner.stages(parse_problem([*SMALL, *words]))
            assert outcomes(case) == expected, words
            assert case.sizes is not None
            assert case.sizes["weight_space_bytes"] > 0
            assert {s.provenance for s in case.stages} == {"emulated"}
            assert {s.status for s in case.stages if s.outcome == "passed"} == {"SUCCESS"}
            assert (case.asked_bytes, case.failure) == (None, None)
            # What plans before took is used again, so that the next can have it; the card deals
            # in 512 bytes.
            assert case.free_bytes is not None
            assert 0 <= runner.facts.memory_bytes - case.free_bytes < 2 * 512
        assert not runner.broken


def test_the_calls_that_decide(start: Callable[..., Any]) -> None:
    with start() as runner:
        case = runner.stages(parse_problem([*SMALL, "algo=persist_dynamic", "lclip=-1.0"]))
    assert [s.call for s in case.stages] == [
        "cudnnRNNSetClip_v9",
        "cudnnSetRNNDataDescriptor",
        "cudnnSetTensorNdDescriptor",
        "cudnnGetRNNTempSpaceSizes",
        "cudnnBuildRNNDynamic",
        "cudnnRNNForward",
        "cudnnRNNForward",
        "cudnnRNNBackwardData_v8",
        "cudnnRNNBackwardWeights_v8",
    ]


def test_the_memory_of_device_and_process(start: Callable[..., Any]) -> None:
    step, card = 2 << 20, 1 << 30
    with start(memory_bytes=card, memory_step_bytes=step) as runner:
        before = runner.memory(largest=True)
        assert (before.total_bytes, before.free_bytes, before.room_bytes) == (card, card, 0)
        assert before.largest_bytes == card
        runner.stages(parse_problem(SMALL), "forward_inference")
        taken = runner.memory()
        assert taken.largest_bytes is None
        used = card - taken.free_bytes - taken.room_bytes
        # Of the plan, most of it to flush the emulated cache of 40 MiB.
        assert 80 << 20 <= used < 96 << 20
        assert taken.free_bytes % step == 0
        assert taken.host_bytes > 1 << 20
        runner.close_plan(memory=True)
        after = runner.memory(largest=True)
        assert after.free_bytes + after.room_bytes == card
        assert after.largest_bytes == card


def test_a_device_that_fails_while_it_is_looked_at(start: Callable[..., Any]) -> None:
    with (
        start(fault="sticky@cuMemGetInfo_v2") as runner,
        pytest.raises(StageFailed, match=r"^memory, cuMemGetInfo_v2: .*CUDA_ERROR_ILLEGAL_"),
    ):
        runner.memory()
    assert runner.broken


def test_sizes_alone_take_no_memory(start: Callable[..., Any]) -> None:
    big = parse_problem(
        ["hidden_size=4096", "num_layers=4", "batch_size=512", "max_seq_length=500"]
    )
    with start(memory_bytes=1 << 20) as runner:
        case = runner.sizes(big)
        assert outcomes(case) == dict.fromkeys(STAGES[:4], "passed")
        assert case.sizes is not None
        first, later = 4 * (64 + 4096) * 4096, 4 * (4096 + 4096) * 4096
        floats = first + 3 * later + 4 * 8 * 4096  # two biases a gate
        assert 4 * floats <= case.sizes["weight_space_bytes"] <= 4.04 * floats
        assert case.sizes["x"] == 500 * 512 * 64 * 4


REFUSED: list[tuple[tuple[str, ...], str, tuple[str, str, str], str]] = [
    (
        ("hidden_size=0",),
        "descriptor",
        ("cudnnSetRNNDescriptor_v8", "BAD_PARAM", "inputSize < 1 || hiddenSize < 1"),
        "data state sizes build forward_inference forward_training backward_data backward_weights",
    ),
    (
        ("layout=seq_major_packed", "seq_lengths=[1,3]"),
        "data",
        ("cudnnSetRNNDataDescriptor", "BAD_PARAM", "isSortedSequences == false"),
        "state sizes build forward_inference forward_training backward_data backward_weights",
    ),
    (
        ("algo=persist_static", "seq_lengths=[3,1]"),
        "forward_inference",
        ("cudnnRNNForward", "NOT_SUPPORTED", "equal length"),
        "backward_data backward_weights",
    ),
    (
        ("algo=persist_static_small_h", "hidden_size=160"),
        "backward_data",
        ("cudnnRNNBackwardData_v8", "NOT_SUPPORTED", "hidden"),
        "backward_weights",
    ),
    (
        ("seq_lengths=[3,0]",),
        "backward_data",
        ("cudnnRNNBackwardData_v8", "BAD_PARAM", "a sequence is empty"),
        "backward_weights",
    ),
]


@pytest.mark.parametrize(
    ("words", "at", "said", "skipped"), REFUSED, ids=[" ".join(r[0]) for r in REFUSED]
)
def test_a_refusal_is_where_it_is_and_what_needs_it_is_skipped(
    start: Callable[..., Any],
    words: tuple[str, ...],
    at: str,
    said: tuple[str, str, str],
    skipped: str,
) -> None:
    with start() as runner:
        given = {w.partition("=")[0] for w in words}
        rest = [w for w in SMALL if w.partition("=")[0] not in given]
        case = runner.stages(parse_problem([*rest, *words]))
        assert not runner.broken
    call, status, reason = said
    found = stage(case, at)
    assert (found.call, found.status, found.outcome) == (call, status, "unsupported")
    assert reason in (found.reason or "")
    left = [s for s in case.stages if s.outcome == "skipped" and s.reason != "not needed here"]
    assert " ".join(s.stage for s in left) == skipped
    for one in left:
        cause = (one.reason or "").removesuffix(" was refused")
        assert stage(case, cause).outcome == "unsupported"
        assert (one.status, one.status_code) == (None, None)


def test_refused_inference_does_not_stop_training(start: Callable[..., Any]) -> None:
    with start(fault="status:NOT_SUPPORTED@cudnnRNNForward:1") as runner:
        case = runner.stages(parse_problem(SMALL))
        assert outcomes(case) == {**STANDARD, "forward_inference": "unsupported"}
        assert outcomes(runner.stages(parse_problem(SMALL))) == STANDARD


def test_refused_training_skips_backward(start: Callable[..., Any]) -> None:
    with start(fault="status:NOT_SUPPORTED@cudnnRNNForward:2") as runner:
        case = runner.stages(parse_problem(SMALL))
        skipped = dict.fromkeys(("backward_data", "backward_weights"), "skipped")
        assert outcomes(case) == {**STANDARD, "forward_training": "unsupported", **skipped}
        assert stage(case, "backward_data").reason == "forward_training was refused"


# The stage that each call belongs to, for a problem that makes them all.
EVERY_CALL = {
    "cudnnCreateDropoutDescriptor": "descriptor",
    "cudnnDropoutGetStatesSize": "descriptor",
    "cudnnSetDropoutDescriptor": "descriptor",
    "cudnnCreateRNNDescriptor": "descriptor",
    "cudnnSetRNNDescriptor_v8": "descriptor",
    "cudnnRNNSetClip_v9": "descriptor",
    "cudnnCreateRNNDataDescriptor": "data",
    "cudnnSetRNNDataDescriptor": "data",
    "cudnnCreateTensorDescriptor": "state",
    "cudnnSetTensorNdDescriptor": "state",
    "cudnnGetRNNWeightSpaceSize": "sizes",
    "cudnnGetRNNTempSpaceSizes": "sizes",
    "cudnnBuildRNNDynamic": "build",
    "cudnnGetRNNWeightParams": "forward_inference",
    "cudnnRNNForward": "forward_inference",
    "cudnnRNNBackwardData_v8": "backward_data",
    "cudnnRNNBackwardWeights_v8": "backward_weights",
}
ALL_CALLS = (*SMALL, "algo=persist_dynamic", "num_layers=2", "dropout_rate=0.5", "lclip=-1.0")


@pytest.mark.parametrize(("call", "at"), EVERY_CALL.items(), ids=EVERY_CALL)
def test_a_status_of_any_call_is_in_its_stage(
    start: Callable[..., Any], call: str, at: str
) -> None:
    with start(fault=f"status:NOT_SUPPORTED@{call}") as runner:
        case = runner.stages(parse_problem(ALL_CALLS))
        assert not runner.broken
        assert outcomes(runner.stages(parse_problem(ALL_CALLS))) == PASSED
    found = stage(case, at)
    assert shown(found) == (call, "NOT_SUPPORTED", "unsupported", "planted fault")
    assert {s.outcome for s in case.stages[: STAGES.index(at)]} <= {"passed"}


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("EXECUTION_FAILED", "failed"),
        ("INTERNAL_ERROR", "failed"),
        ("SUBLIBRARY_LOADING_FAILED", "failed"),
        ("INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", "out_of_memory"),
    ],
)
def test_a_status_that_is_no_refusal(start: Callable[..., Any], status: str, outcome: str) -> None:
    with start(fault=f"status:{status}@cudnnRNNBackwardData_v8") as runner:
        case = runner.stages(parse_problem(SMALL))
        assert runner.broken is (outcome == "failed")
    assert shown(stage(case, "backward_data"))[1:3] == (status, outcome)
    assert stage(case, "backward_weights").outcome == "skipped"


KILLS: list[tuple[str, str, str, str]] = [
    ("crash@cudnnRNNForward:2", "forward_training", "cudnnRNNForward", "SIGSEGV"),
    ("abort@cudnnSetRNNDataDescriptor", "data", "cudnnSetRNNDataDescriptor", "SIGABRT"),
    ("exit:7@cudnnGetRNNWeightSpaceSize", "sizes", "cudnnGetRNNWeightSpaceSize", "exit status 7"),
    ("crash@cudnnGetRNNWeightParams", "forward_inference", "cudnnGetRNNWeightParams", "SIGSEGV"),
    (
        "crash@cudnnRNNBackwardWeights_v8",
        "backward_weights",
        "cudnnRNNBackwardWeights_v8",
        "SIGSEGV",
    ),
]


@pytest.mark.parametrize(("fault", "at", "call", "cause"), KILLS, ids=[k[0] for k in KILLS])
def test_a_death_is_a_failed_stage(
    start: Callable[..., Any], fault: str, at: str, call: str, cause: str
) -> None:
    with start(fault=fault) as runner:
        case = runner.stages(parse_problem(SMALL))
        assert runner.broken
    found = stage(case, at)
    assert shown(found) == (call, None, "failed", found.reason)
    assert (found.reason or "").startswith(f"the worker ended: {cause}")
    assert case.failure == found
    later = STAGES[STAGES.index(at) + 1 :]
    assert {s.stage: s.reason for s in case.stages if s.stage in later} == dict.fromkeys(
        later, f"{at} failed"
    )
    assert {s.outcome for s in case.stages if s.stage not in (at, *later)} <= {"passed", "skipped"}


def test_a_hang_is_a_failed_stage_after_the_time_limit(
    start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "FIRST_TIMEOUT_S", 0.5)
    with start(0.5, fault="hang@cudnnRNNBackwardData_v8:2") as runner:
        assert outcomes(runner.stages(parse_problem(SMALL))) == STANDARD
        case = runner.stages(parse_problem(SMALL))
        assert runner.broken
        found = stage(case, "backward_data")
        words = "the worker ended: no answer for 0.5 s"
        assert shown(found) == ("cudnnRNNBackwardData_v8", None, "failed", words)
        assert stage(case, "forward_training").outcome == "passed"


def test_what_is_done_first_gets_longer(
    start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = ["slow:1@cudnnRNNForward:1", "slow:1@cudnnRNNForward:4"]
    with start(0.3, fault=slow) as runner:
        assert outcomes(runner.stages(parse_problem(SMALL))) == STANDARD
        case = runner.stages(parse_problem(SMALL))
        assert stage(case, "forward_training").reason == "the worker ended: no answer for 0.3 s"


def test_large_problems_get_time_to_be_filled(
    start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "FIRST_TIMEOUT_S", 0.3)
    least = 4 * 4 * 8 * (4 + 8)  # bytes of an LSTM's matrices: 4 gates of 8 x (4 + 8) floats
    for rate, outcome in ((least / 3, "passed"), (1e9, "failed")):
        monkeypatch.setattr(runner_module, "_FILLED_BYTES_PER_S", rate)
        with start(0.3, fault="slow:1@cuMemsetD8Async:2") as runner:
            case = runner.stages(parse_problem(SMALL))
        assert stage(case, "forward_inference").outcome == outcome


def test_an_end_that_fails_is_a_row_of_its_own_case(start: Callable[..., Any]) -> None:
    with start(fault="crash@cudnnDestroyDropoutDescriptor:2") as runner:
        case = runner.whole(parse_problem(SMALL))
        assert (runner.broken, case.failure, outcomes(case)) == (False, None, STANDARD)
        case = runner.whole(parse_problem(SMALL))
        assert runner.broken
    assert outcomes(case) == {**STANDARD, "close": "failed"}
    words = "the worker ended: SIGSEGV"
    assert shown(case.stages[-1]) == ("cudnnDestroyDropoutDescriptor", None, "failed", words)
    assert case.failure == case.stages[-1]


def test_an_error_that_sticks_to_the_device(start: Callable[..., Any]) -> None:
    with start(fault="sticky@cudnnRNNForward:2") as runner:
        case = runner.stages(parse_problem(SMALL))
        assert runner.broken
    found = stage(case, "forward_training")
    assert (found.call, found.status, found.outcome) == ("cudnnRNNForward", None, "failed")
    assert "CUDA_ERROR_ILLEGAL_ADDRESS (700)" in (found.reason or "")


@pytest.mark.parametrize(
    ("fault", "at", "words"),
    [
        ("overrun:y@cudnnRNNForward:1", "forward_inference", "y: byte 1 behind the end"),
        ("underrun:hy@cudnnRNNForward:2", "forward_training", "hy: byte 1 before the start"),
        ("overrun:workspace@cudnnRNNForward:2", "forward_training", "workspace: byte 1 behind"),
        ("overrun:reserve_space@cudnnRNNForward:2", "forward_training", "reserve_space: byte 1"),
        ("overrun:dx@cudnnRNNBackwardData_v8", "backward_data", "dx: byte 1 behind the end"),
        ("underrun:dw@cudnnRNNBackwardWeights_v8", "backward_weights", "dw: byte 1 before"),
    ],
)
def test_a_guard_band_that_was_overwritten(
    start: Callable[..., Any], fault: str, at: str, words: str
) -> None:
    with start(fault=fault) as runner:
        case = runner.stages(parse_problem(SMALL))
        assert runner.broken
    found = stage(case, at)
    assert (found.status, found.outcome) == ("SUCCESS", "failed")
    assert (found.reason or "").startswith(f"it wrote outside of its buffers: {words}")
    assert case.failure == found


def test_what_does_not_fit_is_no_failure_and_leaves_nothing(start: Callable[..., Any]) -> None:
    big = parse_problem(["hidden_size=512", "batch_size=64"])
    with start(memory_bytes=8 << 20) as runner:
        for _ in range(3):
            case = runner.stages(big)
            found = stage(case, "forward_inference")
            assert (found.call, found.status, found.outcome) == (
                "cuMemAlloc_v2",
                None,
                "out_of_memory",
            )
            assert case.asked_bytes is not None
            assert case.free_bytes is not None
            assert case.asked_bytes > case.free_bytes > 0
            assert f"{case.asked_bytes:,} bytes were asked for" in (found.reason or "")
            assert stage(case, "forward_training").reason == "forward_inference is out of memory"
            assert case.sizes is not None
            assert outcomes(runner.stages(parse_problem(SMALL))) == STANDARD
        assert not runner.broken


def test_inference_that_fits_is_run_where_training_does_not(start: Callable[..., Any]) -> None:
    # Weights 1 MiB and x, y 1 MiB each; training keeps each step's gates, and a gradient of all.
    words = ["hidden_size=256", "input_size=256", "batch_size=32", "max_seq_length=32"]
    with start(memory_bytes=8 << 20) as runner:
        for _ in range(2):
            case = runner.stages(parse_problem([*words, "cell_mode=rnn_tanh"]))
            assert outcomes(case) == {
                **dict.fromkeys(STAGES[:4], "passed"),
                "build": "skipped",
                "forward_inference": "passed",
                "forward_training": "out_of_memory",
                "backward_data": "skipped",
                "backward_weights": "skipped",
            }
            assert case.asked_bytes is not None
            assert case.asked_bytes > 8 << 20
            assert stage(case, "backward_data").reason == "forward_training is out of memory"
            assert len(runner.sample("forward_inference", "hot", 3)) == 3
        assert not runner.broken
        assert outcomes(runner.stages(parse_problem(SMALL))) == STANDARD


@pytest.mark.parametrize("nth", [1, 2])
def test_an_allocation_that_fails(start: Callable[..., Any], nth: int) -> None:
    words = (*SMALL, "num_layers=2", "dropout_rate=0.5")
    with start(fault=f"oom@cuMemAlloc_v2:{nth}") as runner:
        case = runner.stages(parse_problem(words))
        at = {1: "descriptor", 2: "forward_inference"}[nth]  # the states of dropout come first
        assert stage(case, at).outcome == "out_of_memory"
        assert not runner.broken
        assert outcomes(runner.stages(parse_problem(words))) == STANDARD


def test_a_problem_that_no_run_has_is_skipped(start: Callable[..., Any]) -> None:
    with start() as runner:
        case = runner.stages(parse_problem(["strides=zero"]))
        assert set(outcomes(case).values()) == {"skipped"}
        assert {s.reason for s in case.stages} == {
            "strides=zero cannot be run: the states of a run have strides=packed"
        }


def test_what_the_compiled_part_cannot_do_is_a_failed_stage(
    start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "plan_settings", lambda problem: {"algo": 0})
    with start() as runner:
        case = runner.stages(parse_problem(SMALL))
        assert runner.broken
        found = stage(case, "descriptor")
        words = "the worker could not do it: KeyError: 'cell_mode'"
        assert shown(found) == ("cudnnSetRNNDescriptor_v8", None, "failed", words)


def test_samples_of_the_plan_that_is_open(start: Callable[..., Any]) -> None:
    with start(cost_ns=50_000) as runner:
        runner.stages(parse_problem(SMALL))
        for mode in ("hot", "cold"):
            seconds = runner.sample("forward_inference", mode, 5)
            assert seconds == pytest.approx([50e-6] * 5, rel=1e-3)
        assert runner.capture("backward_data").outcome == "passed"
        assert len(runner.sample("backward_data", "graph", 3)) == 3
        # forward training, backward data and backward weights
        (step,) = runner.sample("training_step", "hot", 1)
        assert step == pytest.approx(150e-6, rel=1e-3)
        runner.close_plan()
        assert not runner.broken


def test_a_pass_that_cannot_be_captured(start: Callable[..., Any]) -> None:
    with start(fault="uncapturable@cudnnRNNForward:*") as runner:
        runner.stages(parse_problem(SMALL))
        found = runner.capture("forward_inference")
        assert (found.stage, found.outcome) == ("forward_inference", "unsupported")
        assert found.status != "SUCCESS"
        assert found.reason
        assert not runner.broken


@pytest.mark.parametrize(
    ("fault", "outcome", "words", "broken"),
    [
        ("crash@cudnnRNNForward:4", "failed", "the worker ended: SIGSEGV", True),
        ("sticky@cudnnRNNForward:4", "failed", "CUDA_ERROR_ILLEGAL_ADDRESS", True),
        ("status:NOT_SUPPORTED@cudnnRNNForward:4", "unsupported", "planted", False),
        ("status:EXECUTION_FAILED@cudnnRNNForward:4", "failed", "planted", True),
        ("overrun:y@cudnnRNNForward:4", "failed", "outside of its buffers: y: byte 1", True),
    ],
)
def test_sampling_that_fails(
    start: Callable[..., Any], fault: str, outcome: str, words: str, broken: bool
) -> None:
    with start(fault=fault) as runner:
        runner.stages(parse_problem(SMALL))
        with pytest.raises(StageFailed) as caught:
            runner.sample("forward_inference", "hot", 5)
        result = caught.value.result
        assert (result.stage, result.call) == ("forward_inference", "cudnnRNNForward")
        assert result.outcome == outcome
        assert words in (result.reason or "")
        assert runner.broken is broken


def test_nothing_of_a_runner_stays_behind(start: Callable[..., Any]) -> None:
    with start() as runner:
        runner.stages(parse_problem(SMALL))
        (child,) = psutil.Process().children()
    assert not child.is_running()
    runner.close()  # once more does no harm


def no_runner(launch: Launch, libcuda: str, ordinal: int = 0) -> Any:
    with pytest.raises(NoRunner) as caught:
        Runner(launch, libcuda, ordinal)
    return caught.value


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({"devices": 0}, m.CudaFailed),
        ({"fault": "status:999@cuInit"}, m.CudaFailed),
        ({"fault": "status:NOT_SUPPORTED_ARCH_MISMATCH@cudnnCreate"}, m.CudnnRefused),
        ({"fault": "status:NOT_INITIALIZED@cudnnSetStream"}, m.CudnnRefused),
        ({"fault": "abort@cudnnCreate"}, Death),
    ],
)
def test_no_runner(
    emulator: Emulator, cudnn: Cudnn, settings: dict[str, Any], kind: type[Any]
) -> None:
    release = emulator(cudnn(RELEASE).path, **settings)
    launch = Launch(runner_command(), str(release.cudnn), tuple(release.env.items()))
    error = no_runner(launch, str(release.libcuda))
    assert isinstance(error.answer, kind)
    assert (error.facts is None) is ("cudnn" not in str(settings))


def test_no_such_device(emulator: Emulator, cudnn: Cudnn) -> None:
    release = emulator(cudnn(RELEASE).path, devices=2)
    launch = Launch(runner_command(), str(release.cudnn), tuple(release.env.items()))
    with Runner(launch, str(release.libcuda), 1) as runner:
        assert runner.facts.emulated
    assert no_runner(launch, str(release.libcuda), 2).answer == m.NoSuchDevice(2)
    answer = no_runner(launch, "/nowhere/libcuda.so.1").answer
    assert isinstance(answer, m.Refused)
    assert answer.what == "driver"
