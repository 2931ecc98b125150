"""The memory of plans: one arena, guard bands, what does not fit, sharing."""

from __future__ import annotations

import numpy as np
import pytest

from tests.device import planning
from tests.device.planning import DOUBLE, FLOAT, HALF, ROAD, WHOLE, Ask, settings


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


@pytest.mark.parametrize("alignment", [16, 240])
def test_buffers_lie_beside_a_round_address(ask: Ask, alignment: int) -> None:
    seen = ask(planning.shared, settings(num_layers=2, dropout_rate=0.5, alignment=alignment))
    assert {"x", "w", "dw", "workspace", "reserve_space", "dropout_states"} <= set(seen)
    for name, (shown, there, held) in seen.items():
        assert shown["data"][0] % 256 == alignment, name
        assert there == held, name


def test_a_buffer_can_be_rewritten(ask: Ask) -> None:
    first, zeroed, again = ask(planning.rewritten, settings())
    assert first == again != zeroed


def test_a_handle_that_is_closed_serves_no_plan(ask: Ask) -> None:
    assert ask(planning.closed_handle, settings()) == ["the handle is closed"] * 4


def test_a_device_that_is_closed_takes_all_with_it(ask: Ask) -> None:
    said = ask(planning.closed_by_the_device, settings(num_layers=2, dropout_rate=0.5))
    assert said == ["capacity 0", "the plan is closed", "the device is closed",
                    "the plan is closed"]  # fmt: skip
