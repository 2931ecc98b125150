"""Moves: the changes of a problem that are tried, and how much each changes the computation.

The levels put the changes in order: what leaves every number as it is comes before what rounds
otherwise, that before another precision, that before other sizes, and another network comes last.
Of several changes at once the greatest counts first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyharness.spec.axes import INT_MAX, INT_MIN, PROJ_RULES, Axis, resolve_proj_size
from pyharness.spec.calls import all_axes
from pyharness.spec.enums import DATA_TYPE

SAME_NUMBERS, MATH_TYPE, ALGO, MATH_PREC, DATA_TYPE_LEVEL, BATCH, SIZES, NETWORK = range(8)

LEVELS: dict[str, int] = {
    "padding_fill": SAME_NUMBERS,
    "aux_flags": SAME_NUMBERS,
    "strides": SAME_NUMBERS,
    "nb_dims": SAME_NUMBERS,
    "layout": SAME_NUMBERS,
    "math_type": MATH_TYPE,
    "algo": ALGO,
    "math_prec": MATH_PREC,
    "data_type": DATA_TYPE_LEVEL,
    "seq_lengths": BATCH,
    "max_seq_length": BATCH,
    "batch_size": BATCH,
    "hidden_size": SIZES,
    "proj_size": SIZES,
    "input_size": SIZES,
    "vector_size": SIZES,
    "num_layers": SIZES,
    "dropout": NETWORK,
    "clip_mode": NETWORK,
    "clip_nan_opt": NETWORK,
    "lclip": NETWORK,
    "rclip": NETWORK,
    "bias_mode": NETWORK,
    "input_mode": NETWORK,
    "direction_mode": NETWORK,
    "cell_mode": NETWORK,
}

_COSTS = {
    "padding_fill": "only the padding of y is written differently",
    "aux_flags": "says whether x and y may have padding; the numbers stay the same",
    "strides": "the tensor lies differently in memory; the numbers stay the same",
    "nb_dims": "the state has other dimensions; the numbers stay the same",
    "layout": "x and y have to be laid out this way; each sequence gets the same numbers",
    "math_type": "the products may round differently",
    "algo": "sums are taken in another order, and the speed is another",
    "math_prec": "sums and products are computed in another precision",
    "data_type": "data and weights are stored in another precision",
    "seq_lengths": "other steps are computed",
    "max_seq_length": "another number of steps",
    "batch_size": "another number of sequences",
    "hidden_size": "another network: new weights",
    "proj_size": "another network: new weights",
    "input_size": "another network: x has another width",
    "vector_size": "x has another width",
    "num_layers": "another network: new weights",
    "dropout": "training drops out differently; inference stays the same",
    "clip_mode": "the cell state is bounded differently",
    "clip_nan_opt": "NaN is clipped differently",
    "lclip": "the cell state is bounded differently",
    "rclip": "the cell state is bounded differently",
    "bias_mode": "another network: other bias vectors",
    "input_mode": "another network: with or without the first matrix",
    "direction_mode": "another network: y is as wide as its directions",
    "cell_mode": "another network: other gates",
}

# Explicit mantissa and exponent bits: what a type can hold.
_FLOATS = {"half": (10, 5), "bfloat16": (7, 8), "float": (23, 8), "double": (52, 11)}
_PREFERRED = {
    "algo": ("standard", "persist_dynamic", "persist_static", "persist_static_small_h"),
    "math_type": ("default_math", "fma_math", "tensor_op_math", "tensor_op_math_allow_conversion"),
}


@dataclass(frozen=True, slots=True)
class Move:
    """One change of a problem.

    ``changes``   axis name to the new value.
    ``level``     how much it changes the computation: one of the constants above.
    ``distance``  orders moves of one level: the less, the nearer.
    ``words``     what is done, where that is more than a new value.
    ``cost``      what it costs, in a clause.
    ``charged``   the axis that it says is wrong, where others only follow it; "": every one.
    """

    changes: Mapping[str, int]
    level: int
    distance: float
    cost: str
    words: str = ""
    charged: str = ""

    @property
    def axes(self) -> frozenset[str]:
        """The axes that it changes."""
        return frozenset(self.changes)


@dataclass(frozen=True, slots=True, order=True)
class Rank:
    """How near a set of moves stays to the problem: compares less where it is nearer.

    The greatest level decides, then the next; then how far the values went.
    """

    levels: tuple[int, ...]
    distance: float
    names: tuple[str, ...] = field(default=())


def rank(moves: Sequence[Move]) -> Rank:
    """The rank of doing all of these moves."""
    levels = tuple(sorted((m.level for m in moves), reverse=True))
    names = tuple(sorted(f"{a}={v}" for m in moves for a, v in m.changes.items()))
    return Rank(levels, sum(m.distance for m in moves), names)


def single(axis: Axis, new: int, base: Mapping[str, int]) -> Move:
    """The move that gives one axis another value than the problem's own."""
    old = base[axis.name]
    distance = _distance(axis, new, base)
    cost = _COSTS[axis.name]
    if axis.name == "proj_size" and new == PROJ_RULES["same"]:
        cost = "no projection: h is as wide as hidden_size"
    if axis.name in ("data_type", "math_prec"):
        cost = f"{cost}{_precision(axis.label(old), axis.label(new))}"
    return Move({axis.name: new}, LEVELS[axis.name], distance, cost)


