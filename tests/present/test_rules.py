"""Rules as text: what is known of reasons and of sizes, in words."""

from __future__ import annotations

import pytest

from pyharness.analyze.rules import Reason, Rule, RuleList
from pyharness.analyze.rules_release import CallRules, Changed, ReleaseRules
from pyharness.analyze.rules_walk import WalkedAxis
from pyharness.present.rules import render_rule_changes, render_rules, rules_data

TOLD_APART = "no list of refusals that tells these reasons apart is shorter"
WIDE = {"axis": "x", "op": "in", "values": [f"value_{i}" for i in range(20)]}


def rendered(
    *reasons: Reason,
    asked: int | None = None,
    walked: list[WalkedAxis] | None = None,
    proven: bool = True,
    fewest: bool = True,
    for_statuses: int | None = None,
    space: str = "space",
    added: int = 0,
) -> str:
    rows = sum(r.rows for r in reasons) or 1
    rule = Rule("BAD_PARAM", [WIDE], rows, reasons, rows if asked is None else asked)  # type: ignore[list-item]
    own = for_statuses is None
    rules = RuleList(
        [rule, Rule("SUCCESS", [], 100_000)], proven, fewest, not own, for_statuses or 2
    )
    axes = {"x": ["a", "b"], "idle": ["1", "2"], "one": ["7"]}
    of_map = rows + 100_000 - added
    call = CallRules("cudnnCall", "data", rows + 100_000, of_map, axes, rules, walked or [])
    return render_rules(ReleaseRules("9.1", space, "0", [call]))


def test_everything_stays_within_100_columns() -> None:
    text = rendered(Reason("word " * 60, 5), for_statuses=1, space="call size=1..2 " * 9, added=3)
    assert max(map(len, text.splitlines())) <= 100
    assert "BAD_PARAM when x in {value_0, value_1" in text


def test_the_count_says_that_limits_are_among_the_problems() -> None:
    assert rendered().splitlines()[0] == "cuDNN 9.1: rules of 1 call over 100,001 problems (space)"
    grown = "100,001 problems (space, with the limits found between its sizes)"
    assert rendered(added=1).splitlines()[0] == f"cuDNN 9.1: rules of 1 call over {grown}"


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
            "ends, and halves where these differ; the answer changes at 65,536",
        ),
        (WalkedAxis("n", [(1, 2)], [], 1, 1, 1, 1, []), "n: every value of 1..2; no limit"),
        (
            WalkedAxis("n", [(1, 100)], [], 1, 1, 1, 1, list(range(2, 100))),
            "n: every value of 1..100; the answer changes at 2, 3, 4, 5, 6, 7 and 92 more, too "
            "often to be told by rules: they name values that were tried",
        ),
        (
            WalkedAxis("n", [(1, 1)], [(2, 998)], 1, 1, 1, 1, list(range(2, 66)), True),
            "the answer changes at 2, 3, 4, 5, 6, 7 and at least 58 more, too often",
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
    ("proven", "fewest", "for_statuses", "words"),
    [
        (True, True, None, "proven on every problem; no list of refusals is shorter"),
        (True, False, None, "proven on every problem; a shorter list may do"),
        (
            True,
            True,
            2,
            f"proven on every problem; {TOLD_APART}",
        ),
        (
            True,
            True,
            1,
            f"proven on every problem; {TOLD_APART}; 1 rule would do for the statuses alone",
        ),
        (
            True,
            False,
            1,
            "proven on every problem; a shorter list may do; 1 rule would do for the statuses "
            "alone",
        ),
        (False, True, 1, "NOT PROVEN: some problem is answered otherwise than these rules say"),
    ],
)
def test_what_is_proven_is_said(
    proven: bool, fewest: bool, for_statuses: int | None, words: str
) -> None:
    text = rendered(proven=proven, fewest=fewest, for_statuses=for_statuses)
    assert f" {words} 1 BAD_PARAM when " in " ".join(text.split())


def test_data_cuts_what_is_too_long() -> None:
    rules = RuleList([Rule("SUCCESS", [], 1)], True, True, False, 1)
    walked = [WalkedAxis("n", [(1, 9000)], [], 1, 1, 1, 1, list(range(2, 9000)))]
    call = CallRules("cudnnCall", "data", 1, 1, {}, rules, walked)
    (axis,) = rules_data(ReleaseRules("9.1", "space", "0", [call]))["calls"][0]["walked"]
    assert (len(axis["limits"]), axis["limits_in_all"]) == (1000, 8998)


def side(words: str, changed: Changed, *values: str) -> ReleaseRules:
    rule = Rule("BAD_PARAM", [{"axis": "x", "op": "=", "values": [words]}], 3)
    found = RuleList([rule, Rule("SUCCESS", [], 4)], True, True, False, 2)
    call = CallRules("cudnnCall", "data", 7, 7, {"x": list(values)}, found, [], changed)
    return ReleaseRules("9.1", "space", "0", [call])


@pytest.mark.parametrize(
    ("now", "changed", "values", "words"),
    [
        ("a", Changed(0, 7), "ab", "no problem changed its status"),
        (
            "b",
            Changed(0, 7),
            "ab",
            "no problem changed its status: the rules are only worded otherwise",
        ),
        ("b", Changed(0, 3), "ac", "no problem that both maps have changed its status"),
        (
            "b",
            Changed(3, 7),
            "ab",
            "the status changed on 3 of 7 problems; `pyharness diff` says which",
        ),
        (
            "b",
            Changed(1, 1),
            "ac",
            "the status changed on 1 of 1 problem that both maps have; `pyharness diff` says which",
        ),
        ("b", Changed(0, 0), "c", "the two maps have no problem in common"),
    ],
)
def test_rules_that_went_and_came_say_whether_any_status_changed(
    now: str, changed: Changed, values: str, words: str
) -> None:
    lines = render_rule_changes(side("a", changed, *"ab"), side(now, changed, *values)).splitlines()
    (at,) = [i for i, line in enumerate(lines) if line.startswith("cudnnCall: ")]
    assert lines[at + 1] == f"  {words}"
