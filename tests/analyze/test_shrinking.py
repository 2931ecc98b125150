"""Shrinking: what is smallest is known beforehand, and everything asked on the way can be run."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyharness.analyze.shrinking import Enough, extent, shrink, within
from pyharness.api.trying import try_many
from pyharness.errors import UsageError
from pyharness.releases import Release
from pyharness.spec.geometry import Geometry, geometry
from pyharness.spec.plan_settings import plan_settings
from pyharness.spec.problem import Problem, parse_problem

TYPES = "data_type=half math_prec=float math_type=tensor_op_math"
LARGE = (
    "algo=standard cell_mode=lstm bias_mode=double_bias direction_mode=bidirectional num_layers=4 "
    f"hidden_size=512 input_size=300 proj_size=128 {TYPES} lclip=-0.5 rclip=0.5 dropout_rate=0.5 "
    "seed=5 layout=seq_major_packed seq_lengths=[24,20,17,12,9,5,3,1] padding_fill=given"
)
PADDED = "hidden_size=24 input_size=24 layout=batch_major_unpacked seq_lengths=[6,9,1,4]"
EQUAL = "hidden_size=1024 input_size=96 batch_size=64 max_seq_length=500 cell_mode=gru"
PLAINEST = {"hidden_size": "1", "input_size": "1", "batch_size": "1", "max_seq_length": "1"}
PLAIN = {"cell_mode": "rnn_tanh", "bias_mode": "no_bias"}
Shows = Callable[[Geometry, Problem], bool]


def smallest(words: str, shows: Shows) -> tuple[dict[str, str], int]:
    """What is left, and after how many tries."""
    problem = parse_problem(words.split())
    assert shows(geometry(problem), problem), "the test's own problem has to show it"
    found = shrink(problem, lambda one: shows(geometry(one), one), 1000)
    assert found.settled
    return dict(found.problem.given), found.tries


@pytest.mark.parametrize("words", [LARGE, PADDED, EQUAL, "seq_lengths=descending num_layers=3"])
def test_of_what_everything_shows_the_plainest_is_left(words: str) -> None:
    given, tries = smallest(words, lambda of, problem: True)
    assert given == PLAINEST | PLAIN
    assert tries < 25


@pytest.mark.parametrize(
    ("words", "shows", "left"),
    [
        (
            LARGE,
            lambda of, p: of.num_layers > 1 and of.batch_size > 1 and of.steps > 2,
            {"num_layers": "2", "seq_lengths": "[2,1]", "hidden_size": "1", "input_size": "1"}
            | PLAIN,
        ),
        (
            EQUAL,
            lambda of, p: of.batch_size >= 3 and of.max_seq_length >= 37 and of.hidden_size >= 17,
            {"hidden_size": "17", "input_size": "1", "batch_size": "3", "max_seq_length": "37"}
            | PLAIN,
        ),
        (  # only sizes that a kernel takes
            EQUAL,
            lambda of, p: of.hidden_size % 8 == 0 and of.input_size % 4 == 0,
            PLAINEST | PLAIN | {"hidden_size": "8", "input_size": "4"},
        ),
        (  # a projection has to be narrower than the cell
            LARGE,
            lambda of, p: of.projects,
            {k: v for k, v in PLAINEST.items() if k != "hidden_size"}
            | {"hidden_size": "2", "proj_size": "1", "bias_mode": "no_bias"},
        ),
        (
            LARGE,
            lambda of, p: of.layout == "seq_major_packed" and len(set(of.lengths)) > 1,
            {"layout": "seq_major_packed", "seq_lengths": "[2,1]"}
            | {"hidden_size": "1", "input_size": "1"}
            | PLAIN,
        ),
        (  # padding alone
            PADDED,
            lambda of, p: min(of.lengths) < of.max_seq_length,
            {"seq_lengths": "[1]", "max_seq_length": "2", "hidden_size": "1", "input_size": "1"}
            | PLAIN,
        ),
        (
            LARGE,
            lambda of, p: of.directions == 2 and of.cell_mode in ("lstm", "gru"),
            PLAINEST
            | {"direction_mode": "bidirectional", "cell_mode": "gru", "bias_mode": "no_bias"},
        ),
        (
            LARGE,
            lambda of, p: of.element_bytes == 2 and p.clips,
            PLAINEST
            | {"bias_mode": "no_bias", "data_type": "half", "lclip": "-0.5", "rclip": "0.5"},
        ),
        (
            LARGE,
            lambda of, p: p.given.get("seed") == "5" or p.given.get("dropout_rate") == "0.5",
            PLAINEST | PLAIN | {"seed": "5"},
        ),
        (  # x stays as wide as h
            "input_mode=skip_input hidden_size=40 input_size=40",
            lambda of, p: of.skip_input and of.hidden_size >= 5,
            PLAINEST | PLAIN | {"input_mode": "skip_input", "hidden_size": "5", "input_size": "5"},
        ),
        (
            "algo=persist_dynamic hidden_size=512 proj_size=512",
            lambda of, p: p.given.get("algo") == "persist_dynamic" and of.hidden_size > 2,
            PLAINEST | PLAIN | {"algo": "persist_dynamic", "hidden_size": "3"},
        ),
    ],
)
def test_a_planted_violation_has_its_smallest_problem(
    words: str, shows: Shows, left: dict[str, str]
) -> None:
    given, tries = smallest(words, shows)
    assert given == left
    assert tries < 150


@settings(max_examples=25)
@given(
    least=st.tuples(*(st.integers(1, top) for top in (4, 40, 30, 9, 20))),
    directions=st.integers(1, 2),
    cell=st.sampled_from(["rnn_tanh", "rnn_relu", "gru", "lstm"]),
)
def test_bounds_are_found_exactly(least: tuple[int, ...], directions: int, cell: str) -> None:
    order = ["rnn_tanh", "rnn_relu", "gru", "lstm"]

    def shows(of: Geometry, problem: Problem) -> bool:
        sizes = (of.num_layers, of.hidden_size, of.input_size, of.batch_size, of.max_seq_length)
        large = all(size >= bound for size, bound in zip(sizes, least, strict=True))
        plain = order.index(of.cell_mode) >= order.index(cell)
        return large and plain and of.directions >= directions

    words = "num_layers=4 hidden_size=40 input_size=30 batch_size=9 max_seq_length=20"
    given, _ = smallest(f"{words} direction_mode=bidirectional", shows)
    of = geometry(Problem(given))
    sizes = (of.num_layers, of.hidden_size, of.input_size, of.batch_size, of.max_seq_length)
    assert (*sizes, of.directions, of.cell_mode) == (*least, directions, cell)


def words_of(of: Geometry, **other: object) -> str:
    """A network and batch as words, written out in full."""
    lengths = other.get("lengths", of.lengths)
    assert isinstance(lengths, tuple)
    packed = of.layout == "seq_major_packed"
    steps = max(lengths, default=0) if packed else other.get("steps", of.max_seq_length)
    direction = ("unidirectional", "bidirectional")[of.directions - 1]
    values = {
        "cell_mode": of.cell_mode, "bias_mode": of.bias_mode, "layout": of.layout,
        "direction_mode": direction, "num_layers": of.num_layers, "input_size": of.input_size,
        "hidden_size": of.hidden_size, "max_seq_length": steps, "batch_size": len(lengths),
        "seq_lengths": str(list(lengths)).replace(" ", ""),
    }  # fmt: skip
    more = {name: value for name, value in other.items() if name not in ("lengths", "steps")}
    return " ".join(f"{name}={value}" for name, value in {**values, **more}.items())


def one_less(of: Geometry) -> Iterator[str]:
    """Everything that a single small step could make of a problem, enumerated apart."""
    yield words_of(of, num_layers=of.num_layers - 1)
    yield words_of(of, hidden_size=of.hidden_size - 1)
    yield words_of(of, input_size=of.input_size - 1)
    yield words_of(of, steps=of.max_seq_length - 1)
    yield words_of(of, direction_mode="unidirectional")
    yield words_of(of, cell_mode="rnn_tanh")
    yield words_of(of, bias_mode="no_bias")
    equal = len(set(of.lengths)) == 1
    if equal:
        lengths = tuple(n - 1 for n in of.lengths)
        yield words_of(of, lengths=lengths, steps=of.max_seq_length - 1)
    for place in range(of.batch_size):
        yield words_of(of, lengths=of.lengths[:place] + of.lengths[place + 1 :])
        shorter = (*of.lengths[:place], of.lengths[place] - 1, *of.lengths[place + 1 :])
        if not equal:
            if of.layout == "seq_major_packed":
                shorter = tuple(sorted(shorter, reverse=True))
            yield words_of(of, lengths=shorter)


def identity(of: Geometry) -> str:
    """A network and batch whatever its words."""
    sizes = (of.num_layers, of.hidden_size, of.output_size, of.input_size)
    kinds = (of.cell_mode, of.bias_mode, of.layout, of.directions, of.skip_input)
    return repr((sizes, kinds, of.max_seq_length, of.lengths, of.element_bytes))


@settings(max_examples=40)
@given(
    salt=st.integers(0, 10**9),
    share=st.integers(2, 5),
    words=st.sampled_from(
        [
            "cell_mode=lstm num_layers=3 hidden_size=9 input_size=7 direction_mode=bidirectional "
            "layout=seq_major_packed seq_lengths=[7,5,5,2]",
            "cell_mode=gru num_layers=2 hidden_size=12 input_size=3 batch_size=5 max_seq_length=6",
            "cell_mode=rnn_relu hidden_size=6 input_size=5 seq_lengths=[3,1,4] max_seq_length=8",
        ]
    ),
)
def test_no_single_step_shows_it_any_more(salt: int, share: int, words: str) -> None:
    """Of a violation without any rhyme or reason: one problem of so many shows it."""
    first = parse_problem(words.split())

    def shows(problem: Problem) -> bool:
        text = identity(geometry(problem))
        return (
            text == identity(geometry(first)) or zlib.crc32(f"{salt}{text}".encode()) % share == 0
        )

    found = shrink(first, shows, 5000)
    assert found.settled
    assert shows(found.problem)
    assert within(found.problem, first)
    of = geometry(found.problem)
    for text in one_less(of):
        try:
            problem = parse_problem(text.split())
            other = geometry(problem)
        except UsageError:
            continue  # it describes no network: nothing of it could be asked
        if max(other.lengths) > 0 and 0 not in other.lengths and identity(other) != identity(of):
            assert not shows(problem), text


def test_every_problem_that_is_asked_can_be_run(cudnn: Callable[[str], Release]) -> None:
    """The host calls of a real release accept each of them, as they accept the first."""
    asked: list[Problem] = []
    for words in (LARGE, PADDED, EQUAL, "cell_mode=lstm proj_size=half layout=seq_major_packed"):
        for salt in range(4):
            first = parse_problem(words.split())
            asked.append(first)
            begin = len(asked)

            def shows(problem: Problem, salt: int = salt) -> bool:
                asked.append(problem)
                return zlib.crc32(f"{salt}{problem.command}".encode()) % 2 == 0

            found = shrink(first, shows, 300)
            assert within(found.problem, first)
            assert all(within(p, first) and extent(p) < extent(first) for p in asked[begin:])
    for problem in asked:
        plan_settings(problem)
    distinct = list({p.command: p for p in asked}.values())
    assert len(distinct) > 300
    # What is math type and compute type of half is none of other types: these may be refused.
    plain = [p for p in distinct if not {"math_type", "math_prec"} & set(p.given)]
    assert len(plain) > 200
    answers = try_many(cudnn("9.28.0.42"), plain)
    refused = [
        (problem.command, [r.reason for r in results if r.outcome != "passed"])
        for problem, results in zip(plain, answers, strict=True)
        if any(r.outcome != "passed" for r in results)
    ]
    assert refused == []


@pytest.mark.parametrize("most", [0, 1, 2, 7, 30, 1000])
def test_never_more_than_the_tries_allowed_and_none_twice(most: int) -> None:
    asked: list[frozenset[tuple[str, str]]] = []

    def shows(problem: Problem) -> bool:
        asked.append(frozenset(problem.given.items()))
        return geometry(problem).hidden_size >= 300 and geometry(problem).batch_size >= 2

    first = parse_problem(LARGE.split())
    found = shrink(first, shows, most)
    assert found.tries == len(asked) == len(set(asked)) <= most
    assert found.settled == (most == 1000)
    assert within(found.problem, first)
    assert shows(found.problem)


def test_the_tries_that_are_needed_are_enough() -> None:
    first = parse_problem(LARGE.split())
    needed = shrink(first, lambda one: True, 1000).tries
    assert shrink(first, lambda one: True, needed).settled
    assert not shrink(first, lambda one: True, needed - 1).settled


def test_what_was_found_stays_where_it_cannot_go_on() -> None:
    count = 0

    def shows(problem: Problem) -> bool:
        nonlocal count
        count += 1
        if count > 3:
            raise Enough
        return True

    found = shrink(parse_problem(EQUAL.split()), shows, 100)
    assert (found.settled, found.tries) == (False, 4)
    assert geometry(found.problem).batch_size == 8  # 64, 32, 16, 8


def test_a_problem_that_describes_no_network_stays() -> None:
    odd = parse_problem(["hidden_size=0"])
    found = shrink(odd, lambda one: pytest.fail("it was asked"), 100)
    assert (found.problem, found.tries, found.settled) == (odd, 0, True)


@pytest.mark.parametrize(
    ("small", "large", "expected"),
    [
        ("hidden_size=1", "hidden_size=2", True),
        ("hidden_size=2", "hidden_size=1", False),
        ("hidden_size=2 input_size=1", "hidden_size=1 input_size=9", False),
        ("cell_mode=gru", "cell_mode=lstm", True),
        ("cell_mode=lstm", "cell_mode=gru", False),
        ("data_type=half", "data_type=bfloat16", False),  # no step leads from one to the other
        ("data_type=bfloat16", "data_type=half", False),
        ("", "data_type=half", True),
        ("seed=3", "seed=4", False),
        ("seed=3", "seed=3 dropout_rate=0.5", True),
        ("cell_mode=lstm lclip=-1.0", "cell_mode=lstm", False),
        ("seq_lengths=[3,2]", "batch_size=2 max_seq_length=3", False),  # equal lengths stay equal
        ("batch_size=2 max_seq_length=2", "seq_lengths=[3,2]", True),
        ("hidden_size=0", "hidden_size=1", False),
    ],
)
def test_within(small: str, large: str, expected: bool) -> None:
    assert within(parse_problem(small.split()), parse_problem(large.split())) is expected
