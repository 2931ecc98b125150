"""Accuracy by setting, on rows whose numbers are chosen so that the answer is plain."""

from __future__ import annotations

from typing import Any

import pytest

from pyharness.analyze.accuracy_settings import SETTINGS, Growth, by_settings
from pyharness.present.accuracy_settings import settings_data, settings_lines
from pyharness.spec.columns import AXIS_COLUMNS, RUN_COLUMNS
from pyharness.spec.tables import TABLES

Row = dict[str, Any]
FLOAT = {"algo": "standard", "data_type": "float", "math_prec": "float"}
FLOAT |= {"math_type": "fma_math", "layout": "seq_major_packed"}


def row(buffer: str | None, rel: float | None, **more: Any) -> Row:
    made: Row = {column.name: None for column in TABLES["accuracy"]}
    made |= {**FLOAT, "buffer": buffer, "pass": "p", "max_rel": rel, "threshold": 1e-5}
    made |= {"rms_rel": None if rel is None else rel / 4, "verdict": "within", "name": "a"}
    return made | {"max_seq_length": 10, "num_layers": 2, "hidden_size": 8} | more


def test_the_worst_of_each_setting() -> None:
    tf32 = {"math_type": "default_math"}
    rows = [
        row("y", 1e-7),
        row("hy", 3e-7),
        row("dx", 2e-6, threshold=4e-6),
        row("dw", 5e-7),
        row(None, None, verdict=None),
        row("cy", 4e-4, verdict="beyond", **tf32),
        row("dcx", None, verdict="not_told", **tf32),
    ]
    plain, narrow = by_settings(rows)
    assert plain.values == FLOAT
    assert narrow.values == {**FLOAT, **tf32}
    assert plain.worst == {"outputs": 3e-7, "inputs": 2e-6, "weights": 5e-7}
    assert (plain.tensors, plain.beyond, plain.share) == (4, 0, pytest.approx(0.5))
    assert (narrow.tensors, narrow.beyond, narrow.worst) == (2, 1, {"outputs": 4e-4})
    assert narrow.share == pytest.approx(40)
    assert plain.growth == narrow.growth == {}
    (nothing,) = by_settings([row("y", None)])
    assert (nothing.worst, nothing.share, nothing.growth) == ({}, None, {})


def test_growth_within_a_problem_is_the_geometric_mean_of_its_tensors() -> None:
    rows = [
        row("y", 1e-7, first_steps_rel=1e-8, last_steps_rel=2e-8),
        row("dx", 1e-7, first_steps_rel=1e-8, last_steps_rel=8e-8),
        row("hy", 1e-7, first_layer_rel=3e-8, last_layer_rel=1e-8),
        row("dw", 1e-7, first_layer_rel=0.0, last_layer_rel=1e-8),  # from nothing: no ratio
    ]
    (found,) = by_settings(rows)
    assert found.growth["steps"].ratio == pytest.approx(4)
    assert found.growth["layer"].ratio == pytest.approx(1 / 3)
    assert (found.growth["steps"].first, found.growth["steps"].last) == (None, None)


def test_growth_over_problems_is_of_those_that_differ_in_nothing_else() -> None:
    rows = [
        row("y", 1e-7, max_seq_length=10, seq_lengths="[10,5]"),
        row("y", 7e-7, max_seq_length=40, seq_lengths="[20,9]"),  # neither end
        row("y", 3e-7, max_seq_length=90, seq_lengths="[90,9]"),
        row("y", 9e-7, max_seq_length=90, hidden_size=9),  # no other end
        row("dx", 1e-7, max_seq_length=10),
        row("dx", 12e-7, max_seq_length=90),
        row("dw", 1e-7, max_seq_length=90, num_layers=5),
        row("dw", 2e-7, max_seq_length=90, num_layers=2),
    ]
    (found,) = by_settings(rows)
    assert set(found.growth) == {"max_seq_length", "num_layers"}
    longer, deeper = (found.growth[n] for n in ("max_seq_length", "num_layers"))
    assert longer == Growth(pytest.approx(6), 10, 90)
    assert deeper == Growth(pytest.approx(1 / 2), 2, 5)


def test_words_and_data() -> None:
    rows = [row("y", 1e-7, max_seq_length=2), row("y", 3e-7, max_seq_length=8, name="b")]
    said = " ".join(" ".join(settings_lines(rows)).split())
    assert said == (
        "by setting, the largest error of each (algo=standard, data_type=float, math_prec=float, "
        "math_type=fma_math, layout=seq_major_packed) y, hy, cy 3.0e-07; at most 3.00% of the "
        "limit; the usual error grows x 3 for max_seq_length 2 to 8"
    )
    assert settings_lines(rows[:1]) == []
    rows[1] |= {"data_type": "half", "verdict": "beyond"}
    said = " ".join(" ".join(settings_lines(rows)).split())
    assert "data_type=float y, hy, cy 1.0e-07; at most 1.00% of the limit" in said
    assert "data_type=half y, hy, cy 3.0e-07; at most 3.00% of the limit; 1 of 1 tensor beyond" in (
        said
    )
    assert [s["values"]["data_type"] for s in settings_data(rows)] == ["float", "half"]
    assert set(SETTINGS) < {c.name for c in (*AXIS_COLUMNS, *RUN_COLUMNS)}
