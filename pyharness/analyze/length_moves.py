"""What may be wrong with a batch's lengths, row by row, and the moves that put it right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from pyharness.analyze.moves import BATCH, SAME_NUMBERS, Move
from pyharness.spec.axes import INT_MAX
from pyharness.spec.batches import sort_order
from pyharness.spec.enums import DIRECTION_MODE, LAYOUT
from pyharness.spec.length_advice import Advice, advise
from pyharness.spec.seq_lengths import EQUAL, intern_lengths, resolve_seq_lengths

Lengths = tuple[int, ...]

_UNIDIRECTIONAL = DIRECTION_MODE.parse("unidirectional")
_PACKED = LAYOUT.parse("seq_major_packed")
# Row by row a batch is looked at up to this size: 0.1 s.
MOST_ROWS = 1 << 16


def lengths_of(base: Mapping[str, int]) -> Lengths:
    """The lengths of a problem's batch; none where it is too large to be looked at row by row."""
    if "seq_lengths" not in base or base["batch_size"] > MOST_ROWS:
        return ()
    return resolve_seq_lengths(base["seq_lengths"], base["max_seq_length"], base["batch_size"])


def length_advice(base: Mapping[str, int], limit: int | None = None) -> tuple[Advice, ...]:
    """What some release refuses about the lengths of a problem's batch, and ways around.

    ``limit``  the most steps that are taken; None: nothing is known of one.
    """
    return advise(
        lengths_of(base) if base["batch_size"] else (),
        batch_size=base["batch_size"],
        max_seq_length=base["max_seq_length"],
        packed=base["layout"] == _PACKED,
        bidirectional=base.get("direction_mode", _UNIDIRECTIONAL) != _UNIDIRECTIONAL,
        limit=limit or INT_MAX,
    )


@dataclass(frozen=True, slots=True)
class _Repair:
    """One way of mending one kind of fault."""

    kind: str
    way: str
    level: int
    distance: float
    words: str
    cost: str


_REPAIRS = {
    "negative": (
        _Repair("negative", "lift", BATCH, 0.5, "give the rows with negative lengths length 1",
                "what they should hold is not known here"),
    ),
    "over_max": (
        _Repair("over_max", "raise", SAME_NUMBERS, 0.2, "pad the batch to its longest sequence",
                "x and y take more memory"),
        _Repair("over_max", "clip", BATCH, 0.5, "cut the lengths to max_seq_length",
                "the steps beyond it are not computed"),
    ),
    "under_max": (
        _Repair("under_max", "lower", SAME_NUMBERS, 0.1, "pad only to the longest sequence",
                "x and y take less memory"),
    ),
    "empty": (
        _Repair("empty", "drop", SAME_NUMBERS, 0.4, "leave the empty rows out of the batch",
                "their y is padding, hy is hx and cy is cx"),
        _Repair("empty", "lift", SAME_NUMBERS, 0.5, "give the empty rows length 1",
                "a wasted step each; y, hy and cy of these rows are put back afterwards"),
    ),
    "unsorted": (
        _Repair("unsorted", "sort", SAME_NUMBERS, 0.3, "sort the rows by length, longest first",
                "x, hx and cx are gathered before, y, hy and cy scattered after"),
    ),
}  # fmt: skip


def length_moves(base: Mapping[str, int]) -> list[Move]:
    """Every combination of repairs of a batch's lengths, each as one move.

    A batch without faults can only be given lengths that are all equal.
    """
    lengths = lengths_of(base)
    ways = [(None, *_REPAIRS[a.kind]) for a in length_advice(base) if a.kind in _REPAIRS]
    moves = []
    for chosen in product(*ways):
        repairs = [r for r in chosen if r is not None]
        if repairs:
            move = _repaired(base, lengths, repairs)
            if move is not None:
                moves.append(move)
    if set(lengths) - {base["max_seq_length"]}:
        moves.append(_all_equal())
    return moves


def _all_equal() -> Move:
    return Move(
        {"seq_lengths": EQUAL}, BATCH, 9.0, "padding is computed too", "make every row full"
    )


def _repaired(base: Mapping[str, int], lengths: Lengths, repairs: Sequence[_Repair]) -> Move | None:
    ways = {r.kind: r.way for r in repairs}
    top = base["max_seq_length"]
    new = list(lengths)
    changes: dict[str, int] = {}
    if ways.get("over_max") == "raise":
        changes["max_seq_length"] = top = max(new)
    if ways.get("over_max") == "clip":
        new = [min(n, top) for n in new]
    if "negative" in ways:
        new = [1 if n < 0 else n for n in new]
    if "under_max" in ways:
        changes["max_seq_length"] = top = max(new)
    if ways.get("empty") == "lift":
        new = [n or 1 for n in new]
    if ways.get("empty") == "drop":
        new = [n for n in new if n != 0]
        changes["batch_size"] = len(new)
    if not new:
        return None
    if base["layout"] == _PACKED and 0 < max(new) < top and "under_max" not in ways:
        changes["max_seq_length"] = top = max(new)  # a packed batch has no steps beyond its longest
    if "unsorted" in ways:
        new = [new[i] for i in sort_order(new)[0]]
    changes["seq_lengths"] = _value(tuple(new), top)
    return Move(
        changes,
        max(r.level for r in repairs),
        sum(r.distance for r in repairs),
        "; ".join(r.cost for r in repairs),
        ", then ".join(r.words for r in repairs),
        "seq_lengths",
    )


def _value(lengths: Lengths, max_seq_length: int) -> int:
    """The axis value of some lengths: a pattern where one says the same."""
    if lengths == resolve_seq_lengths(EQUAL, max_seq_length, len(lengths)):
        return EQUAL
    return intern_lengths(lengths)


def chunk_move(base: Mapping[str, int], limit: int) -> Move:
    """Cuts a batch that has more steps than the library takes; its changes are the first chunk."""
    lengths, steps = lengths_of(base), base["max_seq_length"]
    pieces = -(-steps // limit)
    words = f"cut time into {pieces} calls of at most {limit:,} steps that carry hy and cy over"
    changes = {"max_seq_length": limit}
    if set(lengths) != {steps}:
        # A sequence that ends before a later chunk leaves the batch there, so none is empty.
        changes["seq_lengths"] = _value(tuple(min(n, limit) for n in lengths), limit)
    one_way = base.get("direction_mode", _UNIDIRECTIONAL) == _UNIDIRECTIONAL
    return Move(
        changes,
        SAME_NUMBERS if one_way else BATCH,
        0.0,
        f"{pieces} calls instead of one; the same numbers"
        if one_way
        else "the reverse direction would have to start at the last chunk: run the two directions "
        "apart",
        words,
        "max_seq_length",
    )
