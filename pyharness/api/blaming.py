"""Which arguments of a refused call are to blame, and what the library takes in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pyharness.analyze.explanation import Blame, Refusal
from pyharness.analyze.length_moves import length_advice, lengths_of
from pyharness.analyze.moves import Move, candidates
from pyharness.api.nearest import Search
from pyharness.engine.neighbours import Neighbourhood
from pyharness.spec.arguments import argument
from pyharness.spec.axes import INT_MAX, PROJ_RULES, ProjSizeAxis, SizeAxis
from pyharness.spec.calls import Call, all_axes
from pyharness.spec.length_advice import Advice
from pyharness.spec.problem import CallResult
from pyharness.spec.seq_lengths import EQUAL, LENGTH_PATTERNS, intern_lengths

_SAMPLE_BATCH = 4  # the least batch in which every pattern of lengths is another
_SHORT = "short"  # no sequence reaches max_seq_length
# Each kind of length: the patterns that have it, and one that is like them but for it.
_SHOWN_BY = {
    "negative": (("negative",), "equal"),
    "empty": (("one_zero", "trailing_zeros"), "equal"),
    "over_max": (("over_max",), "equal"),
    "unsorted": (("unsorted",), "descending"),
    "under_max": ((_SHORT,), "equal"),
}

Others = dict[str, Mapping[str, int]]  # axis to blame -> what has to change beside it


def refusal(near: Neighbourhood, search: Search, call: Call, result: CallResult) -> Refusal:
    """A refusal with the arguments to blame, those that suffice alone first.

    An argument is to blame if another value of it makes the call accept the problem; where no
    single one does, those of the smallest sets that do.
    """
    role = result.role
    singles = search.fixed_by(role)
    sets = search.repairs(role)
    least = min(map(len, sets), default=0)
    smallest = [moves for moves in sets if len(moves) == least]
    others: Others = {name: {} for name in singles}
    for moves in smallest:
        for move in moves:
            for name in [move.charged] if move.charged else move.axes:
                others.setdefault(name, _beside(moves, move, name))
    longest = max(lengths_of(near.base), default=0)
    if search.step_limit is not None and longest > search.step_limit and "max_seq_length" in others:
        others["max_seq_length"] = {"seq_lengths": EQUAL}  # else the lengths bound it from below
    alone = set(singles) | {n for n in others if least == 1}
    # What follows from hidden_size is not a second argument.
    if "hidden_size" in others and near.base.get("proj_size") in PROJ_RULES.values():
        others.pop("proj_size", None)

    def place(name: str) -> int:
        names = [a.name for a in call.axes]
        return names.index(name) if name in names else len(names)

    found = [
        _blame(near, search, call, role, name, rest, name in alone) for name, rest in others.items()
    ]
    found.sort(key=lambda b: (not b.alone, place(b.axis)))
    names = {b.axis: b.argument for b in found}
    together: dict[tuple[str, ...], None] = {}
    if least > 1:
        for moves in smallest:
            axes = {n for m in moves for n in ([m.charged] if m.charged else m.axes)}
            together[tuple(names[b.axis] for b in found if b.axis in axes)] = None
    return Refusal(result, tuple(found), tuple(together))


def _beside(moves: Sequence[Move], move: Move, name: str) -> dict[str, int]:
    """What changes beside one axis of a set of moves; what follows the lengths is no part of it."""
    own = {} if move.charged == "seq_lengths" else dict(move.changes)
    own.pop(name, None)
    return own | {n: v for m in moves if m is not move for n, v in m.changes.items()}


def _blame(
    near: Neighbourhood,
    search: Search,
    call: Call,
    role: str,
    name: str,
    others: Mapping[str, int],
    alone: bool,
) -> Blame:
    own = name if any(a.name == name for a in call.axes) else "vector_size"
    rows: Sequence[Advice] = ()
    if name == "seq_lengths":
        allowed, kinds = _allowed_lengths(near, others, role)
        rows = [a for a in length_advice(near.base) if a.kind in kinds]
    else:
        allowed = _allowed(search, role, name, others)
    if near.base.get(name) == 0 and name in ("batch_size", "max_seq_length"):
        rows = length_advice(near.base)
    elif name == "max_seq_length" and search.step_limit is not None:
        advice = length_advice(near.base, search.step_limit)
        rows = [a for a in advice if a.kind == "too_many_steps"]
    value = all_axes()[name].label(near.base[name])
    return Blame(argument(call, own), name, value, allowed, alone, tuple(rows))


def _allowed(search: Search, role: str, name: str, others: Mapping[str, int]) -> str:
    axis = all_axes()[name]
    if isinstance(axis, (SizeAxis, ProjSizeAxis)):
        most = getattr(axis, "most", INT_MAX)
        return " or ".join(_run(a, b, most) for a, b in search.edges(name, others, role))
    values = sorted([*candidates(name, search.base), search.base[name]])
    accepted = search.accepts(name, values, others, role)
    words = ", ".join(axis.label(v) for v, ok in zip(values, accepted, strict=True) if ok)
    return f"for example {words}" if words and not axis.names else words


def _run(first: int, last: int, most: int) -> str:
    if first == last:
        return f"{first:,}"
    if last == INT_MAX:
        return f"{first:,} and more"
    return f"{first:,} to {last:,}" + (" (more is not tried)" if last == most else "")


def _allowed_lengths(
    near: Neighbourhood, others: Mapping[str, int], role: str
) -> tuple[str, set[str]]:
    """What lengths a call takes in this layout, in words, and the kinds that it refuses.

    A small batch of each pattern is tried with the padded time of the problem.
    """
    top = others.get("max_seq_length", near.base["max_seq_length"])
    short = intern_lengths((max(top - 1, 1),) * _SAMPLE_BATCH)
    values = np.array([*range(len(LENGTH_PATTERNS)), short], np.int64)
    changed = {n: np.full(len(values), v, np.int64) for n, v in others.items()}
    changed["seq_lengths"] = values
    changed["batch_size"] = np.full(len(values), _SAMPLE_BATCH, np.int64)
    accepted = near.accepted(changed, [role]).tolist()
    takes = dict(zip((*LENGTH_PATTERNS, _SHORT), accepted, strict=True))
    refused = {
        kind
        for kind, (patterns, without) in _SHOWN_BY.items()
        if takes[without] and not all(takes[p] for p in patterns)
    }
    if not takes["equal"]:
        return "", refused  # something else is refused whatever the lengths are
    least = "1" if "empty" in refused else "0"
    most = f" to max_seq_length={top:,}" if "over_max" in refused else " and more"
    longest = f", the longest {top:,}" if "under_max" in refused else ""
    order = ", none longer than the one before" if "unsorted" in refused else ", in any order"
    return f"{least}{most}{longest}{order}", refused
