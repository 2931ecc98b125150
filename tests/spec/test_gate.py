"""The gate of an upgrade: what a TOML text makes of it, and what it may not say."""

from __future__ import annotations

import pytest

from pyharness.errors import UsageError
from pyharness.spec.gate import GATE_KEYS, default_gate, parse_gate


def test_the_default_is_about_the_log_where_there_is_one() -> None:
    assert dict(default_gate(False).validity) == {
        "newly_refused": "any",
        "newly_failed": "any",
        "call_removed": "any",
    }
    assert dict(default_gate(True).validity) == {
        "newly_refused": "log",
        "newly_failed": "log",
        "call_removed": "none",
    }


@pytest.mark.parametrize(
    "text",
    ['validity.newly_refused = "none"', '[validity]\nnewly_refused = "none"  # for now\n'],
)
def test_what_a_file_does_not_name_is_as_in_the_default(text: str) -> None:
    gate = parse_gate(text, "g.toml", with_log=True)
    assert dict(gate.validity) == {**default_gate(True).validity, "newly_refused": "none"}
    assert gate.source == "g.toml"
    assert parse_gate("[validity]", "g.toml", False).validity == default_gate(False).validity


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('validity.newly_refuse = "any"', "unknown key 'validity.newly_refuse'"),
        ("time.slower = 0.03", "unknown key 'time.slower'"),
        ("[time]", "unknown key 'time'"),
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
        ("validity.newly_refused = log", "g.toml is no TOML", "validity.newly_refused ="),
    ],
)
def test_a_value_that_no_gate_has(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_gate(text, "g.toml", with_log=False)
    assert message in caught.value.message
    assert hint in caught.value.hint
