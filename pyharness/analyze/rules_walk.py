"""Which integers of a numeric axis to try between those of a map, and where the answers change.

A boundary between two tested values may lie anywhere between them, and there may be several. So
every integer is tried where that can be done, and where not, a change that is known to be there is
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
    """

    axis: str
    tried: list[Span]
    skipped: list[Span]
    settings: int
    of_settings: int
    kinds: int
    of_kinds: int
    limits: list[int]


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
            gaps.append((values[high] - values[low], same, (values[low] + 1, values[high] - 1)))
    left = float(most)
    spans: list[Span] = []
    skipped: list[Span] = []
    for *_, (first, last) in sorted(gaps):  # the narrowest first: they can be tried to the end
        end = _afford(first, last, left, price)
        left -= price.of(first, end)
        spans += [(first, end)] if end >= first else []
        skipped += [(end + 1, last)] if end < last else []
    tried = sum(last - first + 1 for first, last in spans)
    times = max(1, min(MOST_SETTINGS, _WALKS * most // max(tried, 1)))
    return Plan(sorted(spans), sorted(skipped), _kinds(profiles, favoured, times))


def _afford(first: int, last: int, left: float, price: Price) -> int:
    """How far a span can be paid for from its low end; one less than ``first`` if not at all."""
    low, high = first - 1, last
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if price.of(first, middle) <= left else (low, middle - 1)
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


def halve(pair: Span, answers: Callable[[int], int]) -> int:
    """An integer between two with different answers whose answer differs from the one before it."""
    low, high = pair
    first = answers(low)
    while high - low > 1:
        middle = (low + high) // 2
        if answers(middle) == first:
            low = middle
        else:
            high = middle
    return high


def joined(spans: Iterable[Span]) -> list[Span]:
    """The same integers in as few spans as can be."""
    found: list[Span] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return found
