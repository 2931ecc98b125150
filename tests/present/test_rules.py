"""Rules as text: what is known of reasons and of sizes, in words."""

from __future__ import annotations

import pytest

from pyharness.analyze.rules import Reason, Rule, RuleList
from pyharness.analyze.rules_release import CallRules, ReleaseRules
from pyharness.analyze.rules_walk import WalkedAxis
from pyharness.present.rules import render_rules, rules_data

WIDE = {"axis": "x", "op": "in", "values": [f"value_{i}" for i in range(20)]}


def rendered(
    *reasons: Reason,
    asked: int | None = None,
    walked: list[WalkedAxis] | None = None,
    proven: bool = True,
    fewest: bool = True,
) -> str:
    rows = sum(r.rows for r in reasons) or 1
    rule = Rule("BAD_PARAM", [WIDE], rows, reasons, rows if asked is None else asked)  # type: ignore[list-item]
    rules = RuleList([rule, Rule("SUCCESS", [], 100_000)], proven, fewest, True)
    axes = {"x": ["a", "b"], "idle": ["1", "2"], "one": ["7"]}
    call = CallRules("cudnnCall", "data", rows + 100_000, axes, rules, walked or [])
    return render_rules(ReleaseRules("9.1", "space", "0", [call]))


def test_everything_stays_within_100_columns() -> None:
    text = rendered(Reason("word " * 60, 5))
    assert max(map(len, text.splitlines())) <= 100
    assert "BAD_PARAM when x in {value_0, value_1" in text


@pytest.mark.parametrize(
    ("reasons", "asked", "words"),
    [
        ([], 0, "1 problem, <0.01%\n"),
        ([Reason(None, 4)], 4, "4 problems, <0.01%. cuDNN: (no word)\n"),
        ([Reason("a > 1", 4)], 2, "4 problems, <0.01%. cuDNN of 2 asked: a > 1\n"),
        (
            [Reason("dim 1 is 0", 30), Reason("dim 2 is 0", 20)],
            50,
            "50 problems, 0.05%. cuDNN: dim 1 is 0, and 1 more with other numbers\n",
        ),
        (
            [Reason("a", 30), Reason("b 1", 20), Reason("b 2", 10), Reason("c", 2), Reason("d", 1)],
            63,
            "63 problems, 0.06%. cuDNN: a (30); b 1, and 1 more with other numbers (30); and 2 "
            "other\n",
        ),
    ],
)
def test_what_cudnn_says(reasons: list[Reason], asked: int, words: str) -> None:
    assert words in rendered(*reasons, asked=asked)


@pytest.mark.parametrize(
    ("walked", "words"),
    [
        (
            WalkedAxis(
                "n", [(1, 70_000), (131_072, 131_072)], [(70_001, 131_071)], 2, 9, 2, 3, [65_536]
            ),
            "n: every value of 1..70,000, 131,072, those between the map's in 2 of 9 settings of "
            "the rest (2 of the 3 kinds told apart here); between 70,000 and 131,072 only the "
            "ends; the answer changes at 65,536",
        ),
        (WalkedAxis("n", [(1, 2)], [], 1, 1, 1, 1, []), "n: every value of 1..2; no limit"),
        (
            WalkedAxis("n", [(1, 100)], [], 1, 1, 1, 1, list(range(2, 100))),
            "n: every value of 1..100; the answer changes at 2, 3, 4, 5, 6, 7 and 92 more, too "
            "often to be told by rules: they name values that were tried",
        ),
    ],
)
def test_what_was_tried_of_a_size(walked: WalkedAxis, words: str) -> None:
    assert words in " ".join(rendered(walked=[walked]).split())


def test_axes_that_no_rule_names_and_axes_with_one_value() -> None:
    text = rendered()
    assert "  makes no difference: idle\n" in text
    assert "  one value only: one=7" in text


@pytest.mark.parametrize(
    ("proven", "fewest", "words"),
    [
        (True, True, "proven on every problem; no list of refusals is shorter"),
        (True, False, "proven on every problem; a shorter list may do"),
        (False, True, "NOT PROVEN: some problem is answered otherwise than these rules say"),
    ],
)
def test_what_is_proven_is_said(proven: bool, fewest: bool, words: str) -> None:
    assert f"\n  {words}\n" in rendered(proven=proven, fewest=fewest)


def test_data_cuts_what_is_too_long() -> None:
    rules = RuleList([Rule("SUCCESS", [], 1)], True, True, False)
    walked = [WalkedAxis("n", [(1, 9000)], [], 1, 1, 1, 1, list(range(2, 9000)))]
    call = CallRules("cudnnCall", "data", 1, {}, rules, walked)
    (axis,) = rules_data(ReleaseRules("9.1", "space", "0", [call]))["calls"][0]["walked"]
    assert (len(axis["limits"]), axis["limits_in_all"]) == (1000, 8998)
