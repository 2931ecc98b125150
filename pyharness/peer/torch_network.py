"""A module of PyTorch with its tensors, and the clock that its passes are timed by.

PyTorch itself comes in as an argument: only the peer process imports it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pyharness.spec.torch_module import TorchModule

_SEED = 0

Tensors = tuple[Any, ...]


class TorchNetwork:
    """A module and what it is given. x and the states take gradients, as the weights do.

    ``shapes``  of x, y, h and c as they are, in the terms of Problem.shapes.
    """

    def __init__(self, torch: Any, asked: TorchModule, device: Any) -> None:
        self._torch, self._packed = torch, asked.lengths is not None
        torch.manual_seed(_SEED)
        made = {"device": device, "dtype": getattr(torch, asked.dtype)}
        self._module = getattr(torch.nn, asked.name)(**asked.arguments, **made)
        outer = [asked.steps, asked.batch_size]
        if asked.arguments["batch_first"]:
            outer.reverse()
        x = torch.randn((*outer, asked.arguments["input_size"]), **made)
        self._x = x
        if self._packed:
            sequences = torch.nn.utils.rnn
            packed = sequences.pack_padded_sequence(x, torch.tensor(asked.lengths))
            x = packed.data.detach()
            self._x = sequences.PackedSequence(x, packed.batch_sizes)
        states = _states(torch, asked, made)
        self._states = states if len(states) > 1 else next(iter(states), None)
        self._leaves = (x, *states)
        for leaf in self._leaves:
            leaf.requires_grad_()
        with torch.no_grad():
            y, *last = self.forward()
            self._gradients = tuple(torch.randn_like(tensor) for tensor in (y, *last))
        self.shapes = _shapes(asked, x, y, last)

    def forward(self) -> Tensors:
        """Runs the module. Returns  y, hy and, of an LSTM, cy."""
        y, states = self._module(self._x, self._states)
        y = y.data if self._packed else y
        return (y, *states) if isinstance(states, tuple) else (y, states)

    def backward(self, outputs: Tensors) -> None:
        """Every gradient, from those of what a forward pass of training gave."""
        self._torch.autograd.backward(outputs, self._gradients)

    def forget(self) -> None:
        """Gives up the gradients of the last backward pass: the next one does not add to them."""
        self._module.zero_grad(set_to_none=True)
        for leaf in self._leaves:
            leaf.grad = None

    def train(self, mode: bool) -> None:
        """Turns dropout on or off."""
        self._module.train(mode)


def _states(torch: Any, asked: TorchModule, made: dict[str, Any]) -> Tensors:
    """Those given, h and, of an LSTM, c; none where PyTorch is to make them."""
    if not asked.initial_states:
        return ()
    given = asked.arguments
    layers = given["num_layers"] * (2 if given["bidirectional"] else 1)
    widths = [given.get("proj_size") or given["hidden_size"]]
    if asked.name == "LSTM":
        widths.append(given["hidden_size"])
    return tuple(torch.randn((layers, asked.batch_size, width), **made) for width in widths)


def _shapes(asked: TorchModule, x: Any, y: Any, states: list[Any]) -> dict[str, list[int]]:
    """With x and y as steps x batch x width; packed, only the steps that are there have rows."""
    if asked.arguments["batch_first"]:
        x, y = x.transpose(0, 1), y.transpose(0, 1)
    outer = [asked.steps, asked.batch_size] if asked.lengths is not None else list(x.shape[:2])
    shapes = {name: [*outer, t.shape[-1]] for name, t in (("x", x), ("y", y))}
    return shapes | {name: list(t.shape) for name, t in zip("hc", states, strict=False)}


class Clock:
    """Times work on a device: by CUDA events in the stream, or by the host's clock."""

    def __init__(self, torch: Any, device: Any) -> None:
        self._torch, self._cuda = torch, device.type == "cuda"

    def samples(
        self, count: int, work: Callable[[Any], object], before: Callable[[], object]
    ) -> list[float]:
        """Seconds of ``work`` on what ``before`` gave, so many times, back to back.

        On a GPU nothing waits in between; there is an event before and after each.
        """
        marks = []
        for _ in range(count):
            given = before()
            begin = self._mark()
            work(given)
            marks.append((begin, self._mark()))
        if not self._cuda:
            return [end - begin for begin, end in marks]
        self._torch.cuda.synchronize()
        return [begin.elapsed_time(end) / 1e3 for begin, end in marks]

    def _mark(self) -> Any:
        if not self._cuda:
            return time.perf_counter()
        event = self._torch.cuda.Event(enable_timing=True)
        event.record()
        return event
