"""Sets of problems to run: those that ship with the package, and what is made of them.

A file says what it is about and lists groups. The ``problems`` of a group are texts of name=value
words that are multiplied with each other; a word may have several values, as --axis takes them, and
a list of texts stands for one after the other. The value of a word may be the name of an axis that
it follows, as in input_size=hidden_size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import product
from typing import Any

from pyharness.errors import UsageError
from pyharness.space import shipped
from pyharness.space.grid import make_grid
from pyharness.space.presets import parse_axes
from pyharness.spec.axes import labels, parse_values
from pyharness.spec.calls import SET_RNN_DATA_DESCRIPTOR, SET_RNN_DESCRIPTOR
from pyharness.spec.problem import Problem, parse_problem
from pyharness.spec.run_axes import problem_axes
from pyharness.spec.seq_lengths import literal_lengths
from pyharness.spec.stages import PASSES

_MOST_PROBLEMS = 100_000
# What may be written as following another axis: the same size; the type that every algo calculates
# a data type in; the math type that allows the tensor cores made for a data type.
_FOLLOWS = {"input_size": "hidden_size", "math_prec": "data_type", "math_type": "data_type"}


@dataclass(frozen=True, slots=True)
class NamedProblem:
    """A problem of a set.

    ``name``    unique in the set.
    ``group``   the part of the set that it belongs to.
    ``passes``  what is to be run of it, of spec.stages.PASSES.
    """

    name: str
    group: str
    problem: Problem
    passes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProblemSet:
    """Problems under a name; ``name`` tells what it was made from."""

    name: str
    about: str
    problems: tuple[NamedProblem, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    """A problem as it is written: values may still follow others, and its name be incomplete.

    ``label``  its name, with {axis} for a value.
    """

    group: str
    label: str
    passes: tuple[str, ...]
    given: Mapping[str, str]


def problem_set_names() -> list[str]:
    """The names of all sets that ship, sorted."""
    return shipped.names(shipped.PROBLEM_SETS)


def load_problem_set(name: str) -> ProblemSet:
    """One set by name.

    Raises  UsageError if there is none, with the nearest names.
    """
    return build_problems(name, ())


def build_problems(preset: str, axes: Sequence[str]) -> ProblemSet:
    """A set with axes changed by ``name=v1,v2,…`` texts.

    An axis replaces the values that the set has for it, or adds values to it that were default;
    problems that become equal are kept once. What follows another axis still does.

    ``preset``  the name of a set; behind a slash patterns of the names of its problems, of which
                those that fit one are chosen: ``deepbench/training-lstm-*-16-*,device-*``.
    Returns     the set; its name says what was changed, and so do the names of the problems.
    Raises      UsageError for anything unknown, for a list of lengths beside another batch size,
                or for more than 100,000 problems.
    """
    set_name, _, patterns = preset.partition("/")
    data = shipped.read(shipped.PROBLEM_SETS, set_name)
    rows = [
        _Row(group["name"], f"{group['name']}-{group['label']}", tuple(group["passes"]), given)
        for group in data["group"]
        for given in _merged(group["problems"])
    ]
    if patterns:
        rows = _chosen(set_name, rows, patterns.split(","))
    name = " ".join((preset, *axes))
    return ProblemSet(name, data["about"], _multiplied(rows, axes))


def _chosen(set_name: str, rows: Sequence[_Row], patterns: Sequence[str]) -> list[_Row]:
    """The rows whose own name fits one of the patterns.

    Raises  UsageError for a pattern that none fits.
    """
    names = [_named(row, {}).name for row in rows]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UsageError(
                f"no problem of {set_name} is called {pattern}",
                f"they are called {names[0]} … {names[-1]}; * stands for anything",
            )
    return [
        row
        for row, name in zip(rows, names, strict=True)
        if any(fnmatchcase(name, pattern) for pattern in patterns)
    ]


def problems_from(preset: str | None, axes: Sequence[str], words: Sequence[str]) -> ProblemSet:
    """The problems that a command was given: a preset or key=value words, multiplied by axes.

    Raises  UsageError for both or nothing, and for what build_problems and parse_problem refuse.
    """
    known = ", ".join(problem_set_names())
    if preset is not None and words:
        raise UsageError(
            f"both the preset {preset} and {' '.join(words)} are given",
            "change a preset with --axis name=value, or leave it out",
        )
    if preset is not None:
        return build_problems(preset, axes)
    if not words and not axes:
        raise UsageError(
            "no problem is given", f"--preset NAME ({known}) or words: hidden_size=256 batch_size=8"
        )
    given = parse_problem(words).given
    for name in parse_axes(axes, problem_axes()):
        if name in given:
            raise UsageError(f"{name} is given as a word and with --axis", "leave one out")
    rows = [_Row("given", Problem(given).command, PASSES, given)]
    return ProblemSet(" ".join((*words, *axes)), "problems given by words", _multiplied(rows, axes))


def problem_set_data() -> list[dict[str, Any]]:
    """Every set that ships with its size and its groups, as plain data."""
    return [_data(load_problem_set(name)) for name in problem_set_names()]


def _data(chosen: ProblemSet) -> dict[str, Any]:
    groups: dict[str, dict[str, Any]] = {}
    for one in chosen.problems:
        new = {"group": one.group, "problems": 0, "passes": list(one.passes)}
        groups.setdefault(one.group, new)["problems"] += 1
    return {
        "name": chosen.name,
        "about": chosen.about,
        "problems": len(chosen.problems),
        "groups": list(groups.values()),
    }


def _values(name: str, text: str) -> list[str]:
    """The words for the values of a text; the name of the axis that it follows stays."""
    if _FOLLOWS.get(name) == text:
        return [text]
    axis = problem_axes()[name]
    return labels(axis, parse_values(axis, text))


def _merged(parts: Iterable[str | Sequence[str]]) -> list[dict[str, str]]:
    """Every combination of the alternatives of each part."""
    alternatives = [_alternatives(part) for part in parts]
    return [{n: v for part in chosen for n, v in part.items()} for chosen in product(*alternatives)]


def _alternatives(part: str | Sequence[str]) -> list[dict[str, str]]:
    """What one part stands for: the product of a text's words, or that of each text of a list."""
    if not isinstance(part, str):
        return [given for text in part for given in _alternatives(text)]
    words = parse_axes(part.split(), problem_axes())
    values = [_values(name, text) for name, text in words.items()]
    return [dict(zip(words, chosen, strict=True)) for chosen in product(*values)]


