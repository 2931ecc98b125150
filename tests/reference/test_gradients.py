"""Gradients are what the outputs say when they are moved: nothing but the reference's forward."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pyharness.reference.network import Network, forward

from .networks import Case, case_of, referred, wide_words

STEP = 1e-6


def loss(case: Case) -> float:
    """The sum of all outputs, each times the gradient that comes in."""
    given = case.given
    found = forward(
        Network.of(case.problem),
        case.weights,
        given.x,
        given.lengths,
        given.hx,
        given.cx,
        case.masks,
    )
    total = float(np.nansum(found.y * given.dy)) + float((found.hy * given.dhy).sum())
    if found.cy is not None and given.dcy is not None:
        total += float((found.cy * given.dcy).sum())
    return total


def moved(case: Case, name: str, by: np.ndarray) -> Case:
    """The case with one of its inputs moved."""
    if name.startswith("dw."):
        weight = name.removeprefix("dw.")
        return replace(case, weights={**case.weights, weight: case.weights[weight] + by})
    changed: dict[str, Any] = {name[1:]: getattr(case.given, name[1:]) + by}
    return replace(case, given=replace(case.given, **changed))


def check(case: Case) -> int:
    """Moves each input in a direction of its own; gives how many."""
    draw, found, checked = np.random.default_rng(8), referred(case), 0
    scale = max(float(np.nanmax(np.abs(v), initial=0)) for v in found.values())
    for name, gradient in found.items():
        if name in ("y", "hy", "cy") or (name != "dx" and getattr(case.given, name[1:], 0) is None):
            continue
        direction = draw.choice([-1.0, 1.0], size=gradient.shape)
        ahead = loss(moved(case, name, STEP * direction))
        slope = (ahead - loss(moved(case, name, -STEP * direction))) / (2 * STEP)
        said = float(np.nansum(gradient * direction))
        # The third derivative costs STEP**2, rounding 1e-16 / STEP times the size of the loss.
        assert slope == pytest.approx(said, rel=1e-6, abs=1e-7 * scale), (
            case.problem.command,
            name,
        )
        checked += 1
    return checked


@pytest.mark.parametrize("cell", ["rnn_relu", "rnn_tanh", "lstm", "gru"])
@pytest.mark.parametrize("special", ["skip", "clip", "dropout", "all"])
def test_every_gradient_is_the_slope(cell: str, special: str) -> None:
    draw, checked = random.Random(cell + special), 0
    for i in range(3):
        words = wide_words(draw)
        plain = ("cell_mode", "proj_size", "clip_mode", "lclip", "rclip", "input_mode")
        words = {n: t for n, t in words.items() if n not in plain}
        words |= {"cell_mode": cell, "num_layers": "2"}
        if special in ("skip", "all"):
            words |= {"input_mode": "skip_input", "input_size": words["hidden_size"]}
        if special in ("clip", "all") and cell == "lstm":
            words |= {"clip_mode": "minmax", "lclip": "-0.375", "rclip": "0.25"}
        if special == "all" and cell == "lstm" and words["hidden_size"] != "1":
            words["proj_size"] = "1"
        dropout = 0.3 if special in ("dropout", "all") else 0.0
        checked += check(case_of(words, i, dropout=dropout))
    assert checked > 15


def test_a_slope_of_zero_where_it_clips() -> None:
    """A cell state pressed against its limit from outside comes from nothing that can be moved."""
    words = {"cell_mode": "lstm", "clip_mode": "minmax", "lclip": "-0.125", "rclip": "0.125"}
    case = case_of({**words, "hidden_size": "3", "seq_lengths": "[1]"}, 1)
    far = replace(case, given=replace(case.given, cx=np.full((1, 1, 3), 50.0)))
    found = referred(far)
    assert found["cy"].tolist() == [[[0.125] * 3]]
    assert (found["dcx"] == 0).all()
    for gate, reached in {"input": False, "forget": False, "cell": False, "output": True}.items():
        assert found[f"dw.l0.forward.{gate}.h.matrix"].any() == reached
