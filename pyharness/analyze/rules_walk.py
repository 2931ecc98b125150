"""Which integers of a numeric axis to try between those of a map, and where the answers change.

A boundary between two tested values may lie anywhere between them, and there may be several. So
every integer is tried where that can be done, and where not, changes that are known to be there are
looked for by halving.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

MOST_SETTINGS = 256
MOST_LIMITS = 32  # of an axis that become values of the map
MOST_HALVED = 64  # changes that are looked for in one gap: more than become values
_NEAR = -1  # from here on a size is tried before anything below: checks are about zero and above
_WALKS = 8  # in so many settings everything is tried, or in more of them less

Span = tuple[int, int]  # both ends belong to it


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be tried on one axis.

    ``spans``    runs of integers between neighbouring tested values, ascending.
    ``skipped``  the runs that are left out.
    ``kinds``    where it is tried: a kind of setting of the other axes for each time, as a flat
                 index over the cells of these axes; one that comes again means another setting.
    """

    spans: list[Span]
    skipped: list[Span]
    kinds: list[int]


@dataclass(frozen=True, slots=True)
class WalkedAxis:
    """What was tried of one axis.

    ``tried``     runs of integers that were tried, the map's own values among them.
    ``skipped``   runs between them that were not.
    ``settings``  of the other axes in which values that the map lacks were tried, ``of_settings``
                  in all; 0 where it lacks none.
    ``kinds``     of settings that the map tells apart, among these, ``of_kinds`` in all.
    ``limits``    integers that are answered otherwise than the one just before them, somewhere.
    ``cut``       there are more, between neighbours of which only the ends were tried.
    """

    axis: str
    tried: list[Span]
    skipped: list[Span]
    settings: int
    of_settings: int
    kinds: int
    of_kinds: int
    limits: list[int]
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Price:
    """What trying one value costs, in calls: ``fixed``, and ``each`` for every unit above zero."""

    fixed: float = 1.0
    each: float = 0.0

    def of(self, first: int, last: int) -> float:
        """The price of a span."""
        low, high = max(first, 1), max(last, 0)
        units = (low + high) * (high - low + 1) / 2 if high >= low else 0
        return self.fixed * (last - first + 1) + self.each * units


def plan_walk(
    values: Sequence[int],
    of_axis: NDArray[np.intp],
    profiles: NDArray[np.int64],
    favoured: NDArray[np.bool_],
    most: int,
    price: Price,
) -> Plan:
    """What to try on an axis.

    Shapes   of_axis gives the class of each value; profiles[kind] is the answer of each class.
    ``favoured``  kinds where most can still change, such as those that are accepted.
    ``most``      what the integers tried in one setting may cost.
    """
    order = sorted(range(len(values)), key=lambda i: values[i])
    gaps = []
    for low, high in pairwise(order):
        if values[high] - values[low] > 1:
            same = bool((profiles[:, of_axis[low]] == profiles[:, of_axis[high]]).all())
            gap = values[low] + 1, values[high] - 1
            gaps += [(part[1] < _NEAR, gap[1] - gap[0], same, part) for part in _parts(gap)]
    left = float(most)
    spans: list[Span] = []
    skipped: list[Span] = []
    for below, *_, (first, last) in sorted(gaps):  # the narrowest first: to the end, where possible
        count = _afford((first, last), left, price, from_top=below)
        span, rest = (first, first + count - 1), (first + count, last)
        if below:
            span, rest = (last - count + 1, last), (first, last - count)
        left -= price.of(*span)
        spans += [span] if count else []
        skipped += [rest] if rest[0] <= rest[1] else []
    tried = sum(last - first + 1 for first, last in spans)
    times = max(1, min(MOST_SETTINGS, _WALKS * most // max(tried, 1)))
    return Plan(joined(spans), joined(skipped), _kinds(profiles, favoured, times))


def _parts(gap: Span) -> list[Span]:
    """What lies below _NEAR and what does not."""
    first, last = gap
    parts = [(first, min(last, _NEAR - 1)), (max(first, _NEAR), last)]
    return [part for part in parts if part[0] <= part[1]]


def _afford(span: Span, left: float, price: Price, from_top: bool) -> int:
    """How many integers of a span can be paid for, from its low end or from its top."""
    first, last = span
    low, high = 0, last - first + 1
    while low < high:
        count = (low + high + 1) // 2
        cost = price.of(last - count + 1, last) if from_top else price.of(first, first + count - 1)
        low, high = (count, high) if cost <= left else (low, count - 1)
    return low


def _kinds(profiles: NDArray[np.int64], favoured: NDArray[np.bool_], most: int) -> list[int]:
    """Kinds to try: one of each profile, those in which the axis matters, then what is favoured.

    Where all kinds are few, each is tried, and the favoured ones many times.
    """
    _, firsts = np.unique(profiles, axis=0, return_index=True)
    varied = np.flatnonzero((profiles != profiles[:, :1]).any(axis=1))
    order = [*(f for f in firsts if f in varied), *(f for f in firsts if f not in varied)]
    chosen = [int(f) for f in order][:most]
    rest = range(len(profiles)) if len(profiles) <= most // 2 else ()
    for more in (varied, np.flatnonzero(favoured), rest):
        some = [int(kind) for kind in more if int(kind) not in chosen]
        room = min(len(some), most - len(chosen))
        if room > 0:
            chosen += [some[i] for i in np.linspace(0, len(some) - 1, room).astype(int)]
    again = np.flatnonzero(favoured).tolist() or chosen
    return chosen + [again[i % len(again)] for i in range(most - len(chosen))]


def integers(values: Iterable[int], spans: Iterable[Span]) -> NDArray[np.int64]:
    """The values and every integer of the spans, ascending, each once."""
    runs = [np.arange(first, last + 1, dtype=np.int64) for first, last in spans]
    return np.unique(np.concatenate([np.array(list(values), np.int64), *runs]))


def changes(tried: NDArray[np.int64], codes: NDArray[np.uint8]) -> tuple[set[int], list[Span]]:
    """Where the answer changes along an axis.

    Shapes   tried: ascending integers; codes: the answer to each.
    Returns  integers with another answer than the one just before them; and the pairs with
             different answers that have untried integers between them.
    """
    at = np.flatnonzero(codes[1:] != codes[:-1])
    limits, open_pairs = set(), []
    for low, high in zip(tried[at].tolist(), tried[at + 1].tolist(), strict=True):
        if high == low + 1:
            limits.add(high)
        else:
            open_pairs.append((low, high))
    return limits, open_pairs


def halve(pair: Span, answers: Callable[[int], int]) -> tuple[list[int], bool]:
    """Changes between two integers with different answers, up to one that has the upper one's.

    Returns  integers that are answered otherwise than the one just before them, ascending, at most
             MOST_HALVED; and whether the last of them still has another answer than the upper end.
    """
    low, top = pair
    here, last = answers(low), answers(top)
    found: list[int] = []
    while here != last and len(found) < MOST_HALVED:
        high = top
        while high - low > 1:
            middle = (low + high) // 2
            if answers(middle) == here:
                low = middle
            else:
                high = middle
        found.append(high)
        low, here = high, answers(high)
    return found, here != last


def joined(spans: Iterable[Span]) -> list[Span]:
    """The same integers in as few spans as can be."""
    found: list[Span] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return found
