"""The reference against PyTorch in float64, over random problems."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from pyharness.errors import UsageError
from pyharness.reference.network import Network, backward, forward
from pyharness.spec.problem import Problem
from tests.oracle.problems import random_words

from .networks import Case, case_of, off, referred, wanted, wide_words

DOUBLE = ("double",)


def check(case: Case) -> int:
    """Compares every tensor; gives how many."""
    want = wanted(case)
    offs = off(referred(case), want)
    assert {n: d for n, d in offs.items() if not d < 1e-12} == {}, case.problem.command
    return len(want)


def test_problems_that_a_gpu_accepts() -> None:
    draw = random.Random(51)
    assert sum(check(case_of(random_words(draw, DOUBLE), i)) for i in range(300)) > 3000


def test_any_problem_that_can_be_described() -> None:
    draw = random.Random(52)
    assert sum(check(case_of(wide_words(draw), i)) for i in range(150)) > 1500


def test_dropout_is_the_layers_one_after_the_other() -> None:
    draw, dropped = random.Random(53), 0
    for i in range(60):
        case = case_of({**wide_words(draw), "num_layers": str(draw.randint(2, 4))}, i, dropout=0.4)
        check(case)
        dropped += case.masks is not None and bool((case.masks == 0).any())
    assert dropped > 40


@pytest.mark.parametrize("cell", ["rnn_tanh", "lstm", "gru"])
def test_a_network_of_some_size(cell: str) -> None:
    words = {
        "cell_mode": cell,
        "direction_mode": "bidirectional",
        "input_size": "70",
        "hidden_size": "96",
        "num_layers": "2",
        "seq_lengths": "[19,7,20,1,20,2]",
        "batch_size": "6",
        "max_seq_length": "21",
    }
    check(case_of(words, 1))


def test_what_it_is_given_is_left_as_it_was() -> None:
    case = case_of({"cell_mode": "lstm", "num_layers": "2", "seq_lengths": "[3,1]"}, 2, dropout=0.5)
    arrays = [case.given.x, case.given.dy, case.given.hx, case.given.cx, case.masks]
    arrays += [case.given.dhy, case.given.dcy, *case.weights.values()]
    for array in arrays:
        assert array is not None
        array.setflags(write=False)
    assert all(
        np.array_equal(a, b, equal_nan=True)
        for a, b in zip(referred(case).values(), referred(case).values(), strict=True)
    )


def test_states_that_are_not_given_are_zeros() -> None:
    case = case_of({"cell_mode": "lstm", "num_layers": "2", "seq_lengths": "[3,1]"}, 3)
    network, given = Network.of(case.problem), case.given
    assert given.hx is not None
    assert given.cx is not None
    zeros = [np.zeros_like(given.hx), np.zeros_like(given.cx)]
    one = forward(network, case.weights, given.x, given.lengths, tape=True)
    other = forward(network, case.weights, given.x, given.lengths, *zeros, tape=True)
    np.testing.assert_array_equal(one.y, other.y)
    by_default = backward(network, case.weights, one, given.dy)
    by_zeros = backward(network, case.weights, other, given.dy, *zeros)
    np.testing.assert_array_equal(by_default.dhx, by_zeros.dhx)


@pytest.mark.parametrize("cell", ["rnn_relu", "lstm", "gru"])
def test_a_batch_without_steps_hands_its_states_on(cell: str) -> None:
    words = {"cell_mode": cell, "direction_mode": "bidirectional", "num_layers": "2"}
    case = case_of({**words, "seq_lengths": "[0,0]", "batch_size": "2", "max_seq_length": "3"}, 7)
    found, given = referred(case), case.given
    assert np.isnan(found["y"]).all()
    assert np.isnan(found["dx"]).all()
    handed_on = {"hy": given.hx, "cy": given.cx, "dhx": given.dhy, "dcx": given.dcy}
    for name, value in handed_on.items():
        if value is not None:
            np.testing.assert_array_equal(found[name], value)
    assert not any(value.any() for name, value in found.items() if name.startswith("dw"))


def test_without_a_tape_there_is_no_way_back() -> None:
    case = case_of({"cell_mode": "gru"}, 4)
    network = Network.of(case.problem)
    taped = forward(network, case.weights, case.given.x, case.given.lengths, tape=True)
    plain = forward(network, case.weights, case.given.x, case.given.lengths)
    assert plain.tape is None
    np.testing.assert_array_equal(plain.y, taped.y)
    with pytest.raises(ValueError, match="tape=True"):
        backward(network, case.weights, plain, case.given.dy)


def test_arrays_that_do_not_fit_are_named() -> None:
    case = case_of({"cell_mode": "lstm", "num_layers": "2", "seq_lengths": "[3,2]"}, 5)
    network, given, weights = Network.of(case.problem), case.given, case.weights
    x = given.x

    def refuses(says: str, *, of: dict[str, np.ndarray] = weights, **changes: object) -> None:
        call = {"x": x, "lengths": given.lengths, **changes}
        with pytest.raises(ValueError, match=says):
            forward(network, of, **call)  # type: ignore[arg-type]

    refuses("x is", x=x[..., :0])
    refuses("x is", lengths=[3])
    refuses("each is 0 to 3", lengths=[3, 4])
    refuses("each is 0 to 3", lengths=[-1, 3])
    refuses("hx is", hx=given.hx[:1])  # type: ignore[index]
    refuses("cx is", cx=given.cx[:1])  # type: ignore[index]
    refuses("masks is", masks=np.ones((2, *x.shape)))
    name = "l1.forward.cell.h.matrix"
    refuses(f"no weight {name}", of={n: w for n, w in weights.items() if n != name})
    refuses(f"{name} is", of={**weights, name: weights[name][1:]})
    taped = forward(network, weights, x, given.lengths, tape=True)
    with pytest.raises(ValueError, match="dy is"):
        backward(network, weights, taped, given.dy[:1])
    with pytest.raises(ValueError, match="dhy is"):
        backward(network, weights, taped, given.dy, given.dhy[:1])


def test_only_what_clips_is_clipped() -> None:
    clipping = {"cell_mode": "lstm", "clip_mode": "minmax", "lclip": "-0.5", "rclip": "0.25"}
    clip = Network.of(Problem(clipping)).clip
    assert clip is not None
    assert (clip.low, clip.high, clip.nan_stays) == (-0.5, 0.25, False)
    stays = Network.of(Problem({**clipping, "clip_nan_opt": "propagate_nan"})).clip
    assert stays is not None
    assert stays.nan_stays
    assert Network.of(Problem({**clipping, "clip_mode": "none"})).clip is None
    assert Network.of(Problem({"cell_mode": "lstm"})).clip is None


def test_a_problem_that_describes_no_network_is_refused() -> None:
    with pytest.raises(UsageError):
        Network.of(Problem({"cell_mode": "gru", "proj_size": "1", "hidden_size": "2"}))


def test_infinities_are_results_and_no_warnings() -> None:
    case = case_of({"cell_mode": "rnn_relu", "seq_lengths": "[4,2]"}, 6)
    big = {name: np.full_like(value, 1e200) for name, value in case.weights.items()}
    found = referred(replace(case, weights=big, given=replace(case.given, x=abs(case.given.x))))
    assert np.isinf(found["y"]).any()
