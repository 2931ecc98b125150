"""Repairs of a batch's lengths: what they change, and that the batch is in order afterwards."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pyharness.analyze.length_moves import (
    MOST_ROWS,
    length_advice,
    length_moves,
    lengths_of,
)
from pyharness.analyze.moves import BATCH, SAME_NUMBERS
from pyharness.spec.enums import DIRECTION_MODE, LAYOUT
from pyharness.spec.seq_lengths import EQUAL, LENGTH_PATTERNS, intern_lengths

PACKED = LAYOUT.parse("seq_major_packed")
UNPACKED = LAYOUT.parse("seq_major_unpacked")


def base(lengths: tuple[int, ...], top: int, layout: int = PACKED) -> dict[str, int]:
    return {
        "seq_lengths": intern_lengths(lengths),
        "batch_size": len(lengths),
        "max_seq_length": top,
        "layout": layout,
    }


def after(start: dict[str, int], changes: dict[str, int]) -> tuple[tuple[int, ...], int]:
    new = {**start, **changes}
    return lengths_of(new), new["max_seq_length"]


@given(st.lists(st.integers(-2, 9), min_size=1, max_size=6).map(tuple), st.integers(1, 8))
def test_the_repairs_together_leave_nothing_to_repair(lengths: tuple[int, ...], top: int) -> None:
    start = base(lengths, top)
    faults = {a.kind for a in length_advice(start)}
    moves = [m for m in length_moves(start) if m.charged]
    if not faults:
        assert not moves
        return
    clean = []
    for move in moves:
        new, new_top = after(start, dict(move.changes))
        assert len(new) == move.changes.get("batch_size", len(lengths))
        if not length_advice(base(new, new_top)):
            clean.append(move)
    assert clean or set(lengths) == {0}  # an empty batch is no batch


def test_each_way_of_mending() -> None:
    start = base((2, 5, 0, -1), 4)
    done = {m.words: (after(start, dict(m.changes)), m.level) for m in length_moves(start)}
    words = [
        "give the rows with negative lengths length 1",
        "cut the lengths to max_seq_length",
        "leave the empty rows out of the batch",
        "sort the rows by length, longest first",
    ]
    assert done[", then ".join(words)] == (((4, 2, 1), 4), BATCH)
    sort_only = done["sort the rows by length, longest first"]
    assert sort_only == (((5, 2, 0, -1), 4), SAME_NUMBERS)
    raised = done["pad the batch to its longest sequence"]
    assert raised == (((2, 5, 0, -1), 5), SAME_NUMBERS)


def test_lengths_that_are_all_alike_are_called_so() -> None:
    start = base((3, 0, 3), 3, UNPACKED)
    dropped = next(m for m in length_moves(start) if m.changes.get("batch_size") == 2)
    assert dropped.changes["seq_lengths"] == EQUAL


def test_a_batch_in_order_has_one_move_only() -> None:
    (only,) = length_moves(base((3, 2), 3, UNPACKED))
    assert dict(only.changes) == {"seq_lengths": EQUAL}
    assert length_moves({**base((3, 3), 3, UNPACKED)}) == []


def test_patterns_are_looked_at_as_the_lengths_they_stand_for() -> None:
    start = {**base((1,) * 4, 7), "seq_lengths": LENGTH_PATTERNS.index("one_zero")}
    (advice,) = length_advice(start)
    assert (advice.kind, advice.rows) == ("empty", (3,))


def test_too_large_a_batch_is_not_looked_at() -> None:
    start = {**base((1,), 1), "batch_size": MOST_ROWS + 1, "seq_lengths": EQUAL}
    assert lengths_of(start) == ()
    assert length_advice({**start, "layout": UNPACKED}) == ()
    assert length_moves({**start, "layout": UNPACKED}) == []


def test_cutting_time() -> None:
    start = {**base((10, 7, 3), 10, UNPACKED), "direction_mode": 0}
    (move,) = (m for m in length_moves(start, 4) if m.charged)
    assert after(start, dict(move.changes)) == ((4, 4, 3), 4)
    assert (move.level, move.charged) == (SAME_NUMBERS, "max_seq_length")
    assert move.words.startswith("cut time into 3 calls of at most 4 steps")
    both = {**start, "direction_mode": DIRECTION_MODE.parse("bidirectional")}
    (two_ways,) = (m for m in length_moves(both, 4) if m.charged)
    assert two_ways.level == BATCH  # the reverse direction cannot be cut so
    (whole,) = length_moves({**start, "seq_lengths": EQUAL}, 4)
    assert dict(whole.changes) == {"max_seq_length": 4}


def test_padding_alone_is_left_off_rather_than_time_cut() -> None:
    start = {**base((3, 2), 10, UNPACKED), "direction_mode": 1}
    (move,) = (m for m in length_moves(start, 4) if m.charged)
    assert dict(move.changes) == {"max_seq_length": 3}
    assert (move.level, move.words) == (SAME_NUMBERS, "pad only to the longest sequence")


def test_time_is_cut_of_every_way_of_mending() -> None:
    start = base((10, 0, 12), 12, PACKED)
    words = "leave the empty rows out of the batch, then sort the rows by length, longest first"
    found = {m.words: m for m in length_moves(start, 4)}
    move = next(m for w, m in found.items() if w.startswith(f"{words}, then cut time"))
    assert after(start, dict(move.changes)) == ((4, 4), 4)
    assert words in found  # without cutting too
