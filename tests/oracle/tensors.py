"""Device buffers as float64 arrays [steps, batch, width], and what of them counts.

Written apart from the harness and the emulator: both are checked with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
EPSILON = {"double": 2.0**-52, "float": 2.0**-23, "half": 2.0**-10, "bfloat16": 2.0**-7}
TINY = {"double": 2.0**-1074, "float": 2.0**-149, "half": 2.0**-24, "bfloat16": 2.0**-133}


def numbers(data: bytes, data_type: str) -> Array:
    """The values of a buffer, flat."""
    if data_type == "bfloat16":
        bits = np.frombuffer(data, np.uint16).astype(np.uint32) << 16
        return bits.view(np.float32).astype(np.float64)
    kind = {"double": np.float64, "float": np.float32, "half": np.float16}[data_type]
    return np.frombuffer(data, kind).astype(np.float64)


def valid(lengths: Sequence[int], steps: int) -> NDArray[np.bool_]:
    """[steps, batch]: where a sequence still has a step."""
    return np.arange(steps)[:, None] < np.array(lengths)[None, :]


def unpacked(flat: Array, layout: str, lengths: Sequence[int], steps: int, width: int) -> Array:
    """A data tensor as [steps, batch, width]; nan where there is no step of a sequence."""
    batch = len(lengths)
    there = valid(lengths, steps)
    if layout == "seq_major_packed":
        out = np.full((steps, batch, width), np.nan)
        out[there] = flat[: there.sum() * width].reshape(-1, width)
        return out
    if layout == "batch_major_unpacked":
        out = flat[: batch * steps * width].reshape(batch, steps, width).swapaxes(0, 1).copy()
    else:
        out = flat[: batch * steps * width].reshape(steps, batch, width).copy()
    out[~there] = np.nan
    return out
