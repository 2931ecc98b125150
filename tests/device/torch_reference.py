"""The same network in PyTorch, float64: its tensors and gradients from a plan's own buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.device.planning import BFLOAT16, DOUBLE, FLOAT, HALF

Array = NDArray[Any]
GATES = {
    0: ("hidden",),
    1: ("hidden",),
    2: ("input", "forget", "cell", "output"),
    3: ("reset", "update", "new"),
}


def numbers(data_type: int, raw: bytes) -> Array:
    """The elements of a buffer in float64."""
    if data_type == BFLOAT16:  # the upper half of a float
        return (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4").astype(np.float64)
    dtype = {FLOAT: "<f4", DOUBLE: "<f8", HALF: "<f2"}[data_type]
    return np.frombuffer(raw, dtype).astype(np.float64)


def weight_arrays(
    weights: Sequence[tuple[str, int, int, str, int, int, int]], space: bytes, data_type: int
) -> dict[str, Array]:
    """Every matrix and bias of a weight space by name."""
    everything, arrays = numbers(data_type, space), {}
    width = len(space) // len(everything)
    for name, _, _, kind, rows, cols, offset in weights:
        assert offset % width == 0
        flat = everything[offset // width :][: rows * cols]
        arrays[name] = flat.reshape(rows, cols) if kind == "matrix" else flat
    return arrays


def reference(
    settings: Mapping[str, Any], given: Mapping[str, Array], weights: Mapping[str, Array]
) -> dict[str, Array]:
    """y, hy, cy, dx, dhx, dcx and the gradient of each weight by its name.

    ``given``  x and dy [steps, batch, width], hx, cx, dhy, dcy [pseudo_layers, batch, width].
    """
    import torch

    torch.set_num_threads(1)  # its threads cost more than these few numbers
    cell, layers = settings["cell_mode"], settings["num_layers"]
    directions = ("forward", "reverse")[: 2 if settings["direction_mode"] else 1]
    projected = settings["proj_size"] != settings["hidden_size"]
    kinds = (torch.nn.RNN, torch.nn.RNN, torch.nn.LSTM, torch.nn.GRU)
    more: dict[str, Any] = {"nonlinearity": ("relu", "tanh")[cell]} if cell < 2 else {}
    if projected:
        more["proj_size"] = settings["proj_size"]
    module = kinds[cell](
        settings["input_size"], settings["hidden_size"], layers,
        bidirectional=len(directions) == 2, dtype=torch.float64, **more,
    )  # fmt: skip
    # Where a parameter of torch comes from: the parts, stacked by gate.
    sources = {}
    for layer in range(layers):
        for direction in directions:
            suffix = f"_l{layer}" + ("_reverse" if direction == "reverse" else "")
            start = f"l{layer}.{direction}"
            for ours, theirs in (("x", "ih"), ("h", "hh")):
                for part, word in (("matrix", "weight"), ("bias", "bias")):
                    names = [f"{start}.{gate}.{ours}.{part}" for gate in GATES[cell]]
                    sources[f"{word}_{theirs}{suffix}"] = names
            if projected:
                sources[f"weight_hr{suffix}"] = [f"{start}.proj.matrix"]
    for name, parameter in module.named_parameters():
        stacked = np.concatenate([weights[part] for part in sources[name]])
        parameter.data.copy_(torch.from_numpy(stacked))

    leaves = {name: torch.from_numpy(given[name].copy()) for name in given}
    inputs = {name: leaves[name].requires_grad_() for name in ("x", "hx", "cx") if name in leaves}
    states = (inputs["hx"], inputs["cx"]) if cell == 2 else inputs["hx"]
    lengths = torch.tensor(settings["seq_lengths"])
    packed = torch.nn.utils.rnn.pack_padded_sequence(inputs["x"], lengths, enforce_sorted=False)
    packed_y, last = module(packed, states)
    y, _ = torch.nn.utils.rnn.pad_packed_sequence(packed_y, total_length=settings["max_seq_length"])
    hy, *cy = last if cell == 2 else (last,)
    outputs, wanted = [y, hy, *cy], [leaves["dy"], leaves["dhy"]]
    if cell == 2:
        wanted.append(leaves["dcy"])
    torch.autograd.backward(outputs, wanted)

    answer = {"y": y, "hy": hy, **dict(zip(("cy",), cy, strict=False))}
    answer |= {f"d{name}": tensor.grad for name, tensor in inputs.items()}
    found = {name: tensor.detach().numpy() for name, tensor in answer.items()}
    for name, parameter in module.named_parameters():
        pieces = np.split(parameter.grad.numpy(), len(sources[name]))
        found |= dict(zip(sources[name], pieces, strict=True))
    return found
