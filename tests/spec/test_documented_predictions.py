"""What the rules predict of a problem for the calls that need a GPU."""

from __future__ import annotations

import random

import pytest

from pyharness.spec.calls import all_axes
from pyharness.spec.documented import Prediction, predictions
from pyharness.spec.documented.predictions import VERSION
from pyharness.spec.documented.rules import load_rules
from pyharness.spec.problem import parse_problem

RELEASE = (9, 28, 0, 42)


def of(words: str, version: tuple[int, ...] | None = RELEASE) -> dict[str, Prediction]:
    return {p.rule.id: p for p in predictions(parse_problem(words.split()), version)}


def applying(words: str, version: tuple[int, ...] | None = RELEASE) -> set[str]:
    return {i for i, p in of(words, version).items() if p.state == "applies"}


@pytest.mark.parametrize(
    ("words", "applies", "silent"),
    [
        ("algo=persist_static seq_lengths=[5,3]", "RUN-VARLEN-STATIC", "RUN-VARLEN-DYNAMIC"),
        ("algo=persist_static seq_lengths=descending", "RUN-VARLEN-STATIC", "RUN-VARLEN-STD"),
        ("algo=persist_static seq_lengths=[5,5]", "RUN-STATIC-SIZE", "RUN-VARLEN-STATIC"),
        ("seq_lengths=[5,3]", "RUN-VARLEN-STD", "RUN-VARLEN-STATIC"),
        (
            "algo=persist_static_small_h hidden_size=150",
            "RUN-SMALLH-BWD-MG",
            "RUN-SMALLH-FWD-MG",
        ),
        ("algo=persist_static_small_h hidden_size=193", "RUN-SMALLH-FWD-MG", "RUN-SMALLH-FWD-SG"),
        (
            "algo=persist_static_small_h cell_mode=rnn_relu hidden_size=300",
            "RUN-SMALLH-BWD-SG",
            "RUN-SMALLH-FWD-SG",
        ),
        ("input_mode=skip_input input_size=32", "SET-SKIP-SIZE", "FW-XVEC"),
        ("vector_size=32", "FW-XVEC", "FW-YVEC"),  # x is 32 wide, input_size is 64
        ("direction_mode=bidirectional proj_size=half", "TS-NONMONO", "FW-YVEC"),
        ("seq_lengths=[3,0]", "BD-LEN-ZERO", "FW-LEN-ALL-ZERO"),
        ("seq_lengths=all_zero", "FW-LEN-ALL-ZERO", "RUN-VARLEN-STD"),
        ("aux_flags=padded_io_disabled", "IO-FLAG", "IO-FLAG-PACKED"),
        ("bias_mode=single_rec_bias cell_mode=gru", "BIAS-GRU-DIFFER", "BIAS-OTHERS-SAME"),
        (
            "math_type=tensor_op_math_allow_conversion",
            "SET-MT-FLOAT-ALLOW",
            "SET-MT-FLOAT-TENSOR",
        ),
        ("padding_fill=given seq_lengths=[5,3]", "DD-PADFILL-SET", "DD-PADFILL-NULL"),
    ],
)
def test_a_known_case(words: str, applies: str, silent: str) -> None:
    found = of(words)
    assert found[applies].state == "applies"
    assert found[applies].depends_on == ()
    assert silent not in found


def test_what_a_problem_does_not_say_is_named() -> None:
    found = of("algo=persist_static")
    assert found["RUN-CC-PERSIST"].state == "depends"
    assert found["RUN-CC-PERSIST"].depends_on == ("compute_capability",)
    assert found["FW-RESERVE-SMALL"].depends_on == (
        "fwd_mode",
        "required_reserve_size",
        "reserve_size",
    )
    assert "RUN-CC-SMALLH" not in found  # decided by the algo


