"""The gate of an upgrade: what a TOML text makes of it, and what it may not say."""

from __future__ import annotations

import pytest

from pyharness.analyze.time_change import MARGIN
from pyharness.errors import UsageError
from pyharness.spec.gate import GATE_KEYS, Rule, default_gate, parse_gate


def test_the_default_is_about_the_log_where_there_is_one() -> None:
    of_problems = [f"validity.newly_{what}" for what in ("refused", "failed", "out_of_memory")]
    for with_log, scope, calls in ((False, "any", "any"), (True, "log", "none")):
        rules = default_gate(with_log).rules
        assert {rules[key].scope for key in of_problems} == {scope}
        assert rules["validity.call_removed"].scope == calls


def test_the_default_of_what_a_gpu_is_asked() -> None:
    gate = default_gate(True)
    assert tuple(gate.rules) == GATE_KEYS
    asked = {key: (rule.scope, rule.limit) for key, rule in gate.rules.items()}
    assert {key: asked[key] for key in GATE_KEYS[4:]} == {
        "time.slower": ("any", 0.03),
        "time.inconclusive": ("any", None),
        "memory.grown": ("any", 0.05),
        "repeatability.lost": ("any", None),
        "accuracy.worse": ("any", None),
        "drift.changed": ("none", None),
    }
    assert gate.written == frozenset()


@pytest.mark.parametrize(
    "text",
    ['validity.newly_refused = "none"', '[validity]\nnewly_refused = "none"  # for now\n'],
)
def test_what_a_file_does_not_name_is_as_in_the_default(text: str) -> None:
    gate = parse_gate(text, "g.toml", with_log=True)
    changed = {"validity.newly_refused": Rule("none")}
    assert dict(gate.rules) == {**default_gate(True).rules, **changed}
    assert (gate.source, gate.written) == ("g.toml", {"validity.newly_refused"})
    assert parse_gate("[validity]", "g.toml", False).rules == default_gate(False).rules


@pytest.mark.parametrize(
    ("text", "key", "rule"),
    [
        ('time.slower = "3.5%"', "time.slower", Rule("any", 0.035)),
        ('[time]\nslower = "2 %"', "time.slower", Rule("any", 0.02)),
        ('time.slower = "none"', "time.slower", Rule("none")),
        ('time.inconclusive = "none"', "time.inconclusive", Rule("none")),
        ('memory.grown = "0%"', "memory.grown", Rule("any", 0.0)),
        ('repeatability.lost = "any"', "repeatability.lost", Rule("any")),
        ('accuracy.worse = "none"', "accuracy.worse", Rule("none")),
        ('drift.changed = "any"', "drift.changed", Rule("any")),
    ],
)
def test_what_a_gpu_is_asked(text: str, key: str, rule: Rule) -> None:
    gate = parse_gate(text, "g.toml", with_log=False)
    assert (gate.rules[key], gate.written) == (rule, {key})


@pytest.mark.parametrize(
    "text", ["x = " + "[" * 5_000, "x = " + "1" * 5_000, "x = 2020-99-99", "[[[", "\0"]
)
def test_what_is_no_toml_is_said_to_be_none(text: str) -> None:
    with pytest.raises(UsageError, match=r"^g\.toml ") as caught:
        parse_gate(text, "g.toml", with_log=True)
    assert caught.value.exit_code == 2


def test_no_less_time_can_be_asked_for_than_counts_as_the_same() -> None:
    least = f"{100 * MARGIN:g}%"
    assert parse_gate(f'time.slower = "{least}"', "g", False).rules["time.slower"].limit == MARGIN
    with pytest.raises(UsageError) as caught:
        parse_gate('time.slower = "1.9%"', "g", False)
    assert f'from "{least}"' in caught.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('validity.newly_refuse = "any"', "unknown key 'validity.newly_refuse'"),
        ("time.slow = 0.03", "unknown key 'time.slow'"),
        ("[times]", "unknown key 'times'"),
        ('slower = "3%"', "unknown key 'slower'"),
        ("validity = 3", "unknown key 'validity'"),
        ('[validity.newly_refused]\nlog = "any"', "unknown key 'validity.newly_refused.log'"),
    ],
)
def test_an_unknown_key_is_told_the_known_ones(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_gate(text, "g.toml", with_log=True)
    assert caught.value.message == f"g.toml: {message}"
    assert caught.value.hint == f"known: {', '.join(GATE_KEYS)}"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ('validity.newly_failed = "all"', "newly_failed cannot be 'all'", '"log", "any", "none"'),
        ("validity.newly_failed = true", "newly_failed cannot be True", '"log", "any", "none"'),
        ('validity.newly_failed = ["any"]', "cannot be ['any']", '"log", "any", "none"'),
        ('validity.call_removed = "log"', "call_removed cannot be 'log'", '"any", "none"'),
        ('validity.newly_refused = "log"', "is about a log, and none is given", "--log"),
        ("time.slower = 0.03", "time.slower cannot be 0.03", '"2%" to "1000%", "none"'),
        ('time.slower = "3"', "cannot be '3'", '"2%" to "1000%"'),
        ('memory.grown = "-1%"', "cannot be '-1%'", '"0%" to "1000%"'),
        ('memory.grown = "any"', "cannot be 'any'", '"0%" to "1000%"'),
        ('repeatability.lost = "log"', "cannot be 'log'", '"any", "none"'),
        ("validity.newly_refused = log", "g.toml is no TOML", "validity.newly_refused ="),
        ('time.slower = "3%"\n"time.slower" = "50%"', "time.slower is given twice", "leave one"),
    ],
)
def test_a_value_that_no_gate_has(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_gate(text, "g.toml", with_log=False)
    assert message in caught.value.message
    assert hint in caught.value.hint
