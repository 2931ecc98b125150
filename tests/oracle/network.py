"""A recurrent network in PyTorch, float64 on the CPU, with PyTorch's gradients.

What torch.nn has is computed by torch.nn; the rest (skip input, single biases, clipping) by the
manual's equations, step by step, with autograd. A test compares the two where both can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

Array = NDArray[np.float64]
GATES = {
    "lstm": ("input", "forget", "cell", "output"),
    "gru": ("reset", "update", "new"),
    "rnn_relu": ("hidden",),
    "rnn_tanh": ("hidden",),
}


@dataclass(frozen=True, slots=True)
class Network:
    """What a network is; proj_size equal to hidden_size is no projection."""

    cell_mode: str
    bias_mode: str = "double_bias"
    bidirectional: bool = False
    skip_input: bool = False
    input_size: int = 4
    hidden_size: int = 4
    proj_size: int = 4
    num_layers: int = 1
    clip: tuple[float, float] | None = None

    @property
    def projects(self) -> bool:
        """Whether h is narrower than the cell."""
        return self.proj_size != self.hidden_size

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions of each layer, in order."""
        return ("forward", "reverse") if self.bidirectional else ("forward",)

    @property
    def in_torch(self) -> bool:
        """Whether torch.nn has such a network."""
        return (
            not self.skip_input
            and self.clip is None
            and self.bias_mode in ("no_bias", "double_bias")
        )


@dataclass(frozen=True, slots=True)
class Tensors:
    """x, dy [steps, batch, width]; hx, cx, dhy, dcy [pseudo-layers, batch, width] or None."""

    x: Array
    dy: Array
    hx: Array | None
    cx: Array | None
    dhy: Array
    dcy: Array | None
    lengths: Sequence[int]


def run(
    network: Network, weights: Mapping[str, Array], given: Tensors, *, by_steps: bool | None = None
) -> dict[str, Array]:
    """Forward and backward.

    ``weights``   by name, l{layer}.{direction}.{gate}.{x|h}.{matrix|bias}.
    ``by_steps``  by the equations; None: where torch.nn cannot.
    Returns       y, hy, cy, dx, dhx, dcx, and dw.NAME for each weight; nan past a sequence's end.
    """
    w = {n: torch.tensor(v, dtype=torch.float64, requires_grad=True) for n, v in weights.items()}
    there = np.arange(len(given.x))[:, None] < np.array(given.lengths)[None, :]
    x = torch.tensor(np.where(there[..., None], given.x, 0.0), requires_grad=True)
    width = network.proj_size
    states = (len(network.directions) * network.num_layers, x.shape[1])
    hx = _state(given.hx, (*states, width))
    cx = _state(given.cx, (*states, network.hidden_size))
    slow = not network.in_torch if by_steps is None else by_steps
    # torch.nn takes no sequence of length 0
    slow = slow or min(given.lengths) == 0
    y, hy, cy = (_by_steps if slow else _by_module)(network, w, x, hx, cx, given.lengths)
    zero = torch.zeros((), dtype=torch.float64)
    loss = zero + (y * torch.tensor(np.where(there[..., None], given.dy, 0.0))).sum()
    loss = loss + (hy * torch.tensor(given.dhy)).sum()
    if cy is not None and given.dcy is not None:
        loss = loss + (cy * torch.tensor(given.dcy)).sum()
    loss.backward()  # type: ignore[no-untyped-call]
    found = {"y": y, "hy": hy, "dx": x.grad, "dhx": hx.grad}
    if cy is not None:
        found |= {"cy": cy, "dcx": cx.grad}
    found |= {f"dw.{n}": t.grad if t.grad is not None else t * 0 for n, t in w.items()}
    arrays = {n: t.detach().numpy().copy() for n, t in found.items() if t is not None}
    for name in ("y", "dx"):
        arrays[name][~there] = np.nan
    return arrays


def _state(given: Array | None, shape: tuple[int, int, int]) -> torch.Tensor:
    value = np.zeros(shape) if given is None else given
    return torch.tensor(value, dtype=torch.float64, requires_grad=True)


_Result = tuple[torch.Tensor, torch.Tensor, "torch.Tensor | None"]


