"""What parent and worker say to each other survives the way."""

from __future__ import annotations

import math

import pytest

from pyharness.spec import messages as m

SAID = [
    m.UseGrid("cudnnSetRNNDataDescriptor", [[1, -(2**63)], [2**63 - 1]], [[3, 2, 1]]),
    m.WalkRange(2**40, 7, True),
    m.WalkRows(False),
    m.TimeRows(31),
    m.NameStatuses([0, -5, 3007]),
    m.AskVersion(),
    m.Opened(["cudnnRNNSetClip_v9"]),
    m.Version(92800),
    m.Done(),
    m.Timed([1e-7, 4.2e-8]),
    m.Named(["CUDNN_STATUS_SUCCESS", ""]),
    m.MeasurePeak(1, "half", "fma_math"),
    m.Peak(9.5e13, None, "„kein CuPy“"),
    m.PrepareModule(["seq_lengths=[3,2]", "lclip=-0.0"]),
    m.PeerReady("2.13.0+cpu", None, 91300, "Ü 9000", 2, [9, 0], None),
    m.ModulePrepared({"x": [3, 2, 4], "h": [1, 2, 2**31]}),
    m.OpenDevice("/x/libcuda.so.1", 3),
    m.CreateHandle(),
    m.RunStages({"lclip": -1e300, "seq_lengths": [3, 0], "clip": True}, "sizes"),
    m.Capture("backward_data"),
    m.Sample("training_step", "cold", 32),
    m.ClosePlan(),
    m.AskMemory(True),
    m.MemoryTold(2**37, 2**36, 2**16, None, 2**33),
    m.MemoryTold(2**37, 2**36, 0, 2**35, 2**33),
    m.DeviceOpened({"name": "Größe", "memory_bytes": 2**36, "emulated": False}),
    m.NoSuchDevice(0),
    m.StageDone("sizes", [["cudnnRNNForward", "BAD_PARAM", 2000, "a\0b"]], ["y: byte 1"]),
    m.NoMemory("build", 2**40, 0),
    m.Filling(2**40),
    m.Staged(None),
    m.Staged({"weight_space_bytes": 2**40}),
    m.Captured([["cuStreamEndCapture", "CUDA_ERROR", 901, ""]]),
    m.Sampled([2.5e-5], []),
    m.FillPlan(),
    m.DescribePlan(),
    m.RunPass("forward_training", True),
    m.RenewStream(),
    m.LoadPlan({"seed": 2**64 - 1}, 3),
    m.LoadPlan(None, 2),
    m.ReadBuffer("hy"),
    m.WriteBuffer("x"),
    m.PoisonBuffers(["y", "workspace"], 255),
    m.Reseed(),
    m.KeepBuffers("zuerst „1“", ["y"]),
    m.CompareBuffers("", []),
    m.ForgetBuffers("a\0b"),
    m.DigestBuffers(["dw"]),
    m.PlanDescribed(["x", "y"], [["l0.forward.input.x.matrix", 5, 3, 2**40]]),
    m.BufferRead(2**40),
    m.BuffersKept({"y": "CuPy is not installed"}),
    m.Compared({"y": {"first": None, "most_ulps": 2**64 - 1, "most_abs": math.inf}}),
    m.Digested({"y": "00ff"}),
    m.CudaFailed("cuInit", 100, "CUDA_ERROR_NO_DEVICE", "none"),
    m.CudnnRefused("cudnnCreate", "NOT_INITIALIZED", 1001, ""),
    m.Refused("load", "„Anführung“\n\0"),
]


def test_every_kind_of_message_is_tried_here() -> None:
    assert {type(message) for message in SAID} == set(m._TYPES.values())


@pytest.mark.parametrize("message", SAID, ids=lambda message: message.kind)
def test_a_message_comes_back_as_it_was(message: m.Message) -> None:
    assert m.decode(m.encode(message)) == message


@pytest.mark.parametrize("frame", [b"{}", b'{"kind": "shout"}', b'{"kind": "Done"}'])
def test_a_frame_of_an_unknown_kind_is_refused(frame: bytes) -> None:
    with pytest.raises(ValueError, match="unknown kind"):
        m.decode(frame)
