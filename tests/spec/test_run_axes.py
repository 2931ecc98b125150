"""Run axes: a problem may give them, and no host call, grid or table of the host has them."""

from __future__ import annotations

import pytest

from pyharness.errors import UsageError
from pyharness.space.presets import build_space
from pyharness.spec.calls import CALLS, all_axes
from pyharness.spec.columns import AXIS_COLUMNS, RUN_COLUMNS
from pyharness.spec.documented import predictions
from pyharness.spec.problem import parse_problem
from pyharness.spec.run_axes import RUN_AXES, RUN_DEFAULTS, problem_axes

NAMES = ["dropout_rate", "dev_seq_lengths", "initial_states", "seed"]
WORDS = ["dropout_rate=0.5", "dev_seq_lengths=null", "initial_states=null", "seed=7"]


def test_they_are_no_axes_of_host_calls() -> None:
    assert [axis.name for axis in RUN_AXES] == list(RUN_DEFAULTS) == NAMES
    assert not set(NAMES) & set(all_axes())
    assert not set(NAMES) & {column.name for column in AXIS_COLUMNS}
    assert [(c.name, c.type) for c in RUN_COLUMNS] == [
        ("dropout_rate", "float64"),
        ("dev_seq_lengths", "string"),
        ("initial_states", "string"),
        ("seed", "int32"),
    ]
    assert list(problem_axes()) == [*all_axes(), *NAMES]
    with pytest.raises(UsageError, match="unknown axis 'dropout_rate'"):
        build_space(None, None, ["dropout_rate=0.5"])


def test_the_host_calls_of_a_problem_do_not_change() -> None:
    words = ["hidden_size=32", "seq_lengths=[5,3]", "lclip=-1.0"]
    present = [c.name for c in CALLS]
    plain, run = parse_problem(words), parse_problem([*words, *WORDS])
    assert run.calls(present) == plain.calls(present)
    assert run.defaults == plain.defaults
    assert run.telling == plain.telling | set(NAMES)
    assert run.command == " ".join([*words, *WORDS])


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("seed=7", 7),
        ("seed=0", 0),
        ("dev_seq_lengths=rule", 0),
        ("dev_seq_lengths=given", 1),
        ("dev_seq_lengths=null", 2),
        ("initial_states=given", 0),
        ("initial_states=null", 1),
    ],
)
def test_values(word: str, value: int) -> None:
    name = word.partition("=")[0]
    assert parse_problem([word]).value(name) == value
    assert parse_problem([]).value(name) == 0


@pytest.mark.parametrize("rate", [0.0, 0.25, 0.5, 0.9999999])
def test_rates(rate: float) -> None:
    problem = parse_problem([f"dropout_rate={rate}"])
    assert problem_axes()["dropout_rate"].number(problem.value("dropout_rate")) == rate
    assert parse_problem(problem.command.split()) == problem
    assert parse_problem([]).value("dropout_rate") == 0  # the bits of 0.0


@pytest.mark.parametrize(
    ("word", "message", "hint"),
    [
        ("dropout_rate=1", "dropout_rate: 1 is no rate", "less than 1"),
        ("dropout_rate=-0.1", "dropout_rate: -0.1 is no rate", "0 or more"),
        ("dropout_rate=nan", "dropout_rate: nan is no rate", "0 or more"),
        ("dropout_rate=inf", "dropout_rate: inf is no rate", "less than 1"),
        ("dropout_rate=half", "'half' is no number", "for example"),
        ("seed=-1", "seed: -1 cannot be tried: a seed is no negative number", "allowed: 0 to"),
        ("initial_states=zero", "unknown initial_states 'zero'", "known: given, null"),
        ("dev_seq_lengths=nul", "unknown dev_seq_lengths 'nul'", "did you mean null"),
        ("drop_rate=0.5", "unknown key 'drop_rate'", "did you mean dropout_rate"),
    ],
)
def test_bad_values(word: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_problem([word])
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("words", "version", "states"),
    [
        ("num_layers=1 dropout_rate=0.5", (9, 28), {"SET-DROPOUT-1L": "applies"}),
        ("num_layers=2 dropout_rate=0.5", (9, 28), {"SET-DROPOUT-1L": None}),
        ("num_layers=1 dropout_rate=0.0", (9, 28), {"SET-DROPOUT-1L": None}),
        ("num_layers=1", (9, 28), {"SET-DROPOUT-1L": "depends"}),
        ("dropout=null dropout_rate=0.5", (9, 28), {"SET-DROPOUT-1L": None}),
        ("dropout_rate=0.5", (9, 28), {"SET-DROPOUT-INF": "depends"}),  # on the forward mode
        ("initial_states=null", (9, 28), {"FW-NULL-STATE": "applies"}),
        ("initial_states=given", (9, 28), {"FW-NULL-STATE": None}),
        ("", (9, 28), {"FW-NULL-STATE": "depends"}),
        ("dev_seq_lengths=null", (8, 9, 0), {"FW-DSL-REQ": "applies", "FW-DSL-MISMATCH": None}),
        ("dev_seq_lengths=given", (8, 9, 0), {"FW-DSL-REQ": None, "FW-DSL-MISMATCH": None}),
        ("dev_seq_lengths=rule", (8, 9, 0), {"FW-DSL-REQ": "depends"}),
        ("dev_seq_lengths=given", (9, 28), {"FW-DSL-GIVEN": "applies", "FW-DSL-NULL": None}),
    ],
)
def test_documented_rules_know_what_is_given(
    words: str, version: tuple[int, ...], states: dict[str, str | None]
) -> None:
    found = {p.rule.id: p.state for p in predictions(parse_problem(words.split()), version)}
    assert {rule: found.get(rule) for rule in states} == states


def test_a_rule_speaks_of_a_run_axis_that_is_given() -> None:
    (rule,) = [
        p
        for p in predictions(parse_problem(["initial_states=null"]), (9, 28))
        if p.rule.id == "FW-NULL-STATE"
    ]
    assert rule.speaks_of(parse_problem(["initial_states=null"]))
    assert not rule.speaks_of(parse_problem(["hidden_size=8"]))
