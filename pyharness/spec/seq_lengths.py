"""The lengths of a batch's sequences as an axis: named patterns and literal lists."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyharness.errors import UsageError, unknown_name
from pyharness.spec.axes import INT_MAX, check_int

LENGTH_PATTERNS = (
    "equal",
    "descending",
    "unsorted",
    "one_zero",
    "all_zero",
    "trailing_zeros",
    "over_max",
    "negative",
)
EQUAL = LENGTH_PATTERNS.index("equal")
LITERAL = 1000  # the value of the first literal list
_literals: dict[tuple[int, ...], int] = {}
_lists: list[tuple[int, ...]] = []


@dataclass(frozen=True, slots=True)
class SeqLengthsAxis:
    """seq_lengths: a named pattern, or a list of lengths such as [5,3,2].

    A list is interned: its value is 1000 + its place in the process' table, and travels to a worker
    beside the grid (see Grid.to_send).
    """

    name: str
    about: str
    numeric = False

    @property
    def names(self) -> tuple[str, ...]:
        return LENGTH_PATTERNS

    def parse(self, text: str) -> list[int]:
        if text == "all":
            return list(range(len(LENGTH_PATTERNS)))
        if text in LENGTH_PATTERNS:
            return [LENGTH_PATTERNS.index(text)]
        if text.startswith("[") and text.endswith("]"):
            try:
                lengths = tuple(check_int(self.name, int(t)) for t in text[1:-1].split(","))
            except ValueError:
                raise UsageError(
                    f"{self.name}: {text!r} is no list of lengths", "write integers: [5,3,2]"
                ) from None
            return [intern_lengths(lengths)]
        hint = "(or a list of lengths: [5,3,2])"
        raise unknown_name(self.name, text, LENGTH_PATTERNS, hint)

    def label(self, value: int) -> str:
        if value < LITERAL:
            return LENGTH_PATTERNS[value]
        return lengths_label(_lists[value - LITERAL])

    def number(self, value: int) -> float:
        return float(value)


def lengths_label(lengths: Iterable[int]) -> str:
    """A list of lengths as the axis reads it, however long: ``[5,3,2]``."""
    return f"[{','.join(map(str, lengths))}]"


def intern_lengths(lengths: tuple[int, ...]) -> int:
    """The axis value of a literal list of lengths."""
    place = _literals.setdefault(lengths, len(_lists))
    if place == len(_lists):
        _lists.append(lengths)
    return LITERAL + place


def literal_lengths(value: int) -> tuple[int, ...] | None:
    """The lengths of a literal value of the seq_lengths axis; None for a pattern."""
    return _lists[value - LITERAL] if value >= LITERAL else None


def resolve_seq_lengths(value: int, max_seq_length: int, batch_size: int) -> tuple[int, ...]:
    """The array that a value of the seq_lengths axis is handed over as.

    Returns  batch_size lengths, at least one.
    Source   csrc/calls/seq_lengths.cpp makes the same; a test compares them through the library.
    """
    literal = literal_lengths(value)
    if literal is not None:
        return literal
    n, top = max(batch_size, 1), max_seq_length

    def slope(i: int) -> int:
        return top - int((top - 1) * i / max(n - 1, 1))

    match LENGTH_PATTERNS[value]:
        case "descending":
            return tuple(slope(i) for i in range(n))
        case "unsorted":
            return tuple(slope(n - 1 - i) for i in range(n))
        case "one_zero":
            return (*(top for _ in range(n - 1)), 0)
        case "all_zero":
            return (0,) * n
        case "trailing_zeros":
            return (top,) * (n // 2) + (0,) * (n - n // 2)
        case "over_max":
            return (min(top + 1, INT_MAX), *(top for _ in range(n - 1)))
        case "negative":
            return (*(top for _ in range(n - 1)), -1)
        case _:
            return (top,) * n
