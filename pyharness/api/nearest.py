"""The search around a refused problem: which arguments are to blame, what is accepted nearby.

Every step asks the library. One argument at a time is tried over all its names and the edges of its
sizes, then pairs of arguments, and triples where no pair is accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pyharness.analyze.length_moves import length_moves
from pyharness.analyze.move_sets import batches, disjoint
from pyharness.analyze.moves import Move, Rank, candidates, rank, single
from pyharness.engine.neighbours import Neighbourhood, Values
from pyharness.spec.axes import Axis, ProjSizeAxis, SizeAxis, resolve_proj_size
from pyharness.spec.calls import all_axes
from pyharness.spec.seq_lengths import EQUAL

_MOST_TIGHTENED = 8
# How a tensor lies in memory, and what is not a property of the problem: changed only where given.
_LEFT_ALONE = ("strides", "nb_dims", "padding_fill", "tensor")
_WAYS = 64  # a range is cut in so many places at a time
# Sizes that stand for the many in combinations with other arguments.
_SMALL = (1, 2, 64)

Found = tuple[Rank, tuple[Move, ...]]
_Unit = tuple[frozenset[str], str]  # what makes a move one and not another: its axes and its words
_Oracle = Callable[[Mapping[str, Values]], NDArray[np.bool_]]


class Search:
    """The moves around a problem, and which of them the library accepts.

    ``moves``       every single change that combinations are made of.
    ``step_limit``  the most steps that the library takes, where the problem has more.
    ``tried``       counts the problems that were put to the library.
    """

    def __init__(self, near: Neighbourhood) -> None:
        self._near = near
        self.base = near.base
        self.tried = 0
        self._axes = all_axes()
        reads = dict.fromkeys(n for role in near.roles for n in near.reads(role))
        self.in_play = [n for n in reads if n not in _LEFT_ALONE or n in near.given]
        self._probes = self._single_moves()
        self._codes = self._ask(self._probes)
        self.step_limit = self._step_limit()
        self.moves = self._chosen() + self._batch_moves()

    def fixed_by(self, role: str) -> dict[str, list[int]]:
        """The axes that alone make a call accept the problem, with the values that do."""
        accepted = self._near.is_success(self._codes[role])
        found: dict[str, list[int]] = {}
        reads = self._near.reads(role)
        for move, ok in zip(self._probes, accepted, strict=True):
            ((name, value),) = move.changes.items()
            if ok and name in reads:
                found.setdefault(name, []).append(value)
        return found

    def nearest(self) -> list[tuple[Move, ...]]:
        """The sets of moves that every call accepts, the nearest first; none contains another.

        Of each set of axes only the nearest values are kept. Where more than three changes are
        needed, the repairs that each call wants for itself are tried together.
        """
        found = [moves for _, moves in self._best(self._near.accepted)]
        return found or self._together()

    def _together(self) -> list[tuple[Move, ...]]:
        """The nearest repairs of all refusing calls at once, if they agree and are accepted."""
        chosen: dict[str, Move] = {}
        for role in self._near.roles:
            for move in next(iter(self.repairs(role)), ()) if self._refused(role) else ():
                if any(chosen.get(n, move) != move for n in move.changes):
                    continue  # two calls want two values: the first stands
                chosen.update(dict.fromkeys(move.changes, move))
        moves = tuple({id(move): move for move in chosen.values()}.values())
        if not moves or not self._near.accepted(self._columns([moves]))[0]:
            return []
        return [moves]

    def _refused(self, role: str) -> bool:
        """Whether a call refuses the problem as it is."""
        return not self._near.accepted(self._columns([()]), [role])[0]

    def repairs(self, role: str) -> list[tuple[Move, ...]]:
        """The same for one call alone."""
        return [
            moves for _, moves in self._best(self._accepted_by(role), set(self._near.reads(role)))
        ]

    def edges(self, axis: str, others: Mapping[str, int], role: str) -> list[tuple[int, int]]:
        """The runs of values of a size that a call accepts, the other changes given.

        Between values that are tried and answered alike the answer is taken to be the same.
        """
        probes = sorted({*self._sizes(axis), self.base[axis]})
        ask = self._one_axis(axis, others, self._accepted_by(role))
        accepted = ask(probes)
        runs: list[tuple[int, int]] = []
        start: int | None = None
        for i, (value, ok) in enumerate(zip(probes, accepted, strict=True)):
            if ok and start is None:
                start = value if i == 0 else self._edge(ask, probes[i - 1], value)
            elif not ok and start is not None:
                runs.append((start, self._edge(ask, value, probes[i - 1])))
                start = None
        if start is not None:
            runs.append((start, probes[-1]))
        return runs

    def accepts(
        self, axis: str, values: Sequence[int], others: Mapping[str, int], role: str
    ) -> list[bool]:
        """Whether a call accepts each value of an axis, the other changes given."""
        return self._one_axis(axis, others, self._accepted_by(role))(values)

    def _accepted_by(self, role: str) -> _Oracle:
        return lambda changed: self._near.accepted(changed, [role])

    def _single_moves(self) -> list[Move]:
        moves = []
        for name in self.in_play:
            if name == "seq_lengths":
                continue
            axis = self._axes[name]
            moves += [single(axis, v, self.base) for v in candidates(name, self.base)]
        return moves

    def _ask(self, moves: Sequence[Move]) -> dict[str, NDArray[np.uint8]]:
        self.tried += len(moves)
        return self._near.codes(self._columns([(m,) for m in moves]))

    def _columns(self, sets: Sequence[tuple[Move, ...]]) -> dict[str, Values]:
        """The values of every axis over sets of moves."""
        columns = {n: np.full(len(sets), self.base[n], np.int64) for n in self.base}
        for i, moves in enumerate(sets):
            for move in moves:
                for name, value in move.changes.items():
                    columns[name][i] = value
        return columns

    def _sizes(self, name: str) -> list[int]:
        return [v for v in candidates(name, self.base) if self._is_size(name, v)]

    def _is_size(self, name: str, value: int) -> bool:
        return not self._axes[name].names or value < 1 << 40  # rules of proj_size lie above

    def _chosen(self) -> list[Move]:
        """The single moves that combinations are made of: all names, but few of the sizes.

        A size is kept at the edges of what the calls say, and beside its neighbours in the problem.
        """
        keep = []
        for name in self.in_play:
            places = [i for i, m in enumerate(self._probes) if m.axes == {name}]
            if not _has_sizes(self._axes[name]):
                keep += places
                continue
            wanted = {*_SMALL, *(self.base.get(n, 1) for n in ("input_size", "hidden_size"))}
            edges = {
                i
                for codes in self._codes.values()
                for a, b in pairwise(places)
                if codes[a] != codes[b]
                for i in (a, b)
            }
            keep += [
                i
                for i in places
                if i in edges
                or self._probes[i].changes[name] in wanted
                or not self._is_size(name, self._probes[i].changes[name])
            ]
        return [self._probes[i] for i in keep]

    def _batch_moves(self) -> list[Move]:
        """Moves on the lengths of the batch, and cutting time where only fewer steps are taken."""
        if "seq_lengths" not in self.base:
            return []
        return length_moves(self.base, self.step_limit)

    def _step_limit(self) -> int | None:
        """The most steps that x may have, where the problem has more; None where it has not."""
        if "x" not in self._codes:
            return None
        runs = self.edges("max_seq_length", {"seq_lengths": EQUAL}, "x")
        steps = self.base["max_seq_length"]
        if not runs or steps <= runs[-1][1]:
            return None
        return runs[-1][1]

    def _best(
        self,
        ok: _Oracle,
        axes: set[str] | None = None,
    ) -> list[Found]:
        """The minimal accepted sets of one and two moves, of three where there are none."""
        moves = [m for m in self.moves if axes is None or m.axes <= axes]
        found: dict[frozenset[_Unit], Found] = {}
        for size in (1, 2, 3):
            if size == 3 and found:
                break
            for some in batches(disjoint(moves, size)):
                self.tried += len(some)
                for places in some[ok(self._fast_columns(moves, some))]:
                    chosen = tuple(moves[i] for i in places)
                    key = frozenset((m.axes, m.words) for m in chosen)
                    ranked = rank(chosen)
                    if any(other < key for other in found):
                        continue
                    if key not in found or ranked < found[key][0]:
                        found[key] = ranked, chosen
        nearest = sorted(found.values(), key=lambda f: f[0])
        head = [self._tightened(ok, moves) for _, moves in nearest[:_MOST_TIGHTENED]]
        return sorted(head, key=lambda f: f[0]) + nearest[_MOST_TIGHTENED:]

    def _tightened(self, ok: _Oracle, moves: tuple[Move, ...]) -> Found:
        """The same moves with each size as near to the problem's as it is still accepted."""
        chosen = list(moves)
        for place, move in enumerate(moves):
            name = next(iter(move.changes))
            if (
                move.words  # a recipe: its values belong together
                or not _has_sizes(self._axes[name])
                or not self._is_size(name, move.changes[name])
            ):
                continue
            old = self._resolved(name)
            others = {n: v for m in chosen if m is not move for n, v in m.changes.items()}
            ask = self._one_axis(name, others, ok)
            value = self._edge(ask, old, move.changes[name])
            chosen[place] = single(self._axes[name], value, self.base)
        return rank(chosen), tuple(chosen)

    def _resolved(self, name: str) -> int:
        if name == "proj_size":
            return resolve_proj_size(self.base[name], self.base["hidden_size"])
        return self.base[name]

    def _fast_columns(self, moves: Sequence[Move], sets: NDArray[np.intp]) -> dict[str, Values]:
        """As _columns, for rows of indices into ``moves``."""
        columns = {}
        for name, old in self.base.items():
            has = np.array([name in m.changes for m in moves])
            if not has.any():
                continue
            new = np.array([m.changes.get(name, old) for m in moves], np.int64)
            column = np.full(len(sets), old, np.int64)
            for place in range(sets.shape[1]):
                picked = sets[:, place]
                column = np.where(has[picked], new[picked], column)
            columns[name] = column
        return columns

    def _one_axis(
        self, axis: str, others: Mapping[str, int], ok: _Oracle
    ) -> Callable[[Sequence[int]], list[bool]]:
        def ask(values: Sequence[int]) -> list[bool]:
            self.tried += len(values)
            changed = {n: np.full(len(values), v, np.int64) for n, v in others.items()}
            changed[axis] = np.array(values, np.int64)
            return [bool(answer) for answer in ok(changed)]

        return ask

    @staticmethod
    def _edge(ask: Callable[[Sequence[int]], list[bool]], refused: int, accepted: int) -> int:
        """The accepted value that is nearest to a refused one, cut by cut."""
        while abs(accepted - refused) > 1:
            step = max(1, abs(accepted - refused) // _WAYS)
            direction = 1 if accepted > refused else -1
            between = list(range(refused + direction * step, accepted, direction * step))
            answers = ask(between)
            first = answers.index(True) if True in answers else len(between)
            refused = between[first - 1] if first else refused
            accepted = between[first] if first < len(between) else accepted
        return accepted


def _has_sizes(axis: Axis) -> bool:
    return isinstance(axis, (SizeAxis, ProjSizeAxis))
