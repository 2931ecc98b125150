"""Which tried values of an axis stand for one that was not tried: the same, or its neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyharness.spec.axes import Axis, ProjSizeAxis, resolve_proj_size
from pyharness.spec.seq_lengths import LENGTH_PATTERNS, literal_lengths, resolve_seq_lengths

Values = Mapping[str, int]  # axis name to value


@dataclass(frozen=True, slots=True)
class Stand:
    """The places of an axis that stand for a value.

    ``places``  none: nothing that was tried does.
    ``exact``   the call would get the same argument.
    ``words``   why these, or why none; empty where it is exact.
    """

    places: tuple[int, ...]
    exact: bool
    words: str = ""


def stands(axis: Axis, tried: Sequence[int], wanted: Values, *, sizes_exact: bool) -> Stand:
    """What stands for the wanted value of an axis among those that were tried.

    ``sizes_exact``  whether the sizes that a value is relative to were tried themselves.
    """
    value = wanted[axis.name]
    if isinstance(axis, ProjSizeAxis):
        return _proj_size(axis, tried, wanted, exact=sizes_exact)
    if axis.name == "seq_lengths":
        return _lengths(tried, wanted, exact=sizes_exact)
    if value in tried:
        return Stand((tried.index(value),), exact=True)
    if not axis.numeric or math.isnan(axis.number(value)):
        return Stand((), exact=False, words=f"{axis.name}={axis.label(value)} was not tried")
    numbers = [axis.number(v) for v in tried]
    return _between(axis, axis.number(value), numbers, tried, axis.label(value))


def _between(
    axis: Axis, wanted: float, numbers: Sequence[float], tried: Sequence[int], label: str
) -> Stand:
    below = [n for n in numbers if n < wanted]
    above = [n for n in numbers if n > wanted]
    if not below or not above:
        end = "less" if not below else "more"
        words = f"{axis.name}={label} is {end} than any that was tried"
        return Stand((), exact=False, words=words)
    places = numbers.index(max(below)), numbers.index(min(above))
    low, high = (axis.label(tried[p]) for p in places)
    return Stand(places, exact=False, words=f"{axis.name}={label} lies between {low} and {high}")


def _proj_size(axis: Axis, tried: Sequence[int], wanted: Values, *, exact: bool) -> Stand:
    """By the size that comes of it: half of 64 and 32 are one call."""
    hidden = wanted["hidden_size"]
    size = resolve_proj_size(wanted[axis.name], hidden)
    sizes = [resolve_proj_size(v, hidden) for v in tried]
    same = tuple(p for p, s in enumerate(sizes) if s == size)
    if not same:
        return _between(axis, size, [float(s) for s in sizes], tried, str(size))
    if exact:
        return Stand(same[:1], exact=True)
    return Stand(same, exact=False)  # hidden_size says why


def _lengths(tried: Sequence[int], wanted: Values, *, exact: bool) -> Stand:
    """By the array that is handed over, or else by what the calls are known to look at."""
    value, steps, batch = (wanted[n] for n in ("seq_lengths", "max_seq_length", "batch_size"))
    if value in tried:
        return Stand((tried.index(value),), exact=exact)
    lengths = literal_lengths(value)
    assert lengths is not None  # every pattern is a value of the axis
    made = [resolve_seq_lengths(v, steps, batch) for v in tried]
    if lengths in made:
        return Stand((made.index(lengths),), exact=exact)
    kind = _kind(lengths, steps)
    like = tuple(p for p, other in enumerate(made) if _kind(other, steps) == kind)
    if not like:
        return Stand((), exact=False, words=f"no lengths like these were tried: {', '.join(kind)}")
    names = " and ".join(LENGTH_PATTERNS[tried[p]] for p in like)
    return Stand(like, exact=False, words=f"lengths like these ({', '.join(kind)}) are {names}")


def _kind(lengths: Sequence[int], steps: int) -> tuple[str, ...]:
    """What sets a list apart from others of as many."""

    def told() -> Iterator[str]:
        first = lengths[0]
        if all(n == first for n in lengths):
            yield "all alike"
        else:
            yield "sorted" if sorted(lengths, reverse=True) == list(lengths) else "not sorted"
        if min(lengths) < 0:
            yield "one below 0"
        if 0 in lengths:
            yield "one of 0"
        longest = max(lengths)
        if longest != steps:
            yield "longer than max_seq_length" if longest > steps else "none of max_seq_length"

    return tuple(told())
