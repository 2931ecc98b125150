"""What the peer times: gradients of everything, and a clock that counts the right part."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pyharness.peer.torch_network import Clock, TorchNetwork
from pyharness.spec.problem import parse_problem
from pyharness.spec.torch_module import TorchModule, torch_module

SMALL = "input_size=4 hidden_size=3 max_seq_length=4 batch_size=2"


def network(text: str) -> tuple[Any, TorchNetwork]:
    import torch

    asked = torch_module(parse_problem(f"{SMALL} {text}".split()), cuda=False)
    assert isinstance(asked, TorchModule), asked
    return torch, TorchNetwork(torch, asked, torch.device("cpu"))


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        ("", ["x", "h", "c"]),
        ("cell_mode=gru", ["x", "h"]),
        ("initial_states=null", ["x"]),
        ("layout=seq_major_packed seq_lengths=[4,2]", ["x", "h", "c"]),
    ],
)
def test_backward_gives_every_gradient_and_forget_none(text: str, leaves: list[str]) -> None:
    torch, net = network(text)
    of_all = [*net._leaves, *net._module.parameters()]
    assert len(net._leaves) == len(leaves)
    net.backward(net.forward())
    once = [leaf.grad.clone() for leaf in of_all]
    assert all(grad.abs().sum() > 0 for grad in once)
    net.forget()
    assert all(leaf.grad is None for leaf in of_all)
    net.backward(net.forward())  # as much again, not twice as much
    assert all(torch.equal(a, leaf.grad) for a, leaf in zip(once, of_all, strict=True))


def test_a_packed_batch_has_the_steps_of_its_lengths_only() -> None:
    _, net = network("layout=seq_major_packed seq_lengths=[4,2]")
    assert net._leaves[0].shape == (6, 4)
    assert net.shapes["x"] == [4, 2, 4]
    y, *_ = net.forward()
    assert y.shape == (6, 3)


def test_the_same_problem_has_the_same_numbers() -> None:
    torch, first = network("")
    _, second = network("")
    assert torch.equal(first.forward()[0], second.forward()[0])


class FakeCuda:
    """A GPU whose time is what was enqueued; events fall into the stream."""

    def __init__(self) -> None:
        self.now_ms = 100.0
        self.waits = 0
        outer = self

        class Event:
            def __init__(self, enable_timing: bool) -> None:
                assert enable_timing

            def record(self) -> None:
                self.at = outer.now_ms

            def elapsed_time(self, end: Event) -> float:
                assert outer.waits, "read before the stream was through"
                return end.at - self.at

        self.Event = Event

    def synchronize(self) -> None:
        self.waits += 1


def test_a_gpu_is_timed_back_to_back_without_what_comes_before() -> None:
    cuda = FakeCuda()
    clock = Clock(SimpleNamespace(cuda=cuda), SimpleNamespace(type="cuda"))
    costs = iter([3.0, 1.5, 2.0])

    def before() -> float:
        cuda.now_ms += 40
        return next(costs)

    def work(cost: float) -> None:
        assert cuda.waits == 0
        cuda.now_ms += cost

    assert clock.samples(3, work, before) == pytest.approx([3e-3, 1.5e-3, 2e-3])
    assert cuda.waits == 1


def test_a_cpu_is_timed_without_what_comes_before(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [5.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    clock = Clock(None, SimpleNamespace(type="cpu"))

    def advance(seconds: float) -> None:
        now[0] += seconds

    samples = clock.samples(2, lambda _: advance(0.25), lambda: advance(7))
    assert samples == pytest.approx([0.25, 0.25])
