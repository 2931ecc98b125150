"""Plans on the emulated libraries: every stage, its calls, and numbers like PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.device import planning
from tests.device.planning import (
    BFLOAT16,
    FLOAT,
    GRU,
    HALF,
    LSTM,
    PASSES,
    RELU,
    TANH,
    WHOLE,
    Ask,
    settings,
)  # fmt: skip
from tests.device.torch_reference import numbers, reference, weight_arrays


def refused(records: dict[str, list[tuple[str, int, str]]]) -> list[tuple[str, str, int, str]]:
    """(stage, call, status, reason) of every record that is not SUCCESS."""
    return [(s, *record) for s, all_of in records.items() for record in all_of if record[1] != 0]


def shaped(chosen: dict[str, Any], buffers: dict[str, bytes], name: str) -> np.ndarray:
    """A tensor of a seq_major_unpacked problem in float64."""
    flat = numbers(chosen["data_type"], buffers[name])
    first = chosen["num_layers"] * (2 if chosen["direction_mode"] else 1)
    if name in ("x", "y", "dx", "dy"):
        first = chosen["max_seq_length"]
    return flat.reshape(first, chosen["batch_size"], -1)


def check_numbers(chosen: dict[str, Any], answer: dict[str, Any], tolerance: float) -> None:
    """Every output of the four passes against PyTorch.

    ``tolerance``  of the largest number of a tensor: sums of both signs lose as much.
    """
    given, data_type = answer["given"], chosen["data_type"]
    inputs = [n for n in ("x", "dy", "hx", "cx", "dhy", "dcy") if n in given]
    tensors = {name: shaped(chosen, given, name) for name in inputs}
    weights = weight_arrays(answer["weights"], given["w"], data_type)
    expected = reference(chosen, tensors, weights)
    found = weight_arrays(answer["weights"], answer["backward_weights"]["dw"], data_type)
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
@pytest.mark.parametrize(
    ("data_type", "tolerance"), [(FLOAT, 2.0**-22), (HALF, 2.0**-9), (BFLOAT16, 2.0**-6)]
)
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