def _multiplied(rows: Sequence[_Row], axes: Sequence[str]) -> tuple[NamedProblem, ...]:
    chosen = parse_axes(axes, problem_axes())
    values = [_values(name, text) for name, text in chosen.items()]
    count = len(rows) * math.prod(len(v) for v in values)
    if count > _MOST_PROBLEMS:
        raise UsageError(
            f"these are {count:,} problems",
            f"at most {_MOST_PROBLEMS:,} are run at once: give fewer values with --axis",
        )
    made: dict[tuple[str, tuple[str, ...], frozenset[tuple[str, str]]], NamedProblem] = {}
    for row in rows:
        for changed in product(*values):
            one = _named(row, dict(zip(chosen, changed, strict=True)))
            _check_lengths(one.problem)
            key = (one.group, one.passes, frozenset(one.problem.given.items()))
            made.setdefault(key, one)
    return _told_apart(list(made.values()))


def _named(row: _Row, changes: Mapping[str, str]) -> NamedProblem:
    given = _followed({**row.given, **changes})
    told = [f"{n}={v}" for n, v in changes.items() if f"{{{n}}}" not in row.label]
    name = " ".join((row.label.format_map(given), *told)).strip()
    return NamedProblem(name or "defaults", row.group, Problem(given), row.passes)


def _followed(given: Mapping[str, str]) -> dict[str, str]:
    """The values, with those that follow another axis resolved."""
    texts = dict(given)
    for name, leader in _FOLLOWS.items():
        if texts.get(name) == leader:
            value = texts.get(leader, SET_RNN_DESCRIPTOR.defaults[leader])
            if name == "math_prec":
                value = "double" if value == "double" else "float"
            elif name == "math_type":
                value = "tensor_op_math" if value in ("half", "bfloat16") else "default_math"
            texts[name] = value
    return texts


def _check_lengths(problem: Problem) -> None:
    """Refuses a list of lengths beside another batch size, as a grid does."""
    if literal_lengths(problem.value("seq_lengths")) is not None:
        own = {a.name for a in SET_RNN_DATA_DESCRIPTOR.axes}
        make_grid(SET_RNN_DATA_DESCRIPTOR, {n: t for n, t in problem.given.items() if n in own})


def _told_apart(problems: Sequence[NamedProblem]) -> tuple[NamedProblem, ...]:
    """The problems, with what differs added to the names of those that were called the same."""
    called: dict[str, list[NamedProblem]] = {}
    for one in problems:
        called.setdefault(one.name, []).append(one)
    return tuple(
        one if len(called[one.name]) == 1 else _apart(one, called[one.name]) for one in problems
    )


def _apart(one: NamedProblem, same: Sequence[NamedProblem]) -> NamedProblem:
    given = one.problem.given
    words = (f"{n}={v}" for n, v in given.items() if any(s.problem.given.get(n) != v for s in same))
    return replace(one, name=" ".join((one.name, *words)))
