"""Axes: the dimensions of a space, their values as integers, and the words for them.

A value travels as one int64: an enumerator or size as itself, a real number as the bits of its
double, a named choice as its index. csrc/calls/ gives the same numbers the same meaning.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from pyharness.errors import UsageError, unknown_name
from pyharness.spec.enums import EnumType

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)(?:([:*])(\d+))?")
_MOST_VALUES = 10_000_000


class Axis(Protocol):
    """One dimension of a call.

    ``name``     the column's name, cuDNN's word in lower case.
    ``numeric``  whether its values have an order that conditions may use (hidden_size>=1024).
    """

    @property
    def name(self) -> str: ...
    @property
    def numeric(self) -> bool: ...
    @property
    def about(self) -> str: ...
    @property
    def names(self) -> tuple[str, ...]:
        """The words among its values; none for sizes and other numbers."""
        ...

    def parse(self, text: str) -> list[int]:
        """The values that a piece of text stands for: one, a range, or all."""
        ...

    def label(self, value: int) -> str:
        """The word for a value; parse(label(v)) == [v]."""
        ...

    def number(self, value: int) -> float:
        """The value as a number, for axes that are numeric."""
        ...


def _expand(name: str, text: str) -> list[int] | None:
    """The integers of ``a..b``, ``a..b:step`` or ``a..b*factor``; None if the text is no range."""
    match = _RANGE.fullmatch(text)
    if match is None:
        return None
    first, last = int(match[1]), int(match[2])
    kind, by = match[3], int(match[4] or 1)
    if first > last:
        raise UsageError(f"{name}: the range {text} is empty", "write it from low to high: 1..1024")
    if kind == "*":
        if by < 2 or first < 1:
            raise UsageError(
                f"{name}: the range {text} does not grow",
                "a..b*factor needs a of 1 or more and a factor of 2 or more",
            )
        values, value = [], first
        while value <= last:
            values.append(value)
            value *= by
        return values
    if by < 1:
        raise UsageError(f"{name}: the step of {text} must be 1 or more", "for example 1..1024:8")
    if (last - first) // by >= _MOST_VALUES:
        raise UsageError(
            f"{name}: the range {text} has more than {_MOST_VALUES:,} values",
            "use a step (a..b:step) or a factor (a..b*factor)",
        )
    return list(range(first, last + 1, by))


def check_int(name: str, value: int) -> int:
    """The value, if an int32 argument can take it.

    Raises  UsageError if not.
    """
    if not INT_MIN <= value <= INT_MAX:
        raise UsageError(
            f"{name}: {value} does not fit the argument's 32-bit integer",
            f"allowed: {INT_MIN} to {INT_MAX}",
        )
    return value


@dataclass(frozen=True, slots=True)
class EnumAxis:
    """An enumeration; ``all`` stands for every enumerator, integers outside may be given.

    ``closed``  only enumerators make sense: the value is not handed to cuDNN as it is.
    """

    name: str
    enum: EnumType
    about: str
    closed: bool = False
    numeric = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(m.name for m in self.enum.members)

    def parse(self, text: str) -> list[int]:
        if text == "all":
            return list(self.enum.values)
        values = _expand(self.name, text) or [self.enum.parse(text)]
        if self.closed:
            for value in values:
                if value not in self.enum.values:
                    raise UsageError(
                        f"{self.name}: {value} is no enumerator, and this call does not take it",
                        f"allowed here: {', '.join(m.name for m in self.enum.members)}",
                    )
        return [check_int(self.name, v) for v in values]

    def label(self, value: int) -> str:
        return self.enum.label(value)

    def number(self, value: int) -> float:
        return float(value)


@dataclass(frozen=True, slots=True)
class SizeAxis:
    """A 32-bit size, any sign; ``least`` and ``most`` bound what we can hand over at all."""

    name: str
    about: str
    least: int = INT_MIN
    most: int = INT_MAX
    why: str = ""
    numeric = True

    @property
    def names(self) -> tuple[str, ...]:
        return ()

    def parse(self, text: str) -> list[int]:
        values = _expand(self.name, text)
        if values is None:
            try:
                values = [int(text)]
            except ValueError:
                raise UsageError(
                    f"{self.name}: {text!r} is no integer",
                    "a number, a range a..b, a..b:step or a..b*factor, or a list of them",
                ) from None
        for value in (min(values), max(values)):
            check_int(self.name, value)
            if not self.least <= value <= self.most:
                raise UsageError(
                    f"{self.name}: {value} cannot be tried: {self.why}",
                    f"allowed: {self.least} to {self.most}",
                )
        return values

    def label(self, value: int) -> str:
        return str(value)

    def number(self, value: int) -> float:
        return float(value)


_RELATIVE = 1 << 40
PROJ_RULES = {"same": _RELATIVE, "half": _RELATIVE + 1, "over": _RELATIVE + 2}


@dataclass(frozen=True, slots=True)
class ProjSizeAxis:
    """proj_size: a size, or a rule relative to hidden_size.

    ``same`` is hidden_size, ``half`` hidden_size // 2, ``over`` hidden_size + 1.
    """

    name: str
    about: str
    numeric = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(PROJ_RULES)

    def parse(self, text: str) -> list[int]:
        if text == "all":
            return list(PROJ_RULES.values())
        if text in PROJ_RULES:
            return [PROJ_RULES[text]]
        values = _expand(self.name, text)
        if values is None:
            try:
                values = [int(text)]
            except ValueError:
                hint = "(or a size, or a range of sizes)"
                raise unknown_name(self.name, text, PROJ_RULES, hint) from None
        return [check_int(self.name, v) for v in values]

    def label(self, value: int) -> str:
        for name, rule in PROJ_RULES.items():
            if rule == value:
                return name
        return str(value)

    def number(self, value: int) -> float:
        return float(value)


def resolve_proj_size(value: int, hidden_size: int) -> int:
    """The size that a value of the proj_size axis is handed over as.

    Returns  the size; hidden_size + 1 stays at the largest int where it would leave it.
    """
    if value < _RELATIVE:
        return value
    if value == PROJ_RULES["same"]:
        return hidden_size
    if value == PROJ_RULES["half"]:
        return int(hidden_size / 2)  # towards zero, as C divides
    return min(hidden_size + 1, INT_MAX)


@dataclass(frozen=True, slots=True)
class ChoiceAxis:
    """A handful of named choices; the value is the index."""

    name: str
    choices: tuple[str, ...]
    about: str
    numeric = False

    @property
    def names(self) -> tuple[str, ...]:
        return self.choices

    def parse(self, text: str) -> list[int]:
        if text == "all":
            return list(range(len(self.choices)))
        if text not in self.choices:
            raise unknown_name(self.name, text, self.choices)
        return [self.choices.index(text)]

    def label(self, value: int) -> str:
        return self.choices[value]

    def number(self, value: int) -> float:
        return float(value)


@dataclass(frozen=True, slots=True)
class RealAxis:
    """A double, with nan and the infinities."""

    name: str
    about: str
    numeric = True

    @property
    def names(self) -> tuple[str, ...]:
        return ()

    def parse(self, text: str) -> list[int]:
        try:
            number = float(text)
        except ValueError:
            raise UsageError(
                f"{self.name}: {text!r} is no number", "for example -1.5, 1e3, inf, -inf, nan"
            ) from None
        if math.isnan(number):
            number = math.nan  # its sign and payload have no label
        return [struct.unpack("<q", struct.pack("<d", number))[0]]

    def label(self, value: int) -> str:
        return repr(self.number(value))

    def number(self, value: int) -> float:
        return float(struct.unpack("<d", struct.pack("<q", value))[0])


def split_values(text: str) -> Iterator[str]:
    """The pieces of ``v1,v2,…``; commas inside brackets do not split."""
    depth, piece = 0, ""
    for char in text:
        depth += (char == "[") - (char == "]")
        if char == "," and depth == 0:
            yield piece.strip()
            piece = ""
        else:
            piece += char
    yield piece.strip()


def parse_values(axis: Axis, text: str) -> list[int]:
    """Every value of ``v1,v2,…``, in the order given, each once.

    Raises  UsageError for a value that the axis does not have, or for none at all.
    """
    one_list = text[:1] == "[" and text.find("]") == len(text) - 1  # it may have a million entries
    pieces = [text] if one_list else [p for p in split_values(text) if p]
    if not pieces:
        raise UsageError(f"{axis.name} has no values", f"give at least one: {axis.name}=…")
    return list(dict.fromkeys(v for piece in pieces for v in axis.parse(piece)))


def labels(axis: Axis, values: Sequence[int]) -> list[str]:
    """The words for several values."""
    return [axis.label(v) for v in values]
