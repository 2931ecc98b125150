"""One problem: read from words, and turned into the calls that it makes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pyharness.errors import UsageError
from pyharness.spec.calls import CALLS
from pyharness.spec.problem import CallTexts, Problem, parse_problem

ALL = [c.name for c in CALLS]


def made(words: Sequence[str], present: Sequence[str] = ALL) -> list[CallTexts]:
    return parse_problem(words).calls(present)


def role(words: Sequence[str], name: str) -> dict[str, str]:
    (found,) = [c.texts for c in made(words) if c.role == name]
    return found


def test_what_is_read_can_be_written_again() -> None:
    words = ["hidden_size=256", "seq_lengths=[5,3,0]", "proj_size=half", "lclip=-inf"]
    problem = parse_problem(words)
    assert problem.command == " ".join(words)
    assert parse_problem(problem.command.split()) == problem
    assert parse_problem([]) == Problem({})


@pytest.mark.parametrize(
    ("word", "same"),
    [
        ("tensor= h", "tensor=h"),
        ("tensor=h,", "tensor=h"),
        ("tensor=h,h", "tensor=h"),
        ("hidden_size= 8 ", "hidden_size=8"),
        ("hidden_size=8..8", "hidden_size=8"),
        ("seq_lengths=,[5, 3,0]", "seq_lengths=[5,3,0]"),
        ("seq_lengths=[5,3],[5,3]", "seq_lengths=[5,3]"),
        ("direction_mode=1", "direction_mode=bidirectional"),
        ("direction_mode= bidirectional", "direction_mode=bidirectional"),
        ("direction_mode=7", "direction_mode=7"),
        ("vector_size= 7", "vector_size=7"),
        ("lclip=nan,", "lclip=nan"),
    ],
)
def test_a_value_has_one_spelling(word: str, same: str) -> None:
    assert parse_problem([word]).command == same
    assert made([word]) == made([same])


@pytest.mark.parametrize(
    ("words", "width"),
    [
        (["hidden_size=2147483647", "direction_mode=1"], 4294967294),
        (["hidden_size=-2147483648", "direction_mode=bidirectional"], -4294967296),
        (["hidden_size=1", "proj_size=1073741824", "direction_mode=1"], 2147483648),
    ],
)
def test_a_width_that_fits_no_argument_is_of_one_call_alone(words: list[str], width: int) -> None:
    said = {c.role: c.impossible for c in made(words)}
    wide = f"y would be {width} wide, which does not fit a 32-bit vector_size"
    assert said == {"descriptor": None, "x": None, "y": wide, "h": None, "c": None}
    last = [*words[:-1], "vector_size=9", words[-1]]
    assert {c.role: c.impossible for c in made(last)} == said


def test_a_width_that_just_fits() -> None:
    words = ["hidden_size=1", "proj_size=-1073741824", "direction_mode=bidirectional"]
    assert role(words, "y") == {"vector_size": "-2147483648"}
    assert [c.impossible for c in made(words)] == [None] * 5


def test_the_calls_in_the_documented_order() -> None:
    steps = [(c.role, c.call.name) for c in made([])]
    assert steps == [
        ("descriptor", "cudnnSetRNNDescriptor_v8"),
        ("x", "cudnnSetRNNDataDescriptor"),
        ("y", "cudnnSetRNNDataDescriptor"),
        ("h", "cudnnSetTensorNdDescriptor"),
        ("c", "cudnnSetTensorNdDescriptor"),
    ]


@pytest.mark.parametrize("word", ["clip_mode=none", "lclip=0", "rclip=0", "clip_nan_opt=0"])
def test_clipping_only_where_it_is_given(word: str) -> None:
    without_new = [n for n in ALL if n != "cudnnRNNSetClip_v9"]
    assert [c.call.name for c in made([word]) if c.role == "clip"] == ["cudnnRNNSetClip_v9"]
    old = [c.call.name for c in made([word], without_new) if c.role == "clip"]
    assert old == ["cudnnRNNSetClip_v8"]
    assert [c for c in made(["hidden_size=8"]) if c.role == "clip"] == []


def test_calls_that_a_release_lacks_are_left_out() -> None:
    assert [c.role for c in made(["lclip=0"], ["cudnnSetRNNDataDescriptor"])] == ["x", "y"]


@pytest.mark.parametrize(
    ("words", "x", "y"),
    [
        ([], 64, 64),
        (["input_size=48"], 48, 64),
        (["hidden_size=32"], 64, 32),
        (["hidden_size=32", "direction_mode=bidirectional"], 64, 64),
        (["hidden_size=32", "direction_mode=1", "proj_size=half"], 64, 32),
        (["hidden_size=32", "proj_size=8"], 64, 8),
        (["hidden_size=32", "proj_size=over"], 64, 33),
        (["hidden_size=33", "proj_size=half"], 64, 16),
        (["hidden_size=-5", "proj_size=half"], 64, -2),
        (["hidden_size=2147483647", "proj_size=over"], 64, 2147483647),
    ],
)
def test_widths_follow_from_the_sizes(words: list[str], x: int, y: int) -> None:
    assert parse_problem(words).widths == (x, y)
    assert role(words, "x")["vector_size"] == str(x)
    assert role(words, "y")["vector_size"] == str(y)


def test_a_given_vector_size_is_the_width_of_x_alone() -> None:
    words = ["vector_size=7", "hidden_size=32"]
    assert role(words, "x") == {"vector_size": "7"}
    assert role(words, "y") == {"vector_size": "32"}


def test_a_call_gets_the_keys_that_it_has() -> None:
    words = ["data_type=half", "num_layers=2", "batch_size=3", "layout=1", "algo=1"]
    assert role(words, "descriptor") == {
        "data_type": "half",
        "num_layers": "2",
        "algo": "persist_static",
    }
    assert role(words, "x") == {
        "data_type": "half",
        "batch_size": "3",
        "layout": "seq_major_packed",
        "vector_size": "64",
    }
    tensor = {"data_type": "half", "num_layers": "2", "batch_size": "3"}
    assert role(words, "h") == {**tensor, "tensor": "h"}
    assert role(words, "c") == {**tensor, "tensor": "c"}


def test_a_list_of_lengths_is_the_batch_of_every_call() -> None:
    lengths = ["seq_lengths=[5,3,0]"]
    assert role(lengths, "h") == {"tensor": "h", "batch_size": "3"}
    assert role([*lengths, "batch_size=3"], "c") == {"tensor": "c", "batch_size": "3"}
    assert role(["seq_lengths=unsorted"], "h") == {"tensor": "h"}


def test_one_tensor_where_one_is_asked_for() -> None:
    assert [c.role for c in made(["tensor=c"])] == ["descriptor", "x", "y", "c"]


@pytest.mark.parametrize(
    ("word", "message", "hint"),
    [
        ("hidden_sizes=3", "unknown key 'hidden_sizes'", "did you mean hidden_size"),
        ("algo=standart", "unknown algo 'standart'", "did you mean standard"),
        ("proj_size=hlaf", "unknown proj_size 'hlaf'", "did you mean half"),
        ("tensor=x", "unknown tensor 'x'", "known: c, h"),
        ("seq_lengths=unsortd", "unknown seq_lengths 'unsortd'", "did you mean unsorted"),
        ("seq_lengths=[1,a]", "'[1,a]' is no list of lengths", "[5,3,2]"),
        ("hidden_size=big", "'big' is no integer", "a number"),
        ("hidden_size=2147483648", "does not fit", "-2147483648 to 2147483647"),
        ("lclip=low", "'low' is no number", "-inf"),
        ("hidden_size", "cannot read 'hidden_size'", "key=value"),
        ("hidden_size=", "hidden_size has no values", "at least one"),
        ("hidden_size=1,2", "hidden_size=1,2 is more than one value", "pyharness map"),
        ("hidden_size=1..3", "is more than one value", "pyharness map"),
        ("algo=all", "algo=all is more than one value", "one value for each key"),
    ],
)
def test_what_is_wrong_is_said_with_what_is_right(word: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_problem([word])
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_key_twice() -> None:
    with pytest.raises(UsageError, match="hidden_size is given twice"):
        parse_problem(["hidden_size=1", "hidden_size=1"])
