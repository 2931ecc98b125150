"""PyTorch as a side of a bench: its passes, what it cannot do, and its death."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pyharness.api import bench_torch
from pyharness.api.bench_torch import TorchTimer
from pyharness.engine.timed_case import TimedCase
from pyharness.peer.client import PeerCase, PeerTrouble
from pyharness.spec.messages import PeerReady
from pyharness.spec.problem import Problem
from pyharness.spec.timed import TIMED_PASSES
from tests.api.bench_scene import named, options

FACTS = PeerReady("2.13.0+cu130", "13.0", 92000, "H200", 4, [9, 0], 132)


class Peer:
    """A peer that only plays: each process answers its samples by a script, until it has ended."""

    made: list[Peer]
    scripts: list[list[float | PeerTrouble]]
    said: list[str]

    def __init__(self, device: str) -> None:
        self.facts = FACTS
        self.alive = True
        self.script = self.scripts.pop(0)
        self.made.append(self)
        self.said.append(f"start {device}")

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.said.append("end")

    def prepare(self, problem: Problem) -> PeerCase | PeerTrouble:
        if "hidden_size=1" in problem.command.split():
            return PeerTrouble("out_of_memory", "no room")
        self.said.append("prepare")
        return PeerCase({}, "standard", "persist_static", ("biases are added",))

    def sample(self, pass_name: str, mode: str, count: int, expected_s: float = 0.0) -> Any:
        assert mode == "hot"
        answer = self.script.pop(0) if self.script else 1e-3
        if isinstance(answer, PeerTrouble):
            self.alive = "ended" not in answer.reason
            return answer
        return [answer] * count

    def release(self) -> None:
        self.said.append("release")


@pytest.fixture
def timer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., TorchTimer]]:
    """A side whose processes follow these scripts."""

    def start(*scripts: list[float | PeerTrouble], **more: Any) -> TorchTimer:
        monkeypatch.setattr(Peer, "made", [], raising=False)
        monkeypatch.setattr(Peer, "said", [], raising=False)
        monkeypatch.setattr(Peer, "scripts", list(scripts), raising=False)
        monkeypatch.setattr(bench_torch, "TorchPeer", Peer)
        logged = more.pop("logged", {})
        monkeypatch.setattr(bench_torch, "logged_algos", lambda some, _: [logged] * len(some))
        return TorchTimer("cuda:0", options(more.pop("passes", TIMED_PASSES), **more))

    yield start
    assert Peer.scripts == []


def told(case: TimedCase) -> list[tuple[str, str, str | None]]:
    return [(t.pass_name, t.result.outcome, t.result.reason) for t in case.timings]


def test_the_log_is_believed_before_the_rule(timer: Callable[..., TorchTimer]) -> None:
    side = timer([], logged={"forward_inference": "persist_dynamic", "backward_data": "standard"})
    (case,) = side.cases(named("").problems)
    side.close()
    assert dict(case.algo) == {
        "forward_inference": "persist_dynamic",
        "forward_training": "standard",  # by the rule
        "backward": "standard",
        "training_step": "standard",
    }


def test_one_backward_for_both_and_the_algo_of_each(timer: Callable[..., TorchTimer]) -> None:
    side = timer([])
    assert side.side.release == "torch 2.13.0+cu130, cuDNN 9.20.0"
    (case,) = side.cases(named("").problems)
    assert [(t.pass_name, t.mode) for t in case.timings] == [
        (name, "hot")
        for name in ("forward_inference", "forward_training", "backward", "training_step")
    ]
    assert dict(case.algo) == {
        "forward_inference": "standard",
        "forward_training": "standard",
        "backward": "persist_static",
        "training_step": "standard, persist_static",
    }
    assert (case.stages, case.notes) == (None, ("biases are added",))
    assert "release" not in Peer.said  # nobody else needs the memory


def test_memory_is_given_back_where_others_take_turns(timer: Callable[..., TorchTimer]) -> None:
    list(timer([], shared=True).cases(named("", "seed=1").problems))
    assert Peer.said == ["start cuda:0", "prepare", "release", "prepare", "release"]


def test_a_death_is_one_failed_row_and_the_next_case_has_a_new_process(
    timer: Callable[..., TorchTimer],
) -> None:
    death = PeerTrouble("failed", "the peer ended: SIGSEGV")
    passes = ("forward_inference", "forward_training", "training_step")
    side = timer([1e-3, 1e-3, 1e-3, death], [], passes=passes)
    one, two = side.cases(named("", "seed=1").problems)
    assert told(one) == [
        ("forward_inference", "passed", None),
        ("forward_training", "failed", "the peer ended: SIGSEGV"),
        ("training_step", "skipped", "the peer's process had ended"),
    ]
    assert {outcome for _, outcome, _ in told(two)} == {"passed"}
    assert Peer.said == ["start cuda:0", "prepare", "end", "start cuda:0", "prepare"]


def test_what_it_refuses_is_of_its_pass(timer: Callable[..., TorchTimer]) -> None:
    no_room = PeerTrouble("out_of_memory", "CUDA out of memory")
    side = timer([no_room], passes=("forward_inference", "forward_training"))
    (case,) = side.cases(named("").problems)
    assert told(case) == [
        ("forward_inference", "out_of_memory", "CUDA out of memory"),
        ("forward_training", "passed", None),
    ]


def test_what_it_cannot_prepare_is_said_of_every_pass(timer: Callable[..., TorchTimer]) -> None:
    (case,) = timer([]).cases(named("hidden_size=1", rest="batch_size=2").problems)
    assert {told_of[1:] for told_of in told(case)} == {("out_of_memory", "no room")}
