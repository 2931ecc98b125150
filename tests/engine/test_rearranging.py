"""Sequences moved from one batch to another, against numbers that say where they belong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pyharness.engine.rearranging import Move, padding_rows, reordered
from pyharness.spec.problem import Problem, parse_problem

LAYOUTS = ("seq_major_unpacked", "seq_major_packed", "batch_major_unpacked")
WIDTH = 3


def problem(layout: str, lengths: Sequence[int], steps: int) -> Problem:
    words = (
        f"layout={layout} batch_size={len(lengths)} max_seq_length={steps} input_size={WIDTH} "
        f"hidden_size=5 proj_size=2 cell_mode=lstm num_layers=2 direction_mode=bidirectional "
        f"seq_lengths=[{','.join(map(str, lengths))}]"
    )
    return parse_problem(words.split())


def buffer(
    layout: str,
    lengths: Sequence[int],
    steps: int,
    names: Sequence[int],
    padded: int | None = None,
) -> bytes:
    """x where each number says of which sequence, step and place it is, by loops.

    ``padded``  steps whose padding says the same; behind them are zeros.
    """
    padded = steps if padded is None else padded
    numbers: list[float] = []
    batch = range(len(lengths))
    seq_major = [(t, i) for t in range(steps) for i in batch]
    batch_major = [(t, i) for i in batch for t in range(steps)]
    for t, i in batch_major if layout.startswith("batch") else seq_major:
        there = t < lengths[i]
        if there or layout != "seq_major_packed":
            sign = (1 if there else -1) if t < padded else 0
            numbers += [sign * (1000 + names[i] * 100 + t * 10 + w) for w in range(WIDTH)]
    return np.array(numbers, np.float32).tobytes()


@given(data=st.data(), layout=st.sampled_from(LAYOUTS), more=st.integers(0, 3))
def test_every_number_arrives_at_its_place(data: st.DataObject, layout: str, more: int) -> None:
    lengths = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=4).filter(any))
    lengths = sorted(lengths, reverse=True)
    steps = max(lengths) + data.draw(st.integers(0, 2))
    order = data.draw(st.permutations(range(len(lengths))))
    chosen = tuple(order[: data.draw(st.integers(1, len(order)))])
    assume(any(lengths[i] for i in chosen))
    moved = Move(problem(layout, lengths, steps), chosen, more)
    theirs = [lengths[i] for i in chosen]
    before = buffer(layout, lengths, steps, range(len(lengths)))
    packed = layout == "seq_major_packed"
    more_steps = max(theirs) if packed else steps + more
    after = buffer(layout, theirs, more_steps, chosen, steps)
    assert moved.moved("x", before) == after
    a, b = moved.shared("dx", before, after)
    assert a == b
    count = sum(theirs) * WIDTH
    places = [moved.place("dx", i) for i in range(count)]
    assert len(a) == 4 * count
    stored = np.frombuffer(before, np.float32)
    assert np.array_equal(stored[places], np.frombuffer(a, np.float32))
    assert moved.problem.value("max_seq_length") == more_steps
    changed = np.frombuffer(after, np.float32) + 0.5
    a, b = moved.shared("dx", before, changed.tobytes())
    assert np.array_equal(np.frombuffer(b, np.float32), stored[places] + 0.5)
    assert np.all(np.diff(places) > 0)
    assert moved.problem.value("batch_size") == len(chosen)


@pytest.mark.parametrize(("name", "width"), [("hx", 2), ("dcx", 5)])
def test_states_go_with_their_sequences(name: str, width: int) -> None:
    move = Move(problem("seq_major_unpacked", (4, 3, 2), 4), (2, 0))
    states = np.arange(4 * 3 * width, dtype=np.float32).reshape(4, 3, width)
    expected = np.stack([states[:, 2], states[:, 0]], axis=1)
    assert move.moved(name, states.tobytes()) == expected.tobytes()
    # What is shared comes in the order of the first problem.
    both = move.shared(name, states.tobytes(), expected.tobytes())
    assert both == (np.ascontiguousarray(states[:, [0, 2]]).tobytes(),) * 2
    assert move.place(name, width) == 2 * width


def test_weights_stay() -> None:
    move = Move(problem("seq_major_unpacked", (4, 3), 4), (1, 0))
    assert move.moved("w", b"abcdefgh") == b"abcdefgh"
    assert move.shared("dw", b"abcdefgh", b"abcdefgX") == (b"abcdefgh", b"abcdefgX")
    assert move.place("dw", 1) == 1


@pytest.mark.parametrize(
    ("layout", "steps", "expected"),
    [
        ("seq_major_unpacked", 2, [3]),  # step 1 of sequence 1
        ("seq_major_unpacked", 3, [3, 4, 5]),  # that, and step 2 of both
        ("batch_major_unpacked", 2, [3]),
        ("batch_major_unpacked", 3, [2, 4, 5]),
        ("seq_major_packed", 2, []),
    ],
)
def test_the_padding_of_x(layout: str, steps: int, expected: list[int]) -> None:
    assert padding_rows(problem(layout, (2, 1), steps)).tolist() == expected


def test_reordered_batches() -> None:
    assert reordered((4, 3, 2), packed=False) == (2, 1, 0)
    assert reordered((4, 3, 2), packed=True) == (0, 1, 2)
    assert reordered((4, 3, 3, 3, 2), packed=True) == (0, 3, 2, 1, 4)
