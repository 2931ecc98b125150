"""Sequences cut into pieces that carry their states on must come to what the whole ones do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from pyharness.engine.beside import Whole
from pyharness.engine.equivalent_batches import Joined, rows_of
from pyharness.engine.equivalent_networks import changed, one_layer
from pyharness.engine.rearranging import with_lengths
from pyharness.engine.repeats import Refused
from pyharness.engine.sides import SERIES, Outputs, Tensors
from pyharness.engine.told import Found
from pyharness.spec.batches import Chunk, chunks
from pyharness.spec.number_bits import Bits
from pyharness.spec.problem import Problem

_PIECES = 3  # one in the middle has states from the one before and gradients from the one behind
# What a piece is given to what the one before, or behind, came to.
_CARRIED = {"hx": "hy", "cx": "cy"}
_RETURNED = {"dhy": "dhx", "dcy": "dcx"}
_DIRECTIONS = ("forward", "reverse")


def chunks_are_whole(whole: Whole) -> list[Found]:
    """Pieces in turn, each with the states of the one before; gradients on the way back.

    Sequences that are longer than a data descriptor takes (spec.batches.LONGEST) are run so. There
    is no whole to compare these with: any others, of two steps or more, are cut here. Of a layer
    with two directions each is a network of its own, and the second gets its sequences turned
    round. Such a layer needs all of the one below, so that of several each is cut alone, with
    numbers of its own, whose places are none of the whole: that layers in turn are all of them is
    another check. Those behind the first are the same problem.
    """
    of = whole.of
    if max(of.lengths) == 1 or not any(of.lengths):
        raise Refused("no sequence has two steps, to be cut between them")
    if of.directions > 1 and of.num_layers > 1:
        found = []
        for layer, which in enumerate(("the first layer alone", "a layer behind it alone")):
            alone = Whole(whole.bench, one_layer(whole.problem, layer), whole.asked)
            for one in chunks_are_whole(alone):
                words = which if one.variant is None else f"{which}, {one.variant}"
                found.append(replace(one, variant=words, first=None))
        return found
    pieces = chunks(of.lengths, ceil(max(of.lengths) / _PIECES))
    if of.directions == 1:
        networks = [_Series(whole, pieces, whole.problem, whole.given, whole.outputs)]
        now = networks[0].outputs()
    else:
        networks = [_direction(whole, pieces, number) for number in range(2)]
        now = _both(whole, [network.outputs() for network in networks])
    problems = [problem for network in networks for problem in network.problems]
    rows = [row for row, length in enumerate(of.lengths) if length]
    return whole.alike(now, whole.rounding(*problems, chained=True), rows=rows)


@dataclass(frozen=True)
class _Series:
    """A network of one direction over pieces of its sequences.

    ``given``  all that it reads, of the whole sequences.
    ``like``   outputs in the shapes of its own.
    """

    whole: Whole
    pieces: Sequence[Chunk]
    problem: Problem
    given: Tensors
    like: Outputs

    @property
    def problems(self) -> list[Problem]:
        """Each piece as a problem of its own."""
        return [self._problem(piece) for piece in self.pieces]

    def outputs(self) -> Outputs:
        """What all pieces come to."""
        joined = Joined(self.whole, self.like)
        kept: list[Tensors] = []
        for pass_name in self.whole.forward:
            kept = self._onward(pass_name, joined)
        if "backward_data" in self.whole.passes:
            self._back(kept, joined)
        return joined.outputs()

    def _onward(self, pass_name: str, joined: Joined) -> list[Tensors]:
        """Forward; what each piece was given."""
        kept: list[Tensors] = []
        states = self._copies(_CARRIED)
        for piece in self.pieces:
            rows = list(piece.rows)
            taken = rows_of(self.given, rows, piece.end - piece.first, piece.first)
            kept.append({**taken, **{name: state[:, rows] for name, state in states.items()}})
            made = self.whole.other(self._problem(piece), kept[-1], [pass_name])
            joined.put(made, rows, first=piece.first)
            for name, state in states.items():
                state[:, rows] = made[pass_name, _CARRIED[name]]
        return kept

    def _back(self, kept: Sequence[Tensors], joined: Joined) -> None:
        """Backward, each piece behind its own forward pass."""
        states = self._copies(_RETURNED)
        for piece, given in reversed(list(zip(self.pieces, kept, strict=True))):
            rows = list(piece.rows)
            own = {name: state[:, rows] for name, state in states.items()}
            made = self.whole.other(self._problem(piece), {**given, **own}, self.whole.training)
            back = {key: bits for key, bits in made.items() if key[0] not in self.whole.forward}
            joined.put(back, rows, first=piece.first)
            for name, state in states.items():
                state[:, rows] = made["backward_data", _RETURNED[name]]

    def _problem(self, piece: Chunk) -> Problem:
        cut = with_lengths(self.problem, piece.lengths, piece.end - piece.first)
        return changed(cut, {"initial_states": "given"}) if piece.first else cut

    def _copies(self, names: Iterable[str]) -> dict[str, Bits]:
        return {name: self.given[name].copy() for name in names if name in self.given}


def _direction(whole: Whole, pieces: Sequence[Chunk], number: int) -> _Series:
    """A direction of one layer as a network of its own, its sequences in its own order."""
    given = {}
    for name, bits in whole.given.items():
        if not name.startswith("w."):
            given[name] = _of_direction(whole, name, bits, number)
        elif name.startswith(f"w.l0.{_DIRECTIONS[number]}."):
            given[name.replace(_DIRECTIONS[number], _DIRECTIONS[0], 1)] = bits
    like = {
        key: _of_direction(whole, key[1], bits, number)
        for key, bits in whole.outputs.items()
        if not key[1].startswith("dw.")
    }
    problem = changed(whole.problem, {"direction_mode": "unidirectional"})
    return _Series(whole, pieces, problem, given, like)


def _both(whole: Whole, made: Sequence[Outputs]) -> Outputs:
    """What a layer comes to: y and states side by side, and the sum of both parts of dx."""
    now: Outputs = {}
    for key in made[0]:
        pass_name, name = key
        if name.startswith("dw."):
            for number, outputs in enumerate(made):
                own = name.replace(_DIRECTIONS[0], _DIRECTIONS[number], 1)
                now[pass_name, own] = outputs[key]
        elif name in SERIES:
            parts = [made[0][key], _turned(whole, made[1][key])]
            now[key] = whole.summed(parts) if name == "dx" else np.concatenate(parts, axis=-1)
        else:
            now[key] = np.concatenate([outputs[key] for outputs in made])
    return now


def _of_direction(whole: Whole, name: str, bits: Bits, number: int) -> Bits:
    """What a direction has of a tensor of both."""
    if name not in SERIES:
        return bits[number : number + 1]
    if name.endswith("y"):
        bits = np.split(bits, 2, axis=-1)[number]
    return bits if number == 0 else _turned(whole, bits)


def _turned(whole: Whole, series: Bits) -> Bits:
    """Each sequence the other way round, its padding where it was."""
    steps = np.arange(whole.of.max_seq_length)[:, None]
    lengths = np.asarray(whole.of.lengths)
    order = np.where(steps < lengths, lengths - 1 - steps, steps)
    return np.take_along_axis(series, order[..., None], axis=0)