def _by_module(
    network: Network,
    w: Mapping[str, torch.Tensor],
    x: torch.Tensor,
    hx: torch.Tensor,
    cx: torch.Tensor,
    lengths: Sequence[int],
) -> _Result:
    sizes = {"num_layers": network.num_layers, "bidirectional": network.bidirectional}
    sizes |= {"bias": network.bias_mode != "no_bias", "dtype": torch.float64}
    size = (network.input_size, network.hidden_size)
    module: torch.nn.RNNBase
    if network.cell_mode == "lstm":
        proj = network.proj_size if network.projects else 0
        module = torch.nn.LSTM(*size, proj_size=proj, **sizes)  # type: ignore[arg-type]
    elif network.cell_mode == "gru":
        module = torch.nn.GRU(*size, **sizes)  # type: ignore[arg-type]
    else:
        kind = network.cell_mode.removeprefix("rnn_")
        module = torch.nn.RNN(*size, nonlinearity=kind, **sizes)  # type: ignore[arg-type]
    parameters: dict[str, torch.Tensor] = {}
    for layer in range(network.num_layers):
        for direction in network.directions:
            at = f"l{layer}.{direction}"
            suffix = f"_l{layer}" + ("_reverse" if direction == "reverse" else "")
            gates = GATES[network.cell_mode]
            for ours, theirs in (("x", "ih"), ("h", "hh")):
                parameters[f"weight_{theirs}{suffix}"] = torch.cat(
                    [w[f"{at}.{g}.{ours}.matrix"] for g in gates]
                )
                if network.bias_mode == "double_bias":
                    parameters[f"bias_{theirs}{suffix}"] = torch.cat(
                        [w[f"{at}.{g}.{ours}.bias"].reshape(-1) for g in gates]
                    )
            if network.projects:
                parameters[f"weight_hr{suffix}"] = w[f"{at}.proj.matrix"]
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor(lengths), enforce_sorted=False)
    state = (hx, cx) if network.cell_mode == "lstm" else hx
    out, last = torch.func.functional_call(module, parameters, (packed, state))
    y, _ = torch.nn.utils.rnn.pad_packed_sequence(out, total_length=len(x))
    return (y, *last) if network.cell_mode == "lstm" else (y, last, None)


def _by_steps(
    network: Network,
    w: Mapping[str, torch.Tensor],
    x: torch.Tensor,
    hx: torch.Tensor,
    cx: torch.Tensor,
    lengths: Sequence[int],
) -> _Result:
    rows = [[x[t, b] for t in range(n)] for b, n in enumerate(lengths)]
    last_h, last_c = [], []
    for layer in range(network.num_layers):
        outputs: list[list[list[torch.Tensor]]] = []
        for direction in network.directions:
            place = layer * len(network.directions) + len(outputs)
            found, ends_h, ends_c = [], [], []
            for b, row in enumerate(rows):
                h, c = hx[place, b], cx[place, b]
                steps = []
                for one in row if direction == "forward" else reversed(row):
                    h, c = _step(network, w, f"l{layer}.{direction}", layer, one, h, c)
                    steps.append(h)
                found.append(steps if direction == "forward" else steps[::-1])
                ends_h.append(h)
                ends_c.append(c)
            outputs.append(found)
            last_h.append(torch.stack(ends_h))
            last_c.append(torch.stack(ends_c))
        rows = [
            [torch.cat(parts) for parts in zip(*each, strict=True)]
            for each in zip(*outputs, strict=True)
        ]
    width = network.proj_size * len(network.directions)
    y = torch.stack(
        [
            torch.stack([*row, *[torch.zeros(width, dtype=torch.float64)] * (len(x) - len(row))])
            for row in rows
        ],
        dim=1,
    )
    return y, torch.stack(last_h), torch.stack(last_c) if network.cell_mode == "lstm" else None


def _step(
    network: Network,
    w: Mapping[str, torch.Tensor],
    at: str,
    layer: int,
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    def given(gate: str) -> torch.Tensor:
        through = x if network.skip_input and layer == 0 else w[f"{at}.{gate}.x.matrix"] @ x
        bias = w.get(f"{at}.{gate}.x.bias")
        return through if bias is None else through + bias.reshape(-1)

    def recurrent(gate: str) -> torch.Tensor:
        through = w[f"{at}.{gate}.h.matrix"] @ h
        bias = w.get(f"{at}.{gate}.h.bias")
        return through if bias is None else through + bias.reshape(-1)

    if network.cell_mode == "lstm":
        i, f, g, o = (given(n) + recurrent(n) for n in GATES["lstm"])
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        if network.clip is not None:
            c = torch.clamp(c, *network.clip)
        h = torch.sigmoid(o) * torch.tanh(c)
        return (w[f"{at}.proj.matrix"] @ h if network.projects else h), c
    if network.cell_mode == "gru":
        r = torch.sigmoid(given("reset") + recurrent("reset"))
        z = torch.sigmoid(given("update") + recurrent("update"))
        new = torch.tanh(given("new") + r * recurrent("new"))
        return (1 - z) * new + z * h, c
    total = given("hidden") + recurrent("hidden")
    return (torch.relu(total) if network.cell_mode == "rnn_relu" else torch.tanh(total)), c
