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
from pyharness.spec.enums import DATA_TYPE, LAYOUT
from pyharness.spec.plan_settings import plan_settings
from pyharness.spec.problem import Problem
from pyharness.spec.seq_lengths import resolve_seq_lengths
from pyharness.spec.stages import STAGES

from .network import Tensors, run
from .problems import network_of, random_words
from .tensors import EPSILON, TINY, numbers, unpacked, valid

_MOST_SAID = 20
_GIVEN = ("x", "dy", "hx", "cx", "dhy", "dcy")


def _weights(plan: Any, data_type: str, buffer: str) -> dict[str, Any]:
    """The weights, or their gradients, by name as [rows, columns]."""
    flat = plan.read(buffer)
    size = {"double": 8, "float": 4}.get(data_type, 2)
    found = {}
    for name, _, _, _, rows, cols, offset in plan.weights():
        part = flat[offset : offset + rows * cols * size]
        found[name] = numbers(part, data_type).reshape(rows, cols)
    return found


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
    settings = plan_settings(problem)
    data_type = DATA_TYPE.label(settings["data_type"])
    layout = LAYOUT.label(settings["layout"])
    steps, batch = settings["max_seq_length"], settings["batch_size"]
    lengths = resolve_seq_lengths(problem.value("seq_lengths"), steps, batch)
    network = network_of(problem)
    plan = core_.Plan(handle, arena, settings)
    try:
        for stage in STAGES[:4]:
            _passed(plan, stage)
        plan.allocate()
        _passed(plan, "build")
        given = {
            n: plan.read(n) for n in plan.names() if n in ("x", "dy", "hx", "cx", "dhy", "dcy")
        }
        weights = _weights(plan, data_type, "w")
        for stage in STAGES[5:]:
            _passed(plan, stage)
            if stage == "forward_inference":
                inference = {n: plan.read(n) for n in ("y", "hy")}
        x, y = problem.widths
        pseudo = network.num_layers * len(network.directions)

        def state(data: bytes | None, width: int) -> Any:
            if data is None:
                return None
            return numbers(data, data_type).reshape(pseudo, batch, width)

        def series(data: bytes, width: int) -> Any:
            return unpacked(numbers(data, data_type), layout, lengths, steps, width)

        null = settings["initial_states"] == 1
        lstm = network.cell_mode == "lstm"
        tensors = Tensors(
            x=series(given["x"], x),
            dy=series(given["dy"], y),
            hx=None if null else state(given["hx"], network.proj_size),
            cx=None if null or not lstm else state(given["cx"], network.hidden_size),
            dhy=state(given["dhy"], network.proj_size),
            dcy=state(given["dcy"], network.hidden_size) if lstm else None,
            lengths=lengths,
        )
        want = run(network, weights, tensors)
        where = problem.command
        for name, width in (("y", y), ("dx", x)):
            found.same(f"{where}: {name}", series(plan.read(name), width), want[name], data_type)
        for name in ("hy", "dhx", "cy", "dcx"):
            if name in want:
                wide = network.hidden_size if name in ("cy", "dcx") else network.proj_size
                found.same(f"{where}: {name}", state(plan.read(name), wide), want[name], data_type)
        for name, value in _weights(plan, data_type, "dw").items():
            found.same(f"{where}: dw.{name}", value, want[f"dw.{name}"], data_type)
        found.same(f"{where}: inference y", series(inference["y"], y), want["y"], data_type)
        if settings["padding_fill"] == 1 and layout != "seq_major_packed":
            flat = numbers(plan.read("y"), data_type)
            shape = (batch, steps, y) if layout == "batch_major_unpacked" else (steps, batch, y)
            shown = flat[: batch * steps * y].reshape(shape)
            by_step = shown.swapaxes(0, 1) if layout == "batch_major_unpacked" else shown
            padding = by_step[~valid(lengths, steps)]
            if (padding != 0).any():  # the plan's fill value
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
