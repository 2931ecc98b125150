"""Growth out of rows, errors of the formula, and the changes that are worth a try."""

from __future__ import annotations

import math
import random

import pytest

from pyharness.analyze.memory import GROWING, Weighed, growth, last_modes
from pyharness.analyze.memory_advice import (
    GRADIENTS,
    LOST,
    NETWORK,
    PRECISION,
    SAME,
    options,
    with_size,
)
from pyharness.spec.footprint import MODES, PARTS, Footprint, ForwardMode
from pyharness.spec.geometry import geometry
from pyharness.spec.problem import Problem, parse_problem


def problem(words: str) -> Problem:
    return parse_problem(words.split())


def row(words: str, footprint: Footprint | None, mode: ForwardMode = "training") -> Weighed:
    return Weighed(0, problem(words), mode, footprint)


def exponents(rows: list[Weighed]) -> dict[tuple[str, str], float | None]:
    return {(g.axis, g.part): g.exponent for g in growth(rows)}


def test_powers_are_found_whatever_the_level_of_the_rest() -> None:
    rows = [
        row(
            f"batch_size={b} hidden_size={h} max_seq_length=9",
            Footprint(7 * h * h, 11 * b * h, 5 * b * h * h, b**3, 0),
        )
        for b in (1, 2, 6, 64)
        for h in (3, 8, 50)
    ]
    random.Random(0).shuffle(rows)
    found = exponents(rows)
    wanted = {
        "weight_space": (0, 2),
        "workspace": (1, 1),
        "reserve_space": (1, 2),
        "tensor": (3, 0),
    }
    for part, (batch, hidden) in wanted.items():
        assert found["batch_size", part] == pytest.approx(batch, abs=1e-9)
        assert found["hidden_size", part] == pytest.approx(hidden, abs=1e-9)
    assert found["batch_size", "dropout_states"] is None
    assert {axis for axis, _ in found} == {"batch_size", "hidden_size"}
    ends = {(g.axis, g.first, g.last) for g in growth(rows)}
    assert ends == {("batch_size", 1, 64), ("hidden_size", 3, 50)}


def test_the_total_grows_as_its_parts_do_together() -> None:
    rows = [row(f"batch_size={b}", Footprint(6, 2 * b, b * b, 0, 0)) for b in (2, 4)]
    assert exponents(rows)["batch_size", "total"] == pytest.approx(math.log2(30 / 14))


def test_the_row_of_a_problem_that_needs_the_most() -> None:
    sized = [row("", Footprint(1, 1, 1, 1, 1), mode) for mode in MODES]
    rows = [*sized, sized[0].replace(order=1)]
    assert last_modes(rows) == rows[1:]


def test_rows_that_differ_otherwise_say_nothing() -> None:
    size = Footprint(1, 1, 1, 1, 1)
    assert growth([row("batch_size=2", size), row("batch_size=4 hidden_size=8", size)]) == []
    assert growth([row("batch_size=2", size), row("batch_size=4", size, "inference")]) == []
    assert growth([row("batch_size=2", size), row("batch_size=4", None)]) == []
    # What is not given is the default, 8.
    assert {g.axis for g in growth([row("hidden_size=3", size), row("hidden_size=5", size)])} == {
        "hidden_size"
    }
    assert {g.first for g in growth([row("", size), row("batch_size=4", size)])} == {4}


def test_the_error_is_that_of_the_formula() -> None:
    seen = Footprint(100, 200, 0, 50, 10)
    one = Weighed(0, problem(""), "inference", Footprint(110, 100, 5, 50, 0), seen, "observed")
    assert one.errors == {
        "weight_space": pytest.approx(0.1),
        "workspace": -0.5,
        "reserve_space": None,
        "tensor": 0.0,
        "dropout_states": -1.0,
        "total": pytest.approx((265 - 360) / 360),
    }
    assert one.footprint is seen
    assert set(row("", seen).errors.values()) == {None}


