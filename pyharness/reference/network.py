"""A recurrent network in float64, forward and backward: what a result should be.

Products go through BLAS. Infinities and NaN are results like others and raise no warning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pyharness.reference.arrays import Array
from pyharness.reference.blocks import Blocks
from pyharness.reference.cells import Clip, cell_of
from pyharness.reference.pseudo_layer import Kept, PseudoLayer
from pyharness.reference.rows import Rows
from pyharness.spec.enums import CLIP_MODE, CLIP_NAN_OPT
from pyharness.spec.geometry import Geometry, geometry
from pyharness.spec.plan_settings import plan_settings
from pyharness.spec.problem import Problem


@dataclass(frozen=True, slots=True)
class Network:
    """What is computed: layers, directions, cells and their limits.

    ``shape``  of the network; the batch in it is not looked at: forward is told its own.
    """

    shape: Geometry
    clip: Clip | None = None

    @classmethod
    def of(cls, problem: Problem) -> Network:
        """The network that a problem describes.

        Raises  UsageError for a problem that describes none, or none that can be run.
        """
        settings = plan_settings(problem)
        if not settings["clip"] or settings["clip_mode"] != CLIP_MODE.parse("minmax"):
            return cls(geometry(problem))
        stays = settings["clip_nan_opt"] == CLIP_NAN_OPT.parse("propagate_nan")
        return cls(geometry(problem), Clip(settings["lclip"], settings["rclip"], stays))

    @property
    def state_widths(self) -> tuple[int, int]:
        """Of h and of c; a cell without a state of its own has one that is 0 wide."""
        cell = self.shape.hidden_size if self.shape.cell_mode == "lstm" else 0
        return self.shape.output_size, cell

    def layer(self, layer: int, weights: Mapping[str, Array]) -> list[PseudoLayer]:
        """The directions of a layer."""
        first = layer * self.shape.directions
        return [
            PseudoLayer(
                cell_of(self.shape.cell_mode, self.clip),
                self.shape.hidden_size,
                Blocks.of(self.shape, first + direction, weights),
                reverse=direction == 1,
            )
            for direction in range(self.shape.directions)
        ]


@dataclass(frozen=True, slots=True)
class Tape:
    """What forward keeps for backward.

    ``masks``  dropout factors of the inputs of layers 1 …, [rows, layer input]; None: none.
    ``kept``   of each pseudo-layer.
    """

    rows: Rows
    masks: list[Array] | None
    kept: list[Kept]


@dataclass(frozen=True, slots=True)
class Forward:
    """y [steps, batch, directions * output_size], nan behind each sequence's end; hy, cy
    [pseudo_layers, batch, width]; cy only of an LSTM; the tape if it was asked for.
    """

    y: Array
    hy: Array
    cy: Array | None
    tape: Tape | None


@dataclass(frozen=True, slots=True)
class Backward:
    """Gradients in the shapes of what they belong to; dx nan behind each sequence's end.

    ``dw``  by the weights' names, [rows, cols].
    """

    dx: Array
    dhx: Array
    dcx: Array | None
    dw: dict[str, Array]


def forward(
    network: Network,
    weights: Mapping[str, Array],
    x: Array,
    lengths: Sequence[int],
    hx: Array | None = None,
    cx: Array | None = None,
    masks: Array | None = None,
    *,
    tape: bool = False,
) -> Forward:
    """Forward, of training with a tape.

    Shapes   weights [rows, cols] by name (spec.geometry); x [steps, batch, input_size], not read
             behind a sequence's end; lengths 0 to steps; hx [pseudo_layers, batch, output_size],
             cx [.., hidden_size], None for zeros; masks [num_layers - 1, steps, batch, directions *
             output_size], what each layer's output but the last's is multiplied with.
    Raises   ValueError for a weight that is missing, or an array of another shape.
    """
    shape, (steps, batch) = network.shape, x.shape[:2]
    _check("x", x, (steps, len(lengths), shape.input_size))
    width = shape.output_size * shape.directions
    if masks is not None:
        _check("masks", masks, (shape.num_layers - 1, steps, batch, width))
    rows = Rows(lengths, steps)
    first_h, first_c = _states(network, batch, hx=hx, cx=cx)
    dropped = None if masks is None else [rows.gather(mask) for mask in masks]
    kept: list[Kept] = []
    last_h: list[Array] = []
    last_c: list[Array] = []
    passing = rows.gather(x)
    with np.errstate(over="ignore", invalid="ignore"):
        for number in range(shape.num_layers):
            if number > 0 and dropped is not None:
                passing = passing * dropped[number - 1]
            outputs = []
            for one in network.layer(number, weights):
                at = len(last_h)
                passed = one.forward(rows, passing, first_h[at], first_c[at])
                outputs.append(passed.outputs)
                last_h.append(passed.h)
                last_c.append(passed.c)
                if tape:
                    kept.append(passed.kept)
            passing = np.concatenate(outputs, axis=1)
    return Forward(
        rows.scatter(passing),
        np.stack(last_h),
        np.stack(last_c) if shape.cell_mode == "lstm" else None,
        Tape(rows, dropped, kept) if tape else None,
    )


def backward(
    network: Network,
    weights: Mapping[str, Array],
    forward: Forward,
    dy: Array,
    dhy: Array | None = None,
    dcy: Array | None = None,
) -> Backward:
    """Backward, to the data and to the weights.

    Shapes   dy as y, not read behind a sequence's end; dhy as hy and dcy as cy, None for zeros.
    Raises   ValueError if forward has no tape, or for an array of another shape.
    """
    shape, tape = network.shape, forward.tape
    if tape is None:
        raise ValueError("forward was not asked for a tape: tape=True")
    _check("dy", dy, forward.y.shape)
    rows = tape.rows
    dh, dc = _states(network, len(rows.lengths), dhy=dhy, dcy=dcy)
    dw: dict[str, Array] = {}
    returning = rows.gather(dy)
    with np.errstate(over="ignore", invalid="ignore"):
        for number in reversed(range(shape.num_layers)):
            sides = np.split(returning, shape.directions, axis=1)
            returning = np.zeros((rows.count, shape.layer_input(number)))
            for direction, one in enumerate(network.layer(number, weights)):
                at = number * shape.directions + direction
                found = one.backward(rows, tape.kept[at], sides[direction], dh[at], dc[at])
                returning += found.dinputs
                dh[at], dc[at] = found.dh, found.dc
                dw |= found.dweights.named(shape, at)
            if number > 0 and tape.masks is not None:
                returning *= tape.masks[number - 1]
    named = {weight.name: dw[weight.name] for weight in shape.weights}  # in the weights' order
    return Backward(rows.scatter(returning), dh, dc if shape.cell_mode == "lstm" else None, named)


def _states(network: Network, batch: int, **given: Array | None) -> list[Array]:
    """Both states to start from, a copy each, zeros where there is none."""
    made = []
    for (name, state), width in zip(given.items(), network.state_widths, strict=True):
        shape = (network.shape.pseudo_layers, batch, width)
        if state is None or width == 0:
            made.append(np.zeros(shape))
        else:
            _check(name, state, shape)
            made.append(np.array(state, np.float64))
    return made


def _check(name: str, array: Array, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ValueError(f"{name} is {array.shape}, should be {shape}")
