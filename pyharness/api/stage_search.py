"""The search around a problem that a stage on a device refuses: a case for every question.

Every single change that the host accepts is tried, the nearest first; sizes are cut down between
what is refused and what is not; pairs are tried where no single change goes all the way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pyharness.analyze.explanation import Blame
from pyharness.analyze.moves import Move, rank, single
from pyharness.analyze.stage_moves import run_values, size_of, stage_moves
from pyharness.api.onward import Onward
from pyharness.api.suggesting import moved
from pyharness.engine.neighbours import Neighbourhood
from pyharness.errors import HarnessError
from pyharness.spec.arguments import argument
from pyharness.spec.axes import ProjSizeAxis, SizeAxis
from pyharness.spec.calls import CALLS, all_axes
from pyharness.spec.problem import Problem
from pyharness.spec.run_axes import problem_axes
from pyharness.spec.stage_results import CaseResult

_LEFT_ALONE = ("strides", "nb_dims", "padding_fill", "tensor")
_OF_RUN = {
    "dev_seq_lengths": "devSeqLengths",
    "initial_states": "hx and cx",
    "dropout_rate": "dropout of the dropout descriptor",
}
_ENOUGH = 3  # pairs, where no single change goes all the way

_Moves = tuple[Move, ...]
Found = tuple[_Moves, CaseResult]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a search may ask of a device."""

    cases: int = 200
    seconds: float = 20.0


class _OverLimit(Exception):
    """The search has had its cases, or its time."""


