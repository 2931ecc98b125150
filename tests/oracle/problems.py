"""Random problems that the calls of a GPU accept, and the network that each describes."""

from __future__ import annotations

import random
from collections.abc import Sequence

from pyharness.spec.axes import resolve_proj_size
from pyharness.spec.enums import BIAS_MODE, CELL_MODE
from pyharness.spec.problem import Problem

from .network import Network

MATH_PREC = {"float": "float", "double": "double", "half": "float", "bfloat16": "float"}
_EQUAL_ONLY = ("persist_static", "persist_static_small_h")


def random_words(draw: random.Random, data_types: Sequence[str]) -> dict[str, str]:
    """A small problem of any cell, layout and lengths, and of one of these types, as words.

    Only what documents say is accepted: that others are refused is for other tests.
    """
    algo = draw.choice(["standard"] * 5 + ["persist_dynamic", *_EQUAL_ONLY])
    persistent = algo != "standard"
    cell = draw.choice([m.name for m in CELL_MODE.members])
    hidden = draw.randint(1, 6)
    skip = draw.random() < 0.2
    data_type = draw.choice(data_types)
    if algo in _EQUAL_ONLY and data_type == "double":
        data_type = "float"
    bias_modes = ["double_bias"] if persistent else [m.name for m in BIAS_MODE.members]
    directions = ["unidirectional"] if persistent else ["unidirectional", "bidirectional"]
    words = {
        "algo": algo,
        "cell_mode": cell,
        "bias_mode": draw.choice(bias_modes),
        "direction_mode": draw.choice(directions),
        "input_mode": "skip_input" if skip else "linear_input",
        "data_type": data_type,
        "math_prec": MATH_PREC[data_type],
        "input_size": str(hidden if skip else draw.randint(1, 6)),
        "hidden_size": str(hidden),
        "num_layers": str(draw.randint(1, 3)),
        "initial_states": draw.choice(["given", "given", "null"]),
        "seed": str(draw.randint(0, 1 << 20)),
        "padding_fill": draw.choice(["null", "given"]),
        **_batch(draw, algo),
    }
    if cell == "lstm" and not persistent and hidden > 1 and draw.random() < 0.4:
        words["proj_size"] = str(draw.randint(1, hidden - 1))
    if cell == "lstm" and draw.random() < 0.2:
        words |= {"clip_mode": "minmax", "lclip": "-0.25", "rclip": "0.3125"}
    return words


def _batch(draw: random.Random, algo: str) -> dict[str, str]:
    layout = draw.choice(["seq_major_unpacked", "seq_major_packed", "batch_major_unpacked"])
    batch, steps = draw.randint(1, 4), draw.randint(1, 6)
    lengths = [steps] * batch
    if algo not in _EQUAL_ONLY:
        lengths = sorted((draw.randint(1, steps) for _ in range(batch)), reverse=True)
        if layout != "seq_major_packed":  # new releases want a packed batch to be as long as it is
            draw.shuffle(lengths)
            steps = max(lengths) + draw.choice([0, 0, 1])
    return {
        "layout": layout,
        "seq_lengths": f"[{','.join(map(str, lengths))}]",
        "batch_size": str(batch),
        "max_seq_length": str(steps if layout != "seq_major_packed" else max(lengths)),
    }


def network_of(problem: Problem) -> Network:
    """The network that a problem describes."""
    hidden = problem.value("hidden_size")
    clip = None
    if problem.given.get("clip_mode") == "minmax":
        clip = (float(problem.given["lclip"]), float(problem.given["rclip"]))
    return Network(
        cell_mode=CELL_MODE.label(problem.value("cell_mode")),
        bias_mode=BIAS_MODE.label(problem.value("bias_mode")),
        bidirectional=problem.value("direction_mode") == 1,
        skip_input=problem.value("input_mode") == 1,
        input_size=problem.value("input_size"),
        hidden_size=hidden,
        proj_size=resolve_proj_size(problem.value("proj_size"), hidden),
        num_layers=problem.value("num_layers"),
        clip=clip,
    )
