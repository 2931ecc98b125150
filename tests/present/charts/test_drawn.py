"""What a chart draws, read from its picture: which side is which, units, colours and shapes."""

from __future__ import annotations

import re
from html import unescape
from typing import Any, NamedTuple

import pytest
import vl_convert

from pyharness.present.charts.accuracy import accuracy_chart, accuracy_growth_chart
from pyharness.present.charts.atlas import accepted_chart
from pyharness.present.charts.choices import trade_off_chart
from pyharness.present.charts.costs import costs_chart
from pyharness.present.charts.history import history_chart
from pyharness.present.charts.outcomes import repeatability_chart, stages_chart
from pyharness.present.charts.theme import BAD, GOOD, SOME, UNKNOWN, spec
from pyharness.present.charts.time_changes import time_changes_chart, time_changes_size_chart
from pyharness.present.charts.times import time_chart, time_ratio_chart
from pyharness.present.charts.validity import validity_chart
from tests.present.charts.rows import every, row, time_change, timing

RATIO = "time of 9.13.0.50 over 9.12.0.46"


class Mark(NamedTuple):
    """What is drawn of a row: its cells in words, its kind, and how it looks."""

    told: dict[str, str]
    kind: str
    look: dict[str, str]

    @property
    def points_right(self) -> bool:
        return not self.look["d"].startswith("M-")


def picture(chart: Any) -> str:
    """The chart as SVG."""
    data = chart if isinstance(chart, dict) else spec(chart)
    return unescape(vl_convert.vegalite_to_svg(data))


def marks(svg: str, kind: str) -> list[Mark]:
    """The marks of a kind, as a screen reader is told of them."""
    found = []
    for tag in re.findall(r"<(?:path|line|text) ([^>]*aria-label=[^>]*)>", svg):
        look = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        if look["aria-roledescription"] == kind:
            cells = (cell.partition(": ") for cell in look["aria-label"].split("; "))
            found.append(Mark({name: value for name, _, value in cells}, kind, look))
    return found


def words(svg: str) -> list[str]:
    """All text of the picture."""
    return re.findall(r"<text[^>]*>([^<]+)</text>", svg)


@pytest.mark.parametrize("slower", [True, False])
def test_a_changed_time_stands_on_its_side_of_one(slower: bool) -> None:
    ratio, word = (1.5, "slower") if slower else (0.8, "faster")
    svg = picture(time_changes_chart([time_change("a", ratio, word)]))
    (point,) = marks(svg, "point")
    assert float(point.told[RATIO]) == ratio
    assert point.points_right is slower
    assert point.look["fill"] == (BAD if slower else GOOD)
    (line, band, one) = (
        next(m for m in marks(svg, kind) if name in m.told)
        for kind, name in (
            ("rule mark", "high"),
            ("rect mark", "Max of to"),
            ("rule mark", "Min of one"),
        )
    )
    assert (float(line.told[RATIO]), float(line.told["high"])) == (ratio - 0.01, ratio + 0.01)
    ends = [float(band.told[name]) for name in ("Min of from", "Max of to")]
    assert ends == pytest.approx([1 / 1.02, 1.02])
    assert one.told["Min of one"] == "1"
    assert not [text for text in words(svg) if re.fullmatch(r"[\d.]+s", text)]


def test_over_size_a_ratio_is_new_over_old() -> None:
    rows = [time_change("a" * n, r, "slower") for n, r in ((1, 1.5), (2, 1.25))]
    svg = picture(time_changes_size_chart(rows))
    assert "Time of 9.13.0.50 over 9.12.0.46" in words(svg)
    points = {m.told["hidden size"]: float(m.told["new over old"]) for m in marks(svg, "point")}
    assert points == {"1": 1.5, "2": 1.25}
    lines = [m.told for m in marks(svg, "rule mark") if "high" in m.told]
    assert sorted((float(t["new over old"]), float(t["high"])) for t in lines) == [
        (1.24, 1.26),
        (1.49, 1.51),
    ]


