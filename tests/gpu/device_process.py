"""Run as a program: problems through the compiled plan on the device, as its parent asks.

A process apart from the one that computes what is right: PyTorch brings a cuDNN of its own.
"""

from __future__ import annotations

import os
import sys
from multiprocessing.connection import Connection
from typing import Any

from pyharness.device import core
from tests.device.planning import PASSES, SETUP, Bench


def through(made: Bench, chosen: dict[str, Any]) -> dict[str, Any]:
    """A problem through every stage.

    Returns  given and found, the buffers by name before and after, found of forward_inference too;
             weights as Plan.weights() has them; broken, guard bands by stage; refused, the stage
             and its last call with the status by name and the reason, None if there was none.
    """
    answer: dict[str, Any] = {"refused": None, "broken": {}}
    with made.plan(chosen) as plan:
        for stage in (*SETUP, *PASSES):
            if stage == PASSES[0]:
                plan.allocate()
                answer["weights"] = plan.weights()
                answer["given"] = {name: plan.read(name) for name in plan.names()}
            call, status, reason = (plan.run(stage) or [("", 0, "")])[-1]
            if status != 0:
                answer["refused"] = (stage, call, made.library.status_name(status), reason)
                break
            if stage in PASSES:
                broken = plan.broken_guards()
                if broken:
                    answer["broken"][stage] = broken
                answer["inference" if stage == PASSES[0] else "found"] = {
                    name: plan.read(name) for name in plan.names() if name != "workspace"
                }
    return answer


def main() -> None:
    """Entry point: ``device_process CONNECTION_FD``."""
    connection = Connection(int(sys.argv[1]))
    made = Bench()
    facts = {"emulated": made.driver.emulated, "cudnn": made.library.version}
    connection.send({**facts, **made.device.facts()})
    errors = (core().CudaError, core().CudnnError, core().OutOfMemory)
    while True:
        try:
            chosen = connection.recv()
        except EOFError:
            os._exit(0)
        try:
            answer = through(made, chosen)
        except errors as error:  # the device may be of no use any more
            connection.send({"raised": f"{type(error).__name__}: {error.args}"})
            os._exit(1)
        connection.send(answer)


if __name__ == "__main__":
    main()
