"""The sets of problems that ship, and what is made of them on the command line."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from pyharness.errors import UsageError
from pyharness.space.presets import build_space, preset_names
from pyharness.space.problems import (
    NamedProblem,
    ProblemSet,
    build_problems,
    load_problem_set,
    problem_set_data,
    problem_set_names,
    problems_from,
)
from pyharness.spec.geometry import geometry
from pyharness.spec.problem import parse_problem
from pyharness.spec.stages import PASSES

NAMES = ["algos", "cliff", "deepbench", "seq2seq", "small-h", "smoke"]


def sizes(one: NamedProblem) -> tuple[str, int, int, int]:
    value = one.problem.value
    cell = one.problem.given["cell_mode"]
    return (cell, value("hidden_size"), value("batch_size"), value("max_seq_length"))


def test_the_promised_sets_are_there() -> None:
    assert problem_set_names() == NAMES
    assert set(NAMES).isdisjoint(preset_names()), "a name says which kind it is"


@pytest.mark.parametrize("name", NAMES)
def test_every_problem_of_a_set_can_be_run_and_said(name: str) -> None:
    chosen = load_problem_set(name)
    assert chosen.name == name
    assert chosen.about
    names = [one.name for one in chosen.problems]
    assert len(set(names)) == len(names) > 0
    for one in chosen.problems:
        assert one.name.startswith(one.group)
        assert " " not in one.name, "a label that does not tell its problems apart"
        assert parse_problem(one.problem.command.split()) == one.problem
        assert geometry(one.problem).steps > 0
        assert one.passes
        assert set(one.passes) <= set(PASSES)


def test_deepbench_is_the_public_list() -> None:
    """Group by group as the list gives them; the counts are 53, 69 and 3."""
    found: dict[str, set[tuple[str, int, int, int]]] = {}
    chosen = load_problem_set("deepbench").problems
    for one in chosen:
        found.setdefault(one.group, set()).add(sizes(one))
        assert one.problem.value("input_size") == one.problem.value("hidden_size")
        assert one.problem.value("num_layers") == 1
    assert Counter(one.group for one in chosen) == {"training": 53, "server": 69, "device": 3}
    gru = list(product((2816, 2048, 1536, 2560), (1500, 750, 375, 187)))
    assert found["training"] == {
        *(("rnn_relu", h, b, 50) for h in (1760, 2048, 2560) for b in (16, 32, 64, 128)),
        *(("lstm", h, b, 25) for h in (512, 1024, 2048, 4096) for b in (16, 32, 64, 128)),
        *(("lstm", 1536, b, 50) for b in (8, 16, 32)),
        *(("lstm", 256, b, 150) for b in (16, 32, 64)),
        *(("gru", h, 32, t) for h, t in gru),
        ("gru", 512, 32, 1),
        ("gru", 1024, 32, 1500),
        ("gru", 1024, 64, 1500),
    }
    few = (1, 2, 4)
    assert found["server"] == {
        *(("lstm", h, b, 25) for h in (512, 1024, 2048) for b in few),
        *(("lstm", 1536, b, 50) for b in few),
        *(("lstm", 256, b, 150) for b in few),
        *(("gru", h, b, t) for h, t in gru for b in few),
        *(("gru", 512, b, 1) for b in few),
        *(("gru", 1024, b, 1500) for b in few),
    }
    assert found["device"] == {
        ("rnn_relu", 32, 1, 672), ("rnn_relu", 64, 1, 96), ("lstm", 256, 1, 150)
    }  # fmt: skip
    by_name = {one.name: one for one in chosen}
    assert sizes(by_name["training-vanilla-1760-16-50"]) == ("rnn_relu", 1760, 16, 50)
    assert by_name["server-gru-2816-4-187"].passes == ("forward_inference",)
    assert "backward_weights" in by_name["training-lstm-256-64-150"].passes


def test_algos_has_every_combination() -> None:
    chosen = load_problem_set("algos").problems
    axes = ("algo", "cell_mode", "data_type", "layout", "direction_mode")
    seen = Counter(tuple(one.problem.given[a] for a in axes) for one in chosen)
    assert len(seen) == 4 * 4 * 4 * 3 * 2
    assert set(seen.values()) == {3}
    math = {
        tuple(one.problem.given[a] for a in ("data_type", "math_prec", "math_type"))
        for one in chosen
    }
    assert math == {
        ("float", "float", "default_math"),
        ("double", "double", "default_math"),
        ("half", "float", "tensor_op_math"),
        ("bfloat16", "float", "tensor_op_math"),
    }


def test_cliff_goes_over_each_edge_in_fine_steps() -> None:
    edges = {
        ("static-hidden", "lstm"): 1024,
        ("small-h-hidden", "lstm"): 192,
        ("small-h-hidden", "gru"): 128,
        ("small-h-hidden", "rnn_tanh"): 384,
    }
    chosen = load_problem_set("cliff").problems
    for (group, cell), edge in edges.items():
        swept = sorted({sizes(o)[1] for o in chosen if o.group == group and sizes(o)[0] == cell})
        assert edge in swept
        place = swept.index(edge)
        assert swept[place + 1] - edge == edge - swept[place - 1] <= 32
    assert {o.problem.given["algo"] for o in chosen} == {
        "standard", "persist_static", "persist_dynamic", "persist_static_small_h"
    }  # fmt: skip


def test_seq2seq_runs_the_same_sentences_in_each_layout() -> None:
    steps: dict[str, set[int]] = {}
    for one in load_problem_set("seq2seq").problems:
        g = geometry(one.problem)
        steps.setdefault(one.group, set()).add(g.steps)
        if one.problem.given["layout"] == "seq_major_packed":
            assert list(g.lengths) == sorted(g.lengths, reverse=True)
        if "unmasked" not in one.group:
            assert max(g.lengths) == g.max_seq_length
    # The words of 32 English sentences are 581, of their German translation 580.
    assert steps == {
        "encoder": {581}, "encoder-unmasked": {32 * 34},
        "decoder": {580}, "decoder-unmasked": {32 * 38},
    }  # fmt: skip


def test_small_h_goes_from_8_to_512() -> None:
    assert {sizes(o)[1] for o in load_problem_set("small-h").problems} == {
        8, 16, 32, 64, 128, 256, 512
    }  # fmt: skip


def test_an_axis_replaces_its_values_and_what_follows_it_follows() -> None:
    chosen = build_problems("deepbench", ["hidden_size=96", "data_type=double,half"])
    assert chosen.name == "deepbench hidden_size=96 data_type=double,half"
    # Without hidden sizes, the training list has batch x steps: vanilla 4, lstm 4 + 3 + 3, gru
    # (32: 1500, 750, 375, 187, 1) + (64: 1500) = 6, each in two types.
    training = [one for one in chosen.problems if one.group == "training"]
    assert len(training) == 2 * (4 + 10 + 6)
    for one in chosen.problems:
        given = one.problem.given
        assert given["hidden_size"] == given["input_size"] == "96"
        half = given["data_type"] == "half"
        assert given["math_prec"] == ("float" if half else "double")
        assert given["math_type"] == ("tensor_op_math" if half else "default_math")
    names = [one.name for one in chosen.problems]
    assert "training-vanilla-96-16-50 data_type=half" in names
    assert len(set(names)) == len(names)


def test_an_axis_that_the_set_does_not_name_is_multiplied() -> None:
    plain, twice = load_problem_set("smoke"), build_problems("smoke", ["bias_mode=no_bias,1"])
    assert len(twice.problems) == 2 * len(plain.problems)
    assert {one.problem.given["bias_mode"] for one in twice.problems} == {
        "no_bias", "single_inp_bias"
    }  # fmt: skip
    assert twice.problems[0].name == f"{plain.problems[0].name} bias_mode=no_bias"


def test_problems_whose_labels_become_equal_are_told_apart() -> None:
    chosen = build_problems("seq2seq", ["layout=batch_major_unpacked"])
    names = [one.name for one in chosen.problems]
    assert len(set(names)) == len(names)
    twins = [n for n in names if n.startswith("encoder-lstm-float-batch_major_unpacked-512")]
    assert len(twins) == 2
    assert all(" seq_lengths=[" in n for n in twins)


def only(chosen: ProblemSet) -> NamedProblem:
    (one,) = chosen.problems
    return one


def test_words_describe_one_problem() -> None:
    one = only(problems_from(None, [], ["cell_mode=gru", "hidden_size= 8"]))
    assert one.problem == parse_problem(["cell_mode=gru", "hidden_size=8"])
    assert one.name == "cell_mode=gru hidden_size=8"
    assert one.passes == PASSES


def test_axes_multiply_the_words() -> None:
    chosen = problems_from(None, ["hidden_size=8..16:8", "algo=0,1"], ["cell_mode=gru"])
    assert [one.problem.command for one in chosen.problems] == [
        f"cell_mode=gru hidden_size={h} algo={a}"
        for h in (8, 16)
        for a in ("standard", "persist_static")
    ]
    assert [one.name for one in chosen.problems] == [o.problem.command for o in chosen.problems]
    assert only(problems_from(None, ["hidden_size=8"], [])).name == "hidden_size=8"


def test_a_run_axis_is_an_axis_like_another() -> None:
    chosen = problems_from("smoke", ["dropout_rate=0.5", "initial_states=null"], [])
    for one in chosen.problems:
        assert one.problem.given["dropout_rate"] == "0.5"
        assert one.problem.given["initial_states"] == "null"


@pytest.mark.parametrize(
    ("preset", "axes", "words", "message", "hint"),
    [
        ("deepbanch", [], [], "unknown preset 'deepbanch'", "deepbench"),
        ("host", [], [], "the preset host is a space of host calls", "map, diff, rules and"),
        ("smoke", ["hiden_size=1"], [], "unknown axis 'hiden_size'", "hidden_size"),
        ("smoke", ["hidden_size=1", "hidden_size=2"], [], "given twice", "join them"),
        ("smoke", ["hidden_size="], [], "hidden_size has no values", "hidden_size="),
        ("smoke", ["algo=hidden_size"], [], "unknown algo 'hidden_size'", "standard"),
        ("smoke", ["input_size=batch_size"], [], "'batch_size' is no integer", "a number"),
        ("smoke", [], ["hidden_size=8"], "both the preset smoke and hidden_size=8", "--axis"),
        ("seq2seq", ["batch_size=8"], [], "a list of 32 entries, batch_size is 8", "batch_size=32"),
        ("algos", ["hidden_size=1..1000"], [], "these are 1,152,000 problems", "--axis"),
        (None, [], [], "no problem is given", "deepbench"),
        (None, [], ["hidden_size=8,9"], "more than one value", "one value"),
        (None, ["hidden_size=8"], ["hidden_size=8"], "as a word and with --axis", "leave one"),
        (None, ["batch_size=2"], ["seq_lengths=[3,2,1]"], "a list of 3 entries", "batch_size=3"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_told(
    preset: str | None, axes: list[str], words: list[str], message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        problems_from(preset, axes, words)
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize("name", NAMES)
def test_a_set_of_problems_is_no_space(name: str) -> None:
    with pytest.raises(UsageError, match=f"the preset {name} is a set of problems") as caught:
        build_space(name, None, [])
    assert "bench, time, memory" in caught.value.hint


def test_the_sets_as_data() -> None:
    data = problem_set_data()
    assert [d["name"] for d in data] == NAMES
    (deepbench,) = [d for d in data if d["name"] == "deepbench"]
    assert [(g["group"], g["problems"]) for g in deepbench["groups"]] == [
        ("training", 53), ("server", 69), ("device", 3)
    ]  # fmt: skip
    assert deepbench["problems"] == 125


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        ("cells-lstm-*", ["cells-lstm-float", "cells-lstm-half"]),
        ("networks-projected", ["networks-projected"]),
        ("*-gru-*,cells-rnn_relu-*", ["cells-rnn_relu-float", "cells-gru-float"]),
    ],
)
def test_problems_of_a_set_are_chosen_by_their_names(patterns: str, names: list[str]) -> None:
    chosen = build_problems(f"smoke/{patterns}", ())
    assert [one.name for one in chosen.problems] == names
    whole = {one.name: one for one in load_problem_set("smoke").problems}
    assert list(chosen.problems) == [whole[name] for name in names]
    assert chosen.name == f"smoke/{patterns}"


def test_the_names_are_those_before_an_axis_changes_them() -> None:
    chosen = build_problems("smoke/cells-lstm-float", ["hidden_size=32,64"])
    assert [p.problem.value("hidden_size") for p in chosen.problems] == [32, 64]


def test_a_name_that_no_problem_has_is_said() -> None:
    with pytest.raises(UsageError, match=r"no problem of smoke is called cells-gru"):
        build_problems("smoke/cells-lstm-*,cells-gru", ())
    with pytest.raises(UsageError, match="smoky"):
        build_problems("smoky/cells", ())
