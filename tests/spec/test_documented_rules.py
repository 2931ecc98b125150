"""The data files: every rule can be read, names what exists, and separates."""

from __future__ import annotations

import random
import re
import subprocess
import sys

import pytest

from pyharness.errors import UsageError
from pyharness.spec.calls import all_axes, call_named
from pyharness.spec.documented import rules as module
from pyharness.spec.documented.facts import BEYOND, HOST_CALLS, field_value
from pyharness.spec.documented.language import Predicate
from pyharness.spec.documented.rules import (
    GRADES,
    STATUSES,
    Framework,
    Rule,
    load_contradictions,
    load_frameworks,
    load_rules,
    parse_version,
)
from pyharness.spec.documented.tables import places_of, truth_table
from tests.spec.pools import draw, pools

RULES = list(load_rules())
FRAMEWORKS = load_frameworks()
BY_ID = {rule.id: rule for rule in RULES}
ALWAYS = [rule for rule in RULES if rule.when.text == "True"]
FIELDS = {*all_axes(), "directions", *BEYOND}  # every name that a predicate may use


def test_there_are_as_many_rules_as_were_taken_in_and_added() -> None:
    assert len(RULES) == len(BY_ID) == 117
    assert not set(BY_ID) & {f.id for f in FRAMEWORKS}


@pytest.mark.parametrize("rule", RULES, ids=[r.id for r in RULES])
def test_a_rule_is_complete(rule: Rule) -> None:
    assert rule.when.names <= FIELDS
    assert rule.sign is None or rule.sign.names <= FIELDS
    assert rule.calls
    assert all(re.fullmatch(r"cudnn[A-Z]\w+", call) for call in rule.calls)
    assert rule.status in STATUSES
    assert (rule.status == "effect") == bool(rule.effect)
    assert rule.meaning == GRADES[rule.grade]
    assert rule.source
    assert not rule.says.endswith(".")
    assert len(rule.says) <= 100


def test_rules_that_always_apply_are_the_few_that_are_meant_to() -> None:
    assert {r.id for r in ALWAYS} == {
        "SET-NO-HANDLE",
        "DD-NO-HANDLE",
        "LEGACY-GONE",
        "CLIP-V8-DEP",
        "CLIP-V9-ABSENT",
        "TS-NONMONO",
        "DET-GENERAL",
    }


def separates(predicate: Predicate) -> bool:
    """Whether it is true of some problem and false of another."""
    chance, values = random.Random(predicate.text), pools(predicate)
    said: set[bool | None] = set()
    for _ in range(20_000):
        said.add(predicate.truth(draw(values, chance)).value)
        if said == {True, False}:
            return True
    return False


OTHERS = [rule for rule in RULES if rule not in ALWAYS]


@pytest.mark.parametrize("rule", OTHERS, ids=[r.id for r in OTHERS])
def test_a_rule_separates(rule: Rule) -> None:
    assert separates(rule.when)


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=[f.id for f in FRAMEWORKS])
def test_a_rule_of_thumb_is_complete(framework: Framework) -> None:
    descriptor = call_named("cudnnSetRNNDescriptor_v8")
    own = {axis.name for axis in descriptor.axes}
    assert framework.when.names | framework.among.names <= own
    assert set(framework.sets) | set(framework.space) <= own
    if framework.device is not None:
        assert framework.device.names <= FIELDS
        assert separates(framework.device)


def test_every_field_beyond_is_named_by_something() -> None:
    predicates = [r.when for r in RULES] + [f.device for f in FRAMEWORKS if f.device]
    assert set(BEYOND) <= set().union(*(p.names for p in predicates))


def test_every_contradiction_that_is_known_has_its_question_and_rules() -> None:
    found = {c.id: c for c in load_contradictions()}
    assert set(found) >= {
        "zero-length",
        "double-dynamic",
        "projection-off",
        "float-tensor-op",
        "dev-seq-lengths",
        "padded-io",
        "gru-single-bias",
    }
    for contradiction in found.values():
        assert set(contradiction.rules) <= set(BY_ID)
        assert len(contradiction.rules) >= 2
        assert contradiction.question.endswith("?")


@pytest.mark.parametrize(
    ("version", "covered"),
    [("8.9", False), ("9.12.0.46", False), ("9.13", True), ("9.13.0.50", True), ("10.0", True)],
)
def test_a_rule_speaks_of_releases_since(version: str, covered: bool) -> None:
    assert BY_ID["SET-BF16-POST"].covers(parse_version(version)) is covered
    assert BY_ID["SET-BF16-PRE"].covers(parse_version(version)) is not covered
    assert BY_ID["SET-HID-POS"].covers(parse_version(version))


def test_host_and_later_calls() -> None:
    rule = BY_ID["SET-DOUBLE-STATIC"]
    assert rule.host_calls == ("cudnnSetRNNDescriptor_v8",)
    assert "cudnnRNNForward" in rule.later_calls
    assert not set(rule.later_calls) & HOST_CALLS


def test_an_unknown_status_or_grade_is_said() -> None:
    group = {"calls": ["cudnnRNNForward"]}
    data = {"id": "X", "when": "True", "status": "BAD", "says": "x", "source": [], "grade": "A"}
    with pytest.raises(UsageError, match="rule X: BAD or A is not known"):
        module._rule(group, data)


def test_a_table_says_of_every_row_what_the_predicate_says() -> None:
    # Row by row from the axis values, against the broadcast table.
    call = call_named("cudnnSetRNNDataDescriptor")
    rule = BY_ID["DD-PACKED-SORT"]
    values = [[0, 1, 2, 3, 4], [16, 1], [8, 1], [0, 1, 2], [0], [64], [0]]
    table = truth_table(rule.when, call, values)
    assert table.shape == (5, 2, 2, 3, 1, 1, 1)
    assert places_of(rule.when.names, call) == (0, 1, 2, 3)
    names = [axis.name for axis in call.axes]
    for at in [(2, 0, 0, 1, 0, 0, 0), (1, 0, 0, 1, 0, 0, 0), (3, 1, 1, 1, 0, 0, 0)]:
        row = {n: values[i][at[i]] for i, n in enumerate(names)}
        fields = {n: field_value(n, row) for n in rule.when.names}
        assert bool(table[at]) is rule.when.truth(fields).value
    assert table[2, 0, 0, 1].all()  # unsorted in the packed layout
    assert not table[:, :, :, 0].any()
    assert not table[0].any()


def test_a_table_of_a_field_that_the_call_does_not_have_is_refused() -> None:
    call = call_named("cudnnSetRNNDescriptor_v8")
    values = [[axis.parse(call.defaults[axis.name])[0]] for axis in call.axes]
    with pytest.raises(KeyError):
        truth_table(BY_ID["RUN-CC-PERSIST"].when, call, values)


def test_importing_the_rules_loads_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from pyharness.spec.documented import predictions\n"
        "from pyharness.spec.problem import parse_problem\n"
        "predictions(parse_problem(['algo=persist_static']), (9, 28))\n"
        "print(*sorted(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "pyharness" in loaded
    assert not loaded & {"numpy", "pandas", "pyarrow", "scipy", "typer", "rich"}
