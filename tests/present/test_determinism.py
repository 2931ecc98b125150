"""What the table of repeated runs says in words, from rows."""

from __future__ import annotations

from typing import Any

import pytest

from pyharness.present.determinism import determinism_data, render_determinism

ALGOS = ("standard", "persist_static", "persist_dynamic", "persist_static_small_h")
FOUND = {
    "first_run": 3,
    "first_element": 1234,
    "most_ulps": 7,
    "most_abs": 1e-6,
    "share": 0.5,
    "distinct": 2,
    "differing": 20,
    "nan": 0,
    "verdict": "not_repeatable",
}


def row(condition: str, algo: str = "standard", **more: Any) -> dict[str, Any]:
    return {
        "name": f"lstm {algo}",
        "problem": f"hidden_size=8 algo={algo}",
        "algo": algo,
        "buffer": "y",
        "condition": condition,
        "runs": 100,
        "processes": 1,
        "distinct": 1,
        "variant": None,
        "share": 0.0,
        "verdict": "repeatable",
        "reason": None,
        "outcome": "passed",
        **more,
    }


def manifest(**results: Any) -> dict[str, Any]:
    counted = {"cases": 4, "cases_left": 0, "failures": [], **results}
    return {
        "release": {"name": "9.28.0.42+cu12", "asked": "9.28.0.42"},
        "device": {"name": "NVIDIA H200", "ordinal": 1, "emulated": False},
        "space": {"name": "algos", "runs": 100},
        "results": counted,
        "state": "complete",
        "notes": [],
    }


def said(rows: list[dict[str, Any]], width: int = 80, **results: Any) -> str:
    text = render_determinism(rows, manifest(**results), width=width)
    assert max(len(t) for t in text.splitlines() if "pyharness determinism" not in t) <= width
    return text


def test_four_algos_fit_on_a_narrow_screen() -> None:
    rows = [row(c, a) for c in ("same_objects", "dropout_continued") for a in ALGOS]
    narrow, wide = said(rows).splitlines(), said(rows, 110).splitlines()
    heads = [line for line in narrow if set(line.split()) & set(ALGOS)]
    assert [line.split() for line in heads] == [list(ALGOS[:3]), list(ALGOS[3:])]
    (cells,) = [line for line in wide if line.startswith("same_objects")]
    assert cells.split() == ["same_objects", *["100", "same,", "<2.95%"] * 4]
    # The same column ends where its head ends.
    (head,) = [line for line in wide if set(line.split()) & set(ALGOS)]
    assert len(head) == len(cells)


@pytest.mark.parametrize(
    ("rows", "expected", "unexpected"),
    [
        ([row("graph")], "It is a rate within the process that ran a problem.", "over processes"),
        (
            [row("graph"), row("fresh_process", processes=100)],
            "within the process that ran a problem; under fresh_process one over processes.",
            "and fresh_process",
        ),
        ([row("fresh_process", processes=100)], "It is a rate over processes.", "within"),
        ([row("graph", runs=0, verdict="not_tried", reason="no")], "95 % confidence.", "It is"),
    ],
)
def test_a_bound_says_what_it_is_a_bound_of(
    rows: list[dict[str, Any]], expected: str, unexpected: str
) -> None:
    text = " ".join(said(rows).split())
    assert expected in text
    assert unexpected not in text


def test_what_differs_worst_first_each_with_its_command() -> None:
    rows = [
        row("same_objects", **FOUND),
        row("graph", "persist_static", **{**FOUND, "share": 0.75, "most_abs": None}),
        row("batch", **{**FOUND, "share": 0.25, "variant": "sequence 1 alone"}),
        *(row("load", a, buffer="dw") for a in ALGOS),  # all are trained
    ]
    text = said(rows)
    lines = [line.strip() for line in text.splitlines()]
    worst_first = ["graph, lstm persist_static", "same_objects, lstm standard"]
    assert [line for line in lines if ", lstm" in line] == [*worst_first, "batch, lstm standard"]
    flat = " ".join(text.split())
    assert (
        "y: 20 of 100 runs, first run 3, element 1,234; 75.00% of the elements, at most 7 ulp or "
        "infinite; 2 distinct results"
    ) in flat
    assert "20 of 100 runs, first run 3 (sequence 1 alone), element" in flat
    command = (
        "pyharness determinism --cudnn 9.28.0.42 --device 1 --conditions graph --runs 100 "
        "hidden_size=8 algo=persist_static"
    )
    assert command in lines


