"""Samples and graphs of plans, on a device whose clock is known."""

from __future__ import annotations

import pytest

from tests.device import planning
from tests.device.planning import PASSES, Ask, settings


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


@pytest.mark.parametrize(
    ("name", "mode", "lead", "first"),
    [
        ("forward_inference", "hot", 0, 1),
        ("forward_inference", "cold", 0, 1),
        ("forward_inference", "graph", 0, 1),
        ("backward_data", "hot", 1, 3),  # each after a forward pass
        ("backward_weights", "cold", 2, 5),  # each after two passes
    ],
)
def test_the_first_execution_is_no_sample(
    ask: Ask, name: str, mode: str, lead: int, first: int
) -> None:
    for slow, factor in ((lead, 1), (first, 3)):
        throttle = f"after:{slow},for:1,factor:3"
        (samples,) = ask(planning.sample, settings(), [(name, mode, 3)], throttle=throttle)
        expected = [factor * 20e-6, 20e-6, 20e-6]
        assert samples == pytest.approx(expected, rel=2.0**-23), slow


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
