"""Outputs full of NaN before a pass, so that what it leaves unwritten is seen."""

from __future__ import annotations

import numpy as np

from pyharness.engine.workbench import Workbench
from pyharness.spec.geometry import ELEMENT_BYTES
from pyharness.spec.tensors import WRITTEN

_NAN_BYTE = 0xFF  # each of the four types has a NaN of these bytes


def run_poisoned(bench: Workbench, pass_name: str) -> list[str]:
    """Runs a pass over outputs that are NaN; dw alone begins as zeros: a pass adds to it.

    Returns  the outputs that the pass writes.
    Raises   StageFailed.
    """
    tensors = [t for t in WRITTEN[pass_name] if t in bench.tensors()]
    if poisoned := [t for t in tensors if t != "dw"]:
        bench.poison(poisoned, _NAN_BYTE)
    bench.run(pass_name)
    return tensors


def settle_padding(bench: Workbench, data_type: str) -> None:
    """Zeros where forward training left y as it was poisoned: its padding, if nobody fills that.

    Backward passes read y, and NaN is not what a program has there.
    """
    kept = np.frombuffer(bench.read("y"), np.uint8).reshape(-1, ELEMENT_BYTES[data_type]).copy()
    unwritten = (kept == _NAN_BYTE).all(axis=1)
    if unwritten.any():
        kept[unwritten] = 0
        bench.write("y", kept.tobytes())