def test_two_benches_are_new_over_old() -> None:
    old = [timing("standard", h, 1e-4, "9.12") for h in (64, 128)]
    new = [timing("standard", h, t, "9.13") for h, t in ((64, 2e-4), (128, 4e-5))]
    svg = picture(time_ratio_chart(old + new))
    found = {m.told["label"]: m for m in marks(svg, "point")}
    ratios = {label: float(m.told["time of 9.13 over 9.12"]) for label, m in found.items()}
    assert ratios == pytest.approx({"hidden_size=64": 2.0, "hidden_size=128": 0.4})
    looks = {label: (m.points_right, m.look["fill"]) for label, m in found.items()}
    assert looks == {"hidden_size=64": (True, BAD), "hidden_size=128": (False, GOOD)}


def test_a_median_has_its_interval_and_seconds() -> None:
    svg = picture(time_chart([timing("standard", h, 1e-4) for h in (64, 128)]))
    found = [m.told for m in marks(svg, "rule mark") if "median_high_s" in m.told]
    assert [(float(t["median_low_s"]), float(t["median_high_s"])) for t in found] == [
        (pytest.approx(9e-5), pytest.approx(1.1e-4))
    ] * 2
    assert "100µs" in words(svg)


def test_a_host_call_has_its_quartiles_and_seconds() -> None:
    svg = picture(costs_chart(every(1)["costs"]))
    found = [m.told for m in marks(svg, "rule mark")]
    ends = [(float(t["median time of a call"]), float(t["high"])) for t in found]
    assert ends == [(9e-8, 1.2e-7)] * 2
    assert {m.look["fill"] for m in marks(svg, "point")} == {GOOD, SOME}
    assert [w for w in words(svg) if w.endswith("ns")]


def test_an_error_stands_beside_its_threshold_and_is_ringed_beyond() -> None:
    (within, *_) = every(1)["accuracy"]
    beyond = {**within, "buffer": "dw", "max_rel": 3e-5, "verdict": "beyond"}
    svg = picture(accuracy_chart([within, beyond]))
    told = [m.told for m in marks(svg, "point") if "fill" in m.look]
    assert {(t["buffer"], float(t["largest error over the largest number"])) for t in told} >= {
        ("y", 1e-6),
        ("dw", 3e-5),
    }
    assert {float(m.told["threshold"]) for m in marks(svg, "tick")} == {1e-5}
    rings = [m for m in marks(svg, "point") if m.look.get("stroke") == BAD]
    assert [m.told["buffer"] for m in rings] == ["dw"]


def test_errors_grow_from_the_first_to_the_last() -> None:
    (one, *_) = every(1)["accuracy"]
    found = {
        m.told["at"]: float(m.told["error"])
        for m in marks(picture(accuracy_growth_chart([one])), "point")
    }
    assert found == {
        "first steps": 1e-8,
        "last steps": 2e-8,
        "first layers": 1e-8,
        "last layers": 3e-8,
    }


def test_a_matrix_has_tensors_across_and_its_verdicts_colours() -> None:
    rows = [
        row("repeatability", release="r", problem="a", buffer="y", condition=c, verdict=v)
        for c, v in (("load", "repeatable"), ("graph", "not_repeatable"), ("batch", "not_tried"))
    ]
    found = {m.told["condition"]: m for m in marks(picture(repeatability_chart(rows)), "rect mark")}
    assert {m.told["tensor"] for m in found.values()} == {"y"}
    fills = {condition: m.look["fill"] for condition, m in found.items()}
    assert fills == {"load": GOOD, "graph": BAD, "batch": UNKNOWN}


