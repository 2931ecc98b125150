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
    Returns    nothing of a batch that is too large to be looked at.
    """
    lengths = lengths_of(base)
    if not lengths and base["batch_size"] > 0:
        return ()
    return advise(
        lengths if base["batch_size"] else (),
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


def length_moves(base: Mapping[str, int], limit: int | None = None) -> list[Move]:
    """Every combination of repairs of a batch's lengths, each as one move.

    ``limit``  the most steps that are taken, where the batch is padded to more: each combination
               comes with time cut, or padded less where no sequence is as long.
    A batch without faults can only be given lengths that are all equal.
    """
    lengths = lengths_of(base)
    if not lengths:
        return []
    ways = [(None, *_REPAIRS[a.kind]) for a in length_advice(base) if a.kind in _REPAIRS]
    moves = []
    for chosen in product(*ways):
        repairs = [r for r in chosen if r is not None]
        mended = _mended(base, lengths, repairs)
        if mended is None:
            continue
        if repairs:
            moves.append(_move(base, mended, repairs))
        if limit is not None and mended.steps > limit:
            moves.append(_move(base, mended, repairs, limit))
    if set(lengths) - {base["max_seq_length"]}:
        moves.append(_all_equal())
    return moves


def _all_equal() -> Move:
    words, cost = "make every row full", "padding is computed too"
    return Move({"seq_lengths": EQUAL}, BATCH, 9.0, cost, words)


@dataclass(frozen=True, slots=True)
class _Mended:
    """A batch after repairs: its lengths, and the steps that it is padded to."""

    lengths: Lengths
    steps: int


def _mended(
    base: Mapping[str, int], lengths: Lengths, repairs: Sequence[_Repair]
) -> _Mended | None:
    """The batch after these repairs; None if nothing is left of it."""
    ways = {r.kind: r.way for r in repairs}
    top = base["max_seq_length"]
    new = list(lengths)
    if ways.get("over_max") == "raise":
        top = max(new)
    if ways.get("over_max") == "clip":
        new = [min(n, top) for n in new]
    if "negative" in ways:
        new = [1 if n < 0 else n for n in new]
    if ways.get("empty") == "lift":
        new = [n or 1 for n in new]
    if ways.get("empty") == "drop":
        new = [n for n in new if n != 0]
    if not new:
        return None
    if base["layout"] == _PACKED and 0 < max(new) < top and repairs:
        top = max(new)  # a packed batch has no steps beyond its longest
    if "unsorted" in ways:
        new = [new[i] for i in sort_order(new)[0]]
    return _Mended(tuple(new), top)


def _move(
    base: Mapping[str, int], mended: _Mended, repairs: Sequence[_Repair], limit: int | None = None
) -> Move:
    lengths, steps = mended.lengths, mended.steps
    done = [(r.level, r.distance, r.words, r.cost) for r in repairs]
    if limit is not None:
        done.append(_shortened(base, mended, limit))
        steps = min(limit, max(lengths)) if max(lengths) > 0 else limit
        lengths = tuple(min(n, steps) for n in lengths)
    changes = {"seq_lengths": _value(lengths, steps)}
    if len(lengths) != base["batch_size"]:
        changes["batch_size"] = len(lengths)
    if steps != base["max_seq_length"]:
        changes["max_seq_length"] = steps
    if changes["seq_lengths"] == base["seq_lengths"] and len(changes) > 1:
        del changes["seq_lengths"]
    return Move(
        changes,
        max(level for level, *_ in done),
        sum(distance for _, distance, *_ in done),
        "; ".join(cost for *_, cost in done),
        ", then ".join(words for _, _, words, _ in done),
        # Too many steps are refused whatever the lengths are.
        "max_seq_length" if limit is not None else "seq_lengths",
    )


def _shortened(base: Mapping[str, int], mended: _Mended, limit: int) -> tuple[int, float, str, str]:
    """Level, distance, words and cost of having no more steps than a limit."""
    longest = max(mended.lengths)
    if longest <= limit:
        words = "pad only to the longest sequence"
        return SAME_NUMBERS, 0.1, words, "x and y take less memory"
    pieces = -(-longest // limit)
    words = f"cut time into {pieces} calls of at most {limit:,} steps that carry hy and cy over"
    if base.get("direction_mode", _UNIDIRECTIONAL) == _UNIDIRECTIONAL:
        return SAME_NUMBERS, 0.0, words, f"{pieces} calls instead of one; the same numbers"
    cost = (
        "the reverse direction would have to start at the last chunk: run the two directions apart"
    )
    return BATCH, 0.0, words, cost


def _value(lengths: Lengths, max_seq_length: int) -> int:
    """The axis value of some lengths: a pattern where one says the same."""
    if lengths == resolve_seq_lengths(EQUAL, max_seq_length, len(lengths)):
        return EQUAL
    return intern_lengths(lengths)