def changes(words: str, mode: ForwardMode = "training", **parts: int) -> dict[str, int]:
    """The changes as words, with their levels."""
    return {
        " ".join(f"{n}={t}" for n, t in o.changes.items()) or o.mode: o.level
        for o in options(problem(words), mode, parts)
    }


def test_what_is_tried_for_training() -> None:
    found = changes("batch_size=9 max_seq_length=7 num_layers=3 hidden_size=12")
    assert found == {
        "batch_size=5": SAME,  # two parts are enough
        "inference": LOST,
        "algo=persist_static": 1,
        "algo=persist_dynamic": 1,
        "algo=persist_static_small_h": 1,
        "data_type=half math_prec=float": PRECISION,
        "data_type=bfloat16 math_prec=float": PRECISION,
        "max_seq_length=4": GRADIENTS,
        "num_layers=1": NETWORK,
        "proj_size=half": NETWORK,
        "hidden_size=6": NETWORK,
    }


def test_what_does_not_help_or_does_not_exist_is_not_tried() -> None:
    found = changes(
        "cell_mode=gru data_type=half math_prec=float batch_size=1 max_seq_length=1 "
        "direction_mode=bidirectional hidden_size=1",
        "inference",
    )
    algos = {f"algo={a}" for a in ("persist_static", "persist_dynamic", "persist_static_small_h")}
    assert set(found) - algos == {"direction_mode=unidirectional"}
    # The reverse direction begins at the end, so its time cannot be cut.
    assert not [c for c in changes("direction_mode=bidirectional") if "max_seq_length" in c]


def test_in_inference_time_can_be_cut_without_a_loss() -> None:
    assert changes("max_seq_length=8", "inference")["max_seq_length=4"] == SAME
    assert changes("max_seq_length=8", "inference", max_seq_length=3)["max_seq_length=3"] == SAME


def test_unequal_lengths_can_be_packed_and_are_cut_the_longest_first() -> None:
    found = changes("seq_lengths=[3,9,5]", "inference")
    packed = "layout=seq_major_packed seq_lengths=[9,5,3] batch_size=3 max_seq_length=9"
    assert found[packed] == SAME
    assert found["seq_lengths=[9,5] batch_size=2 max_seq_length=9"] == SAME
    assert not [c for c in changes("seq_lengths=[3,0,5]") if "packed" in c]
    assert not [c for c in changes("seq_lengths=[4,4] max_seq_length=9") if "packed" in c]


def test_every_change_of_a_long_list_of_lengths_is_a_problem() -> None:
    lengths = list(range(1, 41))
    asked = problem(f"seq_lengths=[{','.join(map(str, lengths))}]")
    for option in options(asked, "inference", {}):
        geometry(option.of(asked))  # it raises where there is none
    kept = Problem({**asked.given, **with_size(asked, "batch_size", 30)})
    assert geometry(kept).lengths == tuple(lengths[:9:-1])
    cut = Problem({**asked.given, **with_size(asked, "max_seq_length", 7)})
    assert geometry(cut).lengths == tuple(min(n, 7) for n in lengths)
    assert any("layout" in c for c in changes(asked.command))


def test_another_size_takes_along_what_follows_from_it() -> None:
    listed = problem("seq_lengths=[3,9,5]")
    shorter = {"seq_lengths": "[3,4,4]", "batch_size": "3", "max_seq_length": "4"}
    assert with_size(listed, "max_seq_length", 4) == shorter
    assert with_size(listed, "hidden_size", 4) == {"hidden_size": "4"}
    skipping = problem("input_mode=skip_input input_size=64 hidden_size=64")
    assert with_size(skipping, "hidden_size", 32) == {"hidden_size": "32", "input_size": "32"}
    assert with_size(problem(""), "batch_size", 2) == {"batch_size": "2"}


def test_the_axes_and_parts_that_are_spoken_of() -> None:
    assert all(problem("").value(axis) >= 1 for axis in GROWING)
    assert tuple(Footprint(1, 2, 3, 4, 5).parts) == PARTS
    assert Footprint(1, 2, 3, 4, 5).total == 15