def test_an_outcome_has_a_word_of_its_own() -> None:
    outcomes = {"passed": "ok", "unsupported": "refused", "out_of_memory": "memory"}
    rows = [
        row("stages", release="r", problem=o, stage="build", outcome=o)
        for o in (*outcomes, "failed")
    ]
    found = {m.told["y"]: m.told["words"] for m in marks(picture(stages_chart(rows)), "text mark")}
    assert found == {**outcomes, "failed": "failed"}


SHARES = [
    {"data_type": "float", "math_prec": "float", "algo": "standard", "cell_mode": cell,
     "dropout": dropout, "problems": 8, "accepted_a": a, "accepted_b": b}
    for cell, dropout, a, b in [
        ("lstm", "null", 8, 8), ("lstm", "present", 4, 8), ("gru", "null", 2, 0),
        ("gru", "present", 0, 0),
    ]
]  # fmt: skip


def test_a_map_is_old_new_and_what_became_of_it() -> None:
    svg = picture(validity_chart(SHARES, ["old", "new"]))
    change = "newly refused (orange), newly accepted (blue)"
    cells = marks(svg, "rect mark")
    sides = [m.told for m in cells if change not in m.told]
    shares = [(t["cell_mode"], t["share"]) for t in sides]
    assert shares == [("lstm", "75.00%"), ("gru", "12.50%"), ("lstm", "100.00%"), ("gru", "0.00%")]
    titles = [text for text in words(svg) if text.endswith((" accepts", "of the share"))]
    assert titles == ["old accepts", "new accepts", "change of the share"]
    changed = {m.told["cell_mode"]: m for m in cells if change in m.told}
    numbers = {cell: m.told["share"].replace("\N{MINUS SIGN}", "-") for cell, m in changed.items()}
    assert numbers == {"lstm": "25.00%", "gru": "-12.50%"}
    red, _, blue = map(int, re.findall(r"\d+", changed["gru"].look["fill"]))
    assert red > blue


def test_a_box_of_a_map_filters_it() -> None:
    data = spec(validity_chart(SHARES, ["old"], filters=["dropout"]))
    data["params"][0]["value"] = "present"
    found = {m.told["cell_mode"]: m.told["share"] for m in marks(picture(data), "rect mark")}
    assert found == {"lstm": "50.00%", "gru": "0.00%"}


def test_what_began_points_up_and_what_stopped_down() -> None:
    call = "cudnnSetRNNDescriptor_v8"
    steps = [
        row("atlas_steps", release_a="9.0.0", release_b="9.1.0", call=call, change=c, rows=n)
        for c, n in (("newly_accepted", 3), ("newly_refused", 2))
    ]
    svg = picture(accepted_chart(every(2)["atlas"], steps))
    looks = {m.told["change"]: m.look for m in marks(svg, "point")}
    assert {change: look["fill"] for change, look in looks.items()} == {
        "began": GOOD,
        "stopped": BAD,
    }
    assert looks["began"]["d"].startswith("M0,-")
    assert not looks["stopped"]["d"].startswith("M0,-")
    assert {"+3", "\N{MINUS SIGN}2"} <= set(words(svg))


def test_what_was_not_tried_is_not_called_repeatable() -> None:
    (one, other) = every(1)["trade_offs"]
    svg = picture(trade_off_chart([one, {**other, "untried": "load"}]))
    found = {m.told["label"]: m.told["results"] for m in marks(svg, "point")}
    assert found == {"standard": "repeatable", "persist_static": "not known"}


def test_of_the_history_a_release_that_accepts_is_a_full_bar() -> None:
    shared = {"call": "cudnnSetRNNDescriptor_v8", "what": "algo=standard", "problems": 3}
    rows = [
        {**shared, "release": f"9.{minor}.0.1+cu12", "accepted": accepted}
        for minor, accepted in enumerate(("no", "yes", "yes"))
    ]
    svg = picture(history_chart(rows))
    bars = [m for m in re.findall(r'<path [^>]*fill="([^"]+)"', svg) if m in (GOOD, SOME)]
    assert sorted(bars) == sorted([SOME, GOOD, GOOD])
