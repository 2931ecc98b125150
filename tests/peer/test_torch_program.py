"""What the peer times of each pass, on a clock that only the network's work moves."""

from __future__ import annotations

from typing import Any

import pytest

from pyharness.peer.client import PEER_PASSES
from pyharness.peer.torch_program import Session
from pyharness.spec import messages as m

FORWARD_S, BACKWARD_S, OTHER_S = 1.0, 16.0, 256.0
SECONDS = {
    "forward_inference": FORWARD_S,
    "forward_training": FORWARD_S,
    "backward": BACKWARD_S,
    "training_step": FORWARD_S + BACKWARD_S,
}


class Stepping:
    """A network whose every deed takes a known time, and which keeps what it was asked."""

    def __init__(self, torch: Any, *_: object) -> None:
        self._torch, self.now = torch, 100.0
        self.shapes = {"x": [1, 1, 1]}
        self.trained: list[bool] = []
        self.graded: list[bool] = []
        self.deeds: list[str] = []

    def forward(self) -> tuple[str, ...]:
        self.now += FORWARD_S
        self.graded.append(self._torch.is_grad_enabled())
        self.deeds.append("forward")
        return ("outputs",)

    def backward(self, outputs: tuple[str, ...]) -> None:
        assert outputs == ("outputs",)
        self.now += BACKWARD_S
        self.deeds.append("backward")

    def forget(self) -> None:
        self.now += OTHER_S
        self.deeds.append("forget")

    def train(self, mode: bool) -> None:
        self.now += OTHER_S
        self.trained.append(mode)


@pytest.mark.parametrize("pass_name", PEER_PASSES)
def test_a_sample_is_the_time_of_its_pass_alone(
    pass_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    made: list[Stepping] = []

    def stepping(*given: object) -> Stepping:
        made.append(Stepping(*given))
        return made[-1]

    monkeypatch.setattr("pyharness.peer.torch_program.TorchNetwork", stepping)
    monkeypatch.setattr("time.perf_counter", lambda: made[-1].now)
    session = Session(torch, torch.device("cpu"))
    assert isinstance(session.answer(m.PrepareModule([])), m.ModulePrepared)
    assert session.answer(m.Sample(pass_name, "hot", 3)) == m.Sampled([SECONDS[pass_name]] * 3)
    training = pass_name != "forward_inference"
    network = made[-1]
    assert network.trained == [training]
    assert set(network.graded) == {training}
    backward = ["backward"] if SECONDS[pass_name] >= BACKWARD_S else []
    assert network.deeds == ["forget", "forward", *backward] * 3
