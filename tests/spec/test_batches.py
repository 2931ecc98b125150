"""Advice on lengths: followed to the letter, it gives the numbers of the batch as it was."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pyharness.api.launching import launch_of
from pyharness.engine.answers import ask
from pyharness.engine.crew import Crew
from pyharness.errors import UsageError
from pyharness.releases import Release
from pyharness.space.grid import make_grid
from pyharness.spec.batches import (
    chunks,
    drop_empty,
    empty_rows,
    list_text,
    negative,
    packed_steps,
    rows_text,
    sort_order,
    too_long,
)
from pyharness.spec.calls import SET_RNN_DATA_DESCRIPTOR
from pyharness.spec.ledger import Ledger
from pyharness.spec.length_advice import (
    CUT,
    CUT_REVERSE,
    DROP_EMPTY,
    FEED_ONE,
    PAD,
    SHORTEN,
    SORT,
    Advice,
    advise,
)

Array = NDArray[np.float64]
Run = Callable[[Array, NDArray[np.int64], Array, Array], tuple[Array, Array, Array]]
LENGTHS = st.lists(st.integers(0, 7), min_size=1, max_size=6)


@dataclass
class Network:
    """A stack of LSTMs in float64, one row and one step at a time; other rows cannot disturb it."""

    seed: int
    width: int
    hidden: int
    layers: int = 1
    directions: int = 1
    first: tuple[int, int] = (0, 0)  # layer and direction, where it is a part of a larger one

    def weights(self, layer: int, direction: int) -> tuple[Array, Array, Array]:
        seed = [self.seed, self.first[0] + layer, self.first[1] + direction]
        draw = np.random.default_rng(seed)
        into = self.width if layer == 0 else self.hidden * self.directions
        shapes = [(4 * self.hidden, into), (4 * self.hidden, self.hidden), (4 * self.hidden,)]
        w, r, b = (draw.uniform(-1, 1, shape) for shape in shapes)
        return w, r, b

    def run(
        self, x: Array, lengths: NDArray[np.int64], hx: Array, cx: Array
    ) -> tuple[Array, Array, Array]:
        """y, hy and cy; y beyond a row's end is 0, and a row of length 0 keeps its state."""
        assert x.shape[1] == len(lengths) == hx.shape[1] == cx.shape[1]
        hy, cy = hx.copy(), cx.copy()
        for layer in range(self.layers):
            y = np.zeros((*x.shape[:2], self.directions * self.hidden))
            for direction in range(self.directions):
                place = layer * self.directions + direction
                w, r, b = self.weights(layer, direction)
                for row, length in enumerate(lengths):
                    h, c = hy[place, row], cy[place, row]
                    steps = range(length) if direction == 0 else reversed(range(length))
                    for step in steps:
                        gates = (w * x[step, row]).sum(1) + (r * h).sum(1) + b
                        i, f, g, o = np.split(gates, 4)
                        c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
                        h = np.tanh(c) / (1 + np.exp(-o))
                        y[step, row, direction * self.hidden : (direction + 1) * self.hidden] = h
                    hy[place, row], cy[place, row] = h, c
            x = y
        return x, hy, cy


def batch(
    lengths: list[int], seed: int, *, layers: int = 1, directions: int = 1, steps: int | None = None
) -> tuple[Network, dict[str, Any]]:
    """A network and the names that a recipe uses; what lies beyond a row's end is far off."""
    draw = np.random.default_rng(seed)
    network = Network(seed, 2, 3, layers, directions)
    total = max(*lengths, 1) if steps is None else steps
    x = draw.uniform(-1, 1, (total, len(lengths), network.width))
    for row, length in enumerate(lengths):
        x[max(length, 0) :, row] = 30
    state = (layers * directions, len(lengths), network.hidden)
    return network, {
        "np": np,
        "x": x,
        "lengths": np.array(lengths),
        "hx": draw.uniform(-1, 1, state),
        "cx": draw.uniform(-1, 1, state),
        "y_width": network.hidden * directions,
    }


def strict(run: Run, *, limit: int = 10**9, packed: bool = False) -> Run:
    """A network that refuses what cuDNN refuses: empty rows, long batches, an order that rises."""

    def checked(
        x: Array, lengths: NDArray[np.int64], hx: Array, cx: Array
    ) -> tuple[Array, Array, Array]:
        assert min(lengths) > 0
        assert max(lengths) <= len(x) <= limit
        if packed:
            assert list(lengths) == sorted(lengths, reverse=True)
            assert max(lengths) == len(x)
        return run(x, lengths, hx, cx)

    return checked


def follow(code: str, names: dict[str, Any], run: Run) -> tuple[Array, Array, Array]:
    """What a recipe's lines leave in y, hy and cy."""
    scope = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in names.items()}
    exec(code, {**scope, "rnn": run}, scope)
    return scope["y"], scope["hy"], scope["cy"]