class StageSearch:
    """What can be changed so that a stage passes, or every stage.

    ``case``      what became of the problem; one of its stages refuses it, its last is the aim.
    ``accepted``  sets of moves that go all the way, the nearest first; where there are none, those
                  with which this stage passes.
    ``tried``     cases that were run.
    ``note``      why the search ended early; empty where it did not.
    """

    def __init__(
        self,
        onward: Onward,
        near: Neighbourhood,
        problem: Problem,
        case: CaseResult,
        limits: Limits,
    ) -> None:
        self._onward, self._near, self._problem = onward, near, problem
        self._case, self._limits = case, limits
        self._ends = time.monotonic() + limits.seconds
        self.base = {**near.base, **run_values(problem)}
        self.tried = 0
        self.note = ""
        self._cases: dict[str, CaseResult] = {}
        self._singles: list[Found] = []
        self._pairs: list[Found] = []
        try:
            self._search()
        except _OverLimit:
            self.note = (
                f"the search on the device ended after {self.tried:,} cases: not every change "
                "was tried"
            )
        except HarnessError as error:
            self.note = f"the search on the device was given up: {error.message}"

    def _search(self) -> None:
        names = [n for n in self._near.base if n not in _LEFT_ALONE or n in self._near.given]
        read = {n for role in self._near.roles for n in self._near.reads(role)}
        moves = stage_moves([n for n in names if n in read], self.base)
        singles = self._host_accepts([(move,) for move in moves])
        for single_move in singles:
            self._singles.append((single_move, self._try(single_move)))
        for good in (self._passes, _complete):
            self._tighten(good)
        if not any(_complete(case) for _, case in self._singles):
            self._try_pairs([move for (move,) in singles])

    def _host_accepts(self, sets: Sequence[_Moves]) -> list[_Moves]:
        """The sets of moves whose problem every host call accepts."""
        if not sets:
            return []
        changes = [{n: v for m in moves for n, v in m.changes.items()} for moves in sets]
        columns = {
            name: np.array([changed.get(name, old) for changed in changes], np.int64)
            for name, old in self._near.base.items()
        }
        accepted = self._near.accepted(columns)
        return [moves for moves, ok in zip(sets, accepted, strict=True) if ok]

    def _try(self, moves: _Moves) -> CaseResult:
        problem = moved(self._problem, self.base, moves)
        if problem.command not in self._cases:
            if self.tried >= self._limits.cases or time.monotonic() >= self._ends:
                raise _OverLimit
            self.tried += 1
            self._cases[problem.command] = self._onward.take(problem, self._case.stages[-1].stage)
        return self._cases[problem.command]

    def _passes(self, case: CaseResult) -> bool:
        return self._case.stopped is not None and case.passes(self._case.stopped.stage)

    def _tighten(self, good: Callable[[CaseResult], bool]) -> None:
        """Cuts down between each size that is good and the next that is not, towards its own."""
        sizes = dict.fromkeys(
            name
            for (move,), case in self._singles
            if good(case) and (name := self._size(move)) is not None
        )
        for name in sizes:
            own = size_of(name, self.base)
            for side in (-1, 1):
                tried = self._tried_sizes(name, good)
                values = [v for v, ok in tried.items() if ok and (v - own) * side > 0]
                if not values:
                    continue
                best = min(values, key=lambda v: abs(v - own))
                bad = [v for v in (*tried, own) if abs(v - own) < abs(best - own)]
                bad = [v for v in bad if v == own or (v - own) * side > 0]
                self._cut(name, max(bad, key=lambda v: abs(v - own)), best, good)

    def _cut(self, name: str, bad: int, best: int, good: Callable[[CaseResult], bool]) -> None:
        while abs(best - bad) > 1:
            middle = (best + bad) // 2
            moves = (single(all_axes()[name], middle, self.base),)
            if not self._host_accepts([moves]):
                return
            case = self._try(moves)
            self._singles.append((moves, case))
            best, bad = (middle, bad) if good(case) else (best, middle)

    def _size(self, move: Move) -> str | None:
        """The size that a move changes, if it changes just that to a number."""
        if len(move.changes) != 1 or move.words:
            return None
        ((name, value),) = move.changes.items()
        axis = all_axes().get(name)
        is_size = isinstance(axis, (SizeAxis, ProjSizeAxis)) and value < 1 << 40
        return name if is_size else None

    def _tried_sizes(self, name: str, good: Callable[[CaseResult], bool]) -> dict[int, bool]:
        return {
            moves[0].changes[name]: good(case)
            for moves, case in self._singles
            if self._size(moves[0]) == name
        }

    def _try_pairs(self, moves: Sequence[Move]) -> None:
        """Changes that made another answer of the refusal, each with every other."""
        said = self._answer(self._case)
        partly = [m[0] for m, case in self._singles if self._answer(case) != said]
        pairs: dict[frozenset[int], _Moves] = {
            frozenset((id(a), id(b))): (a, b) for a in partly for b in moves if not a.axes & b.axes
        }
        enough = 0
        for pair in self._host_accepts(sorted(pairs.values(), key=rank)):
            case = self._try(pair)
            self._pairs.append((pair, case))
            enough += _complete(case)
            if enough >= _ENOUGH:
                return

    @staticmethod
    def _answer(case: CaseResult) -> tuple[str | None, ...]:
        stopped = case.stopped
        return () if stopped is None else (stopped.stage, stopped.status, stopped.reason)

    @property
    def accepted(self) -> list[Found]:
        every = sorted((*self._singles, *self._pairs), key=lambda found: rank(found[0]))
        for good in (_complete, self._passes):
            found: dict[object, Found] = {}
            for moves, case in every:
                if good(case):
                    # Of one axis the nearest value, on each side.
                    key = frozenset((m.axes, m.words, self._side(m)) for m in moves)
                    found.setdefault(key, (moves, case))
            if found:
                return list(found.values())
        return []

    def _side(self, move: Move) -> bool:
        name = self._size(move)
        return name is not None and move.changes[name] > size_of(name, self.base)

    def blames(self) -> tuple[tuple[Blame, ...], tuple[tuple[str, ...], ...]]:
        """The arguments to blame for the stage: those that alone make it pass, or sets of two."""
        alone = list(dict.fromkeys(n for m, c in self._singles if self._passes(c) for n in _of(m)))
        if alone:
            return tuple(self._blame(name, self._singles, True) for name in self._order(alone)), ()
        sets = [m for m, c in self._pairs if self._passes(c)]
        names = self._order(dict.fromkeys(n for moves in sets for n in _of(moves)))
        found = {name: self._blame(name, self._pairs, False) for name in names}
        together = dict.fromkeys(
            tuple(found[n].argument for n in names if n in _of(moves)) for moves in sets
        )
        return tuple(found.values()), tuple(together)

    def _order(self, names: Iterable[str]) -> list[str]:
        order = [*dict.fromkeys(a.name for call in CALLS for a in call.axes), *_OF_RUN]
        return sorted(names, key=order.index)

    def _blame(self, name: str, tried: Sequence[Found], alone: bool) -> Blame:
        value = problem_axes()[name].label(self.base[name])
        owner = next((c for c in CALLS if any(a.name == name for a in c.axes)), None)
        words = _OF_RUN[name] if owner is None else argument(owner, name)
        return Blame(words, name, value, self._allowed(name, tried), alone)

    def _allowed(self, name: str, tried: Sequence[Found]) -> str:
        """The values of an axis with which the stage passed, in words."""
        mine = [(m, self._passes(c)) for m, c in tried if name in _of(m)]
        if name == "seq_lengths":
            found = dict.fromkeys(m.words for moves, ok in mine if ok for m in moves if m.words)
            return "; ".join(found)
        values = {m.changes[name]: ok for moves, ok in mine for m in moves if name in m.changes}
        axis = problem_axes()[name]
        if isinstance(axis, (SizeAxis, ProjSizeAxis)):
            return _runs({v: ok for v, ok in values.items() if v < 1 << 40}, self.base[name])
        return ", ".join(axis.label(v) for v, ok in sorted(values.items()) if ok)


def _complete(case: CaseResult) -> bool:
    return case.complete


def _of(moves: Sequence[Move]) -> list[str]:
    """The axes that moves say are wrong."""
    return [n for m in moves for n in ([m.charged] if m.charged else m.axes)]


def _runs(values: Mapping[int, bool], own: int) -> str:
    """Sizes that passed, in words: of neighbours that were tried the outermost."""
    runs: list[list[int]] = []
    open_run = False
    for value, ok in sorted({own: False, **values}.items()):
        if ok and open_run:
            runs[-1].append(value)
        elif ok:
            runs.append([value])
        open_run = ok
    return " or ".join(f"{r[0]:,}" if len(r) == 1 else f"{r[0]:,} to {r[-1]:,}" for r in runs)
