"""The weights of one pseudo-layer, gates stacked; its gradients have the same form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pyharness.reference.arrays import Array
from pyharness.spec.geometry import Geometry, Weight


@dataclass(frozen=True, slots=True)
class Blocks:
    """Matrices and biases; None for what the network has not.

    ``x``                [gates * hidden_size, layer input]
    ``h``                [gates * hidden_size, output_size]
    ``x_bias, h_bias``   [gates * hidden_size]
    ``projection``       [output_size, hidden_size]
    """

    x: Array | None
    h: Array
    x_bias: Array | None
    h_bias: Array | None
    projection: Array | None

    @classmethod
    def of(cls, geometry: Geometry, pseudo_layer: int, weights: Mapping[str, Array]) -> Blocks:
        """Stacks the weights of a pseudo-layer, which are [rows, cols] by name.

        Raises  ValueError for one that is missing or has another number of elements.
        """
        found: dict[str, list[Array]] = {}
        for weight in _parts(geometry, pseudo_layer):
            if weight.name not in weights:
                raise ValueError(f"there is no weight {weight.name}")
            value = np.asarray(weights[weight.name], np.float64)
            if value.size != weight.count:
                raise ValueError(
                    f"{weight.name} is {value.shape}, should be ({weight.rows}, {weight.cols})"
                )
            shape = (weight.rows, weight.cols) if weight.kind == "matrix" else (weight.rows,)
            found.setdefault(_block(weight), []).append(value.reshape(shape))
        stacked = {name: np.concatenate(values) for name, values in found.items()}
        return cls(
            stacked.get("x"),
            stacked["h"],
            stacked.get("x_bias"),
            stacked.get("h_bias"),
            stacked.get("projection"),
        )

    def named(self, geometry: Geometry, pseudo_layer: int) -> dict[str, Array]:
        """Each part by its name, [rows, cols]."""
        found, ends = {}, dict.fromkeys(("x", "h", "x_bias", "h_bias", "projection"), 0)
        for weight in _parts(geometry, pseudo_layer):
            block = _block(weight)
            begin, ends[block] = ends[block], ends[block] + weight.rows
            stacked: Array = getattr(self, block)
            found[weight.name] = stacked[begin : ends[block]].reshape(weight.rows, weight.cols)
        return found


def _parts(geometry: Geometry, pseudo_layer: int) -> list[Weight]:
    """In the order of lin_layer_id, so that the gates of a block are in theirs."""
    return [weight for weight in geometry.weights if weight.pseudo_layer == pseudo_layer]


def _block(weight: Weight) -> str:
    *_, source, kind = weight.name.split(".")
    if source == "proj":
        return "projection"
    return source if kind == "matrix" else f"{source}_bias"
