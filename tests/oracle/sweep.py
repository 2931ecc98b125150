"""Run as a program: random problems through the compiled plan, compared with the oracle.

``python -m tests.oracle.sweep LIBCUDNN LIBCUDA COUNT SEED TYPE…`` prints one JSON object: how many
problems and tensors were compared, and every difference. A process apart, because an opened library
stays in its process.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import numpy as np
import torch

from pyharness.device import core
from pyharness.spec.plan_settings import plan_settings
from pyharness.spec.problem import Problem
from pyharness.spec.stages import STAGES

from .answers import INPUTS, Reading
from .problems import random_words
from .tensors import EPSILON, TINY

_MOST_SAID = 20


class Comparison:
    """What was compared, and what differed."""

    def __init__(self) -> None:
        self.problems, self.tensors, self.differences = 0, 0, []  # type: ignore[var-annotated]

    def same(self, where: str, got: Any, want: Any, data_type: str) -> None:
        """Two arrays, up to the rounding of the type: the device computes in float64."""
        self.tensors += 1
        there = ~np.isnan(want)
        bound = np.abs(want) * EPSILON[data_type] + TINY[data_type]
        if data_type == "double":  # other orders of summation
            bound = 1e-11 + np.abs(want) * 1e-11
        with np.errstate(invalid="ignore"):
            bad = there & ~(np.abs(got - want) <= bound)
        if bad.any():
            place = tuple(int(i) for i in np.argwhere(bad)[0])
            self.differences.append(
                f"{where}{list(place)} is {got[place]!r}, should be {want[place]!r}; "
                f"{int(bad.sum())} of {int(there.sum())} differ"
            )


def compare(core_: Any, handle: Any, arena: Any, problem: Problem, found: Comparison) -> None:
    """One problem through every stage, and all its tensors."""
    settings, reading = plan_settings(problem), Reading(problem)
    data_type = reading.data_type
    plan = core_.Plan(handle, arena, settings)
    try:
        for stage in STAGES[:4]:
            _passed(plan, stage)
        plan.allocate()
        _passed(plan, "build")
        given = {n: plan.read(n) for n in plan.names() if n in (*INPUTS, "w")}
        for stage in STAGES[5:]:
            _passed(plan, stage)
            if stage == "forward_inference":
                inference = plan.read("y")
        want = reading.wanted(plan.weights(), given)
        where = problem.command
        for name in ("y", "dx", "hy", "dhx", "cy", "dcx"):
            if name in want:
                got = reading.tensor(name, plan.read(name))
                found.same(f"{where}: {name}", got, want[name], data_type)
        for name, value in reading.weights(plan.weights(), plan.read("dw")).items():
            found.same(f"{where}: dw.{name}", value, want[f"dw.{name}"], data_type)
        found.same(f"{where}: inference y", reading.series("y", inference), want["y"], data_type)
        if (
            settings["padding_fill"] == 1
            and reading.layout != "seq_major_packed"
            and (reading.padding(plan.read("y")) != 0).any()  # the plan's fill value
        ):
            found.differences.append(f"{where}: the padding of y is not filled")
        for word in plan.broken_guards():
            found.differences.append(f"{where}: {word}")
        found.problems += 1
    except Refused as refused:
        found.differences.append(f"{problem.command}: {refused}")
    finally:
        plan.close()


class Refused(Exception):
    """A call that should be accepted is not."""


def _passed(plan: Any, stage: str) -> None:
    for call, status, reason in plan.run(stage):
        if status != 0:
            raise Refused(f"{stage}: {call} {status} {reason}")


def main() -> None:
    """Compares and prints."""
    libcudnn, libcuda, count, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    torch.set_num_threads(1)
    core_ = core()
    library, driver = core_.Library(libcudnn), core_.Driver(libcuda)
    device = core_.Device(driver, 0)
    trace = bytearray(256)
    handle = core_.Handle(library, device, core_.Trace(trace))
    arena = core_.Arena(device)
    found, draw = Comparison(), random.Random(seed)
    for _ in range(count):
        compare(core_, handle, arena, Problem(random_words(draw, sys.argv[5:])), found)
        if len(found.differences) > _MOST_SAID:
            break
    del handle
    arena.release()
    sys.stdout.write(
        json.dumps(
            {
                "problems": found.problems,
                "tensors": found.tensors,
                "differences": found.differences[:_MOST_SAID],
            }
        )
    )


if __name__ == "__main__":
    main()
