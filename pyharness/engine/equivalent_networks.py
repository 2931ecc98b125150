"""What a network must come to when it is computed another way: with more units, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pyharness.engine.beside import Whole
from pyharness.engine.repeats import Refused
from pyharness.engine.runner import StageFailed
from pyharness.engine.sides import SERIES, Outputs, Tensors
from pyharness.engine.told import Found
from pyharness.spec.geometry import geometry
from pyharness.spec.number_bits import Bits
from pyharness.spec.plan_settings import drops
from pyharness.spec.problem import Problem
from pyharness.spec.stages import PASSES

# So many that sizes which are good for a kernel stay so.
_MORE_UNITS = 8


def projection_off(whole: Whole) -> list[Found]:
    """The network without a projection beside one that hands its units on through an identity.

    proj_size = hidden_size is how a projection is turned off, so that it has no matrix to be an
    identity. The other network has more units, whose weights are zeros, and projects to the first.
    """
    of = whole.of
    if of.cell_mode != "lstm":
        raise Refused("only an LSTM projects")
    if of.projects:
        raise Refused("it projects: proj_size is less than hidden_size")
    wide = of.hidden_size + _MORE_UNITS
    words = {"hidden_size": str(wide), "proj_size": str(of.hidden_size)}
    if of.skip_input:
        words["input_size"] = str(wide)
    problem = changed(whole.problem, words)
    shape = geometry(problem)
    identity = whole.stored(np.eye(of.hidden_size, wide))
    sizes = {f"w.{w.name}": (w.rows, w.cols) for w in shape.weights}
    given = {
        name: identity if name.endswith(".proj.matrix") else _filled(whole.given[name], size)
        for name, size in sizes.items()
    }
    for name in whole.given.keys() - sizes.keys():
        bits = whole.given[name]
        width = shape.input_size if name == "x" else wide if "c" in name else bits.shape[-1]
        given[name] = _filled(bits, (*bits.shape[:-1], width))
    refused: dict[str, StageFailed] = {}
    made = whole.other(problem, given, whole.passes, refused)
    now = {
        key: made[key][tuple(slice(n) for n in bits.shape)]
        for key, bits in whole.outputs.items()
        if key in made
    }
    return whole.alike(now, whole.rounding(problem)) + whole.untold(refused)


def layers_in_turn(whole: Whole) -> list[Found]:
    """Each layer as a network of its own, y of one as x of the next; the gradients on the way back.

    Source  cudnnSetRNNDescriptor_v8: skip_input is of the first layer alone.
    """
    of = whole.of
    if of.num_layers == 1:
        raise Refused("there is one layer")
    problems = [one_layer(whole.problem, layer) for layer in range(of.num_layers)]
    now: Outputs = {}
    kept: list[Tensors] = []
    for pass_name in whole.forward:
        kept = _up(whole, problems, pass_name, now)
    if "backward_data" in whole.passes:
        _down(whole, problems, kept, now)
    return whole.alike(now, whole.rounding(*problems, chained=True))


def inference_is_training(whole: Whole) -> list[Found]:
    """What both forward passes give: kernels may be others, so that roundings may differ."""
    inference, training = PASSES[:2]
    if whole.asked != [inference, training]:
        raise Refused("only one of the two forward passes is asked for")
    if drops(whole.problem):
        raise Refused("training drops, inference does not")
    now = {(inference, name): bits for (p, name), bits in whole.outputs.items() if p == training}
    return whole.alike(now, whole.rounding(whole.problem))


def changed(problem: Problem, words: Mapping[str, str]) -> Problem:
    """The problem with other words; x as wide as its input_size says."""
    given = {name: text for name, text in problem.given.items() if name != "vector_size"}
    return Problem({**given, **words})


def _up(whole: Whole, problems: Sequence[Problem], pass_name: str, now: Outputs) -> list[Tensors]:
    """Forward through layers in turn; what each of them was given."""
    kept: list[Tensors] = []
    x = whole.given["x"]
    for layer, problem in enumerate(problems):
        kept.append({**_of_layer(whole, layer), "x": x})
        made = whole.other(problem, kept[-1], [pass_name])
        now[pass_name, "y"] = y = made.pop((pass_name, "y"))
        _put_layer(whole, made, layer, now)
        x = whole.without_padding(y)
    return kept


def _down(whole: Whole, problems: Sequence[Problem], kept: Sequence[Tensors], now: Outputs) -> None:
    """Backward through layers in turn, each behind its own forward pass."""
    dy = whole.given["dy"]
    for layer in reversed(range(len(problems))):
        made = whole.other(problems[layer], {**kept[layer], "dy": dy}, whole.training)
        now["backward_data", "dx"] = dx = made.pop(("backward_data", "dx"))
        back = {key: bits for key, bits in made.items() if key[0] not in whole.forward}
        _put_layer(whole, back, layer, now)
        dy = whole.without_padding(dx)


def one_layer(problem: Problem, layer: int) -> Problem:
    """A layer as a problem of its own."""
    words = {"num_layers": "1"}
    if layer:
        of = geometry(problem)
        words |= {"input_size": str(of.layer_input(layer)), "input_mode": "linear_input"}
    return changed(problem, words)


def _of_layer(whole: Whole, layer: int) -> dict[str, Bits]:
    """What a layer is given, but x."""
    here = _pseudo_layers(whole, layer)
    given = {}
    for name, bits in whole.given.items():
        if name.startswith(f"w.l{layer}."):
            given[name.replace(f"l{layer}.", "l0.", 1)] = bits
        elif not name.startswith("w.") and name not in SERIES:
            given[name] = bits[here]
    return given


def _put_layer(whole: Whole, made: Outputs, layer: int, now: Outputs) -> None:
    """Puts states and weights of a layer where they belong."""
    for (pass_name, name), bits in made.items():
        if name.startswith("dw."):
            now[pass_name, name.replace("l0.", f"l{layer}.", 1)] = bits
        elif name not in SERIES:
            key = (pass_name, name)
            all_layers = now.setdefault(key, np.zeros_like(whole.outputs[key]))
            all_layers[_pseudo_layers(whole, layer)] = bits


def _pseudo_layers(whole: Whole, layer: int) -> slice:
    directions = whole.of.directions
    return slice(layer * directions, (layer + 1) * directions)


def _filled(bits: Bits, shape: Sequence[int]) -> Bits:
    """The same numbers and zeros behind them."""
    return np.pad(bits, [(0, more - own) for own, more in zip(bits.shape, shape, strict=True)])
