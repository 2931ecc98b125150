"""Which problems are only the beginnings of others: descriptors that are set before they are used.

An entry does not say which descriptor a call sets, so the same configuration is taken for the same
descriptor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pyharness.logs.configuration import Configuration, Structure
from pyharness.spec.recording import Said

Key = tuple[int, int, int, str]  # RNN descriptor, clipping and data descriptor, and its lengths


@dataclass(slots=True)
class Use:
    """A problem in one function and stage: its calls, and which (process, thread) made them."""

    name: str
    stage: str
    found: Found
    count: int = 0
    origins: frozenset[tuple[int, int]] = frozenset()


@dataclass(slots=True)
class Found:
    """A distinct configuration, where it was first met, and what became of it.

    ``place``  file, and byte in it.
    ``roles``  the most that one of its calls described.
    """

    configuration: Configuration
    place: tuple[str, int]
    roles: tuple[str, ...]
    uses: list[Use] = field(default_factory=list)
    said: Counter[Said] | None = None

    def hear(self, said: Counter[Said]) -> None:
        """Takes what the library logged."""
        self.said = (self.said or Counter()) + said


def without_contained(found: Sequence[Found]) -> list[Found]:
    """What no fuller one contains, in the same order.

    What was said of one that is contained is said of those that contain it.
    """
    numbers, holders = _Numbers(), dict[Key, list[Found]]()
    for one in found:
        for key in _contained(numbers, one.configuration):
            holders.setdefault(key, []).append(one)
    kept: list[Found] = []
    dropped: list[tuple[Found, Key]] = []
    for one in found:
        own = _key(numbers, one.configuration)
        if own is not None and own in holders:
            dropped.append((one, own))
        else:
            kept.append(one)
    whole = {id(one) for one in kept}
    for one, own in dropped:
        if one.said:
            for holder in holders[own]:
                if id(holder) in whole:
                    holder.hear(one.said)
    return kept


class _Numbers:
    """Small numbers for descriptors, equal where these are: they are compared again and again."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {None: -1}
        self._of: dict[int, tuple[int, int, int, int]] = {}

    def of(self, structure: Structure) -> tuple[int, int, int, int]:
        """Those of the RNN descriptor, of its clipping, of x and of y; -1 for what is not there.

        The padding does not count: an unfolded descriptor does not always show it.
        """
        known = self._of.get(id(structure))
        if known is None:
            x, y = (None if d is None else d[:-1] for d in (structure.x, structure.y))
            known = self._of[id(structure)] = (
                self._number(structure.rnn),
                self._number(structure.clip),
                self._number(x),
                self._number(y),
            )
        return known

    def _number(self, descriptor: Any) -> int:
        return self._known.setdefault(descriptor, len(self._known))


def _key(numbers: _Numbers, c: Configuration) -> Key | None:
    """What a configuration that is not whole is looked up by; None if it is whole."""
    rnn, clip, x, y = numbers.of(c.structure)
    return (rnn, clip, x, c.lengths[0] if c.lengths else "") if y < 0 else None


def _contained(numbers: _Numbers, c: Configuration) -> set[Key]:
    """The keys of all that a configuration contains beside itself."""
    rnn, clip, x, y = numbers.of(c.structure)
    if rnn < 0:
        return set()
    keys: set[Key] = set()
    if y >= 0:
        of_x, of_y = c.lengths
        keys |= {(rnn, clip, x, of_x), (rnn, -1, x, of_x), (-1, -1, y, of_y)}
    if x >= 0:
        keys |= {(-1, -1, x, c.lengths[0]), (rnn, clip, -1, "")}
    if x >= 0 or clip >= 0:
        keys.add((rnn, -1, -1, ""))
    return keys