def same(got: tuple[Array, ...], wanted: tuple[Array, ...]) -> None:
    for one, other in zip(got, wanted, strict=True):
        assert one.shape == other.shape
        assert np.array_equal(one, other)  # to the last bit: only the bookkeeping differs


def plain(network: Network, names: dict[str, Any]) -> tuple[Array, Array, Array]:
    return network.run(names["x"], names["lengths"], names["hx"], names["cx"])


@given(LENGTHS, st.integers(0, 99), st.integers(1, 2), st.integers(1, 2))
@settings(max_examples=30)
def test_sorting_and_sorting_back_changes_nothing(
    lengths: list[int], seed: int, layers: int, directions: int
) -> None:
    lengths = [max(n, 1) for n in lengths]
    network, names = batch(lengths, seed, layers=layers, directions=directions)
    same(follow(SORT, names, strict(network.run, packed=True)), plain(network, names))


@given(LENGTHS, st.integers(0, 99), st.integers(1, 2), st.integers(1, 2))
@settings(max_examples=30)
def test_leaving_out_empty_rows_changes_nothing(
    lengths: list[int], seed: int, layers: int, directions: int
) -> None:
    network, names = batch(lengths, seed, layers=layers, directions=directions)
    wanted = plain(network, names)
    same(follow(DROP_EMPTY, names, strict(network.run)), wanted)
    same(follow(FEED_ONE, names, strict(network.run)), wanted)


@given(LENGTHS, st.integers(0, 99), st.integers(1, 2), st.integers(1, 8))
@settings(max_examples=60)
def test_cutting_and_carrying_the_state_changes_nothing(
    lengths: list[int], seed: int, layers: int, limit: int
) -> None:
    network, names = batch(lengths, seed, layers=layers)
    names["longest"] = limit
    wanted = plain(network, names)
    same(follow(CUT, names, strict(network.run, limit=limit)), wanted)

    y, hy, cy = np.zeros_like(wanted[0]), names["hx"].copy(), names["cx"].copy()
    for chunk in chunks(lengths, limit):
        rows = list(chunk.rows)
        y[chunk.first : chunk.end, rows], hy[:, rows], cy[:, rows] = strict(
            network.run, limit=limit
        )(
            names["x"][chunk.first : chunk.end, rows],
            np.array(chunk.lengths),
            hy[:, rows],
            cy[:, rows],
        )
    same((y, hy, cy), wanted)


@given(LENGTHS, st.integers(0, 99), st.integers(1, 8), st.integers(1, 2))
@settings(max_examples=60)
def test_a_bidirectional_network_is_cut_as_two_networks_a_layer(
    lengths: list[int], seed: int, limit: int, layers: int
) -> None:
    network, names = batch(lengths, seed, layers=layers, directions=2)
    wanted = plain(network, names)
    x, states = names["x"], ([], [])
    for layer in range(layers):
        outputs = []
        for direction, code in enumerate((CUT, CUT_REVERSE)):
            place = 2 * layer + direction
            single = Network(seed, x.shape[2], network.hidden, first=(layer, direction))
            scope = {**names, "x": x, "longest": limit, "y_width": network.hidden}
            scope["hx"], scope["cx"] = (names[n][place : place + 1] for n in ("hx", "cx"))
            y, hy, cy = follow(code, scope, strict(single.run, limit=limit))
            outputs.append(y)
            states[0].append(hy)
            states[1].append(cy)
        x = np.concatenate(outputs, 2)
    same((x, np.concatenate(states[0]), np.concatenate(states[1])), wanted)


def test_a_bidirectional_call_that_is_cut_gives_other_numbers() -> None:
    network, names = batch([7, 4, 1], 3, directions=2)
    got = follow(CUT, {**names, "longest": 3}, network.run)
    assert not np.allclose(got[0], plain(network, names)[0])


@given(LENGTHS.filter(any), st.integers(1, 6), st.integers(0, 3))
@settings(max_examples=20)
def test_padding_and_shortening_change_nothing(lengths: list[int], short: int, more: int) -> None:
    network, names = batch(lengths, 1, steps=max(lengths) + more)
    wanted = plain(network, names)
    same(follow(SHORTEN, names, network.run), wanted)
    names["x"][max(lengths) - min(short, max(lengths) - 1) :] = 0
    wanted = plain(network, names)
    longest = max(lengths)
    names["x"] = names["x"][: longest - min(short, longest - 1)]
    got = follow(PAD, names, network.run)
    same((got[0], *got[1:]), (wanted[0][:longest], *wanted[1:]))


