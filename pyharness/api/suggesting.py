"""A suggestion from the moves that lead to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyharness.analyze.explanation import Change, Suggestion
from pyharness.analyze.moves import Move, rank
from pyharness.spec.documented import predictions
from pyharness.spec.enums import ReleaseNumber
from pyharness.spec.problem import Problem
from pyharness.spec.run_axes import problem_axes


def changes_of(base: Mapping[str, int], moves: Sequence[Move]) -> tuple[Change, ...]:
    """What each move gives another value, as texts."""
    axes = problem_axes()
    return tuple(
        Change({n: axes[n].label(v) for n, v in m.changes.items() if v != base[n]}, m.words, m.cost)
        for m in moves
    )


def moved(problem: Problem, base: Mapping[str, int], moves: Sequence[Move]) -> Problem:
    """The problem that moves lead to.

    ``base``  the problem's values of the axes that they change.
    """
    given = dict(problem.given)
    if any("seq_lengths" in m.changes for m in moves):
        # What followed from the old lengths is said, or it would follow from the new ones.
        for name in ("batch_size", "max_seq_length"):
            given.setdefault(name, str(base[name]))
    for change in changes_of(base, moves):
        given.update(change.changes)
    return Problem(given)


def suggestion(
    problem: Problem,
    base: Mapping[str, int],
    moves: Sequence[Move],
    version: ReleaseNumber | None,
) -> Suggestion:
    """The problem that moves lead to, with what it costs and what may yet refuse it."""
    new = moved(problem, base, moves)
    refused = tuple(p for p in predictions(new, version) if p.refuses and p.speaks_of(new))
    return Suggestion(new, changes_of(base, moves), rank(moves).levels, refused)
