"""Every chart: it is drawn whatever the table holds, and shows the numbers of the table."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import vl_convert

from pyharness.present.charts.accuracy import accuracy_chart, accuracy_growth_chart
from pyharness.present.charts.atlas import accepted_chart, release_costs_chart
from pyharness.present.charts.choices import trade_off_chart
from pyharness.present.charts.costs import costs_chart
from pyharness.present.charts.files import pictures
from pyharness.present.charts.memory import memory_chart
from pyharness.present.charts.outcomes import (
    drift_chart,
    equivalences_chart,
    reasons_chart,
    repeatability_chart,
    stages_chart,
)
from pyharness.present.charts.parts import problem_labels
from pyharness.present.charts.soak import soak_chart
from pyharness.present.charts.theme import spec
from pyharness.present.charts.time_changes import time_changes_chart, time_changes_size_chart
from pyharness.present.charts.times import time_chart, time_ratio_chart
from pyharness.present.charts.validity import validity_chart
from pyharness.spec.stages import STAGES
from tests.present.charts.rows import Row, every, row, sized, time_change, timing

Draw = Callable[[list[Row]], Any]
CHARTS: dict[str, tuple[str, Draw]] = {
    "time": ("timings", time_chart),
    "time-ratio": ("timings", time_ratio_chart),
    "time-changes": ("time_changes", time_changes_chart),
    "time-changes-size": ("time_changes", time_changes_size_chart),
    "trade-off": ("trade_offs", trade_off_chart),
    "memory": ("memory", memory_chart),
    "accuracy": ("accuracy", accuracy_chart),
    "accuracy-growth": ("accuracy", accuracy_growth_chart),
    "stages": ("stages", stages_chart),
    "repeatability": ("repeatability", repeatability_chart),
    "equivalences": ("equivalences", equivalences_chart),
    "drift": ("drift", drift_chart),
    "soak": ("soak", soak_chart),
    "reasons": ("reasons", reasons_chart),
    "costs": ("costs", costs_chart),
    "release-costs": ("costs", release_costs_chart),
    "accepted": ("atlas", lambda rows: accepted_chart(rows, [])),
}


def points(chart: Any) -> list[Row]:
    """The rows that a chart carries, of all its parts, each once."""
    found: list[Row] = []

    def walk(part: Any) -> None:
        if isinstance(part, dict):
            values = part.get("data", {}) if isinstance(part.get("data"), dict) else {}
            found.extend(v for v in values.get("values", ()) if v not in found)
            for value in part.values():
                walk(value)
        elif isinstance(part, list):
            for value in part:
                walk(value)

    data = dict(chart if isinstance(chart, dict) else spec(chart))
    found.extend(v for values in data.pop("datasets", {}).values() for v in values)
    walk(data)
    return found


def said(chart: Any) -> str:
    """What stands above a chart."""
    title = (chart if isinstance(chart, dict) else spec(chart))["title"]
    below = title.get("subtitle", [])
    return "\n".join([title["text"], *([below] if isinstance(below, str) else below)])


def compiled(chart: Any) -> None:
    """Sees that a chart is a Vega-Lite spec that becomes a Vega spec."""
    assert vl_convert.vegalite_to_vega(chart if isinstance(chart, dict) else spec(chart))["marks"]


@pytest.mark.parametrize("name", CHARTS)
@pytest.mark.parametrize("count", [1, 3])
def test_a_chart_of_some_rows(name: str, count: int) -> None:
    table, draw = CHARTS[name]
    chart = spec(draw(every(count)[table]), dark=count == 1)
    compiled(chart)
    assert said(chart)
    assert "shown: " not in said(chart)


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_of_no_rows_says_so(name: str) -> None:
    chart = CHARTS[name][1]([])
    compiled(chart)
    (only,) = points(chart)
    assert only["words"]


_MANY = 2_100
_WHOLE = ("repeatability", "equivalences", "time", "accuracy-growth")
HUGE = sorted(set(CHARTS) - {"time-ratio", "release-costs", "accepted", "costs"})


@pytest.mark.parametrize("name", HUGE)
def test_what_does_not_fit_is_counted(name: str) -> None:
    """Of thousands of problems few enough are drawn, and the chart says of how many.

    Those that count problems, and points over a size, can hold them.
    """
    table, draw = CHARTS[name]
    chart = spec(draw(every(_MANY)[table]))
    counted = re.search(rf"shown: .* of {_MANY:,} |one in 2 of {_MANY:,} looks", said(chart))
    if name in _WHOLE:
        assert not counted
    else:
        assert counted
    compiled(chart)


def test_no_category_is_left_out_in_silence() -> None:
    chart = stages_chart(every(41)["stages"])
    assert len(points(chart)) == 40
    assert "shown: the first 40 of 41 problems; the table has all" in said(chart)
    assert len(points(stages_chart(every(40)["stages"]))) == 40


def test_emulated_rows_say_so() -> None:
    rows = [{**r, "provenance": "emulated"} for r in every()["timings"]]
    assert "EMULATED" in said(time_chart(rows))
    assert "EMULATED" not in said(time_chart(every()["timings"]))


def test_without_a_title_notes_stay() -> None:
    rows = every(41)["stages"]
    title = spec(stages_chart(rows, title=""))["title"]
    assert title["text"] == ["shown: the first 40 of 41 problems; the table has all"]
    assert spec(stages_chart(rows, title="mine"))["title"]["text"] == "mine"


CELLS = [
    {"data_type": d, "math_prec": "float", "algo": "standard", "cell_mode": c, "dropout": u,
     "problems": 8, "accepted_a": a, "accepted_b": b}
    for d, c, u, a, b in [
        ("float", "lstm", "null", 8, 8), ("float", "lstm", "present", 4, 4),
        ("float", "gru", "null", 2, 0), ("float", "gru", "present", 0, 0),
        ("half", "lstm", "null", 0, 0), ("half", "lstm", "present", 0, 0),
        ("half", "gru", "null", 0, 0), ("half", "gru", "present", 0, 0),
    ]
]  # fmt: skip


def test_a_map_sums_over_what_it_does_not_show() -> None:
    chart = validity_chart(CELLS, ["old", "new"])
    drawn = {
        p["cell_mode"]: (p["problems"], p["accepted_a"], p["accepted_b"]) for p in points(chart)
    }
    assert drawn == {"lstm": (16, 12, 12), "gru": (16, 2, 0)}
    assert "not shown, refused everywhere: data type half" in said(chart)
    compiled(chart)


def test_a_map_that_can_be_filtered_has_what_the_boxes_choose_from() -> None:
    data = spec(validity_chart(CELLS, ["old"], filters=["dropout"]))
    (box,) = data["params"]
    assert box["bind"]["options"] == ["any", "null", "present"]
    vega = vl_convert.vegalite_to_vega(data)
    assert any(signal["name"] == box["name"] for signal in vega["signals"])


def test_a_map_on_which_all_is_refused() -> None:
    (only,) = points(
        validity_chart([{**c, "accepted_a": 0, "accepted_b": 0} for c in CELLS], ["x"])
    )
    assert only["words"] == "every problem is refused"


def test_times_go_over_the_size_that_varies() -> None:
    rows = [
        timing(a, h, h * s)
        for a, s in (("standard", 1e-6), ("persist_static", 2e-6))
        for h in (64, 256)
    ]
    drawn = {(p["series"], p["size"]): p["median_s"] for p in points(time_chart(rows))}
    assert drawn == {(r["algo"], r["hidden_size"]): r["median_s"] for r in rows}
    layers = spec(time_chart(rows))["spec"]["layer"]
    assert [layer["mark"]["type"] for layer in layers] == ["line", "rule", "point"]


def test_times_go_over_operations_where_several_sizes_vary_at_once() -> None:
    rows = [
        timing("standard", h, 1e-4, cell_mode=c)
        for h, c in ((64, "lstm"), (64, "gru"), (128, "lstm"))
    ]
    rows = [
        {**r, "algo": "standard", "problem": f"{r['problem']} {i}", "cell_mode": None}
        for i, r in enumerate(rows)
    ]
    chart = time_chart(rows)
    assert {p["size"] for p in points(chart)} == {64 * 64, 128 * 128}
    assert "line" not in [layer["mark"]["type"] for layer in spec(chart)["spec"]["layer"]]


def test_modes_that_are_not_drawn_are_named() -> None:
    rows = [timing("standard", 64, 1e-4, mode=m) for m in ("hot", "cold", "graph", "enqueue")]
    assert {p["mode"] for p in points(time_chart(rows))} == {"hot", "graph"}
    assert "not shown: cold, enqueue" in said(time_chart(rows))


def test_the_ratio_of_two_releases() -> None:
    old = [timing("standard", h, 1e-4, "9.12") for h in (64, 128, 256)]
    new = [timing("standard", h, t, "9.13") for h, t in ((64, 2e-4), (128, 1e-4), (512, 1e-4))]
    drawn = {p["label"]: p for p in points(time_ratio_chart(old + new))}
    assert {k: round(p["value"], 9) for k, p in drawn.items()} == {
        "hidden_size=64": 2,
        "hidden_size=128": 1,
    }
    twice = drawn["hidden_size=64"]
    assert (twice["low"], twice["high"]) == pytest.approx((1.8 / 1.1, 2.2 / 0.9))
    assert {k: p["verdict"] for k, p in drawn.items()} == {
        "hidden_size=64": "more",
        "hidden_size=128": "not told",
    }


def test_what_changed_most_comes_first_and_what_has_no_ratio_is_counted() -> None:
    rows = [time_change(f"p{i:02}", 1 + i / 100, "slower") for i in range(50)]
    rows += [time_change("fast", 0.5, "faster"), time_change("none", None, "not_compared")]
    chart = time_changes_chart(rows)
    kept = {p["label"] for p in points(chart)}
    assert kept == {"fast", *(f"p{i:02}" for i in range(11, 50))}
    assert "no ratio: 1 of 52 cases" in said(chart)
    assert "shown: most changed 40 of 51 problems" in said(chart)
    assert {(p["from"], p["to"]) for p in points(chart)} == {(1 / 1.02, 1.02)}


def test_memory_is_the_sum_of_its_parts() -> None:
    rows = [sized(b, m) for b in (1, 2, 64) for m in ("inference", "training")]
    totals: dict[tuple[str, str], float] = {}
    for p in points(memory_chart(rows)):
        totals[p["group"], p["label"]] = totals.get((p["group"], p["label"]), 0) + p["size"]
    assert totals == {
        (r["forward_mode"], f"{r['batch_size']:,}"): r["total_bytes"] / (1 << 20) for r in rows
    }
    assert "memory (MiB)" in pictures(memory_chart(rows))["svg"].decode()


def test_memory_that_is_not_known_is_counted() -> None:
    chart = memory_chart([sized(1), sized(2, total_bytes=None)])
    assert "no size known: 1 of 2 rows" in said(chart)


def test_of_how_many_problems_a_tensor_differs() -> None:
    rows = [
        row("repeatability", release="r", problem=p, buffer="y", condition=c, verdict=v)
        for p, c, v in [
            ("a", "load", "repeatable"), ("b", "load", "not_repeatable"),
            ("b", "load", "repeatable"), ("a", "graph", "not_tried"),
            ("a", "batch", "not_repeatable"),
        ]
    ]  # fmt: skip
    drawn = {p["y"]: (p["words"], p["verdict"]) for p in points(repeatability_chart(rows))}
    assert drawn == {
        "load": ("1/2", "differs of some problems"),
        "graph": ("\N{EN DASH}", "not tried"),
        "batch": ("1/1", "differs of all"),
    }


def test_drift_shows_the_distance_and_the_largest_first() -> None:
    rows = every(50)["drift"]
    drawn = points(drift_chart(rows))
    assert {p["y"] for p in drawn} == {f"hidden_size={i}" for i in range(11, 51)}
    assert {p["words"] for p in drawn if p["y"] == "hidden_size=50"} == {"49"}


def test_exact_tensors_are_counted_where_a_logarithm_cannot_show_them() -> None:
    rows = every(2)["accuracy"]
    rows[0] = {**rows[0], "max_rel": 0.0}
    chart = accuracy_chart(rows)
    assert "exact: 1 of 4 tensors" in said(chart)
    assert sorted(p["error"] for p in points(chart)) == sorted(r["max_rel"] for r in rows[1:])


def test_what_began_and_stopped_is_summed_release_by_release() -> None:
    call = "cudnnSetRNNDescriptor_v8"
    steps = [
        row("atlas_steps", release_a="9.0.0", release_b="9.1.0", call=call, change=c, rows=n)
        for c, n in (
            ("newly_accepted", 3),
            ("newly_accepted", 4),
            ("newly_refused", 5),
            ("other_status", 9),
        )
    ]
    chart = accepted_chart(every(3)["atlas"], steps)
    marks = {(p["release"], p["change"]): p["problems"] for p in points(chart) if "change" in p}
    assert marks == {("9.1.0", "began"): 7, ("9.1.0", "stopped"): 5}
    counts = {p["release"]: p["accepted"] for p in points(chart) if "change" not in p}
    assert counts == {"9.0.0": 10, "9.1.0": 11, "9.2.0": 12}


def test_a_cycle_that_did_not_pass_is_said() -> None:
    rows = every(5)["soak"]
    rows[3] = {**rows[3], "outcome": "failed"}
    assert "not passed: 1 cycles, the first 3 (failed)" in said(soak_chart(rows))


def test_reasons_that_begin_and_end_alike_are_not_one_bar() -> None:
    (first, second) = every(2)["reasons"]
    long = "x" * 60 + "{}" + "y" * 60
    rows = [{**first, "reason": long.format(1)}, {**second, "reason": long.format(2)}]
    drawn = points(reasons_chart(rows))
    assert len({p["reason"] for p in drawn}) == 2
    assert sorted(p["rows"] for p in drawn) == [1, 2]


def test_problems_are_told_by_what_tells_them_apart() -> None:
    rows = [
        row("stages", release="r", problem=p, stage="data", outcome="passed")
        for p in ("cell_mode=lstm hidden_size=1", "cell_mode=lstm hidden_size=2", "cell_mode=lstm")
    ]
    labels = {p["y"] for p in points(stages_chart(rows))}
    assert labels == {"hidden_size=1", "hidden_size=2", "the defaults"}


def test_words_that_all_names_have_are_left_out_of_them() -> None:
    rows = [
        row("accuracy", name=f"{name} hidden_size=16", problem=f"cell_mode={name} hidden_size=16")
        for name in ("gru", "lstm")
    ]
    assert list(problem_labels(rows).values()) == ["gru", "lstm"]


def test_each_release_has_a_matrix_of_its_own() -> None:
    rows = [
        row("repeatability", release=r, problem=p, buffer="y", condition="load", verdict=v)
        for r, v in (("9.12", "repeatable"), ("9.28", "not_repeatable"))
        for p in "ab"
    ]
    chart = spec(repeatability_chart(rows))
    assert chart["facet"]["sort"] == ["9.12", "9.28"]
    assert chart["columns"] == 2
    assert {p["panel"]: p["words"] for p in points(chart)} == {"9.12": "0/2", "9.28": "2/2"}
    stages = [
        row("stages", release=r, problem="a", stage=s, outcome="unsupported")
        for r in ("9.12", "9.28")
        for s in STAGES
    ]
    assert spec(stages_chart(stages))["columns"] == 1  # too wide for two


def test_errors_of_old_and_new_stand_beside_each_other() -> None:
    rows = [
        row("accuracy", release=r, problem=p, name=p, cell_mode=p, max_seq_length=8, buffer="y",
            max_rel=e, threshold=1e-2, verdict="within")
        for r, e in (("9.12", 1e-7), ("9.28", 1e-6))
        for p in ("gru", "lstm")
    ]  # fmt: skip
    chart = spec(accuracy_chart(rows))
    assert chart["columns"] == 2
    assert chart["facet"]["sort"] == ["9.12, gru", "9.28, gru", "9.12, lstm", "9.28, lstm"]
    assert {p["error"] for p in points(chart) if p["panel"] == "9.28, lstm"} == {1e-6}
