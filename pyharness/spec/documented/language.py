"""The language of predicates: Python's expressions, few of them, read with ast and never evaluated.

A name is a field of a problem: an enumerator's word (data_type == 'half'), a size, or a tuple of
lengths. A field that is not known makes the answer unknown, unless the rest decides it:

    False and ? is False      True or ? is True      not ? is ?      (Kleene's logic)
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyharness.errors import UsageError

Fields = Mapping[str, Any]

_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "min": min,
    "max": max,
    "isnan": math.isnan,
    "sorted": lambda lengths: tuple(sorted(lengths)),
    "descending": lambda lengths: tuple(sorted(lengths, reverse=True)),
}


@dataclass(frozen=True, slots=True)
class Unknown:
    """No value: these fields would have to be known."""

    fields: frozenset[str]


@dataclass(frozen=True, slots=True)
class Truth:
    """What a predicate says of a problem.

    ``value``    True, False, or None: unknown.
    ``unknown``  the fields that would decide it; empty unless unknown.
    """

    value: bool | None
    unknown: frozenset[str] = frozenset()


_Node = Callable[[Fields], Any]  # a value, or Unknown


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate, read.

    ``names``      the fields that it speaks of.
    ``constants``  field to the values that it is compared with, or taken as a remainder of.
    """

    text: str
    names: frozenset[str]
    constants: Mapping[str, frozenset[Any]]
    node: _Node

    def truth(self, fields: Fields) -> Truth:
        """What it says of a problem of which these fields are known.

        Raises  KeyError never: a field that is missing is unknown.
        """
        value = self.node(fields)
        if isinstance(value, Unknown):
            return Truth(None, value.fields)
        return Truth(bool(value))


def parse_predicate(text: str) -> Predicate:
    """Reads a predicate.

    Raises  UsageError for anything that the language does not have.
    """
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"cannot read the predicate {text!r}", str(error)) from error
    reader = _Reader(text)
    node = reader.node(tree)
    constants = {name: frozenset(values) for name, values in reader.constants.items()}
    return Predicate(text, frozenset(reader.names), constants, node)


class _Reader:
    """Turns a syntax tree into functions of the fields."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._bound: list[str] = []  # names of any(… for name in …)
        self.names: set[str] = set()
        self.constants: dict[str, set[Any]] = {}

    def node(self, tree: ast.expr) -> _Node:
        match tree:
            case ast.BoolOp(op=op, values=values):
                parts = [self.node(v) for v in values]
                return _decided(parts, isinstance(op, ast.Or))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return _lifted(operator.not_, [self.node(operand)])
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _lifted(operator.neg, [self.node(operand)])
            case ast.Compare():
                return self._comparison(tree)
            case ast.BinOp(op=op, left=left, right=right) if type(op) in _ARITHMETIC:
                self._meet(left, right)
                return _lifted(_ARITHMETIC[type(op)], [self.node(left), self.node(right)])
            case ast.Name(id=name):
                return self._name(name)
            case ast.Constant(value=value) if isinstance(value, (bool, int, float, str)):
                return lambda _fields: value
            case ast.Tuple(elts=elements):
                parts = [self.node(e) for e in elements]
                return _lifted(lambda *values: values, parts)
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]):
                return self._call(name, argument)
            case _:
                raise self._refusal(tree)

    def _comparison(self, tree: ast.Compare) -> _Node:
        sides = [tree.left, *tree.comparators]
        nodes = [self.node(side) for side in sides]
        parts = []
        for i, op in enumerate(tree.ops):
            if type(op) not in _COMPARISONS:
                raise self._refusal(tree)
            self._meet(sides[i], sides[i + 1])
            parts.append(_lifted(_COMPARISONS[type(op)], nodes[i : i + 2]))
        return _decided(parts, any_of=False)

    def _name(self, name: str) -> _Node:
        if name not in self._bound:
            self.names.add(name)
            unknown = Unknown(frozenset({name}))
            return lambda fields: fields.get(name, unknown)
        return lambda fields: fields[name]

    def _call(self, name: str, argument: ast.expr) -> _Node:
        if name in _FUNCTIONS:
            return _lifted(_FUNCTIONS[name], [self.node(argument)])
        match argument:
            case ast.GeneratorExp(
                elt=inner,
                generators=[ast.comprehension(ast.Name(id=each), iterated, [], 0)],
            ) if name in ("any", "all"):
                over = self.node(iterated)
                self._bound.append(each)
                test = self.node(inner)
                self._bound.pop()
                return _quantified(over, each, test, any_of=name == "any")
            case _:
                raise self._refusal(argument)

    def _meet(self, left: ast.expr, right: ast.expr) -> None:
        """Notes the constants that a field is held against."""
        for side, other in ((left, right), (right, left)):
            if isinstance(side, ast.Name) and side.id not in self._bound:
                found = (n.value for n in ast.walk(other) if isinstance(n, ast.Constant))
                self.constants.setdefault(side.id, set()).update(found)

    def _refusal(self, tree: ast.AST) -> UsageError:
        return UsageError(
            f"the predicate {self._text!r} uses {type(tree).__name__}, which the language lacks",
            "allowed: comparisons, and, or, not, in, + - * %, names, constants, tuples, any, all, "
            f"{', '.join(_FUNCTIONS)}",
        )


def _unknowns(values: Iterator[Any]) -> frozenset[str]:
    return frozenset().union(*(v.fields for v in values if isinstance(v, Unknown)))


def _lifted(function: Callable[..., Any], parts: list[_Node]) -> _Node:
    """A function of values; unknown if any of them is."""

    def value(fields: Fields) -> Any:
        values = [part(fields) for part in parts]
        missing = _unknowns(iter(values))
        return Unknown(missing) if missing else function(*values)

    return value


def _decided(parts: list[_Node], any_of: bool) -> _Node:
    """``or`` (any_of) or ``and``: one part may decide, whatever is unknown of the others."""
    if len(parts) == 1:
        return parts[0]

    def value(fields: Fields) -> Any:
        missing: frozenset[str] = frozenset()
        for part in parts:
            said = part(fields)
            if isinstance(said, Unknown):
                missing |= said.fields
            elif bool(said) is any_of:
                return any_of
        return Unknown(missing) if missing else not any_of

    return value


def _quantified(over: _Node, each: str, test: _Node, any_of: bool) -> _Node:
    """``any`` or ``all`` over a list of lengths."""

    def value(fields: Fields) -> Any:
        lengths = over(fields)
        if isinstance(lengths, Unknown):
            return lengths
        missing: frozenset[str] = frozenset()
        inner = dict(fields)
        for length in dict.fromkeys(lengths):
            inner[each] = length
            said = test(inner)
            if isinstance(said, Unknown):
                missing |= said.fields
            elif bool(said) is any_of:
                return any_of
        return Unknown(missing) if missing else not any_of

    return value
