"""Which algorithm PyTorch really handed to cuDNN: read from cuDNN's own log of the calls."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from pyharness.logs import read_logs
from pyharness.logs.variables import DESTINATION, LOG_VARIABLES
from pyharness.peer.client import DEFAULT_TIMEOUT_S, PeerTrouble, TorchPeer
from pyharness.spec.enums import ALGO
from pyharness.spec.problem import Problem
from pyharness.spec.recording import Recording
from pyharness.spec.torch_algo import AlgoQuestion
from pyharness.spec.torch_module import torch_module

_PATIENCE_S = 10.0  # to write the rest of the log


def logged_algos(
    problems: Sequence[Problem], device: str, timeout_s: float = DEFAULT_TIMEOUT_S
) -> list[dict[str, str]]:
    """The algorithm of each stage of these problems, from the log of a peer that runs each once.

    A peer of its own: writing the log would be timed.

    Returns  for each problem stage to the enumerator's name; without the stages that no log shows.
    Raises   UsageError if PyTorch is not there, or has no such device.
    """
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "cudnn.log"
        env = {**LOG_VARIABLES, DESTINATION: str(log)}
        with TorchPeer(device, timeout_s, tuple(env.items())) as peer:
            for problem in problems:
                if peer.alive and not isinstance(peer.prepare(problem), PeerTrouble):
                    peer.sample("forward_inference", "hot", 1)
                    peer.sample("training_step", "hot", 1)
            peer.close(_PATIENCE_S)
        recording = read_logs([log]) if log.exists() else Recording()
    return [algos_of(problem, recording) for problem in problems]


def algos_of(problem: Problem, recording: Recording) -> dict[str, str]:
    """The algorithm of each stage that a log shows of a problem; none where it shows several."""
    seen: dict[str, set[str]] = {}
    asked = _asked(problem)
    for recorded in recording.problems:
        if asked is not None and asked == _asked(recorded.problem):
            algo = ALGO.label(recorded.problem.value("algo"))
            for stage in recorded.stages:
                seen.setdefault(stage, set()).add(algo)
    return {stage: algos.pop() for stage, algos in seen.items() if len(algos) == 1}


def _asked(problem: Problem) -> tuple[AlgoQuestion, tuple[int, ...], tuple[int, ...] | None] | None:
    """What PyTorch makes a call of: the same for a problem and for what it logs of it."""
    module = torch_module(problem, cuda=False)
    if isinstance(module, str):
        return None
    return module.algo_question, problem.shapes["h"], module.lengths
