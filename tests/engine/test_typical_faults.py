"""What a library may do wrong with lengths, layers and batches, and the checks that see it: on the
emulator, whose results are replaced by wrong ones. With TensorFloat-32 allowed, as by default, so
that thresholds are wide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyharness.engine.equivalences import check
from pyharness.engine.repeats import Refused
from pyharness.engine.sides import Outputs, Side
from pyharness.reference.layouts import to_bytes
from pyharness.reference.network import Backward, Forward, Network, backward, forward
from pyharness.spec.equivalences import CHECKS, VIOLATED
from pyharness.spec.number_bits import Bits, values
from pyharness.spec.problem import parse_problem
from pyharness.spec.stages import PASSES
from tests.engine import test_workbench

bench = test_workbench.bench  # the fixture
ONE_LAYER = "cell_mode=rnn_tanh hidden_size=12 input_size=12 input_mode=skip_input"
TWO_LAYERS = (
    "cell_mode=lstm hidden_size=12 proj_size=5 input_size=7 num_layers=2 "
    "direction_mode=bidirectional"
)
RAGGED = "seq_lengths=[6,4,3,2] padding_fill=given math_type=default_math"
Fault = Callable[[Side, Outputs], None]


def stored(numbers: Any) -> Bits:
    return np.frombuffer(to_bytes(np.ascontiguousarray(numbers), "float"), np.int32).reshape(
        numbers.shape
    )


def through_the_padding(side: Side) -> tuple[Forward, Backward] | None:
    """What it comes to if each sequence is as long as the batch; None where each is."""
    of = side.of
    if of.layout == "seq_major_packed" or min(of.lengths) == of.max_seq_length:
        return None
    given = {name: values(bits, "float") for name, bits in side.inputs().items()}
    weights = {name[2:]: numbers for name, numbers in given.items() if name.startswith("w.")}
    x, dy = (np.where(side.there, given[name], 0) for name in ("x", "dy"))
    network, lengths = Network.of(side.problem), [of.max_seq_length] * of.batch_size
    ahead = forward(network, weights, x, lengths, given["hx"], given.get("cx"), tape=True)
    return ahead, backward(network, weights, ahead, dy, given["dhy"], given.get("dcy"))


def states_of_the_last_step(side: Side, made: Outputs) -> None:
    """hy is that of max_seq_length, not of each sequence's end."""
    if wrong := through_the_padding(side):
        made.update({key: stored(wrong[0].hy) for key in made if key[1] == "hy"})


def weights_of_the_padding(side: Side, made: Outputs) -> None:
    """dw has the steps behind each sequence's end, too."""
    if wrong := through_the_padding(side):
        dw = {key: wrong[1].dw[key[1][3:]] for key in made if key[1].startswith("dw.")}
        made.update({key: stored(numbers) for key, numbers in dw.items()})


def gradients_of_states_through_the_padding(side: Side, made: Outputs) -> None:
    """The way back of dhx begins at max_seq_length."""
    if wrong := through_the_padding(side):
        made.update({key: stored(wrong[1].dhx) for key in made if key[1] == "dhx"})


def states_of_the_last_layer(side: Side, made: Outputs) -> None:
    """hy of the layers below is left zero."""
    for key in [key for key in made if key[1] == "hy"]:
        made[key] = made[key].copy()
        made[key][: -side.of.directions] = 0


def one_sequence(side: Side, made: Outputs) -> None:
    """The last step of a batch of one is left out."""
    for key in [key for key in made if key[1] == "y" and side.of.batch_size == 1]:
        made[key] = made[key].copy()
        made[key][-1] = 0


CUT = ("packed_is_padded", "reverse_starts_at_end", "layers_in_turn", "chunks_are_whole")


@pytest.mark.parametrize(
    ("fault", "words", "expected"),
    [
        (states_of_the_last_step, TWO_LAYERS, CUT),
        (states_of_the_last_step, ONE_LAYER, ("packed_is_padded", "chunks_are_whole")),
        (weights_of_the_padding, TWO_LAYERS, CUT),
        (weights_of_the_padding, ONE_LAYER, ("packed_is_padded", "chunks_are_whole")),
        (gradients_of_states_through_the_padding, TWO_LAYERS, CUT),
        (states_of_the_last_layer, TWO_LAYERS, ("layers_in_turn",)),
        (one_sequence, TWO_LAYERS, ("batch_is_parts", "chunks_are_whole")),
    ],
)
def test_it_is_seen(
    bench: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    fault: Fault,
    words: str,
    expected: tuple[str, ...],
) -> None:
    right = Side.outputs

    def wrong(side: Side, *args: Any, **how: Any) -> Outputs:
        made = right(side, *args, **how)
        fault(side, made)
        return made

    monkeypatch.setattr(Side, "outputs", wrong)
    problem, seen = parse_problem(f"{words} {RAGGED}".split()), []
    with bench() as work:
        for name in CHECKS:
            try:
                found = check(work, problem, PASSES, name)
            except Refused:
                continue
            seen += [name] * any(one.verdict == VIOLATED for one in found)
    assert tuple(seen) == expected
