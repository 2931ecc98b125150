"""Random values for every field that a predicate may name, and a reading of it by Python itself."""

from __future__ import annotations

import math
import random
from functools import cache
from typing import Any

from pyharness.spec.axes import EnumAxis
from pyharness.spec.calls import all_axes
from pyharness.spec.documented.language import Predicate

LENGTHS = [(5, 3, 2), (5, 5, 5), (2, 5), (0, 0), (5, 0), (6, 5), (-1, 5), (5,), (16, 16), (4, 4)]
FLAGS = [True, False]
BEYOND: dict[str, list[Any]] = {
    "add_grad": ["add", "set"],
    "cublas_workspace_config": [":16:8", ":4096:2", ""],
    "compute_capability": [52, 60, 70, 75, 80, 86, 90],
    "multiprocessors": [58, 97, 98, 132],
    "cuda_version": [10010, 10020, 12080],
    "dropout_rate": [0.0, 0.5],
    "recurrent_dropout": [0, 0.5],
    "forward_algo": ["standard", "persist_static"],
    "fwd_mode": ["inference", "training"],
    "sized_fwd_mode": ["inference", "training"],
    "keras_activation": ["tanh", "relu"],
    "keras_recurrent_activation": ["sigmoid", "tanh"],
    "os": ["linux", "windows"],
    "x_data_type": ["float", "half"],
    "y_data_type": ["float", "half"],
    "x_layout": ["seq_major_packed", "seq_major_unpacked"],
    "y_layout": ["seq_major_packed", "seq_major_unpacked"],
    "directions": [1, 2],
    "built_batch": [0, 4, 8],
    "pseudo_layer": [-1, 0, 1, 2, 7],
    "lin_layer_id": [-1, 0, 2, 5, 6, 8, 9],
}
NEVER_NULL = (
    "eager",
    "reset_after",
    "tf32_allowed",
    "unroll",
    "use_bias",
    "backward_data_called",
    "backward_repeated",
    "states_fit",
)


def pool(name: str, predicate: Predicate) -> list[Any]:
    """Values of a field: around every constant that the predicate holds it against."""
    if name in BEYOND:
        return BEYOND[name]
    if name.endswith("_null") or name in (*NEVER_NULL, "mask_right_padded"):
        return FLAGS
    if name.endswith("seq_lengths"):
        return LENGTHS
    axis = all_axes().get(name)
    if axis is not None and not axis.numeric and name != "proj_size":
        # What the predicate names, a name that it does not, and a number that has none.
        named = [n for n in axis.names if n in predicate.constants.get(name, ())]
        others = [n for n in axis.names if n not in named][:1]
        return [*named, *others, *(["-1"] if isinstance(axis, EnumAxis) else [])]
    if name in ("lclip", "rclip"):
        return [-1.0, 0.0, 1.0, math.nan, math.inf]
    edges = {n for n in predicate.constants.get(name, ()) if type(n) is int} | {1, 64}
    return sorted({edge + step for edge in edges for step in (-1, 0, 1)} | {n * 8 for n in edges})


def pools(predicate: Predicate) -> dict[str, list[Any]]:
    """The values of each field that a predicate names."""
    return {name: pool(name, predicate) for name in sorted(predicate.names)}


def draw(values: dict[str, list[Any]], chance: random.Random) -> dict[str, Any]:
    """One value of each field."""
    return {name: chance.choice(some) for name, some in values.items()}


@cache
def compiled(text: str) -> Any:
    """A predicate as Python compiles it."""
    return compile(text, "predicate", "eval")


def by_python(predicate: Predicate, fields: dict[str, Any]) -> bool:
    """The predicate as Python reads it: the other hand, for tests alone."""
    names = {
        "any": any,
        "all": all,
        "min": min,
        "max": max,
        "isnan": math.isnan,
        "sorted": lambda lengths: tuple(sorted(lengths)),
        "descending": lambda lengths: tuple(sorted(lengths, reverse=True)),
    }
    return bool(eval(compiled(predicate.text), {"__builtins__": {}, **names, **fields}))