def _distance(axis: Axis, new: int, base: Mapping[str, int]) -> float:
    """How far a value of an axis is from the problem's, on a scale of that axis' own."""
    name = axis.name
    old = base[name]
    if name in ("data_type", "math_prec"):
        return _type_distance(axis.label(old), axis.label(new))
    if name in _PREFERRED:
        order = _PREFERRED[name]
        return order.index(axis.label(new)) if axis.label(new) in order else len(order)
    if name == "proj_size":
        if new == PROJ_RULES["same"] and old <= 0:
            return 0.0  # who writes 0 means that there is no projection
        hidden = base["hidden_size"]
        old, new = resolve_proj_size(old, hidden), resolve_proj_size(new, hidden)
        return abs(new - old) / max(abs(old), 1)
    if name == "vector_size" and new == base.get("input_size"):
        return 0.0  # later calls want x to be so wide
    if axis.numeric:
        gap = abs(axis.number(new) - axis.number(old))
        # The infinities and nan are as far as can be.
        return gap / max(abs(axis.number(old)), 1.0) if gap < float("inf") else 1e300
    if name == "aux_flags":
        return 0 if axis.label(new) == "padded_io_enabled" else 1
    return abs(new - old)


def _type_distance(old: str, new: str) -> float:
    """0 upwards: wider types first, then those that lose something, then what is no float."""
    if new not in _FLOATS:
        return 100.0 + DATA_TYPE.parse(new)
    mantissa, exponent = _FLOATS[new]
    if old not in _FLOATS:  # float is what most code means
        return abs(mantissa - _FLOATS["float"][0])
    gain, range_gain = mantissa - _FLOATS[old][0], exponent - _FLOATS[old][1]
    if gain >= 0 and range_gain >= 0:
        return gain + range_gain
    return 50.0 + max(-gain, 0) + max(-range_gain, 0)


def _precision(old: str, new: str) -> str:
    if old not in _FLOATS or new not in _FLOATS:
        return ""
    if _type_distance(old, new) < 50:
        return ": every value still fits, memory traffic changes" if old != new else ""
    lost = []
    if _FLOATS[new][0] < _FLOATS[old][0]:
        lost.append("digits")
    if _FLOATS[new][1] < _FLOATS[old][1]:
        lost.append("range")
    return f": {' and '.join(lost)} {'is' if lost == ['range'] else 'are'} lost"


def size_probes(old: int, others: Iterable[int], least: int, most: int) -> list[int]:
    """Sizes worth trying: the edges, every power of two and its neighbours, the other sizes."""
    values = {INT_MIN, INT_MAX, least, most, 0, old - 1, old + 1}
    for power in range(31):
        values |= {2**power - 1, 2**power, 2**power + 1}
    values |= {v + step for v in others for step in (-1, 0, 1)}
    values.add(-1)
    return sorted(v for v in values if max(least, INT_MIN) <= v <= min(most, INT_MAX) and v != old)


def candidates(name: str, base: Mapping[str, int]) -> list[int]:
    """The values of an axis that are tried in place of the problem's own.

    Every name that the axis has; of a size the edges and neighbours. Lengths have moves of their
    own (analyze.length_moves).
    """
    axis = all_axes()[name]
    old = base[name]
    if name == "proj_size":
        resolved = resolve_proj_size(old, base["hidden_size"])
        sizes = size_probes(resolved, (base["hidden_size"],), INT_MIN, INT_MAX)
        return [v for v in (*PROJ_RULES.values(), *sizes) if v != old]
    if axis.names:
        return [v for n in axis.names for v in axis.parse(n) if v != old]
    if name in ("lclip", "rclip"):
        texts = ("-1.0", "0.0", "1.0", axis.label(base["lclip"]), axis.label(base["rclip"]))
        return [v for v in dict.fromkeys(axis.parse(t)[0] for t in texts) if v != old]
    sizes = [base[n] for n in ("input_size", "hidden_size") if n in base]
    if "proj_size" in base:
        sizes.append(resolve_proj_size(base["proj_size"], base["hidden_size"]))
    return size_probes(old, sizes, getattr(axis, "least", INT_MIN), getattr(axis, "most", INT_MAX))
