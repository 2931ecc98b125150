"""What follows from a problem's sizes: gates, weights, computed steps, bytes of tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pyharness.errors import UsageError
from pyharness.spec.axes import resolve_proj_size
from pyharness.spec.enums import (
    BIAS_MODE,
    CELL_MODE,
    DATA_TYPE,
    DIRECTION_MODE,
    INPUT_MODE,
    LAYOUT,
    EnumType,
)
from pyharness.spec.problem import Problem
from pyharness.spec.seq_lengths import resolve_seq_lengths

# The types that RNN data may have, in bytes of one element.
ELEMENT_BYTES = {"float": 4, "double": 8, "half": 2, "bfloat16": 2}
# Gates in the order of cuDNN's linear-layer ids: first those on x, then the same on h.
GATE_NAMES = {
    "rnn_relu": ("hidden",),
    "rnn_tanh": ("hidden",),
    "lstm": ("input", "forget", "cell", "output"),
    "gru": ("reset", "update", "new"),
}
_DIRECTIONS = ("forward", "reverse")


@dataclass(frozen=True, slots=True)
class Weight:
    """One matrix or bias of one gate.

    ``name``          l{layer}.{forward|reverse}.{gate}.{x|h}.{matrix|bias}, or
                      l{layer}.{forward|reverse}.proj.matrix.
    ``pseudo_layer``  layer * directions + direction.
    ``lin_layer_id``  cuDNN's number of the gate within its pseudo-layer.
    """

    name: str
    pseudo_layer: int
    lin_layer_id: int
    kind: Literal["matrix", "bias"]
    rows: int
    cols: int

    @property
    def count(self) -> int:
        """Its elements."""
        return self.rows * self.cols


@dataclass(frozen=True)
class Geometry:
    """A problem's network and batch as plain numbers, all of which can be computed with.

    ``output_size``    width of h and of one direction of y: proj_size if projected.
    ``lengths``        one for each sequence, 0 to max_seq_length.
    ``element_bytes``  of data and weights.
    """

    cell_mode: str
    bias_mode: str
    layout: str
    directions: int
    num_layers: int
    input_size: int
    hidden_size: int
    output_size: int
    skip_input: bool
    max_seq_length: int
    lengths: tuple[int, ...]
    element_bytes: int

    @property
    def gates(self) -> int:
        """Gates of the cell: LSTM 4, GRU 3, RNN 1."""
        return len(GATE_NAMES[self.cell_mode])

    @property
    def pseudo_layers(self) -> int:
        """Layers times directions."""
        return self.num_layers * self.directions

    @property
    def projects(self) -> bool:
        """Whether h is narrower than the cell: a matrix [output_size, hidden_size] each."""
        return self.output_size != self.hidden_size

    @property
    def batch_size(self) -> int:
        """Sequences in the batch."""
        return len(self.lengths)

    @cached_property
    def steps(self) -> int:
        """Time steps that are computed, over all sequences: padding is none."""
        return sum(self.lengths)

    @property
    def stored_steps(self) -> int:
        """Time steps that x and y have room for: the packed layout holds no padding."""
        packed = self.layout == "seq_major_packed"
        return self.steps if packed else self.max_seq_length * self.batch_size

    def layer_input(self, layer: int) -> int:
        """Width of what a layer reads: x, or both directions of the layer below."""
        return self.input_size if layer == 0 else self.output_size * self.directions

    def has_input_matrix(self, layer: int) -> bool:
        """Whether a layer multiplies what it reads: with skip_input the first one adds it as is."""
        return layer > 0 or not self.skip_input

    @property
    def bias_sources(self) -> tuple[str, ...]:
        """Which of x and h have a bias in each gate."""
        return {
            "no_bias": (),
            "single_inp_bias": ("x",),
            "double_bias": ("x", "h"),
            "single_rec_bias": ("h",),
        }[self.bias_mode]

    @cached_property
    def weights(self) -> tuple[Weight, ...]:
        """Every matrix and bias that exists, by pseudo-layer and linear-layer id.

        Shapes  matrix on x [hidden_size, layer_input], on h [hidden_size, output_size], projection
                [output_size, hidden_size]; bias [hidden_size, 1].
        Source  the documented rules of cudnnGetRNNWeightParams (documented/weights.toml).
        """
        return tuple(
            weight
            for pseudo_layer in range(self.pseudo_layers)
            for weight in self._weights_of(pseudo_layer)
        )

    def _weights_of(self, pseudo_layer: int) -> Iterator[Weight]:
        layer, direction = divmod(pseudo_layer, self.directions)
        place = f"l{layer}.{_DIRECTIONS[direction]}"
        for number, source in enumerate(("x", "h")):
            width = self.output_size if source == "h" else self.layer_input(layer)
            for gate, word in enumerate(GATE_NAMES[self.cell_mode]):
                identity = number * self.gates + gate
                name = f"{place}.{word}.{source}"
                if source == "h" or self.has_input_matrix(layer):
                    yield Weight(
                        f"{name}.matrix", pseudo_layer, identity, "matrix", self.hidden_size, width
                    )
                if source in self.bias_sources:
                    yield Weight(
                        f"{name}.bias", pseudo_layer, identity, "bias", self.hidden_size, 1
                    )
        if self.projects:
            yield Weight(
                f"{place}.proj.matrix",
                pseudo_layer,
                2 * self.gates,
                "matrix",
                self.output_size,
                self.hidden_size,
            )

    @cached_property
    def matrix_count(self) -> int:
        """Elements of all matrices."""
        return sum(w.count for w in self.weights if w.kind == "matrix")

    @cached_property
    def bias_count(self) -> int:
        """Elements of all biases."""
        return sum(w.count for w in self.weights if w.kind == "bias")

    @cached_property
    def tensor_bytes(self) -> dict[str, int]:
        """Bytes of each tensor, gradients included; w and dw without alignment.

        Shapes  x [stored_steps, input_size], y [stored_steps, directions * output_size],
                h [pseudo_layers, batch_size, output_size], c [pseudo_layers, batch_size,
                hidden_size], the cell state only of an LSTM.
        """
        states = self.pseudo_layers * self.batch_size
        counts = {
            "x": self.stored_steps * self.input_size,
            "y": self.stored_steps * self.output_size * self.directions,
            "hx": states * self.output_size,
            "hy": states * self.output_size,
        }
        if self.cell_mode == "lstm":
            counts |= {"cx": states * self.hidden_size, "cy": states * self.hidden_size}
        counts["w"] = self.matrix_count + self.bias_count
        sizes = {name: count * self.element_bytes for name, count in counts.items()}
        return sizes | {f"d{name}": size for name, size in sizes.items()}


def geometry(problem: Problem) -> Geometry:
    """The numbers behind a problem.

    Raises  UsageError for a problem that describes no network or batch that could be computed:
            a value outside an enumeration, a size below 1, a length outside its batch, a list with
            another number of entries than the batch has sequences.
    """
    enums = (CELL_MODE, BIAS_MODE, LAYOUT, DIRECTION_MODE, INPUT_MODE, DATA_TYPE)
    cell, bias, layout, direction, inputs, data = (_name(problem, enum) for enum in enums)
    if data not in ELEMENT_BYTES:
        raise UsageError(
            f"data_type={data} is no type of RNN data", f"known: {', '.join(ELEMENT_BYTES)}"
        )
    sizes = ("num_layers", "input_size", "hidden_size", "batch_size", "max_seq_length")
    layers, input_size, hidden, batch, steps = (_size(problem, name) for name in sizes)
    output = resolve_proj_size(problem.value("proj_size"), hidden)
    if not 1 <= output <= hidden:
        raise UsageError(
            f"proj_size={output} beside hidden_size={hidden} is no projection",
            f"allowed: 1 to {hidden}; {hidden} turns it off",
        )
    if output != hidden and cell != "lstm":
        raise UsageError(
            f"proj_size={output} with cell_mode={cell}", "only an LSTM projects: leave it out"
        )
    if inputs == "skip_input" and input_size != hidden:
        raise UsageError(
            f"skip_input adds x, {input_size} wide, to gates of hidden_size={hidden}",
            "give both the same size, or input_mode=linear_input",
        )
    return Geometry(
        cell,
        bias,
        layout,
        2 if direction == "bidirectional" else 1,
        layers,
        input_size,
        hidden,
        output,
        inputs == "skip_input",
        steps,
        _lengths(problem, steps, batch),
        ELEMENT_BYTES[data],
    )


def _name(problem: Problem, enum: EnumType) -> str:
    value = problem.value(enum.name)
    if value not in enum.values:
        raise UsageError(
            f"{enum.name}={value} is no enumerator",
            f"known: {', '.join(member.name for member in enum.members)}",
        )
    return enum.label(value)


def _size(problem: Problem, name: str) -> int:
    value = problem.value(name)
    if value < 1:
        raise UsageError(f"{name}={value} is no size", "1 or more")
    return value


def _lengths(problem: Problem, steps: int, batch: int) -> tuple[int, ...]:
    lengths = resolve_seq_lengths(problem.value("seq_lengths"), steps, batch)
    if len(lengths) != batch:
        raise UsageError(
            f"seq_lengths has a list of {len(lengths)} entries, batch_size is {batch}",
            f"the list needs one entry per sequence: add batch_size={len(lengths)}",
        )
    for place, length in enumerate(lengths):
        if not 0 <= length <= steps:
            raise UsageError(
                f"sequence {place} is {length} long, max_seq_length is {steps}",
                f"allowed: 0 to {steps}",
            )
    return lengths