@given(LENGTHS, st.integers(1, 9))
def test_chunks_cover_every_step_once(lengths: list[int], limit: int) -> None:
    seen = [
        (row, chunk.first + step)
        for chunk in chunks(lengths, limit)
        for row, length in zip(chunk.rows, chunk.lengths, strict=True)
        for step in range(length)
    ]
    assert sorted(seen) == [(row, step) for row, n in enumerate(lengths) for step in range(n)]
    for chunk in chunks(lengths, limit):
        assert chunk.end - chunk.first == max(chunk.lengths) <= limit


def test_a_long_batch_is_cut_at_the_limit() -> None:
    first, second = chunks([65_540, 3, 0, 65_535])
    assert (first.first, first.end, first.rows, first.lengths) == (
        0,
        65_535,
        (0, 1, 3),
        (65_535, 3, 65_535),
    )
    assert (second.first, second.end, second.rows, second.lengths) == (65_535, 65_540, (0,), (5,))
    assert len(chunks([65_535])) == 1
    assert chunks([0, 0]) == chunks([]) == []
    with pytest.raises(UsageError, match="row 1 is -2"):
        chunks([3, -2])
    with pytest.raises(UsageError, match="a chunk of 0 steps"):
        chunks([3], 0)


@given(LENGTHS)
def test_packed_steps_count_the_rows_of_each_step(lengths: list[int]) -> None:
    steps = packed_steps(lengths)
    assert list(steps) == [sum(n > t for n in lengths) for t in range(max(lengths))]
    assert sum(steps) == sum(lengths)


def test_packed_steps_as_pytorch_counts_them() -> None:
    # torch.nn.utils.rnn.pack_padded_sequence(zeros(4, 3, 1), [4, 2, 1]).batch_sizes
    assert packed_steps([4, 2, 1]) == (3, 2, 1, 1)
    assert packed_steps([]) == ()
    with pytest.raises(UsageError, match="row 0 is -1"):
        packed_steps([-1])


@given(LENGTHS)
def test_the_order_descends_and_is_stable(lengths: list[int]) -> None:
    order, inverse = sort_order(lengths)
    wanted = sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))
    assert order.tolist() == wanted
    assert order[inverse].tolist() == list(range(len(lengths)))


def test_which_rows_have_what() -> None:
    lengths = [3, 0, 9, -1, 0, 5]
    assert empty_rows(lengths) == (1, 4)
    assert negative(lengths) == (3,)
    assert too_long(lengths, 5) == (2,)
    assert drop_empty([3, 0, 9, 0]) == ((0, 2), (3, 9))
    assert drop_empty([0]) == ((), ())


def test_rows_and_lists_in_words() -> None:
    assert rows_text([3]) == "row 3"
    assert rows_text([3, 7]) == "rows 3 and 7"
    assert rows_text([1, 2, 3, 4, 5]) == "rows 1, 2, 3, 4 and 5"
    assert rows_text([1, 2, 3, 4, 5, 9]) == "rows 1, 2, 3, 4, 5 and 1 more"
    assert rows_text(range(2000)) == "rows 0, 1, 2, 3, 4 and 1,995 more"
    assert list_text([2, 0, 1]) == "[2,0,1]"
    assert list_text(range(16)) == "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]"
    assert list_text(range(17)) == "[0,1,2,3,4,5,6,7,…,15,16]"


def kinds(lengths: list[int], **about: Any) -> dict[str, Advice]:
    return {a.kind: a for a in advise(lengths, **about)}


def test_a_plain_batch_needs_no_advice() -> None:
    assert advise([5, 3, 3], batch_size=3, max_seq_length=5, packed=True) == ()
    assert advise([3, 5, 1], batch_size=3, max_seq_length=9, bidirectional=True) == ()
    assert advise([65_535]) == ()


def test_advice_names_rows_and_numbers() -> None:
    found = kinds([2, 5, 0, -3, 9], batch_size=4, max_seq_length=6, packed=True)
    assert list(found) == ["count", "negative", "over_max", "empty", "unsorted"]
    assert found["count"].words == "5 lengths are given and batch_size is 4"
    assert found["count"].rows == (4,)
    assert found["negative"].words == "row 3: the length is below 0 (row 3: -3)"
    assert found["over_max"].rows == (4,)
    assert "padded to (row 4: 9; the longest: 9)" in found["over_max"].words
    assert found["over_max"].recipes[0].title == "raise max_seq_length to 9 and pad x"
    assert "other numbers" in found["over_max"].recipes[1].notes[0]
    assert found["empty"].words == "row 2: length 0, 4 of 5 sequences have steps"
    assert found["unsorted"].rows == (1, 4)
    assert "(row 1: 5 after 2)" in found["unsorted"].words
    assert "order [4,1,0,2,3], inverse [2,1,3,4,0]" in found["unsorted"].recipes[0].notes


def test_the_packed_layout_ends_with_the_longest() -> None:
    found = kinds([4, 2], max_seq_length=6, packed=True)
    assert list(found) == ["under_max"]
    assert found["under_max"].recipes[0].title == "set max_seq_length=4"
    assert kinds([4, 2], max_seq_length=6) == {}


