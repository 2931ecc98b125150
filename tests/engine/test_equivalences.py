"""Two ways to the same on the emulator: they come to the same, and what is planted shows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from pyharness.engine.beside import Whole
from pyharness.engine.equivalences import Found, check
from pyharness.engine.repeats import Refused
from pyharness.engine.runner import StageFailed
from pyharness.engine.sides import Side
from pyharness.engine.workbench import Workbench
from pyharness.errors import UsageError
from pyharness.reference.layouts import numbers, unpack
from pyharness.spec.equivalences import CHECKS, HOLDS, NOT_TOLD, VIOLATED
from pyharness.spec.problem import Problem, parse_problem
from pyharness.spec.stages import PASSES
from tests.engine import test_workbench
from tests.oracle.problems import random_words

Open = Callable[..., Any]
bench = test_workbench.bench  # the fixture
LSTM = ("cell_mode=lstm", "hidden_size=6", "input_size=4", "max_seq_length=6")
RAGGED = (*LSTM, "batch_size=4", "seq_lengths=[3,6,2,4]")
TYPES = ["float", "double", "half", "bfloat16"]


def found_of(
    work: Workbench, words: Sequence[str], name: str, passes: Sequence[str] = PASSES
) -> list[Found]:
    return check(work, parse_problem(words), passes, name)


def dead(one: Found) -> bool:
    """Whether it is of rectifiers that are all off."""
    return one.reason == "all of it is zero, both ways"


def bits_of_all(tensor: str) -> None:
    """No tensor may differ by rounding."""


def test_random_problems_hold(bench: Open) -> None:
    draw, told, held = random.Random(11), Counter[str](), 0
    with bench() as work:
        for number in range(60):
            words = random_words(draw, TYPES)
            if number % 4 == 0:
                words |= {"dropout": "present", "dropout_rate": "0.375"}
            for name in CHECKS:
                try:
                    found = check(work, Problem(words), PASSES, name)
                except Refused:
                    continue
                assert found, (words, name)
                told[name] += 1
                held += sum(one.verdict == HOLDS for one in found)
                # Of a network of few numbers in a narrow type rounding explains anything.
                odd = [f for f in found if f.verdict != HOLDS and f.threshold < 1 and not dead(f)]
                assert odd == [], (words, name)
    assert min(told[name] for name in CHECKS) >= 4, told
    assert held > 1500, held


def test_sequences_without_steps_are_left_out(bench: Open) -> None:
    words = (*LSTM, "batch_size=5", "seq_lengths=[3,0,6,2,0]", "padding_fill=given")
    none_backward = "backward_data, cudnnRNNBackwardData_v8: a sequence is empty"
    with bench() as work:
        for name in ("packed_is_padded", "batch_is_parts", "chunks_are_whole", "padding_ignored"):
            found = found_of(work, words, name)
            forward = [one for one in found if one.buffer in ("y", "hy", "cy")]
            assert {one.verdict for one in forward} == {HOLDS}
            assert {one.elements for one in forward if one.buffer == "y"} == {11 * 6}
            states = 5 if name in ("padding_ignored", "packed_is_padded") else 3
            assert {one.elements for one in forward if one.buffer == "cy"} == {states * 6}
            rest = [one for one in found if one not in forward]
            assert {(one.verdict, one.reason) for one in rest} == {(NOT_TOLD, none_backward)}
            assert {one.buffer for one in rest} == {"dx", "dhx", "dcx", "dw"}
        words = (*words, "direction_mode=bidirectional")
        held = found_of(work, words, "reverse_starts_at_end", ["forward_inference"])
        assert {(one.buffer, one.verdict) for one in held} == {
            (n, HOLDS) for n in ("y", "hy", "cy")
        }


SILENT = [
    ("padding_filled", RAGGED, "padding_fill=null"),
    ("padding_filled", (*LSTM, "padding_fill=given"), "there is no padding"),
    ("padding_ignored", (*RAGGED, "seq_lengths=equal"), "there is no padding"),
    ("padding_ignored", ("layout=seq_major_packed", "seq_lengths=[4,3]"), "no padding"),
    ("reverse_starts_at_end", RAGGED, "there is no reverse direction"),
    ("reverse_starts_at_end", ("direction_mode=bidirectional",), "end where the batch does"),
    ("projection_off", ("cell_mode=gru",), "only an LSTM projects"),
    ("projection_off", (*LSTM, "proj_size=3"), "it projects"),
    ("projection_off", (*LSTM, "algo=persist_dynamic"), "proj_size=6: descriptor, cudnnSetRNN"),
    ("layers_in_turn", RAGGED, "there is one layer"),
    ("inference_is_training", (*LSTM, "num_layers=2", "dropout_rate=0.5"), "training drops"),
    ("batch_is_parts", (*LSTM, "batch_size=1"), "no two sequences"),
    ("chunks_are_whole", ("seq_lengths=[1,1]", "max_seq_length=3"), "two steps"),
    ("chunks_are_whole", ("proj_size=over",), "is no projection"),
    ("batch_is_parts", ("batch_size=2", "vector_size=3"), "x is described 3 wide"),
    ("batch_is_parts", ("batch_size=2", "strides=unpacked"), "cannot be run"),
]


def test_where_a_check_says_nothing(bench: Open) -> None:
    with bench() as work:
        for name, words, why in SILENT:
            given = dict(word.split("=", 1) for word in words)
            with pytest.raises(Refused, match=why):
                check(work, Problem(given), PASSES, name)


def test_only_what_inference_gives_is_compared_where_something_is_dropped(bench: Open) -> None:
    words = (*RAGGED, "num_layers=2", "dropout_rate=0.5")
    with bench() as work:
        for name in ("packed_is_padded", "layers_in_turn", "batch_is_parts", "chunks_are_whole"):
            found = found_of(work, words, name)
            assert [one.buffer for one in found] == ["y", "hy", "cy"]
            with pytest.raises(Refused, match="what is dropped depends on"):
                found_of(work, words, name, PASSES[1:])
        found = found_of(work, words, "padding_ignored", PASSES[1:])
        assert [
            (one.buffer, one.verdict) for one in found if one.variant == "NaN in the padding"
        ] == [(name, HOLDS) for name in ("y", "hy", "cy", "dx", "dhx", "dcx", "dw")]


def test_one_of_two_forward_passes_is_no_comparison(bench: Open) -> None:
    with bench() as work, pytest.raises(Refused, match="only one of the two forward passes"):
        found_of(work, RAGGED, "inference_is_training", ["forward_inference"])
    with bench() as work, pytest.raises(UsageError, match="unknown check"):
        found_of(work, RAGGED, "nothing")


@pytest.mark.parametrize(
    ("fault", "name", "buffer", "variant"),
    [
        # The first two forward passes and the first backward ones are the problem's own.
        (
            "flip:y@cudnnRNNForward:1",
            "packed_is_padded",
            "y",
            "seq_major_packed, forward_inference",
        ),
        (
            "flip:hy@cudnnRNNForward:2",
            "packed_is_padded",
            "hy",
            "seq_major_packed, forward_training",
        ),
        ("flip:dx@cudnnRNNBackwardData_v8:1", "chunks_are_whole", "dx", None),
        ("flip:dhx@cudnnRNNBackwardData_v8:1", "batch_is_parts", "dhx", None),
        ("flip:dcx@cudnnRNNBackwardData_v8:1", "layers_in_turn", "dcx", None),
        ("flip:dw@cudnnRNNBackwardWeights_v8:1", "batch_is_parts", "dw", None),
        ("flip:dw@cudnnRNNBackwardWeights_v8:1", "projection_off", "dw", None),
        ("flip:cy@cudnnRNNForward:2", "inference_is_training", "cy", None),
    ],
)
def test_a_flipped_bit_is_found_where_it_was(
    bench: Open, fault: str, name: str, buffer: str, variant: str | None
) -> None:
    words = (*RAGGED, "num_layers=2" if name == "layers_in_turn" else "num_layers=1")
    with bench(fault=fault) as work:
        (one,) = [one for one in found_of(work, words, name) if one.verdict == VIOLATED]
    # The emulator flips the highest bit of the exponent of the first number.
    assert (one.buffer, one.variant, one.exact, one.first) == (buffer, variant, False, 0)
    assert one.differing >= 1
    assert one.error is None or one.error > one.threshold > 0


@pytest.mark.parametrize(
    "layout", ["seq_major_unpacked", "batch_major_unpacked", "seq_major_packed"]
)
def test_a_number_is_found_where_it_is_stored(bench: Open, layout: str) -> None:
    words = (*LSTM, "batch_size=4", "seq_lengths=[6,4,3,2]", "num_layers=2", f"layout={layout}")
    places = {
        ("forward_training", "y"): (1, 2, 4),
        ("forward_training", "cy"): (1, 3, 5),
        ("backward_data", "dx"): (3, 0, 1),
        ("backward_data", "dhx"): (0, 1, 2),
        ("backward_weights", "dw.l1.forward.cell.h.matrix"): (5, 3),
    }
    with bench() as work:
        whole = Whole(work, parse_problem(words), PASSES)
        for key, place in places.items():
            other = {key: bits.copy() for key, bits in whole.outputs.items()}
            other[key][place] ^= 1
            (one,) = [one for one in whole.alike(other, bits_of_all) if one.differing]
            buffer = key[1].partition(".")[0]
            assert (one.buffer, one.verdict, one.differing) == (buffer, VIOLATED, 1)
            stored = np.frombuffer(work.read(buffer), np.int32)
            assert one.first is not None
            assert stored[one.first] == whole.outputs[key][place]
            assert np.count_nonzero(stored == stored[one.first]) == 1  # no other could be meant
            rest = whole.alike(other, bits_of_all, rows=[r for r in range(4) if r != place[1]])
            assert sum(one.differing for one in rest) == (buffer == "dw")


def test_what_is_given_is_read_again(bench: Open) -> None:
    with bench() as work:
        for layout in ("seq_major_unpacked", "batch_major_unpacked", "seq_major_packed"):
            words = ("seq_lengths=[5,3,2]", "hidden_size=4", "proj_size=3", "input_size=2")
            problem = parse_problem([*words, "direction_mode=bidirectional", f"layout={layout}"])
            side = Side(work, problem)
            names = ("x", "hx", "cx", "dy", "dhy", "dcy", "w")
            before = {name: work.read(name) for name in names}
            x = unpack(numbers(before["x"], "float"), layout, [5, 3, 2], 5, 2)
            given = side.inputs()
            there = ~np.isnan(x)
            assert np.array_equal(given["x"].view(np.float32)[there], x[there])
            assert given["w.l0.reverse.proj.matrix"].shape == (3, 4)
            work.poison(names, 0x11)
            side.give(given)
            after = {name: work.read(name) for name in names}
            # Between the weights there may be gaps, which are zero as at first.
            assert after == before


@pytest.mark.parametrize(
    ("words", "turns"),
    [
        (["cell_mode=rnn_relu"], True),
        (["cell_mode=rnn_tanh"], False),
        (["cell_mode=lstm", "clip_mode=minmax", "lclip=-0.25", "rclip=0.25"], True),
        (["cell_mode=lstm"], False),
    ],
)
def test_what_is_near_a_turn_turns_gradients(
    bench: Open, words: Sequence[str], turns: bool
) -> None:
    sizes = ("hidden_size=5", "seq_lengths=[4,3]", "input_size=3")
    with bench() as work:
        whole = Whole(work, parse_problem([*words, *sizes]), PASSES)
        key = ("backward_data", "dhx")
        other = {key: whole.outputs[key] ^ (1 << 23)}  # half or twice of it

        def verdict(of_y: float | None, of_dhx: float | None = 1e-3) -> str:
            (one,) = whole.alike(other, {"y": of_y, "dhx": of_dhx}.__getitem__)
            return one.verdict

        assert verdict(1e-9) == VIOLATED
        assert verdict(0.9) == (NOT_TOLD if turns else VIOLATED)
        assert verdict(None, None) == VIOLATED  # the same kernels turn alike


def test_what_ends_the_problem_itself_is_told(bench: Open) -> None:
    with bench(fault="crash@cudnnRNNForward:3") as work:
        with pytest.raises(StageFailed, match="SIGSEGV"):
            found_of(work, RAGGED, "packed_is_padded")
        assert work.runner.broken
    with bench(fault="status:NOT_SUPPORTED@cudnnRNNForward:*") as work:
        with pytest.raises(StageFailed) as caught:
            found_of(work, RAGGED, "packed_is_padded")
        assert caught.value.result.outcome == "unsupported"
    with bench(fault="status:NOT_SUPPORTED@cudnnRNNForward:2") as work:
        with pytest.raises(Refused, match=r"^(\S+ )*layout=seq_major_packed: forward_inference, "):
            found_of(work, RAGGED, "packed_is_padded", PASSES[:1])
        assert not work.runner.broken
    with bench() as work:
        for words in (("hidden_size=0",), ("hidden_size=-1",)):
            with pytest.raises((Refused, StageFailed)):
                found_of(work, words, "batch_is_parts")


def test_what_does_not_repeat_itself_is_no_matter_of_padding(bench: Open) -> None:
    # The first run with other padding has a bit of hy flipped, the same run made again has not.
    with bench(fault="flip:hy@cudnnRNNForward:2") as work:
        found = found_of(work, RAGGED, "padding_ignored", ["forward_inference"])
    assert {(one.exact, one.verdict) for one in found} == {(False, HOLDS)}
    with bench(wrong="order_run") as work:
        found = found_of(work, RAGGED, "padding_ignored")
    assert {(one.exact, one.verdict) for one in found} == {(False, HOLDS)}
    with bench() as work:
        found = found_of(work, RAGGED, "padding_ignored")
    assert {(one.exact, one.verdict) for one in found} == {(True, HOLDS)}


# A problem that has all that a check asks for, but two layers and equal lengths.
ONE = (*RAGGED, "padding_fill=given")
BOTH = (*ONE, "direction_mode=bidirectional")
EQUAL = (*LSTM, "batch_size=4", "seq_lengths=equal", "num_layers=2")


@pytest.mark.parametrize(
    ("wrong", "words", "expected"),
    [
        ("packed", ONE, ["packed_is_padded"]),
        ("padding_unwritten", ONE, ["padding_filled"]),
        ("padding_read", ONE, ["padding_ignored"]),
        # In a packed batch, or where the direction is a network of its own, there is no padding to
        # begin in; and what it begins in is padding.
        (
            "reverse_from_padding",
            BOTH,
            ["packed_is_padded", "padding_ignored", "reverse_starts_at_end", "chunks_are_whole"],
        ),
        ("projection_off", ONE, ["projection_off"]),
        ("second_layer", (*ONE, "num_layers=2"), ["layers_in_turn"]),
        ("inference", ONE, ["inference_is_training"]),
        ("batch_parts", (*LSTM, "batch_size=4"), ["batch_is_parts"]),
        ("carried_state", ONE, ["chunks_are_whole"]),
        ("carried_state", BOTH, ["chunks_are_whole"]),
        ("carried_state", (*BOTH, "num_layers=3"), ["chunks_are_whole"]),
        ("one_ulp", (*BOTH, "num_layers=2"), []),
    ],
)
def test_what_is_wrong_is_found_by_its_check_alone(
    bench: Open, wrong: str, words: Sequence[str], expected: list[str]
) -> None:
    with bench(wrong=wrong) as work:
        violated = []
        for name in CHECKS:
            try:
                found = found_of(work, words, name)
            except Refused:
                continue
            violated += [name] * any(one.verdict == VIOLATED for one in found)
    assert violated == expected


PACKED = (*LSTM, "batch_size=4", "seq_lengths=[6,4,3,2]", "layout=seq_major_packed")


def test_what_the_other_way_does_not_take_is_said_and_the_rest_compared(bench: Open) -> None:
    # The second backward pass is that of the first of the padded layouts.
    with bench(fault="status:NOT_SUPPORTED@cudnnRNNBackwardData_v8:2") as work:
        found = found_of(work, PACKED, "packed_is_padded")
    told = {(one.variant, one.buffer): one for one in found}
    seq, batch = "seq_major_unpacked", "batch_major_unpacked"
    untold = {key for key, one in told.items() if one.verdict == NOT_TOLD}
    assert untold == {(seq, name) for name in ("dx", "dhx", "dcx", "dw")}
    assert all("cudnnRNNBackwardData_v8" in (told[key].reason or "") for key in untold)
    assert told[batch, "dw"].verdict == told[batch, "dx"].verdict == HOLDS
    assert told[f"{seq}, forward_training", "y"].verdict == HOLDS
    with bench(fault="status:NOT_SUPPORTED@cudnnRNNBackwardData_v8:2") as work:
        found = found_of(work, RAGGED, "projection_off")
    assert [one.buffer for one in found if one.verdict == NOT_TOLD] == ["dx", "dhx", "dcx", "dw"]


def test_one_of_two_layouts_that_is_refused_does_not_hide_the_other(bench: Open) -> None:
    # The second forward pass is that of the first padded layout.
    with bench(fault="status:NOT_SUPPORTED@cudnnRNNForward:2") as work:
        found = found_of(work, PACKED, "packed_is_padded", PASSES[:1])
    assert [(one.variant, one.buffer, one.verdict) for one in found] == [
        *(("seq_major_unpacked", name, NOT_TOLD) for name in ("y", "hy", "cy")),
        *(("batch_major_unpacked", name, HOLDS) for name in ("y", "hy", "cy")),
    ]
    assert (found[0].reason or "").startswith("layout=seq_major_unpacked ")
    with (
        bench(fault="status:NOT_SUPPORTED@cudnnRNNForward:2+") as work,
        pytest.raises(Refused, match="layout=seq_major_unpacked"),
    ):
        found_of(work, PACKED, "packed_is_padded", PASSES[:1])


@pytest.mark.parametrize("states", ["given", "null"])
def test_a_sequence_without_steps_hands_on_what_it_was_given(
    bench: Open, monkeypatch: pytest.MonkeyPatch, states: str
) -> None:
    words = (*LSTM, "batch_size=3", "seq_lengths=[3,0,6]", f"initial_states={states}")
    with bench() as work:
        held = found_of(work, words, "packed_is_padded", PASSES[:1])
        assert [(one.buffer, one.verdict) for one in held] == [
            (name, HOLDS) for name in ("y", "hy", "cy")
        ]
        outputs = Side.outputs

        def other_state(side: Side, *args: Any) -> Any:
            found = outputs(side, *args)
            if side.of.batch_size == 3:
                found["forward_inference", "cy"][:, 1] = 0x3F00_0000  # 0.5
            return found

        monkeypatch.setattr(Side, "outputs", other_state)
        wrong = found_of(work, words, "packed_is_padded", PASSES[:1])
    assert [(one.buffer, one.first) for one in wrong if one.verdict == VIOLATED] == [("cy", 6)]


class ReadsPadding(Workbench):
    """Of which dw has a part of what is in the padding of y."""

    def run(self, pass_name: str, *, graph: bool = False) -> None:
        super().run(pass_name, graph=graph)
        if pass_name == "backward_weights":
            y = np.frombuffer(self.read("y"), np.float32).reshape(6, 4, 6)
            dw = np.frombuffer(self.read("dw"), np.float32).copy()
            dw[3] += y[5, 0, 0]  # the first sequence has three steps
            self.write("dw", dw.tobytes())


@pytest.mark.parametrize(("fill", "violated"), [("null", ["dw"]), ("given", [])])
def test_the_padding_of_y_that_is_left_open_must_not_be_read(
    bench: Open, fill: str, violated: list[str]
) -> None:
    with bench() as work:
        words = (*RAGGED, f"padding_fill={fill}")
        found = found_of(ReadsPadding(work.runner), words, "padding_ignored")
        assert [one.buffer for one in found if one.verdict == VIOLATED] == violated
        assert [one.first for one in found if one.verdict == VIOLATED] == [3] * len(violated)


def test_zeros_tell_nothing(bench: Open) -> None:
    # Without states, biases and inputs there is nothing in it.
    words = ("cell_mode=rnn_tanh", "bias_mode=no_bias", "initial_states=null", "batch_size=2")
    with bench() as work:
        whole = Whole(work, parse_problem([*words, "hidden_size=4"]), PASSES[:1])
        key = ("forward_inference", "y")
        whole.outputs[key][:] = 0
        (one,) = whole.alike({key: whole.outputs[key].copy()}, {"y": 0.1}.__getitem__)
        assert (one.verdict, one.reason) == (NOT_TOLD, "all of it is zero, both ways")
        whole.outputs[key][0, 0, 0] = 0x3F00_0000
        (one,) = whole.alike({key: whole.outputs[key].copy()}, {"y": 0.1}.__getitem__)
        assert one.verdict == HOLDS


def test_of_several_layers_with_two_directions_each_is_cut(bench: Open) -> None:
    with bench() as work:
        found = found_of(work, (*BOTH, "num_layers=3"), "chunks_are_whole")
    told = Counter((one.variant, one.verdict) for one in found)
    assert told == {
        ("the first layer alone, forward_inference", HOLDS): 3,
        ("the first layer alone, forward_training", HOLDS): 3,
        ("the first layer alone", HOLDS): 4,
        ("a layer behind it alone, forward_inference", HOLDS): 3,
        ("a layer behind it alone, forward_training", HOLDS): 3,
        ("a layer behind it alone", HOLDS): 4,
    }


def test_where_a_number_of_a_layer_alone_lies_is_not_told(bench: Open) -> None:
    with bench(wrong="carried_state") as work:
        found = found_of(work, (*BOTH, "num_layers=2"), "chunks_are_whole", PASSES[:1])
    assert {(one.verdict, one.first) for one in found} == {(VIOLATED, None)}
    assert len(found) == 2 * 3


@pytest.mark.parametrize(("wrong", "runs"), [("padding_read", 3 + 2 * 3), ("order_padding", 33)])
def test_what_rounding_does_not_explain_is_seldom_run_again(
    bench: Open, monkeypatch: pytest.MonkeyPatch, wrong: str, runs: int
) -> None:
    asked, outputs = [], Side.outputs

    def counted(side: Side, *args: Any, **how: Any) -> Any:
        asked.append(args)
        return outputs(side, *args, **how)

    monkeypatch.setattr(Side, "outputs", counted)
    with bench(wrong=wrong) as work:
        found = found_of(work, RAGGED, "padding_ignored", PASSES[:1])
    assert VIOLATED in {one.verdict for one in found}
    assert len(asked) == runs