def test_a_rule_of_some_releases() -> None:
    assert "FW-DSL-REQ" in of("", (8, 9, 0))
    assert "FW-DSL-REQ" not in of("", (8, 9, 1))
    assert "FW-DSL-NULL" in of("", (8, 9, 1))
    unknown = of("", None)
    assert unknown["FW-DSL-REQ"].depends_on == (VERSION, "dev_seq_lengths_null")
    assert unknown["DET-GENERAL"].state == "depends"
    assert unknown["TS-NONMONO"].depends_on == (VERSION,)
    assert of("", RELEASE)["DET-GENERAL"].state == "applies"


def test_what_the_host_alone_decides_is_no_prediction() -> None:
    found = of("hidden_size=0 max_seq_length=0 proj_size=0 lclip=nan")
    assert not {"SET-HID-POS", "DD-MAXSEQ-POS", "SET-PROJ-ZERO", "CLIP-NAN"} & set(found)
    assert all(p.rule.later_calls for p in found.values())


def test_what_applies_comes_first_and_refusals_before_effects() -> None:
    found = predictions(parse_problem(["algo=persist_static", "seq_lengths=[5,3]"]), RELEASE)
    states = [p.state for p in found]
    assert states == sorted(states)  # applies, then depends
    applies = [p.rule.status == "effect" for p in found if p.state == "applies"]
    assert applies == sorted(applies)
    assert found[0].rule.id == "RUN-VARLEN-STATIC"


def test_a_batch_of_a_million_is_answered_as_one_of_eight() -> None:
    for pattern in ("equal", "descending", "unsorted", "one_zero", "trailing_zeros", "all_zero"):
        words = f"seq_lengths={pattern} algo=persist_dynamic"
        assert applying(f"{words} batch_size=1000000") == applying(words), pattern


def test_random_problems_get_every_rule_that_is_true_and_no_other() -> None:
    # The facts told by a second hand, and each predicate asked of them.
    chance = random.Random(3)
    names = ("algo", "cell_mode", "data_type", "layout", "direction_mode", "bias_mode", "aux_flags")
    later = [r for r in load_rules() if r.later_calls and r.covers(RELEASE)]
    for _ in range(300):
        given = {n: chance.choice(all_axes()[n].names) for n in names}
        hidden = chance.choice([64, 150, 300, 512])
        lengths = tuple(chance.choice([0, 1, 4, 5]) for _ in range(chance.randint(1, 4)))
        wide = chance.choice([hidden, hidden // 2])
        words = [f"{n}={v}" for n, v in given.items()]
        words += [f"hidden_size={hidden}", f"proj_size={wide}", "max_seq_length=5"]
        words += [f"seq_lengths=[{','.join(map(str, lengths))}]"]
        directions = 2 if given["direction_mode"] == "bidirectional" else 1
        facts = {
            **given,
            "math_prec": "float",
            "math_type": "default_math",
            "input_mode": "linear_input",
            "clip_mode": "none",  # clipping is off where nobody asks for it
            "lclip": -1.0,
            "rclip": 1.0,
            "padding_fill": "null",
            "input_size": 64,
            "hidden_size": hidden,
            "proj_size": wide,
            "num_layers": 1,
            "directions": directions,
            "batch_size": len(lengths),
            "max_seq_length": 5,
            "vector_size": 64,
            "x_vector_size": 64,
            "y_vector_size": wide * directions,
            **{f"{p}seq_lengths": lengths for p in ("", "x_", "y_")},
            **{f"{p}_layout": given["layout"] for p in "xy"},
            **{f"{p}_data_type": given["data_type"] for p in "xy"},
        }
        said = {r.id: r.when.truth(facts) for r in later if r.status not in ("absent", "declared")}
        found = {p.rule.id: p for p in predictions(parse_problem(words), RELEASE)}
        assert set(found) == {i for i, s in said.items() if s.value is not False}, words
        for rule, prediction in found.items():
            assert set(prediction.depends_on) == said[rule].unknown