def test_a_batch_of_empty_rows_is_no_call() -> None:
    (advice,) = advise([0, 0], max_seq_length=3)
    assert advice.rows == (0, 1)
    assert "no sequence is left: make no call" in advice.recipes[0].notes
    assert all(r.code for r in advice.recipes)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_long_sequences_are_cut(bidirectional: bool) -> None:
    found = kinds([200_000, 65_536, 7], max_seq_length=200_000, bidirectional=bidirectional)
    advice = found["too_many_steps"]
    assert advice.rows == (0, 1)
    assert len(advice.recipes) == 1 + bidirectional
    text = " ".join(f"{r.title} {' '.join(r.notes)}" for r in advice.recipes)
    assert ("4 calls" in text) is not bidirectional
    assert ("one bidirectional call cannot be cut" in text) is bidirectional
    assert all(r.code.startswith("longest = 65535\n") for r in advice.recipes)


@pytest.mark.parametrize("directions", [1, 2])
def test_the_advice_for_long_sequences_can_be_run_as_it_is_printed(directions: int) -> None:
    lengths = [7, 3, 0, 5]
    network, names = batch(lengths, 4, directions=directions)
    (advice,) = [
        a
        for a in advise(lengths, bidirectional=directions == 2, limit=3)
        if a.kind == "too_many_steps"
    ]
    wanted = plain(network, names)
    for direction, recipe in enumerate(advice.recipes):
        single = Network(4, 2, 3, first=(0, direction))
        scope = {**names, "y_width": 3}
        scope["hx"], scope["cx"] = (names[n][direction : direction + 1] for n in ("hx", "cx"))
        y, hy, cy = follow(recipe.code, scope, strict(single.run, limit=3))
        part = slice(3 * direction, 3 * direction + 3)
        same((y, hy[0], cy[0]), (wanted[0][..., part], wanted[1][direction], wanted[2][direction]))


def test_padding_alone_above_the_limit_is_left_off() -> None:
    (advice,) = advise([40, 3], max_seq_length=70_000)
    assert advice.kind == "too_many_steps"
    assert advice.rows == ()
    assert advice.recipes[0].title == "set max_seq_length=40"
    found = kinds([0, 0], max_seq_length=70_000)
    assert found["too_many_steps"].recipes[0].title == "set max_seq_length=1"
    assert found["too_many_steps"].recipes[0].code == ""


def test_a_wrong_number_of_lengths_names_the_rows_that_are_too_many() -> None:
    assert kinds([1, 1], batch_size=0)["count"].rows == (0, 1)
    assert kinds([1, 1], batch_size=-1)["count"].rows == ()
    assert kinds([1], batch_size=3)["count"].rows == ()


def random_batches(count: int) -> list[tuple[list[int], int, str]]:
    """Lengths, max_seq_length and layout, near every limit that there is."""
    draw, batches = random.Random(2), []
    layouts = ["seq_major_packed", "seq_major_unpacked", "batch_major_unpacked"]
    for _ in range(count):
        top = draw.choice([3, 3, 6, 65_535, 70_000])
        likely = [1, 2, 3, top, top - 1, 0, -1, top + 1]
        choices = likely[: draw.choice([3, 5, 6, 8])]
        lengths = [draw.choice(choices) for _ in range(draw.randint(1, 5))]
        if draw.random() < 0.5:
            lengths.sort(reverse=True)
        steps = draw.choice([max(lengths), max(lengths) + 1, 3, top])
        batches.append((lengths, max(steps, 1), draw.choice(layouts)))
    return batches


def test_there_is_advice_where_some_release_refuses_and_nowhere_else(
    cudnn: Callable[[str], Release],
) -> None:
    batches = random_batches(150)
    refused = [False] * len(batches)
    # One that takes any order and zeros, one that takes zeros nowhere, one in between.
    for name in ("8.9.7.29+cu12", "9.1.0.70+cu12", "9.28.0.42+cu12"):
        ledger = Ledger()
        with Crew(launch_of(cudnn(name)), ledger, 1) as crew:
            for place, (lengths, steps, layout) in enumerate(batches):
                texts = {
                    "seq_lengths": f"[{','.join(map(str, lengths))}]",
                    "max_seq_length": str(steps),
                    "layout": layout,
                }
                grid = make_grid(SET_RNN_DATA_DESCRIPTOR, texts)
                (code,) = ask(crew, grid, np.zeros(1, np.int64)).codes
                refused[place] |= ledger.name_of(int(code)) != "SUCCESS"
    advised = [
        bool(advise(lengths, max_seq_length=steps, packed=layout == "seq_major_packed"))
        for lengths, steps, layout in batches
    ]
    assert advised == refused
    assert 30 < sum(refused) < 120
