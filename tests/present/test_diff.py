"""A diff in words and as data: everything in it is said, and nothing is too wide."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from pyharness.analyze.comparison import Change, Comparison, Group
from pyharness.analyze.conditions import Condition
from pyharness.analyze.cost_changes import CostChange
from pyharness.analyze.drift_changes import DRIFT_CHANGES
from pyharness.analyze.map_diff import GATES, CallDiff, MapDiff, ReasonTexts
from pyharness.present.diff import diff_data, render_diff
from pyharness.present.jsons import dumps

CALL = "cudnnSetRNNDescriptor_v8"
ALGOS = ["standard", "persist_static", "persist_dynamic"]


def condition(axis: str, *values: str) -> Condition:
    return Condition(axis=axis, op="=" if len(values) == 1 else "in", values=list(values))


def group(change: Change, a: str | None, b: str | None, **values: Any) -> Group:
    """A group of seven problems with one conjunction."""
    described: dict[str, Any] = {
        "label": 1,
        "reason_a": None,
        "reason_b": None,
        "rows": 7,
        "conditions": [[condition("algo", "standard"), condition("data_type", "half")]],
        "proven": True,
        "fewest": True,
        "values": {"algo": ["standard"], "cell_mode": ["lstm", "gru"]},
    }
    return Group(change=change, status_a=a, status_b=b, **{**described, **values})


def call(*groups: Group, **values: Any) -> CallDiff:
    axes = {"algo": ALGOS, "cell_mode": ["lstm", "gru"], "data_type": ["half"]}
    described: dict[str, Any] = {"axes": axes, "only_a": {}, "only_b": {}, "rows": 12345}
    described |= values
    comparison = Comparison(np.zeros(1, np.uint16), list(groups))
    return CallDiff(call=CALL, stage="descriptor", comparison=comparison, **described)


def side(cpu: str = "one") -> dict[str, Any]:
    return {
        "release": {"name": "r"},
        "host": {"name": "h", "cpu": cpu, "cores": 2},
        "tool_version": "0.1.0",
        "started": "2026-01-01T00:00:00+00:00",
        "ended": "2026-01-02T00:00:00+00:00",
    }


def made(*groups: Group, **values: Any) -> MapDiff:
    described: dict[str, Any] = {"calls": [call(*groups)], "sides": [side("old cpu"), side("new")]}
    return MapDiff("9.12.0.46+cu12", "9.13.0.50+cu12", "host", **{**described, **values})


def rendered(diff: MapDiff) -> str:
    text = render_diff(diff)
    assert max(map(len, text.splitlines())) <= 100
    assert not text.endswith("\n")
    return text


STEPS = [
    ("newly_refused", "SUCCESS", "BAD_PARAM", "Newly refused: 7 problems"),
    ("newly_failed", "SUCCESS", None, "Newly failing (crash, hang or another defect): 7 problems"),
    ("newly_accepted", "NOT_SUPPORTED", "SUCCESS", "Newly accepted: 7 problems"),
    ("no_longer_failed", None, "SUCCESS", "No longer failing: 7 problems"),
    ("other_status", "BAD_PARAM", "NOT_SUPPORTED", "Refused with another status: 7 problems"),
]


@pytest.mark.parametrize(("change", "a", "b", "heading"), STEPS)
def test_a_change_has_its_heading_step_conditions_and_spread(
    change: Change, a: str | None, b: str | None, heading: str
) -> None:
    lines = rendered(made(group(change, a, b))).splitlines()
    at = lines.index(heading)
    assert lines[at + 1 : at + 4] == [
        f"  {CALL}  7 of 12,345: {a or 'failed'} -> {b or 'failed'}",
        "      algo=standard and data_type=half",
        "      with algo 1 of 3 (standard); cell_mode all 2 (lstm, gru)",
    ]
    for other in STEPS:
        assert (other[3] in lines) == (other[0] == change)


def test_another_reason_names_both() -> None:
    step = group("other_reason", "BAD_PARAM", "BAD_PARAM", reason_a="size < 1", reason_b="")
    text = rendered(made(step))
    assert "Refused for another reason: 7 problems" in text
    assert "BAD_PARAM: size < 1 -> (no word)" in text


def test_the_summary_names_every_kind_of_change() -> None:
    diff = made(group("newly_accepted", "NOT_SUPPORTED", "SUCCESS"), calls_added=["x", "y"])
    text = " ".join(rendered(diff).split())
    assert (
        "cuDNN 9.12.0.46+cu12 -> 9.13.0.50+cu12 12,345 problems compared over 1 call (host)" in text
    )
    assert "7 newly accepted; 2 calls added. None: newly refused, " in text
    said = text[text.index("7 newly accepted") : text.index("Newly accepted:")]
    # The ten others, listed; what only a run on a device shows is not among them.
    assert said.count(",") == len(GATES) - len(DRIFT_CHANGES) - 3
    nothing = " ".join(rendered(made()).split())
    assert "nothing changed. None: " in nothing
    assert "Calls and enumerators: none came, none went" in nothing


def test_many_conjunctions_are_cut_in_words_and_whole_in_the_data() -> None:
    many = [[condition("algo", *ALGOS), condition("hidden_size", str(i))] for i in range(30)]
    diff = made(group("newly_refused", "SUCCESS", "BAD_PARAM", conditions=many))
    text = rendered(diff)
    shown = sum(f"hidden_size={i}\n" in text for i in range(30))
    assert 0 < shown < 30
    assert f"or {30 - shown} more conjunctions (--json has them all)" in text
    (change,) = diff_data(diff)["calls"][0]["changes"]
    assert change["conditions"] == many
    assert len(change["words"]) == 30


def test_long_conditions_wrap() -> None:
    wide = [condition(f"axis_{i}", *(f"value_{j}" for j in range(9))) for i in range(9)]
    text = rendered(made(group("newly_refused", "SUCCESS", "BAD_PARAM", conditions=[wide])))
    words = " and ".join(
        f"axis_{i} in {{{', '.join(f'value_{j}' for j in range(9))}}}" for i in range(9)
    )
    assert words in " ".join(text.split())


def test_whatever_is_long_wraps() -> None:
    many = [str(i) for i in range(200)]
    diff = made(
        calls=[call(only_a={"hidden_size": many})],
        notes=[" ".join(many)],
        sides=[side("cpu " * 50), side()],
        reasons_by_row=False,
        reason_texts=[ReasonTexts(CALL, "BAD_PARAM", [" || ".join(many)], [])],
    )
    diff.space = " ".join(f"axis_{i}=1,2,3" for i in range(20))
    said = " ".join(rendered(diff).split())
    for whole in (diff.space, ", ".join(many), " ".join(many), " || ".join(many)):
        assert whole in said


def test_what_is_not_proven_is_shouted() -> None:
    good = made(group("newly_refused", "SUCCESS", "BAD_PARAM"))
    bad = made(group("newly_refused", "SUCCESS", "BAD_PARAM", proven=False))
    assert "NOT PROVEN" not in rendered(good)
    assert "NOT PROVEN" in rendered(bad)
    assert diff_data(bad)["calls"][0]["changes"][0]["proven"] is False


def test_what_only_one_side_has_is_named() -> None:
    part = call(only_a={"hidden_size": ["1", "2"]}, only_b={"algo": ["9"]})
    text = rendered(made(calls=[part]))
    assert f"  {CALL}: hidden_size=1, 2 only on 9.12.0.46+cu12" in text
    assert f"  {CALL}: algo=9 only on 9.13.0.50+cu12" in text
    assert "Not compared" not in rendered(made())


def test_enumerators_and_calls_that_came_and_went() -> None:
    names = [f"CUDNN_STATUS_{i}" for i in range(40)]
    diff = made(
        calls_removed=["gone"],
        enumerators_added=names,
        enumerators_removed=["CUDNN_OLD"],
        renumbered=14,
    )
    text = rendered(diff)
    assert "1 call removed: gone" in text
    assert "1 enumerator removed: CUDNN_OLD" in text
    assert "40 enumerators added: CUDNN_STATUS_0, " in text
    assert "14 enumerators keep their name and have another number" in text
    assert diff_data(diff)["enumerators_added"] == names


def test_costs_with_their_verdict_only_where_it_is_one() -> None:
    costs = [
        CostChange(CALL, "accepted", 42e-9, 126e-9, "slower"),
        CostChange(CALL, "refused", 50e-9, 51e-9, "same"),
        CostChange("cudnnRNNSetClip_v9", "refused", 60e-9, 30e-9, "faster"),
    ]
    lines = rendered(made(costs=costs)).splitlines()
    (first,) = [x.split() for x in lines if x.startswith(f"  {CALL} ") and "accepted" in x]
    assert first == [CALL, "accepted", "42.0", "126.0", "3.00", "slower"]
    (second,) = [x.split() for x in lines if x.startswith(f"  {CALL} ") and "refused" in x]
    assert second == [CALL, "refused", "50.0", "51.0", "1.02"]
    (third,) = [x.split() for x in lines if x.startswith("  cudnnRNNSetClip_v9 ")]
    assert third[-2:] == ["0.50", "faster"]
    elsewhere = rendered(made(costs=costs, comparable_costs=False))
    assert "measured on different machines, so not compared" in elsewhere
    assert "126.0" not in elsewhere
    alone = [CostChange(CALL, "accepted", 42e-9, 126e-9, "not judged")]
    assert "not timed in turn, so not judged" in rendered(made(costs=alone))


def test_reasons_without_rows_are_compared_as_texts() -> None:
    texts = [ReasonTexts(CALL, "BAD_PARAM", ["size < 1"], ["", "rows < 1"])]
    text = rendered(made(reasons_by_row=False, reason_texts=texts))
    assert "Reasons were not kept for every row" in text
    for line in ("gone: size < 1", "new: (no word)", "new: rows < 1"):
        assert f"  {CALL} BAD_PARAM {line}" in text
    assert "Reasons were not kept" not in rendered(made())


def test_notes_and_machines_stand_at_the_end() -> None:
    text = rendered(made(notes=["9.12: the library lies"]))
    assert text.endswith("Notes\n  9.12: the library lies")
    assert "9.12.0.46+cu12 mapped 2026-01-02T00:00:00+00:00 on old cpu, 2 cores" in text
    assert "9.13.0.50+cu12 mapped 2026-01-02T00:00:00+00:00 on new, 2 cores" in text


def test_the_data_is_json_and_says_all() -> None:
    diff = made(
        group("newly_refused", "SUCCESS", "BAD_PARAM"),
        costs=[CostChange(CALL, "accepted", 1e-9, 2e-9, "slower")],
        reason_texts=[ReasonTexts(CALL, "BAD_PARAM", ["a"], ["b"])],
        notes=["n"],
        renumbered=3,
    )
    data = diff_data(diff)
    assert json.loads(dumps(data)) == data
    assert (data["release_a"], data["release_b"]) == ("9.12.0.46+cu12", "9.13.0.50+cu12")
    assert (data["problems"], data["space"], data["notes"]) == (12345, "host", ["n"])
    assert data["calls"][0]["axes"]["algo"] == ALGOS
    assert data["calls"][0]["changes"] == [
        {
            "change": "newly_refused",
            "status_a": "SUCCESS",
            "status_b": "BAD_PARAM",
            "reason_a": None,
            "reason_b": None,
            "problems": 7,
            "conditions": [
                [
                    {"axis": "algo", "op": "=", "values": ["standard"]},
                    {"axis": "data_type", "op": "=", "values": ["half"]},
                ]
            ],
            "words": ["algo=standard and data_type=half"],
            "values": {"algo": ["standard"], "cell_mode": ["lstm", "gru"]},
            "proven": True,
            "fewest": True,
        }
    ]
    assert data["costs"][0]["ratio"] == 2.0
    assert data["costs"][0]["verdict"] == "slower"
    assert data["enumerators_renumbered"] == 3
    assert (data["costs_comparable"], data["reasons_by_row"]) == (True, True)
    assert data["reason_texts"] == [
        {"call": CALL, "status": "BAD_PARAM", "gone": ["a"], "new": ["b"]}
    ]


def test_json_has_no_nan() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        dumps({"x": float("nan")})
