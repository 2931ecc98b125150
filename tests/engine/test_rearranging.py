"""Sequences moved from one batch to another, against numbers that say where they belong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pyharness.engine.rearranging import Move, padding_of, reordered
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
    layout: str, lengths: Sequence[int], steps: int, names: Sequence[int], fill: float
) -> bytes:
    """x where each number says of which sequence, step and place it is, by loops."""
    numbers: list[float] = []
    batch = range(len(lengths))
    seq_major = [(t, i) for t in range(steps) for i in batch]
    batch_major = [(t, i) for i in batch for t in range(steps)]
    for t, i in batch_major if layout.startswith("batch") else seq_major:
        there = t < lengths[i]
        if there or layout != "seq_major_packed":
            numbers += [names[i] * 100 + t * 10 + w if there else fill for w in range(WIDTH)]
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
    before = buffer(layout, lengths, steps, range(len(lengths)), -1)
    packed = layout == "seq_major_packed"
    more_steps = max(theirs) if packed else steps + more
    after = buffer(layout, theirs, more_steps, chosen, 0)
    assert moved.moved("x", before) == after
    a, b, places = moved.shared("dx", before, after)
    assert a == b
    assert len(places) == sum(theirs) * WIDTH
    stored = np.frombuffer(before, np.float32)
    assert np.array_equal(stored[places], np.frombuffer(a, np.float32))
    assert moved.problem.value("max_seq_length") == more_steps
    changed = np.frombuffer(after, np.float32) + 0.5
    a, b, places = moved.shared("dx", before, changed.tobytes())
    assert np.array_equal(np.frombuffer(b, np.float32), stored[places] + 0.5)
    assert np.all(np.diff(places) > 0)
    assert moved.problem.value("batch_size") == len(chosen)


@pytest.mark.parametrize(("name", "width"), [("hx", 2), ("dcx", 5)])
def test_states_go_with_their_sequences(name: str, width: int) -> None:
    move = Move(problem("seq_major_unpacked", (4, 3, 2), 4), (2, 0))
    states = np.arange(4 * 3 * width, dtype=np.float32).reshape(4, 3, width)
    expected = np.stack([states[:, 2], states[:, 0]], axis=1)
    assert move.moved(name, states.tobytes()) == expected.tobytes()
    assert move.shared(name, states.tobytes(), expected.tobytes())[0] == expected.tobytes()


def test_weights_stay() -> None:
    move = Move(problem("seq_major_unpacked", (4, 3), 4), (1, 0))
    assert move.moved("w", b"abcdefgh") == b"abcdefgh"
    before, now, places = move.shared("dw", b"abcdefgh", b"abcdefgX")
    assert (before, now, list(places)) == (b"abcdefgh", b"abcdefgX", [0, 1])


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ("seq_major_unpacked", [9, 10, 11]),  # step 1 of sequence 1
        ("batch_major_unpacked", [9, 10, 11]),
        ("seq_major_packed", []),
    ],
)
def test_the_padding_of_x(layout: str, expected: list[int]) -> None:
    assert padding_of(problem(layout, (2, 1), 2)).tolist() == expected


def test_reordered_batches() -> None:
    assert reordered((4, 3, 2), packed=False) == (2, 1, 0)
    assert reordered((4, 3, 2), packed=True) == (0, 1, 2)
    assert reordered((4, 3, 3, 3, 2), packed=True) == (0, 3, 2, 1, 4)
