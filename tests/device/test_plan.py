"""Plans on the emulated libraries: numbers, memory, guard bands, statuses, graphs, samples."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyharness.releases import Release
from tests.device import planning
from tests.device.planning import PASSES, SETUP, settings
from tests.device.torch_reference import reference, weight_arrays
from tests.emulator.build import EmulatedRelease

RELU, TANH, LSTM, GRU = range(4)
FLOAT, DOUBLE, HALF, BFLOAT16 = 0, 1, 2, 9
DTYPES = {FLOAT: "<f4", DOUBLE: "<f8", HALF: "<f2"}
WHOLE: dict[str, list[str]] = {name: [] for name in PASSES}
ROAD = (*SETUP, "allocate", *PASSES)
Ask = Callable[..., Any]


@pytest.fixture
def ask(
    emulator: Callable[..., EmulatedRelease], cudnn: Callable[[str], Release]
) -> Callable[..., Any]:
    """Asks a function of planning, on an emulator with these settings; no rule may be broken."""

    def answer(function: Callable[..., Any], *arguments: object, **emulated: object) -> Any:
        broken = emulated.pop("broken", [])
        release = emulator(cudnn("9.28.0.42+cu12").path, **{"l2_bytes": 1 << 20, **emulated})
        said = planning.ask(str(release.cudnn), release.env, function.__name__, *arguments)
        assert release.violations == broken
        return said

    return answer


def refused(records: dict[str, list[tuple[str, int, str]]]) -> list[tuple[str, str, int, str]]:
    """(stage, call, status, reason) of every record that is not SUCCESS."""
    return [(s, *record) for s, all_of in records.items() for record in all_of if record[1] != 0]


def shaped(chosen: dict[str, Any], buffers: dict[str, bytes], name: str) -> np.ndarray:
    """A tensor of a seq_major_unpacked problem in float64."""
    flat = np.frombuffer(buffers[name], DTYPES[chosen["data_type"]]).astype(np.float64)
    first = chosen["num_layers"] * (2 if chosen["direction_mode"] else 1)
    if name in ("x", "y", "dx", "dy"):
        first = chosen["max_seq_length"]
    return flat.reshape(first, chosen["batch_size"], -1)


def check_numbers(chosen: dict[str, Any], answer: dict[str, Any], tolerance: float) -> None:
    """Every output of the four passes against PyTorch.

    ``tolerance``  of the largest number of a tensor: sums of both signs lose as much.
    """
    given, dtype = answer["given"], DTYPES[chosen["data_type"]]
    inputs = [n for n in ("x", "dy", "hx", "cx", "dhy", "dcy") if n in given]
    tensors = {name: shaped(chosen, given, name) for name in inputs}
    weights = weight_arrays(answer["weights"], given["w"], dtype)
    expected = reference(chosen, tensors, weights)
    found = weight_arrays(answer["weights"], answer["backward_weights"]["dw"], dtype)
    assert set(found) <= set(expected)
    for name in ("y", "hy", "cy", "dx", "dhx", "dcx"):
        if name in given:
            found[name] = shaped(chosen, answer["backward_weights"], name)
    inside = np.arange(chosen["max_seq_length"])[:, None] < np.array(chosen["seq_lengths"])
    for name, array in found.items():
        which = inside if name in ("y", "dx") else ...
        off, wanted = (array - expected[name])[which], expected[name][which]
        assert np.abs(off).max() <= tolerance * max(np.abs(wanted).max(), 1e-3), name
    for name in ("y", "hy", "cy"):  # of inference, before anything else ran
        if name in given:
            alone = shaped(chosen, answer["forward_inference"], name)
            kept = shaped(chosen, answer["forward_training"], name)
            assert np.array_equal(alone, kept, equal_nan=True), name


BIG = {"num_layers": 2, "direction_mode": 1}
MASKED = {"max_seq_length": 5, "batch_size": 4, "seq_lengths": [2, 5, 1, 4]}


@pytest.mark.parametrize(
    "changes",
    [
        {"cell_mode": RELU, **BIG, **MASKED},
        {"cell_mode": TANH, **MASKED},
        {"cell_mode": LSTM, **BIG, **MASKED},
        {"cell_mode": LSTM, "proj_size": 3, **BIG},
        {"cell_mode": GRU, **BIG, **MASKED},
        {"cell_mode": LSTM, "algo": 2, "num_layers": 3},
        {"cell_mode": GRU, "initial_states": 1},
        {"cell_mode": TANH, "dropout": 0, "dev_seq_lengths": 1},
    ],
    ids=lambda changes: "-".join(f"{k}={v}" for k, v in changes.items() if k != "seq_lengths"),
)
def test_numbers_are_those_of_pytorch(ask: Ask, changes: dict[str, Any]) -> None:
    chosen = settings(**changes)
    answer = ask(planning.run_all, chosen)
    assert refused(answer["records"]) == []
    assert answer["guards"] == WHOLE
    if chosen["initial_states"]:  # null is zero; the buffers are there and are not read
        for name in ("hx", "cx"):
            if name in answer["given"]:
                answer["given"][name] = bytes(len(answer["given"][name]))
    check_numbers(chosen, answer, 1e-12)


# One rounding of each output, half a unit in the last place, and a little for the states between.
@pytest.mark.parametrize(("data_type", "tolerance"), [(FLOAT, 2.0**-22), (HALF, 2.0**-9)])
@pytest.mark.parametrize("cell_mode", [TANH, LSTM, GRU])
def test_narrow_types_are_right_within_their_rounding(
    ask: Ask, cell_mode: int, data_type: int, tolerance: float
) -> None:
    chosen = settings(cell_mode=cell_mode, data_type=data_type, math_prec=FLOAT, **MASKED)
    answer = ask(planning.run_all, chosen)
    assert refused(answer["records"]) == []
    check_numbers(chosen, answer, tolerance)


def test_every_call_is_kept_in_its_order(ask: Ask) -> None:
    chosen = settings(algo=2, clip=True, clip_mode=1, clip_nan_opt=0, lclip=-1.0, rclip=1.0,
                      num_layers=2, dropout_rate=0.5)  # fmt: skip
    answer = ask(planning.run_all, chosen)
    assert refused(answer["records"]) == []
    assert {s: [call for call, _, _ in r] for s, r in answer["records"].items()} == {
        "descriptor": [
            "cudnnCreateDropoutDescriptor", "cudnnDropoutGetStatesSize",
            "cudnnSetDropoutDescriptor", "cudnnCreateRNNDescriptor", "cudnnSetRNNDescriptor_v8",
            "cudnnRNNSetClip_v9",
        ],
        "data": ["cudnnCreateRNNDataDescriptor", "cudnnSetRNNDataDescriptor"] * 2,
        "state": ["cudnnCreateTensorDescriptor", "cudnnSetTensorNdDescriptor"] * 2,
        "sizes": ["cudnnGetRNNWeightSpaceSize", *["cudnnGetRNNTempSpaceSizes"] * 2],
        "build": ["cudnnBuildRNNDynamic"],
        "forward_inference": ["cudnnRNNForward"],
        "forward_training": ["cudnnRNNForward"],
        "backward_data": ["cudnnRNNBackwardData_v8"],
        "backward_weights": ["cudnnRNNBackwardWeights_v8"],
    }  # fmt: skip
    sizes = answer["sizes"]
    assert sizes["x"] == 3 * 2 * 5 * 8
    assert sizes["hx"] == sizes["cx"] == 2 * 2 * 4 * 8
    assert sizes["weight_space_bytes"] == len(answer["given"]["w"])
    assert sizes["dropout_states_bytes"] == len(answer["given"]["dropout_states"]) > 0


def test_a_backward_pass_alone_brings_what_it_needs(ask: Ask) -> None:
    answer = ask(planning.run_all, settings(), ("backward_weights", "backward_data"))
    assert {s: [call for call, _, _ in answer["records"][s]] for s in PASSES[2:]} == {
        "backward_weights": ["cudnnRNNForward", "cudnnRNNBackwardData_v8",
                             "cudnnRNNBackwardWeights_v8"],
        "backward_data": ["cudnnRNNForward", "cudnnRNNBackwardData_v8"],
    }  # fmt: skip
    whole = ask(planning.run_all, settings())
    assert answer["backward_data"]["dw"] == whole["backward_weights"]["dw"]
    assert answer["backward_data"]["dx"] == whole["backward_weights"]["dx"]


@pytest.mark.parametrize(
    ("function", "stage"),
    [
        *((f, "descriptor") for f in (
            "cudnnCreateDropoutDescriptor", "cudnnDropoutGetStatesSize",
            "cudnnSetDropoutDescriptor", "cudnnCreateRNNDescriptor", "cudnnSetRNNDescriptor_v8")),
        ("cudnnSetRNNDataDescriptor:2", "data"),
        ("cudnnCreateTensorDescriptor", "state"),
        ("cudnnSetTensorNdDescriptor:2", "state"),
        ("cudnnGetRNNWeightSpaceSize", "sizes"),
        ("cudnnGetRNNTempSpaceSizes:2", "sizes"),
        ("cudnnBuildRNNDynamic", "build"),
        ("cudnnRNNForward:2", "forward_training"),
        ("cudnnRNNBackwardData_v8", "backward_data"),
        ("cudnnRNNBackwardWeights_v8", "backward_weights"),
    ],
)  # fmt: skip
def test_a_stage_stops_at_the_call_that_is_refused(ask: Ask, function: str, stage: str) -> None:
    chosen = settings(algo=2, num_layers=2, dropout_rate=0.5)
    answer = ask(planning.run_all, chosen, fault=f"status:INTERNAL_ERROR@{function}")
    call, _, turn = function.partition(":")
    (one,) = refused(answer["records"])
    assert one[:3] == (stage, call, 4000)
    assert one[3]  # in the library's words
    assert answer["records"][stage][-1][0] == call
    assert sum(name == call for name, _, _ in answer["records"][stage]) == (
        int(turn or 1) if stage != "forward_training" else 1
    )
    assert answer["trace"] == (stage, call)


def test_one_allocation_serves_many_problems(ask: Ask) -> None:
    draw = np.random.default_rng(0)
    problems = []
    for _ in range(200):
        cell, hidden, steps = (int(n) for n in draw.integers((0, 1, 1), (4, 9, 6)))
        batch = int(draw.integers(1, 4))
        problems.append(
            settings(
                cell_mode=cell, hidden_size=hidden, proj_size=hidden, max_seq_length=steps,
                batch_size=batch, seq_lengths=[steps] * batch, data_type=DOUBLE,
                num_layers=int(draw.integers(1, 4)), direction_mode=int(draw.integers(0, 2)),
                dropout_rate=float(draw.choice([0.0, 0.5])),
            )
        )  # fmt: skip
    # A second allocation beyond the arena's two blocks, or one that is not reused, fails at once.
    problems.insert(0, settings(input_size=64, hidden_size=64, proj_size=64, num_layers=4,
                                dropout_rate=0.5, direction_mode=1))  # fmt: skip
    capacities = ask(planning.sweep, problems, fault="oom@cuMemAlloc_v2:3+")
    assert len(capacities) == 201
    assert len(set(capacities)) == 1


@pytest.mark.parametrize(
    ("buffer", "function", "stage"),
    [
        ("y", "cudnnRNNForward", "forward_inference"),
        ("workspace", "cudnnRNNForward", "forward_inference"),
        ("cy", "cudnnRNNForward:2", "forward_training"),
        ("reserve_space", "cudnnRNNForward:2", "forward_training"),
        ("dx", "cudnnRNNBackwardData_v8", "backward_data"),
        ("workspace", "cudnnRNNBackwardData_v8", "backward_data"),
        ("dw", "cudnnRNNBackwardWeights_v8", "backward_weights"),
    ],
)
def test_a_byte_beside_a_buffer_is_found_and_named(
    ask: Ask, buffer: str, function: str, stage: str
) -> None:
    faults = [f"{kind}:{buffer}@{function}" for kind in ("overrun", "underrun")]
    answer = ask(planning.run_all, settings(), fault=faults)
    # Told once: the passes after it are not accused.
    told = {stage: [f"{buffer}: byte 1 before the start", f"{buffer}: byte 1 behind the end"]}
    assert answer["guards"] == {**WHOLE, **told}


def test_what_nobody_writes_is_nan(ask: Ask) -> None:
    answer = ask(planning.run_all, settings(), fault="unwritten:hy@cudnnRNNForward:*")
    assert np.isnan(np.frombuffer(answer["forward_training"]["hy"])).all()
    assert not np.isnan(np.frombuffer(answer["forward_training"]["y"])).any()


def test_a_problem_that_does_not_fit_is_refused_before_it_is_tried(ask: Ask) -> None:
    large = settings(max_seq_length=60000, input_size=2048, seq_lengths=[60000, 1])
    # Any allocation would be refused, and say so with other numbers.
    said = ask(planning.raised, large, ROAD, memory_bytes=2 << 30, fault="sticky@cuMemAlloc_v2")
    assert said["error"] == "OutOfMemory"
    asked, free = said["args"]
    assert asked > 2 * (60000 * 2 * 2048 * 8)  # x and dx alone
    assert free <= 2 << 30
    assert said["kept"] == 0
    endless = settings(**{**large, "input_size": 2**30, "max_seq_length": 65535})
    said = ask(planning.raised, endless, ROAD)
    assert said["error"] == "OutOfMemory"
    assert said["args"][0] > 65535 * 2 * 2**30 * 8


def test_memory_that_the_driver_has_not_after_all(ask: Ask) -> None:
    chosen = settings(num_layers=2, dropout_rate=0.5)
    for turn, trace in ((1, ("descriptor", "cudnnDropoutGetStatesSize")), (2, ("allocate", ""))):
        said = ask(planning.raised, chosen, ROAD, fault=f"oom@cuMemAlloc_v2:{turn}")
        assert said["error"] == "OutOfMemory"
        assert said["trace"] == trace
        assert 0 < said["args"][0] < said["args"][1]
        assert said["kept"] == 0


def test_flushing_the_cache_refuses_no_problem(ask: Ask) -> None:
    # Twice the L2 cache is more than the device has: all but cold samples are possible.
    small = {"memory_bytes": 64 << 20, "l2_bytes": 60 << 20}
    (hot,) = ask(planning.sample, settings(), [("forward_inference", "hot", 2)], **small)
    assert len(hot) == 2
    with pytest.raises(AssertionError, match=r"OutOfMemory: \(125829120, "):
        ask(planning.sample, settings(), [("forward_inference", "cold", 2)], **small)


@pytest.mark.parametrize(
    ("fault", "error", "arguments"),
    [
        ("status:NOT_SUPPORTED@cudnnGetRNNWeightParams:3", "CudnnError",
         ("cudnnGetRNNWeightParams", 3000)),
        ("status:ARCH_MISMATCH@cudnnCreate", "CudnnError", ("cudnnCreate", 3007)),
        ("status:BAD_PARAM@cudnnSetStream", "CudnnError", ("cudnnSetStream", 2000)),
        ("status:INTERNAL_ERROR@cudnnDestroyTensorDescriptor:2", "CudnnError",
         ("cudnnDestroyTensorDescriptor", 4000)),
        ("sticky@cudnnRNNBackwardData_v8", "CudaError",
         ("cuCtxSynchronize", 700, "CUDA_ERROR_ILLEGAL_ADDRESS")),
        ("status:999@cuMemcpyHtoD_v2:5", "CudaError", ("cuMemcpyHtoD_v2", 999)),
        ("status:2@cuStreamCreate", "CudaError", ("cuStreamCreate", 2)),
        ("status:101@cuDevicePrimaryCtxRetain", "CudaError", ("cuDevicePrimaryCtxRetain", 101)),
    ],
)  # fmt: skip
def test_what_fails_outside_a_stage_is_raised(
    ask: Ask, fault: str, error: str, arguments: tuple[object, ...]
) -> None:
    # An object that could not be destroyed is left behind, and the emulator says so.
    kept = ["cuDevicePrimaryCtxRelease_v2: 1 tensor descriptor not destroyed"]
    said = ask(planning.raised, settings(), ROAD, fault=fault,
               broken=kept if "Destroy" in fault else [])  # fmt: skip
    assert said["error"] == error
    assert said["args"][: len(arguments)] == arguments
    assert said["kept"] in (0, None)


def test_a_device_that_fails_later_is_blamed_on_the_call_that_it_was_on(ask: Ask) -> None:
    said = ask(planning.raised, settings(), ROAD, fault="sticky@cudnnRNNBackwardWeights_v8")
    assert said["trace"] == ("backward_weights", "cudnnRNNBackwardWeights_v8")


def test_samples_are_the_virtual_costs(ask: Ask) -> None:
    names = (*PASSES, "training_step")
    wanted = [(name, mode, 5) for name in names for mode in ("hot", "cold", "graph")]
    costs = {name: 1000 * (20 + i) for i, name in enumerate(PASSES)}
    emulated = {f"cost_ns.{name}": cost for name, cost in costs.items()}
    taken = ask(planning.sample, settings(), wanted, cold_ns=7000, graph_cost=0.5, **emulated)
    # Between the events of a step dw is zeroed too, at 1e12 bytes a second.
    zeroing = ask(planning.run_all, settings(), ())["sizes"]["weight_space_bytes"] * 1e-3
    costs["training_step"] = sum(costs[name] for name in PASSES[1:])
    for (name, mode, count), samples in zip(wanted, taken, strict=True):
        expected = costs[name] * (0.5 if mode == "graph" else 1)
        expected += 7000 * (mode == "cold") + zeroing * (name == "training_step")
        assert len(samples) == count
        # Milliseconds in a float: 2^-24 of the value.
        assert samples == pytest.approx([expected * 1e-9] * count, rel=2.0**-23), (name, mode)


def test_enqueueing_is_timed_on_the_host(ask: Ask) -> None:
    # The emulated device needs an hour a pass, its host 300 microseconds.
    wanted = [(name, "enqueue", 4) for name in PASSES]
    taken = ask(planning.sample, settings(), wanted, cost_ns=3.6e12, enqueue_us=300)
    for samples in taken:
        assert len(samples) == 4
        assert all(300e-6 <= s < 50e-3 for s in samples)


def test_a_refusal_while_sampling_is_raised(ask: Ask) -> None:
    with pytest.raises(AssertionError, match=r"CudnnError: \('cudnnRNNForward', 5000, '.+'\)"):
        ask(planning.sample, settings(), [("forward_training", "hot", 20)],
            fault="status:EXECUTION_FAILED@cudnnRNNForward:7")  # fmt: skip


def test_a_pass_that_cannot_be_captured_says_why(ask: Ask) -> None:
    names = [*PASSES, "training_step"]
    said = ask(planning.capture, settings(), names, fault="uncapturable@cudnnRNNBackwardData_v8:*")
    good = {
        "forward_inference": "cudnnRNNForward",
        "forward_training": "cudnnRNNForward",
        "backward_weights": "cudnnRNNBackwardWeights_v8",
    }
    for name, records in zip(names, said, strict=True):
        if name in good:
            assert records == [(good[name], 0, "")]
        else:
            call, status, reason = records[-1]
            assert (call, status) == ("cudnnRNNBackwardData_v8", 5000)
            assert reason


@pytest.mark.parametrize("call", ["cuStreamBeginCapture_v2", "cuGraphInstantiateWithFlags"])
def test_a_driver_that_records_no_graph_says_why(ask: Ask, call: str) -> None:
    (records,) = ask(planning.capture, settings(), ["forward_training"], fault=f"status:901@{call}")
    assert records[-1][:2] == (call, 901)
    assert records[-1][2].startswith("CUDA_ERROR_STREAM_CAPTURE_INVALIDATED: ")


def test_buffers_are_shared_with_other_libraries(ask: Ask) -> None:
    seen = ask(planning.shared, settings(num_layers=2, dropout_rate=0.5))
    assert seen["x"][0] | {"data": None, "stream": None} == {
        "shape": (3 * 2 * 5,), "typestr": "<f8", "data": None, "version": 3, "strides": None,
        "stream": None,
    }  # fmt: skip
    for name, (shown, there, held) in seen.items():
        assert there == held, name
        assert shown["shape"] == (len(held) // int(shown["typestr"][2:]),)
        assert shown["data"][0] % 256 == 0
        assert shown["stream"] > 2  # 1 and 2 stand for the default streams
    assert np.frombuffer(seen["dev_seq_lengths"][1], np.int32).tolist() == [3, 3]
    assert seen["workspace"][0]["typestr"] == seen["dropout_states"][0]["typestr"] == "|u1"
    (half,) = [ask(planning.shared, settings(data_type=HALF, math_prec=FLOAT))["w"]]
    assert half[0]["typestr"] == "<f2"


def test_a_buffer_can_be_rewritten(ask: Ask) -> None:
    first, zeroed, again = ask(planning.rewritten, settings())
    assert first == again != zeroed


def test_the_same_seed_gives_the_same_numbers(ask: Ask) -> None:
    one = ask(planning.run_all, settings(), ())["given"]
    assert ask(planning.run_all, settings(), ())["given"] == one
    other = ask(planning.run_all, settings(seed=8), ())["given"]
    for name in ("x", "hx", "cx", "dy", "dhy", "dcy", "w"):
        assert other[name] != one[name], name
    # By name and index: a longer sequence begins with the same x, a second layer changes no first.
    longer = ask(planning.run_all, settings(max_seq_length=4, seq_lengths=[4, 4]), ())["given"]
    assert longer["x"][: len(one["x"])] == one["x"]
    assert longer["w"] == one["w"]


def test_weights_have_the_variance_that_keeps_signals(ask: Ask) -> None:
    wide = {"input_size": 96, "hidden_size": 128, "proj_size": 128}
    gains = {RELU: (1, 1), TANH: (0.5, 0.5), LSTM: (11, 1), GRU: (2.75, 1)}
    for cell, (on_x, on_h) in gains.items():
        answer = ask(planning.run_all, settings(cell_mode=cell, **wide), ())
        for name, array in weight_arrays(answer["weights"], answer["given"]["w"], "<f8").items():
            if array.ndim == 1:
                assert np.abs(array).max() <= 0.1
                continue
            variance = (on_x if ".x." in name else on_h) / array.shape[1]
            # The sample variance of n uniform numbers has a deviation of sqrt(0.8 / n) of itself.
            assert array.var() == pytest.approx(variance, rel=5 * (0.8 / array.size) ** 0.5), name
            assert np.abs(array).max() <= (3 * variance) ** 0.5


@pytest.mark.parametrize("cell_mode", [RELU, TANH, LSTM, GRU])
@pytest.mark.parametrize("hidden", [1, 4, 32])
def test_long_and_deep_networks_neither_die_nor_blow_up(
    ask: Ask, cell_mode: int, hidden: int
) -> None:
    chosen = settings(
        cell_mode=cell_mode, hidden_size=hidden, proj_size=hidden, input_size=16, num_layers=6,
        max_seq_length=150, batch_size=2, seq_lengths=[150, 150], data_type=HALF, math_prec=FLOAT,
    )  # fmt: skip
    answer = ask(planning.run_all, chosen)
    for name in ("y", "dx", "dw"):
        values = np.frombuffer(answer["backward_weights"][name], "<f2").astype(np.float64)
        if name == "dw":
            arrays = weight_arrays(answer["weights"], answer["backward_weights"]["dw"], "<f2")
            values = np.concatenate([array.ravel() for array in arrays.values()])
        assert np.abs(values).max() < 2e4, name  # NaN is not
        if cell_mode != RELU or hidden > 1:  # a lone unit may be off whatever it is given
            assert np.abs(values).max() > 1e-4, name


def test_what_comes_out_of_order_is_refused(ask: Ask) -> None:
    assert ask(planning.out_of_order, settings()) == [
        "RuntimeError: sizes must have been asked for first",
        "RuntimeError: sizes must have been asked for first",
        "RuntimeError: the stage sizes is out of order",
        "RuntimeError: the plan has no memory yet",
        "ValueError: no pass is called forwards",
        "RuntimeError: the plan has no memory yet",
        "RuntimeError: the plan has its memory already",
        "RuntimeError: the stage build is out of order",
        "ValueError: no buffer is called z",
        "ValueError: x has 240 bytes, not 9",
        "ValueError: no buffer is called z",
        "ValueError: no way of sampling is called lukewarm",
        "RuntimeError: the pass has not been captured",
        "RuntimeError: another plan is still open in the arena",
        "RuntimeError: another plan is still open in the arena",
        "RuntimeError: the plan is closed",
        "RuntimeError: the plan is closed",
        "ValueError: no setting is called hidden",
        "ValueError: a list of lengths is shorter than its batch",
        "ValueError: dev_seq_lengths is 0, 1 or 2",
        "KeyError: seed",
        "RuntimeError: the device is closed",
        "RuntimeError: the device is closed",
    ]


def test_a_device_that_is_closed_takes_all_with_it(ask: Ask) -> None:
    said = ask(planning.closed_by_the_device, settings(num_layers=2, dropout_rate=0.5))
    assert said == ["capacity 0", "the plan is closed", "the device is closed",
                    "the plan is closed"]  # fmt: skip


def test_a_device_says_what_it_is(ask: Ask) -> None:
    said = ask(planning.facts, name="Emulated H1", compute_capability="9.0", multiprocessors=132,
               memory_bytes=1 << 30, l2_bytes=50 << 20, driver_version=13000)  # fmt: skip
    assert said.pop("pci_bus_id")
    assert said == {
        "name": "Emulated H1", "compute_capability": "9.0", "memory_bytes": 1 << 30,
        "multiprocessors": 132, "l2_bytes": 50 << 20, "driver_version": 13000,
        "emulated": True, "version": 13000, "count": 1,
    }  # fmt: skip


def test_a_library_without_the_device_path_is_named(
    emulated_libraries: Path, emulator: Callable[..., EmulatedRelease],
    cudnn: Callable[[str], Release], build: Callable[..., Path],
) -> None:  # fmt: skip
    release = emulator(cudnn("9.28.0.42+cu12").path)
    said = planning.ask(str(build()), release.env, "raised", settings(), ROAD)
    assert said["error"] == "LoadError"
    assert "has no cudnnCreate, cudnnDestroy, cudnnSetStream, " in said["args"][0]
    assert release.violations == []
