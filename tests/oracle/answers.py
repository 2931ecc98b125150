"""What a plan's buffers say, and what they should say, by the names of the oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.spec.enums import DATA_TYPE, LAYOUT
from pyharness.spec.plan_settings import plan_settings
from pyharness.spec.problem import Problem
from pyharness.spec.seq_lengths import resolve_seq_lengths

from .network import Array, Tensors, run
from .problems import network_of
from .tensors import numbers, unpacked, valid

INPUTS = ("x", "dy", "hx", "cx", "dhy", "dcy")
Part = tuple[str, int, int, str, int, int, int]  # as Plan.weights() has it


@dataclass(frozen=True, slots=True)
class Reading:
    """How the buffers of a problem are read."""

    problem: Problem

    @property
    def data_type(self) -> str:
        """The type of every number."""
        return DATA_TYPE.label(self.problem.value("data_type"))

    @property
    def layout(self) -> str:
        """How x and y are laid out."""
        return LAYOUT.label(self.problem.value("layout"))

    @property
    def steps(self) -> int:
        """The longest sequence that there could be."""
        return int(self.problem.value("max_seq_length"))

    @property
    def batch(self) -> int:
        """Sequences."""
        return int(self.problem.value("batch_size"))

    @property
    def lengths(self) -> Sequence[int]:
        """Steps of each sequence."""
        return resolve_seq_lengths(self.problem.value("seq_lengths"), self.steps, self.batch)

    def weights(self, parts: Sequence[Part], space: bytes) -> dict[str, Array]:
        """The weights, or their gradients, by name as [rows, columns]."""
        size = {"double": 8, "float": 4}.get(self.data_type, 2)
        return {
            name: numbers(space[at : at + rows * cols * size], self.data_type).reshape(rows, cols)
            for name, _, _, _, rows, cols, at in parts
        }

    def series(self, name: str, data: bytes) -> Array:
        """x, y or a gradient of theirs as [steps, batch, width]; nan where there is no step."""
        width = self.problem.widths[0 if name.endswith("x") else 1]
        flat = numbers(data, self.data_type)
        return unpacked(flat, self.layout, self.lengths, self.steps, width)

    def state(self, name: str, data: bytes) -> Array:
        """hx, cx … as [pseudo-layers, batch, width]."""
        network = network_of(self.problem)
        width = network.hidden_size if "c" in name else network.proj_size
        pseudo = network.num_layers * len(network.directions)
        return numbers(data, self.data_type).reshape(pseudo, self.batch, width)

    def tensor(self, name: str, data: bytes) -> Array:
        """Either of them, by its name."""
        return (self.series if name in ("x", "y", "dx", "dy") else self.state)(name, data)

    def wanted(self, parts: Sequence[Part], given: Mapping[str, bytes]) -> dict[str, Array]:
        """What the oracle makes of the inputs and weights that were given."""
        null = plan_settings(self.problem)["initial_states"] == 1
        lstm = network_of(self.problem).cell_mode == "lstm"
        there = {
            name: None
            if name not in given or (null and name in ("hx", "cx")) or (not lstm and "c" in name)
            else self.tensor(name, given[name])
            for name in INPUTS
        }
        return run(
            network_of(self.problem),
            self.weights(parts, given["w"]),
            Tensors(**there, lengths=self.lengths),  # type: ignore[arg-type]
        )

    def padding(self, y: bytes) -> NDArray[np.float64]:
        """What stands in an unpacked y where there is no step of a sequence."""
        width, flat = self.problem.widths[1], numbers(y, self.data_type)
        flat = flat[: self.batch * self.steps * width]
        if self.layout == "batch_major_unpacked":
            shown = flat.reshape(self.batch, self.steps, width).swapaxes(0, 1)
        else:
            shown = flat.reshape(self.steps, self.batch, width)
        return shown[~valid(self.lengths, self.steps)]
