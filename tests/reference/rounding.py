"""Recurrent networks as a device computes them: in a narrow type, sums one by one in float32.

Many networks of one shape at once. Shapes  of a step [networks, batch, width], of weights
[networks, rows, cols]. In double it is a third implementation beside the reference and PyTorch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]
Layer = dict[str, Numbers]

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
# The variance of weights times what they add up, of both products: csrc/rnn/weights.cpp.
_GAINS = {"rnn_relu": (1, 1), "rnn_tanh": (0.5, 0.5), "lstm": (11, 1), "gru": (2.75, 1)}
_ULP = {"double": 2.0**-52, "float": 2.0**-23, "half": 2.0**-10, "bfloat16": 2.0**-7}
_MOST_PRODUCTS = 100_000  # that are held at once: no more than a cache takes


@dataclass(frozen=True)
class Arithmetic:
    """How numbers are rounded.

    ``kept``      type of what is stored; "double" rounds nothing.
    ``operands``  of products, before they are multiplied: tf32, truncated (to TensorFloat-32), "".
    ``fault``     what is a little too large in every step: output, state, gate, gradient.
    ``ulps``      by how much, in units of the last place of ``kept``.
    """

    kept: str = "double"
    operands: str = ""
    fault: str = ""
    ulps: float = 0

    @property
    def dtype(self) -> Any:
        return np.float64 if self.kept == "double" else np.float32

    def keep(self, numbers: Numbers) -> Numbers:
        """As they are after they were stored."""
        if self.kept == "half":
            return numbers.astype(np.float16).astype(np.float32)
        return _cut(numbers, 16) if self.kept == "bfloat16" else numbers

    def product(self, rows: Numbers, matrix: Numbers) -> Numbers:
        """Of each row with each row of the matrix, added up one after the other."""
        if self.kept == "double":
            return np.asarray(rows @ matrix.swapaxes(1, 2))
        if self.operands:
            nearest = self.operands == "tf32"
            rows, matrix = (_cut(operand, 13, nearest=nearest) for operand in (rows, matrix))
        networks, count, terms = rows.shape
        found = np.empty((networks, count, matrix.shape[1]), np.float32)
        columns = np.ascontiguousarray(matrix.swapaxes(1, 2))[:, None]
        some = max(1, _MOST_PRODUCTS // (networks * terms * matrix.shape[1]))
        for begin in range(0, count, some):
            part = slice(begin, begin + some)
            # An axis that is not the last is added up in order.
            found[:, part] = (rows[:, part, :, None] * columns).sum(2)
        return found

    def off(self, numbers: Numbers, what: str) -> Numbers:
        """The numbers with the fault, if it is here."""
        if what != self.fault:
            return numbers
        return numbers * numbers.dtype.type(1 + self.ulps * _ULP[self.kept])


def _cut(numbers: Numbers, bits: int, *, nearest: bool = True) -> Numbers:
    """Float32 without its last bits: to the nearest, ties to even, or truncated."""
    whole = np.ascontiguousarray(numbers, np.float32).view(np.uint32)
    if nearest:
        whole = whole + np.uint32((1 << (bits - 1)) - 1) + (whole >> np.uint32(bits) & np.uint32(1))
    return (whole & np.uint32(0x1_0000_0000 - (1 << bits))).view(np.float32)


def _sigmoid(numbers: Numbers) -> Numbers:
    return np.asarray(1 / (1 + np.exp(-numbers)))


@dataclass(frozen=True)
class Shape:
    """Of all networks that are computed at once."""

    cell: str
    networks: int
    steps: int
    batch: int
    inputs: int
    hidden: int
    layers: int

    def words(self) -> dict[str, str]:
        """The problem of one of them."""
        return {
            "cell_mode": self.cell,
            "input_size": str(self.inputs),
            "hidden_size": str(self.hidden),
            "num_layers": str(self.layers),
            "batch_size": str(self.batch),
            "max_seq_length": str(self.steps),
        }


def drawn(shape: Shape, kept: str, seed: int) -> tuple[list[Layer], dict[str, Numbers]]:
    """Weights and inputs as a plan is filled with them: numbers of the type, as float64."""
    draw, n, rows = np.random.default_rng(seed), shape.networks, GATES[shape.cell] * shape.hidden

    def uniform(bound: float, *size: int) -> Numbers:
        numbers = draw.uniform(-bound, bound, (n, *size)).astype(np.float32)
        return Arithmetic("float" if kept == "double" else kept).keep(numbers).astype(np.float64)

    layers = []
    for number in range(shape.layers):
        cols = shape.hidden if number else shape.inputs
        of_x, of_h = _GAINS[shape.cell]
        fan = max(shape.hidden, 64) if shape.cell == "rnn_relu" else shape.hidden
        layers.append(
            {
                "x": uniform(sqrt(3 * of_x / cols), rows, cols),
                "h": uniform(sqrt(3 * of_h / fan), rows, shape.hidden),
                "x_bias": uniform(0.1, rows),
                "h_bias": uniform(0.1, rows),
            }
        )
    states = {
        name: uniform(1, shape.layers, shape.batch, shape.hidden)
        for name in ("hx", "cx", "dhy", "dcy")
    }
    series = {
        "x": uniform(1, shape.steps, shape.batch, shape.inputs),
        "dy": uniform(1, shape.steps, shape.batch, shape.hidden),
    }
    return layers, {**series, **states}


def computed(
    cell: str, layers: list[Layer], given: Mapping[str, Numbers], how: Arithmetic
) -> dict[str, Numbers]:
    """Every tensor of a forward and a backward pass; dw as dw.LAYER.x, .h, .x_bias and .h_bias.

    Of rnn_relu ``nearest``, too: the number nearest to zero that a rectifier gets, a network each.
    """
    layers = [{n: w.astype(how.dtype) for n, w in layer.items()} for layer in layers]
    given = {name: numbers.astype(how.dtype) for name, numbers in given.items()}
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        found, tapes = _forward(cell, layers, given, how)
        return found | _backward(cell, layers, given, tapes, how)


def _forward(
    cell: str, layers: list[Layer], given: Mapping[str, Numbers], how: Arithmetic
) -> tuple[dict[str, Numbers], list[Any]]:
    passing, tapes, last_h, last_c, nearest = given["x"], [], [], [], []
    for number, w in enumerate(layers):
        n, steps, batch, cols = passing.shape
        from_x = how.keep(how.product(passing.reshape(n, -1, cols), w["x"]))
        from_x = from_x.reshape(n, steps, batch, -1) + w["x_bias"][:, None, None]
        h, c = given["hx"][:, number], given["cx"][:, number]
        tape, outputs = [], []
        for step in range(steps):
            a, b = from_x[:, step], how.keep(how.product(h, w["h"])) + w["h_bias"][:, None]
            if cell == "rnn_relu":
                nearest.append(np.abs(a + b).reshape(n, -1).min(1))
            after_h, after_c, kept = _step(cell, a, b, h, c, how)
            tape.append((h, c, kept))
            h, c = after_h, after_c
            outputs.append(h)
        tapes.append((passing, tape))
        last_h.append(h)
        last_c.append(c)
        passing = np.stack(outputs, 1)
    found = {"y": passing, "hy": np.stack(last_h, 1)}
    if cell == "lstm":
        found["cy"] = np.stack(last_c, 1)
    if nearest:
        found["nearest"] = np.stack(nearest).min(0)
    return found, tapes


def _step(
    cell: str, a: Numbers, b: Numbers, h: Numbers, c: Numbers, how: Arithmetic
) -> tuple[Numbers, Numbers, tuple[Numbers, ...]]:
    """h and c after a step, and what the way back needs."""
    if cell.startswith("rnn"):
        out = np.maximum(a + b, 0) if cell == "rnn_relu" else how.off(np.tanh(a + b), "gate")
        out = how.keep(how.off(out, "output"))
        return out, c, (out,)
    if cell == "lstm":
        to_i, to_f, to_g, to_o = np.split(a + b, 4, axis=-1)
        i, f, o = (how.keep(_sigmoid(gate)) for gate in (to_i, to_f, to_o))
        g = how.keep(how.off(np.tanh(to_g), "gate"))
        after = how.keep(how.off(f * c + i * g, "state"))
        return how.keep(how.off(o * np.tanh(after), "output")), after, (i, f, g, o, after)
    x_r, x_z, x_n = np.split(a, 3, axis=-1)
    h_r, h_z, h_n = np.split(b, 3, axis=-1)
    r, z = how.keep(_sigmoid(x_r + h_r)), how.keep(_sigmoid(x_z + h_z))
    new = how.keep(how.off(np.tanh(x_n + r * h_n), "gate"))
    out = how.keep(how.off((1 - z) * new + z * h, "output"))
    return out, c, (r, z, new, how.keep(h_n))


def _backward(
    cell: str,
    layers: list[Layer],
    given: Mapping[str, Numbers],
    tapes: list[Any],
    how: Arithmetic,
) -> dict[str, Numbers]:
    returning, found, dhx, dcx = given["dy"], {}, [], []
    for number in reversed(range(len(layers))):
        w, (inputs, tape) = layers[number], tapes[number]
        n, steps, batch, cols = inputs.shape
        dh, dc = given["dhy"][:, number], given["dcy"][:, number]
        to_x, to_h, before = [], [], []
        for step in reversed(range(steps)):
            h, c, kept = tape[step]
            gates = _step_back(cell, how.keep(returning[:, step] + dh), dc, h, c, kept, how)
            to_x.append(gates[0])
            to_h.append(gates[1])
            before.append(h)
            dh = how.keep(how.product(gates[1], w["h"].swapaxes(1, 2)))
            if gates[2] is not None:
                dh = how.keep(dh + gates[2])
            dh, dc = how.off(dh, "gradient"), gates[3]
        dhx.append(dh)
        dcx.append(dc)
        of_x, of_h, states = (np.stack(part[::-1], 1) for part in (to_x, to_h, before))
        every = {"x": inputs, "h": states, "x_bias": np.ones_like(inputs[..., :1])}
        every["h_bias"] = every["x_bias"]
        for name, operand in every.items():
            gates_of = of_x if name.startswith("x") else of_h
            sums = how.product(*(_columns(part) for part in (gates_of, operand)))
            found[f"dw.{number}.{name}"] = how.keep(sums)
        back = how.product(of_x.reshape(n, steps * batch, -1), w["x"].swapaxes(1, 2))
        returning = how.keep(back).reshape(n, steps, batch, cols)
    found |= {"dx": returning, "dhx": np.stack(dhx[::-1], 1)}
    return found | ({"dcx": np.stack(dcx[::-1], 1)} if cell == "lstm" else {})


def _columns(series: Numbers) -> Numbers:
    """[networks, steps, batch, width] as [networks, width, steps * batch]."""
    return series.reshape(len(series), -1, series.shape[-1]).swapaxes(1, 2)


def _step_back(
    cell: str,
    doutput: Numbers,
    dc: Numbers,
    h: Numbers,
    c: Numbers,
    kept: tuple[Numbers, ...],
    how: Arithmetic,
) -> tuple[Numbers, Numbers, Numbers | None, Numbers]:
    """Gradients of both products, of h beside its product, and of c."""
    if cell.startswith("rnn"):
        (out,) = kept
        gates = how.keep(doutput * ((out > 0) if cell == "rnn_relu" else 1 - out * out))
        return gates, gates, None, dc
    if cell == "lstm":
        i, f, g, o, after = kept
        tanh = np.tanh(after)
        total = how.keep(dc + doutput * o * (1 - tanh * tanh))
        of_i, of_f = total * g * i * (1 - i), total * c * f * (1 - f)
        of_g, of_o = total * i * (1 - g * g), doutput * tanh * o * (1 - o)
        gates = how.keep(np.concatenate((of_i, of_f, of_g, of_o), -1))
        return gates, gates, None, how.keep(total * f)
    r, z, new, recurrent = kept
    of_new = doutput * (1 - z) * (1 - new * new)
    of_r, of_z = of_new * recurrent * r * (1 - r), doutput * (h - new) * z * (1 - z)
    to_x = how.keep(np.concatenate((of_r, of_z, of_new), -1))
    return to_x, how.keep(np.concatenate((of_r, of_z, of_new * r), -1)), doutput * z, dc
