"""Moves that are tried on a device: fewer than on the host, where a million cost a second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyharness.analyze.length_moves import length_moves
from pyharness.analyze.moves import BATCH, NETWORK, SAME_NUMBERS, Move, candidates, rank, single
from pyharness.spec.axes import INT_MAX, PROJ_RULES, ProjSizeAxis, SizeAxis, resolve_proj_size
from pyharness.spec.calls import all_axes
from pyharness.spec.problem import Problem
from pyharness.spec.run_axes import problem_axes
from pyharness.spec.seq_lengths import EQUAL

_FULL_ROWS = 0.45
_OF_SIZES = ("input_size", "hidden_size")


def run_values(problem: Problem) -> dict[str, int]:
    """What a problem says of its run, by axis."""
    return {name: problem.value(name) for name in ("dev_seq_lengths", "initial_states")} | {
        "dropout_rate": problem.value("dropout_rate")
    }


def stage_moves(names: Sequence[str], base: Mapping[str, int]) -> list[Move]:
    """The single changes of a problem that are worth a case each, the nearest first.

    ``names``  axes of the host calls.
    ``base``   the problem's value of these axes and of its run.
    """
    axes = all_axes()
    moves = []
    for name in names:
        if name == "seq_lengths":
            continue
        if isinstance(axes[name], (SizeAxis, ProjSizeAxis)):
            values = _sizes(name, base)
        else:
            values = candidates(name, base)
        moves += [single(axes[name], value, base) for value in values]
    if "seq_lengths" in names:
        moves += [_as_cheap(move) for move in length_moves(base)]
    return sorted([*moves, *_run_moves(base)], key=lambda move: rank([move]))


def _as_cheap(move: Move) -> Move:
    """A move of lengths; full rows, which ask for no other network, before a smaller batch."""
    return replace(move, distance=_FULL_ROWS) if move.changes == {"seq_lengths": EQUAL} else move


def size_of(name: str, base: Mapping[str, int]) -> int:
    """The value of a size, what follows from others resolved."""
    if name == "proj_size":
        return resolve_proj_size(base[name], base["hidden_size"])
    return base[name]


def _sizes(name: str, base: Mapping[str, int]) -> list[int]:
    """A ladder down from a size, a step up, and the sizes that it may have to be equal to."""
    old = size_of(name, base)
    powers = [1 << n for n in range(INT_MAX.bit_length())]
    above = next((p for p in powers if p > old + 1), old + 1)
    same = [base[n] for n in _OF_SIZES if n in base and name in (*_OF_SIZES, "vector_size")]
    values = {old - 1, old + 1, above, *(p for p in powers if p < old), *same}
    rules = [PROJ_RULES["same"]] if name == "proj_size" else []
    least = getattr(all_axes()[name], "least", 1)
    sizes = sorted(v for v in values if max(least, 1) <= v <= INT_MAX and v != old)
    return [v for v in (*rules, *sizes) if v != base[name]]


def _run_moves(base: Mapping[str, int]) -> list[Move]:
    """Other ways to run the same problem."""
    axes = problem_axes()

    def values(name: str, *texts: str) -> list[int]:
        found = [axes[name].parse(text)[0] for text in texts]
        return [value for value in found if value != base[name]]

    moves = [
        Move({"dev_seq_lengths": v}, SAME_NUMBERS, 1.0, "the numbers stay the same")
        for v in values("dev_seq_lengths", "given", "null")
    ]
    moves += [
        Move({"initial_states": v}, BATCH, 1.0, "the network starts from other states")
        for v in values("initial_states", "given", "null")
    ]
    moves += [
        Move({"dropout_rate": v}, NETWORK, 1.0, "training drops nothing out")
        for v in values("dropout_rate", "0.0")
    ]
    return moves
