"""A peer as its parent sees it: problems go out, seconds or what went wrong come back."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from pyharness.engine.process import START_TIMEOUT_S, Launch, Process
from pyharness.errors import HarnessError, UsageError
from pyharness.spec import messages as m
from pyharness.spec.ledger import Death
from pyharness.spec.problem import Problem
from pyharness.spec.stage_results import Outcome
from pyharness.spec.torch_algo import TorchBuild, torch_algo
from pyharness.spec.torch_module import torch_module

PEER_PASSES = ("forward_inference", "forward_training", "backward", "training_step")
DEFAULT_TIMEOUT_S = 60.0
# This package's own folder comes last: what is installed where PyTorch is goes first. What the
# caller's folder holds is not looked at.
_PROGRAM = (
    "import sys; sys.path[:] = filter(None, sys.path); sys.path.append(sys.argv.pop(1)); "
    "from pyharness.peer.torch_program import main; main()"
)
_OUTCOMES: dict[str, Outcome] = {"unsupported": "unsupported", "memory": "out_of_memory"}


@dataclass(frozen=True, slots=True)
class PeerTrouble:
    """Why there is no answer.

    ``outcome``  skipped: the peer cannot express it; unsupported: cuDNN said so to the peer;
                 out_of_memory; failed: an error, or the process ended.
    """

    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True)
class PeerCase:
    """A problem that a peer is ready to time.

    ``shapes``         of x, y, h and c as the peer has them.
    ``algo_forward``   what its own rule chooses; None where it does not call cuDNN.
    ``algo_backward``  the same of the backward pass.
    ``notes``          what it does otherwise than the problem says.
    """

    shapes: dict[str, tuple[int, ...]]
    algo_forward: str | None
    algo_backward: str | None
    notes: tuple[str, ...]


class TorchPeer:
    """PyTorch in a process of its own. Use it in a ``with`` block: leaving it ends the process.

    ``device``  cpu, or cuda with the number of the GPU: cuda:0.
    ``facts``   what PyTorch says of itself and of the device.
    ``env``     variables set on top of ours.

    Raises  UsageError if PyTorch is not there, or has no such device; HarnessError if the process
            ended while it started.
    """

    def __init__(
        self,
        device: str,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        env: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self._device, self._timeout_s = _device_name(device), timeout_s
        root = Path(__file__).resolve().parents[2]
        command = (sys.executable, "-c", _PROGRAM, str(root))
        self._process = Process(Launch(command, self._device, env))
        try:
            self.facts = self._ready(device)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> TorchPeer:
        """The peer itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends the process."""
        self.close()

    @property
    def alive(self) -> bool:
        """Whether the process is there; after its death a new peer is needed."""
        return self._process.alive

    def close(self, patience_s: float = 0.0) -> None:
        """Ends the process, which gets so many seconds to end itself."""
        self._process.close(patience_s)

    def prepare(self, problem: Problem) -> PeerCase | PeerTrouble:
        """Builds the module of a problem, and runs it forwards once."""
        module = torch_module(problem, cuda=self._device != "cpu")
        if isinstance(module, str):
            return PeerTrouble("skipped", module)
        answer = self._ask(
            m.PrepareModule([f"{name}={text}" for name, text in problem.given.items()])
        )
        if isinstance(answer, PeerTrouble):
            return answer
        if not isinstance(answer, m.ModulePrepared):
            raise HarnessError(f"the peer answered {answer.kind} where something else was due")
        build = torch_build(self.facts)
        forward, backward = (
            None if build is None else torch_algo(module.algo_question, build, forward=way)
            for way in (True, False)
        )
        shapes = {name: tuple(shape) for name, shape in answer.shapes.items()}
        return PeerCase(shapes, forward, backward, module.notes)

    def sample(
        self, pass_name: str, mode: str, count: int, expected_s: float = 0.0
    ) -> list[float] | PeerTrouble:
        """Seconds of each of ``count`` executions of a pass of what was prepared last.

        ``pass_name``   one of PEER_PASSES; ``mode`` is hot.
        ``expected_s``  what it should take in all; the time limit comes on top.
        """
        answer = self._ask(m.Sample(pass_name, mode, count), expected_s)
        if isinstance(answer, PeerTrouble):
            return answer
        if not isinstance(answer, m.Sampled):
            raise HarnessError(f"the peer answered {answer.kind} where something else was due")
        return answer.samples_s

    def release(self) -> PeerTrouble | None:
        """Gives back the memory of the device that the last module took."""
        answer = self._ask(m.ClosePlan(memory=True))
        return answer if isinstance(answer, PeerTrouble) else None

    def _ask(self, message: m.Message, expected_s: float = 0.0) -> m.Message | PeerTrouble:
        self._process.send(message)
        answer = self._process.receive(self._timeout_s + expected_s)
        match answer:
            case Death():
                return PeerTrouble("failed", f"the peer ended: {_words(answer)}")
            case m.Refused("request", text):
                raise HarnessError(text)
            case m.Refused(what, text):
                return PeerTrouble(_OUTCOMES.get(what, "failed"), text)
            case _:
                return answer

    def _ready(self, device: str) -> m.PeerReady:
        answer = self._process.receive(START_TIMEOUT_S)
        match answer:
            case m.PeerReady():
                return answer
            case m.Refused("load", text):
                raise UsageError(
                    f"the peer torch cannot be used: {text}",
                    "install it where pyharness is: pip install torch",
                )
            case m.Refused(_, text):
                raise UsageError(
                    f"the peer torch cannot use {device}: {text}",
                    "the device cpu is there on every machine",
                )
            case Death():
                raise HarnessError(f"the peer torch ended while it started: {_words(answer)}")
            case _:
                raise HarnessError(f"the peer answered {answer.kind} to being started")


def torch_build(facts: m.PeerReady) -> TorchBuild | None:
    """What PyTorch's choice of an algorithm depends on; None where it has no cuDNN to call."""
    if facts.cudnn is None or facts.compute_capability is None or facts.multiprocessors is None:
        return None
    major, minor = (int(part) for part in facts.version.split(".")[:2])
    first, second = facts.compute_capability
    return TorchBuild((major, minor), facts.cudnn, (first, second), facts.multiprocessors)


def _device_name(device: str) -> str:
    """A device as PyTorch names it.

    Raises  UsageError if it is none.
    """
    kind, colon, ordinal = device.partition(":")
    if device == "cpu" or (kind == "cuda" and ordinal.isdecimal()):
        return device
    if kind == "cuda" and not colon:
        return "cuda:0"
    raise UsageError(f"{device!r} is no device of a peer", "allowed: cpu, cuda, cuda:1 …")


def _words(death: Death) -> str:
    return f"{death.cause}; {death.output}" if death.output else death.cause