def test_each_reason_stands_once() -> None:
    untold = {"runs": 0, "verdict": "not_tried", "processes": None}
    rows = [row("graph", buffer=b, reason="no graph", **untold) for b in ("y", "hy")]
    rows += [row("load", buffer=b, reason="no graph", **untold) for b in ("y", "hy")]
    rows += [row("load", a, buffer=None, reason="no room", **untold) for a in ALGOS]
    rows += [row("batch", buffer=None, reason="no graph", **untold)]
    lines = said(rows).splitlines()
    assert lines[lines.index("Not tried") + 1 :] == [
        "  y, hy under graph, load (1 problem): no graph",
        "  load (4 problems): no room",
        "  batch (1 problem): no graph",
    ]


def test_defects_are_told_apart_from_differences() -> None:
    failure = {"call": "", "problem": "hidden_size=8", "cause": "load: it crashed", "output": ""}
    lines = said([row("graph")], failures=[failure] * 22).splitlines()
    begin = lines.index("Failed: a defect, not a difference")
    assert lines[begin + 1 :] == [
        *["  hidden_size=8: load: it crashed"] * 20,
        "  and 2 more: see run.json",
    ]


def test_where_runs_were_compared_is_said_if_it_was_not_the_device() -> None:
    why = "host: CuPy is not installed"
    assert f"Compared on the {why}." in " ".join(said([row("graph")], compared_on=[why]).split())
    assert "Compared" not in said([row("graph")], compared_on=["device"])
    assert "Compared" not in said([row("graph")])


def test_data_has_choices_only_where_they_were_timed() -> None:
    rows = [row("graph"), row("fresh_process", processes=100)]
    data = determinism_data(rows, manifest())
    assert [s["processes"] for s in data["summary"]] == [1, 100]
    assert "trade_offs" not in data
    assert determinism_data(rows, manifest(), [{"cost": 1.5}])["trade_offs"] == [{"cost": 1.5}]


def test_nan_and_results_beyond_counting_are_told() -> None:
    found = {**FOUND, "nan": 1500, "most_ulps": 0, "most_abs": 0.0, "distinct": 1000}
    flat = " ".join(said([row("graph", **found)]).split())
    assert "at most 0 ulp or 0, NaN on one side in 1,500; at least 1,000 distinct results" in flat


def test_a_table_of_schema_1_is_told_too() -> None:
    unknown = dict.fromkeys(("differing", "nan", "processes", "outcome", "compared_on"))
    flat = " ".join(said([row("graph", **{**FOUND, **unknown})]).split())
    assert "y: some of 100 runs, first run 3, element 1,234; 50.00%" in flat


@pytest.mark.parametrize(
    ("name", "buffer", "expected"),
    [
        (
            "deepbench/device-* hidden_size=8,9",
            "y",
            "--preset 'deepbench/device-*' --axis hidden_size=8,9",
        ),
        ("deepbench", "dx", "hidden_size=8 algo=standard"),
        ("hidden_size=8 algo=standard", "y", "hidden_size=8 algo=standard"),
        ("log app.log", "y", "hidden_size=8 algo=standard"),
    ],
)
def test_a_command_runs_the_passes_that_were_run(name: str, buffer: str, expected: str) -> None:
    run = manifest()
    run["space"]["name"] = name
    text = render_determinism([row("graph", buffer=buffer, **FOUND)], run)
    (command,) = [t.strip() for t in text.splitlines() if "pyharness determinism" in t]
    assert command.endswith(f"--conditions graph --runs 100 {expected}")


def test_a_cell_without_some_of_its_tensors_is_marked() -> None:
    untold = {"runs": 0, "verdict": "not_tried", "processes": None, "reason": "it cannot be told"}
    lines = said([row("graph"), row("graph", buffer="hy", **untold), row("load")]).splitlines()
    cells = [line.split() for line in lines if line.startswith(("graph", "load"))]
    assert cells == [["load", "100", "same,", "<2.95%"], ["graph", "100", "same,", "<2.95%*"]]
    assert "* without problems or tensors that were not tried" in lines[lines.index("") + 4]
    assert "  hy under graph (1 problem): it cannot be told" in lines
    summed = [row("batch"), row("batch", buffer="dw", **untold)]
    assert "*" not in said(summed)
    (cell,) = determinism_data([row("graph"), row("graph", buffer="hy", **untold)], manifest())[
        "summary"
    ]
    assert (cell["verdict"], cell["problems_not_told"]) == ("repeatable", 1)
