"""The language of predicates: against Python's own reading, and the laws of three values."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

from pyharness.errors import UsageError
from pyharness.spec.documented.language import Predicate, Truth, parse_predicate
from pyharness.spec.documented.rules import load_frameworks, load_rules
from tests.spec.pools import by_python, draw, pools


def every_predicate() -> Iterator[tuple[str, Predicate]]:
    for rule in load_rules():
        yield rule.id, rule.when
        if rule.sign is not None:
            yield f"{rule.id} sign", rule.sign
    for framework in load_frameworks():
        yield framework.id, framework.when
        yield f"{framework.id} among", framework.among
        if framework.device is not None:
            yield f"{framework.id} device", framework.device


ALL = list(every_predicate())


@pytest.mark.parametrize("predicate", [p for _, p in ALL], ids=[i for i, _ in ALL])
def test_a_predicate_says_what_python_says(predicate: Predicate) -> None:
    chance, values = random.Random(predicate.text), pools(predicate)
    for _ in range(100):
        fields = draw(values, chance)
        assert predicate.truth(fields) == Truth(by_python(predicate, fields)), fields


@pytest.mark.parametrize("predicate", [p for _, p in ALL], ids=[i for i, _ in ALL])
def test_what_is_decided_stays_so_whatever_the_rest_is(predicate: Predicate) -> None:
    chance, values = random.Random(predicate.text), pools(predicate)
    for _ in range(50):
        fields = draw(values, chance)
        hidden = {name for name in fields if chance.random() < 0.5}
        said = predicate.truth({n: v for n, v in fields.items() if n not in hidden})
        assert said.unknown <= hidden
        assert (said.value is None) == bool(said.unknown)
        if said.value is not None:
            assert said.value == by_python(predicate, fields), (fields, hidden)


def test_nothing_known_names_every_field_that_is_not_decided_by_a_constant() -> None:
    said = parse_predicate("a == 1 and (b < 2 or c in (1, 2)) and not d").truth({})
    assert said == Truth(None, frozenset("abcd"))
    assert parse_predicate("True").truth({}) == Truth(True)
    assert parse_predicate("False and a == 1").truth({}) == Truth(False)


@pytest.mark.parametrize("values", list(itertools.product([True, False, None], repeat=2)))
def test_the_tables_of_kleene(values: tuple[bool | None, bool | None]) -> None:
    # False < unknown < True: and is the lesser, or the greater, not turns the order round.
    order = [False, None, True]
    known = {n: v for n, v in zip("ab", values, strict=True) if v is not None}
    least, most = sorted(values, key=order.index)

    def said(text: str) -> bool | None:
        return parse_predicate(text).truth(known).value

    assert said("a and b") is least
    assert said("a or b") is most
    assert said("not a") is order[2 - order.index(values[0])]
    assert said("not (a and b)") is said("not a or not b")  # De Morgan holds with unknowns too


def test_a_list_with_an_unknown_bound() -> None:
    some = parse_predicate("any(n > most for n in seq_lengths)")
    assert some.truth({"seq_lengths": (1, 2)}) == Truth(None, frozenset({"most"}))
    assert some.truth({"most": 1}) == Truth(None, frozenset({"seq_lengths"}))
    every = parse_predicate("all(n > 3 and n < most for n in seq_lengths)")
    assert every.truth({"seq_lengths": (5, 3)}) == Truth(False)  # 3 decides, whatever most is
    outer = parse_predicate("any(n == 1 for n in seq_lengths) and n == 2")
    assert outer.names == {"seq_lengths", "n"}  # the bound name ends with its list
    assert outer.truth({"seq_lengths": (1,), "n": 2}) == Truth(True)


def test_constants_are_noted_with_the_field_that_they_bound() -> None:
    found = parse_predicate("a <= 0 or 3 < a < b or b % 8 == 0 or c in ('x', 'y') or d == e")
    assert found.constants["a"] >= {0, 3}
    assert 8 in found.constants["b"]
    assert found.constants["c"] == {"x", "y"}
    assert found.constants["d"] == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "eval('1')",
        "a.b == 1",
        "a[0] == 1",
        "(lambda: 1)()",
        "[n for n in a]",
        "{1: 2}",
        "f'{a}' == 'x'",
        "1 if a else 2",
        "sorted(a, reverse=True) == a",
        "max(a, b) == 1",
        "any(a)",
        "any(n for n in a if n)",
        "all(n for n in a for m in b)",
        "(n := 1) == 1",
        "a / 2 == 1",
        "a ** 2 == 1",
        "a is b",
        "~a == 1",
        "b'x' == a",
        "1j == a",
        "a ==",
        "a; b",
        "",
    ],
)
def test_what_the_language_lacks_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_predicate(text)
    assert repr(text) in refused.value.message
